"""Arguments that do not fit, names that are only read, handles, and words of warnings."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from autograd_probe import error, function, values, warned


def test_g11_a_sequence_number_is_a_natural_number(torch):
    node = (torch.ones(1, requires_grad=True) * 2).grad_fn
    assert error(lambda: node._set_sequence_nr("a")) == "TypeError: an integer is required"
    assert error(lambda: node._set_sequence_nr(-1)) == (
        "OverflowError: can't convert negative int to unsigned"
    )


def test_g15_undefined_grad_takes_nothing(torch):
    assert error(lambda: torch._C._functions.UndefinedGrad(1)) == (
        "RuntimeError: Requires zero arguments, got 1"
    )


@pytest.mark.parametrize(
    "name", ["grad_fn", "is_leaf", "output_nr", "retains_grad", "_version", "_base", "_cdata"]
)
def test_l8_what_a_tensor_only_tells_cannot_be_set(torch, name):
    x = torch.ones(2, requires_grad=True)
    assert error(lambda: setattr(x, name, None)) == (
        f"AttributeError: attribute '{name}' of 'torch._C.TensorBase' objects is not writable"
    )


def test_h5_the_hooks_of_a_leaf_can_be_seen(torch):
    x = torch.ones(2, requires_grad=True)
    assert x._post_accumulate_grad_hooks is None
    x.register_post_accumulate_grad_hook(print)
    assert list(x._post_accumulate_grad_hooks.values()) == [print]


def test_f9_materializing_is_a_truth_value(torch):
    def forward(ctx, x):
        ctx.set_materialize_grads(3)
        return x

    assert error(lambda: function(torch, forward).apply(torch.ones(1))) == (
        "TypeError: set_materialize_grads received an invalid combination of arguments - got (), "
        "but expected (bool)"
    )


def test_s11_hooks_come_in_pairs(torch):
    saved = (torch.ones(2, requires_grad=True).exp()).grad_fn._raw_saved_result
    assert "incompatible function arguments" in error(lambda: saved.register_hooks(abs))


def test_s13_a_pass_inside_a_block_of_hooks(torch):
    """The formula of `split` joins the gradients of its outputs."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    x = torch.arange(4.0).requires_grad_()
    for block in (lambda: hooks(lambda each: each, lambda each: each), torch.inference_mode):
        x.grad = None
        first, second = (x * x).split(2)
        loss = (first * second).sum()
        with block():
            loss.backward()
        assert values(x.grad) == [0.0, 18.0, 0.0, 6.0]


def test_z5_variables(torch):
    variable = torch.autograd.Variable
    assert error(lambda: variable(3)) == (
        "TypeError: Variable data has to be a tensor, but got int"
    )
    assert variable().shape == (0,)
    assert error(lambda: variable(torch.ones(1, dtype=torch.int64), requires_grad=True)) == (
        "RuntimeError: Only Tensors of floating point and complex dtype can require gradients"
    )
    assert warned(lambda: variable(torch.ones(1), volatile=True)) == [
        "UserWarning: volatile was removed and now has no effect. Use `with torch.no_grad():` "
        "instead."
    ]
    assert error(lambda: torch.ones(1).type(3)) == (
        "TypeError: dtype must be a type, str, or dtype object"
    )


@pytest.mark.parametrize(
    ("index", "told"),
    [
        ([[0, 1], [1, 2]], True),
        ([slice(None), 0], True),
        ([None, 0], True),
        ([0, 1], False),
        (([0, 1], [1, 2]), False),
    ],
)
def test_b4_a_list_in_the_place_of_a_tuple_is_deprecated(torch, index, told):
    x = torch.ones(3, 3)
    for heard in (warned(lambda: x[index]), warned(lambda: x.__setitem__(index, 0.0))):
        assert len(heard) == told
        for each in heard:
            assert each.startswith(
                "UserWarning: Using a non-tuple sequence for multidimensional indexing is "
                "deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] instead of "
            )


def test_found_h1_a_block_of_a_handle_removes_the_hook(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    with x.register_hook(seen.append) as handle:
        assert handle.id in x._backward_hooks
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert len(seen) == 1


def test_found_h1_a_handle_can_be_pickled_with_its_hooks(torch):
    hooks, more = OrderedDict(), OrderedDict()
    handle = torch.utils.hooks.RemovableHandle(hooks, extra_dict=more)
    hooks[handle.id] = more[handle.id] = print
    other = torch.utils.hooks.RemovableHandle(OrderedDict())
    other.__setstate__(handle.__getstate__())
    assert other.id == handle.id
    other.remove()
    assert (len(hooks), len(more)) == (0, 0)


def test_found_h8_the_handle_of_a_hook_on_several_tensors_can_be_pickled(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    handle = torch.autograd.graph.register_multi_grad_hook((x, x * 1), seen.append)
    state = handle.__getstate__()
    assert len(state) == 2
    other = type(handle)(())
    other.__setstate__(state)
    other.remove()
    (x * 1).sum().backward()
    assert seen == []


def test_found_h5_the_node_of_a_leaf_is_the_current_one_in_its_hooks(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)

    def note(_):
        seen.append(torch._C._current_autograd_node().name())

    x.register_hook(note)
    x.register_post_accumulate_grad_hook(note)
    (x * 2).sum().backward()
    assert seen == ["torch::autograd::AccumulateGrad"] * 2


def test_found_h1_a_handle_of_an_old_pickle_has_two_parts(torch):
    handle = torch.utils.hooks.RemovableHandle(OrderedDict())
    handle.__setstate__((None, 3))
    assert handle.id == 3
    handle.remove()


def test_found_r9_a_switch_is_set_when_it_is_made(torch):
    switch, ask = torch.autograd.grad_mode.set_multithreading_enabled, torch._C
    block = switch(False)
    assert not ask._is_multithreading_enabled()
    switch(True)
    with block:
        assert ask._is_multithreading_enabled()
    assert ask._is_multithreading_enabled()


def test_found_m7_view_replay_is_set_again_when_its_block_begins(torch):
    ask = torch._C._is_view_replay_enabled
    block = torch.autograd._force_original_view_tracking(True)
    torch.autograd._force_original_view_tracking(False)
    assert not ask()
    with block:
        assert ask()
    assert not ask()
