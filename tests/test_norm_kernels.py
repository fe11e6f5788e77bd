"""Normalisations in C: close to the truth, equal to the twins and on every thread, strict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.ops.norm import batch, sample

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")

F = taper.nn.functional
Arrays = list[np.ndarray]


def layer(x: Any, weight: Any, bias: Any) -> Any:
    return F.layer_norm(x, x.shape[1:], weight, bias, 1e-3)


def group(x: Any, weight: Any, bias: Any) -> Any:
    return F.group_norm(x, 2, weight, bias, 1e-3)


def training(x: Any, weight: Any, bias: Any) -> Any:
    return F.batch_norm(x, None, None, weight, bias, True, eps=1e-3)


def evaluation(x: Any, weight: Any, bias: Any) -> Any:
    mean = taper.arange(x.shape[1]).to(x.dtype) / x.shape[1]
    return F.batch_norm(x, mean, mean + 0.5, weight, bias, False, eps=1e-3)


def instance(x: Any, weight: Any, bias: Any) -> Any:
    return F.instance_norm(x, None, None, weight, bias, eps=1e-3)


# Rows, channels and columns; short, long, uneven; more than one chunk and turn.
CASES: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (layer, (1, 1)),
    (layer, (5, 5)),
    (layer, (3, 16)),
    (layer, (700, 33)),
    (layer, (3, 2, 4, 7)),
    (layer, (40, 3000)),
    (layer, (3000, 9)),
    (group, (2, 4, 3)),
    (group, (3, 6, 5, 7)),
    (group, (20, 8, 30, 11)),
    (training, (5, 5)),
    (training, (2, 3)),
    (training, (300, 65)),
    (training, (40, 1100)),
    (training, (2, 3, 4)),
    (training, (5, 33, 12, 11)),
    (training, (4, 6, 3, 2, 5)),
    (evaluation, (5, 5)),
    (evaluation, (300, 65)),
    (evaluation, (40, 1100)),
    (evaluation, (5, 33, 12, 11)),
    (instance, (2, 3, 4)),
    (instance, (6, 5, 20, 30)),
]


def arrays_of(function: Callable[..., Any], shape: tuple[int, ...]) -> Arrays:
    """Input, weight, bias and the gradient of the result."""
    draw = np.random.default_rng(3)
    own = shape[1:] if function is layer else shape[1:2]
    shapes = (shape, own, own, shape)
    return [draw.normal(0.5, 2.0, each).astype(np.float32) for each in shapes]


def results_of(function: Callable[..., Any], arrays: Arrays, dtype: Any = np.float32) -> Arrays:
    """The result and the gradients of input, weight and bias."""
    *leaves, grad = [taper.from_numpy(each.astype(dtype)) for each in arrays]
    for leaf in leaves:
        leaf.requires_grad_()
    y = function(*leaves)
    found = taper.autograd.grad(y, leaves, grad)
    return [each.detach().numpy() for each in (y, *found)]


def without_native(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_natively", "_backward_natively"):
        monkeypatch.setattr(batch, name, batch.nothing)
    for name in ("_layer", "_layer_backward", "_group", "_group_backward"):
        monkeypatch.setattr(sample, name, batch.nothing)


@pytest.mark.parametrize(("function", "shape"), CASES)
def test_results_and_gradients_are_close_to_the_truth_and_to_the_twin(
    function: Callable[..., Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = arrays_of(function, shape)
    found = results_of(function, arrays)
    exact = results_of(function, arrays, np.float64)  # double precision is the twin's
    without_native(monkeypatch)
    twin = results_of(function, arrays)
    for ours, truth, theirs in zip(found, exact, twin, strict=True):
        assert ours.shape == theirs.shape
        atol = 2e-6 * max(1.0, np.abs(truth).max())
        np.testing.assert_allclose(ours, truth, rtol=2e-6, atol=atol)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=5 * atol)


@pytest.mark.parametrize("function", [layer, group, training, evaluation])
def test_each_gradient_alone_and_without_parameters(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight, bias, grad = arrays_of(function, (6, 4, 10))

    def gradients() -> list[Any]:
        found: list[Any] = []
        for has_weight, has_bias in ((1, 1), (1, 0), (0, 1), (0, 0)):
            given = (x, weight if has_weight else None, bias if has_bias else None)
            for wanted in range(3):
                if given[wanted] is None:
                    continue
                tensors = [None if each is None else taper.from_numpy(each) for each in given]
                tensors[wanted] = tensors[wanted].requires_grad_()
                y = function(*tensors)
                found += [y, *taper.autograd.grad(y, tensors[wanted], taper.from_numpy(grad))]
        return [each.detach().numpy() for each in found]

    ours = gradients()
    without_native(monkeypatch)
    for one, other in zip(ours, gradients(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (5, 5), (300, 65), (3, 2, 4, 7), (2, 9000)])
def test_rms_norm_that_is_not_recorded_is_that_of_its_parts(shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(5)
    x, weight = [
        taper.from_numpy(draw.normal(size=each).astype("f4")) for each in (shape, shape[-1:])
    ]
    for given in ((x, None, None), (x, weight, 1e-2), (x, taper.nn.Parameter(weight), None)):
        parts = F.rms_norm(given[0].detach().requires_grad_(), shape[-1:], *given[1:])
        assert parts.grad_fn.name() == "MulBackward0"
        with taper.no_grad():
            found = F.rms_norm(given[0], shape[-1:], *given[1:])
        assert not found.requires_grad and found.shape == parts.shape
        np.testing.assert_allclose(found.numpy(), parts.detach().numpy(), rtol=2e-6, atol=1e-6)
    with taper.inference_mode():
        assert F.rms_norm(x, shape[-1:]).is_inference()


def test_statistics_are_those_of_the_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias, _ = arrays_of(training, (5, 6, 7))
    arguments = (x, weight, bias, None, None, True, 1e-5)
    ours = batch.native_batch_norm.op.kernel(*arguments)
    grouped = sample.native_group_norm.op.kernel(x, weight, bias, 5, 6, 7, 3, 1e-5)
    by_rows = sample.native_layer_norm.op.kernel(x, (6, 7), None, None, 1e-5)
    without_native(monkeypatch)
    twins = (
        *batch.native_batch_norm.op.kernel(*arguments),
        *sample.native_group_norm.op.kernel(x, weight, bias, 5, 6, 7, 3, 1e-5),
        *sample.native_layer_norm.op.kernel(x, (6, 7), None, None, 1e-5),
    )
    for one, other in zip((*ours, *grouped, *by_rows), twins, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_long_row_far_from_zero_is_exact() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(100.0, 1.0, 3_000_000).astype(np.float32)
    found = F.layer_norm(taper.from_numpy(x), (x.size,)).numpy()
    wide = x.astype(np.float64)
    wanted = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "shape"), [case for case in CASES if np.prod(case[1]) > 15_000]
)
def test_threads_do_not_change_a_bit(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    arrays, before, results = arrays_of(function, shape), taper.get_num_threads(), []
    for count in (1, 2):
        taper.set_num_threads(count)
        results.append(results_of(function, arrays))
    taper.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_spoils_what_it_is_normalised_with(number: float) -> None:
    for function, shape, spoilt in (
        (layer, (3, 40), (1,)),
        (group, (2, 4, 5), (1, slice(0, 2))),
        (training, (4, 5), (slice(None), 0)),
        (training, (4, 5, 6), (slice(None), 0)),
    ):
        x, *_ = arrays_of(function, shape)
        x[1, 0] = number
        found = np.isnan(function(taper.from_numpy(x), None, None).numpy())
        wanted = np.zeros(shape, bool)
        wanted[spoilt] = True
        np.testing.assert_array_equal(found, wanted)


def test_operands_that_do_not_fit_are_left_to_the_twin() -> None:
    x, ones = np.ones((3, 4), np.float32), np.ones(4, np.float32)
    double, column = np.ones((3, 4)), np.ones((3, 1), np.float32)
    for call in (
        (double, 1, None, None, 1e-5, True),
        (x.T, 1, None, None, 1e-5, True),
        (x, 2, None, None, 1e-5, True),
        (x, -1, None, None, 1e-5, True),
        (x[:0], 1, None, None, 1e-5, True),
        (x, 1, ones[:3], None, 1e-5, True),
        (x, 1, None, ones.astype(np.float64), 1e-5, True),
    ):
        assert native.layer_norm(*call) is None
    all_three = (True, True, True)
    assert native.layer_norm_backward(x, x, column, column, ones, 1, all_three) is not None
    for call in (
        (double, x, column, column, ones, 1, all_three),
        (x[:2], x, column, column, ones, 1, all_three),
        (x, x, None, column, ones, 1, all_three),
        (x, x, column, column[:2], ones, 1, all_three),
        (x, x, column, column, ones[:1], 1, all_three),
        (x, x, column, column, ones, 2, all_three),
    ):
        assert native.layer_norm_backward(*call) is None
    assert native.channel_norm(x, 3, 4, 1, 0, ones, ones, None, None, 1e-5) is not None
    for sizes in (
        (3, 4, 2, 0),
        (2, 6, 1, 3),
        (3, 4, 1, 5),
        (0, 4, 1, 0),
        (3, 4, 1, -1),
        (12, 1, 2, 0),
    ):
        assert native.channel_norm(x, *sizes, None, None, None, None, 1e-5) is None
        backward = (*sizes, None, ones, ones, None, all_three)
        assert native.channel_norm_backward(x, x, *backward) is None
    for vectors in (
        (ones[:3], None, None, None),
        (None, None, ones, None),
        (None, None, None, ones),
    ):
        assert native.channel_norm(x, 3, 4, 1, 0, *vectors, 1e-5) is None
    assert native.channel_norm_backward(x, x, 3, 4, 1, 0, None, ones, None, None, all_three) is None


@pytest.mark.parametrize(
    "name", ["layer_norm", "layer_norm_backward", "channel_norm", "channel_norm_backward"]
)
def test_what_is_no_call_is_refused(name: str) -> None:
    x = np.ones((3, 4), np.float32)
    for wrong in ((), (x,), (x, "x", None, None, "x", True), (x,) * 7, (x,) * 10, (x,) * 11):
        with pytest.raises(TypeError):
            getattr(native, name)(*wrong)
