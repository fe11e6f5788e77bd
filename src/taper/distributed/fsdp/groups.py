"""Parameters of a module that are gathered and divided together.

Each process has a part of every parameter.  `gather` makes the whole ones, in memory that `divide`
gives back; `reduce` averages the gradients of the whole ones over the processes and leaves each its
part.  How parameters are divided is the business of the two kinds below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from taper.autograd.views import version_counter
from taper.distributed import collectives, exchanges
from taper.distributed.device_mesh import DeviceMesh
from taper.distributed.fsdp.room import Room
from taper.distributed.groups import ProcessGroup
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.tensor import DTensor, Placement, Replicate, Shard
from taper.distributed.tensor.placement_types import part_of
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.tensor import Tensor, wrap

Holders = list[tuple[Module, str]]

# Whose gradients are on their way: one at a time, so that only one has its whole gradients.
_REDUCING: WeakKeyDictionary[ProcessGroup, ShardedGroup] = WeakKeyDictionary()


class Entry:
    """A parameter: who holds it, its part, and its whole form on memory that comes and goes."""

    def __init__(self, param: Tensor, holders: Holders, name: str) -> None:
        self.holders, self.name = holders, name
        self.shape, self.numel = tuple(param.shape), param.numel()
        self.requires_grad = param.requires_grad
        self.whole: Any = None
        self.part: Any = None

    def put(self, tensor: Any) -> None:
        """Let the modules hold this tensor."""
        for module, name in self.holders:
            module._parameters[name] = tensor


class ShardedGroup:
    """Parameters that are gathered together; a base of the two ways of dividing them."""

    def __init__(
        self,
        entries: list[Entry],
        params: Sequence[Tensor],
        shards: ProcessGroup | None,
        replicas: ProcessGroup | None,
        param_dtype: Any = None,
        reduce_dtype: Any = None,
    ) -> None:
        dtypes = {each.dtype for each in params}
        if len(dtypes) > 1:
            raise AssertionError(f"FSDP expects uniform original parameter dtype but got {dtypes}")
        if any(each.is_cuda for each in params):
            raise NotImplementedError(
                "FSDP divides parameters in the memory of the processor: use "
                "DistributedDataParallel, or ZeroRedundancyOptimizer, for a model on a GPU"
            )
        self.entries = entries
        self.shards, self.replicas = shards, replicas
        self.count, self.index = (1, 0) if shards is None else (shards.size(), shards.rank())
        self.dtype = params[0].dtype
        self.param_dtype = param_dtype or self.dtype
        self.reduce_dtype = reduce_dtype or param_dtype or self.dtype
        self.syncs, self.all_reduces, self.divides_after_backward = True, True, True
        self.divide_factor: float | None = None
        self.is_whole = self.is_in_backward = False
        self._arrived: set[int] = set()
        self._versions: Any = None
        self._pending: Callable[[], None] | None = None
        self.room = Room(self.room_size() * self.param_dtype.itemsize)
        self._make_wholes()

    # --- what the two kinds say ----------------------------------------------------------------

    def room_size(self) -> int:
        """Return how many elements the whole parameters take."""
        raise NotImplementedError

    def packed(self) -> np.ndarray:
        """Return the part of this process as one vector."""
        raise NotImplementedError

    def unpack(self, gathered: np.ndarray) -> None:
        """Write the vectors of all processes, a row each, into the memory of the whole ones."""
        raise NotImplementedError

    def packed_grads(self, entries: list[Entry]) -> np.ndarray:
        """Return whole gradients as rows, one for each process."""
        raise NotImplementedError

    def keep_grads(self, entries: list[Entry], own: Tensor) -> None:
        """Add this process's row of gradients to those of its parts."""
        raise NotImplementedError

    def versions(self) -> Any:
        """Return something that changes when a part is written."""
        raise NotImplementedError

    def show_parts(self) -> None:
        """Let the modules hold the parts."""
        for each in self.entries:
            each.put(each.part)

    def show_wholes(self) -> None:
        """Let the modules hold the whole parameters."""
        for each in self.entries:
            each.put(each.whole)

    # --- gathering and dividing ----------------------------------------------------------------

    def _make_wholes(self) -> None:
        memory, place = self.room.bytes.view(self.param_dtype.numpy), 0
        for each in self.entries:
            array = memory[place : place + each.numel].reshape(each.shape)
            each.whole = Parameter(wrap(array), each.requires_grad)
            place += each.numel
            if each.requires_grad:
                self._watch(each)

    def _watch(self, entry: Entry) -> None:
        entry.whole.register_post_accumulate_grad_hook(lambda _: self._arrive(entry))

    def gather(self) -> None:
        """Make the parameters whole, if they are not or their parts have changed."""
        versions = self.versions()
        if self.is_whole and versions == self._versions:
            return
        self.unpack(self.rows_of(self.packed().astype(self.param_dtype.numpy, copy=False)))
        self.room.is_here = True
        self._versions = versions
        if not self.is_whole:
            self.is_whole = True
            self.show_wholes()

    def rows_of(self, own: np.ndarray) -> np.ndarray:
        """Return the vectors of all processes, a row each."""
        if self.shards is None:
            return own.reshape(1, -1)
        rows = np.empty((self.count, own.size), own.dtype)
        exchanges.all_gather_into_tensor(wrap(rows.reshape(-1)), wrap(own), self.shards)
        return rows

    def divide(self) -> None:
        """Keep only the part of this process."""
        if self.is_whole:
            self.is_whole = False
            self.show_parts()
            self.room.give_back()

    # --- gradients -----------------------------------------------------------------------------

    def begin_backward(self) -> None:
        """Make the parameters whole for the backward pass."""
        self.gather()
        if not self.is_in_backward:
            self.is_in_backward = True
            self._arrived.clear()

    def _arrive(self, entry: Entry) -> None:
        self._arrived.add(id(entry))
        wanted = {id(each) for each in self.entries if each.requires_grad}
        # Frozen parameters may still be needed for gradients further down.
        if self.is_in_backward and self._arrived >= wanted and len(wanted) == len(self.entries):
            self.end_backward()

    def end_backward(self) -> None:
        """Reduce what gradients there are, and keep only the part of this process."""
        self.is_in_backward = False
        if self.syncs:
            self.reduce()
        if self.divides_after_backward:
            self.divide()

    def reduce(self) -> None:
        """Average the gradients over the processes; each keeps its part."""
        entries = [each for each in self.entries if each.whole.grad is not None]
        if not entries:
            return
        before = None if self.shards is None else _REDUCING.get(self.shards)
        if before is not None:
            before.finish()
        rows = self.packed_grads(entries)
        for each in entries:
            each.whole.grad = None
        own, work = self._summed_rows(rows)

        def keep() -> None:
            if work is not None:
                work.wait()
            if self.divide_factor is not None:
                own.div_(self.divide_factor)
            if self.replicas is not None and self.all_reduces:
                collectives.all_reduce(own, RedOpType.AVG, self.replicas)
            self.keep_grads(entries, own.to(self.dtype))

        self._pending = keep

    def _summed_rows(self, rows: np.ndarray) -> tuple[Tensor, Any]:
        """Begin to average rows over the processes; return this one's row, and the work."""
        if self.shards is None:
            return wrap(rows[0]), None
        _REDUCING[self.shards] = self
        own = wrap(np.empty(rows.shape[1], rows.dtype))
        op = RedOpType.AVG if self.divide_factor is None else RedOpType.SUM
        flat = wrap(rows.reshape(-1))
        return own, exchanges.reduce_scatter_tensor(own, flat, op, self.shards, async_op=True)

    def finish(self) -> None:
        """Wait for a reduction that is under way."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending()

    def keep(self, part: Any, grad: Any) -> None:
        """Add a gradient to that of a part."""
        before = part.grad
        if before is None:
            part.grad = grad
        else:
            before.add_(grad)


class RowGroup(ShardedGroup):
    """Each parameter is divided along its first dimension; its part is a DTensor."""

    def __init__(
        self, entries: list[Entry], params: Sequence[Tensor], mesh: DeviceMesh, **more: Any
    ):
        shards = mesh.get_group(mesh.ndim - 1)
        replicas = mesh.get_group(0) if mesh.ndim > 1 else None
        self.lengths = [-(-each.shape[0] // shards.size()) for each in entries]
        super().__init__(entries, params, shards, replicas, **more)
        placements: tuple[Placement, ...] = (*[Replicate()] * (mesh.ndim - 1), Shard(0))
        for each, param in zip(entries, params, strict=True):
            begin, length = part_of(each.shape[0], self.count, self.index)
            local = param.detach()[begin : begin + length].clone()
            spread = DTensor._of(local, mesh, placements, each.shape)
            each.part = Parameter(spread, each.requires_grad)
        self.show_parts()

    def room_size(self) -> int:
        return sum(each.numel for each in self.entries)

    def _row(self, entry: Entry, length: int) -> int:
        """Return the elements of a parameter in a row."""
        return length * int(np.prod(entry.shape[1:], dtype=np.int64))

    def packed(self) -> np.ndarray:
        sizes = [self._row(*each) for each in zip(self.entries, self.lengths, strict=True)]
        result = np.zeros(sum(sizes), self.dtype.numpy)
        place = 0
        for each, size in zip(self.entries, sizes, strict=True):
            own = each.part._local_tensor._array
            result[place : place + own.size] = own.reshape(-1)
            place += size
        return result

    def unpack(self, gathered: np.ndarray) -> None:
        place = 0
        for each, length in zip(self.entries, self.lengths, strict=True):
            size = self._row(each, length)
            flat = each.whole._array.reshape(-1)
            for row in range(self.count):
                begin, end = min(row * size, flat.size), min((row + 1) * size, flat.size)
                flat[begin:end] = gathered[row, place : place + end - begin]
            place += size

    def packed_grads(self, entries: list[Entry]) -> np.ndarray:
        sizes = [self._row(each, -(-each.shape[0] // self.count)) for each in entries]
        rows = np.zeros((self.count, sum(sizes)), self.reduce_dtype.numpy)
        place = 0
        for each, size in zip(entries, sizes, strict=True):
            flat = each.whole.grad._array.reshape(-1)
            for row in range(self.count):
                part = flat[row * size : (row + 1) * size]
                rows[row, place : place + part.size] = part
            place += size
        return rows

    def keep_grads(self, entries: list[Entry], own: Tensor) -> None:
        place = 0
        for each in entries:
            local = each.part._local_tensor
            # Of its own memory: the row of all would stay as long as one of them.
            grad = own[place : place + local.numel()].view(local.shape).clone()
            self.keep(local, grad)
            place += self._row(each, -(-each.shape[0] // self.count))

    def versions(self) -> Any:
        return [version_counter(each.part._local_tensor).value for each in self.entries]


class FlatGroup(ShardedGroup):
    """All parameters behind each other as one vector, of which each process has a piece."""

    def __init__(
        self,
        module: Module,
        entries: list[Entry],
        params: Sequence[Tensor],
        shards: ProcessGroup | None,
        replicas: ProcessGroup | None,
        keeps_names: bool,
        **more: Any,
    ) -> None:
        self.module, self.keeps_names = module, keeps_names
        self.total = sum(each.numel for each in entries)
        self.length = -(-self.total // (1 if shards is None else shards.size()))
        super().__init__(entries, params, shards, replicas, **more)
        flat = np.zeros(self.length * self.count, self.dtype.numpy)
        np.concatenate(
            [each.detach()._array.reshape(-1) for each in params], out=flat[: self.total]
        )
        own = flat[self.index * self.length : (self.index + 1) * self.length].copy()
        needs = any(each.requires_grad for each in entries)
        self.flat = Parameter(wrap(own), needs)
        for each, (begin, end) in zip(entries, self.pieces(), strict=True):
            each.part = Parameter(wrap(own[begin:end]), each.requires_grad)
        for each in entries:
            for holder, name in each.holders:
                holder._parameters.pop(name)
        self.show_parts()

    def pieces(self) -> list[tuple[int, int]]:
        """Return where each parameter's elements are in this process's piece."""
        start, found, place = self.index * self.length, [], 0
        for each in self.entries:
            begin = min(max(place - start, 0), self.length)
            place += each.numel
            found.append((begin, min(max(place - start, 0), self.length)))
        return found

    def show_parts(self) -> None:
        if self.keeps_names:
            super().show_parts()
            return
        for each in self.entries:
            for holder, name in each.holders:
                holder._parameters.pop(name, None)
                holder.__dict__[name] = each.whole
        self.module._parameters["_flat_param"] = self.flat

    def show_wholes(self) -> None:
        if self.keeps_names:
            super().show_wholes()

    def show_names(self) -> None:
        """Let the modules list the whole parameters under their names."""
        self.module._parameters.pop("_flat_param", None)
        for each in self.entries:
            for holder, name in each.holders:
                holder.__dict__.pop(name, None)
        super().show_wholes()

    def room_size(self) -> int:
        return self.length * (1 if self.shards is None else self.shards.size())

    def packed(self) -> np.ndarray:
        return self.flat._array

    def unpack(self, gathered: np.ndarray) -> None:
        self.room.bytes.view(self.param_dtype.numpy)[:] = gathered.reshape(-1)

    def packed_grads(self, entries: list[Entry]) -> np.ndarray:
        rows = np.zeros((self.count, self.length), self.reduce_dtype.numpy)
        flat, place = rows.reshape(-1), 0
        for each in self.entries:
            if each.whole.grad is not None:
                flat[place : place + each.numel] = each.whole.grad._array.reshape(-1)
            place += each.numel
        return rows

    def keep_grads(self, entries: list[Entry], own: Tensor) -> None:
        if not self.keeps_names:
            self.keep(self.flat, own)
            return
        for each, (begin, end) in zip(self.entries, self.pieces(), strict=True):
            if each in entries:
                self.keep(each.part, own[begin:end])

    def versions(self) -> Any:
        tensors = [self.flat, *[each.part for each in self.entries]]
        return [version_counter(each).value for each in tensors]

    # --- states of optimizers ------------------------------------------------------------------

    def whole_values(self, own: np.ndarray) -> list[np.ndarray]:
        """Return a vector like this process's piece, gathered, as one array for each parameter."""
        flat = self.rows_of(np.ascontiguousarray(own)).reshape(-1)[: self.total]
        ends = np.cumsum([each.numel for each in self.entries])[:-1]
        arrays = np.split(flat, ends)
        return [a.reshape(e.shape) for a, e in zip(arrays, self.entries, strict=True)]

    def own_piece(self, values: list[np.ndarray]) -> np.ndarray:
        """Return this process's piece of arrays, one for each parameter."""
        flat = np.zeros(self.length * self.count, values[0].dtype)
        np.concatenate([each.reshape(-1) for each in values], out=flat[: self.total])
        return flat[self.index * self.length : (self.index + 1) * self.length].copy()

    def write_back(self) -> None:
        """Take this process's piece from the whole parameters, which somebody has written."""
        memory = self.room.bytes.view(self.param_dtype.numpy)
        own = memory[self.index * self.length : (self.index + 1) * self.length]
        self.flat._array[:] = own
        self._versions = None
