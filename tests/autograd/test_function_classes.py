"""F21 to F23: the classes around `Function`, subclasses of Tensor, keyword arguments."""

from __future__ import annotations

import pytest

from autograd_probe import error, function, values


def ones(torch, *shape):
    return torch.ones(*(shape or (2,)), requires_grad=True)


def test_f21_the_other_classes_exist(torch):
    module = torch.autograd.function
    assert issubclass(module.InplaceFunction, torch.autograd.Function)
    assert issubclass(function(torch, None)._backward_cls, module.BackwardCFunction)
    assert issubclass(module.BackwardCFunction, module.FunctionCtx)
    assert issubclass(module.NestedIOFunction, torch.autograd.Function)
    assert hasattr(module.NestedIOFunction, "forward_extended")


def test_f21_a_context_remembers_what_it_is_told(torch):
    context = torch.autograd.function.FunctionCtx()
    one = torch.ones(1)
    context.save_for_backward(one)
    context.save_for_forward(one)
    context.mark_dirty(one)
    context.mark_non_differentiable(one)
    context.set_materialize_grads(False)
    assert context.to_save == context.saved_for_forward == (one,)
    assert context.dirty_tensors == context.non_differentiable == (one,)
    assert context.materialize_grads is False
    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        context.mark_shared_storage((one, one))


def test_f21_an_inplace_function_is_a_function(torch):
    members = {
        "forward": staticmethod(lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1]),
        "backward": staticmethod(lambda ctx, grad: grad * 2),
    }
    cls = type("I", (torch.autograd.function.InplaceFunction,), members)
    x = ones(torch)
    y = x.clone()
    assert cls.apply(y) is y
    y.sum().backward()
    assert values(x.grad) == [2.0, 2.0]
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        assert cls(True).inplace is True


def test_f21_the_node_can_run_its_parts(torch):
    cls = function(
        torch, lambda ctx, x: x * 2, lambda ctx, grad: grad, jvp=lambda ctx, tangent: tangent * 7
    )
    node = cls.apply(ones(torch)).grad_fn
    assert values(node.apply_jvp(torch.ones(2))) == [7.0, 7.0]
    assert [values(each) for each in node.apply_boxed([torch.ones(2)])] == [[1.0, 1.0]]


def test_f22_a_subclass_returned_as_it_is_stays_one(torch):
    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    same = function(torch, lambda ctx, x: x)
    mine = torch.ones(2).as_subclass(Mine).requires_grad_()
    result = same.apply(mine)
    assert type(result) is Mine
    assert result is not mine
    assert result.grad_fn.name() == "FBackward"
    plain = torch.ones(2).as_subclass(Mine)
    written = function(torch, lambda ctx, x: (ctx.mark_dirty(x), x)[1])
    assert written.apply(plain) is plain
    parameter = torch.nn.Parameter(torch.ones(2))
    assert type(same.apply(parameter)) is torch.Tensor


def test_f23_apply_takes_keyword_arguments(torch):
    seen = []

    def forward(ctx, x, factor=3):
        seen.append(ctx.needs_input_grad)
        return x * factor

    cls = function(torch, forward, lambda ctx, grad: (grad, None))
    x = ones(torch)
    assert values(cls.apply(x, factor=4)) == [4.0, 4.0]
    assert values(cls.apply(factor=5, x=x)) == [5.0, 5.0]
    assert values(cls.apply(x=x)) == [3.0, 3.0]
    assert seen == [(True, False), (True, False), (True,)]
    assert error(lambda: cls.apply(x, other=4)) == (
        "TypeError: forward() got an unexpected keyword argument 'other'"
    )
    assert error(lambda: cls.apply(x, x=4)) == (
        "TypeError: forward() got multiple values for argument 'x'"
    )
    assert error(lambda: cls.apply(factor=4)) == (
        "TypeError: forward() missing required argument: 'x' (position 0)"
    )


def test_f23_defaults_do_not_fill_gaps_and_names_need_a_place(torch):
    x = ones(torch)
    cls = function(torch, lambda ctx, x, a=2, b=3: x * a * b, lambda ctx, grad: (grad, None, None))
    assert values(cls.apply(x, a=5)) == [15.0, 15.0]
    assert error(lambda: cls.apply(x, b=5)) == (
        "TypeError: forward() missing required argument: 'a' (position 1)"
    )
    for forward in (lambda ctx, x, **rest: x * 2, lambda ctx, x, *, k=1: x * k):
        assert error(lambda forward=forward: function(torch, forward).apply(x, k=5)) == (
            "TypeError: forward() got an unexpected keyword argument 'k'"
        )
