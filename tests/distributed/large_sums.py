"""Sums of large arrays between two processes: what each rank finds wrong is its exit code."""

import sys

import taper
from taper import distributed as dist

LENGTH = 300_003  # no whole number of chunks of the memory that processes share


def is_right(dtype: taper.dtype, op: dist.ReduceOp, expected: float) -> bool:
    """Combine 1, 2, 3, ... on rank 0 with 2, 4, 6, ... on rank 1."""
    steps = taper.arange(LENGTH) % 50 + 1
    values = steps.to(dtype) * (dist.get_rank() + 1)
    dist.all_reduce(values, op)
    return values.dtype == dtype and values.equal((steps * expected).to(dtype))


def message_first() -> bool:
    """Sum while a message is on its way, which the other waits for before it sums."""
    sent, values = taper.full((LENGTH,), 3.0), taper.ones(LENGTH)
    if dist.get_rank() == 0:
        work = dist.isend(sent, 1)
        dist.all_reduce(values)
        work.wait()
        return bool((values == 2).all())
    taken = taper.empty(LENGTH)
    dist.recv(taken, 0)
    dist.all_reduce(values)
    return taken.equal(sent) and bool((values == 2).all())


if __name__ == "__main__":
    dist.init_process_group("gloo")
    op = dist.ReduceOp
    found = [is_right(dtype, op.AVG, 1.5) for dtype in (taper.float32, taper.float64)]
    for dtype in (taper.float32, taper.float64, taper.float16, taper.int64, taper.int32):
        found += [
            is_right(dtype, op.SUM, 3),
            is_right(dtype, op.MAX, 2),
            is_right(dtype, op.MIN, 1),
        ]
    found += [message_first()]
    dist.destroy_process_group()
    sys.exit(found.count(False))
