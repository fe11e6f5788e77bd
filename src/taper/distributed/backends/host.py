"""The transport of groups on one host: collectives in shared memory, messages through sockets.

Large arrays go through the buffers of the arena in chunks.  Each member combines its own part of a
chunk, in the order of ranks, so all get the same bits.  Every collective says first, in the head of
the buffer, what it is; a member that does something else is found by all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from taper.arrays.native import native
from taper.distributed.backends import arena as arenas
from taper.distributed.backends.base import Arrays, Patience, average, in_order, was_late
from taper.distributed.backends.fingerprints import different, fingerprint
from taper.distributed.backends.links import Links
from taper.distributed.backends.staging import takes_arrays_of_devices
from taper.distributed.reduce_ops import FUNCTIONS, RedOpType
from taper.distributed.stores import DistBackendError, Store

_DIVIDED = (np.dtype(np.float32), np.dtype(np.float64))  # of which native code makes averages
_SMALL = 8192  # bytes up to which every member combines everything: one phase, not two


class Sent:
    """A message that the other side's thread has taken, or will."""

    source = -1

    def is_done(self) -> bool:
        """Return True."""
        return True

    def wait(self, seconds: float) -> None:
        """Do nothing: it was sent."""


@takes_arrays_of_devices
class Host:
    """A member of a group on one host."""

    name = "gloo"
    averages = True

    def __init__(self, store: Store, rank: int, size: int, seconds: float) -> None:
        self.rank, self.size, self.seconds = rank, size, seconds
        self._links = Links(store, rank, size, seconds)
        self._arena = arenas.shared(self._links)
        self._links.start()

    # --- phases --------------------------------------------------------------------------------

    def _begin(self, operation: str, dtype: Any, count: int, root: int, op: Any) -> Patience:
        """Say what this member is about to do."""
        self._links.calls += 1
        if self._links.problem is not None:
            raise self._links.problem
        self._arena.next_round()
        own = fingerprint(operation, dtype, count, root, op)
        self._arena.heads[self._arena.side, self.rank, :5] = own
        return Patience(f"{operation} (number {self._links.calls} of the group)", self.seconds)

    def _meet(self, patience: Patience, is_first: bool = False) -> None:
        late = self._arena.meet(max(0.0, patience.left()), self._checker(patience))
        if late:
            self._give_up(patience, late)
        if is_first:
            self._agree()

    def _checker(self, patience: Patience) -> Callable[[], None]:
        return lambda: self._links.check(patience.operation, self._arena.behind())

    def _give_up(self, patience: Patience, late: list[int]) -> NoReturn:
        problem = was_late(patience.operation, late, patience.seconds, self.rank)
        self._links.tell(problem)
        raise problem

    def _agree(self) -> None:
        """Raise, on all members, if one of them does something else."""
        table = self._arena.heads[self._arena.side, :, :5]
        if (table != table[0]).any():
            raise different(table)

    def _slot(self, rank: int, dtype: Any) -> np.ndarray:
        data = self._arena.data[self._arena.side, rank]
        return data[: len(data) // dtype.itemsize * dtype.itemsize].view(dtype)

    def _slots(self, dtype: Any) -> list[np.ndarray]:
        return [self._slot(rank, dtype) for rank in range(self.size)]

    def _rounds(self, length: int, most: int) -> Any:
        """Yield the places where chunks begin and end; go on to the next round between them."""
        for start in range(0, max(length, 1), most):
            if start:
                self._arena.next_round()
            yield start, min(start + most, length), start == 0

    def _most(self, dtype: Any, parts: int = 1) -> int:
        """Return how many elements of each of some parts fit into a buffer."""
        return arenas.CHUNK // parts // dtype.itemsize

    # --- collectives ---------------------------------------------------------------------------

    def barrier(self) -> None:
        """Wait for all members."""
        self._meet(self._begin("BARRIER", None, 0, -1, None), True)

    def late(self, seconds: float, only_first: bool) -> list[int]:
        """Wait for all members so long; return who did not come."""
        self._begin("BARRIER", None, 0, -1, None)
        return self._arena.meet(seconds, lambda: None)

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> None:
        """Combine the arrays of all members, for all."""
        self._reduce_whole(self._begin("ALLREDUCE", array.dtype, array.size, -1, op), array, op)

    def all_reduce_each(self, arrays: Arrays, op: RedOpType) -> None:
        """Do the same with several arrays of one dtype."""
        if native is not None and arrays[0].dtype in _DIVIDED:
            count = sum(each.size for each in arrays)
            patience = self._begin("ALLREDUCE", arrays[0].dtype, count, -1, op)
            if self._reduce_natively(patience, tuple(arrays), op):
                return
        for each in arrays:
            self.all_reduce(each, op)

    def reduce(self, array: np.ndarray, root: int, op: RedOpType) -> None:
        """Combine the arrays of all members, for one of them."""
        self._reduce_whole(self._begin("REDUCE", array.dtype, array.size, root, op), array, op)

    def _reduce_whole(self, patience: Patience, array: np.ndarray, op: RedOpType) -> None:
        if array.dtype.kind == "c":
            array = array.view(array.real.dtype)
        if self._reduce_natively(patience, (array,), op):
            if array.dtype in _DIVIDED:
                return
        else:
            if array.nbytes <= _SMALL:
                self._slot(self.rank, array.dtype)[: array.size] = array
                self._meet(patience, True)
                sources = [slot[: array.size] for slot in self._slots(array.dtype)]
                in_order(FUNCTIONS[op], sources, array)
            else:
                most = self._most(array.dtype)
                for start, end, is_first in self._rounds(array.size, most):
                    self._reduce_chunk(patience, array[start:end], op, is_first)
        average(array, op, self.size)

    def _reduce_natively(
        self, patience: Patience, arrays: tuple[np.ndarray, ...], op: RedOpType
    ) -> bool:
        """Do the same without Python, if there is a loop for it."""
        if native is None or not arrays[0].size:
            return False
        result, late = self._arena.reduce(
            arrays, op.value, _SMALL, max(0.0, patience.left()), self._checker(patience)
        )
        if late:
            self._give_up(patience, late)
        if result == 2:
            self._agree()
        return result is not None

    def _reduce_chunk(
        self, patience: Patience, chunk: np.ndarray, op: RedOpType, is_first: bool
    ) -> None:
        slots = [slot[: chunk.size] for slot in self._slots(chunk.dtype)]
        parts = [
            slice(chunk.size * each // self.size, chunk.size * (each + 1) // self.size)
            for each in range(self.size)
        ]
        mine, own = parts[self.rank], slots[self.rank]
        own[: mine.start] = chunk[: mine.start]
        own[mine.stop :] = chunk[mine.stop :]
        self._meet(patience, is_first)
        sources = [slot[mine] for slot in slots]
        sources[self.rank] = chunk[mine]
        in_order(FUNCTIONS[op], sources, own[mine])
        self._meet(patience)
        for part, slot in zip(parts, slots, strict=True):
            chunk[part] = slot[part]

    def broadcast(self, array: np.ndarray, root: int) -> None:
        """Give the array of one member to all."""
        patience = self._begin("BROADCAST", array.dtype, array.size, root, None)
        for start, end, is_first in self._rounds(array.size, self._most(array.dtype)):
            slot = self._slot(root, array.dtype)[: end - start]
            if self.rank == root:
                slot[:] = array[start:end]
            self._meet(patience, is_first)
            if self.rank != root:
                array[start:end] = slot

    def all_gather(self, outputs: Arrays, array: np.ndarray) -> None:
        """Collect the arrays of all members, for all."""
        self._collect("ALLGATHER", outputs, array, -1)

    def gather(self, outputs: Arrays | None, array: np.ndarray, root: int) -> None:
        """Collect the arrays of all members, for one of them."""
        self._collect("GATHER", outputs if self.rank == root else None, array, root)

    def _collect(self, name: str, outputs: Arrays | None, array: np.ndarray, root: int) -> None:
        patience = self._begin(name, array.dtype, array.size, root, None)
        for start, end, is_first in self._rounds(array.size, self._most(array.dtype)):
            self._slot(self.rank, array.dtype)[: end - start] = array[start:end]
            self._meet(patience, is_first)
            for output, slot in zip(outputs or (), self._slots(array.dtype), strict=False):
                output[start:end] = slot[: end - start]

    def scatter(self, array: np.ndarray, inputs: Arrays | None, root: int) -> None:
        """Give each member one of the arrays that one of them has."""
        patience = self._begin("SCATTER", array.dtype, array.size, root, None)
        most = self._most(array.dtype, self.size)
        for start, end, is_first in self._rounds(array.size, most):
            places = self._slot(root, array.dtype)[: most * self.size].reshape(self.size, most)
            if self.rank == root:
                for place, each in zip(places, inputs or (), strict=True):
                    place[: end - start] = each[start:end]
            self._meet(patience, is_first)
            array[start:end] = places[self.rank, : end - start]

    def reduce_scatter(self, output: np.ndarray, inputs: Arrays, op: RedOpType) -> None:
        """Combine the arrays of all members place by place, and give each member one place."""
        patience = self._begin("REDUCE_SCATTER", output.dtype, output.size, -1, op)
        most = self._most(output.dtype, self.size)
        for start, end, is_first in self._rounds(output.size, most):
            slots = [
                slot[: most * self.size].reshape(self.size, most)
                for slot in self._slots(output.dtype)
            ]
            for rank, each in enumerate(inputs):
                slots[self.rank][rank, : end - start] = each[start:end]
            self._meet(patience, is_first)
            sources = [slot[self.rank, : end - start] for slot in slots]
            in_order(FUNCTIONS[op], sources, output[start:end])
        average(output, op, self.size)

    def all_to_all(self, outputs: Arrays, inputs: Arrays) -> None:
        """Send one array from each member to each."""
        dtype = inputs[0].dtype
        patience = self._begin("ALLTOALL", dtype, -1, -1, None)
        start = arenas.HEAD // 8
        counts = self._arena.heads[self._arena.side, :, start : start + 2 * self.size]
        counts[self.rank, : self.size] = [each.size for each in inputs]
        counts[self.rank, self.size :] = [each.size for each in outputs]
        self._meet(patience, True)
        sent, taken = counts[:, : self.size].copy(), counts[:, self.size :].T.copy()
        if (sent != taken).any():
            source, to = (int(each[0]) for each in np.nonzero(sent != taken))
            raise DistBackendError(
                f"ALLTOALL: rank {source} sends {sent[source, to]} elements to rank {to}, which "
                f"has room for {taken[source, to]}"
            )
        most = self._most(dtype, self.size)
        for start in range(0, int(sent.max()), most):
            self._arena.next_round()
            slots = [
                slot[: most * self.size].reshape(self.size, most) for slot in self._slots(dtype)
            ]
            for rank, each in enumerate(inputs):
                part = each[start : start + most]
                slots[self.rank][rank, : part.size] = part
            self._meet(patience)
            for slot, each in zip(slots, outputs, strict=True):
                part = each[start : start + most]
                part[:] = slot[self.rank, : part.size]

    # --- messages ------------------------------------------------------------------------------

    def send(self, array: np.ndarray, to: int, tag: int) -> Sent:
        """Send an array to a member."""
        self._links.send(array, to, tag)
        return Sent()

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Any:
        """Begin to receive an array from a member, or from anybody."""
        return self._links.receive(array, source, tag)

    def close(self) -> None:
        """Leave the group."""
        self._links.close()
