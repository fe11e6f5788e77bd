"""P: when a checkpoint is computed again, early stop, checks, contexts, groups."""

from __future__ import annotations

import logging
import weakref

import pytest

from autograd_probe import error, function, no_collector, values
from checkpoint_probe import Counted, first_then, leaf, plain_grad, sin_cos

NUMBER_DIFFERS = (
    "CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the "
    "original forward and recomputation."
)
METADATA_DIFFER = (
    "CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have "
    "different metadata than during the forward pass."
)
ALREADY_UNPACKED = (
    "CheckpointError: torch.utils.checkpoint: Unpack is being triggered for a tensor that was "
    "already unpacked once. {}If you are calling ctx.saved_tensors in backward, make sure to do so "
    "only once. Otherwise please open an issue with details on your use case."
)
OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order "
    "to compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup "
    "context. "
)


# --- recomputation ---------------------------------------------------------------------------


def test_p6_nothing_is_computed_before_a_value_is_needed(torch):
    run = Counted(sin_cos)
    y = torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=False)
    begun = []
    loss = y.sum()
    y.register_hook(lambda grad: begun.append(run.begun))
    loss.backward()
    assert begun == [1]
    assert run.begun == 2


def test_p6_a_function_that_saves_nothing_is_not_run_again(torch):
    run = Counted(lambda x: x + 1)
    torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=False).sum().backward()
    assert run.begun == 1


def test_p6_reading_a_saved_value_outside_a_pass_recomputes_each_time(torch):
    run = Counted(lambda x: x.exp().sin())
    x = leaf(torch)
    y = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    node = y.grad_fn
    for nr in (2, 3):
        assert values(node._saved_self) == values(x.exp())
        assert run.begun == nr
    assert node._saved_self.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert values(x.grad) == plain_grad(torch, lambda x: x.exp().sin())
    assert error(lambda: node._saved_self).startswith("RuntimeError: Trying to backward through")


def test_p6_a_value_is_unpacked_once_in_a_pass(torch):
    def backward(ctx, grad):
        ctx.saved_tensors
        return grad * ctx.saved_tensors[0]

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    twice = function(torch, forward, backward)
    run = torch.utils.checkpoint.checkpoint
    y = run(lambda x: twice.apply(x * 1), leaf(torch), use_reentrant=False)
    assert error(y.sum().backward) == ALREADY_UNPACKED.format("")


def test_p6_a_node_whose_formulas_share_a_saved_value_unpacks_it_once(torch):
    def run(x, y):
        return (x * 1) ** (y * 1)

    x, y = leaf(torch), leaf(torch, 2.0, 3.0)
    torch.utils.checkpoint.checkpoint(run, x, y, use_reentrant=False).sum().backward()
    grads = values(x.grad), values(y.grad)
    x.grad = y.grad = None
    run(x, y).sum().backward()
    assert (values(x.grad), values(y.grad)) == grads


def test_p6_inputs_come_back_as_the_same_objects(torch):
    x, other = leaf(torch), torch.ones(2)
    seen = []

    def run(*args):
        seen.append(args)
        return (args[0] * args[1]).sin()

    torch.utils.checkpoint.checkpoint(run, x, other, use_reentrant=False).sum().backward()
    assert all(each[0] is x and each[1] is other for each in seen)
    assert len(seen) == 2


def test_p6_an_error_in_the_recomputation_can_be_retried(torch):
    calls = []

    def run(x):
        calls.append(x)
        if len(calls) == 2:
            raise KeyError("this time")
        return sin_cos(x)

    x = leaf(torch)
    y = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False).sum()
    assert error(y.backward) == "KeyError: 'this time'"
    y.backward()
    assert values(x.grad) == plain_grad(torch, sin_cos)


