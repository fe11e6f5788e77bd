"""K10, K11: `gradcheck` of forward mode, and of batches of gradients and tangents."""

from __future__ import annotations

import pytest

from autograd_probe import error, values

FIRST = "Jacobian mismatch for output {} with respect to input {},"


def inputs(torch):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    return x, y


def function(torch, forward, backward, **members):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    body.update({name: staticmethod(each) for name, each in members.items()})
    return type("F", (torch.autograd.Function,), body).apply


def test_k10_forward_mode_is_checked_too(torch):
    x, _ = inputs(torch)
    check = torch.autograd.gradcheck
    assert check(torch.sin, (x,), check_forward_ad=True)
    assert check(torch.sin, (x,), check_forward_ad=True, check_backward_ad=False)
    wrong_jvp = function(
        torch,
        lambda ctx, a: a * 2,
        lambda ctx, grad: grad * 2,
        jvp=lambda ctx, tangent: tangent * 5,
    )
    for fast_mode in (False, True):
        assert error(
            lambda fast=fast_mode: check(wrong_jvp, (x,), check_forward_ad=True, fast_mode=fast)
        ) == (
            "GradcheckError: Jacobian computed with forward mode mismatch for output 0 with "
            "respect to input 0,"
        )


def logged(torch, log):
    """The identity, which notes the gradients and tangents that it receives."""

    def backward(ctx, *grads):
        log.append(["backward", *map(values, grads)])
        return grads

    def jvp(ctx, *tangents):
        log.append(["jvp", *map(values, tangents)])
        return tangents if len(tangents) > 1 else tangents[0]

    def forward(ctx, *args):
        return tuple(each * 1 for each in args) if len(args) > 1 else args[0] * 1

    identity = function(torch, forward, backward, jvp=jvp)

    def call(*args):
        log.append(["call", *[each.requires_grad for each in args]])
        return identity(*args)

    return call


def test_k10_how_often_what_is_called(torch):
    x, log = inputs(torch)[0], []
    torch.autograd.gradcheck(logged(torch, log), (x,), check_forward_ad=True)
    differences = [["call", True]] * 4
    assert log == [
        ["call", True],
        *differences,
        *[["backward", [1, 0]], ["backward", [0, 1]]] * 2,
        *differences,
        *[["call", False], ["jvp", [1, 0]], ["call", False], ["jvp", [0, 1]]],
        *[["call", False], ["jvp", [0, 0]], ["call", False]],  # undefined tangents
        ["backward", [0, 0]],  # times grad_output
        *[["call", True], ["backward", [0, 0]]],  # undefined gradients
    ]


def test_k10_only_inputs_that_require_grad_get_tangents(torch):
    log = []
    one = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    two = torch.tensor([2.0], dtype=torch.float64)
    options = {"check_forward_ad": True, "check_backward_ad": False}
    torch.autograd.gradcheck(logged(torch, log), (one, two), **options)
    assert [each for each in log if each[0] == "jvp"] == [["jvp", [1], [0]], ["jvp", [0], [0]]]
    log.clear()
    torch.autograd.gradcheck(logged(torch, log), (one, two.requires_grad_()), **options)
    assert [each for each in log if each[0] == "jvp"] == [
        *[["jvp", [1], [0]], ["jvp", [0], [1]]],  # the Jacobian
        *[["jvp", [0], [1]], ["jvp", [0], [1]]],  # the first undefined: zero, then missing
        *[["jvp", [1], [0]], ["jvp", [1], [0]]],
    ]


def test_k10_backward_is_reported_before_forward(torch):
    x, _ = inputs(torch)
    both = function(
        torch, lambda ctx, a: a * 2, lambda ctx, grad: grad * 3, jvp=lambda ctx, given: given * 5
    )
    assert error(lambda: torch.autograd.gradcheck(both, (x,), check_forward_ad=True)) == (
        f"GradcheckError: {FIRST.format(0, 0)}"
    )


