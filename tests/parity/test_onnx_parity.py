"""What `taper.onnx` writes passes ONNX's checker, and ONNX Runtime computes what taper does."""

import io

import numpy as np
import onnxruntime
import pytest

import onnx
import taper as torch
import taper.nn.functional as F
from taper import nn
from taper.utils._pytree import tree_leaves
from taper.vision import models


def run(session, arguments):
    names = [each.name for each in session.get_inputs()]
    given = {name: each.numpy() for name, each in zip(names, arguments, strict=False)}
    return session.run(None, given)


def check(model, *examples, axes=None, **settings):
    """Export with the first arguments, compare on all."""
    file = io.BytesIO()
    torch.onnx.export(model, examples[0], file, dynamic_axes=axes, **settings)
    onnx.checker.check_model(onnx.load_from_string(file.getvalue()), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file.getvalue(), options)
    if isinstance(model, nn.Module):
        model.eval()
    for arguments in examples:
        with torch.no_grad():
            wanted = [each for each in tree_leaves(model(*arguments)) if each is not None]
        found = run(session, arguments)
        assert [each.shape for each in found] == [tuple(each.shape) for each in wanted]
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.numpy().dtype
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


# ------------------------------------------------------------------------------------ models

VISION = ["resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "densenet121"]


@pytest.mark.parametrize("name", VISION)
def test_vision_models_with_any_batch(name):
    model = getattr(models, name)(num_classes=10)
    axes = {"x": {0: "batch"}}
    check(model, (torch.randn(2, 3, 64, 64),), (torch.randn(1, 3, 64, 64),), axes=axes)


class Headed(nn.Module):
    """The layers of VGG and AlexNet before their classifiers, which have 100 million weights."""

    def __init__(self, features, channels):
        super().__init__()
        self.features, self.avgpool = features, nn.AdaptiveAvgPool2d((3, 5))
        layers = nn.Linear(channels * 15, 8), nn.ReLU(True), nn.Dropout(), nn.Linear(8, 3)
        self.classifier = nn.Sequential(*layers)

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


@pytest.mark.parametrize("name", ["AlexNet", "VGG"])
def test_vision_models_with_large_classifiers(name, monkeypatch):
    if name == "VGG":
        layers = models.vgg.make_layers([8, "M", 16, "M", 32, 32, "M"], batch_norm=True)
        model = Headed(layers, 32)
    else:
        with monkeypatch.context() as patch:
            patch.setattr(nn, "Linear", lambda *sizes: nn.Identity())
            features = models.AlexNet().features
        model = Headed(features, 256)
    axes = {"x": {0: "batch"}}
    check(model, (torch.randn(2, 3, 64, 64),), (torch.randn(1, 3, 64, 64),), axes=axes)


def test_lenet():
    check(
        models.lenet5(), (torch.randn(2, 1, 28, 28),), (torch.randn(5, 1, 28, 28),), axes={"x": [0]}
    )


def test_vision_transformer():
    sizes = {"image_size": 32, "patch_size": 16, "num_layers": 2, "num_heads": 2}
    model = models.VisionTransformer(**sizes, hidden_dim=16, mlp_dim=32, num_classes=5)
    nn.init.normal_(model.heads.head.weight)
    images = [(torch.randn(size, 3, 32, 32),) for size in (2, 1, 5)]
    check(model, *images, axes={"x": {0: "batch"}})


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("settings", [{}, {"batch_first": True, "bidirectional": True}])
@pytest.mark.parametrize("layers", [1, 2])
def test_recurrent_networks(kind, settings, layers):
    model = getattr(nn, kind)(3, 4, layers, **settings)
    check(
        model,
        (torch.randn(5, 3, 3),),
        (torch.randn(2, 7, 3),),
        axes={"input": {0: "one", 1: "two"}},
    )


def test_recurrent_networks_with_states_and_without_bias():
    check(nn.RNN(3, 4, nonlinearity="relu", bias=False), (torch.randn(5, 2, 3),))
    state = torch.randn(1, 2, 4), torch.randn(1, 2, 4)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4)
            self.cells = nn.LSTMCell(3, 4), nn.GRUCell(3, 4)

        def forward(self, x, h, c):
            return self.lstm(x, (h, c)), self.cells[0](x[0]), self.cells[1](x[0])

    check(Model(), (torch.randn(5, 2, 3), *state))


