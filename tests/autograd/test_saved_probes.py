"""S7, S8, S12, S13: rarer sides of saved tensors."""

from __future__ import annotations

import pytest

from autograd_probe import error, values


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
