"""Selective checkpointing: a policy says which outputs are kept and not recomputed (§P12).

The forward is watched: the policy sees each operator call, and the outputs it wants are kept.  The
recomputation uses them instead of running the operator's kernel; the call is still recorded, so
that its node saves the same.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.interception import Call, pop, push
from taper.autograd.saved import pack_inputs, pack_outputs
from taper.autograd.state import NO_GRAD, SAVED_HOOKS, local
from taper.autograd.views import alias, requires_grad, set_history
from taper.opdef import Op
from taper.opdef.recording import PROPERTIES, make_node
from taper.opdef.writes import run_inplace
from taper.ops.identity import (
    OpOverload,
    OpOverloadPacket,
    call_arguments,
    overload_named,
    overload_of,
    prim,
)
from taper.tensor import Tensor, wrap
from taper.utils._checkpoint.frames import PUBLIC_MODULE

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)

_IGNORED = """
    detach.default dim.default is_contiguous.default is_contiguous.memory_format
    is_non_overlapping_and_dense.default is_strides_like_format.default numel.default size.default
    storage_offset.default stride.default sym_numel.default sym_size.default
    sym_storage_offset.default sym_stride.default
"""
SAC_IGNORED_OPS = {
    *[overload_named(each) for each in _IGNORED.split()],
    prim._packet("device")._overload("default"),
}
"""Operators that no policy is asked about: they compute nothing."""


class CheckpointPolicy(enum.Enum):
    """What a policy says about an operator: keep its output, or compute it again.

    Everything is on the CPU, so offloading to it is the same as saving.

    >>> from taper.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>
    """

    __module__ = PUBLIC_MODULE

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVING = {
    True,
    CheckpointPolicy.MUST_SAVE,
    CheckpointPolicy.PREFER_SAVE,
    CheckpointPolicy.MUST_CPU_OFFLOAD,
    CheckpointPolicy.PREFER_CPU_OFFLOAD,
}


class SelectiveCheckpointContext:
    """The first argument of a policy: whether this is a recomputation, and the operator's output.

    >>> import taper
    >>> from taper.utils import checkpoint
    >>> def policy(context, operator, *args, **kwargs):
    ...     print(operator, context.is_recompute)
    ...     return checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
    >>> def contexts():
    ...     return checkpoint.create_selective_checkpoint_contexts(policy)
    >>> x = taper.ones(2, requires_grad=True)
    >>> out = checkpoint.checkpoint(taper.sin, x, use_reentrant=False, context_fn=contexts)
    aten.sin.default False
    >>> out.sum().backward()
    """

    __module__ = PUBLIC_MODULE

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


# --- what is kept ----------------------------------------------------------------------------


class _Kept:
    """The outputs of one call, detached, and the versions they had."""

    def __init__(self, outputs: Any, versions: list[int]) -> None:
        self.outputs = outputs
        self.versions = versions

    def take(self, may_be_written: bool) -> Any:
        if not may_be_written:
            now = [each._version for each in _flat(self.outputs)]
            if now != self.versions:
                raise RuntimeError(
                    "Tensor cached during selective activation checkpoint has been mutated"
                )
        return self.outputs


_RECOMPUTED = object()  # stands for what the policy does not want
_USED = object()  # stands for what was handed out

Storage = dict[OpOverload, list[Any]]  # for each operator its calls, in order


def _flat(outputs: Any) -> list[Tensor]:
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def _detached(outputs: Any) -> Any:
    if isinstance(outputs, Tensor):
        return alias(outputs)
    return tuple([alias(each) for each in outputs])


class _Watching:
    """Sees every operator call in its block."""

    def __enter__(self) -> _Watching:
        push(self)
        return self

    def __exit__(self, *exception: object) -> None:
        pop(self)

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        raise NotImplementedError


class _Caching(_Watching):
    """The context of the forward: asks the policy and keeps outputs."""

    def __init__(self, policy: Callable[..., Any], storage: Storage) -> None:
        self.policy = policy
        self.storage = storage

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        operator = overload_of(call)
        if operator in SAC_IGNORED_OPS:
            return run()
        in_place = call.kind == "inplace"
        # A write is counted after the operator has run, so the kept value is then known to be
        # stale.
        before = call.arguments[0]._version if in_place else 0
        result = run()
        output = result if in_place else _detached(result)
        arguments, keywords = call_arguments(call)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=output)
        decision = self.policy(context, operator, *arguments, **keywords)
        calls = self.storage.setdefault(operator, [])
        if isinstance(decision, bool | CheckpointPolicy) and decision in _SAVING:
            kept = _detached(result)
            versions = [before] if in_place else [each._version for each in _flat(kept)]
            calls.append(_Kept(kept, versions))
        else:
            calls.append(_RECOMPUTED)
        return result


class _Cached(_Watching):
    """The context of the recomputation: hands out what was kept."""

    def __init__(self, storage: Storage, may_be_written: bool) -> None:
        self.storage = storage
        self.may_be_written = may_be_written
        self.counts: dict[OpOverload, int] = {}

    def __enter__(self) -> _Watching:
        self.counts = {}
        return super().__enter__()

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        operator = overload_of(call)
        if operator in SAC_IGNORED_OPS:
            return run()
        number = self.counts.get(operator, 0)
        self.counts[operator] = number + 1
        if operator not in self.storage:
            raise RuntimeError(
                f"{operator} encountered during backward but not found in storage. {_MISMATCH}"
            )
        calls = self.storage[operator]
        if number >= len(calls):
            raise RuntimeError(
                f"{operator} invocation index {number} encountered during backward but not found "
                f"in storage. {_MISMATCH}"
            )
        if calls[number] is _RECOMPUTED:
            return run()

        def outputs() -> Any:
            kept, calls[number] = calls[number], _USED
            if kept is _USED:
                raise RuntimeError(
                    "Trying to backward an extra time. You are only allowed to backward once on "
                    "any region computed under selective activation checkpoint."
                )
            return kept.take(self.may_be_written)

        return _replayed(call, run, outputs)


# --- recording without computing -------------------------------------------------------------


def _replayed(call: Call, run: Callable[[], Any], outputs: Callable[[], Any]) -> Any:
    """Return the result of a call whose outputs are known; `outputs` gives them once."""
    if call.kind == "inplace":
        outputs()
        return run_inplace(call.op, call.arguments, lambda array: None)
    if call.kind == "out" or call.op.view or call.op.many_outputs:
        # Running these costs nothing: they compute nothing, or record nothing.
        outputs()
        return run()
    node = _node_for(call.op, call.arguments)
    hooks = local.state.saved_hooks if local.state.mode & SAVED_HOOKS else ()
    if node is not None and hooks:
        # Inputs are saved before the operator runs: a recomputation may end here (§P7).
        pack_inputs(node, hooks[-1])
    return _recorded(call.op, node, outputs(), hooks)


def _node_for(op: Op, arguments: tuple[Any, ...]) -> Any:
    """Return a node for a call with its inputs and without its outputs; None if unrecorded."""
    if local.state.mode & NO_GRAD or not op.differentiable:
        return None
    needs = {
        param.name: _wants(value)
        for param, value in zip(op.params, arguments, strict=True)
        if param.name in op.wrt
    }
    return make_node(op, arguments, needs, {}) if any(needs.values()) else None


def _wants(value: Any) -> bool:
    if isinstance(value, Tensor):
        return requires_grad(value)
    return isinstance(value, tuple | list) and any(_wants(each) for each in value)


def _recorded(op: Op, node: Any, kept: Any, hooks: Sequence[Any]) -> Any:
    """Return the outputs as tensors of the call that `node` is for."""
    results = [wrap(each._array) for each in _flat(kept)]
    if node is not None:
        if len(op.outputs) > 1:
            node.set_outputs(results)
        else:
            node._shape, node._dtype = results[0]._array.shape, results[0]._array.dtype
        _save_outputs(op, node, results)
        for nr, each in enumerate(results):
            if nr not in op.nondifferentiable and each._array.dtype.kind not in "biu":
                set_history(each, node, nr)
        if hooks and node.saved_output_names:
            pack_outputs(node, hooks[-1], results)
    if len(op.outputs) == 1:
        return results[0]
    return tuple(results) if op.returns is None else op.returns(results)


def _save_outputs(op: Op, node: Any, results: Sequence[Tensor]) -> None:
    for nr, name in enumerate(op.outputs):
        array = results[nr]._array
        if name in node.saved_output_names:
            setattr(node, f"kept_{name}", array)
            setattr(node, f"version_{name}", 0)
            setattr(node, f"counter_{name}", None)
        for formula in op.formulas:
            for kind, source, what in formula.sources:
                if kind == "property" and source == name:
                    setattr(node, f"kept_{name}_{what}", PROPERTIES[what](array))


# --- for users -------------------------------------------------------------------------------


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[_Watching, _Watching]:
    """Return two contexts for `context_fn` of `checkpoint` that keep the outputs of some operators.

    Args:
        policy_fn_or_list: the overloads to keep, or a function `policy(ctx, op, *args, **kwargs)`
            that returns a `CheckpointPolicy` or a bool.
        allow_cache_entry_mutation: do not raise if a kept output was written since.

    >>> import functools
    >>> import taper
    >>> from taper.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(
    ...     create_selective_checkpoint_contexts, [taper.ops.aten.exp.default]
    ... )
    >>> x = taper.tensor([0.0], requires_grad=True)
    >>> y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=contexts)
    >>> y.backward()
    >>> x.grad
    tensor([0.5403])
    """
    storage: Storage = {}
    return (
        _Caching(_policy_of(policy_fn_or_list), storage),
        _Cached(storage, allow_cache_entry_mutation),
    )


def _policy_of(given: Any) -> Callable[..., Any]:
    if callable(given):
        policy: Callable[..., Any] = given
        return policy
    if not isinstance(given, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    for operator in given:
        if not isinstance(operator, OpOverload):
            hint = (
                "Please update the OpOverloadPacket to a specific OpOverload.For example, if you "
                "have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
            )
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {operator} of type "
                f"{type(operator)}. {hint if isinstance(operator, OpOverloadPacket) else ''}"
            )
    return lambda context, operator, *args, **kwargs: operator in given
