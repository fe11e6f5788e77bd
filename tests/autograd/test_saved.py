"""S: what nodes save, when using it fails, and hooks on saved tensors."""

from __future__ import annotations

import gc
import weakref

import pytest

from autograd_probe import error, values

FREED = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved "
    "tensors after they have already been freed). Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)
HINT = (
    " Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def modified(what, version, expected):
    return (
        "RuntimeError: one of the variables needed for gradient computation has been modified by "
        f"an inplace operation: {what} is at version {version}; expected version {expected} "
        f"instead.{HINT}"
    )


def test_s1_a_node_saves_only_what_its_gradients_need(torch):
    x = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    node = (x * plain).grad_fn
    assert node._saved_other is plain
    assert node._saved_self is None
    y = x + plain
    plain.add_(1)
    y.sum().backward()
    z = x * 3
    w = z.exp()
    z.add_(1)
    w.sum().backward()
    assert values(x.grad) == pytest.approx([61.2566, 61.2566], rel=1e-5)


def test_s2_a_mask_read_and_written_does_not_save_the_source(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    mask = torch.tensor([True, False, True])
    y[mask] = y[mask]
    y.sum().backward()
    assert values(x.grad) == [2.0, 2.0, 2.0]


def test_s3_a_number_is_saved_without_hooks(torch):
    x = torch.ones(2, requires_grad=True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = x * 3.0
    assert packed == []
    assert y.grad_fn._saved_other.item() == 3.0
    y.sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_s4_a_saved_input_is_the_same_object_and_an_output_a_new_one(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    assert (x * x).grad_fn._saved_self is x
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved.grad_fn is y.grad_fn
    assert values(saved) == values(y)
    y.detach().add_(1)
    assert saved._version == 1
    assert saved.data_ptr() == y.data_ptr()


def test_s5_saved_values_are_released_when_the_node_has_run(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * x
    node = y.grad_fn
    y.sum().backward(retain_graph=True)
    assert node._saved_self is x
    y.sum().backward()
    assert error(lambda: node._saved_self) == FREED
    assert node._raw_saved_self.data is None
    assert error(lambda: node._raw_saved_self.unpack()) == FREED


def test_s6_versions_are_shared_by_views_and_aliases_but_not_by_data(torch):
    x = torch.ones(2)
    assert x._version == 0
    x.add_(1)
    view, alias, data = x.view(2, 1), x.detach(), x.data
    assert [each._version for each in (view, alias, data)] == [1, 1, 0]
    view.mul_(2)
    alias.mul_(2)
    data.mul_(2)
    assert [each._version for each in (x, view, alias, data)] == [3, 3, 3, 1]
    with torch.no_grad():
        x.add_(1)
    with torch.inference_mode():
        x.add_(1)
    assert x._version == 5


def test_s7_using_a_saved_tensor_that_was_written_is_an_error(torch):
    x = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    y = x * plain
    plain.add_(1)
    assert error(lambda: y.sum().backward()) == modified("[torch.FloatTensor [2]]", 1, 0)
    z = (x * 1).exp()
    z.mul_(2)
    assert error(lambda: z.sum().backward()) == modified(
        "[torch.FloatTensor [2]], which is output 0 of Exp,", 1, 0
    )
    total = torch.ones(2, 2, requires_grad=True).sum(0)
    w = total * total
    total.detach().add_(1)
    assert error(lambda: w.sum().backward()) == modified(
        "[torch.FloatTensor [2]], which is output 0 of Sum1,", 1, 0
    )


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float16", "torch.HalfTensor"),
        ("bfloat16", "CPUBFloat16Type"),
        ("float64", "torch.DoubleTensor"),
        ("complex64", "CPUComplexFloatType"),
    ],
)
def test_s7_the_error_names_the_type(torch, dtype, name):
    x = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)
    y = x.clone()
    z = y * y
    y.add_(1)
    assert error(lambda: z.sum().backward(torch.ones((), dtype=x.dtype))) == modified(
        f"[{name} [2]], which is output 0 of Add,", 1, 0
    )


@pytest.mark.taper_only
def test_s7_the_error_names_who_saved_and_who_wrote(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)  # the write
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    first, saved, written = str(caught.value).split("\n")
    assert first.endswith(HINT)
    assert saved.startswith("It was saved by ExpBackward0 at ")
    assert saved.endswith(": y = x.exp()")
    assert written.startswith("and overwritten at ")
    assert written.endswith(": y.mul_(2)  # the write")


def test_s8_versions_can_be_counted_and_kept_by_hand(torch):
    x = torch.ones(2)
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, x])
    assert x._version == 3
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
        assert x._version == 4
    assert x._version == 3
    with torch.inference_mode():
        made = torch.ones(2)
    torch.autograd.graph.increment_version(made)
    assert error(lambda: torch.autograd.graph.increment_version(5)) == (
        "RuntimeError: increment_version expect a Iterable[Tensor] as input"
    )