def test_attention_and_transformers():
    x = torch.randn(2, 5, 8)
    check(nn.MultiheadAttention(8, 2), (x, x, x))
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
    check(
        nn.TransformerEncoder(layer, 2),
        (x,),
        (torch.randn(3, 9, 8),),
        axes={"src": {0: "batch", 1: "length"}},
    )
    check(nn.Transformer(8, 2, 1, 1, 16, batch_first=True), (x, x))


class Block(nn.Module):
    def __init__(self, width, heads, length, fused):
        super().__init__()
        self.attention, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )
        self.heads, self.fused = heads, fused
        self.register_buffer(
            "mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length)
        )

    def forward(self, x):
        batch, length, width = x.size()
        parts = self.attention(self.norm(x)).split(width, dim=2)
        q, k, v = (
            each.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for each in parts
        )
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (k.size(-1) ** -0.5)
            scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        x = x + self.project(y.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, fused, length=16):
        super().__init__()
        self.length = length
        self.wte, self.wpe = nn.Embedding(11, 8), nn.Embedding(length, 8)
        self.blocks = nn.ModuleList([Block(8, 2, length, fused) for _ in range(2)])
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        length = tokens.size(1)
        if length > self.length:
            raise ValueError("too long")
        x = self.wte(tokens) + self.wpe(torch.arange(length))
        for block in self.blocks:
            x = block(x)
        return self.head(x), self.head(x[:, [-1], :])


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("length", [6, 16])
def test_a_gpt_with_any_batch_and_length(fused, length):
    tokens = [(torch.randint(0, 11, size),) for size in ((2, length), (1, 1), (5, 16))]
    check(GPT(fused), *tokens, axes={"tokens": {0: "batch", 1: "length"}})


def test_convolutions():
    model = nn.Sequential(
        nn.Conv1d(2, 4, 3, padding="same"),
        nn.BatchNorm1d(4, affine=False),
        nn.ConvTranspose1d(4, 4, 3, 2, 1, 1, groups=2),
        nn.MaxPool1d(2),
        nn.AvgPool1d(2, padding=1),
        nn.Conv1d(4, 2, 3, padding=1, padding_mode="circular"),
    )
    check(model, (torch.randn(2, 2, 16),), (torch.randn(3, 2, 16),), axes={"input": {0: "n"}})
    check(nn.ConvTranspose2d(2, 3, 3, stride=2, dilation=2), (torch.randn(1, 2, 5, 5),))
    check(nn.Conv3d(1, 2, 2), (torch.randn(1, 1, 4, 4, 4),))
    check(nn.Conv2d(2, 3, 3), (torch.randn(2, 6, 6),))


def test_a_fully_convolutional_net_of_any_height_and_width():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.Upsample(scale_factor=2))
    images = [(torch.randn(2, 3, *size),) for size in ((8, 8), (12, 20))]
    check(model, *images, axes={"input": {2: "height", 3: "width"}})


# ------------------------------------------------------------------------------------- layers

