"""P: checkpointing: both kinds, their arguments, random state."""

from __future__ import annotations

import pytest

from autograd_probe import error, values, warned
from checkpoint_probe import Counted, first_then, leaf, plain_grad, sin_cos

KIND_NOT_SAID = (
    "UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
    "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception. "
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
    "you can pass use_reentrant=True. Refer to docs for more details on the differences between "
    "the two variants."
)
INCOMPATIBLE = (
    "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
    "passing an `inputs` parameter to .backward(). To resolve this error, you can either set "
    "use_reentrant=False, or call .backward() without passing the `inputs` argument."
)


# --- calling it ------------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [True, False])
def test_p1_a_checkpointed_call_gives_the_plain_result_and_gradient(torch, reentrant):
    x = leaf(torch)
    y = torch.utils.checkpoint.checkpoint(sin_cos, x, use_reentrant=reentrant)
    assert values(y) == values(sin_cos(x))
    y.sum().backward()
    assert values(x.grad) == plain_grad(torch, sin_cos)


def test_p1_not_saying_which_kind_warns_and_takes_the_reentrant(torch):
    checkpoint = torch.utils.checkpoint
    assert warned(lambda: checkpoint.checkpoint(sin_cos, leaf(torch))) == [KIND_NOT_SAID]
    (text,) = warned(lambda: checkpoint.checkpoint_sequential([sin_cos] * 2, 2, leaf(torch)))
    assert text.startswith(
        "UserWarning: torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter "
        "should be passed explicitly. In version 2.9 we will raise an exception"
    )
    with pytest.warns(UserWarning):
        y = checkpoint.checkpoint(sin_cos, leaf(torch))
    assert y.grad_fn.name() == "CheckpointFunctionBackward"


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_p1_a_chain_in_segments(torch, reentrant, segments):
    model = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(5)])
    x = leaf(torch)
    expected = model(x)
    expected.sum().backward()
    grads = [values(each.grad) for each in (x, *model.parameters())]
    for each in (x, *model.parameters()):
        each.grad = None
    run = torch.utils.checkpoint.checkpoint_sequential
    y = run(model, segments, x, use_reentrant=reentrant)
    y.sum().backward()
    assert values(y) == values(expected)
    assert [values(each.grad) for each in (x, *model.parameters())] == grads
    y = run(list(model), segments, x, use_reentrant=reentrant, preserve_rng_state=False)
    assert values(y) == values(expected)


def test_p1_bad_arguments_of_a_chain(torch):
    run = torch.utils.checkpoint.checkpoint_sequential
    x = leaf(torch)
    chain = [sin_cos] * 2
    assert error(lambda: run(chain, 1, x, use_reentrant=False, more=1)) == (
        "ValueError: Unexpected keyword arguments: more"
    )
    assert error(lambda: run(chain, 5, x, use_reentrant=False)) == (
        "ValueError: range() arg 3 must not be zero"
    )


@pytest.mark.parametrize("reentrant", [True, False])
def test_p2_two_thousand_checkpoints_in_one_graph(torch, reentrant):
    layer = torch.nn.Linear(3, 3)
    x = torch.ones(1, 3, requires_grad=True)

    def loss(call):
        y = x
        for _ in range(2000):
            y = call(y)
        return y.sum()

    def checkpointed(y):
        return torch.utils.checkpoint.checkpoint(layer, y, use_reentrant=reentrant)

    expected = loss(layer)
    expected.backward()
    grads = [values(each.grad) for each in (x, *layer.parameters())]
    for each in (x, *layer.parameters()):
        each.grad = None
    found = loss(checkpointed)
    found.backward()
    assert values(found) == pytest.approx(values(expected))
    for each, grad in zip((x, *layer.parameters()), grads, strict=True):
        assert torch.allclose(each.grad, torch.tensor(grad), rtol=1e-4)


def test_p2_nothing_is_saved_between(torch):
    x = leaf(torch)
    y = torch.utils.checkpoint.checkpoint(sin_cos, x, use_reentrant=False)
    packed = y.grad_fn._raw_saved_self.data
    assert not isinstance(packed, torch.Tensor)
    inner = y.grad_fn.next_functions[0][0]
    assert not isinstance(inner._raw_saved_self.data, torch.Tensor)


# --- the reentrant kind ----------------------------------------------------------------------