def test_p6_hooks_must_be_allowed(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
        call = torch.utils.checkpoint.checkpoint
        assert error(lambda: call(sin_cos, leaf(torch), use_reentrant=False)) == (
            "RuntimeError: none here"
        )


@pytest.mark.parametrize("order", ["around", "inside"])
def test_p6_together_with_save_on_cpu(torch, order):
    save_on_cpu = torch.autograd.graph.save_on_cpu
    call = torch.utils.checkpoint.checkpoint

    def inside(x):
        with save_on_cpu():
            return sin_cos(x)

    x = leaf(torch)
    if order == "around":
        with save_on_cpu():
            y = call(sin_cos, x, use_reentrant=False)
    else:
        y = call(inside, x, use_reentrant=False)
    y.sum().backward()
    assert values(x.grad) == plain_grad(torch, sin_cos)


def test_p6_hooks_around_see_the_inputs_and_hooks_inside_the_saved_values(torch):
    packed = []
    hooks = torch.autograd.graph.saved_tensors_hooks
    call = torch.utils.checkpoint.checkpoint

    def pack(tensor):
        packed.append(tensor)
        return tensor

    def inside(x):
        with hooks(pack, lambda value: value):
            return sin_cos(x)

    with hooks(pack, lambda value: value):
        y = call(sin_cos, leaf(torch), use_reentrant=False)
    y.sum().backward()
    assert len(packed) == 1
    call(inside, leaf(torch), use_reentrant=False).sum().backward()
    assert len(packed) == 3


# --- early stop ------------------------------------------------------------------------------


def stops_early(torch, **options):
    run = Counted(sin_cos)
    y = torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=False, **options)

    def backward():
        y.sum().backward()
        return (run.begun, run.ended) == (2, 1)

    return backward


def test_p7_recomputation_ends_with_the_last_value_needed(torch):
    assert stops_early(torch)()
    assert not stops_early(torch, early_stop=False)()
    later = []

    def run(x):
        y = sin_cos(x)
        later.append("code after the last saved value")
        return y

    torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=False).sum().backward()
    assert len(later) == 1


def test_p7_the_context_wins_over_the_argument_and_is_read_at_forward_time(torch):
    setting = torch.utils.checkpoint.set_checkpoint_early_stop
    with setting(False):
        assert not stops_early(torch, early_stop=True)()
        with setting(True):
            inner = stops_early(torch, early_stop=False)
        assert inner()
        again = stops_early(torch)
    assert not again()
    before = stops_early(torch)
    with setting(False):
        assert before()


# --- determinism -----------------------------------------------------------------------------


def one(x):
    return x.sin()


def wide(x):
    return x.double().sin().cos().float()


def test_p8_too_few_tensors(torch):
    call = torch.utils.checkpoint.checkpoint
    for options in ({}, {"early_stop": False}):
        y = call(first_then(sin_cos, one), leaf(torch), use_reentrant=False, **options)
        with pytest.raises(torch.utils.checkpoint.CheckpointError) as found:
            y.sum().backward()
        assert isinstance(found.value, RuntimeError)
        assert error(lambda found=found: raise_again(found.value)) == NUMBER_DIFFERS
        assert (
            "Number of tensors saved during forward: 2\n"
            "Number of tensors saved during recomputation: 1."
        ) in str(found.value)


def raise_again(exception):
    raise exception


def test_p8_too_many_tensors(torch):
    call = torch.utils.checkpoint.checkpoint
    x = leaf(torch)
    call(first_then(one, sin_cos), x, use_reentrant=False).sum().backward()
    assert values(x.grad) == values(x.cos())
    y = call(first_then(one, sin_cos), x, use_reentrant=False, early_stop=False)
    assert error(y.sum().backward) == (
        "CheckpointError: torch.utils.checkpoint: trying to save more tensors during recomputation "
        "than during the original forward pass."
    )


