"""Hooks around a Module's call and its backward."""

from __future__ import annotations

import gc
import weakref

import pytest

import taper
from taper import nn
from taper.nn.modules import module as module_file


class Double(nn.Module):
    def forward(self, x, *, times=2):
        return x * times


def ones(*shape):
    return taper.ones(*shape, requires_grad=True)


# ------------------------------------------------------------------------------------ forward


def test_order_of_hooks():
    seen = []
    module = Double()
    module.register_forward_pre_hook(lambda m, a: seen.append("pre 1"))
    module.register_forward_pre_hook(lambda m, a: seen.append("pre 0"), prepend=True)
    module.register_forward_hook(lambda m, a, o: seen.append("post 1"))
    module.register_forward_hook(lambda m, a, o: seen.append("post 0"), prepend=True)
    handles = [
        module_file.register_module_forward_pre_hook(lambda m, a: seen.append("global pre")),
        module_file.register_module_forward_hook(lambda m, a, o: seen.append("global post")),
    ]
    try:
        module(taper.ones(1))
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["global pre", "pre 0", "pre 1", "global post", "post 0", "post 1"]


def test_hooks_replace_arguments_and_result():
    module = Double()
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_hook(lambda m, args, output: output * 10)
    assert module(taper.ones(1)).tolist() == [40.0]


def test_hooks_with_kwargs():
    seen = []
    module = Double()
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"times": kwargs["times"] + 1}), with_kwargs=True
    )
    module.register_forward_hook(lambda m, a, kwargs, o: seen.append(kwargs), with_kwargs=True)
    assert module(taper.ones(1), times=3).tolist() == [4.0]
    assert seen == [{"times": 4}]


def test_pre_hook_with_kwargs_must_return_a_pair():
    module = Double()
    module.register_forward_pre_hook(lambda m, args, kwargs: 5, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"a tuple of \(new_args, new_kwargs\), but got 5."):
        module(taper.ones(1))


def test_removed_hooks_are_gone():
    module = Double()
    handle = module.register_forward_hook(lambda *a: 1, with_kwargs=True, always_call=True)
    handle.remove()
    handle.remove()
    assert not module._forward_hooks
    assert not module._forward_hooks_with_kwargs
    assert not module._forward_hooks_always_called
    with module.register_forward_pre_hook(lambda m, a: (a[0] * 0,)):
        assert module(taper.ones(1)).tolist() == [0.0]
    assert module(taper.ones(1)).tolist() == [2.0]


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError("no")


def test_always_called_hooks_see_failures():
    seen = []
    module = Failing()
    module.register_forward_hook(lambda m, a, o: seen.append(o), always_call=True)
    module.register_forward_hook(lambda m, a, o: seen.append("not called"))
    handle = module_file.register_module_forward_hook(
        lambda m, a, k, o: seen.append(("global", o)), with_kwargs=True, always_call=True
    )
    try:
        with pytest.raises(ValueError, match="^no$"):
            module(1)
    finally:
        handle.remove()
    assert seen == [("global", None), None]


def test_failing_always_called_hook_is_silenced():
    module = Failing()

    def broken(module, args, output):
        raise KeyError("bad")

    module.register_forward_hook(broken, always_call=True)
    with (
        pytest.warns(UserWarning, match="silenced as another error was raised in forward: 'bad'"),
        pytest.raises(ValueError, match="^no$"),
    ):
        module(1)


def test_failure_in_an_always_called_hook_does_not_call_it_again():
    calls = []
    module = Double()

    def broken(module, args, output):
        calls.append(output)
        raise KeyError("bad")

    module.register_forward_hook(broken, always_call=True)
    with pytest.raises(KeyError, match="bad"):
        module(taper.ones(1))
    assert len(calls) == 1


# ----------------------------------------------------------------------------------- backward


def test_full_backward_hook_sees_both_gradients():
    seen = []
    module = Double()
    module.register_full_backward_hook(
        lambda m, inputs, outputs: seen.append((m, inputs[0].tolist(), outputs[0].tolist()))
    )
    x = ones(2)
    y = module(x)
    assert y.grad_fn.name() == "BackwardHookFunctionBackward"
    y.sum().backward()
    assert seen == [(module, [2.0, 2.0], [1.0, 1.0])]
    assert x.grad.tolist() == [2.0, 2.0]


