"""Packs: parameters that are updated together, by one run of their rule.

The native module takes neighbours in a group that share their coefficients where they lie, in one
call: the 53 parameters of a small GPT cost 0.35 ms less.  A NumPy call costs 0.4 us whatever it
does, and a rule is ten to twenty calls.  So small parameters are copied into one vector, with their
gradients, updated there, and copied back: 100 Adam parameters of 10x10 take a third of the time.
States that an optimizer makes for small parameters are pieces of one vector from the start.

Owns: which parameters go together, the vectors, and whether a pack of an earlier step still
holds.  Nobody sees a pack: parameters and states stay tensors of their own.
"""

from __future__ import annotations

import sys
from itertools import chain, pairwise
from operator import attrgetter, is_, itemgetter
from typing import Any

import ml_dtypes
import numpy as np

from taper.arrays.native import native
from taper.autograd.conjugate import write_through
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.views import version_counter
from taper.optim.programs import run_natively
from taper.optim.update import (
    BLOCK,
    Place,
    Rule,
    count_writes,
    in_same_memory,
    run_rule,
    scratch,
)
from taper.tensor import Tensor, is_key

# Elements of a parameter from which copying it costs more than the calls that are saved, and how
# many the vectors have.
SMALL, TOGETHER = (8192, BLOCK) if native is None else (sys.maxsize, sys.maxsize)
# The scratch arrays that columns are copied into; those before are spare, and for the gradients.
FIRST = 4
_PACKED = (np.dtype(np.float32), np.dtype(np.float64))
_PACKED_ELSEWHERE = (*_PACKED, np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

_array = attrgetter("_array")
_counter = attrgetter("_counter")
_grad_array = attrgetter("_autograd_meta.grad._array")


def can_pack(param: Tensor) -> bool:
    """Tell whether a parameter may share a vector with others."""
    array = param._array
    return (
        array.size <= SMALL
        and array.dtype in _PACKED
        and type(array) is np.ndarray
        and array.flags.c_contiguous
        and param._counter is not INFERENCE_COUNTER
        and param._change is None
        and is_key(param)  # else two parameters may have the same state
    )


def has_packable(state: dict[str, Any], names: tuple[str, ...], param: Tensor) -> bool:
    """Tell whether the states of a parameter may share vectors: they may come from a file."""
    array = param._array
    return all(
        each._array.dtype is array.dtype
        and each._array.shape == array.shape
        and each._array.flags.c_contiguous
        and each._counter is not INFERENCE_COUNTER
        for each in [state[name] for name in names]
    )


def run_length(params: list[Tensor], position: int) -> int:
    """Return how many parameters from `position` on fit into one pack; at least one."""
    dtype, total = params[position]._array.dtype, 0
    end = position
    if type(params[position]._array) is not np.ndarray:
        return _run_elsewhere(params, position)
    for param in params[position:]:
        total += param._array.size
        if total > TOGETHER or param._array.dtype is not dtype or not can_pack(param):
            break
        end += 1
    return 1 if _overlap(params[position:end]) else max(end - position, 1)


def _run_elsewhere(params: list[Tensor], position: int) -> int:
    """Return how many parameters from `position` on are of one kind and on one device."""
    first = params[position]._array
    end = position
    for param in params[position:]:
        array = param._array
        if (
            type(array) is not type(first)
            or array.dtype is not first.dtype
            or array.dtype not in _PACKED_ELSEWHERE
        ):
            break
        if param._counter is INFERENCE_COUNTER or param._change is not None or not is_key(param):
            break
        end += 1
    distinct = len({id(each) for each in params[position:end]}) == end - position
    return max(end - position, 1) if distinct else 1


def _overlap(params: list[Tensor]) -> bool:
    """Tell whether two are the same or share memory: such must be updated one after the other."""
    pieces = sorted(
        (array.__array_interface__["data"][0], array.nbytes)
        for array in map(_array, params)
        if array.size
    )
    return any(start + length > after for (start, length), (after, _) in pairwise(pieces))


class Alone:
    """Update one parameter, with its states, where it lies."""

    __slots__ = ("dtype", "names", "neighbours", "params", "scalars", "state")

    def __init__(
        self,
        params: list[Tensor],
        states: list[dict[str, Tensor]],
        names: tuple[str, ...],
        scalars: tuple[str, ...],
        neighbours: int,
    ) -> None:
        self.params, self.names, self.scalars = params, names, scalars
        self.dtype = params[0]._array.dtype
        self.state = states[0] if states else None
        self.neighbours = neighbours  # parameters with a gradient when this one was left alone

    def holds(
        self, ready: list[Tensor], position: int, states: Any, names: tuple[str, ...]
    ) -> bool:
        """Tell whether the parameter may still be updated alone, with these states."""
        param, state = self.params[0], self.state
        return (
            param is ready[position]  # not `==`, which its class may define
            and len(ready) == self.neighbours
            and self.names == names
            and param._array.dtype is self.dtype
            and (
                state is None
                or (
                    states.get(param) is state
                    and all(state.get(name) is not None for name in names)
                )
            )
        )

    def common_scalars(self) -> tuple[float, ...]:
        """Return the numbers among the states."""
        state = self.state
        return () if state is None else tuple([state[name]._array.item() for name in self.scalars])

    def update(self, rule: Rule, numbers: Any, place: Place) -> None:
        """Run the rule, and count the writes."""
        (param,), state = self.params, self.state
        tensors = [] if state is None else [state[name] for name in self.names]
        arrays = [param._autograd_meta.grad._array, *map(_array, tensors)]

        def run(array: np.ndarray) -> None:
            if not run_natively(rule, numbers, tuple([[each] for each in (array, *arrays)])):
                run_rule(rule, numbers, array, *arrays)

        write_through(param, run)
        self.note(numbers, place)

    def note(self, numbers: Any, place: Place) -> None:
        """Keep the numbers of the states, and count the writes."""
        state = self.state
        if state is not None:
            for name, value in zip(self.scalars, numbers.after, strict=True):
                state[name]._array.fill(value)
            count_writes(place, [state[name] for name in self.names])
        count_writes(place, self.params, numbers.writes)


def bounds_of(arrays: list[np.ndarray]) -> list[slice]:
    """Return where each array is in a vector that has all of them."""
    ends = np.cumsum([each.size for each in arrays]).tolist()
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def unite(tensors: list[Tensor]) -> None:
    """Let small tensors that nobody has seen yet lie side by side in one vector, with their values.

    Each still has a storage of its own, which ends where the next begins.
    """
    arrays = list(map(_array, tensors))
    if type(arrays[0]) is not np.ndarray or sum(each.size for each in arrays) > BLOCK:
        return
    together: Any = np.concatenate([each.reshape(-1) for each in arrays])
    vector = memoryview(together)
    for tensor, array, piece in zip(tensors, arrays, bounds_of(arrays), strict=True):
        tensor._array = np.asarray(vector[piece]).reshape(array.shape)


def united(arrays: list[np.ndarray]) -> np.ndarray | None:
    """Return the vector that `unite` made for these arrays, in this order, if there is one."""
    memories = [getattr(each.base, "base", None) for each in arrays]
    vector = getattr(memories[0], "obj", None)
    if not isinstance(vector, np.ndarray) or vector.size != sum(each.size for each in arrays):
        return None
    place = vector.__array_interface__["data"][0]
    for array, memory in zip(arrays, memories, strict=True):
        if getattr(memory, "obj", None) is not vector:
            return None
        if array.__array_interface__["data"][0] != place:
            return None
        place += array.nbytes
    return vector


class Column:
    """Hold one array of each parameter (itself, or a state), as one vector.

    The vector is the memory of all if they lie there side by side; else they are copied into a
    scratch array of the thread, so packs need no memory of their own.
    """

    __slots__ = ("bounds", "flats", "memory", "pieces", "vector")

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.memory: np.ndarray | None = None
        own = united(arrays)
        if own is not None:
            self.vector = own
            return
        self.flats = [each.reshape(-1) for each in arrays]
        self.bounds = bounds_of(arrays)
        self.use(scratch.array(arrays[0].dtype, FIRST))

    def use(self, memory: np.ndarray) -> None:
        """Copy into this array from now on."""
        self.memory = memory
        self.vector = memory[: self.bounds[-1].stop]
        self.pieces = [memory[each] for each in self.bounds]

    def gather(self, dtype: np.dtype, number: int) -> np.ndarray:
        """Return the vector with the present values; it may use scratch array `number`."""
        if self.memory is not None:
            memory = scratch.array(dtype, number)
            if self.memory is not memory:
                self.use(memory)
            np.concatenate(self.flats, out=self.vector)
        return self.vector

    def scatter(self) -> None:
        """Copy the values back to where they belong."""
        if self.memory is not None:
            for flat, piece in zip(self.flats, self.pieces, strict=True):
                flat[...] = piece


class Pack:
    """Update some parameters, with their states, together: all of one dtype and at the same step.

    `names` are the states that are arrays like the parameter, `scalars` those of one number.
    """

    __slots__ = (
        "_states_of",
        "arrays",
        "columns",
        "counters",
        "dtype",
        "names",
        "of_states",
        "params",
        "scalars",
        "size",
        "state_arrays",
        "state_counters",
    )

    def __init__(
        self,
        params: list[Tensor],
        states: list[dict[str, Tensor]],
        names: tuple[str, ...],
        scalars: tuple[str, ...],
    ) -> None:
        self.params, self.names = params, names
        every = (*scalars, *names)
        # With a single name, itemgetter would return no tuple.
        self._states_of = itemgetter(*every) if len(every) > 1 else (lambda s: (s[every[0]],))
        self.state_arrays = [state[name]._array for state in states for name in every]
        self.arrays = list(map(_array, params))
        self.counters = list(map(version_counter, params))
        self.state_counters = [version_counter(state[name]) for state in states for name in names]
        self.scalars = [Column([state[name]._array for state in states]) for name in scalars]
        self.dtype = self.arrays[0].dtype
        self.size = sum(each.size for each in self.arrays)
        self.of_states = [[state[name]._array for state in states] for name in names]
        self.columns: list[Column] = []
        if type(self.arrays[0]) is np.ndarray and self.size <= BLOCK:
            self.columns = [Column(self.arrays), *[Column(each) for each in self.of_states]]

    def holds(
        self, ready: list[Tensor], position: int, states: Any, names: tuple[str, ...]
    ) -> bool:
        """Tell whether the pack has the parameters from `position` on, with nothing replaced.

        All loops are in C: 0.6 us for a parameter with three states.
        """
        params = self.params
        if self.names != names or len(ready) - position < len(params):
            return False
        now = ready[position : position + len(params)]
        if not (
            all(map(is_, now, params))
            and all(map(is_, map(_array, params), self.arrays))
            and all(map(is_, map(_counter, params), self.counters))
        ):
            return False
        if not self.state_arrays:
            return True
        found = map(_array, chain.from_iterable(map(self._states_of, map(states.get, params))))
        try:
            return all(map(is_, found, self.state_arrays))
        except (KeyError, TypeError):  # a state was taken away
            return False

    def common_scalars(self) -> tuple[float, ...] | None:
        """Return the numbers among the states if all parameters agree in them."""
        found = []
        for column in self.scalars:
            values = column.gather(column.vector.dtype, FIRST).tolist()
            if values.count(values[0]) != len(values):
                return None
            found.append(values[0])
        return tuple(found)

    def update(self, rule: Rule, numbers: Any, place: Place) -> None:
        """Run the rule once for all, and count the writes."""
        grads = list(map(_grad_array, self.params))
        if not run_natively(rule, numbers, (self.arrays, grads, *self.of_states)):
            if self.columns:
                self.run_united(rule, numbers, grads)
            else:
                for each in zip(self.arrays, grads, *self.of_states, strict=True):
                    if not run_natively(rule, numbers, tuple([[array] for array in each])):
                        run_rule(rule, numbers, *each)
        self.note(numbers, place)

    def note(self, numbers: Any, place: Place) -> None:
        """Keep the numbers of the states, and count the writes."""
        for column, value in zip(self.scalars, numbers.after, strict=True):
            column.vector.fill(value)
            column.scatter()
        _count(self.counters, numbers.writes, place)
        _count(self.state_counters, 1, place)

    def run_united(self, rule: Rule, numbers: Any, grads: list[np.ndarray]) -> None:
        """Run the rule on vectors of all arrays."""
        dtype, size = self.dtype, self.size
        for one, other in zip(self.arrays, grads, strict=True):
            in_same_memory(numbers, one, other)
        grad = scratch.array(dtype, FIRST - 1)[:size]
        np.concatenate(grads, axis=None, out=grad)
        param, *states = [
            column.gather(dtype, number) for number, column in enumerate(self.columns, FIRST)
        ]
        rule(np, numbers, scratch.spare(dtype, size), param, grad, *states)
        for column in self.columns:
            column.scatter()


def _count(counters: list[Any], writes: int, place: Place) -> None:
    code, offset = place
    for counter in counters:
        counter.value += writes
        counter.code = code
        counter.offset = offset
