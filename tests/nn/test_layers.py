"""Layers and losses: outputs, gradients and `repr`; numbers from PyTorch 2.13, same seed."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import taper
from taper import nn, optim

# constructor, arguments, output, gradient of the first input, gradients of the parameters
CASES = [
    (
        "nn.Linear(3, 2)",
        "x(2, 3)",
        [-0.284375, 0.941316, 0.00193948, -0.0447918],
        [-0.233894, 0.189569, -0.391535, 0.422441, 0.0912564, 0.0444755],
        {
            "weight": [-1.21234, -0.700784, 0.140366, -1.33694, -1.12377, -0.382079],
            "bias": [0.583853, -0.44969],
        },
    ),
    (
        "nn.Bilinear(2, 3, 1)",
        "x(2, 2), x(2, 3)",
        [0.0922629, -0.556182],
        [-0.334277, 0.592214, 0.00885306, -0.332565],
        {"weight": [0.895587, 0.453573, -0.201764, 0.677807, 0.556261, 0.173096], "bias": [1.5403]},
    ),
    (
        "nn.Embedding(4, 2, padding_idx=1)",
        "taper.tensor([3, 1, 0])",
        [0.403347, 0.838026, 0.0, 0.0, 1.541, -0.293429],
        None,
        {"weight": [-0.653644, 0.283662, 0.0, 0.0, 0.0, 0.0, 1.0, 0.540302]},
    ),
    (
        "nn.Dropout(0.4)",
        "x(2, 4)",
        [-0.0, -0.0, 0.649031, 0.0, 0.0, 0.0, -0.0972899, -1.14628],
        [0.0, 0.0, -0.693578, -0.0, -0.0, 0.0, 1.60028, 1.2565],
        {},
    ),
    (
        "nn.AlphaDropout(0.4)",
        "x(2, 4)",
        [-0.910642, -0.910642, 0.943273, -0.910642, -0.910642, -0.910642, 0.556701, 0.013358],
        [0.0, 0.0, -0.359252, -0.0, -0.0, 0.0, 0.828898, 0.650831],
        {},
    ),
    (
        "nn.BatchNorm1d(2)",
        "x(3, 2)",
        [-1.34204, -1.37398, 0.284806, 0.976947, 1.05724, 0.397033],
        [0.0802792, -0.268883, -0.249295, -0.821364, 0.169015, 1.09025],
        {"weight": [-2.15162, -1.59691], "bias": [-0.0697905, -0.166028]},
    ),
    (
        "nn.BatchNorm2d(2, momentum=None)",
        "x(2, 2, 1, 2)",
        [-1.32595, -0.564189, 0.440155, 1.30359, 1.20695, 0.68319, -0.33037, -1.41338],
        [-0.0424695, -0.0924171, -0.307676, -0.234109, -0.383129, 0.518016, 1.11376, -0.571974],
        {"weight": [-2.2259, -2.85648], "bias": [1.17032, 0.307933]},
    ),
    (
        "nn.InstanceNorm1d(2, affine=True)",
        "x(1, 2, 3)",
        [-1.17613, -0.0919989, 1.26813, 0.434764, 0.947804, -1.38257],
        [-0.123491, 0.222025, -0.0985337, -2.03423, 1.58491, 0.449325],
        {"weight": [-1.75356, -1.44212], "bias": [1.12416, -1.35997]},
    ),
    (
        "nn.LayerNorm(3)",
        "x(2, 3)",
        [-1.17613, -0.0919989, 1.26813, 0.434764, 0.947804, -1.38257],
        [-0.123491, 0.222025, -0.0985337, -2.03423, 1.58491, 0.449324],
        {"weight": [-1.60654, -0.669233, -0.919909], "bias": [0.0100075, -0.113341, -0.132485]},
    ),
    (
        "nn.GroupNorm(2, 4)",
        "x(1, 4, 2)",
        [-1.33174, -0.503063, 0.536579, 1.29822, 1.20855, 0.617309, -0.417263, -1.40859],
        [-0.105733, 0.175115, -0.0489047, -0.0204767, -0.570165, 0.422501, 0.641739, -0.494075],
        {
            "weight": [-1.60355, -1.50853, -0.614852, -1.46259],
            "bias": [1.5403, -1.40614, -0.369981, 1.71407],
        },
    ),
    (
        "nn.RMSNorm(3)",
        "x(2, 3)",
        [-1.49766, -0.52597, 0.693091, 1.06499, 1.16375, 0.715175],
        [-0.0596559, 0.315625, 0.110611, -0.499133, -0.0337781, 0.798242],
        {"weight": [-2.55199, -1.04486, -0.0855594]},
    ),
    (
        "nn.PReLU(2)",
        "x(2, 2)",
        [-0.210368, -0.0738801, 0.389418, 0.891207],
        [0.25, 0.135076, -0.416147, -0.989992],
        {"weight": [-0.841471, -0.15967]},
    ),
    (
        "nn.RReLU()",
        "x(2, 2)",
        [-0.27524, -0.0805182, 0.389418, 0.891207],
        [0.327094, 0.147212, -0.416147, -0.989992],
        {},
    ),
    (
        "nn.GELU()",
        "x(2, 2)",
        [-0.16833, -0.11342, 0.253713, 0.725078],
        [-0.0355676, 0.14639, -0.331056, -1.04207],
        {},
    ),
    (
        "nn.Softplus(beta=2.0)",
        "x(2, 2)",
        [0.08522, 0.220336, 0.578273, 0.968953],
        [0.156706, 0.192562, -0.285239, -0.847428],
        {},
    ),
    (
        "nn.Softmax(dim=1)",
        "x(2, 2)",
        [0.366804, 0.633196, 0.37712, 0.62288],
        [0.106769, -0.106769, 0.134797, -0.134797],
        {},
    ),
    (
        "nn.GLU()",
        "x(2, 4)",
        [-0.501637, -0.209565, 0.472716, 0.200207],
        [0.596143, 0.38315, -0.20259, -0.0329337, -0.202002, -0.331182, -0.10123, -0.131898],
        {},
    ),
    (
        "nn.Hardswish()",
        "x(2, 2)",
        [-0.302723, -0.133205, 0.219984, 0.577979],
        [0.21951, 0.216928, -0.262092, -0.789092],
        {},
    ),
    (
        "nn.CosineSimilarity()",
        "x(2, 2), x(2, 2) ** 2",
        [-0.976972, 0.975173],
        [0.0792733, -0.225725, -0.112728, 0.0492574],
        {},
    ),
    (
        "nn.PairwiseDistance()",
        "x(2, 2), x(2, 2) ** 2",
        [1.59614, 0.256781],
        [-0.970807, -0.239861, 0.500306, 0.204012],
        {},
    ),
    (
        "nn.MSELoss()",
        "x(2, 2), taper.ones(2, 2)",
        [1.36351],
        [-0.920735, -0.64776, -0.305291, -0.0543963],
        {},
    ),
    (
        "nn.CrossEntropyLoss(label_smoothing=0.1)",
        "x(2, 3), taper.tensor([2, 0])",
        [0.848813],
        [0.0646273, 0.123667, -0.188294, -0.290136, 0.175072, 0.115064],
        {},
    ),
    (
        "nn.NLLLoss(reduction='sum')",
        "x(2, 3), taper.tensor([2, 0])",
        [-1.28063],
        [0.0, 0.0, -1.0, -1.0, 0.0, 0.0],
        {},
    ),
    (
        "nn.BCEWithLogitsLoss()",
        "x(2, 2), taper.ones(2, 2)",
        [0.728165],
        [-0.174694, -0.143337, -0.100964, -0.0727152],
        {},
    ),
    (
        "nn.HuberLoss(delta=0.5)",
        "x(2, 2), taper.ones(2, 2)",
        [0.376176],
        [-0.125, -0.125, -0.125, -0.0271982],
        {},
    ),
    (
        "nn.KLDivLoss(reduction='batchmean')",
        "x(2, 2), taper.full((2, 2), 0.5)",
        [-0.729056],
        [-0.25, -0.25, -0.25, -0.25],
        {},
    ),
    (
        "nn.TripletMarginLoss()",
        "x(2, 2), x(2, 2) ** 2, -x(2, 2)",
        [0.406215],
        [-0.0136504, 0.0457466, 0.0, 0.0],
        {},
    ),
    (
        "nn.CTCLoss()",
        "x(4, 1, 3).log_softmax(2), taper.tensor([[1, 2]]), (4,), (2,)",
        [0.887707],
        [
            -0.0534333,
            -0.224939,
            0.278373,
            0.0229078,
            -0.104328,
            0.0814202,
            0.0115403,
            0.0348941,
            -0.0464344,
            0.0291557,
            0.140543,
            -0.169699,
        ],
        {},
    ),
    (
        "nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))",
        "x(2, 2)",
        [-0.728221, -0.48152],
        [0.0604963, 0.0633463, 0.0702568, 0.0648919],
        {
            "0.weight": [-0.0976418, 0.0219489, 0.00837311, -0.0669995, 0.0704638, -0.0215141],
            "0.bias": [0.22508, -0.145556, -0.173433],
            "2.weight": [0.0471396, 0.765207, 0.110035],
            "2.bias": [1.5403],
        },
    ),
]

REPRS = {
    "nn.BatchNorm1d(3)": (
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"
    ),
    "nn.BatchNorm2d(3,bias=False)": (
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=False, track_running_stats=True)"
    ),
    "nn.InstanceNorm1d(3)": (
        "InstanceNorm1d(3, eps=1e-05, momentum=0.1, "
        "affine=False, bias=False, track_running_stats=False)"
    ),
    "nn.LayerNorm([2,3],elementwise_affine=False)": (
        "LayerNorm((2, 3), eps=1e-05, elementwise_affine=False, bias=False)"
    ),
    "nn.GroupNorm(2,4)": "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)",
    "nn.RMSNorm(4)": "RMSNorm((4,), eps=None, elementwise_affine=True)",
    "nn.Linear(2,3,bias=False)": "Linear(in_features=2, out_features=3, bias=False)",
    "nn.Bilinear(2,3,4)": "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)",
    "nn.Flatten()": "Flatten(start_dim=1, end_dim=-1)",
    "nn.Unflatten(1,(2,3))": "Unflatten(dim=1, unflattened_size=(2, 3))",
    "nn.Dropout2d(.3,True)": "Dropout2d(p=0.3, inplace=True)",
    "nn.Embedding(4, 3)": "Embedding(4, 3)",
    "nn.Threshold(.1,20, True)": "Threshold(threshold=0.1, value=20, inplace=True)",
    "nn.ReLU(True)": "ReLU(inplace=True)",
    "nn.ReLU()": "ReLU()",
    "nn.RReLU()": "RReLU(lower=0.125, upper=0.3333333333333333)",
    "nn.Hardtanh(-2,2,True)": "Hardtanh(min_val=-2, max_val=2, inplace=True)",
    "nn.ReLU6()": "ReLU6()",
    "nn.Hardsigmoid(True)": "Hardsigmoid()",
    "nn.ELU(.5,True)": "ELU(alpha=0.5, inplace=True)",
    "nn.GELU('tanh')": "GELU(approximate='tanh')",
    "nn.Hardshrink()": "Hardshrink(0.5)",
    "nn.LeakyReLU(.1)": "LeakyReLU(negative_slope=0.1)",
    "nn.Softplus()": "Softplus(beta=1.0, threshold=20.0)",
    "nn.PReLU(3)": "PReLU(num_parameters=3)",
    "nn.Softmin()": "Softmin(dim=None)",
    "nn.Softmax2d()": "Softmax2d()",
    "nn.LogSoftmax(dim=-1)": "LogSoftmax(dim=-1)",
    "nn.GLU()": "GLU(dim=-1)",
    "nn.CELU()": "CELU(alpha=1.0)",
    "nn.CrossEntropyLoss()": "CrossEntropyLoss()",
}


@pytest.mark.parametrize(("text", "arguments", "output", "grad", "grads"), CASES)
def test_numbers(text, arguments, output, grad, grads):
    taper.manual_seed(0)
    module = eval(text)
    leaves = []

    def x(*shape):
        values = np.sin(np.arange(np.prod(shape), dtype=np.float32) * np.float32(0.7) - 1)
        leaves.append(taper.tensor(values.astype(np.float32).reshape(shape), requires_grad=True))
        return leaves[-1]

    found = module(*eval(f"({arguments},)", {"x": x, "taper": taper}))
    cotangent = np.cos(np.arange(found.numel(), dtype=np.float32))
    found.backward(taper.tensor(cotangent.reshape(found.shape)))
    close = {"rtol": 2e-5, "atol": 2e-6}
    np.testing.assert_allclose(found.detach().numpy().reshape(-1), output, **close)
    if grad is not None:
        np.testing.assert_allclose(leaves[0].grad.numpy().reshape(-1), grad, **close)
    for name, param in module.named_parameters():
        np.testing.assert_allclose(param.grad.numpy().reshape(-1), grads[name], **close)


@pytest.mark.parametrize("text", REPRS)
def test_repr(text):
    assert repr(eval(text)) == REPRS[text]


def test_repr_of_an_embedding_names_what_is_unusual():
    layer = nn.Embedding(4, 3, -1, 1.0, 1.0, scale_grad_by_freq=True, sparse=True)
    assert repr(layer) == (
        "Embedding(4, 3, padding_idx=3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, "
        "sparse=True)"
    )


def test_linear_with_a_plain_weight():
    """Tools that compute the weight put a tensor in place of the parameter."""
    layer = nn.Linear(2, 1)
    del layer.weight
    layer.weight = taper.ones(1, 2)
    layer.bias = None
    assert layer(taper.ones(1, 2)).tolist() == [[2.0]]


def test_batch_norm_tracks_statistics_while_training_only():
    norm = nn.BatchNorm1d(1)
    norm(taper.tensor([[1.0], [3.0]]))
    assert norm.running_mean.tolist() == pytest.approx([0.2])
    assert norm.running_var.tolist() == pytest.approx([1.1])
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    before = norm.running_mean.tolist()
    norm(taper.tensor([[7.0], [9.0]]))
    assert norm.running_mean.tolist() == before
    norm.reset_running_stats()
    assert norm.running_mean.tolist() == [0.0]
    assert norm.num_batches_tracked.item() == 0


def test_batch_norm_with_a_plain_weight():
    norm = nn.BatchNorm1d(1)
    del norm.weight
    norm.weight = taper.tensor([2.0])
    assert norm(taper.tensor([[1.0], [3.0]])).reshape(-1).tolist() == pytest.approx(
        [-2, 2], abs=1e-4
    )


def test_batch_norm_without_statistics_uses_the_batch_always():
    norm = nn.BatchNorm1d(1, track_running_stats=False).eval()
    assert norm.running_mean is None
    assert norm(taper.tensor([[1.0], [3.0]])).reshape(-1).tolist() == pytest.approx(
        [-1, 1], abs=1e-4
    )


def test_dropout_is_the_identity_in_evaluation():
    x = taper.ones(4)
    for layer in (nn.Dropout(0.9), nn.AlphaDropout(0.9)):
        assert layer.eval()(x).tolist() == [1.0] * 4


def test_inplace_activations_write_into_their_input():
    x = taper.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x
    assert x.tolist() == [0.0, 2.0]


def test_embedding_from_pretrained_shares_and_freezes():
    table = taper.ones(3, 2)
    layer = nn.Embedding.from_pretrained(table)
    assert layer.weight.data_ptr() == table.data_ptr()
    assert not layer.weight.requires_grad
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad


def test_weights_of_losses_are_buffers():
    loss = nn.CrossEntropyLoss(weight=taper.ones(2))
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype == taper.float64
    assert list(nn.BCEWithLogitsLoss(pos_weight=taper.ones(2)).state_dict()) == ["pos_weight"]


def test_deprecated_arguments_of_losses():
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        assert nn.Hardtanh(min_value=-3).min_val == -3


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda: nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1, but"),
        (
            lambda: nn.GroupNorm(3, 4),
            ValueError,
            "num_channels (4) must be divisible by num_groups",
        ),
        (lambda: nn.Bilinear(0, 1, 1), ValueError, "in1_features must be > 0, but got"),
        (lambda: nn.Unflatten(1, 3), TypeError, "unflattened_size must be a tuple of ints, but"),
        (lambda: nn.Unflatten(1, ("a",)), TypeError, "unflattened_size must be tuple of ints, but"),
        (lambda: nn.Embedding(2, 1, 7), AssertionError, "Padding_idx must be within num_embeddin"),
        (lambda: nn.Hardtanh(1, 1), AssertionError, "max_val (1) must be greater than min_val (1)"),
        (lambda: nn.MultiMarginLoss(3), ValueError, "only p == 1 and p == 2 supported"),
        (lambda: nn.TripletMarginLoss(0), ValueError, "TripletMarginLoss: expected margin to be"),
        (lambda: nn.HuberLoss(delta="a"), TypeError, "delta must be a float or int, got: <class"),
        (
            lambda: nn.BatchNorm2d(1)(taper.ones(2)),
            ValueError,
            "expected 4D input (got 1D input)",
        ),
        (
            lambda: nn.InstanceNorm1d(2, affine=True)(taper.ones(3, 3)),
            ValueError,
            "expected input's size at dim=0 to match num_features (2), but got: 3.",
        ),
        (
            lambda: nn.Softmax2d()(taper.ones(2)),
            ValueError,
            "Softmax2d: expected input to be 3D or 4D, got 1D instead",
        ),
    ],
)
def test_refusals(action, error, text):
    with pytest.raises(error) as caught:
        action()
    assert str(caught.value).startswith(text)


def test_ctc_gradient_is_the_derivative_behind_a_softmax():
    loss = nn.CTCLoss(reduction="sum")
    scores = taper.tensor(
        np.random.default_rng(0).normal(size=(5, 2, 3)), dtype=taper.float64, requires_grad=True
    )

    def value(scores):
        return loss(scores.log_softmax(2), taper.tensor([[1, 1], [2, 0]]), (5, 4), (2, 1))

    assert taper.autograd.gradcheck(value, (scores,))


def test_training_learns():
    """A small network fits a parabola; a copy of it does not move."""
    taper.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    frozen = copy.deepcopy(model)
    x = taper.linspace(-1, 1, 32).unsqueeze(1)
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    first = None
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x * x)
        loss.backward()
        optimizer.step()
        first = first or loss.item()
    assert loss.item() < first / 100
    assert nn.functional.mse_loss(frozen(x), x * x).item() == pytest.approx(first)