def test_full_backward_hooks_replace_gradients():
    module = Double()
    module.register_full_backward_pre_hook(lambda m, outputs: (outputs[0] * 3,))
    module.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 10,))
    x = ones(1)
    module(x).sum().backward()
    assert x.grad.tolist() == [60.0]


class Mixed(nn.Module):
    def forward(self, x, number, y):
        return x * y, number, x


def test_positions_without_tensors_are_none():
    seen = []
    module = Mixed()
    module.register_full_backward_hook(lambda m, *grads: seen.append(grads))
    x, y = ones(1), taper.ones(1)
    product, number, _ = module(x, 7, y)
    assert number == 7
    product.sum().backward()
    inputs, outputs = seen[0]
    assert [None if g is None else g.tolist() for g in inputs] == [[1.0], None, [0.0]]
    assert [None if g is None else g.tolist() for g in outputs] == [[1.0], None, None]


def test_without_gradients_of_inputs_the_hook_fires_with_none():
    seen = []
    module = nn.Linear(1, 1)
    module.register_full_backward_hook(lambda m, inputs, outputs: seen.append(inputs))
    with pytest.warns(UserWarning, match="^Full backward hook is firing when gradients are"):
        module(taper.ones(3, 1)).sum().backward()
    assert seen == [(None,)]
    module.register_full_backward_hook(lambda m, inputs, outputs: (1,))
    with (
        pytest.warns(UserWarning, match="^Full backward hook is firing"),
        pytest.raises(RuntimeError, match="should always return None or None for all gradients"),
    ):
        module(taper.ones(3, 1)).sum().backward()


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (
            "register_full_backward_hook",
            "Backward hook returned an invalid number of grad_input, got 2, but expected 1",
        ),
        (
            "register_full_backward_pre_hook",
            "Backward pre hook returned an invalid number of grad_output, got 2, but expected 1",
        ),
    ],
)
def test_wrong_number_of_gradients(register, text):
    module = Double()
    getattr(module, register)(lambda *arguments: (1, 2))
    with pytest.raises(RuntimeError) as caught:
        module(ones(1)).sum().backward()
    assert str(caught.value) == text


def test_hooks_do_not_fire_in_double_backward():
    seen = []

    class Square(nn.Module):
        def forward(self, x):
            return x * x

    module = Square()
    module.register_full_backward_hook(lambda *arguments: seen.append(1))
    x = ones(1)
    (grad,) = taper.autograd.grad(module(x).sum(), x, create_graph=True)
    assert seen == [1]
    (second,) = taper.autograd.grad(grad.sum(), x)
    assert second.tolist() == [2.0]
    assert seen == [1]


def test_no_node_without_gradients():
    module = Double()
    module.register_full_backward_hook(lambda *arguments: None)
    with taper.no_grad():
        assert module(ones(1)).grad_fn is None
    assert module(taper.ones(1)).grad_fn is None


def test_output_must_be_tensors():
    class Named(nn.Module):
        def forward(self, x):
            return {"y": x * 2}

    module = Named()
    module.register_full_backward_hook(lambda *arguments: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
        module(ones(1))


def test_old_and_full_hooks_exclude_each_other():
    module = Double()
    module.register_full_backward_hook(lambda *arguments: None)
    with pytest.raises(RuntimeError, match="full backward hooks on a single Module"):
        module.register_backward_hook(lambda *arguments: None)


def test_old_backward_hook_warns_about_what_it_misses():
    seen = []
    module = Double()
    module.register_backward_hook(lambda m, inputs, outputs: seen.append(outputs[0].tolist()))
    with pytest.warns(FutureWarning, match="^Using a non-full backward hook when the forward"):
        y = module(ones(1))
    y.sum().backward()
    assert seen == [[1.0]]


def test_global_backward_hooks():
    seen = []
    handles = [
        module_file.register_module_full_backward_pre_hook(lambda m, g: seen.append("pre")),
        module_file.register_module_full_backward_hook(lambda m, i, o: seen.append(type(m))),
    ]
    try:
        nn.Sequential(Double(), Double())(ones(1)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["pre", "pre", Double, "pre", Double, nn.Sequential]
    with pytest.raises(RuntimeError, match="as a global Module hook"):
        module_file.register_module_backward_hook(lambda *arguments: None)


def test_hooks_make_no_cycle():
    module = Double()
    module.register_full_backward_hook(lambda *arguments: None)
    gc.disable()
    try:
        y = module(ones(1))
        node = weakref.ref(y)
        del y
        assert node() is None
    finally:
        gc.enable()
