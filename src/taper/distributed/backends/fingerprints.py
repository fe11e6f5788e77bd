"""What members of a group are about to do, as five numbers that they compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.distributed.backends.links import code_of, name_of
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.stores import DistBackendError

OPERATIONS = (
    "BARRIER ALLREDUCE REDUCE BROADCAST ALLGATHER GATHER SCATTER REDUCE_SCATTER ALLTOALL"
).split()
_NUMBERS = {name: number for number, name in enumerate(OPERATIONS)}


def fingerprint(operation: str, dtype: Any, count: int, root: int, op: Any) -> np.ndarray:
    """Return operation, dtype, count, root and reduction as numbers."""
    kind = -1 if dtype is None else code_of(dtype)
    reduction = -1 if op is None else op.value
    return np.array([_NUMBERS[operation], kind, count, root, reduction], np.int64)


def different(table: np.ndarray) -> DistBackendError:
    """Return the error for members that do different things, a row each."""
    rank = int(np.flatnonzero((table != table[0]).any(axis=1))[0])
    return DistBackendError(
        "Detected mismatch between collectives on ranks. Rank 0 is running collective: "
        f"{_in_words(table[0])}, but Rank {rank} is running collective: {_in_words(table[rank])}."
    )


def _in_words(numbers: np.ndarray) -> str:
    operation, dtype, count, root, op = (int(each) for each in numbers)
    known = 0 <= operation < len(OPERATIONS)
    text = f"OpType={OPERATIONS[operation] if known else operation}"
    if dtype >= 0:
        text += f", TensorDtype={name_of(dtype)}"
    if count > 0:
        text += f", Elements={count}"
    if root >= 0:
        text += f", Root={root}"
    if op >= 0:
        text += f", ReduceOp={RedOpType(op).name}"
    return f"CollectiveFingerPrint({text})"
