"""F: custom functions."""

from __future__ import annotations

import weakref

import pytest

from autograd_probe import error, function, names, values, warned


def ones(torch, *shape):
    return torch.ones(*(shape or (2,)), requires_grad=True)


def test_f1_forward_is_not_recorded_and_the_context_takes_attributes(torch):
    def forward(ctx, x):
        ctx.recording = torch.is_grad_enabled()
        ctx.shape = "mine"
        ctx.name = "mine too"
        return x * 2

    x = ones(torch)
    y = function(torch, forward, lambda ctx, grad: grad * 2).apply(x)
    assert y.grad_fn.recording is False
    assert repr(y) == "tensor([2., 2.], grad_fn=<FBackward>)"
    y.sum().backward()
    assert (y.grad_fn.shape, y.grad_fn.name) == ("mine", "mine too")
    assert values(x.grad) == [2.0, 2.0]


def test_f1_setup_context_gets_all_inputs(torch):
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append((len(inputs), inputs[1], output.grad_fn, ctx.needs_input_grad))
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        seen.append(y.grad_fn.name())
        return grad * y / x, None

    cls = function(torch, lambda x, factor=3: x * factor, backward, setup_context=setup_context)
    x = ones(torch)
    cls.apply(x).sum().backward()
    cls.apply(x, factor=5)
    assert seen == [
        (2, 3, None, (True, False)),
        "FBackward",
        (2, 5, None, (True, False)),
    ]
    assert values(x.grad) == [3.0, 3.0]
    assert error(lambda: cls.apply()) == "TypeError: missing a required argument: 'x'"


def test_f1_forward_may_be_a_class_method(torch):
    class Double(torch.autograd.Function):
        @classmethod
        def forward(cls, ctx, x):
            return x * 2

        @classmethod
        def backward(cls, ctx, grad):
            return grad * 2

    x = ones(torch)
    Double.apply(x).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_f2_outputs_may_mix_tensors_and_anything(torch):
    x = ones(torch)
    received = []

    def backward(ctx, *grads):
        received.append([values(each) for each in grads])
        return grads[0]

    cls = function(torch, lambda ctx, x: (x * 2, 5, "text", None, x * 3), backward)
    y, number, text, nothing, z = cls.apply(x)
    assert (number, text, nothing) == (5, "text", None)
    assert y.grad_fn is z.grad_fn
    assert (y.output_nr, z.output_nr) == (0, 4)
    y.sum().backward()
    assert received == [[[1.0, 1.0], None, None, None, [0.0, 0.0]]]


def test_f2_anything_but_a_tuple_passes_through(torch):
    x = ones(torch)
    assert function(torch, lambda ctx, x: None).apply(x) is None
    assert function(torch, lambda ctx, x: ()).apply(x) == ()
    assert function(torch, lambda ctx, x: 5).apply(x) == 5
    assert function(torch, lambda ctx, x: x * 2).apply(3) == 6
    (inside,) = function(torch, lambda ctx, x: [x * 2]).apply(x)
    assert not inside.requires_grad


def test_f3_backward_must_return_one_gradient_per_argument(torch):
    x = ones(torch)

    def run(result, *args):
        cls = function(torch, lambda ctx, x, *rest: x * 2, lambda ctx, grad: result)
        return error(lambda: cls.apply(x, *args).sum().backward())

    g = torch.ones(2)
    assert run(g, 3) == (
        "RuntimeError: function FBackward returned an incorrect number of gradients (expected 2, "
        "got 1)"
    )
    assert run((g, None, g), 3) == (
        "RuntimeError: function FBackward returned an incorrect number of gradients (expected 2, "
        "got 3)"
    )
    assert run(()) == (
        "RuntimeError: function FBackward returned an incorrect number of gradients (expected 1, "
        "got 0)"
    )
    assert run((g, g), 3) == (
        "RuntimeError: function FBackward returned a gradient different than None at position 2, "
        "but the corresponding forward input was not a Variable"
    )
    assert run(3.0) == "RuntimeError: expected Variable or None (got float)"
    assert run([g]) == "RuntimeError: expected Variable or None (got list)"
    assert x.grad is None
    assert run((g, None, None, None), 3) == "no error"
    assert run((g, g), torch.ones(2)) == "no error"
    assert run(None) == "no error"
    assert values(x.grad) == [2.0, 2.0]


