"""PowerSGD (Vogels et al., 2019): gradients of matrices are sent as products of thin matrices.

A gradient M of n rows and m columns becomes P Qᵀ with a few columns each: P is the sum of M Q over
processes, made orthonormal; Q is the average of Mᵀ P.  What is lost is added to the next gradient
(error feedback); Q is the start of the next step (warm start).
"""

# ruff: noqa: N999 - the name is PyTorch's

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from taper.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged
from taper.distributed.buckets import GradBucket
from taper.distributed.collectives import all_reduce
from taper.distributed.groups import ProcessGroup, default_group
from taper.futures import Future
from taper.ops.creation.filled import empty, zeros
from taper.ops.linalg.matmul import bmm
from taper.ops.linalg.qr import linalg_qr
from taper.ops.random.draws import randn
from taper.ops.shape.split import cat, stack
from taper.random import fork_rng
from taper.sampling.generator import manual_seed
from taper.tensor import Tensor

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_log = logging.getLogger(__name__)


class PowerSGDState:
    """What `powerSGD_hook` knows from step to step.

    Args:
        process_group: the group; all processes without it.
        matrix_approximation_rank: how many columns P and Q have; more is closer and slower.
        start_powerSGD_iter: how many steps send whole gradients first.
        min_compression_rate: matrices that would not get smaller by this factor are sent whole.
        use_error_feedback: add what was lost to the next gradient.
        warm_start: begin with the Q of the last step, not with random numbers.
        orthogonalization_epsilon: added to norms, against division by 0.
        random_seed: of the first Q; the same in all processes.
        compression_stats_logging_frequency: steps between two lines of the log.
        batch_tensors_with_same_shape: multiply matrices of one shape together.

    >>> from taper.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> PowerSGDState(None, matrix_approximation_rank=2).compression_stats()
    (1.0, 0, 0)
    """

    __slots__ = (
        "batch_tensors_with_same_shape",
        "compression_stats_logging_frequency",
        "error_dict",
        "iter",
        "matrix_approximation_rank",
        "min_compression_rate",
        "next_stats_report",
        "orthogonalization_epsilon",
        "p_memory_dict",
        "process_group",
        "q_memory_dict",
        "rng",
        "start_powerSGD_iter",
        "total_numel_after_compression",
        "total_numel_before_compression",
        "use_error_feedback",
        "warm_start",
    )

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the group, which belongs to the process."""
        _log.warning("NOTE: Process group is not serializable and excluded from a saved state.")
        return {name: getattr(self, name) for name in self.__slots__ if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        _log.warning(
            "NOTE: Process group will be set to a default group (i.e. the world size). If a "
            "different group is desired, please set `self.process_group` after PowerSGD state is "
            "loaded."
        )
        for name, value in state.items():
            setattr(self, name, value)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_powerSGD_iter:
                _log.info("Start to apply PowerSGD after %s iterations.", self.iter)

    def compression_stats(self) -> tuple[float, int, int]:
        """Return how much smaller gradients got, and how many elements there were and were sent."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 1.0), before, after

    def _report(self, bucket: GradBucket) -> None:
        if bucket.is_last() and self.iter >= self.next_stats_report:
            rate, before, after = self.compression_stats()
            _log.info("PowerSGD: step %s, rate %s, %s to %s", self.iter, rate, before, after)
            self.next_stats_report = self.iter + self.compression_stats_logging_frequency


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients of matrices as products of thin matrices, and the others as they are.

    Args:
        state: what is known from the steps before.
        bucket: the gradients.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return averaged(state.process_group, bucket.buffer())
    buffer = bucket.buffer()
    given = _with_error(state, bucket.index(), buffer)
    matrices, others, sizes = _divided(state, bucket)
    together = cat([each.reshape(-1) for each in others]) if others else empty(0).to(buffer.dtype)
    p_memory, q_memory, is_new = _memories(state, bucket.index(), sizes, buffer)
    groups = list(_batches(matrices, state.batch_tensors_with_same_shape))
    ps, qs = list(_thin(state, groups, p_memory, 1)), list(_thin(state, groups, q_memory, 2))
    _begin(state, qs, is_new)
    for matrix, p, q in zip(groups, ps, qs, strict=True):
        p.copy_(bmm(_stacked(matrix), q))

    def finish(done: Future[Tensor]) -> Tensor:
        _put_back(others, done.value())
        _sum(state, p_memory)
        for p in ps:
            _orthogonalize(p, state.orthogonalization_epsilon)
        for matrix, p, q in zip(groups, ps, qs, strict=True):
            q.copy_(bmm(_stacked(matrix).transpose(1, 2), p))
        q_memory.copy_(_sum(state, q_memory).div_(_size(state)))
        for matrix, p, q in zip(groups, ps, qs, strict=True):
            for each, product in zip(matrix, bmm(p, q.transpose(1, 2)), strict=True):
                each.copy_(product)
        return _end(state, bucket, buffer, given)

    return averaged(state.process_group, together).then(finish)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average a whole bucket as one square matrix, as a product: faster, and less exact.

    Args:
        state: what is known from the steps before.
        bucket: the gradients.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return averaged(state.process_group, bucket.buffer())
    buffer = bucket.buffer()
    side = math.ceil(math.sqrt(buffer.numel()))
    rank = min(side, state.matrix_approximation_rank)
    given = _with_error(state, bucket.index(), buffer)
    p_memory, q_memory, is_new = _memories(state, bucket.index(), (side * rank,) * 2, buffer)
    p, q = p_memory.view(1, side, rank), q_memory.view(1, side, rank)
    square = zeros(side * side, dtype=buffer.dtype)
    square[: buffer.numel()] = buffer
    square = square.view(1, side, side)
    state.total_numel_before_compression += buffer.numel()
    state.total_numel_after_compression += 2 * side * rank
    _begin(state, [q], is_new)
    p.copy_(bmm(square, q))
    work: Any = all_reduce(p_memory, group=_group(state), async_op=True)

    def finish(done: Future[Any]) -> Tensor:
        done.value()
        _orthogonalize(p, state.orthogonalization_epsilon)
        q.copy_(bmm(square.transpose(1, 2), p))
        _sum(state, q_memory).div_(_size(state))
        product = bmm(p, q.transpose(1, 2)).reshape(-1)
        buffer.copy_(product[: buffer.numel()])
        return _end(state, bucket, buffer, given)

    future: Future[Tensor] = work.get_future().then(finish)
    return future