def test_s9_a_saved_input_that_was_detached_in_place_is_an_error(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.detach_()
    assert error(lambda: z.sum().backward()) == (
        "RuntimeError: Trying to use a saved tensor that has been detached in-place, i.e. with "
        ".detach_().This is not supported, please use out-of-place `.detach()` instead"
    )
    assert y._version == 0
    again = y * torch.ones(2, requires_grad=True)
    again.sum().backward()


def test_s9_a_detached_leaf_and_a_detached_output_are_fine(torch):
    x = torch.ones(2, requires_grad=True)
    z = x * x
    x.detach_()
    z.sum().backward()
    leaf = torch.ones(2, requires_grad=True)
    y = leaf.exp()
    total = y.sum()
    y.detach_()
    total.backward()
    assert values(leaf.grad) == pytest.approx([2.718282, 2.718282], rel=1e-5)


def test_s10_saved_attributes_show_what_the_node_keeps(torch):
    x = torch.ones(2, 3, requires_grad=True)
    assert x.sum().grad_fn._saved_self_sym_sizes == (2, 3)
    node = x.sum(1, keepdim=True).grad_fn
    assert (node._saved_dim, node._saved_keepdim) == ((1,), True)
    node = torch.add(x, x, alpha=2).grad_fn
    assert node._saved_alpha == 2
    y = x * x
    y.sum().backward()
    assert x.sum().grad_fn._saved_self_sym_sizes == (2, 3)
    assert error(lambda: y.grad_fn._saved_self) == FREED


def test_s10_saved_indices_have_holes(torch):
    x = torch.ones(2, 3, requires_grad=True)
    index = torch.tensor([0, 1])
    saved = x[:, index].grad_fn._saved_indices
    assert saved[0] is None
    assert values(saved[1]) == [0, 1]


def test_s11_raw_saved_handles(torch):
    x = torch.ones(2, requires_grad=True)
    node = (x * x).grad_fn
    raw = node._raw_saved_self
    assert raw.data is x
    assert raw.unpack_hook is None
    assert raw.unpack() is x
    shown = []

    def unpack(packed):
        return torch.tensor(packed)

    raw.register_hooks(lambda tensor: shown.append(tensor.requires_grad) or tensor.tolist(), unpack)
    assert shown == [False]
    assert raw.data == [1.0, 1.0]
    assert raw.unpack_hook is unpack
    assert values(node._saved_self) == [1.0, 1.0]
    assert node._saved_self is not x
    result = x.exp()
    assert not result.grad_fn._raw_saved_result.data.requires_grad


def test_s11_raw_saved_handles_refuse_misuse(torch):
    x = torch.ones(2, requires_grad=True)
    node = (x * 3).grad_fn

    def same(tensor):
        return tensor

    assert error(lambda: node._raw_saved_self.register_hooks(same, same)) == (
        "RuntimeError: Calling register_hooks on a saved tensor with value None is forbidden"
    )
    raw = (x * x).grad_fn._raw_saved_self
    assert error(lambda: raw.register_hooks(1, 2)) == (
        "TypeError: register_hooks(): incompatible function arguments. The following argument "
        "types are supported:"
    )
    raw.register_hooks(same, same)
    assert error(lambda: raw.register_hooks(same, same)) == (
        "RuntimeError: Calling register_hooks on a saved tensor whose hooks have already been set. "
        "Hint: only one pair of hooks is allowed at a time."
    )
    y = x * x
    y.sum().backward()
    assert error(lambda: y.grad_fn._raw_saved_self.register_hooks(same, same)).startswith(
        "RuntimeError: Calling register_hooks on a saved tensor after it has been freed. "
    )
    assert error(type(raw)) == (
        "RuntimeError: Trying to create a SavedTensor object from Python is forbidden."
    )


def counting(torch):
    """Hooks that note what they pack and unpack."""
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(values(tensor))
        return tensor.detach().clone()

    def unpack(tensor):
        unpacked.append(values(tensor))
        return tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack), packed, unpacked


