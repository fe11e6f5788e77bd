"""MPI, through mpi4py: collectives on the memory of arrays, a communicator for each group.

Collectives are started and then tested until they are done, so that a member that is dead or late
ends the waiting: MPI itself would wait for ever.  Sockets beside MPI watch over the members
(`links.py`).  Before each collective the members compare what they are about to do.  Large sums of
processes on one host are made in memory that they share (`arena.py`): 16 gradients of a GPT take
2.2 to 3 ms with MPICH, and 0.7 ms so.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from taper.arrays.native import native
from taper.distributed.backends import arena as arenas
from taper.distributed.backends.base import Arrays, Patience, average, was_late
from taper.distributed.backends.fingerprints import different, fingerprint
from taper.distributed.backends.links import Links
from taper.distributed.backends.staging import takes_arrays_of_devices
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.stores import DistBackendError, Store

_SPIN = 1e-4  # seconds of testing without a pause
_NAP = 50e-6
_LOOK = 0.02  # seconds between looks whether the others are still there
_SHARED = (np.dtype(np.float32), np.dtype(np.float64))  # what native code adds up
_LARGE = 1 << 16  # bytes from which on that takes less time than MPI
_PROGRESS = 1e-3  # seconds after which MPI gets its turn while that goes on
_LAST_WORDS = 5.0  # seconds that the end of MPI may take


class _State:
    """What this process knows of MPI."""

    module: Any = None
    is_broken = False
    links: list[Links] = []  # noqa: RUF012 - of groups that have not ended


def mpi() -> Any:
    """Return mpi4py's module, with MPI ready for threads and for an end of our own."""
    if _State.module is None:
        # late: an extra
        import mpi4py

        mpi4py.rc.finalize = False  # see `_end`
        # late: importing this starts MPI
        from mpi4py import MPI

        _State.module = MPI
        atexit.register(_end)
        MPI.COMM_WORLD.Barrier()
        _take_names_away()
    return _State.module


def _take_names_away() -> None:
    """Remove the names of the memory that MPICH shares, now that all processes have mapped it.

    MPICH would do so at its end, which a process that is killed does not see.
    """
    try:
        with open("/proc/self/maps") as file:
            paths = {line.split()[-1] for line in file if "/dev/shm/mpich_shm_" in line}
    except OSError:  # not Linux
        return
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _end() -> None:
    """End MPI, unless somebody has failed: then the others would never come, and this one hang."""
    if _State.module.Is_finalized() or _State.is_broken or hasattr(sys, "last_type"):
        return
    for each in _State.links:
        if not each.all_have_left(_LAST_WORDS):
            return
    _State.module.Finalize()


class Message:
    """A message that MPI carries."""

    def __init__(self, owner: Mpi, request: Any, array: np.ndarray, name: str) -> None:
        self._owner, self._request, self._array, self._name = owner, request, array, name
        self.source = -1

    def is_done(self) -> bool:
        """Return whether the message has arrived; raise if it never will."""
        if self._request is not None:
            status = mpi().Status()
            if not self._owner.test(self._request, status):
                return False
            self._request = None
            self.source = status.Get_source()
            if self._name == "recv" and status.Get_count(mpi().BYTE) != self._array.nbytes:
                raise DistBackendError(
                    f"recv: rank {self.source} sent {status.Get_count(mpi().BYTE)} bytes, but the "
                    f"tensor has {self._array.nbytes} of {self._array.dtype.name}"
                )
        return True

    def wait(self, seconds: float) -> None:
        """Wait for the message; raise after so many seconds."""
        self._owner.persist(self.is_done, Patience(self._name, seconds))