# --- parts of both ----------------------------------------------------------------------------


def _group(state: PowerSGDState) -> ProcessGroup:
    return state.process_group or default_group()


def _size(state: PowerSGDState) -> int:
    return _group(state).size()


def _sum(state: PowerSGDState, tensor: Tensor) -> Tensor:
    all_reduce(tensor, group=_group(state))
    return tensor


def _with_error(state: PowerSGDState, index: int, buffer: Tensor) -> Tensor | None:
    """Add what was lost the last time; return a copy of the sum, if errors are fed back."""
    if not state.use_error_feedback:
        return None
    if index in state.error_dict:
        buffer.add_(state.error_dict[index])
    return buffer.clone()


def _end(state: PowerSGDState, bucket: GradBucket, buffer: Tensor, given: Tensor | None) -> Tensor:
    """Keep what was lost, count the step, and return the result."""
    if given is not None:
        state.error_dict[bucket.index()] = given - buffer
    if not state.warm_start:
        state.p_memory_dict.clear()
        state.q_memory_dict.clear()
    state._report(bucket)
    state.maybe_increase_iter(bucket)
    return buffer


def _divided(
    state: PowerSGDState, bucket: GradBucket
) -> tuple[list[Tensor], list[Tensor], tuple[int, int]]:
    """Return gradients to be sent as products, those to be sent whole, and the lengths of P, Q."""
    matrices, others = [], []
    p_length = q_length = 0
    for each in bucket.gradients():
        rows = each.shape[0] if each.dim() else 1
        matrix = each.view(rows, -1)
        columns = matrix.shape[1]
        rank = min(rows, columns, state.matrix_approximation_rank)
        thin = (rows + columns) * rank
        state.total_numel_before_compression += rows * columns
        if thin * state.min_compression_rate < rows * columns:
            matrices.append(matrix)
            p_length += rows * rank
            q_length += columns * rank
            state.total_numel_after_compression += thin
        else:
            others.append(each)
            state.total_numel_after_compression += rows * columns
    return matrices, others, (p_length, q_length)


def _memories(
    state: PowerSGDState, index: int, lengths: tuple[int, int], like: Tensor
) -> tuple[Tensor, Tensor, bool]:
    """Return the memory of all P and all Q of a bucket, and whether it is new."""
    is_new = not state.warm_start or index not in state.p_memory_dict
    if is_new:
        state.p_memory_dict[index] = empty(lengths[0], dtype=like.dtype)
        state.q_memory_dict[index] = empty(lengths[1], dtype=like.dtype)
    return state.p_memory_dict[index], state.q_memory_dict[index], is_new


def _batches(matrices: list[Tensor], together: bool) -> Iterator[list[Tensor]]:
    """Return matrices by shape: those of one shape together, or one by one."""
    shapes: dict[Any, list[Tensor]] = {}
    for each in matrices:
        shapes.setdefault(tuple(each.shape), []).append(each)
    for alike in shapes.values():
        yield from [alike] if together else [[each] for each in alike]


def _stacked(matrices: list[Tensor]) -> Tensor:
    return matrices[0].unsqueeze(0) if len(matrices) == 1 else stack(matrices)


def _thin(
    state: PowerSGDState, groups: list[list[Tensor]], memory: Tensor, dim: int
) -> Iterator[Tensor]:
    """Return P (dim 1) or Q (dim 2) of each group of matrices, as parts of the memory."""
    start = 0
    for matrices in groups:
        rows, columns = matrices[0].shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        shape = (len(matrices), (rows, columns)[dim - 1], rank)
        length = math.prod(shape)
        yield memory[start : start + length].view(shape)
        start += length


def _begin(state: PowerSGDState, qs: list[Tensor], is_new: bool) -> None:
    """Make each Q orthonormal: that of the last step, or random numbers."""
    if is_new:
        with fork_rng(devices=[]):
            manual_seed(int(state.rng.randint(1_000_000_000)))
            for q in qs:
                q.copy_(randn(*q.shape, dtype=q.dtype))
    for q in qs:
        _orthogonalize(q, state.orthogonalization_epsilon)


def _put_back(tensors: list[Tensor], flat: Tensor) -> None:
    start = 0
    for each in tensors:
        each.copy_(flat[start : start + each.numel()].view(each.shape))
        start += each.numel()


def _orthogonalize(matrices: Tensor, epsilon: float = 0) -> None:
    """Make the columns of each matrix orthonormal, in place."""
    if matrices.shape[2] > 2 and matrices.dtype.itemsize > 2:
        matrices.copy_(linalg_qr(matrices)[0])
        return
    columns = matrices.shape[2]
    for column in range(columns):
        this = matrices[:, :, column : column + 1]
        length = this.norm(dim=1, keepdim=True)
        if epsilon == 0 and matrices.dtype.itemsize > 2:
            this.div_(length)
        else:
            this.div_(length + epsilon)
        rest = matrices[:, :, column + 1 :]
        if column + 1 < columns:
            rest.sub_((this * rest).sum(dim=1, keepdim=True) * this)