def test_s13_hooks_pack_at_once_and_unpack_at_every_use(torch):
    hooks, packed, unpacked = counting(torch)
    x = torch.tensor([2.0], requires_grad=True)
    with hooks:
        y = x.exp().log()
    assert len(packed) == 2
    y.backward(retain_graph=True)
    y.backward()
    assert len(unpacked) == 4
    assert values(x.grad) == pytest.approx([2.0])


def test_s13_only_the_innermost_hooks_run_and_nodes_keep_theirs(torch):
    outer, outer_packed, outer_unpacked = counting(torch)
    inner, inner_packed, inner_unpacked = counting(torch)
    x = torch.tensor([2.0], requires_grad=True)
    with outer:
        with inner:
            y = x.exp()
        z = x.exp()
    (y + z).backward()
    assert [len(each) for each in (outer_packed, inner_packed)] == [1, 1]
    assert [len(each) for each in (outer_unpacked, inner_unpacked)] == [1, 1]


def test_s13_hooks_see_what_a_recorded_backward_saves(torch):
    hooks, packed, _ = counting(torch)
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x * x
    with hooks:
        (grad,) = torch.autograd.grad(y, x, create_graph=True)
    assert packed
    (second,) = torch.autograd.grad(grad, x)
    assert values(second) == 12.0


def test_s13_hooks_see_what_custom_functions_and_writes_save(torch):
    class Save(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 3
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, nothing, y = ctx.saved_tensors
            assert nothing is None
            return grad * 3 + (y - x) * 0

    hooks, packed, unpacked = counting(torch)
    x = torch.tensor([2.0], requires_grad=True)
    with hooks:
        y = Save.apply(x)
        z = y.clone()
        z.exp_()
        z.view(1).exp_()
    assert [len(each) for each in packed] == [1, 1, 1, 1]
    assert packed[:2] == [[2.0], [6.0]]
    y.backward()
    assert values(x.grad) == [3.0]
    assert unpacked == [[2.0], [6.0]]


def test_s14_the_number_of_packs(torch):
    hooks, packed, _ = counting(torch)
    x = torch.tensor([2.0], requires_grad=True)
    plain = torch.tensor([5.0])
    with hooks:
        x * x
        assert packed == [[2.0], [2.0]]
        x * plain
        assert packed[2:] == [[5.0]]
        x * 4
        x + x
        x.sum()
        assert len(packed) == 3
        x * torch.tensor([7.0], requires_grad=True)
        assert packed[3:] == [[7.0], [2.0]]


def test_s15_an_unpacked_leaf_still_stands_for_the_leaf(torch):
    hooks, _, _ = counting(torch)
    x = torch.tensor([2.0], requires_grad=True)
    with hooks:
        y = x * x
    saved = y.grad_fn._saved_self
    assert saved is not x
    assert saved.is_leaf
    assert saved.requires_grad
    (saved * 5).backward()
    assert values(x.grad) == [5.0]


def test_s15_double_backward_works_through_hooks(torch):
    hooks, _, _ = counting(torch)
    x = torch.tensor(2.0, requires_grad=True)
    with hooks:
        y = (x * x).exp()
        z = y * y
    (grad,) = torch.autograd.grad(z, x, create_graph=True)
    (second,) = torch.autograd.grad(grad, x)
    (third,) = torch.autograd.grad((x * x * 2).exp(), x, create_graph=True)
    assert values(second) == pytest.approx(values(torch.autograd.grad(third, x)[0]), rel=1e-5)


def test_s15_unpack_must_return_a_tensor(torch):
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: 1, lambda packed: packed):
        y = x * x
    assert error(y.backward) == (
        "TypeError: Output of saved tensor unpack_hook expected to be a Tensor but got result of "
        "type int"
    )