def test_k10_complex_inputs_are_checked_by_part(torch):
    z = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    check = torch.autograd.gradcheck
    wrong_jvp = function(
        torch,
        lambda ctx, a: a * 2j,
        lambda ctx, grad: grad * -2j,
        jvp=lambda ctx, given: given * 5j,
    )
    for fast_mode in (False, True):
        options = {"check_forward_ad": True, "fast_mode": fast_mode}
        assert check(torch.sin, (z,), **options)
        assert check(lambda a: a.abs(), (z,), **options)
        assert check(lambda a: a.real * 1j, (z,), **options)
        assert error(lambda options=options: check(wrong_jvp, (z,), **options)) == (
            "GradcheckError: While considering the imaginary part of complex inputs only, Jacobian "
            "computed with forward mode mismatch for output 0 with respect to input 0,"
        )


def test_k10_a_missing_tangent_must_count_as_zero(torch):
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        ctx.inputs = a, b
        return a * b

    def jvp(ctx, a_tangent, b_tangent):
        a, b = ctx.inputs
        first = 1 if a_tangent is None else a_tangent * b
        return first + (0 if b_tangent is None else a * b_tangent)

    odd = function(torch, forward, lambda ctx, grad: grad, jvp=jvp)
    options = {"check_forward_ad": True, "check_backward_ad": False}
    text = error(lambda: torch.autograd.gradcheck(odd, inputs(torch), **options))
    assert text.startswith("GradcheckError: ('Mismatch in tangent values for output with index: '")
    assert torch.autograd.gradcheck(odd, inputs(torch), **options, check_undefined_grad=False)


def test_k10_at_least_one_mode_must_be_checked(torch):
    x, _ = inputs(torch)
    check = torch.autograd.gradcheck
    assert error(lambda: check(torch.sin, (x,), check_backward_ad=False)) == (
        "AssertionError: Expected at least one of check_forward_ad or check_backward_ad to be True"
    )
    assert error(lambda: check(torch.sin, (x,), check_batched_forward_grad=True)) == (
        "AssertionError: Setting check_batched_forward_grad=True requires check_forward_ad to be "
        "True"
    )


def test_k11_batches_differ_from_single_gradients(torch):
    x, _ = inputs(torch)
    calls = []

    def backward(ctx, grad):
        calls.append(1)
        return grad * 2 + len(calls)

    counting = function(torch, lambda ctx, a: a * 2, backward)
    options = {"check_batched_grad": True, "atol": 100.0, "nondet_tol": 100.0}
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.gradcheck(counting, (x,), **options)
    first, _, second, *_ = str(caught.value).splitlines()
    assert first == "For output 0 and input 0:"
    assert second == "gradcheck or gradgradcheck failed while testing batched gradient computation."


def test_k11_random_numbers_are_refused_in_batches(torch):
    x, _ = inputs(torch)
    random = (
        "GradcheckError: While computing batched gradients, got: vmap: We do not yet support "
        "calling random operations inside of vmap. Please perform random operations outside of "
        "vmap as a workaround"
    )

    def noisy(ctx, grad):
        return grad * 2 + torch.rand(2) * 0

    both = function(torch, lambda ctx, a: a * 2, noisy, jvp=noisy)
    check = torch.autograd.gradcheck
    assert error(lambda: check(both, (x,), check_batched_grad=True)) == random
    assert (
        error(lambda: check(both, (x,), check_forward_ad=True, check_batched_forward_grad=True))
        == random
    )


def test_k11_batched_tangents_are_compared_with_single_ones(torch):
    check = torch.autograd.gradcheck
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert check(lambda a, b: (a * b, a.sin().sum(), a.long()), inputs(torch), **options)
    assert error(lambda: check(torch.sin, inputs(torch)[:1], check_batched_forward_grad=True)) == (
        "AssertionError: Setting check_batched_forward_grad=True requires check_forward_ad to be "
        "True"
    )
    assert error(
        lambda: check(
            torch.sin,
            inputs(torch)[:1],
            check_forward_ad=True,
            check_backward_ad=False,
            check_batched_grad=True,
        )
    ) == ("AssertionError: Setting check_batched_grad=True requires check_backward_ad to be True")


def test_k11_batched_gradients_are_compared_with_single_ones(torch):
    x, _ = inputs(torch)
    assert torch.autograd.gradcheck(torch.sin, (x,), check_batched_grad=True)
