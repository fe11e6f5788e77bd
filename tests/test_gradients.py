"""Templates over the rows of `opcases`: first and second derivatives, forward mode, both modes."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from op_templates import CASES, Call, as_numpy, case_id, outputs_of, samples_of
from taper.autograd import gradcheck, gradgradcheck

DIFFERENTIABLE = [case for case in CASES if case.differentiable and not case.random]


def dtypes_of(case):
    return ("float64", "complex128") if case.complex else ("float64",)


def function_of(call):
    """Return the call as a function of its differentiable inputs."""

    def function(*leaves):
        replaced = dict(zip(map(id, call.leaves), leaves, strict=True))

        def swap(value):
            if isinstance(value, list | tuple):
                return type(value)(swap(each) for each in value)
            return replaced.get(id(value), value)

        result = call.function(
            *[swap(each) for each in call.args],
            **{name: swap(each) for name, each in call.kwargs.items()},
        )
        return tuple(outputs_of(result))

    return function


def calls(case):
    for dtype in dtypes_of(case):
        for sample in samples_of(case):
            call = Call(taper, case, sample, dtype, requires_grad=True)
            if call.leaves:
                yield call


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=case_id)
def test_gradients_agree_with_differences(case):
    checked = 0
    for call in calls(case):
        assert gradcheck(function_of(call), call.leaves, fast_mode=True)
        checked += 1
    assert checked, "the row has no differentiable sample"


@pytest.mark.parametrize("case", [c for c in DIFFERENTIABLE if c.gradgrad], ids=case_id)
def test_second_gradients_agree_with_differences(case):
    for call in calls(case):
        if any(each.requires_grad for each in outputs_of(call())):
            assert gradgradcheck(function_of(call), call.leaves, fast_mode=True)


@pytest.mark.parametrize("case", [c for c in DIFFERENTIABLE if c.forward_ad], ids=case_id)
def test_forward_mode_agrees_with_differences(case):
    for call in calls(case):
        assert gradcheck(
            function_of(call),
            call.leaves,
            fast_mode=True,
            check_forward_ad=True,
            check_backward_ad=False,
        )


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=case_id)
def test_formulas_give_the_same_on_arrays_and_on_tensors(case):
    for call in calls(case):
        outputs = [each for each in outputs_of(call()) if each.requires_grad]
        if not outputs:
            continue
        grads = [taper.ones_like(each).detach() * 0.5 for each in outputs]
        options = {"allow_unused": True, "retain_graph": True}
        plain = taper.autograd.grad(outputs, call.leaves, grads, **options)
        recorded = taper.autograd.grad(outputs, call.leaves, grads, create_graph=True, **options)
        for one, other in zip(plain, recorded, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                assert one.dtype == other.dtype
                np.testing.assert_allclose(as_numpy(one), as_numpy(other), 1e-9, 1e-12)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=case_id)
def test_nothing_is_recorded_without_need(case):
    for call in calls(case):
        with taper.no_grad():
            for each in outputs_of(call()):
                assert each.grad_fn is None
        break
