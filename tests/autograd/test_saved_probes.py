"""S4, S7, S8, S11 to S13, S15, S18: rarer sides of saved tensors."""

from __future__ import annotations

import weakref

import pytest

from autograd_probe import error, function, values


def test_s7_integer_outputs_are_checked_and_have_no_history(torch):
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    found = torch.sort(x)
    saved = found.values.grad_fn._saved_indices
    assert (saved.requires_grad, saved.grad_fn, values(saved)) == (False, None, [1, 0])
    found.indices.mul_(1)
    assert error(found.values.sum().backward).startswith(
        "RuntimeError: one of the variables needed for gradient computation has been modified by "
        "an inplace operation: [torch.LongTensor [2]] is at version 1; expected version 0 instead."
    )


def test_s7_the_hint_is_another_one_in_anomaly_mode(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(False):
        y = x.exp()
        z = y * y
        y.detach().add_(1)
        assert "Hint: enable anomaly detection" in error(z.sum().backward)
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="MulBackward0"):
        found = error(z.sum().backward)
    assert "Hint: the backtrace further above shows the operation" in found


def test_s8_versions_can_be_set(torch):
    set_versions = torch._C._autograd._unsafe_set_version_counter
    x, y = torch.ones(2), torch.ones(2)
    set_versions((x, y), (5, 7))
    assert (x._version, x[0]._version, y._version) == (5, 5, 7)
    assert error(lambda: set_versions((x,), (-1,))) == (
        "RuntimeError: Cannot set a version_counter to a value below 0: -1"
    )
    assert error(lambda: set_versions((x,), (1, 2))) == (
        "RuntimeError: tensors_len=1, versions_len=2"
    )
    assert error(lambda: set_versions(x, 3)).startswith(
        "TypeError: _unsafe_set_version_counter(): incompatible function arguments."
    )
    assert (x._version, y._version) == (5, 7)


def test_s8_versions_of_inference_tensors(torch):
    with torch.inference_mode():
        x = torch.ones(2)
    torch.autograd.graph.increment_version([x])
    assert error(lambda: torch._C._autograd._unsafe_set_version_counter((x,), (1,))).startswith(
        "RuntimeError: Tried to call torch.autograd._unsafe_set_version() on a tensor that does "
        "not have a version counter."
    )
    assert error(lambda: torch.autograd._unsafe_preserve_version_counter(x)) == (
        "RuntimeError: Inference tensors do not track version counter."
    )


def test_s8_what_is_no_tensor_is_refused(torch):
    increment = torch.autograd.graph.increment_version
    assert error(lambda: increment(3)) == (
        "RuntimeError: increment_version expect a Iterable[Tensor] as input"
    )
    assert error(lambda: increment([3])) == (
        "RuntimeError: increment_version expects each element of the iterable to be a tensor"
    )
    assert error(lambda: torch.autograd._unsafe_preserve_version_counter([torch.ones(1)])) == (
        "AssertionError: Expected tensors to be a tuple"
    )


def test_s12_a_saved_tensor_can_be_made_by_hand(torch):
    make = torch._C._autograd._make_saved_tensor
    x = torch.ones(2, requires_grad=True)
    saved = make(x, is_output=False)
    assert type(saved) is torch.autograd.SavedTensor
    assert saved.unpack() is x
    assert saved.data is x
    y = x * 2
    saved = make(y, is_output=False)
    y.detach().add_(1)
    assert "modified by an inplace operation" in error(saved.unpack)
    output = make(x * 2, is_output=True)
    assert not output.data.requires_grad
    assert error(output.unpack).startswith(
        "RuntimeError: Trying to use a saved tensor that has been detached in-place"
    )


def test_s12_a_saved_tensor_made_by_hand_uses_the_active_hooks(torch):
    make = torch._C._autograd._make_saved_tensor
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t * 3):
        saved = make(torch.ones(2), is_output=False)
    assert values(saved.data) == [2.0, 2.0]
    assert values(saved.unpack()) == [6.0, 6.0]
    assert error(lambda: make(3, is_output=False)).startswith(
        "TypeError: _make_saved_tensor(): incompatible function arguments."
    )