def test_f4_needs_input_grad_is_there_in_forward_and_backward(torch):
    seen = []

    def forward(ctx, x, plain, number):
        seen.append(ctx.needs_input_grad)
        return x * 2

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, None, None

    cls = function(torch, forward, backward)
    cls.apply(ones(torch), torch.ones(2), 3).sum().backward()
    assert seen == [(True, False, False)] * 2
    with torch.no_grad():
        cls.apply(ones(torch), torch.ones(2), 3)
    assert seen[2] == (True, False, False)


def test_f5_saved_tensors_come_back_as_saved(torch):
    seen = []

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, None, y)
        return y

    def backward(ctx, grad):
        x_saved, nothing, y_saved = ctx.saved_tensors
        seen.append((x_saved is x, nothing, y_saved is y, y_saved.grad_fn is y.grad_fn))
        return grad * y_saved

    x = ones(torch)
    y = function(torch, forward, backward).apply(x)
    y.sum().backward()
    assert seen == [(True, None, False, True)]
    plain = function(torch, lambda ctx, x: x * 2).apply(x)
    assert plain.grad_fn.saved_tensors == ()


def test_f5_saved_tensors_are_checked(torch):
    def save(*what):
        return function(torch, lambda ctx, x: (ctx.save_for_backward(*what), x * 2)[1])

    x = ones(torch)
    assert error(lambda: save(x, 5).apply(x)) == (
        "TypeError: save_for_backward can only save variables, but argument 1 is of type int"
    )
    plain = torch.ones(2)
    y = function(
        torch,
        lambda ctx, x: (ctx.save_for_backward(plain), x * 2)[1],
        lambda ctx, grad: grad * ctx.saved_tensors[0],
    ).apply(x)
    plain.add_(1)
    assert "is at version 1; expected version 0 instead" in error(lambda: y.sum().backward())


def test_f5_saved_variables_is_the_old_name(torch):
    cls = function(
        torch,
        lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1],
        lambda ctx, grad: grad * ctx.saved_variables[0],
    )
    y = cls.apply(ones(torch)).sum()
    assert warned(y.backward) == [
        "DeprecationWarning: 'saved_variables' is deprecated; use 'saved_tensors'"
    ]


def test_f6_without_a_gradient_to_compute_forward_just_runs(torch):
    cls = function(torch, lambda ctx, x: x * 2)
    assert not cls.apply(torch.ones(2)).requires_grad
    with torch.no_grad():
        assert not cls.apply(ones(torch)).requires_grad


