"""NCCL, through CuPy: collectives between GPUs, a communicator for each group.

An operation is put on a stream of the group, behind what computes its arrays, and the stream is
asked until it is done, so that a member that is dead or late ends the waiting; the communicator is
then given up, since NCCL itself would wait for ever.  Arrays of the device are carried where they
lie; those that lie in the processor's memory are copied to the device and back.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from taper.arrays.foreign import is_foreign
from taper.distributed.backends.base import Arrays, Patience, average, was_late
from taper.distributed.backends.links import Links
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.stores import DistBackendError, Store
from taper.gpu import state

_NAP = 50e-6
_LOOK = 0.02  # seconds between looks whether the others are still there

# NCCL's numbers of element types; those without one travel as bytes where nothing is combined.
_DTYPES = {
    "int8": 0,
    "uint8": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
_OPS = {
    RedOpType.SUM: 0,
    RedOpType.AVG: 0,  # and a division at the end
    RedOpType.PRODUCT: 1,
    RedOpType.MAX: 2,
    RedOpType.MIN: 3,
}


def libraries() -> Any:
    """Return CuPy, if it is there with NCCL and a device; else None."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        # late: an extra
        import cupy

        # late: CuPy without NCCL has no such module
        from cupy.cuda import nccl

        return cupy if nccl.available and cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # no driver, no device, another CUDA
        return None


def _own_device(cupy: Any, rank: int) -> int:
    """Return the number of the device that this process works on."""
    count = cupy.cuda.runtime.getDeviceCount()
    return int(os.environ.get("LOCAL_RANK", rank)) % int(count)


def _communicator(nccl: Any, size: int, name: bytes, rank: int) -> Any:
    try:
        return nccl.NcclCommunicator(size, name, rank)
    except TypeError:  # before CuPy 14 a name was a tuple of signed characters
        signed = tuple(each - 256 if each > 127 else each for each in name)
        return nccl.NcclCommunicator(size, signed, rank)


class Received:
    """A message that is on its way on the group's stream."""

    source = -1

    def __init__(self, owner: Nccl, finish: Callable[[Patience], None], name: str) -> None:
        self._owner, self._finish, self._name = owner, finish, name
        self._is_over = False

    def is_done(self) -> bool:
        """Return whether the message has arrived."""
        return self._is_over or self._owner.is_idle()

    def wait(self, seconds: float) -> None:
        """Wait for the message; raise after so many seconds."""
        if not self._is_over:
            self._finish(Patience(self._name, seconds))
            self._is_over = True


