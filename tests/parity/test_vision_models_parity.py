"""Models and operators for pictures against torchvision: weights, texts, outputs, gradients."""

from __future__ import annotations

import hashlib
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import taper
import taper.vision
from both_packages import array_of, assert_same, assert_same_graph
from parity import torchvision_oracle
from vision.test_models import FACTS, OPTIONS

torchvision = torchvision_oracle.load()
PACKAGES = ((torch, torchvision), (taper, taper.vision))


def vision_of(package):
    return torchvision if package is torch else taper.vision


def on_both(make, seed=3):
    """Return `make(package, vision)` on both after the same seed, and the next number."""
    found = []
    for package, vision in PACKAGES:
        package.manual_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append((make(package, vision), package.rand(1).item()))
    (theirs, their_number), (ours, our_number) = found
    assert our_number == their_number, "not as many random numbers were drawn"
    return theirs, ours


def assert_same_state(theirs, ours):
    expected, found = theirs.state_dict(), ours.state_dict()
    assert list(found) == list(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(
            array_of(found[key]), array_of(value), rtol=1e-6, atol=1e-7, err_msg=key
        )


# --- recorded facts ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", FACTS)
def test_recorded_facts_are_torchvisions(name, monkeypatch):
    sizes = torchvision.models.regnet.BlockParams
    compute = sizes.from_init_params

    def on_the_cpu(**settings):
        with torch.device("cpu"):
            return compute(**settings)

    monkeypatch.setattr(sizes, "from_init_params", on_the_cpu)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torchvision.models.get_model(name, **OPTIONS.get(name, {}))
    state = model.state_dict()
    lines = "\n".join(f"{key} {tuple(value.shape)}" for key, value in state.items())
    count = sum(each.numel() for each in model.parameters())
    assert (count, len(state), hashlib.sha256(lines.encode()).hexdigest()[:12]) == FACTS[name]


@pytest.mark.parametrize("name", FACTS)
def test_members_of_weights(name):
    ours = taper.vision.models.get_model_weights(name)
    theirs = torchvision.models.get_model_weights(name)
    assert repr(ours.DEFAULT) == repr(theirs.DEFAULT)
    for member in ours:
        other = theirs[member.name]
        assert member.url == other.url
        for key, value in member.meta.items():
            assert repr(value) == repr(other.meta[key]), key  # NaN is not equal to itself
        assert repr(member.transforms()) == repr(other.transforms())


# --- initial weights --------------------------------------------------------------------------

BUILT = ["resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "efficientnet_b0"]


@pytest.mark.parametrize("name", [*BUILT, "densenet121", "mnasnet0_5", "shufflenet_v2_x0_5"])
def test_same_seed_same_model(name):
    theirs, ours = on_both(lambda package, vision: vision.models.get_model(name))
    assert_same_state(theirs, ours)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(("name", "initialized"), [("googlenet", True), ("inception_v3", False)])
def test_same_seed_same_inceptions(name, initialized):
    theirs, ours = on_both(
        lambda package, vision: vision.models.get_model(name, init_weights=initialized)
    )
    assert_same_state(theirs, ours)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", ["vgg", "alexnet"])
def test_same_seed_same_convolutions_and_linear_layers(name, monkeypatch):
    """With narrow linear layers: those of the models take seconds to fill."""

    def make(package, vision):
        class Narrow(package.nn.Linear):
            def __init__(self, inputs, outputs):
                super().__init__(inputs // 128, outputs // 128)

        module = sys.modules[f"{vision.__name__}.models.{name}"]
        nn = SimpleNamespace(**{**vars(package.nn), "Linear": Narrow})
        monkeypatch.setattr(module, "nn", nn)
        if name == "alexnet":
            return module.AlexNet()
        layers = module.make_layers([8, "M", 16, 16, "M"], batch_norm=True)
        return module.VGG(layers, num_classes=1000, dropout=0.25)

    theirs, ours = on_both(make)
    assert_same_state(theirs, ours)
    assert repr(ours) == repr(theirs)


# --- outputs and gradients --------------------------------------------------------------------


def resnet(block, **options):
    def make(package, vision):
        module = vision.models.resnet
        return module.ResNet(getattr(module, block), [1, 1, 2, 1], num_classes=7, **options)

    return make


def named(name, **options):
    return lambda package, vision: vision.models.get_model(name, num_classes=7, **options)


def transformer(package, vision):
    stem = vision.models.vision_transformer.ConvStemConfig
    model = vision.models.VisionTransformer(
        32,
        8,
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        mlp_dim=16,
        dropout=0.1,
        attention_dropout=0.2,
        num_classes=7,
        representation_size=6,
        conv_stem_configs=[stem(4, 3, 2), stem(6, 3, 2), stem(6, 3, 2)],
    )
    package.nn.init.normal_(model.heads.head.weight)  # zeros would hide everything before them
    return model


def plain_transformer(package, vision):
    model = vision.models.VisionTransformer(32, 16, 1, 2, 8, 16, num_classes=7)
    package.nn.init.normal_(model.heads.head.weight)
    return model


def densenet(package, vision):
    return vision.models.DenseNet(4, (1, 2, 1, 1), 8, drop_rate=0.2, num_classes=7)


def efficientnet(package, vision):
    config = vision.models.efficientnet.MBConvConfig
    stages = [config(1, 3, 1, 8, 8, 1), config(6, 5, 2, 8, 8, 3, depth_mult=1.1)]
    return vision.models.EfficientNet(stages, 0.2, stochastic_depth_prob=0.5, num_classes=7)


def convnext(package, vision):
    config = vision.models.convnext.CNBlockConfig
    stages = [config(8, 16, 2), config(16, None, 2)]
    return vision.models.ConvNeXt(stages, stochastic_depth_prob=0.5, layer_scale=0.1, num_classes=7)


def fused(package, vision):
    module = vision.models.efficientnet
    stages = [
        module.FusedMBConvConfig(1, 3, 1, 8, 8, 2),
        module.FusedMBConvConfig(4, 3, 2, 8, 8, 2),
    ]
    return vision.models.EfficientNet(stages, 0.2, stochastic_depth_prob=0.5, num_classes=7)


def regnet(package, vision):
    module = vision.models.regnet
    sizes = module.BlockParams.from_init_params(
        depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25
    )
    return module.RegNet(sizes, num_classes=7, stem_width=8)


def swin(second):
    def make(package, vision):
        module = vision.models.swin_transformer
        kinds = {"block": module.SwinTransformerBlockV2, "downsample_layer": module.PatchMergingV2}
        options = {"dropout": 0.1, "attention_dropout": 0.2, "stochastic_depth_prob": 0.3}
        return vision.models.SwinTransformer(
            [4, 4], 8, [2, 2], [2, 2], [3, 3], num_classes=7, **options, **(kinds if second else {})
        )

    return make


def maxvit(package, vision):
    rates = {"mlp_dropout": 0.1, "attention_dropout": 0.2}
    return vision.models.MaxVit((32, 32), 8, 4, [8, 16], [2, 1], 4, 0.3, num_classes=7, **rates)


NETWORKS = {
    "resnet": resnet("BasicBlock", zero_init_residual=True),
    "resnext": resnet(
        "Bottleneck",
        groups=2,
        width_per_group=16,
        replace_stride_with_dilation=[False, True, True],
    ),
    "mobilenet_v2": named("mobilenet_v2", width_mult=0.1),
    "mobilenet_v3": named("mobilenet_v3_large", width_mult=0.1, reduced_tail=True, dilated=True),
    "squeezenet1_0": named("squeezenet1_0"),
    "transformer with convolutions": transformer,
    "transformer": plain_transformer,
    "densenet": densenet,
    "efficientnet": efficientnet,
    "convnext": convnext,
    "fused efficientnet": fused,
    "regnet": regnet,
    "swin": swin(False),
    "swin 2": swin(True),
    "maxvit": maxvit,
}


def run(package, model, images):
    """Return output and gradients of all parameters; the graph is that of the output."""
    package.manual_seed(11)
    output = model(package.from_numpy(images.copy()))
    model.zero_grad()
    grads = np.random.default_rng(5).standard_normal(tuple(output.shape))
    output.backward(package.from_numpy(grads))
    return output, {
        key: None if each.grad is None else array_of(each.grad)
        for key, each in model.named_parameters()
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_same_outputs_and_gradients(name):
    theirs, ours = on_both(NETWORKS[name])
    assert_same_state(theirs, ours)
    assert repr(ours) == repr(theirs)
    # Normal numbers differ in the last bit, which batches of few values amplify.
    state = {key: array_of(value) for key, value in theirs.state_dict().items()}
    ours.load_state_dict({key: taper.from_numpy(value) for key, value in state.items()})
    images = np.random.default_rng(0).standard_normal((3, 3, 32, 32))
    for mode in ("eval", "train"):
        expected, their_grads = run(torch, getattr(theirs.double(), mode)(), images)
        found, our_grads = run(taper, getattr(ours.double(), mode)(), images)
        np.testing.assert_allclose(array_of(found), array_of(expected), rtol=1e-6, atol=1e-8)
        for key, grad in their_grads.items():
            assert (grad is None) == (our_grads[key] is None), key
            if grad is not None:
                scale = max(1.0, float(np.abs(grad).max()))
                np.testing.assert_allclose(our_grads[key] / scale, grad / scale, atol=1e-6)
        assert_same_graph(found.grad_fn, expected.grad_fn, saved=False)


SEVERAL = {
    "fcn_resnet50": {"weights_backbone": None, "aux_loss": True},
    "deeplabv3_mobilenet_v3_large": {"weights_backbone": None},
    "lraspp_mobilenet_v3_large": {"weights_backbone": None},
    "mc3_18": {},
    "r2plus1d_18": {},
}


@pytest.mark.parametrize("name", SEVERAL)
def test_same_scores_of_pixels_and_sequences(name):
    theirs, ours = on_both(named(name, **SEVERAL[name]))
    assert_same_state(theirs, ours)
    assert repr(ours) == repr(theirs)
    size = (2, 3, 2, 16, 16) if name.endswith("_18") else (2, 3, 32, 32)
    images = np.random.default_rng(0).standard_normal(size)
    expected = theirs.eval().double()(torch.from_numpy(images))
    found = ours.eval().double()(taper.from_numpy(images))
    if isinstance(expected, torch.Tensor):
        expected, found = {"out": expected}, {"out": found}
    assert list(found) == list(expected)
    for key, value in expected.items():
        scale = float(value.detach().abs().max())
        np.testing.assert_allclose(array_of(found[key]) / scale, array_of(value) / scale, atol=1e-6)


def test_googlenet_has_the_same_named_outputs():
    theirs, ours = on_both(named("googlenet", init_weights=False, transform_input=True))
    images = np.random.default_rng(0).standard_normal((2, 3, 64, 64))
    for package, model in ((torch, theirs.double()), (taper, ours.double())):
        package.manual_seed(4)
        model.result = model(package.from_numpy(images))
    assert ours.result._fields == theirs.result._fields
    for one, other in zip(ours.result, theirs.result, strict=True):
        np.testing.assert_allclose(array_of(one), array_of(other), atol=1e-6)


def test_a_checkpoint_of_torchvision_is_loaded_by_the_name_of_its_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(
        torchvision.models.squeezenet1_1().state_dict(), folder / "squeezenet1_1-b8a52dc0.pth"
    )
    theirs, ours = on_both(lambda package, vision: vision.models.squeezenet1_1(weights="DEFAULT"))
    assert_same_state(theirs, ours)


# --- ways to call builders --------------------------------------------------------------------

CALLS = {
    "pretrained": lambda models: models.squeezenet1_1(pretrained=False),
    "positional": lambda models: models.squeezenet1_1(False),
    "two positional": lambda models: models.squeezenet1_1(None, True),
    "wrong weights": lambda models: models.resnet18(weights=models.ResNet50_Weights.DEFAULT),
    "wrong name": lambda models: models.resnet18(weights="bogus"),
    "classes": lambda models: models.resnet18(weights="DEFAULT", num_classes=3),
    "size": lambda models: models.vit_b_16(weights="DEFAULT", image_size=64),
    "option": lambda models: models.resnet18(bogus=1),
    "both": lambda models: models.resnet18(weights=None, pretrained=False),
    "dilation": lambda models: models.resnet18(replace_stride_with_dilation=[False, True, True]),
    "groups": lambda models: models.resnet18(groups=2),
    "name": lambda models: models.get_model("bogus"),
    "weight": lambda models: models.get_weight("bogus"),
    "enum": lambda models: models.get_weight("Bogus.X"),
    "method": lambda models: models.get_model_weights(print),
    "version": lambda models: models.SqueezeNet("2"),
    "stages": lambda models: models.EfficientNet([], 0.1),
    "settings": lambda models: models.MobileNetV2(inverted_residual_setting=[[1]]),
    "blocks": lambda models: models.GoogLeNet(init_weights=True, blocks=[1]),
    "repeats": lambda models: models.ShuffleNetV2([4], [1] * 5),
    "channels": lambda models: models.ShuffleNetV2([4, 8, 4], [24]),
    "alpha": lambda models: models.MNASNet(0.0),
    "inceptions": lambda models: models.Inception3(init_weights=True, inception_blocks=[1]),
    "patches": lambda models: models.vit_b_16(image_size=20),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_same_warnings_and_errors_of_builders(call):
    def program(package, make):
        return type(call(vision_of(package).models)).__name__

    assert_same(torch, program)


# --- operators and pictures -------------------------------------------------------------------


def boxes(make, count=4, dtype=None):
    corners = np.random.default_rng(count).uniform(0, 9, (count, 4))
    corners[:, 2:] += corners[:, :2] + 0.5
    tensor = make.data(corners.tolist(), dtype)
    if dtype is None or dtype.startswith("float"):
        tensor.requires_grad_()
        make.leaves.append(tensor)
    return tensor


OPERATORS = {
    "box_area": lambda ops, torch, make: ops.box_area(boxes(make)),
    "box_area of centers": lambda ops, torch, make: ops.box_area(boxes(make), "cxcywh"),
    "box_area of small numbers": lambda ops, torch, make: ops.box_area(boxes(make, 3, "uint8")),
    "box_area of half": lambda ops, torch, make: ops.box_area(boxes(make, 3, "float16")),
    "box_iou": lambda ops, torch, make: ops.box_iou(boxes(make), boxes(make, 3)),
    "box_iou of corners": lambda ops, torch, make: ops.box_iou(boxes(make), boxes(make, 3), "xywh"),
    "box_iou of integers": lambda ops, torch, make: ops.box_iou(
        boxes(make, 4, "int64"), boxes(make, 3, "int64")
    ),
    "generalized_box_iou": lambda ops, torch, make: ops.generalized_box_iou(
        boxes(make), boxes(make, 3)
    ),
    "distance_box_iou": lambda ops, torch, make: ops.distance_box_iou(boxes(make), boxes(make, 3)),
    "complete_box_iou": lambda ops, torch, make: ops.complete_box_iou(boxes(make), boxes(make, 3)),
    "wrong format": lambda ops, torch, make: ops.box_convert(boxes(make), "x", "y"),
    "format of area": lambda ops, torch, make: ops.box_area(boxes(make), "x"),
    "format of iou": lambda ops, torch, make: ops.box_iou(boxes(make), boxes(make), "x"),
    "clip": lambda ops, torch, make: ops.clip_boxes_to_image(boxes(make), (6, 7)),
    "small": lambda ops, torch, make: ops.remove_small_boxes(boxes(make), 4.0),
    "masks": lambda ops, torch, make: ops.masks_to_boxes(torch.eye(4).bool()[None]),
    "focal": lambda ops, torch, make: ops.sigmoid_focal_loss(make(3, 4), make(3, 4).sigmoid()),
    "focal mean": lambda ops, torch, make: ops.sigmoid_focal_loss(
        make(3, 4), make(3, 4).sigmoid(), alpha=-1, gamma=3, reduction="mean"
    ),
    "focal alpha": lambda ops, torch, make: ops.sigmoid_focal_loss(make(3), make(3), alpha=3),
    "depth rows": lambda ops, torch, make: ops.stochastic_depth(make(6, 2, 2), 0.4, "row"),
    "depth batch": lambda ops, torch, make: ops.stochastic_depth(make(6, 2), 0.4, "batch"),
    "depth none": lambda ops, torch, make: ops.stochastic_depth(make(6, 2), 1.0, "row"),
    "depth mode": lambda ops, torch, make: ops.stochastic_depth(make(6, 2), 0.4, "bogus"),
    "squeeze": lambda ops, torch, make: ops.SqueezeExcitation(4, 2).double()(make(2, 4, 3, 3)),
    "frozen": lambda ops, torch, make: ops.FrozenBatchNorm2d(4).double()(make(2, 4, 3, 3)),
    "mlp": lambda ops, torch, make: ops.MLP(3, [4, 2], dropout=0.5).double()(make(5, 3)),
    "permute": lambda ops, torch, make: ops.Permute([1, 2, 0])(make(2, 3, 4)),
    "depth text": lambda ops, torch, make: repr(ops.StochasticDepth(0.2, "row")),
    "mlp text": lambda ops, torch, make: repr(
        ops.MLP(3, [4, 2], norm_layer=torch.nn.BatchNorm1d, inplace=True, bias=False)
    ),
    "convolution": lambda ops, torch, make: repr(
        ops.Conv2dNormActivation(3, 4, (3, 5), 2, dilation=2, norm_layer=None, inplace=None)
    ),
    "convolution same": lambda ops, torch, make: repr(
        ops.Conv2dNormActivation(3, 4, 5, dilation=(2, 3), padding="same", bias=True)
    ),
    "volumes": lambda ops, torch, make: repr(ops.Conv3dNormActivation(3, 4)),
    "directly": lambda ops, torch, make: repr(ops.misc.ConvNormActivation(3, 4)),
}
OPERATORS |= {
    f"{there} to {back}": lambda ops, torch, make, there=there, back=back: ops.box_convert(
        boxes(make), there, back
    )
    for there in ("xyxy", "xywh", "cxcywh")
    for back in ("xyxy", "xywh", "cxcywh")
}
OPERATORS |= {
    f"{kind} {reduction}": lambda ops, torch, make, kind=kind, reduction=reduction: getattr(
        ops, f"{kind}_box_iou_loss"
    )(boxes(make, 3), make.data(np.arange(12.0).reshape(3, 4).tolist()), reduction)
    for kind in ("generalized", "distance", "complete")
    for reduction in ("none", "mean", "bogus")
}


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_same_operators(operator):
    assert_same(
        torch,
        lambda package, make: operator(vision_of(package).ops, package, make),
        saved=False,
        factor=100,
    )


PICTURES = {
    "grid": lambda utils, x, b: utils.make_grid(x),
    "grid rows": lambda utils, x, b: utils.make_grid(x, nrow=2, padding=1, pad_value=0.5),
    "grid normalised": lambda utils, x, b: utils.make_grid(x, normalize=True, scale_each=True),
    "grid ranged": lambda utils, x, b: utils.make_grid(x, normalize=True, value_range=(0.1, 0.4)),
    "grid of grey": lambda utils, x, b: utils.make_grid(x[:, :1]),
    "grid of one": lambda utils, x, b: utils.make_grid(x[0, 0]),
    "grid of nothing": lambda utils, x, b: utils.make_grid([3]),
    "boxes": lambda utils, x, b: utils.draw_bounding_boxes(x[0], b),
    "boxes filled": lambda utils, x, b: utils.draw_bounding_boxes(
        x[0], b, colors=["red", (1, 2, 3)], width=2, fill=True
    ),
    "boxes with labels": lambda utils, x, b: utils.draw_bounding_boxes(
        x[0], b, labels=["a", None], colors="blue", label_colors="red", fill_labels=True
    ),
    "no boxes": lambda utils, x, b: utils.draw_bounding_boxes(x[0], b[:0]),
    "boxes turned": lambda utils, x, b: utils.draw_bounding_boxes(x[0], b.flip(1)),
    "masks": lambda utils, x, b: utils.draw_segmentation_masks(x[0], x[1] > 0.5, 0.3),
    "mask": lambda utils, x, b: utils.draw_segmentation_masks(x[0], x[1, 0] > 0.5, colors="red"),
    "masks of numbers": lambda utils, x, b: utils.draw_segmentation_masks(x[0], x[1]),
    "points": lambda utils, x, b: utils.draw_keypoints(
        x[0], b.reshape(2, 2, 2), [(0, 1)], colors="green", radius=1
    ),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_same_pictures(picture):
    def program(package, make):
        x = package.rand(5, 3, 20, 24)
        corners = make.data([[2.0, 3.0, 10.0, 12.0], [5.0, 5.0, 20.0, 18.0]])
        return picture(vision_of(package).utils, x, corners)

    assert_same(torch, program)