def test_p8_other_shapes_and_dtypes(torch):
    call = torch.utils.checkpoint.checkpoint
    y = call(first_then(sin_cos, wide), leaf(torch), use_reentrant=False)
    with pytest.raises(torch.utils.checkpoint.CheckpointError) as found:
        y.sum().backward()
    assert error(lambda: raise_again(found.value)) == METADATA_DIFFER
    assert (
        "tensor at position 0:\n"
        "saved metadata: {'shape': torch.Size([2]), 'dtype': torch.float32, "
        "'device': device(type='cpu')}\n"
        "recomputed metadata: {'shape': torch.Size([2]), 'dtype': torch.float64, "
        "'device': device(type='cpu')}\n"
        "tensor at position 1:"
    ) in str(found.value)
    y = call(first_then(sin_cos, lambda x: sin_cos(x[:1])), leaf(torch), use_reentrant=False)
    assert error(y.sum().backward) == METADATA_DIFFER


def test_p8_the_check_can_be_left_out(torch):
    call = torch.utils.checkpoint.checkpoint
    x = leaf(torch)
    run = first_then(sin_cos, wide)
    call(run, x, use_reentrant=False, determinism_check="none").sum().backward()
    assert values(x.grad) == pytest.approx(plain_grad(torch, sin_cos))
    assert error(lambda: call(sin_cos, x, use_reentrant=False, determinism_check="all")) == (
        "ValueError: determinism_check should be one of ['default', 'none'], but got all"
    )


def restore_logger(monkeypatch):
    """Undo at the end what PyTorch does to the logger of `debug=True`, which disturbs pytest."""
    monkeypatch.setattr(logging.getLogger("LoggingTensor"), "propagate", True)


def test_p8_debug_shows_the_operators(torch, monkeypatch):
    restore_logger(monkeypatch)
    call = torch.utils.checkpoint.checkpoint

    def forward(x):
        y = (x * 3).view(2, 1)
        return torch.cat([y, y]).sum(dim=0, keepdim=True).add(1, alpha=2).clamp(min=0)

    def again(x):
        return (x + 1).max(dim=0)[0]

    y = call(first_then(forward, again), leaf(torch), use_reentrant=False, debug=True)
    try:
        y.sum().backward()
    except torch.utils.checkpoint.CheckpointError as found:
        text, cause = str(found), str(found.__cause__)
    assert "You are seeing this error because you passed `debug=True` to checkpoint" in text
    assert (
        "Operations executed during the original forward:\n"
        "\n"
        "$1: f32[2] = torch._ops.aten.mul.Tensor($0, 3)\n"
        "$2: f32[2, 1] = torch._ops.aten.view.default($1, ['2', '1'])\n"
        "$3: f32[4, 1] = torch._ops.aten.cat.default(['$2', '$2'])\n"
        "$4: f32[1, 1] = torch._ops.aten.sum.dim_IntList($3, ['0'], True)\n"
        "$5: f32[1, 1] = torch._ops.aten.add.Tensor($4, 1, alpha=2)\n"
        "$6: f32[1, 1] = torch._ops.aten.clamp.default($5, 0)\n"
    ) in text
    assert "torch._ops.aten.add.Tensor($0, 1)" in text.partition("during recomputation:")[2]
    assert "in original)" in text
    assert "in recompute)" in text
    assert f"CheckpointError: {cause}".startswith(METADATA_DIFFER)


def test_p8_debug_by_context(torch, monkeypatch):
    restore_logger(monkeypatch)
    call = torch.utils.checkpoint.checkpoint
    setting = torch.utils.checkpoint.set_checkpoint_debug_enabled

    def text(**options):
        y = call(first_then(sin_cos, one), leaf(torch), use_reentrant=False, **options)
        return error(y.sum().backward)

    shown = "CheckpointError:  An error happened while unpacking tensors; dumping logs of latest"
    assert text() == NUMBER_DIFFERS
    with setting(True):
        assert text().startswith(shown)
        with setting(None):
            assert text() == NUMBER_DIFFERS
            assert text(debug=True).startswith(shown)
    with setting(False):
        assert text(debug=True) == NUMBER_DIFFERS
    options = {"debug": True, "context_fn": lambda: None}
    assert error(lambda: call(sin_cos, leaf(torch), use_reentrant=False, **options)) == (
        "ValueError: debug=True is incompatible with non-default context_fn"
    )


