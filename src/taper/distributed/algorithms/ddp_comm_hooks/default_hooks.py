"""Gradients averaged as they are, or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper import dtypes
from taper.distributed.buckets import GradBucket
from taper.distributed.collectives import all_reduce
from taper.distributed.groups import ProcessGroup, default_group
from taper.futures import Future
from taper.tensor import Tensor

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def averaged(group: ProcessGroup | None, tensor: Tensor) -> Future[Tensor]:
    """Return the future of a tensor's average over processes, in the tensor's own memory."""
    members = group or default_group()
    tensor.div_(members.size())
    work: Any = all_reduce(tensor, group=members, async_op=True)
    future: Future[Tensor] = work.get_future().then(lambda done: done.value()[0])
    return future


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients: what `DistributedDataParallel` does without a hook.

    Args:
        process_group: the group; all processes without it.
        bucket: the gradients.
    """
    return averaged(process_group, bucket.buffer())


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients in float16, which halves what is sent.

    Args:
        process_group: the group; all processes without it.
        bucket: the gradients.
    """
    return _compressed(dtypes.float16, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients in bfloat16, which halves what is sent.

    Args:
        process_group: the group; all processes without it.
        bucket: the gradients.
    """
    return _compressed(dtypes.bfloat16, process_group, bucket)


def _compressed(dtype: Any, group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    buffer = bucket.buffer()
    future = averaged(group, buffer.to(dtype))
    return future.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that gives another one gradients in float16.

    Args:
        hook: the other one, such as `powerSGD_hook`.
    """
    return _wrapped(hook, dtypes.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that gives another one gradients in bfloat16.

    Args:
        hook: the other one, such as `powerSGD_hook`.
    """
    return _wrapped(hook, dtypes.bfloat16)


def _wrapped(hook: Hook, dtype: Any) -> Hook:
    def compressing(state: Any, bucket: GradBucket) -> Future[Tensor]:
        full = bucket.buffer()
        bucket.set_buffer(full.to(dtype))

        def restore(done: Future[Tensor]) -> Tensor:
            bucket.set_buffer(full)
            return full.copy_(done.value())

        return hook(state, bucket).then(restore)

    return compressing