LAYERS = [
    *[
        nn.ReLU6(),
        nn.LeakyReLU(0.2),
        nn.ELU(0.5),
        nn.SELU(),
        nn.CELU(0.7),
        nn.GELU("tanh"),
        nn.SiLU(),
    ],
    *[nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(), nn.Sigmoid(), nn.Tanh()],
    *[nn.Softplus(2.0, 1.0), nn.Softsign(), nn.LogSigmoid(), nn.PReLU(4), nn.GLU(1), nn.Softmax(1)],
    *[nn.LogSoftmax(-1), nn.Softmin(1), nn.Tanhshrink(), nn.Hardshrink(), nn.Softshrink()],
    *[nn.Threshold(0.1, 3.0), nn.BatchNorm2d(4), nn.InstanceNorm2d(4, affine=True)],
    *[nn.GroupNorm(2, 4), nn.LayerNorm((8, 8)), nn.LayerNorm(8, elementwise_affine=False)],
    *[nn.RMSNorm(8), nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(3, 2, 1)],
    *[nn.AvgPool2d(2, divisor_override=3), nn.AvgPool2d(3, 1, 1, count_include_pad=False)],
    *[nn.AdaptiveAvgPool2d((3, 5)), nn.AdaptiveAvgPool2d(4), nn.AdaptiveAvgPool2d((1, 2))],
    *[
        nn.AdaptiveMaxPool2d(2),
        nn.AdaptiveMaxPool2d(1),
        nn.LPPool2d(2, 2),
        nn.ZeroPad2d((1, 2, 0, 1)),
    ],
    *[nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample((5, 11)), nn.ReflectionPad2d(2)],
    *[nn.Upsample((5, 11), mode="bilinear", align_corners=True), nn.Upsample(scale_factor=1.5)],
    *[nn.Upsample((5, 11), mode="bilinear"), nn.Upsample(scale_factor=2, mode="bicubic")],
    *[nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.ConstantPad2d(-1, 2.0), nn.PixelShuffle(2)],
    *[
        nn.PixelUnshuffle(2),
        nn.ChannelShuffle(2),
        nn.Dropout(),
        nn.Unfold(3, 1, 1, 2),
        nn.Flatten(),
    ],
    *[nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), nn.Identity(), nn.Flatten(0, 1)],
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(layer):
    sizes = (3, 1, 6)
    for each in layer.parameters():
        each.data.add_(torch.rand(each.shape) * 0.3)
    check(layer, *[(torch.randn(n, 4, 8, 8),) for n in sizes], axes={"input": {0: "n"}})


# ---------------------------------------------------------------------------------- functions


def written_parts(x):
    y = x * 1.0
    y[0] = 1
    y[:, 1] = y[:, 2] * 2
    row = y[1]
    row += 3
    y.t()[2].mul_(2)
    y[:, ::2] -= 1
    whole = y.view(-1)
    whole[3:5] = 0
    y.masked_fill_(y > 2, 3.0)
    y[y < 0] = -1
    y[torch.tensor([0, 2]), torch.tensor([1, 0])] = 7.0
    return y, row, whole, torch.zeros(2, 2).copy_(x[:2, :2]).relu_()


def filled(x):
    y = torch.zeros(x.size(0), 6)
    y[:, 1:4] = x[:, :3]
    y[:, 0] = x[:, 0]
    z = x.new_zeros(x.shape)
    z[1:] = x[:-1]
    return y, z


def indexed(x):
    numbers = torch.tensor([2, 0])
    parts = x[numbers], x[:, numbers], x[numbers, torch.tensor([1, 3])], x[..., None], x[-1], x[::2]
    x3 = x[None].repeat(2, 1, 1)
    parts += (x3[:, numbers, torch.tensor([0, 1])], x3[torch.tensor([0, 1]), :, numbers], x[x > 0])
    parts += (x.gather(1, torch.tensor([[0], [1], [2]])), x.index_select(1, numbers), x.flip(0, 1))
    parts += (x.scatter(1, torch.tensor([[0, 1], [1, 2], [3, 0]]), 5.0), x.roll(1, 0), x.diagonal())
    parts += (x.scatter_add(0, torch.zeros(1, 4).long(), x), x.unfold(1, 2, 1), x.tril(), x.triu(1))
    return (*parts, *x.chunk(2, 1), *x.split([1, 3], 1), *x.unbind(0), torch.where(x > 0, x, 0.0))