def test_s13_values_are_unpacked_in_the_order_of_packing(torch):
    seen = []

    def unpack(tensor):
        seen.append(tensor.flatten()[0].item())
        return tensor

    bias = torch.full((2,), 4.0, requires_grad=True)
    left = torch.full((2, 2), 2.0, requires_grad=True)
    right = torch.full((2, 2), 3.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        y = torch.addmm(bias, left, right)
        z = torch.pow(left, right)
    y.sum().backward()
    z.sum().backward()
    assert seen == [2.0, 3.0, 3.0, 2.0, 8.0]


def test_s17_the_stack_of_hooks_can_be_asked(torch):
    module = torch._C._autograd
    assert module._saved_tensors_hooks_is_enabled()
    assert module._top_saved_tensors_default_hooks(False) is None

    def pack(tensor):
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, pack):
        assert module._top_saved_tensors_default_hooks(False) == (pack, pack)
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        assert not module._saved_tensors_hooks_is_enabled()
        assert module._saved_tensors_hooks_get_disabled_error_message() == "not here"
    assert module._saved_tensors_hooks_get_disabled_error_message() is None


def test_found_s13_the_pack_hook_runs_without_recording_and_the_packed_value_is_let_go(torch):
    seen = []
    a = torch.ones(2, requires_grad=True)

    def pack(tensor):
        seen.append((torch.is_grad_enabled(), (tensor * 2).requires_grad))
        return tensor.tolist()

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.tensor):
        x = a * 2
        y = x * x
    assert seen == [(False, False)] * 2
    alive = weakref.ref(x)
    del x
    assert alive() is None
    y.sum().backward()
    assert values(a.grad) == [8.0, 8.0]


def test_found_s15_what_is_unpacked_for_a_constant_is_a_constant(torch):
    other = torch.tensor(5.0, requires_grad=True)
    a = torch.tensor(2.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: None, lambda nothing: other):
        y = a * torch.tensor(3.0)
    (found,) = torch.autograd.grad(y, a, create_graph=True)
    assert values(found) == 5.0
    assert not found.requires_grad


def test_found_s4_a_saved_output_knows_its_number_and_shares_the_version(torch):
    matrix = torch.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    node = torch.linalg.eigh(matrix)[0].grad_fn
    assert (node._saved_eigenvalues.output_nr, node._saved_eigenvectors.output_nr) == (0, 1)
    y = matrix.exp()
    saved = y.grad_fn._saved_result
    y.detach().add_(1)
    assert (saved._version, y._version) == (1, 1)


def test_found_s11_a_raw_saved_tensor_remembers_the_version_that_was_saved(torch):
    a = torch.tensor(2.0, requires_grad=True)
    x = a * 2
    y = x * x
    x.add_(1)
    y.grad_fn._raw_saved_other
    assert "modified by an inplace operation" in error(lambda: y.grad_fn._saved_other)
    z = a.exp()
    node = z.grad_fn
    z.add_(1)
    node._raw_saved_result
    assert "modified by an inplace operation" in error(lambda: node._saved_result)


def test_found_s8_a_version_may_be_set_to_zero_and_not_below(torch):
    x = torch.ones(2)
    x.add_(1)
    set_version = torch._C._autograd._unsafe_set_version_counter
    set_version((x,), (0,))
    assert x._version == 0
    assert error(lambda: set_version((x,), (-1,))) == (
        "RuntimeError: Cannot set a version_counter to a value below 0: -1"
    )


def test_found_s15_both_hooks_must_be_callable(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    text = "TypeError: _push_saved_tensors_default_hooks(): incompatible function arguments."
    assert text in error(hooks(lambda tensor: tensor, 3).__enter__)
    assert text in error(hooks(3, lambda tensor: tensor).__enter__)
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_found_s18_hooks_that_were_pushed_by_hand_are_popped_one_by_one(torch):
    x = torch.tensor([2.0], requires_grad=True)
    push = torch._C._autograd._push_saved_tensors_default_hooks
    pop = torch._C._autograd._pop_saved_tensors_default_hooks
    seen = []
    for name in "ab":
        push(lambda t, name=name: seen.append(name) or t, lambda t: t)
    x.exp()
    pop()
    x.exp()
    pop()
    x.exp()
    assert seen == ["b", "a"]


def test_found_s7_a_tensor_may_be_written_before_it_is_saved(torch):
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x * factor

    factor = torch.ones(2)
    factor.add_(1)
    x = torch.ones(2, requires_grad=True)
    times = function(torch, forward, lambda ctx, grad: (grad * ctx.saved_tensors[0], None))
    times.apply(x, factor).sum().backward()
    assert values(x.grad) == [2.0, 2.0]
    y = times.apply(x, factor)
    factor.add_(1)
    assert "is at version 2; expected version 1 instead" in error(y.sum().backward)
