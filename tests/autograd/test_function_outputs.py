"""F10 to F13: what a custom function may return: inputs it wrote, inputs as they are, views."""

from __future__ import annotations

import warnings

import pytest

from autograd_probe import error, function, names, values, warned


def ones(torch, *shape):
    return torch.ones(*(shape or (2,)), requires_grad=True)


def adding(torch):
    """Return a function that writes its input in place."""

    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    return function(torch, forward, lambda ctx, grad: grad * 10)


def test_f10_a_dirty_input_comes_back_with_this_history(torch):
    x = ones(torch)
    y = x.clone()
    z = adding(torch).apply(y)
    assert z is y
    assert z.grad_fn.name() == "FBackward"
    assert names(z.grad_fn) == ["CloneBackward0"]
    assert z._version == 2
    z.sum().backward()
    assert values(x.grad) == [10.0, 10.0]


def test_f10_a_dirty_view_rewrites_the_history_of_its_base(torch):
    x = ones(torch, 2, 2)
    base = x.clone()
    view = base.view(4)
    result = adding(torch).apply(view)
    assert result is view
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert result.grad_fn.name() == "AsStridedBackward0"
    base.sum().backward()
    assert values(x.grad) == [[10.0, 10.0], [10.0, 10.0]]


def test_f10_a_plain_tensor_may_be_written(torch):
    y = torch.ones(2)
    assert adding(torch).apply(y) is y
    assert not y.requires_grad
    assert y._version == 2


def test_f10_what_may_not_be_dirty(torch):
    x = ones(torch, 2, 2)
    add = adding(torch)
    assert error(lambda: add.apply(x)) == (
        "RuntimeError: a leaf Variable that requires grad has been used in an in-place operation."
    )
    assert error(lambda: add.apply(x.view(4))) == (
        "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place "
        "operation."
    )
    assert error(lambda: add.apply(x.clone().unbind()[0])).startswith(
        "RuntimeError: Output 0 of Unbind is a view and is being modified inplace. This view is "
        "the output of a function that returns multiple views."
    )

    def two(ctx, x):
        ctx.mark_dirty(x)
        return x, x * 2

    assert error(lambda: function(torch, two).apply(x.clone().view(4))).startswith(
        "RuntimeError: If your Function modifies inplace an input that is a view of another "
        "Tensor, your Function cannot return more than one Tensor."
    )

    def lost(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    assert error(lambda: function(torch, lost).apply(x.clone())) == (
        "RuntimeError: Some elements marked as dirty during the forward method were not returned "
        "as output. The inputs that are modified inplace must all be outputs of the Function."
    )


def test_f10_only_inputs_can_be_dirty(torch):
    text = (
        "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
        "been mutated should be passed to ctx.mark_dirty()."
    )

    def fresh(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    (found,) = warned(lambda: function(torch, fresh).apply(ones(torch)))
    assert found.startswith(f"UserWarning: {text}")

    def fresh_view(ctx, x):
        y = (x * 2).view(2, 1)
        ctx.mark_dirty(y)
        return y

    assert error(lambda: function(torch, fresh_view).apply(ones(torch))) == f"RuntimeError: {text}"


def test_f11_an_input_returned_as_it_is_becomes_a_view(torch):
    x = ones(torch)
    y = function(torch, lambda ctx, x: x).apply(x)
    assert y is not x
    assert y._is_view()
    assert y._base is x
    assert y.grad_fn.name() == "FBackward"
    seen = []
    y.register_hook(lambda grad: seen.append(values(grad)))
    (y * 3 + x).sum().backward()
    assert seen == [[3.0, 3.0]]
    assert values(x.grad) == [4.0, 4.0]


def test_f11_an_output_returned_twice_is_one_object(torch):
    received = []

    def forward(ctx, x):
        y = x * 2
        return y, y

    def backward(ctx, *grads):
        received.append([values(each) for each in grads])
        return grads[0] + grads[1]

    x = ones(torch)
    first, second = function(torch, forward, backward).apply(x)
    assert first is second
    (first * 3 + second).sum().backward()
    assert received == [[[0.0, 0.0], [4.0, 4.0]]]


FORBIDDEN_VIEW = (
    "RuntimeError: Output 0 of F is a view and {} modified inplace. This view was created inside a "
    "custom Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading "
    "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
    "the custom Function."
)


def test_f12_a_returned_view_of_an_input_may_not_be_written(torch):
    viewing = function(torch, lambda ctx, x: x.view(2, 1), lambda ctx, grad: grad.view(2))
    base = ones(torch).clone()
    view = viewing.apply(base)
    assert view._base is base
    assert error(lambda: view.add_(1)) == FORBIDDEN_VIEW.format("is being")
    base.add_(1)
    assert error(lambda: view.grad_fn) == FORBIDDEN_VIEW.format(
        "its base or another view of its base has been"
    )


def test_f12_a_pure_view_may_be_written(torch):
    called = []

    def forward(ctx, x):
        ctx._is_pure_view = True
        return x.view(2, 1)

    def backward(ctx, grad):
        called.append(1)
        return grad.view(2)

    x = ones(torch)
    base = x.clone()
    view = function(torch, forward, backward).apply(base)
    view.mul_(5)
    assert view.grad_fn.name() == "AsStridedBackward0"
    view.sum().backward()
    assert values(x.grad) == [5.0, 5.0]
    assert called == []

    def two(ctx, x):
        ctx._is_pure_view = True
        return x.view(2, 1), x * 2

    assert error(lambda: function(torch, two).apply(x)) == (
        "RuntimeError: Pure view custom Function can only have one input Tensor and one output "
        "Tensor. Open an issue if you need to support more."
    )


def test_f12_a_pure_view_made_without_grad_mode_is_a_leaf(torch):
    def forward(ctx, x):
        ctx._is_pure_view = True
        return x.view(2, 1)

    base = ones(torch).clone()
    with torch.no_grad():
        view = function(torch, forward).apply(base)
    assert view._base is base
    assert error(lambda: view.mul_(2)) == (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
    )
    base.mul_(2)
    assert view.grad_fn.name() == "AsStridedBackward0"


def test_f13_writing_temporaries_leaves_the_history_alone(torch):
    y = function(torch, lambda ctx, x: (x * 2).add_(1)).apply(ones(torch))
    assert y.grad_fn.name() == "FBackward"


def in_place(torch, marks=True):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *others):
            if marks:
                ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, grad):
            return (grad * 2, None)[: len(ctx.needs_input_grad)]

    return Double.apply