# --- contexts and groups ---------------------------------------------------------------------


class Noted:
    """A context manager that notes when it is entered and left."""

    def __init__(self, notes, name):
        self.notes, self.name = notes, name

    def __enter__(self):
        self.notes.append(f"+{self.name}")

    def __exit__(self, *exception):
        self.notes.append(f"-{self.name}")


def test_p10_contexts_are_around_forward_and_recomputation(torch):
    notes = []

    def contexts():
        notes.append("made")
        return Noted(notes, "forward"), Noted(notes, "recompute")

    call = torch.utils.checkpoint.checkpoint
    y = call(sin_cos, leaf(torch), use_reentrant=False, context_fn=contexts).sum()
    assert notes == ["made", "+forward", "-forward"]
    notes.clear()
    y.backward(retain_graph=True)
    y.backward()
    assert notes == ["+recompute", "-recompute"] * 2
    notes.clear()
    with torch.no_grad():
        call(sin_cos, leaf(torch), use_reentrant=False, context_fn=contexts)
    assert notes == ["made"]


def test_p10_the_default_contexts_do_nothing(torch):
    forward, recompute = torch.utils.checkpoint.noop_context_fn()
    with forward, recompute:
        assert sin_cos(leaf(torch)).requires_grad


def test_p11_passes_of_a_group_share_a_recomputation(torch):
    def run(x, y):
        return x.exp().sin(), y.exp().cos()

    def counts(group):
        counted = Counted(run)
        x, y = leaf(torch), leaf(torch)
        one, other = torch.utils.checkpoint.checkpoint(counted, x, y, use_reentrant=False)
        with group:
            one.sum().backward()
            other.sum().backward()
        assert values(x.grad) == plain_grad(torch, lambda x: x.exp().sin())
        assert values(y.grad) == plain_grad(torch, lambda x: x.exp().cos())
        return counted.begun

    assert counts(torch.utils.checkpoint.GraphExecGroup()) == 2
    assert counts(torch.enable_grad()) == 3


def test_p11_passes_of_a_group_must_not_overlap(torch):
    def run(x):
        y = x.exp()
        return y.sin(), y.cos()

    group = torch.utils.checkpoint.GraphExecGroup
    one, other = torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=False)
    with group():
        one.sum().backward(retain_graph=True)
        assert error(other.sum().backward) == ALREADY_UNPACKED.format(OVERLAP)
    one, other = torch.utils.checkpoint.checkpoint(run, leaf(torch), use_reentrant=False)
    with group():
        one.sum().backward(retain_graph=True)
    with group():
        other.sum().backward()


def test_p11_groups_are_not_nested(torch):
    group = torch.utils.checkpoint.GraphExecGroup
    with group() as active:
        assert group._get_current_group() is active
        assert error(group().__enter__).startswith(
            "RuntimeError: GraphExecGroup contexts cannot be nested. Already inside group <"
        )
    assert group._get_current_group() is None


def test_found_d8_what_a_function_saves_in_a_recomputation_is_freed_without_the_collector(torch):
    made = []

    def forward(ctx, x):
        result = x * 3
        made.append(weakref.ref(result))
        ctx.save_for_backward(result, x)
        return result

    def backward(ctx, grad):
        assert len(ctx.saved_tensors) == 2
        return grad * 3

    triple = function(torch, forward, backward).apply
    leaf = torch.ones(2, requires_grad=True)
    with no_collector():
        y = torch.utils.checkpoint.checkpoint(
            lambda x: triple(x * 2) * 2, leaf, use_reentrant=False
        )
        y.sum().backward()
        assert [each() for each in made] == [None, None]
    assert leaf.grad.tolist() == [12.0, 12.0]
