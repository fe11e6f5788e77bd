"""M: grad modes as blocks, decorators and on generators.  I: inference mode."""

from __future__ import annotations

import asyncio

import pytest

from autograd_probe import error, values, warned

NO_VERSION = "RuntimeError: Inference tensors do not track version counter."
NOT_SAVED = (
    "RuntimeError: Inference tensors cannot be saved for backward. Please do not use Tensors "
    "created in inference mode in computation tracked by autograd. To work around this, you can "
    "make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead "
    "of `torch.inference_mode()`."
)
NOT_WRITTEN = (
    "RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed.You can "
    "make a clone to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)
MOVE_BOTH = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the inference_mode block (if "
    "you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked)."
)


def test_m1_modes_are_blocks_that_nest_and_restore(torch):
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
            with torch.set_grad_enabled(False):
                assert not torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_m1_modes_restore_after_an_exception(torch):
    for mode in (torch.no_grad, torch.inference_mode):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_m1_modes_decorate_functions_with_and_without_parentheses(torch):
    def ask():
        "The docstring."
        return torch.is_grad_enabled()

    assert torch.no_grad()(ask)() is False
    assert torch.no_grad(ask)() is False
    assert torch.no_grad(ask).__doc__ == "The docstring."
    with torch.no_grad():
        assert torch.enable_grad(ask)() is True
        assert torch.enable_grad()(ask)() is True
    assert torch.is_grad_enabled()


def test_m2_set_grad_enabled_acts_at_once(torch):
    torch.set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    assert torch.is_grad_enabled()
    assert repr(torch.set_grad_enabled(True)) == (
        "torch.autograd.grad_mode.set_grad_enabled(mode=True)"
    )
    assert error(lambda: torch.set_grad_enabled("no")) == (
        "TypeError: set_grad_enabled(): argument 'enabled' (position 1) must be bool, not str"
    )
    assert torch.is_grad_enabled()


def test_m2_as_a_decorator_set_grad_enabled_acts_around_calls_only(torch):
    @torch.set_grad_enabled(False)
    def ask():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled()
    assert ask() is False
    assert torch.is_grad_enabled()


def test_m3_the_mode_holds_inside_a_generator_and_not_outside(torch):
    seen = []

    @torch.no_grad()
    def steps():
        try:
            received = yield torch.is_grad_enabled()
            seen.append((received, torch.is_grad_enabled()))
            try:
                yield torch.is_grad_enabled()
            except ValueError:
                seen.append(("caught", torch.is_grad_enabled()))
            yield torch.is_grad_enabled()
        finally:
            seen.append(("finally", torch.is_grad_enabled()))

    generator = steps()
    for step in (
        lambda: next(generator),
        lambda: generator.send("sent"),
        lambda: generator.throw(ValueError),
    ):
        assert step() is False
        assert torch.is_grad_enabled()
    generator.close()
    assert seen == [("sent", False), ("caught", False), ("finally", False)]
    assert torch.is_grad_enabled()


def test_m3_errors_and_return_values_leave_a_decorated_generator(torch):
    @torch.no_grad()
    def steps():
        yield 1
        return 5

    def outer():
        return (yield from steps())

    generator = outer()
    assert next(generator) == 1
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == 5
    failing = steps()
    next(failing)
    with pytest.raises(ZeroDivisionError):
        failing.throw(ZeroDivisionError)
    assert torch.is_grad_enabled()


def test_m3_a_mode_does_not_leak_out_of_a_coroutine(torch):
    @torch.no_grad()
    async def work():
        await asyncio.sleep(0)
        return torch.is_grad_enabled()

    async def main():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        return torch.is_grad_enabled(), await task

    assert asyncio.run(main()) == (True, True)


def test_m4_decorating_a_class_warns_and_affects_construction_only(torch):
    made = []

    def decorate():
        @torch.no_grad()
        class Thing:
            def __init__(self):
                self.inside = torch.is_grad_enabled()

            def ask(self):
                return torch.is_grad_enabled()

        made.append(Thing())

    assert warned(decorate) == [
        "FutureWarning: Decorating classes is deprecated and will be disabled in future versions. "
        "You should only decorate functions or methods. To preserve the current behavior of class "
        "decoration, you can directly decorate the `__init__` method and nothing else."
    ]
    assert made[0].inside is False
    assert made[0].ask() is True


def test_m5_no_grad_allows_what_recording_forbids(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        assert torch.ones(2, requires_grad=True).requires_grad
        x.add_(1)
        assert x.numpy().tolist() == [2.0, 2.0]
    assert x.requires_grad
    assert x.is_leaf
    assert x._version == 1


def test_m6_the_mode_inside_backward_is_create_graph(torch):
    seen = []

    class Ask(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.is_grad_enabled())
            return grad * 2

    x = torch.tensor(1.0, requires_grad=True)
    Ask.apply(x).backward()
    torch.autograd.grad(Ask.apply(x), x, create_graph=True)
    with torch.no_grad():
        pass
    assert seen == [False, True]
    y = Ask.apply(x)
    with torch.no_grad():
        torch.autograd.grad(y, x, create_graph=True)
        assert not torch.is_grad_enabled()
    assert seen == [False, True, True]


def test_m7_view_replay_is_a_switch(torch):
    assert not torch.autograd.is_view_replay_enabled()
    with torch.autograd._force_original_view_tracking(True):
        assert torch.autograd.is_view_replay_enabled()
        base = torch.ones(2, 3, requires_grad=True).clone()
        row = base.select(0, 1)
        base.mul_(2)
        assert row.grad_fn.name() == "SelectBackward0"
    assert not torch.autograd.is_view_replay_enabled()
    base = torch.ones(2, 3, requires_grad=True).clone()
    row = base.select(0, 1)
    base.mul_(2)
    assert row.grad_fn.name() == "AsStridedBackward0"


def test_i1_inference_mode_is_a_block_and_a_decorator(torch):
    def ask():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    assert ask() == (False, True)
    with torch.inference_mode():
        assert ask() == (True, False)
        with torch.inference_mode(False):
            assert ask() == (False, True)
        assert torch.inference_mode(mode=False)(ask)() == (False, True)
        assert ask() == (True, False)
    assert torch.inference_mode(ask)() == (True, False)
    assert torch.inference_mode()(ask)() == (True, False)
    assert ask() == (False, True)


def test_i2_tensors_made_inside_are_inference_tensors(torch):
    normal = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        made = torch.ones(2)
        leaf = torch.ones(2, requires_grad=True)
        result = normal * 2
        view = made.view(2, 1)
        with torch.enable_grad():
            forced = leaf * 2
    for each in (made, leaf, result, view):
        assert each.is_inference()
    assert torch.is_inference(made)
    assert not normal.is_inference()
    assert leaf.requires_grad
    assert not result.requires_grad
    assert not forced.requires_grad
    assert not view._is_view()
    assert made.detach().is_inference()
    assert made.data.is_inference()


def test_i3_inference_tensors_have_no_version(torch):
    with torch.inference_mode():
        made = torch.ones(2)
    assert error(lambda: made._version) == NO_VERSION


def test_i4_outside_inference_tensors_are_only_read(torch):
    with torch.inference_mode():
        made = torch.ones(2)
        leaf = torch.ones(2, requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    assert not (made * 2).is_inference()
    assert not made.clone().is_inference()
    assert error(lambda: made.add_(1)) == NOT_WRITTEN
    assert error(lambda: made.view(2).add_(1)) == NOT_WRITTEN
    assert error(lambda: made * x) == NOT_SAVED
    assert error(lambda: x.clone().mul_(made)) == NOT_SAVED
    assert error(made.requires_grad_) == (
        "RuntimeError: Setting requires_grad=True on inference tensor outside InferenceMode is not "
        "allowed."
    )
    (leaf + x).sum().backward()
    assert values(leaf.grad) == [1.0, 1.0]


def test_i5_normal_tensors_inside_are_still_counted(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    with torch.inference_mode():
        y.add_(1)
        assert y._version == 1
        assert (y * 2).is_inference()
    assert "modified by an inplace operation" in error(lambda: z.sum().backward())


def test_i6_views_of_normal_tensors_taken_inside_are_normal(torch):
    base = torch.ones(2, requires_grad=True).clone()
    with torch.inference_mode():
        view = base.view(2, 1)
        assert not view.is_inference()
    assert view._is_view()
    assert view.requires_grad
    assert view.is_leaf
    assert error(lambda: view.add_(1)) == (
        "RuntimeError: A view was created in inference mode and is being modified inplace in "
        f"normal mode. {MOVE_BOTH}"
    )
    base.add_(1)
    assert error(lambda: view.grad_fn) == (
        "RuntimeError: A view was created in inference mode and its base or another view of its "
        f"base has been modified inplace in normal mode. {MOVE_BOTH}"
    )
    assert view.requires_grad
    assert repr(view) == "tensor([[2.],\n        [2.]], grad_fn=<Invalid>)"


def test_i7_out_refuses_inference_tensors_outside(torch):
    with torch.inference_mode():
        made = torch.ones(2)
    assert error(lambda: torch.add(torch.ones(2), 1, out=made)) == NOT_WRITTEN


def test_i4_an_inference_gradient_is_not_added_to(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        x.grad = torch.ones(2)
    assert error(lambda: (x * 2).sum().backward()) == NOT_WRITTEN


def test_i5_backward_inside_makes_inference_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with torch.inference_mode():
        y.backward()
    assert x.grad.is_inference()
    assert values(x.grad) == [2.0, 2.0]


@pytest.mark.parametrize("name", ["amax", "amin", "aminmax", "logsumexp"])
def test_found_e7_a_pass_over_reductions_of_one_number_in_inference_mode(torch, name):
    x = torch.tensor(2.0, requires_grad=True)
    y = {
        "amax": x.amax,
        "amin": x.amin,
        "aminmax": lambda: sum(x.aminmax()),
        "logsumexp": lambda: x.logsumexp(0),
    }[name]()
    with torch.inference_mode():
        y.backward()
    assert x.grad.item() == (2.0 if name == "aminmax" else 1.0) and x.grad.is_inference()


def test_found_m2_inference_tensors_are_resized_and_detached_in_their_mode_only(torch):
    with torch.inference_mode():
        t = torch.ones(2, 2, requires_grad=True)
        t.resize_(3)
    assert t.shape == (3,) and t.requires_grad
    assert t.detach_() is t and t.requires_grad
    assert t.resize_(3) is t
    assert error(lambda: t.resize_(2)).startswith(
        "RuntimeError: Inplace update to inference tensor"
    )


def test_found_m2_views_of_inference_tensors_have_no_history(torch):
    with torch.inference_mode():
        t = torch.ones(2, 2, requires_grad=True)
    views = [t.view(4), t[0], t.t(), t.unsqueeze(0), t.expand(3, 2, 2), t.diagonal(), t.detach()]
    for view in (*views, *t.unbind(), *t.split(1), *t.chunk(2), t.as_strided((1,), (1,))):
        assert view.is_inference() and view.is_leaf
        assert not view.requires_grad and view.grad_fn is None
    result = t.view(4) * torch.ones(4)
    assert not result.requires_grad
    assert (t * 2).requires_grad


def test_found_m2_what_inference_tensors_alone_make_is_not_recorded(torch):
    with torch.inference_mode():
        t = torch.ones(2, 2, requires_grad=True)
    alone = [
        t.exp(),
        -t,
        t.sum(),
        t.sum(0),
        t.max(0).values,
        t * t,
        t + t,
        t @ t,
        torch.cat([t, t]),
    ]
    alone += [
        torch.cat([t, t]),
        t.softmax(0),
        t**2,
        t.prod(),
        t.sqrt(),
        torch.addcmul(t, t, t),
        1 / t,
    ]
    for result in alone:
        assert not result.requires_grad and result.is_leaf and not result.is_inference()


def test_found_m2_what_they_make_with_numbers_and_normal_tensors_is(torch):
    with torch.inference_mode():
        t = torch.ones(2, 2, requires_grad=True)
    normal = torch.ones(2, 2)
    for make in (
        lambda: t * 2,
        lambda: t + 1,
        lambda: t / 2,
        lambda: t * normal,
        lambda: t @ normal,
        lambda: torch.stack([t, normal]),
        lambda: t[torch.tensor([0])],
        t.clone,
        t.double,
    ):
        result = make()
        assert result.requires_grad and not result.is_leaf
    t.grad = None
    (t * 2).sum().backward()
    assert t.grad.tolist() == [[2, 2], [2, 2]]


def test_found_m2_a_block_of_set_grad_enabled_restores_what_was(torch):
    with torch.no_grad():
        with torch.set_grad_enabled(True):
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        with torch.set_grad_enabled(False):
            pass
        assert not torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_found_m1_a_block_may_be_entered_again_inside_itself(torch):
    block = torch.no_grad()
    with block:
        with torch.enable_grad():
            with block:
                assert not torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