class Nccl:
    """A member of a group that NCCL carries."""

    name = "nccl"
    averages = False

    def __init__(
        self, store: Store, rank: int, size: int, seconds: float, cupy: Any = None
    ) -> None:
        self._cupy = cupy or libraries()
        if self._cupy is None:
            raise RuntimeError("Distributed package doesn't have NCCL built in")
        self.rank, self.size, self.seconds = rank, size, seconds
        self._links = Links(store, rank, size, seconds, is_star=True)
        self._links.start()
        nccl = self._cupy.cuda.nccl
        if rank == 0:
            store.set("nccl", bytes(each & 0xFF for each in nccl.get_unique_id()))
        given = store.get("nccl")
        self._device = self._cupy.cuda.Device(_own_device(self._cupy, rank))
        self._device.use()
        self._stream = self._cupy.cuda.Stream(non_blocking=True)
        self._comm = _communicator(nccl, size, given, rank)

    # --- arrays and waiting ----------------------------------------------------------------------

    def _on_device(self, array: np.ndarray) -> Any:
        """Return the array as one of CuPy's: on its own memory, or a copy."""
        if is_foreign(array):
            if self._device.id:
                raise RuntimeError(
                    "tensors are on the first GPU that a process sees: let each process see its "
                    "own, by CUDA_VISIBLE_DEVICES"
                )
            runtime = state.runtime
            event = runtime.new_event(False, False)
            runtime.record_event(event, runtime.stream)
            runtime.let_wait(self._stream.ptr, event)
            runtime.drop_event(event)
            return runtime.lend(array)
        plain: Any = array if array.dtype.kind != "V" else array.view(np.uint8)
        if str(array.dtype) == "bfloat16":
            plain = array.view(np.uint16)
        with self._stream:
            return self._cupy.asarray(plain)

    def _back(self, held: Any, array: Any) -> None:
        """Write what came for an array into it, if it is not there already."""
        if not is_foreign(array):
            array[...] = self._cupy.asnumpy(held).view(array.dtype).reshape(array.shape)
            return
        own = state.runtime.lend(array)
        if own.data.ptr != held.data.ptr:
            with self._stream:
                own[...] = held.reshape(own.shape)
            self._stream.synchronize()

    @staticmethod
    def _kind(array: Any, is_combined: bool) -> tuple[int, int]:
        """Return NCCL's element type and count."""
        name = str(array.dtype)
        if name.startswith("complex"):
            return _DTYPES["float32" if name == "complex64" else "float64"], 2 * array.size
        if name in _DTYPES:
            return _DTYPES[name], array.size
        if is_combined and name != "bool":
            raise DistBackendError(f"nccl: elements of {name} cannot be combined")
        return _DTYPES["uint8"], array.size * array.itemsize

    @staticmethod
    def _op(op: RedOpType) -> int:
        if op not in _OPS:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with NCCL")
        return _OPS[op]

    def is_idle(self) -> bool:
        """Return whether all that was put on the stream is done."""
        return bool(self._stream.done)

    def _finish(self, patience: Patience) -> None:
        """Wait until the stream is done; give up if a member is dead or late."""
        look = time.monotonic()
        while not self.is_idle():
            now = time.monotonic()
            if now - look > _LOOK:
                look = now
                try:
                    self._links.check(patience.operation, range(self.size))
                except DistBackendError as error:
                    self._give_up(error)
                if now > patience.until:
                    late = self._links.behind()
                    self._give_up(was_late(patience.operation, late, patience.seconds, self.rank))
            time.sleep(_NAP)

    def _give_up(self, problem: DistBackendError) -> NoReturn:
        self._comm.abort()
        self._links.tell(problem)
        raise problem

    def _begin(self, operation: str) -> Patience:
        self._device.use()  # of this thread
        self._links.calls += 1
        patience = Patience(f"{operation} (number {self._links.calls} of the group)", self.seconds)
        if self._links.problem is not None:
            raise self._links.named_problem(patience.operation)
        return patience

    # --- collectives -----------------------------------------------------------------------------

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> None:
        """Combine the arrays of all members, for all."""
        patience, kind = self._begin("ALLREDUCE"), self._op(op)
        held, (dtype, count) = self._on_device(array), self._kind(array, True)
        place = held.data.ptr
        self._comm.allReduce(place, place, count, dtype, kind, self._stream.ptr)
        self._finish(patience)
        self._back(held, array)
        average(array, op, self.size)

    def all_reduce_each(self, arrays: Arrays, op: RedOpType) -> None:
        """Do the same with several arrays of one dtype."""
        for each in arrays:
            self.all_reduce(each, op)

    def reduce(self, array: np.ndarray, root: int, op: RedOpType) -> None:
        """Combine the arrays of all members, for one of them."""
        patience, kind = self._begin("REDUCE"), self._op(op)
        held, (dtype, count) = self._on_device(array), self._kind(array, True)
        place = held.data.ptr
        self._comm.reduce(place, place, count, dtype, kind, root, self._stream.ptr)
        self._finish(patience)
        if root == self.rank:
            self._back(held, array)
            average(array, op, self.size)

    def broadcast(self, array: np.ndarray, root: int) -> None:
        """Give the array of one member to all."""
        patience = self._begin("BROADCAST")
        held, (dtype, count) = self._on_device(array), self._kind(array, False)
        place = held.data.ptr
        self._comm.broadcast(place, place, count, dtype, root, self._stream.ptr)
        self._finish(patience)
        self._back(held, array)

    def all_gather(self, outputs: Arrays, array: np.ndarray) -> None:
        """Collect the arrays of all members, for all."""
        patience = self._begin("ALLGATHER")
        held, (dtype, count) = self._on_device(array), self._kind(array, False)
        with self._stream:
            rows = self._cupy.empty((self.size, *held.shape), held.dtype)
        self._comm.allGather(held.data.ptr, rows.data.ptr, count, dtype, self._stream.ptr)
        self._finish(patience)
        for row, output in zip(rows, outputs, strict=True):
            self._back(row, output)

    def reduce_scatter(self, output: np.ndarray, inputs: Arrays, op: RedOpType) -> None:
        """Combine the arrays of all members place by place, and give each member one place."""
        patience, kind = self._begin("REDUCE_SCATTER"), self._op(op)
        given = [self._on_device(each) for each in inputs]
        with self._stream:
            rows = self._cupy.stack(given)
        held, (dtype, count) = self._on_device(output), self._kind(output, True)
        self._comm.reduceScatter(rows.data.ptr, held.data.ptr, count, dtype, kind, self._stream.ptr)
        self._finish(patience)
        self._back(held, output)
        average(output, op, self.size)

    def barrier(self) -> None:
        """Wait for all members."""
        self.all_reduce(np.zeros(1, np.int32), RedOpType.SUM)

    def late(self, seconds: float, only_first: bool) -> list[int]:
        """Wait for all members so long; return who did not come."""
        limit, self.seconds = self.seconds, seconds
        try:
            self.barrier()
        except DistBackendError:
            if self._links.gone:
                raise
            return self._links.behind() or [0]
        finally:
            self.seconds = limit
        return []

    # --- what is made of messages ----------------------------------------------------------------

    def _exchange(
        self, operation: str, sent: Sequence[tuple[int, Any]], taken: Sequence[tuple[int, Any]]
    ) -> None:
        """Send arrays to members and receive from members, all at once."""
        patience, nccl, stream = self._begin(operation), self._cupy.cuda.nccl, self._stream.ptr
        held = [(self._on_device(each), each) for _, each in taken]
        sources = [self._on_device(each) for _, each in sent]
        nccl.groupStart()
        for (rank, array), place in zip(sent, sources, strict=True):
            dtype, count = self._kind(array, False)
            self._comm.send(place.data.ptr, count, dtype, rank, stream)
        for (rank, array), (place, _) in zip(taken, held, strict=True):
            dtype, count = self._kind(array, False)
            self._comm.recv(place.data.ptr, count, dtype, rank, stream)
        nccl.groupEnd()
        self._finish(patience)
        for place, array in held:
            self._back(place, array)

    def gather(self, outputs: Arrays | None, array: np.ndarray, root: int) -> None:
        """Collect the arrays of all members, for one of them."""
        taken = list(enumerate(outputs)) if outputs is not None and self.rank == root else []
        self._exchange("GATHER", [(root, array)], taken)

    def scatter(self, array: np.ndarray, inputs: Arrays | None, root: int) -> None:
        """Give each member one of the arrays that one of them has."""
        sent = list(enumerate(inputs)) if inputs is not None and self.rank == root else []
        self._exchange("SCATTER", sent, [(root, array)])

    def all_to_all(self, outputs: Arrays, inputs: Arrays) -> None:
        """Send one array from each member to each."""
        self._exchange("ALLTOALL", list(enumerate(inputs)), list(enumerate(outputs)))

    def send(self, array: np.ndarray, to: int, tag: int) -> Received:
        """Begin to send an array to a member; NCCL knows no tags, so messages keep their order."""
        held, (dtype, count) = self._on_device(array), self._kind(array, False)
        self._comm.send(held.data.ptr, count, dtype, to, self._stream.ptr)

        def finish(patience: Patience) -> None:
            self._finish(patience)
            held.shape  # noqa: B018 - which keeps the copy until then

        return Received(self, finish, "send")

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Received:
        """Begin to receive an array from a member."""
        if source is None:
            raise RuntimeError("recvAnysource is not supported by NCCL")
        held, (dtype, count) = self._on_device(array), self._kind(array, False)
        self._comm.recv(held.data.ptr, count, dtype, source, self._stream.ptr)

        def finish(patience: Patience) -> None:
            self._finish(patience)
            self._back(held, array)

        made = Received(self, finish, "recv")
        made.source = source
        return made

    def close(self) -> None:
        """Leave the group."""
        if self._links.problem is None:
            self._comm.destroy()
        self._links.close()
