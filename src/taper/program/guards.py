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
from taper.utils._pytree import tree_flatten, tree_is_leaf, tree_unflatten

_BEFORE, _AFTER = calls.global_forward_pre_hooks, calls.global_forward_hooks
_BEFORE_BACKWARD = calls.global_backward_pre_hooks
_AFTER_BACKWARD = calls.global_backward_hooks


class Arguments:
    """The arguments of a call: tensors, and everything else in its place."""

    __slots__ = ("attributes", "places", "rest", "spec", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, self.spec = tree_flatten((args, kwargs))
        self.tensors: list[Tensor] = []
        self.places: list[int | None] = []  # for each leaf the number of its tensor
        self.rest: list[Any] = []  # the leaves that are none
        numbers: dict[int, int] = {}
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                self.places.append(None)
                self.rest.append(leaf)
                continue
            if id(leaf) not in numbers:
                numbers[id(leaf)] = len(self.tensors)
                self.tensors.append(leaf)
            self.places.append(numbers[id(leaf)])

    def note_attributes(self) -> None:
        """Remember the attributes that somebody has given to tensors."""
        self.attributes = [dict(vars(each)) for each in self.tensors]

    def agree(self, other: Arguments) -> bool:
        """Whether the arguments are the same, but for what the tensors are."""
        return (
            self.places == other.places
            and self.spec == other.spec
            and all(
                one is two or same(one, two) for one, two in zip(self.rest, other.rest, strict=True)
            )
        )

    def are_still(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the call has left lists and dictionaries among its arguments alone."""
        now = Arguments(args, kwargs)
        return (
            self.places == now.places
            and self.spec == now.spec
            and all(one is two for one, two in zip(self.rest, now.rest, strict=True))
            and all(one is two for one, two in zip(self.tensors, now.tensors, strict=True))
            and self.attributes == [dict(vars(each)) for each in now.tensors]
        )

    def with_tensors(self, tensors: Sequence[Tensor]) -> Any:
        """The arguments with other tensors: (args, kwargs)."""
        rest = iter(self.rest)
        leaves = [next(rest) if nr is None else tensors[nr] for nr in self.places]
        return tree_unflatten(leaves, self.spec)

    def without_tensors(self) -> Arguments:
        """What is kept of them: a program keeps no argument alive."""
        kept = Arguments((), {})
        kept.spec, kept.places, kept.rest = self.spec, self.places, self.rest
        return kept


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
        bool(tensor.is_leaf),
        tuple(vars(tensor).items()),
        _hooks(tensor._autograd_meta),
    )


def _hooks(meta: Any) -> tuple[Any, ...]:
    """The hooks of a tensor: by identity, since functions equal nothing but themselves."""
    if meta is None or not (meta.hooks or meta.post_accumulate_hooks):
        return ()
    tables = meta.hooks or {}, meta.post_accumulate_hooks or {}
    return tuple([tuple(each.values()) for each in tables])


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
        arguments: Arguments,
        state: State,
        program: Program | None,
        surroundings: Surroundings | None,
        grads: Sequence[tuple[Tensor, bool]] = (),
    ) -> None:
        self.arguments = arguments.without_tensors()
        self.kinds = [kind_of(each) for each in arguments.tensors]
        self.modes = modes_of(state)
        self.surroundings = surroundings
        self.fast: tuple[Any, ...] | None = None
        self.grads = tuple(grads)  # whether tensors, whose gradients were looked at, had one
        known = [each.tensor for each in program.externals] if program is not None else []
        if surroundings is not None:
            known += surroundings.tensors.values()
        self.externals = [
            (each, each._array, each._requires_grad, kind_of(each))
            for each in dict(zip(map(id, known), known, strict=True)).values()
        ]

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let calls with such arguments be recognised in C, by identity: 0.5 us and not 10."""
        around = self.surroundings or Surroundings({})
        if native is None or kwargs or not all(map(tree_is_leaf, args)):
            return
        if around.arrays:  # their content counts
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
            tuple([part for each in self.grads for part in each]),
            tuple([part for each in around.functions for part in each]),
        )

    def hold_at_once(self, args: tuple[Any, ...], state: State) -> bool:
        """Whether all is the same by identity; False where `hold` must look."""
        if self.fast is None:
            return False
        mode, autocast, default, fills = self.modes
        return (
            state.mode == mode
            and state.autocast is autocast
            and dtypes.default.float is default
            and settings.fills_memory is fills
            and native.guards_hold(args, *self.fast)
        )

    def hold(self, arguments: Arguments, state: State) -> bool:
        """Whether the program is what a call with these arguments would do."""
        return (
            self.arguments.agree(arguments)
            and [kind_of(each) for each in arguments.tensors] == self.kinds
            and modes_of(state) == self.modes
            and self.around_holds()
        )

    def around_holds(self) -> bool:
        """Whether all is as it was beside the arguments."""
        for tensor, array, flag, kind in self.externals:
            meta = tensor._autograd_meta
            if (
                tensor._array is array
                and tensor._requires_grad is flag
                and (meta is None or not (meta.hooks or meta.post_accumulate_hooks))
            ):
                continue
            if kind_of(tensor) != kind:
                return False
        for tensor, had in self.grads:
            if (
                tensor._autograd_meta is not None and tensor._autograd_meta.grad is not None
            ) is not had:
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
        and not (_BEFORE or _AFTER or _BEFORE_BACKWARD or _AFTER_BACKWARD)
    )
