"""Templates over the rows of `opcases`: forward, layouts, in-place, `out=`, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import taper
from op_templates import CASES, Call, as_numpy, case_id, outputs_of, samples_of
from taper.opdef import registry

DETERMINISTIC = [case for case in CASES if not case.random]
# The row of the twin checks what an in-place operator does to its input.
WITHOUT_WRITING = [case for case in DETERMINISTIC if not case.name.endswith("_")]
ABOUT_STRIDES = """
    view as_strided stride is_contiguous empty_strided view_as_complex resize_ resize_as_
    as_strided_copy as_strided_scatter view_as_complex_copy
"""
ANY_LAYOUT = [
    case for case in DETERMINISTIC if case.name.split(".")[-1] not in ABOUT_STRIDES.split()
]


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("case", [c for c in CASES if c.reference], ids=case_id)
def test_forward_equals_the_reference(case):
    for sample in samples_of(case):
        found = outputs_of(Call(taper, case, sample)())
        expected = case.reference(*_plain(sample.args), **dict(sample.kwargs))
        expected = expected if isinstance(expected, list | tuple) else [expected]
        assert len(found) == len(expected)
        for tensor, array in zip(found, expected, strict=True):
            assert tuple(tensor.shape) == np.shape(array)
            close(as_numpy(tensor), array)


def _plain(args):
    return [each.array if hasattr(each, "array") else each for each in args]


@pytest.mark.filterwarnings("ignore:torch.searchsorted.* tensor is non-contiguous")
@pytest.mark.parametrize("case", ANY_LAYOUT, ids=case_id)
def test_layout_of_the_inputs_does_not_matter(case):
    for sample in samples_of(case):
        plain = outputs_of(Call(taper, case, sample)())
        try:
            strided = outputs_of(Call(taper, case, sample, transform=_strided)())
        except RuntimeError as error:
            refusals = ("view size is not compatible", "Expected X.is_contiguous(memory_format)")
            assert any(each in str(error) for each in refusals), error
            continue
        for one, other in zip(plain, strided, strict=True):
            assert one.dtype == other.dtype
            close(as_numpy(other), as_numpy(one))


def _strided(array):
    """Return the same values with other strides: transposed memory."""
    return np.asfortranarray(array) if array.ndim > 1 else array


@pytest.mark.parametrize("case", WITHOUT_WRITING, ids=case_id)
def test_inputs_are_left_alone_and_results_repeat(case):
    for sample in samples_of(case):
        call = Call(taper, case, sample)
        before = [as_numpy(each) for each in call.tensors]
        first = [as_numpy(each) for each in outputs_of(call())]
        second = [as_numpy(each) for each in outputs_of(call())]
        for tensor, array in zip(call.tensors, before, strict=True):
            np.testing.assert_array_equal(as_numpy(tensor), array)
            assert tensor._version == 0
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", [c for c in CASES if c.inplace], ids=case_id)
def test_in_place_writes_what_the_function_returns(case):
    checked = 0
    for sample in samples_of(case):
        call = Call(taper, case, sample)
        if not call.tensors or call.args[0] is not call.tensors[0]:
            continue
        expected = outputs_of(call())[0]
        target = call.args[0]
        if expected.shape != target.shape or expected.dtype != target.dtype:
            continue
        version = target._version
        pointer = target.data_ptr()
        result = getattr(target, case.inplace)(*call.args[1:], **call.kwargs)
        assert result is target
        assert target._version == version + 1
        assert target.data_ptr() == pointer
        close(as_numpy(target), as_numpy(expected))
        checked += 1
    assert checked, "no sample can be written in place"


# As in PyTorch: "the derivative for 'inplace version of asinh' is not implemented".
WITHOUT_GRADIENT = {"asinh_", "acosh_", "atanh_", "arcsinh_", "arccosh_", "arctanh_"}


@pytest.mark.parametrize("case", [c for c in CASES if c.inplace and c.differentiable], ids=case_id)
def test_in_place_has_the_gradient_of_the_function(case):
    checked = 0
    if case.inplace in WITHOUT_GRADIENT:
        target = taper.full((2,), 1.5, requires_grad=True).clone()
        getattr(target, case.inplace)()
        with pytest.raises(NotImplementedError, match="the derivative for 'inplace version of a"):
            target.sum().backward()
        return
    for sample in samples_of(case):
        call = Call(taper, case, sample, requires_grad=True)
        if not call.leaves or call.args[0] is not call.leaves[0]:
            continue
        expected = outputs_of(call())[0]
        if expected.shape != call.args[0].shape or expected.dtype != call.args[0].dtype:
            continue
        grad = taper.ones_like(expected).detach() * 0.5
        wanted = taper.autograd.grad(expected, call.leaves, grad, allow_unused=True)
        target = call.args[0].clone()
        getattr(target, case.inplace)(*call.args[1:], **call.kwargs)
        found = taper.autograd.grad(target, call.leaves, grad, allow_unused=True)
        for one, other in zip(found, wanted, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                close(as_numpy(one), as_numpy(other))
        checked += 1
    assert checked, "no sample can be written in place"


@pytest.mark.parametrize("case", [c for c in CASES if c.out], ids=case_id)
def test_out_receives_the_result(case):
    for sample in samples_of(case):
        call = Call(taper, case, sample)
        expected = outputs_of(call())
        outs = [taper.empty_like(each) for each in expected]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # PyTorch writes a vector times a matrix as a matrix of one row.
            warnings.filterwarnings("ignore", r".* the required output shape \[1, \d\]")
            result = call.function(
                *call.args, **call.kwargs, out=outs[0] if len(outs) == 1 else tuple(outs)
            )
        if len(outs) == 1:
            assert result is outs[0]
        for one, other in zip(outs, expected, strict=True):
            close(as_numpy(one), as_numpy(other))


@pytest.mark.parametrize(
    ("case", "raises"),
    [(case, each) for case in CASES for each in case.errors],
    ids=lambda value: getattr(value, "name", None) or getattr(value, "text", "")[:40],
)
def test_bad_input_raises_and_changes_nothing(case, raises):
    call = Call(taper, case, raises.sample)
    before = [as_numpy(each) for each in call.tensors]
    with pytest.raises(raises.error) as caught:
        call()
    assert raises.text in str(caught.value)
    for tensor, array in zip(call.tensors, before, strict=True):
        np.testing.assert_array_equal(as_numpy(tensor), array)
        assert tensor._version == 0


HALF = [
    (case, dtype)
    for case in DETERMINISTIC
    for dtype in ("float16", "bfloat16")
    if dtype in case.forward_dtypes and getattr(registry.get(case.name), "upcast", False) is True
]


@pytest.mark.parametrize(("case", "dtype"), HALF, ids=lambda each: getattr(each, "name", each))
def test_half_precision_is_computed_in_single_precision_and_rounded_once(case, dtype):
    for sample in samples_of(case):
        call = Call(taper, case, sample, dtype)
        found = outputs_of(call())
        call.args, call.kwargs = _single(call.args), _single(call.kwargs)
        for half, single in zip(found, outputs_of(call()), strict=True):
            wanted = getattr(taper, dtype) if single.is_floating_point() else single.dtype
            assert half.dtype is wanted
            np.testing.assert_array_equal(as_numpy(half), as_numpy(single.to(wanted)))


def _single(values):
    if isinstance(values, dict):
        return dict(zip(values, _single(list(values.values())), strict=True))
    if isinstance(values, list | tuple):
        return type(values)(map(_single, values))
    is_half = isinstance(values, taper.Tensor) and values.dtype in (taper.float16, taper.bfloat16)
    return values.float() if is_half else values
