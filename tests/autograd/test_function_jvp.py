"""D13, D14: `jvp` of custom functions, and what is required of it."""

from __future__ import annotations

import importlib

import pytest

from autograd_probe import error, function, values


def forward_ad(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def dual(torch, primal=(1.0, 2.0), tangent=(3.0, 4.0)):
    return forward_ad(torch).make_dual(torch.tensor(primal), torch.tensor(tangent))


def tangent(torch, tensor):
    return forward_ad(torch).unpack_dual(tensor).tangent


def run(torch, forward, jvp, *args):
    """Apply a function in a level; return its first output's tangent as numbers, or the error."""
    with forward_ad(torch).dual_level():
        given = [each() if callable(each) else each for each in args] or [dual(torch)]
        made = function(torch, forward, jvp=jvp)
        found = []

        def call():
            outputs = made.apply(*given)
            first = outputs[0] if isinstance(outputs, tuple) else outputs
            found.append(values(tangent(torch, first)))

        text = error(call)
        return found[0] if text == "no error" else text


# --- the contract ----------------------------------------------------------------------------


def test_d13_jvp_gets_one_tangent_for_each_argument(torch):
    given = []

    def jvp(ctx, *tangents):
        given.append([values(each) for each in tangents])
        return tangents[0] * 2

    with forward_ad(torch).dual_level():
        made = function(torch, lambda ctx, *args: args[0] * 2, jvp=jvp)
        plain, whole = torch.ones(2), torch.tensor([1, 2])
        result = made.apply(dual(torch), 5, "text", None, plain, whole)
        assert given == [[[3, 4], None, None, None, [0, 0], None]]
        assert values(tangent(torch, result)) == [6, 8]
        made.apply(plain, dual(torch))
        assert given[1] == [[0, 0], [3, 4]]
        made.apply(plain)
        assert len(given) == 2


def test_d13_missing_tangents_can_be_none(torch):
    given = []

    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a * b

    def jvp(ctx, a, b):
        given.append((values(a), values(b)))
        return a * 2

    assert run(torch, forward, jvp, lambda: dual(torch), torch.ones(2)) == [6, 8]
    assert given == [([3, 4], None)]


def test_d13_jvp_must_exist(torch):
    def forward(ctx, a):
        return a * 2

    made = function(torch, forward)
    with forward_ad(torch).dual_level():
        assert error(lambda: made.apply(dual(torch))) == (
            "NotImplementedError: You must implement the jvp function for custom "
            "autograd.Function to use it with forward mode AD."
        )


def test_d13_save_for_forward_feeds_jvp_alone(torch):
    seen = []

    def forward(ctx, a, b):
        ctx.save_for_forward(a, b, None)
        ctx.save_for_backward(a)
        return a * b

    def jvp(ctx, a_tangent, b_tangent):
        a, b, nothing = ctx.saved_tensors
        seen.append((values(a), values(b), nothing))
        return a_tangent * b + a * b_tangent

    def backward(ctx, grad):
        seen.append([values(each) for each in ctx.saved_tensors])
        return grad, grad

    module = forward_ad(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with module.dual_level():
        made = function(torch, forward, backward, jvp=jvp)
        result = made.apply(module.make_dual(x, torch.tensor([3.0, 4.0])), torch.tensor([5.0, 6.0]))
        assert values(tangent(torch, result)) == [15, 24]
        result.sum().backward()
    assert seen == [([1, 2], [5, 6], None), [[1, 2]]]
    assert run(torch, lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1], saved_count) == [0, 0]
    assert error(lambda: made.apply(x, 5)) == (
        "AssertionError: save_for_forward expects all arguments to be tensors; you should save "
        "non-tensors as attributes on ctx."
    )


def saved_count(ctx, tangent):
    return tangent * len(ctx.saved_tensors)


def test_d13_setup_context_can_save_for_forward(torch):
    members = {
        "forward": staticmethod(lambda a, b: a * b),
        "setup_context": staticmethod(
            lambda ctx, inputs, output: ctx.save_for_forward(*inputs, output)
        ),
        "jvp": staticmethod(lambda ctx, a, b: a * ctx.saved_tensors[1] + ctx.saved_tensors[0] * b),
    }
    made = type("F", (torch.autograd.Function,), members)
    with forward_ad(torch).dual_level():
        result = made.apply(dual(torch), dual(torch))
        assert values(tangent(torch, result)) == [6, 16]


def test_d13_forward_and_jvp_see_no_tangents(torch):
    module, seen = forward_ad(torch), []

    def forward(ctx, a):
        seen.append((module._is_fwd_grad_enabled(), tangent(torch, a), torch.is_grad_enabled()))
        ctx.save_for_forward(a)
        return a * 2

    def jvp(ctx, given):
        (a,) = ctx.saved_tensors
        seen.append((module._is_fwd_grad_enabled(), tangent(torch, a), torch.is_grad_enabled()))
        return given * 2

    assert run(torch, forward, jvp) == [6, 8]
    assert seen == [(False, None, False), (False, None, True)]
    with module.dual_level():
        assert module._is_fwd_grad_enabled()


def test_d13_tangents_of_saved_outputs_reach_backward(torch):
    module = forward_ad(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def forward(ctx, a):
        result = a * a
        ctx.save_for_backward(result)
        return result

    made = function(
        torch,
        forward,
        lambda ctx, grad: grad * ctx.saved_tensors[0],
        jvp=lambda ctx, given: given * 5,
    )
    with module.dual_level():
        result = made.apply(module.make_dual(x, torch.tensor([3.0, 4.0])))
        (grad,) = torch.autograd.grad(result.sum(), x)
        assert values(tangent(torch, grad)) == [15, 20]


def test_d13_the_number_and_kind_of_results_is_checked(torch):
    def two(ctx, a):
        return a * 2, a * 3

    def count(expected, got):
        return (
            "RuntimeError: Function's jvp returned an invalid number of forward gradients "
            f"(expected {expected} but got {got})"
        )

    assert run(torch, two, lambda ctx, t: (t, t)) == [3, 4]
    assert run(torch, two, lambda ctx, t: t) == count(2, 1)
    assert run(torch, two, lambda ctx, t: (t, t, t)) == count(2, 3)
    assert run(torch, two, lambda ctx, t: None) == count(2, 1)
    assert run(torch, two, lambda ctx, t: [t, t]) == (
        "RuntimeError: expected Variable or None (got list) for grad output 0."
    )
    assert run(torch, two, lambda ctx, t: (t, 5)) == (
        "RuntimeError: expected Variable or None (got int) for grad output 1."
    )
    assert run(torch, lambda ctx, a: a * 2, lambda ctx, t: t.sum()) == (
        "RuntimeError: Trying to set a forward gradient that has a different size than that of the "
        "original Tensor, this is not supported. Tensor is of size [2] while the given forward "
        "gradient is of size []."
    )


def test_d13_only_differentiable_outputs_have_tangents(torch):
    def marked(ctx, a):
        other = a * 3
        ctx.mark_non_differentiable(other)
        return a * 2, other

    none = (
        "RuntimeError: Function's jvp returned a gradient at position 1, but  the corresponding "
        "forward output is not a differentiable Tensor.You should return None at that position "
        "instead."
    )
    assert run(torch, marked, lambda ctx, t: (t, None)) == [3, 4]
    assert run(torch, marked, lambda ctx, t: (t, t)) == none
    assert run(torch, lambda ctx, a: (a * 2, a.long()), lambda ctx, t: (t, t)) == none
    assert run(torch, lambda ctx, a: (a * 2, 5, None), lambda ctx, t: (t, None, None)) == [3, 4]
    assert run(torch, lambda ctx, a: a * 2, lambda ctx, t: None).endswith(
        "Expected both tensor and its forward grad to be floating point or complex"
    )


# --- writes and views ------------------------------------------------------------------------


def written(ctx, a):
    a.mul_(2)
    ctx.mark_dirty(a)
    return a


def test_d14_a_dirty_input_wants_its_tangent_written(torch):
    with forward_ad(torch).dual_level():
        x = dual(torch)
        before = tangent(torch, x)
        made = function(torch, written, jvp=lambda ctx, given: given.mul_(2))
        assert made.apply(x) is x
        assert tangent(torch, x) is before
        assert values(before) == [6, 8]
        base = dual(torch, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
        made.apply(base[:2])
        assert values(tangent(torch, base)) == [8, 10, 6]
    must = " If the forward is modifying an input inplace, then the jvp function must modify the "
    not_modified = (
        "RuntimeError: An inplace custom Function is not modifying the forward mode gradients "
        f"inplace.{must}corresponding gradient inplace."
    )
    assert run(torch, written, lambda ctx, t: t * 2) == not_modified
    assert run(torch, written, lambda ctx, t: t) == not_modified
    assert run(torch, written, lambda ctx, t: t.mul_(2).view_as(t)) == (
        "RuntimeError: An inplace custom Function is not returning the forward mode gradients "
        f"as-is.{must}gradient inplace and return it as-is."
    )


def test_d14_a_plain_dirty_input_becomes_dual(torch):
    def forward(ctx, a, b):
        a.mul_(b)
        ctx.mark_dirty(a)
        return a

    with forward_ad(torch).dual_level():
        made = function(torch, forward, jvp=lambda ctx, a, b: a + b)
        base = torch.zeros(3)
        made.apply(base[:2], dual(torch))
        assert values(tangent(torch, base)) == [3, 4, 0]


@pytest.mark.filterwarnings("ignore:ctx.mark_dirty")
def test_d14_a_fresh_output_is_not_dirty(torch):
    def forward(ctx, a):
        result = a * 2
        ctx.mark_dirty(result)
        return result

    assert run(torch, forward, lambda ctx, t: t * 2) == (
        "RuntimeError: Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not "
        "an input, there is no need to pass it to mark_dirty()."
    )


NOT_A_VIEW = (
    "RuntimeError: A custom Function's forward is returning a view (or an input as-is) but the jvp "
    "is not returning a view."
)
OTHER = "RuntimeError: A custom Function is returning a view but the jvp is not returning a view "


def test_d14_a_view_wants_a_view_of_the_tangent(torch):
    def column(ctx, a):
        return a.view(2, 1)

    assert run(torch, column, lambda ctx, t: t.view(2, 1)) == [[3], [4]]
    assert run(torch, column, lambda ctx, t: t.view(2, 1).clone()) == NOT_A_VIEW
    assert run(torch, column, lambda ctx, t: torch.ones(2).view(2, 1)) == (
        f"{OTHER}of the given grad input."
    )

    def part():
        return dual(torch, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))[:2]

    assert run(torch, column, lambda ctx, t: t.view(2, 1), part) == [[4], [5]]
    assert run(torch, column, lambda ctx, t: t.clone().view(2, 1), part) == (
        f"{OTHER}of the same base as the given grad input."
    )
    assert run(torch, lambda ctx, a: a[:1], lambda ctx, t: t[1:]).endswith(
        "the tangent have the same layout as primal"
    )


def test_d14_an_input_returned_as_it_is_wants_a_view_too(torch):
    def same(ctx, a):
        return a

    assert run(torch, same, lambda ctx, t: t.view_as(t)) == [3, 4]
    assert run(torch, same, lambda ctx, t: t) == NOT_A_VIEW
    assert run(torch, same, lambda ctx, t: t * 2) == NOT_A_VIEW
    assert run(torch, same, lambda ctx, t: torch.ones(3)[:2]) == (
        f"{OTHER}of the given grad input."
    )

    def swapped(ctx, a, b):
        return b, a

    def other():
        return dual(torch, (5.0, 6.0), (7.0, 8.0))

    pair = (lambda: dual(torch), other)
    assert run(torch, swapped, lambda ctx, s, t: (t.view_as(t), s.view_as(s)), *pair) == [7, 8]
    assert run(torch, swapped, lambda ctx, s, t: (s.view_as(s), t.view_as(t)), *pair) == (
        f"{OTHER}of the given grad input."
    )


def test_d14_views_of_temporaries_are_free(torch):
    def forward(ctx, a):
        return (a * 2).view(2, 1)

    assert run(torch, forward, lambda ctx, t: (t * 2).view(2, 1).clone()) == [[6], [8]]