def test_found_w15_a_written_input_loses_its_retained_gradient(torch):
    leaf = torch.ones(2, requires_grad=True)
    t = leaf * 1
    t.retain_grad()
    (t * 3).sum().backward(retain_graph=True)
    in_place(torch)(t, None)
    assert t.grad is None and t.retains_grad
    (t * 5).sum().backward()
    assert (values(t.grad), values(leaf.grad)) == ([5.0, 5.0], [13.0, 13.0])
    plain = torch.ones(2)
    plain.grad = torch.ones(2)
    in_place(torch)(plain, torch.ones(2))
    assert plain.grad is not None  # nothing was recorded
    in_place(torch)(plain, leaf)
    assert len(warned(lambda: plain.grad)) == 1


def test_found_d4_a_write_counts_also_where_it_is_refused(torch):
    leaf = torch.ones(2, requires_grad=True)
    assert error(lambda: in_place(torch)(leaf)).startswith("RuntimeError: a leaf Variable that")
    assert leaf._version == 2
    assert error(lambda: in_place(torch)(leaf[:1])).startswith("RuntimeError: a view of a leaf")
    assert leaf._version == 4


@pytest.mark.parametrize("marks", [True, False])
def test_found_e10_one_of_several_views_may_be_written_unrecorded(torch, marks):
    leaf = torch.ones(2, 2, requires_grad=True)
    base = leaf * 2
    u, v = base.unbind()
    with torch.no_grad():
        result = in_place(torch, marks)(u)
    assert result is not u and not result.requires_grad
    assert values(base) == [[4.0, 4.0], [2.0, 2.0]] and base._version == 1 + marks
    (base * 3).sum().backward()
    assert values(leaf.grad) == [[6.0, 6.0], [6.0, 6.0]]
    assert error(lambda: v * 2).startswith(
        "RuntimeError: Output 1 of Unbind is a view and its base"
    )


def test_found_v10_views_that_a_function_returns_together_are_not_written(torch):
    pair = function(torch, lambda ctx, x: (x[:1], x[1:]), lambda ctx, a, b: torch.cat([a, b]))
    x = torch.ones(2, requires_grad=True) * 1
    first, _ = pair.apply(x)
    assert "is a view and is being modified inplace" in error(lambda: first.mul_(2))
    assert "returns multiple views" in error(lambda: first.mul_(2))


def test_found_f10_what_is_dirty_and_no_input_has_a_history(torch):
    def forward(ctx, x):
        y = x.detach().clone()
        ctx.mark_dirty(y)
        return y

    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = function(torch, forward, lambda ctx, grad: grad * 3).apply(x)
    assert y.requires_grad
    y.sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_found_f5_a_saved_output_knows_its_number(torch):
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.save_for_backward(b, a)
        return a, b

    seen = []

    def backward(ctx, ga, gb):
        b, a = ctx.saved_tensors
        seen.append((b.output_nr, a.output_nr, values(b), values(a)))
        return ga * 2 + gb * 3

    x = torch.ones(1, requires_grad=True)
    a, b = function(torch, forward, backward).apply(x)
    (a + b).sum().backward()
    assert seen == [(1, 0, [3.0], [2.0])]
