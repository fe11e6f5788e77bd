"""The reducer of `DistributedDataParallel`: gradients of all processes become their average.

A gradient that arrives at its parameter goes into a bucket; a bucket that is full is sent while the
backward pass goes on, or at its end where no core is free for that; then the sums are copied back.
Buckets are sent in the same order by all processes, so a full bucket waits for those before it.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.arrays.strides import empty_with
from taper.autograd.accumulate import layout
from taper.autograd.node import Node
from taper.autograd.state import local
from taper.autograd.views import accumulator, bump_version, gradient_edge
from taper.distributed.buckets import Bucket, GradBucket, compute_bucket_assignment_by_size
from taper.distributed.collectives import all_reduce
from taper.distributed.groups import ProcessGroup
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.reducer_errors import changed_graph, marked_twice, not_finished
from taper.distributed.threads import has_spare_core
from taper.distributed.works import Work
from taper.futures import Future
from taper.tensor import Tensor, wrap

Hook = Callable[[Any, GradBucket], Future[Any]]

_log = logging.getLogger(__name__)
_said: set[str] = set()

_HIGHER_ORDER = (
    "Using DistributedDataParallel with create_graph=True  is not well-supported. The higher-order "
    "gradient will  not be synchronized across ranks, and backpropagation  through all_reduce "
    "operations will not occur. If you require  DDP to work with higher-order gradients for your "
    "use case,  please ping https://github.com/pytorch/pytorch/issues/63929"
)
_ALL_USED = (
    "find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
    "parameters in the forward pass. This flag results in an extra traversal of the autograd graph "
    "every iteration,  which can adversely affect performance. If your model indeed never has any "
    "unused parameters in the forward pass, consider turning this flag off. Note that this warning "
    "may be a false positive if your model has flow control causing later iterations to have "
    "unused parameters."
)


class Reducer:
    """Average the gradients of some parameters over the processes of a group.

    Args:
        params: the parameters.
        bucket_indices: which of them share a bucket.
        per_bucket_size_limits: from how many bytes on each bucket is full.
        process_group: the group.
        expect_sparse_gradients: ignored: gradients are dense.
        bucket_bytes_cap: from how many bytes on the buckets are full that are made after the first
            pass.
        find_unused_parameters: look which parameters a pass will not reach.
        gradient_as_bucket_view: let `.grad` be a part of its bucket.
        param_to_name_mapping: the names of the parameters, for errors.
        first_bucket_bytes_cap: the same for the first of these buckets.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        bucket_indices: Sequence[Sequence[int]],
        per_bucket_size_limits: Sequence[int],
        process_group: ProcessGroup,
        expect_sparse_gradients: Sequence[bool] = (),
        bucket_bytes_cap: int = sys.maxsize,
        find_unused_parameters: bool = False,
        gradient_as_bucket_view: bool = False,
        param_to_name_mapping: dict[int, str] | None = None,
        first_bucket_bytes_cap: int = sys.maxsize,
    ) -> None:
        self._parameters = list(params)
        self._names = param_to_name_mapping or {}
        self._group = process_group
        self._caps = [first_bucket_bytes_cap, bucket_bytes_cap]
        self._finds_unused = find_unused_parameters
        self._is_view = gradient_as_bucket_view
        self._is_static = False
        self._hook: tuple[Any, Hook] | None = None
        self._divisor = float(process_group.size())
        self._join_work: tuple[Any, bool] | None = None
        # A group's thread without a core of its own only delays the pass: 2 processes on 2 cores
        # waited 2.2 ms for the buckets of a GPT, which take 0.3 ms at the end of the pass.
        self._is_lazy = not has_spare_core(process_group.size())
        # A gradient that has just come is in the cache: dividing it later cost 0.6 ms with MPI.
        self._divides = not process_group._transport.averages

        self._is_expecting = False  # whether the next pass through the parameters is to be summed
        self._must_finish = False  # whether a bucket of this pass has got gradients
        self._next = 0  # the number of the next bucket to be sent
        self._ready: set[int] = set()  # parameters of this pass that are in their buckets
        self._unused: list[int] = []
        self._has_marked_unused = False
        self._arrival_order: list[int] = []  # in the pass after which buckets are rebuilt
        self._has_rebuilt = False
        self._first_graph = [0] * len(self._parameters)  # arrivals in the first pass, if static
        self._still_to_come: list[int] = []
        self._has_first_graph = False
        self._used = np.zeros(len(self._parameters), np.int32)
        self._used_work: Any = None
        self._used_everywhere = wrap(self._used)
        self._make_buckets(bucket_indices, per_bucket_size_limits)
        self._nodes = [self._watched(index) for index in range(len(self._parameters))]

    def _watched(self, index: int) -> Node | None:
        """Return the node at which the gradient of a parameter arrives; it tells this object."""
        node = accumulator(self._parameters[index])
        own = weakref.ref(self)

        def arrived() -> None:
            reducer = own()
            if reducer is not None and reducer._is_expecting:
                reducer._arrived(index)

        if node is not None:
            node._rarely().watchers.append(arrived)  # a hook would cost 5 us more
        return node

    def _make_buckets(self, indices: Sequence[Sequence[int]], limits: Sequence[int]) -> None:
        self._buckets = [
            Bucket([self._parameters[index] for index in members], members, limit)
            for members, limit in zip(indices, limits, strict=True)
        ]
        self._places = {
            index: (bucket, place)
            for bucket in self._buckets
            for place, index in enumerate(bucket.indices)
        }

    # --- before a pass -------------------------------------------------------------------------

    def prepare_for_backward(self, outputs: Sequence[Tensor]) -> None:
        """Expect a pass.

        Args:
            outputs: what the forward pass returned, if unused parameters are to be found.
        """
        self._is_expecting = True
        self._next = 0
        for each in self._buckets:
            each.pending = len(each.indices)
        self._still_to_come = list(self._first_graph)
        self._has_marked_unused = False
        self._ready.clear()
        if self._finds_unused and not self._is_static:
            self._unused = self._not_reached(outputs)
            if not self._unused:
                _say_once(_ALL_USED)

    def _not_reached(self, outputs: Sequence[Tensor]) -> list[int]:
        """Return the parameters to which nothing leads from what the forward pass returned."""
        roots = [gradient_edge(each)[0] for each in outputs if each.requires_grad]
        stack = [each for each in roots if each is not None]
        seen: set[Node] = set(stack)
        while stack:
            for following in stack.pop()._nodes_ahead():
                if following is not None and following not in seen:
                    seen.add(following)
                    stack.append(following)
        return [index for index, node in enumerate(self._nodes) if node not in seen]

    def rebuild_buckets(self) -> bool:
        """Order buckets as gradients arrived in the pass before; return whether that was done.

        It is done once; all processes take the order of rank 0.
        """
        if self._must_finish:
            late = [each for each in range(len(self._parameters)) if each not in self._ready]
            raise not_finished(late, self._names, self._finds_unused, self._group.rank())
        if not self._may_rebuild() or not self._arrival_order:
            return False
        order = self._arrival_order + (self._unused if self._is_static else [])
        if len(order) != len(self._parameters):
            raise RuntimeError(
                "rebuilt parameter tensors size is not same as original model parameters size."
                f"Original model param size is: {len(self._parameters)} versus rebuilt params size "
                f"of: {len(order)}"
            )
        self._has_rebuilt = True
        members, limits = compute_bucket_assignment_by_size(
            [self._parameters[index] for index in order], self._caps, (), order
        )
        self._make_buckets(*self._as_rank_0(members, limits))
        self._arrival_order = []
        return True

    def _may_rebuild(self) -> bool:
        return not self._has_rebuilt and (self._is_static or not self._finds_unused)

    def _as_rank_0(self, members: list[list[int]], limits: list[int]) -> tuple[Any, Any]:
        """Return the buckets of rank 0."""
        count = len(self._parameters)
        table = np.full(1 + 3 * count, -1, np.int64)
        flat = [index for each in members for index in each]
        table[0] = len(members)
        table[1 : 1 + count] = flat
        table[1 + count : 1 + count + len(members)] = [len(each) for each in members]
        table[1 + 2 * count : 1 + 2 * count + len(limits)] = limits
        self._group._queue.run(lambda: self._group._transport.broadcast(table, 0))
        number = int(table[0])
        order = table[1 : 1 + count].tolist()
        lengths = table[1 + count : 1 + count + number].tolist()
        ends = np.cumsum(lengths).tolist()
        agreed = [order[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        return agreed, table[1 + 2 * count : 1 + 2 * count + number].tolist()

    # --- during a pass -------------------------------------------------------------------------

    def _arrived(self, index: int) -> None:
        """Take the gradient of a parameter."""
        leaf = self._parameters[index]
        is_first = self._is_static and not self._has_first_graph
        if self._finds_unused or self._is_static:
            if leaf._autograd_meta.grad is not None and (is_first or not self._is_static):
                self._used[index] = 1
        if is_first:
            self._first_graph[index] += 1
            return
        if not self._has_marked_unused:
            self._has_marked_unused = True
            for each in self._unused:
                self._mark_ready(each)
        if self._is_static:
            if self._still_to_come[index] <= 0:
                raise changed_graph()
            self._still_to_come[index] -= 1
            if self._still_to_come[index]:
                return
        if not self._has_rebuilt and self._may_rebuild():
            self._arrival_order.append(index)
        self._mark_ready(index)

    def _mark_ready(self, index: int) -> None:
        """Put a gradient into its bucket; send buckets that are full."""
        if index in self._ready:
            raise marked_twice(index, self._names)
        self._ready.add(index)
        self._must_finish = True
        bucket, place = self._places[index]
        self._fill(bucket, place)
        bucket.pending -= 1
        if bucket.pending:
            return
        while self._next < len(self._buckets) and not self._buckets[self._next].pending:
            self._send(self._buckets[self._next])
            self._next += 1
        if self._next == len(self._buckets):
            if self._finds_unused and not self._is_static:
                self._share_used()
            local.state.graph_task.callbacks.append(self._finish)

    def _fill(self, bucket: Bucket, place: int) -> None:
        """Take a gradient into its bucket."""
        self._set_divisor()
        meta = bucket.parameters[place]._autograd_meta
        grad = None if meta is None else meta.grad
        if grad is not None and grad.requires_grad:
            _say_once(_HIGHER_ORDER)
        if self._hook is None and not self._is_view:
            self._put(bucket, place, None if grad is None else grad._array)
            return
        bucket.buffer  # noqa: B018 - makes the memory
        target = bucket.arrays[place]
        factor = 1.0 if self._hook is not None else 1.0 / self._divisor
        if grad is None:
            target.fill(0)
        elif grad is bucket.views[place] or _is_same_memory(grad._array, target):
            if factor != 1.0:
                _scale(target, factor, target)
        else:
            _scale(grad._array, factor, target)
            if self._is_view:
                meta.grad = bucket.views[place]

    def _put(self, bucket: Bucket, place: int, grad: np.ndarray | None) -> None:
        """Let a bucket send a gradient from where it is, or from a place of the bucket's.

        What is sent alone may be averaged; all else is divided here and added up.
        """
        is_averaged = bucket.is_large[place] and not self._divides
        factor = (self._group.size() if is_averaged else 1.0) / self._divisor
        if grad is not None and bucket.may_be_sent(place, grad):
            if factor != 1.0:
                _scale(grad, factor, grad)
            bucket.parts[place] = grad
            return
        target = bucket.parts[place] = bucket.place_for(place)
        if grad is None:
            target.fill(0)
        else:
            _scale(grad, factor, target)

    def _set_divisor(self) -> None:
        """Ask how many processes still have batches, once a pass."""
        if self._join_work is not None:
            (work, active), keeps = self._join_work
            work.wait()
            self._divisor = float(self._group.size() if keeps else active.item())
            self._join_work = None

    def _send(self, bucket: Bucket) -> None:
        """Begin to add up a bucket over all processes."""
        if self._hook is None:
            if self._group.size() > 1:
                work = Work(self._job(bucket), [], "all_reduce")
                bucket.work = self._group._queue.start(work, self._is_lazy)
            return
        state, hook = self._hook
        future = hook(state, GradBucket(bucket, self._next, len(self._buckets)))
        if not isinstance(future, Future):
            kind = type(future)
            name = f"{kind.__module__}.{kind.__qualname__}".replace("taper.tensor.", "torch.")
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but "
                f"got {name}"
            )
        bucket.future = future

    def _job(self, bucket: Bucket) -> Callable[[], None]:
        """Return what the thread of the group does to add a bucket up."""
        transport = self._group._transport
        reduce, reduce_each = transport.all_reduce, transport.all_reduce_each
        if self._is_view:
            whole = bucket.buffer._array
            return lambda: reduce(whole, RedOpType.SUM)
        together = bucket.together
        alone = [
            part.reshape(-1)
            for part, is_large in zip(bucket.parts, bucket.is_large, strict=True)
            if is_large
        ]

        def send() -> None:
            if together.size:
                reduce(together, RedOpType.SUM)
            if alone:
                reduce_each(alone, RedOpType.SUM if self._divides else RedOpType.AVG)

        return send

    def _share_used(self) -> None:
        """Begin to ask which parameters were used by any process."""
        self._used_everywhere = wrap(self._used.copy())
        self._used_work = all_reduce(self._used_everywhere, group=self._group, async_op=True)

    # --- at the end of a pass ------------------------------------------------------------------

    def delay_all_reduce(self) -> None:
        """Send everything at the end of the first pass of a static graph."""
        self._has_first_graph = True
        self._share_used()
        self._unused = [index for index, count in enumerate(self._first_graph) if not count]
        for bucket in self._buckets:
            for place in range(len(bucket.indices)):
                self._fill(bucket, place)
        for bucket in self._buckets:
            self._send(bucket)
        self._finish()

    def _finish(self) -> None:
        """Wait for all buckets, and give their gradients to the parameters."""
        self._is_expecting = self._must_finish = False
        finds = self._finds_unused or self._is_static
        works = [(each, self._result(each)) for each in self._buckets]
        if finds and self._used_work is not None:
            self._used_work.wait()
            self._used_work = None
            used = self._used_everywhere._array
            if self._is_static:
                self._used = used
        for bucket, arrays in works:
            for place, index in enumerate(bucket.indices):
                is_used = not finds or (self._used if self._is_static else used)[index] > 0
                if is_used:
                    self._give(bucket, place, arrays[place])
            bucket.let_go()
        if not self._is_static:
            self._used.fill(0)

    def _result(self, bucket: Bucket) -> list[np.ndarray]:
        """Wait for a bucket; return the gradients, one for each parameter."""
        if bucket.work is not None:
            work, bucket.work = bucket.work, None
            work.wait()
        if bucket.future is None:
            return bucket.arrays if self._is_view else bucket.parts
        future, bucket.future = bucket.future, None
        result = future.wait()
        if not isinstance(result, Tensor):
            raise RuntimeError(f"Unable to cast {result!r} to Tensor")
        if result is bucket.buffer:
            return bucket.arrays
        return [each._array for each in bucket.views_of(result)]

    def _give(self, bucket: Bucket, place: int, array: np.ndarray) -> None:
        """Let a result be the gradient of its parameter."""
        leaf = bucket.parameters[place]
        meta: Any = leaf._autograd_meta
        grad = meta.grad
        if self._is_view:
            if array is not bucket.arrays[place]:
                np.copyto(bucket.arrays[place], array, casting="same_kind")
            if grad is None:
                meta.grad = bucket.views[place]
        elif grad is None:
            copy = empty_with(array.shape, layout(leaf._array), array.dtype)
            copy[...] = array
            meta.grad = wrap(copy)
        elif grad.requires_grad or grad._change is not None:
            grad.copy_(wrap(array))
        else:
            if grad._array is not array:
                np.copyto(grad._array, array, casting="same_kind")
            bump_version(grad)

    # --- for uneven inputs ---------------------------------------------------------------------

    def set_forward_pass_work_handle(
        self, work: Any, active: Tensor, divide_by_initial_world_size: bool
    ) -> None:
        """Take note of the sum that tells how many processes have a batch.

        Args:
            work: the sum on its way.
            active: where it arrives.
            divide_by_initial_world_size: divide by the number of all processes anyway.
        """
        self._join_work = ((work, active), divide_by_initial_world_size)

    def match_all_reduce(self) -> None:
        """Send zeros, as a process without a batch, whatever the others send."""
        empty = [Bucket(each.parameters, each.indices, each.limit) for each in self._buckets]
        for number, bucket in enumerate(empty):
            if self._hook is None and not self._is_view:
                for place in range(len(bucket.indices)):
                    self._put(bucket, place, None)
            self._next = number
            self._send(bucket)
        for bucket in empty:
            self._result(bucket)

    def match_unused(self) -> None:
        """Say that this process, which has no batch, used nothing."""
        nothing = wrap(np.zeros_like(self._used))
        all_reduce(nothing, group=self._group)

    def push_all_rebuilt_params(self) -> None:
        """Let buckets be rebuilt in the order of rank 0 though nothing arrived here."""
        if self._may_rebuild() and not self._arrival_order:
            self._arrival_order = list(range(len(self._parameters)))

    # --- settings ------------------------------------------------------------------------------

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Let a function send buckets."""
        if self._hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._hook = (state, hook)

    def set_static_graph(self) -> None:
        """Rely on passes that are all alike."""
        self._is_static = True

    def bucket_sizes(self) -> list[int]:
        """Return the bytes of each bucket."""
        return [each.nbytes for each in self._buckets]


def _say_once(text: str) -> None:
    """Write to the log what PyTorch writes to the terminal, once a process."""
    if text not in _said:
        _said.add(text)
        _log.warning(text)


def _is_same_memory(one: np.ndarray, other: np.ndarray) -> bool:
    return one.ctypes.data == other.ctypes.data and one.size > 0


def _scale(source: np.ndarray, factor: float, target: np.ndarray) -> None:
    """Multiply by a number that is rounded to the precision in which half precision is computed."""
    if factor == 1.0:
        np.copyto(target, source)
    elif source.dtype.itemsize == 2:
        np.copyto(target, source.astype(np.float32) * np.float32(factor), casting="unsafe")
    else:
        np.multiply(source, factor, target)