def arithmetic(x):
    whole = (x * 5).long()
    parts = (
        x + 1,
        1 - x,
        x / 2,
        2 / x,
        x // 0.3,
        x % 0.3,
        x**2,
        x.abs() ** 0.5,
        2**x,
        x.abs() ** 1.5,
    )
    parts += (whole // 2, whole % 3, whole / 2, whole + 0.5, whole.float(), whole * x, -whole)
    parts += (whole.div(2, rounding_mode="trunc"), x.fmod(0.3), x.trunc(), x.round(), x.sign())
    parts += (x > 0, whole == 1, whole != 1, (x > 0) & (x < 1), ~(x > 0), (x > 0) == (x < 1))
    parts += (x.exp(), x.abs().log(), x.abs().log1p(), x.expm1(), x.abs().rsqrt(), x.erf(), x.sin())
    parts += (x.clamp(0, 1), x.clamp_min(0.1), torch.maximum(x, -x), torch.lerp(x, -x, 0.3))
    parts += (x.addcmul(x, x, value=2), torch.add(x, x, alpha=3), x.masked_fill(x > 0, -1e9))
    parts += (
        x.double(),
        x.isnan(),
        x.reciprocal(),
        x.abs().log2(),
        x.atan(),
        x.square(),
        x.floor(),
    )
    return parts


def reduced(x):
    parts = (x.sum(), x.mean(1), x.var(0), x.std(), x.max(), *x.max(1), *x.min(0), x.argmax(1))
    parts += (x.amax((0, 1)), *x.topk(2), *x.sort(), x.cumsum(1), x.norm(), x.norm(1, dim=1))
    parts += (x.prod(0), (x > 0).all(), (x > 0).any(1), x.logsumexp(1), x.argmin(), x.sum(1, True))
    parts += (F.normalize(x), F.cosine_similarity(x, x + 1), x.var(1, unbiased=False), x.softmax(0))
    return parts


def multiplied(x):
    row = x[0]
    parts = (x @ x.T, x.T @ x[:, 0], row @ row, x[None] @ x.T, torch.outer(row, row))
    parts += (torch.einsum("ij,kj->ik", x, x), torch.addmm(x @ x.T, x, x.T, beta=0.5, alpha=2))
    parts += (
        F.linear(x, x, x[:, 0]),
        torch.stack([x, x], 1),
        torch.cat([x, x[:1]]),
        x.repeat(2, 3),
    )
    parts += (
        x.expand(2, 3, 4),
        x.reshape(2, 6),
        x.unsqueeze(1).squeeze(1),
        x.flatten(),
        x.movedim(0, 1),
    )
    return (*parts, torch.baddbmm(x[None], x[None], (x.T @ x)[None]))


@pytest.mark.parametrize("function", [written_parts, indexed, arithmetic, reduced, multiplied])
def test_functions(function):
    check(function, (torch.randn(3, 4),))


@pytest.mark.parametrize("function", [filled, reduced, arithmetic])
def test_functions_with_a_dynamic_size(function):
    inputs = [(torch.randn(size, 4),) for size in (3, 5)]
    check(function, *inputs, axes={"x": {0: "rows"}})


def positions(x):
    length = x.size(1)
    angle = torch.arange(length)[:, None] * torch.exp(torch.arange(0, 4, 2) * -0.5)
    wave = torch.cat([angle.sin(), angle.cos()], 1)
    mask = torch.triu(torch.full((length, length), float("-inf")), 1)
    scores = (x + wave) @ x.transpose(1, 2) / length + mask
    return scores.softmax(-1), x.sum(1) / x.shape[1], x[:, : length // 2 * 0 + 1], x[:, length - 1]


def test_constants_that_depend_on_a_size():
    inputs = [(torch.randn(2, length, 4),) for length in (5, 3, 9)]
    check(positions, *inputs, axes={"x": {0: "batch", 1: "length"}})


def test_opsets_and_names():
    model = nn.Linear(3, 2)
    for opset in (18, 19, 20):
        check(model, (torch.randn(2, 3),), opset_version=opset)
    x, grid = torch.randn(2, 3, 4, 4), torch.rand(2, 5, 5, 2) * 2 - 1
    for opset in (18, 20):
        check(lambda x, g: F.grid_sample(x, g, align_corners=False), (x, grid), opset_version=opset)
