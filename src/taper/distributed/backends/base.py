"""What a backend can do, said in flat row-major NumPy arrays.

Operations block until they are done, until a member of the group is found dead, or until the
group's timeout is over.  They run one after the other.  Ranks are those in the group.  Knows no
Tensor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from taper.distributed.reduce_ops import RedOpType
from taper.distributed.stores import DistBackendError

Arrays = Sequence[np.ndarray]


class Receipt(Protocol):
    """A message that was sent, or shall be received."""

    source: int

    def is_done(self) -> bool:
        """Return whether the message has arrived; raise if it never will."""

    def wait(self, seconds: float) -> None:
        """Wait for it; raise after so many seconds."""


class Backend(Protocol):
    """What carries data between the processes of a group."""

    name: str
    rank: int
    size: int
    seconds: float
    """How long an operation may take."""
    averages: bool
    """Whether the average costs no more than the sum."""

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> None:
        """Combine the arrays of all members, for all."""

    def all_reduce_each(self, arrays: Arrays, op: RedOpType) -> None:
        """Do the same with several arrays of one dtype."""

    def reduce(self, array: np.ndarray, root: int, op: RedOpType) -> None:
        """Combine the arrays of all members, for one of them."""

    def broadcast(self, array: np.ndarray, root: int) -> None:
        """Give the array of one member to all."""

    def all_gather(self, outputs: Arrays, array: np.ndarray) -> None:
        """Collect the arrays of all members, for all."""

    def gather(self, outputs: Arrays | None, array: np.ndarray, root: int) -> None:
        """Collect the arrays of all members, for one of them."""

    def scatter(self, array: np.ndarray, inputs: Arrays | None, root: int) -> None:
        """Give each member one of the arrays that one of them has."""

    def reduce_scatter(self, output: np.ndarray, inputs: Arrays, op: RedOpType) -> None:
        """Combine the arrays of all members place by place, and give each member one place."""

    def all_to_all(self, outputs: Arrays, inputs: Arrays) -> None:
        """Send one array from each member to each."""

    def barrier(self) -> None:
        """Wait for all members."""

    def late(self, seconds: float, only_first: bool) -> list[int]:
        """Wait for all members as `barrier`, so long; rank 0 learns who did not come."""

    def send(self, array: np.ndarray, to: int, tag: int) -> Receipt:
        """Begin to send an array to a member."""

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Receipt:
        """Begin to receive an array from a member, or from anybody."""

    def close(self) -> None:
        """Let go of everything that the backend holds."""


class Patience:
    """The time that an operation may take, and what is checked meanwhile."""

    __slots__ = ("operation", "seconds", "until")

    def __init__(self, operation: str, seconds: float) -> None:
        self.operation = operation
        self.seconds = seconds
        self.until = time.monotonic() + seconds

    def left(self) -> float:
        """Return how many seconds are left."""
        return self.until - time.monotonic()


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Return "rank 3", or "ranks 1, 2"."""
    return f"rank{'s' * (len(ranks) != 1)} {', '.join(map(str, ranks))}"


def was_late(operation: str, ranks: Sequence[int], seconds: float, own: int) -> DistBackendError:
    """Return the error for members that did not come."""
    return DistBackendError(
        f"{operation}: {ranks_in_words(ranks)} did not take part within "
        f"{round(seconds * 1000)} ms, found by rank {own}"
    )


def is_dead(operation: str, rank: int, own: int) -> DistBackendError:
    """Return the error for a member that has ended."""
    return DistBackendError(
        f"{operation}: rank {rank} has ended, its connection to rank {own} is closed: "
        "Connection closed by peer"
    )


def average(array: np.ndarray, op: RedOpType, size: int) -> None:
    """Divide a sum by the number of members if the average is asked for."""
    if op is RedOpType.AVG:
        np.divide(array, array.dtype.type(size), out=array)


def in_order(combine: Callable[..., np.ndarray], sources: Arrays, out: np.ndarray) -> None:
    """Combine arrays, in the order of ranks, so that the result is the same wherever it is made."""
    if len(sources) == 1:
        np.copyto(out, sources[0])
        return
    combine(sources[0], sources[1], out=out)
    for each in sources[2:]:
        combine(out, each, out=out)