def cube(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x

    return function(torch, forward, backward)


def test_f7_double_backward_works_through_differentiable_operations(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (grad,) = torch.autograd.grad(cube(torch).apply(x), x, create_graph=True)
    assert values(grad) == 12.0
    assert values(torch.autograd.grad(grad, x)[0]) == 12.0


def test_f7_once_differentiable_refuses_the_second_time(torch):
    recording = []

    def backward(ctx, grad):
        recording.append(torch.is_grad_enabled())
        return grad * 2

    once = torch.autograd.function.once_differentiable
    cls = function(torch, lambda ctx, x: x * 2, once(backward))
    x = ones(torch)
    (plain,) = torch.autograd.grad(cls.apply(x).sum(), x, create_graph=True)
    assert not plain.requires_grad
    given = ones(torch)
    (grad,) = torch.autograd.grad(cls.apply(x), x, given, create_graph=True)
    assert type(grad.grad_fn).__name__ == "Error"
    assert names(grad.grad_fn) == ["torch::autograd::AccumulateGrad"]
    assert error(lambda: grad.sum().backward()) == (
        "RuntimeError: trying to differentiate twice a function that was marked with "
        "@once_differentiable"
    )
    assert recording == [False, False]


def test_f7_a_result_that_refuses_leads_nowhere(torch):
    once = torch.autograd.function.once_differentiable
    cls = function(torch, lambda ctx, x: x * 2, once(lambda ctx, grad: grad * 2))
    x, weight = ones(torch), ones(torch)
    (grad,) = torch.autograd.grad(cls.apply(x), x, weight, create_graph=True)
    assert grad.grad_fn.name() == "torch::autograd::Error"
    options = {"allow_unused": True, "retain_graph": True}
    assert torch.autograd.grad(grad, (x, weight), torch.ones(2), **options) == (None, None)
    assert torch.autograd.grad(grad.sum(), x, **options) == (None,)
    assert error(lambda: grad.sum().backward()).endswith("marked with @once_differentiable")


def test_f8_outputs_can_be_marked_as_not_differentiable(torch):
    received = []

    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z, x > 0

    def backward(ctx, *grads):
        received.append([values(each) for each in grads])
        return grads[0]

    y, z, positive = function(torch, forward, backward).apply(ones(torch))
    assert [each.requires_grad for each in (y, z, positive)] == [True, False, False]
    y.sum().backward()
    assert received == [[[1.0, 1.0], [0.0, 0.0], [False, False]]]


def test_f8_gradients_of_non_differentiable_outputs_need_not_be_made(torch):
    received = []

    def forward(ctx, x):
        z = x * 3
        ctx.mark_non_differentiable(z)
        ctx._materialize_non_diff_grads = False
        return x * 2, z

    def backward(ctx, *grads):
        received.append([values(each) for each in grads])
        return grads[0]

    function(torch, forward, backward).apply(ones(torch))[0].sum().backward()
    assert received == [[[1.0, 1.0], None]]


def test_f9_undefined_gradients_arrive_as_zeros_unless_switched_off(torch):
    received = []

    def make(materialize):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        def backward(ctx, *grads):
            received.append([values(each) for each in grads])
            return grads[0]

        return function(torch, forward, backward)

    make(True).apply(ones(torch))[0].sum().backward()
    make(False).apply(ones(torch))[0].sum().backward()
    assert received == [[[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], None]]


def test_f9_a_single_undefined_gradient_is_materialized_too(torch):
    stop = function(torch, lambda ctx, x: x * 2, lambda ctx, grad: None)
    x = ones(torch)
    stop.apply(function(torch, lambda ctx, x: x * 2).apply(x)).sum().backward()
    assert values(x.grad) == [0.0, 0.0]


def test_f14_errors_propagate_and_missing_parts_are_named(torch):
    x = ones(torch)
    failing = function(torch, lambda ctx, x: 1 / 0)
    assert error(lambda: failing.apply(x)) == "ZeroDivisionError: division by zero"
    assert torch.is_grad_enabled()
    empty = type("Empty", (torch.autograd.Function,), {})
    assert error(lambda: empty.apply(x)) == (
        "NotImplementedError: You must implement the forward function for custom autograd.Function."
    )
    half = type("Half", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    assert error(lambda: half.apply(x).sum().backward()) == (
        "NotImplementedError: You must implement either the backward or vjp method for your custom "
        "autograd.Function to use it with backward mode AD."
    )
    both = function(torch, lambda ctx, x: x * 2, vjp=lambda ctx, grad: grad)
    assert error(lambda: both.apply(x).sum().backward()) == (
        "RuntimeError: Implementing both 'backward' and 'vjp' for a custom Function is not "
        "allowed. You should only implement one of them."
    )


def test_f14_vjp_is_another_name_for_backward(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = ones(torch)
    Double.apply(x).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_f15_instances_are_deprecated_but_can_be_looked_at(torch):
    cls = function(torch, lambda ctx, x: x * 2)
    made = []
    (found,) = warned(lambda: made.append(cls()))
    assert found.startswith("DeprecationWarning: ")
    assert "should not be instantiated. Methods on autograd functions are all static" in found
    (instance,) = made
    assert instance.next_functions == ()
    assert instance.name() == "F"
    assert instance.metadata == {}
    assert instance._input_metadata == ()
    assert instance.saved_tensors == ()
    instance.register_hook(print).remove()
    assert error(lambda: instance(ones(torch))).startswith(
        "RuntimeError: Legacy autograd function with non-static forward method is deprecated."
    )


def test_f16_a_kept_context_stays_valid(torch):
    x = ones(torch)
    y = cube(torch).apply(x)
    ctx = y.grad_fn
    del y
    assert ctx.saved_tensors[0] is x
    assert values(ctx.apply(torch.ones(2))) == [3.0, 3.0]


def test_f17_vmap_is_off_by_default(torch):
    cls = function(torch, lambda ctx, x: x * 2)
    assert cls.generate_vmap_rule is False
    assert error(lambda: cls.vmap(None, None)) == (
        "NotImplementedError: To use autograd.Function with vmap, you must either override the "
        "vmap staticmethod or set generate_vmap_rule=True."
    )


def test_f18_boxed_gradients_can_be_freed_early(torch):
    seen = []

    def backward(ctx, grads):
        seen.append([values(each) for each in grads])
        alive = weakref.ref(grads[0])
        grads.clear()
        seen.append(alive())
        return torch.ones(2)

    cls = function(torch, lambda ctx, x: (x * 2, x * 3), backward)
    cls.boxed_grads_call = True
    x = ones(torch)
    y, _ = cls.apply(x)
    (y * 2).sum().backward()
    assert seen == [[[2.0, 2.0], [0.0, 0.0]], None]
    assert values(x.grad) == [1.0, 1.0]


def test_f18_the_node_boxes_too(torch):
    seen = []

    def backward(ctx, grads):
        alive = weakref.ref(grads[0]) if isinstance(grads[0], torch.Tensor) else None
        seen.append([each if each is None else type(each).__name__ for each in grads])
        grads.clear()
        seen.append(alive and alive())
        return None

    cls = function(torch, lambda ctx, x: (ctx.set_materialize_grads(False), x * 2, x * 3)[1:])
    cls.backward = staticmethod(backward)
    cls.boxed_grads_call = True
    y, _ = cls.apply(ones(torch))
    node = y.grad_fn
    node.apply(torch.ones(2), None)
    node.apply([torch.ones(2), None])
    assert seen == [["Tensor", None], None, ["list"], None]
    seen.clear()
    y.sum().backward()
    assert seen == [["Tensor", None], None]


def test_f19_without_saved_tensors_there_is_nothing_to_hand_over(torch):
    seen = []

    def backward(ctx, grad):
        seen.extend([ctx.saved_tensors, error(lambda: ctx.saved_tensors).split(" when ")[0]])
        return grad

    cls = function(torch, lambda ctx, x: x * 2, backward)
    cls.clear_saved_tensors_on_access = True
    cls.apply(ones(torch)).sum().backward()
    assert seen == [(), "RuntimeError: saved_tensors can only be accessed once"]


def test_f19_saved_tensors_can_be_handed_over(torch):
    text = (
        "RuntimeError: saved_tensors can only be accessed once when "
        "clear_saved_tensors_on_access=True is set on the autograd.Function. Either access "
        "saved_tensors only once, or set clear_saved_tensors_on_access=False."
    )
    seen = []

    def backward(ctx, grad):
        (saved,) = ctx.saved_tensors
        alive = weakref.ref(saved)
        del saved
        seen.append(alive())
        seen.append(error(lambda: ctx.saved_tensors))
        return grad

    cls = function(torch, lambda ctx, x: (ctx.save_for_backward(torch.ones(3)), x * 2)[1], backward)
    cls.clear_saved_tensors_on_access = True
    y = cls.apply(ones(torch))
    y.sum().backward(retain_graph=True)
    assert seen == [None, text]
    assert error(lambda: y.sum().backward()) == text


def test_f20_the_node_shows_what_was_saved(torch):
    x = ones(torch)
    y = cube(torch).apply(x)
    assert y.grad_fn.saved_tensors[0] is x
    (raw,) = y.grad_fn._raw_saved_tensors
    assert raw.data is x
    assert y.grad_fn._forward_cls.__name__ == "F"
    y.sum().backward()
    assert error(lambda: y.grad_fn.saved_tensors).startswith(
        "RuntimeError: Trying to backward through the graph a second time"
    )


def test_f2_an_output_recorded_inside_forward_gets_this_history(torch):
    def forward(ctx, x):
        with torch.enable_grad():
            return x.detach().requires_grad_() * 2

    y = function(torch, forward).apply(ones(torch))
    assert y.grad_fn.name() == "FBackward"
    with torch.no_grad():
        assert not function(torch, forward).apply(ones(torch)).requires_grad


@pytest.mark.taper_only
def test_f5_the_second_backward_names_the_line_of_apply(torch):
    y = cube(torch).apply(ones(torch))
    y.sum().backward()
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    assert str(caught.value).split("\n")[1].endswith(": y = cube(torch).apply(ones(torch))")


def test_found_d9_the_gradients_of_once_differentiable_share_a_node_with_an_edge_for_each(torch):
    once = torch.autograd.function.once_differentiable
    product = function(
        torch, lambda ctx, x, y, z: x * y, once(lambda ctx, grad: (grad, grad * 2, None))
    ).apply
    leaves = [torch.ones(2, requires_grad=True) for _ in range(3)]
    start = torch.ones(2, requires_grad=True)
    found = torch.autograd.grad(
        product(*leaves), leaves, start, create_graph=True, allow_unused=True
    )
    assert found[0].grad_fn is found[1].grad_fn and found[2] is None
    assert [each.output_nr for each in found[:2]] == [0, 1]
    assert names(found[0].grad_fn) == ["torch::autograd::AccumulateGrad"] * 2 + ["None"]


def test_found_f7_once_differentiable_switches_recording_off_for_one_call(torch):
    inside = []
    once = torch.autograd.function.once_differentiable

    def backward(ctx, grad):
        inside.append(torch.is_grad_enabled())
        return grad * 2

    x = torch.ones(2, requires_grad=True)
    y = function(torch, lambda ctx, x: x * 1, once(backward)).apply(x * 2) * 3
    seen = []
    x.register_hook(lambda grad: seen.append(torch.is_grad_enabled()))
    torch.autograd.grad(y.sum(), x, create_graph=True)
    assert (inside, seen) == ([False], [True])


def test_found_f7_the_mode_of_a_backward_that_is_called_alone_is_the_callers(torch):
    seen = []

    def backward(ctx, grad):
        seen.append(torch.is_grad_enabled())
        return grad * 1

    x = torch.ones(2, requires_grad=True)
    y = function(torch, lambda ctx, x: x * 1, backward).apply(x)
    y.grad_fn.apply(torch.ones(2))
    y.backward(torch.ones(2))
    assert seen == [True, False]
    assert torch.is_grad_enabled()


def test_found_h10_a_hook_registered_while_the_node_runs_sees_no_gradients(torch):
    seen = []

    def backward(ctx, grad):
        ctx.register_hook(lambda results, grads: seen.append((values(results[0]), len(grads))))
        return grad * 2

    x = torch.ones(2, requires_grad=True)
    function(torch, lambda ctx, x: x * 1, backward).apply(x).sum().backward()
    assert seen == [([2.0, 2.0], 0)]
