"""The nccl backend on a stand-in for CuPy, whose members are threads: which calls it makes."""

from __future__ import annotations

import queue
import threading
import types

import numpy as np
import pytest

from taper import distributed as dist
from taper.distributed.backends.nccl import Nccl
from taper.distributed.reduce_ops import RedOpType as R

DTYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32]
DTYPES += [np.float64]
SUMS = {0: np.sum, 1: np.prod, 2: np.max, 3: np.min}
SIZE = 2


class Held(np.ndarray):
    """An array on the device: an address is what the communicator sees of it."""

    known: dict = {}  # noqa: RUF012

    @property
    def data(self):
        place = self.ctypes.data
        Held.known[place] = self
        return types.SimpleNamespace(ptr=place)


def at(place, count, dtype):
    """The elements at an address."""
    flat = Held.known[place].view(np.ndarray).reshape(-1)
    return flat.view(DTYPES[dtype])[:count] if dtype < 9 else flat[:count]


class Communicator:
    """A member of a group of threads that meet."""

    takes_bytes = True
    meeting = threading.Barrier(SIZE)
    tables: dict = {}  # noqa: RUF012
    calls: list = []  # noqa: RUF012

    def __init__(self, size, name, rank):
        if isinstance(name, bytes) != Communicator.takes_bytes:
            raise TypeError("Argument 'commId' has incorrect type")
        assert len(name) == 128 and name[0] == (255 if Communicator.takes_bytes else -1)
        self.rank = rank

    def _meet(self, given):
        self.tables[self.rank] = given
        self.meeting.wait(10)
        found = [self.tables[rank] for rank in range(SIZE)]
        self.meeting.wait(10)
        return found

    def allReduce(self, sent, taken, count, dtype, op, stream):
        self.calls.append(("allReduce", count, dtype, op))
        found = self._meet(at(sent, count, dtype).copy())
        at(taken, count, dtype)[:] = SUMS[op](found, axis=0)

    def reduce(self, sent, taken, count, dtype, op, root, stream):
        found = self._meet(at(sent, count, dtype).copy())
        if self.rank == root:
            at(taken, count, dtype)[:] = SUMS[op](found, axis=0)

    def broadcast(self, sent, taken, count, dtype, root, stream):
        at(taken, count, dtype)[:] = self._meet(at(sent, count, dtype).copy())[root]

    def allGather(self, sent, taken, count, dtype, stream):
        found = self._meet(at(sent, count, dtype).copy())
        at(taken, count * SIZE, dtype)[:] = np.concatenate(found)

    def reduceScatter(self, sent, taken, count, dtype, op, stream):
        found = self._meet(at(sent, count * SIZE, dtype).copy().reshape(SIZE, count))
        at(taken, count, dtype)[:] = SUMS[op]([each[self.rank] for each in found], axis=0)

    mail = {(a, b): queue.Queue() for a in range(SIZE) for b in range(SIZE)}  # noqa: RUF012

    def send(self, place, count, dtype, to, stream):
        self.mail[self.rank, to].put(at(place, count, dtype).copy())

    def recv(self, place, count, dtype, source, stream):
        self.pending = [*getattr(self, "pending", []), (place, count, dtype, source)]

    def deliver(self):
        for place, count, dtype, source in getattr(self, "pending", []):
            at(place, count, dtype)[:] = self.mail[source, self.rank].get(timeout=10)
        self.pending = []

    def abort(self):
        pass

    destroy = abort


def cupy_for(made):
    """A module that looks like CuPy."""

    class Stream:
        ptr = 1

        def __init__(self, non_blocking):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        @property
        def done(self):
            made["comm"].deliver()
            return True

    def communicator(*arguments):
        made["comm"] = Communicator(*arguments)
        return made["comm"]

    nccl = types.SimpleNamespace(
        get_unique_id=lambda: (-1,) * 128,
        NcclCommunicator=communicator,
        groupStart=lambda: None,
        groupEnd=lambda: None,
    )
    device = types.SimpleNamespace(use=lambda: None)
    cuda = types.SimpleNamespace(
        nccl=nccl,
        Stream=Stream,
        Device=lambda number: device,
        runtime=types.SimpleNamespace(getDeviceCount=lambda: SIZE),
    )
    return types.SimpleNamespace(
        cuda=cuda,
        asarray=lambda array: np.array(array).view(Held),
        asnumpy=lambda held: np.array(held),
        empty=lambda shape, dtype: np.empty(shape, dtype).view(Held),
        stack=lambda arrays: np.stack(arrays).view(Held),
    )


def members(do):
    """Run a function in both members of a group; return what they found."""
    store, results = dist.HashStore(), [None] * SIZE

    def run(rank):
        own = Nccl(store, rank, SIZE, 20.0, cupy_for({}))
        try:
            results[rank] = do(own)
        except Exception as error:
            results[rank] = error
        finally:
            own.close()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(SIZE)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    for each in results:
        if isinstance(each, Exception):
            raise each
    return results


@pytest.mark.parametrize("takes_bytes", [True, False])
def test_reductions(takes_bytes, monkeypatch):
    monkeypatch.setattr(Communicator, "takes_bytes", takes_bytes)

    def do(own):
        total = np.arange(3, dtype=np.float32) + own.rank
        own.all_reduce(total, R.SUM)
        mean = np.full(2, float(own.rank))
        own.all_reduce(mean, R.AVG)
        most = np.array([own.rank, 5 - own.rank], np.int64)
        own.reduce(most, 0, R.MAX)
        part = np.zeros(2, np.float32)
        rows = [np.full(2, own.rank + 1, np.float32), np.full(2, 10.0 + own.rank, np.float32)]
        own.reduce_scatter(part, rows, R.SUM)
        return total.tolist(), mean.tolist(), most.tolist(), part.tolist()

    one, two = members(do)
    assert one == ([1, 3, 5], [0.5, 0.5], [1, 5], [3, 3])
    assert two == ([1, 3, 5], [0.5, 0.5], [1, 4], [21, 21])
    assert ("allReduce", 3, 7, 0) in Communicator.calls


def test_moving():
    def do(own):
        given = np.array([own.rank, 7], np.int32)
        own.broadcast(given, 1)
        rows = [np.zeros(1), np.zeros(1)]
        own.all_gather(rows, np.array([own.rank + 0.5]))
        swapped = [np.zeros(1, np.int64), np.zeros(1, np.int64)]
        own.all_to_all(swapped, [np.array([10 * own.rank]), np.array([10 * own.rank + 1])])
        got = np.zeros(1)
        if own.rank:
            own.receive(got, 0, 0).wait(10)
        else:
            own.send(np.array([3.0]), 1, 0).wait(10)
        own.barrier()
        return given.tolist(), np.concatenate(rows).tolist(), np.concatenate(swapped).tolist(), got

    one, two = members(do)
    assert one[:3] == ([1, 7], [0.5, 1.5], [0, 10])
    assert two[:3] == ([1, 7], [0.5, 1.5], [1, 11]) and two[3] == 3.0


def test_what_nccl_does_not_have():
    def do(own):
        with pytest.raises(RuntimeError, match="Cannot use ReduceOp.BAND with NCCL"):
            own.all_reduce(np.zeros(1, np.int32), R.BAND)
        with pytest.raises(RuntimeError, match="recvAnysource"):
            own.receive(np.zeros(1), None, 0)

    members(do)


def test_without_a_device_the_error_is_pytorchs():
    with pytest.raises(RuntimeError, match="^Distributed package doesn't have NCCL built in$"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized() and not dist.is_nccl_available()