def test_p3_without_a_grad_requiring_input_it_warns(torch):
    call = torch.utils.checkpoint.checkpoint
    weight = leaf(torch)
    text = "UserWarning: None of the inputs have requires_grad=True. Gradients will be None"
    assert warned(lambda: call(lambda x: x * weight, torch.ones(2), use_reentrant=True)) == [text]
    assert warned(lambda: torch.utils.checkpoint.check_backward_validity([torch.ones(1), 3])) == [
        text
    ]
    assert warned(lambda: torch.utils.checkpoint.check_backward_validity([weight])) == []


def test_p3_it_refuses_a_pass_for_some_inputs_and_recovers(torch):
    x = leaf(torch)
    call = torch.utils.checkpoint.checkpoint
    y = call(sin_cos, x, use_reentrant=True).sum()
    assert error(lambda: torch.autograd.grad(y, x)) == INCOMPATIBLE
    y = call(sin_cos, x, use_reentrant=True).sum()
    assert error(lambda: y.backward(inputs=[x])) == INCOMPATIBLE
    call(sin_cos, x, use_reentrant=True).sum().backward()
    assert values(x.grad) == plain_grad(torch, sin_cos)


def test_p3_it_refuses_inside_of_such_a_pass_too(torch):
    x, other = leaf(torch), leaf(torch)
    y = torch.utils.checkpoint.checkpoint(sin_cos, x, use_reentrant=True).sum()
    z = other * 1
    z.register_hook(lambda grad: y.backward())
    assert error(lambda: torch.autograd.grad(z.sum(), other)) == INCOMPATIBLE


def test_p3_a_recomputation_without_grad_requiring_output(torch):
    run = first_then(lambda x: x.sin(), lambda x: x.detach())
    y = torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=True)
    assert error(y.sum().backward) == (
        "RuntimeError: none of output has requires_grad=True, this checkpoint() is not necessary"
    )


def test_p3_keywords_contexts_and_debug_are_refused(torch):
    call = torch.utils.checkpoint.checkpoint
    x = leaf(torch)
    assert error(lambda: call(sin_cos, x, use_reentrant=True, a=1, b=2)) == (
        "ValueError: Unexpected keyword arguments: a,b"
    )
    refused = (
        "ValueError: Passing `context_fn` or `debug` is only supported when use_reentrant=False."
    )
    assert error(lambda: call(sin_cos, x, use_reentrant=True, debug=True)) == refused
    assert error(lambda: call(sin_cos, x, use_reentrant=True, context_fn=print)) == refused


def test_p3_forward_records_nothing_and_recomputes_on_leaves(torch):
    x = leaf(torch)
    seen = []

    def run(y, factor, nothing):
        seen.append((torch.is_grad_enabled(), y.is_leaf, y.requires_grad))
        return y * factor, "text"

    y, text = torch.utils.checkpoint.checkpoint(run, x * 1, 3, None, use_reentrant=True)
    y.sum().backward()
    assert text == "text"
    assert seen == [(False, False, True), (True, True, True)]
    assert values(x.grad) == [3.0, 3.0]


def test_p3_retained_freed_and_written(torch):
    x = leaf(torch)
    y = torch.utils.checkpoint.checkpoint(sin_cos, x, use_reentrant=True).sum()
    y.backward(retain_graph=True)
    once = values(x.grad)
    y.backward()
    assert values(x.grad) == [2 * each for each in once]
    assert error(y.backward).startswith("RuntimeError: Trying to backward through the graph")
    other = torch.ones(2)
    y = torch.utils.checkpoint.checkpoint(lambda x, y: x * y, x, other, use_reentrant=True)
    other.add_(1)
    assert "has been modified by an inplace operation" in error(y.sum().backward)


def test_p3_detach_variable(torch):
    detach = torch.utils.checkpoint.detach_variable
    made = detach((leaf(torch) * 2, torch.ones(1), "text"))
    assert [each.requires_grad for each in made[:2]] == [True, False]
    assert made[0].is_leaf
    assert made[2] == "text"
    assert error(lambda: detach([1])) == (
        "RuntimeError: Only tuple of tensors is supported. Got Unsupported input type: list"
    )


# --- the other kind --------------------------------------------------------------------------


def test_p4_inputs_and_outputs_of_any_shape(torch):
    x, y = leaf(torch), leaf(torch, 2.0, 3.0)

    def run(inputs, *, scale, others):
        return {"product": [inputs["x"] * scale * others[0]], "name": inputs["name"]}

    found = torch.utils.checkpoint.checkpoint(
        run, {"x": x, "name": "n"}, scale=2, others=(y,), use_reentrant=False
    )
    assert found["name"] == "n"
    found["product"][0].sum().backward()
    assert values(x.grad) == [4.0, 6.0]
    assert values(y.grad) == [1.0, 3.0]


