"""What a small wrong change of autograd's code would break, and other tests would not see.

`tools/mutate.py` found these: each test fails with such a change.
"""

from __future__ import annotations

import importlib
import weakref

import pytest

from autograd_probe import error, function, values


def leaf_of(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


# --- gradients that are added -----------------------------------------------------------------


def test_adding_to_a_gradient_counts_as_one_write(torch):
    x = leaf_of(torch, 3)
    versions = []
    for _ in range(3):
        (x * 2).sum().backward()
        versions.append(x.grad._version)
    assert versions == [0, 1, 2]


@pytest.mark.parametrize("shape", [(1,), (3, 1)])
def test_a_gradient_that_repeats_its_memory_is_not_added_to(torch, shape):
    whole = (3,) if len(shape) == 1 else (3, 2)
    x = leaf_of(torch, *whole)
    x.grad = torch.zeros(shape).expand(whole)
    assert error((x * 2).sum().backward) == (
        "RuntimeError: unsupported operation: more than one element of the written-to tensor "
        "refers to a single memory location. Please clone() the tensor before performing the "
        "operation."
    )
    assert values(x.grad.sum()) == 0


@pytest.mark.filterwarnings("ignore:grad and param do not obey")
def test_a_gradient_in_pieces_of_memory_is_added_to(torch):
    x = leaf_of(torch, 3)
    memory = torch.zeros(3, 2)
    x.grad = memory[:, 1]
    (x * 2).sum().backward()
    assert values(memory) == [[0.0, 2.0]] * 3


@pytest.mark.taper_only  # PyTorch lets the gradient share the memory of what a formula returned
def test_the_gradient_shares_memory_with_nothing_that_a_backward_returned(torch):
    kept = torch.arange(6.0).view(2, 3)
    for part in (kept, kept.view(3, 2), kept[0], kept[:, 1], kept.t(), kept.view(6)[1:4]):
        x = torch.empty_strided(part.shape, part.stride()).fill_(1).requires_grad_()
        apply = function(torch, lambda ctx, x: x * 1, lambda ctx, grad, part=part: part).apply
        apply(x).sum().backward()
        x.grad.zero_()
    assert values(kept) == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.taper_only  # the same
def test_the_gradient_shares_memory_with_no_part_of_a_larger_result(torch):
    large = []

    def backward(ctx, grad):
        large.append(weakref.ref(made := torch.ones(100)))
        return made.view(10, 10)[0]

    x = leaf_of(torch, 10)
    function(torch, lambda ctx, x: x * 1, backward).apply(x).sum().backward()
    assert values(x.grad) == [1.0] * 10 and large[0]() is None
    assert x.grad._array.base is None


def test_without_the_layout_policy_a_fresh_gradient_keeps_its_layout(torch):
    x = leaf_of(torch, 2, 3)
    with torch.autograd.grad_mode.enforce_grad_layout_policy(False):
        (x * torch.ones(3, 2).t()).sum().backward()
    assert x.grad.stride() == (1, 2)


# --- leaves that got other data ---------------------------------------------------------------


def test_the_first_graph_after_new_data_ends_in_the_leaf_as_it_is(torch):
    x = leaf_of(torch, 2)
    (x * 2).sum().backward()
    x.data = torch.ones(3)
    x.grad = None
    (x * torch.ones(4, 3)).sum().backward()
    assert values(x.grad) == [4.0, 4.0, 4.0]


def test_each_of_several_old_graphs_ends_in_the_leaf_as_it_was(torch):
    x = leaf_of(torch, 2)
    graphs = []
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x.data = x.data.to(dtype)
        graphs.append(x * 2)
    found = []
    for graph in graphs:
        x.grad = None
        graph.sum().backward()
        found.append(x.grad.dtype)
    assert found == [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def test_an_old_graph_has_one_accumulator_for_a_leaf(torch):
    x = leaf_of(torch, 2)
    one, other = x * 2, x * 3
    x.data = x.data.double()
    node = one.grad_fn.next_functions[0][0]
    assert node is other.grad_fn.next_functions[0][0]
    assert node is not (x * 2).grad_fn.next_functions[0][0]


def test_an_old_graph_fills_a_leaf_of_another_shape_and_layout(torch):
    x = leaf_of(torch, 2)
    y = x * 2
    x.data = torch.ones(3, 2).t()
    y.sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_grad_finds_a_leaf_that_got_other_data(torch):
    x = leaf_of(torch, 2)
    (x * 2).sum().backward()
    x.data = x.data.double()
    (found,) = torch.autograd.grad((x * 3).sum(), x)
    assert found.dtype == torch.float64 and values(found) == [3.0, 3.0]


# --- backward and grad ------------------------------------------------------------------------


def test_a_loss_that_is_a_written_view_has_the_new_history(torch):
    x = leaf_of(torch, 2, 2)
    y = x * 3
    loss = y[0, 0]
    y.mul_(2)
    loss.backward()
    assert values(x.grad) == [[6.0, 0.0], [0.0, 0.0]]


def test_a_loss_squeezed_unseen_is_fitted_to_its_node(torch):
    loss = leaf_of(torch, 1) * 2
    with torch.no_grad():
        loss.squeeze_(0)
    assert error(loss.backward) == (
        "RuntimeError: invalid gradient at index 0 - got [] but expected shape compatible with [1]"
    )


@pytest.mark.taper_only  # about a cache
def test_the_implicit_gradient_has_the_shape_of_the_loss(torch, monkeypatch):
    monkeypatch.setattr(importlib.import_module("taper.autograd.backward"), "_ONES", {})
    seen = []
    for loss in (lambda x: x * 2, lambda x: x.sum(), lambda x: x * 2, lambda x: x.sum()):
        y = loss(leaf_of(torch, 1))
        y.register_hook(lambda grad: seen.append(tuple(grad.shape)))
        y.backward()
    assert seen == [(1,), (), (1,), ()]


def test_a_loss_of_another_class_is_asked_first(torch):
    asked = []

    class Loss(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            asked.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.tensor(3.0, requires_grad=True)
    loss = (x * x).as_subclass(Loss)
    loss.backward()
    assert "backward" in asked and values(x.grad) == 6.0


def test_zeros_may_be_asked_for_together_with_unused_inputs(torch):
    x, unused = leaf_of(torch, 2), leaf_of(torch, 3)
    found = torch.autograd.grad(x.sum(), [x, unused], allow_unused=True, materialize_grads=True)
    assert [values(each) for each in found] == [[1.0, 1.0], [0.0, 0.0, 0.0]]


def test_a_batch_of_one_gradient_is_checked_by_its_only_row(torch):
    y = leaf_of(torch, 3) * 2
    (given,) = torch.autograd._make_grads((y,), (torch.ones(1, 3),), True)
    assert given.shape == (1, 3)


def test_backward_wants_tensors_as_inputs(torch):
    x = leaf_of(torch, 2)
    for wrong, kind in ((3, "int"), ("x", "str"), ([x], "list")):
        assert error(lambda wrong=wrong: torch.autograd.backward(x.sum(), inputs=[wrong])) == (
            f"RuntimeError: all inputs have to be Tensors or GradientEdges, but got {kind}"
        )


def test_a_gradient_in_a_dual_level_is_not_recorded_unless_asked(torch):
    forward_ad = torch.autograd.forward_ad
    x = leaf_of(torch, 2)
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, torch.ones(2)) ** 3
        (found,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        assert not found.requires_grad
        assert values(forward_ad.unpack_dual(found).tangent) == [6.0, 6.0]
        (found,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert found.requires_grad


def test_a_batch_of_gradients_has_none_for_unused_inputs(torch):
    x, before, after = (leaf_of(torch, 2) for _ in range(3))
    found = torch.autograd.grad(
        x * x, [before, x, after], torch.eye(2), is_grads_batched=True, allow_unused=True
    )
    assert [values(each) for each in found] == [None, [[2.0, 0.0], [0.0, 2.0]], None]


def test_a_batch_of_gradients_frees_the_graph(torch):
    x = leaf_of(torch, 2)
    y = x * x
    torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)
    assert error(lambda: torch.autograd.grad(y, x, torch.eye(2))).startswith("RuntimeError: Mis")
    assert error(lambda: torch.autograd.grad(y, x, torch.ones(2))).startswith(
        "RuntimeError: Trying to backward through the graph a second time"
    )


def test_a_batch_of_gradients_is_not_made_up_for_several_elements(torch):
    x = leaf_of(torch, 2)
    assert error(lambda: torch.autograd.grad(x * x, x, [None], is_grads_batched=True)) == (
        "RuntimeError: grad can be implicitly created only for scalar outputs"
    )


def test_a_batch_of_gradients_that_require_grad_is_recorded_only_if_asked(torch):
    x = leaf_of(torch, 2)
    given = torch.eye(2, requires_grad=True)
    y = x * 3
    for create_graph in (False, True):
        (found,) = torch.autograd.grad(
            y, x, given, is_grads_batched=True, retain_graph=True, create_graph=create_graph
        )
        assert found.requires_grad is create_graph


# --- a pass -----------------------------------------------------------------------------------


def test_every_pass_has_a_number(torch):
    numbers = []

    def backward(ctx, grad):
        numbers.append(torch._C._current_graph_task_id())
        return grad

    apply = function(torch, lambda ctx, x: x * 1, backward).apply
    x = leaf_of(torch, 1)
    apply(x).backward()
    apply(apply(x)).backward()
    first, second, third = numbers
    assert second == third and second > first
    assert torch._C._current_graph_task_id() == -1


def test_no_node_runs_when_callbacks_run(torch):
    found = []

    def backward(ctx, grad):
        torch.autograd.Variable._execution_engine.queue_callback(
            lambda: found.append(torch._C._current_autograd_node())
        )
        found.append(torch._C._current_autograd_node().name())
        return grad

    function(torch, lambda ctx, x: x * 1, backward).apply(leaf_of(torch, 1)).backward()
    assert found == ["FBackward", None]


@pytest.mark.taper_only  # the words are ours
def test_after_a_pass_a_history_ends_for_the_reason_it_did_before(torch):
    x = leaf_of(torch, 2)
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()
        later = x * 2
    with pytest.raises(RuntimeError, match="no_grad block"):
        later.sum().backward()


# --- modes ------------------------------------------------------------------------------------


@pytest.mark.taper_only  # PyTorch then stays in no_grad mode
def test_a_block_entered_twice_in_a_row_leaves_what_was(torch):
    block = torch.no_grad()
    with block, block:
        pass
    assert torch.is_grad_enabled()


def test_a_block_of_set_grad_enabled_sets_the_mode_again(torch):
    block = torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    try:
        with block:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


@pytest.mark.taper_only  # the words are ours
def test_after_a_block_of_set_grad_enabled_a_history_ends_for_the_reason_before(torch):
    x = leaf_of(torch, 2)
    with torch.no_grad():
        with torch.set_grad_enabled(False):
            pass
        y = x * 2
    with pytest.raises(RuntimeError, match="no_grad block"):
        y.sum().backward()


@pytest.mark.taper_only  # in PyTorch the switch stays off for all
def test_rarer_switches_decorate(torch):
    modes = torch.autograd.grad_mode

    @modes.set_multithreading_enabled(False)
    def inside():
        return torch.autograd.is_multithreading_enabled()

    assert torch.autograd.is_multithreading_enabled()
    assert inside() is False
    assert torch.autograd.is_multithreading_enabled()


def test_the_layout_policy_is_enforced_by_default(torch):
    policy = torch.autograd.grad_mode.enforce_grad_layout_policy
    x = leaf_of(torch, 2, 3)
    with policy(False), policy():
        (x * torch.ones(3, 2).t()).sum().backward()
    assert x.grad.stride() == (3, 1)


@pytest.mark.taper_only  # PyTorch cannot make the block again
def test_versions_are_preserved_around_a_decorated_function(torch):
    x = torch.ones(2)

    @torch.autograd._unsafe_preserve_version_counter(x)
    def write():
        x.add_(1)
        return x._version

    assert write() == 1 and x._version == 0
    assert write() == 1 and x._version == 0


# --- nodes and functions ----------------------------------------------------------------------


def test_nodes_that_raise_are_nodes(torch):
    kind = torch.autograd.graph.Node
    assert isinstance(torch._C._functions.DelayedError("later", 1), kind)
    assert isinstance(torch._C._functions.UndefinedGrad(), kind)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
def test_an_inplace_function_is_not_in_place_by_default(torch):
    kind = torch.autograd.function.InplaceFunction
    assert (kind().inplace, kind(True).inplace) == (False, True)


# --- saved values -----------------------------------------------------------------------------


SECOND = "RuntimeError: Trying to backward through the graph a second time"


def test_packed_values_are_freed_by_a_pass(torch):
    x = leaf_of(torch, 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda value: value, lambda value: value):
        y = (x * x).sum()
    y.backward()
    assert error(y.backward).startswith(SECOND)


def test_what_a_function_saved_is_freed_by_a_pass(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]

    saved = torch.ones(2) * 1
    gone = weakref.ref(saved)
    x = leaf_of(torch, 2)
    y = function(torch, forward, backward).apply(x * saved)
    y.sum().backward()
    assert error(y.sum().backward).startswith(SECOND)
    del saved
    assert gone() is None


def test_a_handle_of_a_saved_value_knows_that_it_is_freed(torch):
    y = leaf_of(torch, 2).square()
    raw = y.grad_fn._raw_saved_self
    y.sum().backward()
    assert raw.data is None
    assert error(raw.unpack).startswith(SECOND)
    assert error(lambda: raw.register_hooks(abs, abs)).startswith(
        "RuntimeError: Calling register_hooks on a saved tensor after it has been freed."
    )


def test_a_saved_result_shares_the_version_of_the_result(torch):
    y = leaf_of(torch, 2).exp()
    saved = y.grad_fn._saved_result
    with torch.no_grad():
        saved.add_(1)
    assert y._version == 1
    assert "is at version 1; expected version 0 instead" in error(y.sum().backward)


def test_a_result_written_before_it_is_saved_can_be_looked_at_before_the_pass(torch):
    x = torch.zeros(2, requires_grad=True)
    y = x * 1
    y.exp_()
    assert y.grad_fn._raw_saved_result is not None
    y.sum().backward()
    assert values(x.grad) == [1.0, 1.0]


def test_several_saved_values_under_one_name(torch):
    x = leaf_of(torch, 3, 3)
    rows, columns = torch.tensor([0, 2]), torch.tensor([1, 1])
    with torch.autograd.graph.saved_tensors_hooks(lambda value: value + 1, lambda value: value - 1):
        y = x[rows, columns]
    assert [values(each) for each in y.grad_fn._saved_indices] == [[0, 2], [1, 1]]
    assert [values(each.data) for each in y.grad_fn._raw_saved_indices] == [[1, 3], [2, 2]]
    y.sum().backward()
    assert values(x.grad) == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_several_saved_values_can_be_looked_at_before_the_pass(torch):
    x = leaf_of(torch, 3)
    y = x[torch.tensor([0, 0])]
    (raw,) = y.grad_fn._raw_saved_indices
    assert values(raw.unpack()) == [0, 0]
    y.sum().backward()
    assert values(x.grad) == [2.0, 0.0, 0.0]


def test_a_saved_number_can_be_looked_at_before_the_pass(torch):
    x = leaf_of(torch, 2)
    y = x * 3
    assert values(y.grad_fn._raw_saved_other.unpack()) == 3
    y.sum().backward()
    assert values(x.grad) == [3.0, 3.0]


# --- views and writes -------------------------------------------------------------------------


def test_a_view_taken_in_no_grad_requires_grad_as_its_base(torch):
    x = leaf_of(torch, 2, 2)
    with torch.no_grad():
        row = x[0]
    assert row.requires_grad and (row * 2).requires_grad


def test_the_conjugate_of_a_conjugate_counts_writes_with_the_tensor(torch):
    x = torch.ones(2, dtype=torch.complex64)
    back = x.conj().conj()
    back.add_(1)
    assert (x._version, back._version) == (1, 1)
    x.add_(1)
    assert (x._version, back._version) == (2, 2)


def test_a_view_of_a_view_is_refused_for_the_reason_of_the_first(torch):
    y = leaf_of(torch, 2, 2) * 1
    with torch.no_grad():
        inside = y.view(4)
    assert error(lambda: inside.mul_(2)).startswith(
        "RuntimeError: A view was created in no_grad mode and is being modified inplace"
    )
    found = error(lambda: inside[:2].mul_(2))
    assert "is a view of a view which was created in no_grad mode" in found
    found = error(lambda: y.unbind()[0][:1].mul_(2))
    assert "is the output of a function that returns multiple views" in found
    with torch.no_grad():
        several = y.unbind()[0]
    assert "created in no_grad mode" in error(lambda: several.mul_(2))


def test_a_view_written_elsewhere_gets_its_history_also_in_no_grad(torch):
    x = leaf_of(torch, 2, 2)
    y = x * 1
    row = y[0]
    y.mul_(3)
    with torch.no_grad():
        assert row.grad_fn.name() == "AsStridedBackward0"
    row.sum().backward()
    assert values(x.grad) == [[3.0, 3.0], [0.0, 0.0]]


def test_a_view_of_a_conjugate_without_memory_of_its_own_gets_its_history(torch):
    base = torch.ones(2, dtype=torch.complex64).conj().detach()
    part = base[:1]
    weight = torch.full((2,), 1j, requires_grad=True)
    base.mul_(weight)
    assert part.requires_grad
    part.real.sum().backward()
    assert values(weight.grad) == [1 + 0j, 0j]


def test_the_history_of_a_write_through_a_view_runs_once(torch):
    x = leaf_of(torch, 2)
    weight = torch.full((1,), 2.0) * 1
    gone = weakref.ref(weight)
    y = x * 1
    y[:1].mul_(weight)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    y.sum().backward()
    assert values(x.grad) == [2.0, 1.0]
    assert error(y.sum().backward).startswith(SECOND)
    del weight
    assert gone() is None


def test_the_history_of_a_write_that_saved_nothing_runs_once_too(torch):
    y = leaf_of(torch, 2) * 1
    y[:1].mul_(2)
    y.sum().backward()
    assert error(y.sum().backward).startswith(SECOND)


def test_a_view_can_be_a_leaf(torch):
    base = torch.ones(3)
    part = base[:2]
    part.requires_grad_()
    (part * 2).sum().backward()
    assert part.is_leaf and values(part.grad) == [2.0, 2.0]


def test_a_detached_inference_tensor_counts_writes_outside_its_mode(torch):
    with torch.inference_mode():
        x = torch.ones(2)
        inside = x.detach()
        inside.add_(1)
    outside = x.detach()
    outside.add_(1)
    assert outside._version == 1 and values(x) == [3.0, 3.0]
    assert error(lambda: inside.add_(1)).startswith("RuntimeError: Inplace update to inference")


def test_a_saved_result_written_through_a_view_is_differentiated_twice(torch):
    x = torch.zeros(2, requires_grad=True)
    y = x * 1
    y[:1].exp_()
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert values(first) == [1.0, 1.0]
    (second,) = torch.autograd.grad(first.sum(), x)
    assert values(second) == [1.0, 0.0]


def test_several_views_and_conjugates_are_refused_for_their_own_reason_or_the_first(torch):
    y = torch.ones(2, 2, dtype=torch.complex64, requires_grad=True) * 1
    with torch.no_grad():
        unseen = y.view(4)
    with torch.inference_mode():
        inferred = y.view(4)
    several, no_grad, inference = "multiple views", "in no_grad mode", "in inference mode"
    for view, reason in (
        (unseen.conj(), no_grad),
        (unseen.view(2, 2).unbind()[0], several),
        (y.unbind()[0].conj(), several),
        (inferred.conj(), inference),
        (inferred.view(2, 2).unbind()[0], inference),
    ):
        assert reason in error(lambda view=view: view.mul_(2))


def test_a_hook_that_a_node_registers_while_it_runs_changes_what_it_sends(torch):
    def backward(ctx, grad):
        ctx.register_hook(lambda inputs, outputs: (inputs[0] * (10 + len(outputs)),))
        return grad

    x = leaf_of(torch, 2)
    function(torch, lambda ctx, x: x * 1, backward).apply(x).sum().backward()
    assert values(x.grad) == [10.0, 10.0]
