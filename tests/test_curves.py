"""The native functions of an element: close to the truth, equal at all places, strict."""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper
from taper.arrays.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")

F = taper.nn.functional


def curve(name: str, *operands: object) -> np.ndarray:
    found: np.ndarray = native.curve(native.curve_number(name), *operands)
    return found


def normal_share(x: float) -> float:
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


def gelu_slope(x: float) -> float:
    return normal_share(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def wave(x: float) -> float:
    return math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# name: (the truth, the most that a result may be off: relative to its size, and absolutely)
TRUTHS = {
    "logistic": (logistic, 3e-7, 0.0),
    "silu": (lambda x: x * logistic(x), 3e-7, 0.0),
    "silu_backward": (lambda x: logistic(x) * (1 + x * (1 - logistic(x))), 4e-7, 1.5e-6),
    "erf": (math.erf, 3e-7, 0.0),
    "gelu": (lambda x: x * normal_share(x), 4e-7, 1.5e-6),
    "gelu_backward": (gelu_slope, 4e-7, 6e-7),
    "gelu_tanh": (lambda x: x * (1 + wave(x)) / 2, 4e-7, 4e-7),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_curve_is_close_to_the_truth(name: str) -> None:
    truth, relative, absolute = TRUTHS[name]
    draw = np.random.default_rng(1)
    parts = draw.normal(0, 3, 20_000), draw.uniform(-80, 80, 10_000), draw.normal(0, 1e-3, 2_000)
    x = np.concatenate(parts).astype(np.float32)
    found = curve(name, x, np.ones_like(x))
    wanted = np.array([truth(float(each)) for each in x])
    off = np.abs(found - wanted) - absolute
    assert (off <= relative * np.abs(wanted)).all(), x[np.argmax(off)]


def test_values_that_are_no_numbers() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38], np.float32)
    np.testing.assert_array_equal(curve("logistic", x), np.float32([np.nan, 1, 0, 0.5, 0.5, 1, 0]))
    np.testing.assert_array_equal(curve("erf", x), np.float32([np.nan, 1, -1, 0, -0.0, 1, -1]))
    assert np.isnan(curve("gelu", x)[0])
    assert curve("gelu", x)[5] == np.float32(1e38)
    slope = curve("threshold_backward", x, np.full(7, 2, np.float32), 0.0)
    np.testing.assert_array_equal(slope, np.float32([2, 2, 0, 0, 0, 2, 0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_straight_curves_bend_where_their_twins_do(dtype: type) -> None:
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 3.0, -3.0, 2.9999998, -2.9999998, 7.0, -7.0, 1.5]
    x = np.array(edges, dtype)
    columns = taper.from_numpy(np.stack([x, x], 1).T)  # which are left to the twins
    for function in (F.hardswish, taper.abs):
        results = []
        for given in (columns, columns.contiguous()):
            v = given.clone().requires_grad_()
            y = function(v)
            y.backward(taper.full_like(v, 0.7))
            results.append([y.detach().numpy().tobytes("C"), v.grad.numpy().tobytes("C")])
        assert results[0] == results[1], function


def test_an_element_has_one_value_wherever_it_stands() -> None:
    x = np.random.default_rng(0).normal(0, 2, 40_001).astype(np.float32)
    whole = curve("gelu", x)
    for start, stop in ((0, 1), (5, 12), (8191, 8200), (39_990, 40_001)):
        assert curve("gelu", x[start:stop].copy()).tobytes() == whole[start:stop].tobytes()


@pytest.mark.parametrize("size", [3, 50_000])
def test_operators_agree_with_their_twins(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = taper.randn(2, size, generator=taper.Generator().manual_seed(0))
    calls = {
        "gelu": lambda v: F.gelu(v),
        "gelu tanh": lambda v: F.gelu(v, approximate="tanh"),
        "silu": F.silu,
        "sigmoid": taper.sigmoid,
        "tanh": taper.tanh,
        "relu": taper.relu,
        "leaky": lambda v: F.leaky_relu(v, 0.2),
        "erf": taper.erf,
        "hardtanh": lambda v: F.hardtanh(v, -0.5, 0.25),
        "elu": lambda v: F.elu(v, 0.7),
        "selu": F.selu,
        "hardswish": F.hardswish,
        "abs": taper.abs,
        "softplus": lambda v: F.softplus(v, 2, 1.5),
        "smooth_l1": lambda v: F.smooth_l1_loss(v, taper.ones_like(v), beta=0.5),
        "smooth_l1 one by one": lambda v: F.smooth_l1_loss(v, v.detach() * 3, reduction="none"),
        "huber": lambda v: F.huber_loss(v, taper.ones_like(v), reduction="sum", delta=0.75),
        "huber of the target": lambda v: F.huber_loss(taper.ones_like(v), v),
    }
    for name, call in calls.items():
        results = []
        for dense in (True, False):  # columns are what the native functions leave to the twins
            v = (x.clone() if dense else x.t().contiguous().t()).requires_grad_()
            y = call(v)
            y.sum().backward()
            results.append((y.detach().numpy(), v.grad.numpy()))
        for ours, twin in zip(*results, strict=True):
            np.testing.assert_allclose(ours, twin, rtol=2e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    "operands",
    [
        (0,),
        (1 << 20, np.ones(2, np.float32)),
        (-1, np.ones(2, np.float32)),
        ("gelu", np.ones(2, np.float32)),
        (0, np.ones(2, np.float32), None, "x"),
    ],
)
def test_what_is_no_call_is_refused(operands: tuple) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.curve(*operands)


def test_operands_that_do_not_fit_are_left_to_the_twin() -> None:
    x = np.ones((3, 4), np.float32)
    for others in (
        (x[:, ::2],),
        (x.T,),
        (x.astype(np.float64),),
        (x.astype(np.int64),),
        ([1.0],),
    ):
        assert curve("gelu", *others) is None
    for grad in (None, np.ones(4, np.float32), np.ones((3, 4)), np.ones((4, 3), np.float32).T):
        assert curve("gelu_backward", x, grad) is None
    assert curve("gelu_backward", x) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_straight_curves_are_numpys_expressions(dtype: type) -> None:
    draw = np.random.default_rng(3).normal(size=20_000).astype(dtype)
    x = np.concatenate((draw, [0.0, -0.0, np.inf, -np.inf, np.nan])).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = {
            "relu": np.maximum(x, dtype(0)),
            "sign": np.nan_to_num(np.sign(x)),
            "rsqrt": dtype(1) / np.sqrt(x),
            "reciprocal": dtype(1) / x,
        }
    for name, truth in wanted.items():
        np.testing.assert_array_equal(curve(name, x), truth, name)
    for low, high in ((-0.5, 0.5), (-np.inf, 0.25), (0.25, np.inf), (1.0, -1.0)):
        truth = np.minimum(np.maximum(x, dtype(low)), dtype(high))
        np.testing.assert_array_equal(curve("clamp", x, None, low, high), truth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_and_slopes_are_numpys_expressions(dtype: type) -> None:
    draw = np.random.default_rng(8)
    x, y = draw.normal(0, 2, (2, 20_001)).astype(dtype)
    x[:6] = [np.nan, np.inf, -np.inf, 0.0, 0.5, -0.5]
    size = np.abs(x - y)
    half = dtype(0.5)
    with np.errstate(all="ignore"):
        wanted = {
            "smooth_l1": np.where(size < half, half * size * size / half, size - half * half),
            "smooth_l1_slope": np.clip((x - y) / half, -1, 1) * dtype(3),
            "huber": np.where(size <= half, half * size * size, half * (size - half * half)),
            "huber_slope": np.clip(x - y, -half, half) * dtype(3),
        }
    for name, values in wanted.items():
        np.testing.assert_array_equal(curve(name, x, y, 0.5, 3.0), values, err_msg=name)
    slope = curve("hardtanh_backward", x, y, -0.5, 0.5)
    np.testing.assert_array_equal(slope, np.where((x <= -half) | (x >= half), dtype(0), y))


def test_clamp_to_nan_gives_nan() -> None:
    # PyTorch's answers, for tensors of ones.
    ones = taper.ones(3)
    assert taper.clamp(ones, math.nan, 1.0).isnan().all()
    assert taper.clamp(ones, 0.0, math.nan).isnan().all()
    assert taper.clamp(ones, 3.0, 2.0).tolist() == [2.0, 2.0, 2.0]
    assert taper.clamp(taper.full((3,), math.nan), 0.0, 1.0).isnan().all()