@functools.lru_cache(maxsize=256)  # a training loop does the same again and again
def _compared(
    operation: str, dtype: Any, count: int, root: int, op: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a member is about to do as numbers, and these with their opposites."""
    own = fingerprint(operation, dtype, count, root, op)
    return own, np.concatenate([own, -own])


@takes_arrays_of_devices
class Mpi:
    """A member of a group that MPI carries."""

    name = "mpi"

    def __init__(self, store: Store, ranks: Sequence[int], rank: int, seconds: float) -> None:
        world = mpi().COMM_WORLD
        if world.Get_rank() != ranks[rank] or world.Get_size() <= max(ranks):
            raise DistBackendError(
                f"mpi: MPI started {world.Get_size()} processes and calls this one rank "
                f"{world.Get_rank()}, but init_process_group says rank {ranks[rank]}"
            )
        self.rank, self.size, self.seconds = rank, len(ranks), seconds
        self._links = Links(store, rank, self.size, seconds, is_star=True)
        self.averages = native is not None and self.size > 1 and self._links.is_on_one_host()
        self._arena = arenas.shared(self._links) if self.averages else None
        self._links.start()
        _State.links.append(self._links)
        self._comm = world.Create_group(world.Get_group().Incl(list(ranks)))

    # --- waiting -------------------------------------------------------------------------------

    def test(self, request: Any, status: Any = None) -> bool:
        """Return whether a request is done."""
        try:
            return bool(request.Test(status))
        except mpi().Exception as error:
            _State.is_broken = True
            raise DistBackendError(f"mpi: {error}") from None

    def persist(self, is_done: Any, patience: Patience) -> None:
        """Test until it is done; raise if a member is dead, or after the time of the operation."""
        if is_done():
            return
        is_polite = threading.current_thread() is not threading.main_thread()
        begun = look = time.monotonic()
        while not is_done():
            now = time.monotonic()
            # The core may be needed by the one that is waited for, or by the main thread.
            if is_polite or now - begun > _LOOK:
                time.sleep(_NAP)
            elif now - begun > _SPIN:
                os.sched_yield()
            if now - look > _LOOK:
                look = now
                self._check(is_done, patience)
                if now > patience.until:
                    self._give_up(patience)

    def _give_up(self, patience: Patience) -> NoReturn:
        """Raise, because the time of an operation is over."""
        _State.is_broken = True
        late = self._links.behind()
        if self._links.problem is not None:
            raise self._links.named_problem(patience.operation)
        problem = was_late(patience.operation, late, patience.seconds, self.rank)
        self._links.tell(problem)
        raise problem

    def _check(self, is_done: Any, patience: Patience) -> None:
        try:
            self._links.check(patience.operation, range(self.size))
        except DistBackendError as error:
            if is_done():
                return
            _State.is_broken = True
            self._links.tell(error)
            raise

    def _finish(self, request: Any, patience: Patience) -> None:
        self.persist(lambda: self.test(request), patience)

    def _begin(self, operation: str, dtype: Any, count: int, root: int, op: Any) -> Patience:
        """Compare what all members are about to do."""
        self._links.calls += 1
        patience = Patience(f"{operation} (number {self._links.calls} of the group)", self.seconds)
        if self._links.problem is not None:
            raise self._links.named_problem(patience.operation)
        if self.size > 1:
            # The least of all and of their opposites are one's own if all are equal.
            own, both = _compared(operation, dtype, count, root, op)
            least = np.empty_like(both)
            self._finish(self._comm.Iallreduce(both, least, mpi().MIN), patience)
            if least.tobytes() != both.tobytes():
                table = np.empty((self.size, 5), np.int64)
                self._finish(self._comm.Iallgather(own, table), patience)
                raise different(table)
        return patience

    # --- collectives ---------------------------------------------------------------------------

    def barrier(self) -> None:
        """Wait for all members."""
        self._begin("BARRIER", None, 0, -1, None)

    def late(self, seconds: float, only_first: bool) -> list[int]:
        """Wait for all members so long; return who did not come."""
        limit, self.seconds = self.seconds, seconds
        try:
            self._begin("BARRIER", None, 0, -1, None)
        except DistBackendError:
            if self._links.gone or self._links.problem is None:
                raise
            return self._links.behind() or [0]
        finally:
            self.seconds = limit
        return []

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> None:
        """Combine the arrays of all members, for all."""
        patience = self._begin("ALLREDUCE", array.dtype, array.size, -1, op)
        if not self._reduce_here((array,), op, patience):
            self._reduce(array, op, patience, None)

    def all_reduce_each(self, arrays: Arrays, op: RedOpType) -> None:
        """Do the same with several arrays of one dtype: compared once, all sent at once."""
        count = sum(each.size for each in arrays)
        patience = self._begin("ALLREDUCE", arrays[0].dtype, count, -1, op)
        if self._reduce_here(tuple(arrays), op, patience):
            return
        forms = [_for_mpi(each, op) for each in arrays]
        going = [self._comm.Iallreduce(mpi().IN_PLACE, form, kind) for form, kind in forms]
        for array, (form, _), request in zip(arrays, forms, going, strict=True):
            self._finish(request, patience)
            if not np.may_share_memory(form, array):
                array[:] = form
            average(array, op, self.size)

    def _reduce_here(
        self, arrays: tuple[np.ndarray, ...], op: RedOpType, patience: Patience
    ) -> bool:
        """Combine large arrays in the memory that processes of one host share, if they do."""
        arena = self._arena
        if arena is None or arrays[0].dtype not in _SHARED:
            return False
        if sum(each.nbytes for each in arrays) < _LARGE:
            return False
        arena.next_round()

        def check() -> None:
            self._comm.Iprobe()  # lets MPI go on with messages that others wait for
            self._links.check(patience.operation, range(self.size))

        left = max(0.0, patience.left())
        try:
            result, late = arena.reduce(arrays, op.value, 0, left, check, _PROGRESS)
        except DistBackendError as error:
            _State.is_broken = True
            self._links.tell(error)
            raise
        if late:
            self._give_up(patience)
        return result is not None

    def reduce(self, array: np.ndarray, root: int, op: RedOpType) -> None:
        """Combine the arrays of all members, for one of them."""
        patience = self._begin("REDUCE", array.dtype, array.size, root, op)
        self._reduce(array, op, patience, root)

    def _reduce(
        self, array: np.ndarray, op: RedOpType, patience: Patience, root: int | None
    ) -> None:
        form, kind = _for_mpi(array, op)
        if root is None:
            request = self._comm.Iallreduce(mpi().IN_PLACE, form, kind)
        elif root == self.rank:
            request = self._comm.Ireduce(mpi().IN_PLACE, form, kind, root)
        else:
            request = self._comm.Ireduce(form, None, kind, root)
        self._finish(request, patience)
        if not np.may_share_memory(form, array):
            array[:] = form
        if root in (None, self.rank):
            average(array, op, self.size)

    def broadcast(self, array: np.ndarray, root: int) -> None:
        """Give the array of one member to all."""
        patience = self._begin("BROADCAST", array.dtype, array.size, root, None)
        self._finish(self._comm.Ibcast(_bytes(array), root), patience)

    def all_gather(self, outputs: Arrays, array: np.ndarray) -> None:
        """Collect the arrays of all members, for all."""
        patience = self._begin("ALLGATHER", array.dtype, array.size, -1, None)
        together, is_copy = _joined(outputs)
        self._finish(self._comm.Iallgather(_bytes(array), _bytes(together)), patience)
        _spread(together, outputs, is_copy)

    def gather(self, outputs: Arrays | None, array: np.ndarray, root: int) -> None:
        """Collect the arrays of all members, for one of them."""
        patience = self._begin("GATHER", array.dtype, array.size, root, None)
        if outputs is None or self.rank != root:
            self._finish(self._comm.Igather(_bytes(array), None, root), patience)
            return
        together, is_copy = _joined(outputs)
        self._finish(self._comm.Igather(_bytes(array), _bytes(together), root), patience)
        _spread(together, outputs, is_copy)

    def scatter(self, array: np.ndarray, inputs: Arrays | None, root: int) -> None:
        """Give each member one of the arrays that one of them has."""
        patience = self._begin("SCATTER", array.dtype, array.size, root, None)
        given = _bytes(_joined(inputs, True)[0]) if inputs else None
        self._finish(self._comm.Iscatter(given, _bytes(array), root), patience)

    def reduce_scatter(self, output: np.ndarray, inputs: Arrays, op: RedOpType) -> None:
        """Combine the arrays of all members place by place, and give each member one place."""
        patience = self._begin("REDUCE_SCATTER", output.dtype, output.size, -1, op)
        together, kind = _for_mpi(_joined(inputs, True)[0], op)
        target = np.empty(len(together) // self.size, together.dtype)
        request = self._comm.Ireduce_scatter_block(together, target, kind)
        self._finish(request, patience)
        output[:] = target if target.dtype == output.dtype else _as(target, output)
        average(output, op, self.size)

    def all_to_all(self, outputs: Arrays, inputs: Arrays) -> None:
        """Send one array from each member to each."""
        patience = self._begin("ALLTOALL", inputs[0].dtype, -1, -1, None)
        sent = [each.nbytes for each in inputs]
        taken = [each.nbytes for each in outputs]
        self._compare_lengths(sent, taken, patience)
        together, is_copy = _joined(outputs)
        request = self._comm.Ialltoallv(
            [_bytes(_joined(inputs, True)[0])[0], sent, mpi().BYTE],
            [_bytes(together)[0], taken, mpi().BYTE],
        )
        self._finish(request, patience)
        _spread(together, outputs, is_copy)

    def _compare_lengths(self, sent: list[int], taken: list[int], patience: Patience) -> None:
        own = np.array([sent, taken], np.int64)
        table = np.empty((self.size, 2, self.size), np.int64)
        self._finish(self._comm.Iallgather(own, table), patience)
        wrong = np.argwhere(table[:, 0] != table[:, 1].T)
        if len(wrong):
            source, to = map(int, wrong[0])
            raise DistBackendError(
                f"ALLTOALL: rank {source} sends {table[source, 0, to]} bytes to rank {to}, which "
                f"has room for {table[to, 1, source]}"
            )

    # --- messages ------------------------------------------------------------------------------

    def send(self, array: np.ndarray, to: int, tag: int) -> Message:
        """Begin to send an array to a member."""
        return Message(self, self._comm.Isend(_bytes(array), to, tag), array, "send")

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Message:
        """Begin to receive an array from a member, or from anybody."""
        whom = mpi().ANY_SOURCE if source is None else source
        return Message(self, self._comm.Irecv(_bytes(array), whom, tag), array, "recv")

    def close(self) -> None:
        """Leave the group."""
        if self._links.problem is None:
            _State.links.remove(self._links)
        self._links.close()


def _bytes(array: np.ndarray) -> list[Any]:
    return [array.view(np.uint8).reshape(-1), mpi().BYTE]


@functools.cache  # a table made at each call took 2 us of 9
def _operations() -> dict[RedOpType, Any]:
    """Return how MPI calls what it can do with numbers."""
    kinds = mpi()
    return {
        RedOpType.SUM: kinds.SUM,
        RedOpType.AVG: kinds.SUM,
        RedOpType.PRODUCT: kinds.PROD,
        RedOpType.MIN: kinds.MIN,
        RedOpType.MAX: kinds.MAX,
        RedOpType.BAND: kinds.BAND,
        RedOpType.BOR: kinds.BOR,
        RedOpType.BXOR: kinds.BXOR,
    }


def _for_mpi(array: np.ndarray, op: RedOpType) -> tuple[np.ndarray, Any]:
    """Return the array as numbers that MPI can combine, in its own memory or a copy, and how."""
    kinds = mpi()
    if array.dtype == np.bool_:
        either = op in (RedOpType.SUM, RedOpType.MAX, RedOpType.BOR)
        both = kinds.BXOR if op is RedOpType.BXOR else kinds.BAND
        return array.view(np.uint8), kinds.BOR if either else both
    if array.dtype.kind == "c":
        return array.view(array.real.dtype), _operations()[op]
    if array.dtype.itemsize == 2:  # half precision, which MPI does not know
        return array.astype(np.float32), _operations()[op]
    return array, _operations()[op]


def _as(result: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Return a result of `_for_mpi` in the dtype of the output."""
    if output.dtype.itemsize == 2:
        return result.astype(output.dtype)
    return result.view(output.dtype)


def _joined(arrays: Arrays, is_read: bool = False) -> tuple[np.ndarray, bool]:
    """Return arrays as one, and whether it is a copy: those that lie side by side need none."""
    place = arrays[0].ctypes.data
    for each in arrays:
        if each.ctypes.data != place:
            break
        place += each.nbytes
    else:
        length = sum(each.size for each in arrays)
        first = arrays[0]
        if isinstance(first.base, np.ndarray) and length:
            return np.lib.stride_tricks.as_strided(first, (length,), (first.itemsize,)), False
    if is_read:
        return np.concatenate(arrays), True
    return np.empty(sum(each.size for each in arrays), arrays[0].dtype), True


def _spread(together: np.ndarray, outputs: Arrays, is_copy: bool) -> None:
    if is_copy:
        place = 0
        for each in outputs:
            each[:] = together[place : place + each.size]
            place += each.size