def test_p4_inputs_need_not_require_grad(torch):
    weight = leaf(torch)
    call = torch.utils.checkpoint.checkpoint
    found = call(lambda x: (x * weight).sin(), torch.ones(2), use_reentrant=False)
    found.sum().backward()
    assert values(weight.grad) == pytest.approx(values(weight.cos()))


def test_p4_grad_of_some_inputs_and_a_retained_graph(torch):
    x = leaf(torch)
    run = Counted(sin_cos)
    y = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False).sum()
    (grad,) = torch.autograd.grad(y, x, retain_graph=True)
    y.backward(inputs=[x], retain_graph=True)
    y.backward()
    assert values(x.grad) == [2 * each for each in values(grad)]
    assert run.begun == 4
    assert error(y.backward).startswith("RuntimeError: Trying to backward through the graph")


def test_p4_double_backward(torch):
    def second(call):
        x = leaf(torch)
        (first,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        second.sum().backward()
        return [values(each) for each in (first, second, x.grad)]

    def run(x):
        return (x.exp() * x).sin() ** 2

    def checkpointed(x):
        return torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)

    assert second(checkpointed) == second(run)


def test_p4_hooks_fire_once(torch):
    x = leaf(torch)
    fired = []
    x.register_hook(lambda grad: fired.append("input"))

    def run(x):
        y = x.sin()
        y.register_hook(lambda grad: fired.append("inside"))
        return y.cos()

    torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False).sum().backward()
    assert fired == ["inside", "input"]


def test_p4_grad_modes_inside_and_outside(torch):
    modes = []

    def run(x):
        modes.append(torch.is_grad_enabled())
        with torch.no_grad():
            factor = x.exp()
        return factor * x

    x = leaf(torch)
    call = torch.utils.checkpoint.checkpoint
    call(run, x, use_reentrant=False).sum().backward()
    assert values(x.grad) == values(x.exp())
    with torch.no_grad():
        assert not call(run, x, use_reentrant=False).requires_grad
    assert modes == [True, True, False]


def test_p4_a_pass_inside_of_the_function(torch):
    def run(x):
        y = x.exp().sin()
        (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y * grad

    for early_stop in (True, False):
        counted = Counted(run)
        x = leaf(torch)
        call = torch.utils.checkpoint.checkpoint
        y = call(counted, x, use_reentrant=False, early_stop=early_stop)
        y.sum().backward()
        assert values(x.grad) == plain_grad(torch, run)
        assert (counted.begun, counted.ended) == (3, 1 if early_stop else 3)


def test_p4_an_input_that_was_written_is_noticed(torch):
    x, other = leaf(torch), torch.ones(2)
    call = torch.utils.checkpoint.checkpoint
    y = call(lambda x, y: x * y, x, other, use_reentrant=False)
    other.add_(1)
    assert error(y.sum().backward).startswith(
        "RuntimeError: one of the variables needed for gradient computation has been modified by "
        "an inplace operation: [torch.FloatTensor [2]] is at version 1; expected version 0 instead."
    )


def test_p4_inference_tensors_are_refused(torch):
    with torch.inference_mode():
        other = torch.ones(2)
    call = torch.utils.checkpoint.checkpoint
    assert error(
        lambda: call(lambda x, y: x + y, leaf(torch), other, use_reentrant=False)
    ).startswith("RuntimeError: Inference tensors cannot be saved for backward.")


# --- random numbers --------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("preserved", [True, False])
def test_p5_the_recomputation_draws_the_same_numbers(torch, reentrant, preserved):
    drawn = []

    def run(x):
        drawn.append(torch.rand(2))
        return (x * drawn[-1]).sin()

    options = {} if preserved else {"preserve_rng_state": False}
    y = torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=reentrant, **options)
    torch.rand(3)
    state = torch.get_rng_state()
    y.sum().backward()
    assert torch.equal(drawn[0], drawn[1]) == preserved
    assert torch.equal(torch.get_rng_state(), state) == preserved


@pytest.mark.parametrize("reentrant", [True, False])
def test_p5_dropout(torch, reentrant):
    x = torch.ones(100, requires_grad=True)

    def run(x):
        return torch.nn.functional.dropout(x, 0.5) * 3

    y = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=reentrant)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_p5_states_of_devices(torch):
    checkpoint = torch.utils.checkpoint
    assert checkpoint.get_device_states(torch.ones(1), 3) == ([], [])
    assert checkpoint.set_device_states([], []) is None
    assert checkpoint.DefaultDeviceType.get_device_type() in ("cpu", "cuda")