def test_s15_hooks_must_be_callable(torch):
    x = torch.tensor([2.0], requires_grad=True)

    def run():
        with torch.autograd.graph.saved_tensors_hooks(5, 6):
            x * x

    assert error(run) == (
        "TypeError: _push_saved_tensors_default_hooks(): incompatible function arguments. The "
        "following argument types are supported:"
    )


def test_s16_a_pack_hook_must_not_write_its_input(torch):
    x = torch.tensor([2.0], requires_grad=True)

    def run():
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.add_(1), print):
            torch.ones(1) * x.clone()

    assert error(run) == (
        "RuntimeError: A saved tensor pack hook is modifying its input in place. Tensors provided "
        "as input to pack hook cannot be modified by in-place operations as this can lead to "
        "unexpected side-effects. Please open an issue if you need to perform in-place operations "
        "on the input to a pack hook."
    )


def test_s16_exceptions_in_hooks_keep_their_type(torch):
    x = torch.tensor([2.0], requires_grad=True)

    def pack_fails():
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: 1 / 0, print):
            x * x

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: 1, lambda packed: {}[packed]):
        y = x * x
    assert error(pack_fails) == "ZeroDivisionError: division by zero"
    assert error(y.backward) == "KeyError: 1"
    x.sum().backward()
    assert values(x.grad) == [1.0]


def test_s17_hooks_can_be_disabled(torch):
    graph = torch.autograd.graph

    def enter():
        with graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            pass

    with graph.disable_saved_tensors_hooks("not here"):
        assert error(enter) == "RuntimeError: not here"
        with graph.disable_saved_tensors_hooks("nor here"):
            assert error(enter) == "RuntimeError: nor here"
        assert error(enter) == "RuntimeError: not here"
    enter()

    def disable():
        with graph.disable_saved_tensors_hooks("no"):
            pass

    with graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        assert error(disable) == "RuntimeError: no"


def test_s18_hooks_left_out_of_order_do_no_harm(torch):
    graph = torch.autograd.graph
    x = torch.tensor([2.0], requires_grad=True)

    def unpack(tensor):
        graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor).__enter__()
        return tensor

    with graph.saved_tensors_hooks(lambda tensor: tensor.detach(), unpack):
        y = x.exp()
        y.backward()
    (x * x).backward()
    assert values(x.grad) == pytest.approx([11.389056], rel=1e-5)


def test_s19_save_on_cpu_changes_nothing(torch):
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    y.backward()
    assert values(x.grad) == pytest.approx([218.3926], rel=1e-5)
    with torch.autograd.graph.save_on_cpu(pin_memory=False, device_type="cuda"):
        z = x * x
    z.backward()


def test_s13_packed_values_with_a_version_of_their_own(torch):
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.clone(), lambda t: t):
        z = y * y
    y.detach().add_(100)
    z.backward()
    assert values(x.grad) == [4.0]


def test_s19_saved_tensors_may_wait_on_disk(torch, tmp_path):
    names = (str(tmp_path / f"{number}.pt") for number in range(100))

    def pack(tensor):
        name = next(names)
        torch.save(tensor, name)
        return name

    x = torch.tensor([0.5, 1.5], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, torch.load):
        y = (x.exp() * x.sin()).sum()
    assert len(list(tmp_path.iterdir())) >= 3
    y.backward()
    expected = x.detach().exp() * (x.detach().sin() + x.detach().cos())
    assert torch.allclose(x.grad, expected)


def test_what_hooks_have_packed_is_held_by_nobody_else(torch):
    x = torch.ones(2, requires_grad=True)
    factor = x * 3
    y = factor * x
    alive = weakref.ref(factor)
    y.grad_fn._raw_saved_self.register_hooks(lambda tensor: 0, lambda _: torch.full((2,), 5.0))
    del factor
    gc.collect()
    assert alive() is None
    y.sum().backward()
    assert x.grad.tolist() == [3 + 5, 3 + 5]


def test_a_write_through_a_saved_output_is_counted(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    data = y.grad_fn._raw_saved_result.data
    data.mul_(2)
    assert y._version == data._version == 1
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        y.sum().backward()
