"""Guards: for which calls of a function a program holds.

Owns: the arguments taken apart into tensors and the rest, what a program assumes of them, of the
tensors it found elsewhere, of the modes of the thread, and of what Python code may have read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.native import native
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import NO_GRAD, State
from taper.nn.modules import calls
from taper.program.form import Program
from taper.program.watching import Surroundings, same
from taper.settings import settings
from taper.tensor import Tensor

_GLOBAL_HOOKS = (
    calls.global_forward_pre_hooks,
    calls.global_forward_hooks,
    calls.global_backward_pre_hooks,
    calls.global_backward_hooks,
)


def taken_apart(structure: Any, tensors: list[Tensor]) -> Any:
    """Collect the tensors of nested arguments; returns what is left, hashable or not."""
    if isinstance(structure, Tensor):
        for nr, each in enumerate(tensors):
            if each is structure:
                return _Place(nr)
        tensors.append(structure)
        return _Place(len(tensors) - 1)
    if structure.__class__ is tuple or structure.__class__ is list:
        return (structure.__class__, *[taken_apart(each, tensors) for each in structure])
    if structure.__class__ is dict:
        return (dict, *[(key, taken_apart(each, tensors)) for key, each in structure.items()])
    return structure


def put_together(rest: Any, tensors: Sequence[Tensor]) -> Any:
    """The arguments that `taken_apart` has taken apart."""
    if rest.__class__ is _Place:
        return tensors[rest.number]
    if rest.__class__ is tuple:
        kind, *parts = rest
        if kind is dict:
            return {key: put_together(each, tensors) for key, each in parts}
        return kind([put_together(each, tensors) for each in parts])
    return rest


class _Place:
    """The place of a tensor among the arguments."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"tensor {self.number}"


def agree(one: Any, other: Any) -> bool:
    """Whether two sets of arguments without their tensors are the same."""
    if one is other:
        return True
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is tuple:
        return len(one) == len(other) and all(map(agree, one, other))
    if one.__class__ is _Place:
        return bool(one.number == other.number)
    return same(one, other)


def kind_of(tensor: Tensor) -> tuple[Any, ...]:
    """What a program assumes of a tensor."""
    array = tensor._array
    return (
        array.shape,
        array.dtype,
        array.strides,
        bool(tensor.requires_grad),
        type(tensor),
        tensor._counter is INFERENCE_COUNTER,
        _has_hooks(tensor._meta),
    )


def _has_hooks(meta: Any) -> bool:
    return meta is not None and bool(meta.hooks or meta.post_accumulate_hooks)


def modes_of(state: State) -> tuple[Any, ...]:
    """What a program assumes of the thread and of the library's settings."""
    return (state.mode, state.autocast, dtypes.default.float, settings.fills_memory)


def _expected(tensor: Tensor) -> tuple[Any, ...]:
    """A tensor as `native.guards_hold` knows it: an array of its kind without its memory."""
    array = tensor._array
    like = np.lib.stride_tricks.as_strided(np.empty(1, array.dtype), array.shape, array.strides)
    return type(tensor), like, tensor._requires_grad


class Guards:
    """What must be as it was for a program to hold."""

    def __init__(
        self,
        rest: Any,
        tensors: Sequence[Tensor],
        state: State,
        program: Program | None,
        surroundings: Surroundings | None,
    ) -> None:
        self.rest = rest
        self.kinds = [kind_of(each) for each in tensors]
        self.modes = modes_of(state)
        self.surroundings = surroundings
        self.fast: tuple[Any, ...] | None = None
        self.externals = [
            (each.tensor, each.tensor._array, each.tensor._requires_grad, kind_of(each.tensor))
            for each in (program.externals if program is not None else ())
        ]

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let calls with such arguments be recognised in C, by identity: 0.5 us and not 10."""
        plain = all(not isinstance(each, tuple | list | dict) for each in args)
        around = self.surroundings
        if native is None or kwargs or not plain or around is None:
            return
        expected = [_expected(each) if isinstance(each, Tensor) else each for each in args]
        externals = [part for tensor, *kind, _ in self.externals for part in (tensor, *kind)]
        sequences = [each for each in around.sequences if not isinstance(each[0], tuple)]
        self.fast = (
            tuple(expected),
            INFERENCE_COUNTER,
            tuple(externals),
            tuple([part for each in around.entries for part in each]),
            tuple([part for each in around.cells for part in each]),
            tuple([part for each in sequences for part in each]),
        )

    def hold_at_once(self, args: tuple[Any, ...], state: State) -> bool:
        """Whether all is the same by identity; False where `hold` must look."""
        return (
            self.fast is not None
            and modes_of(state) == self.modes
            and native.guards_hold(args, *self.fast)
        )

    def hold(self, rest: Any, tensors: Sequence[Tensor], state: State) -> bool:
        """Whether the program is what a call with these arguments would do."""
        if len(tensors) != len(self.kinds) or not agree(rest, self.rest):
            return False
        if [kind_of(each) for each in tensors] != self.kinds or modes_of(state) != self.modes:
            return False
        return self.around_holds()

    def around_holds(self) -> bool:
        """Whether all is as it was beside the arguments."""
        for tensor, array, flag, kind in self.externals:
            meta = tensor._meta
            if (
                tensor._array is array
                and tensor._requires_grad is flag
                and (meta is None or not (meta.hooks or meta.post_accumulate_hooks))
            ):
                continue
            if kind_of(tensor) != kind:
                return False
        return self.surroundings is None or self.surroundings.changed() is None


def is_ordinary(state: State) -> bool:
    """Whether nobody watches or changes how operations run, so that a program may stand in."""
    return (
        state.mode <= NO_GRAD
        and not state.interceptors
        and state.recorder is None
        and not state.transforms
        and not state.saved_hooks
        and state.graph_task is None
        and not any(_GLOBAL_HOOKS)
    )
