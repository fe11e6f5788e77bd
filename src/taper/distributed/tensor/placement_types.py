"""How a tensor lies in a line of processes: a part in each, all of it in each, or a summand."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies along one dimension of a mesh: the base of the three kinds."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether each process has a part, along the dimension if one is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Return whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether the values of all processes must be combined."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part of a dimension, of equal length but for the last ones.

    Args:
        dim: the dimension that is divided.

    >>> from taper.distributed.tensor import Shard
    >>> Shard(0)
    Shard(dim=0)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole tensor."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a tensor of the whole shape, and all of them must be combined.

    Args:
        reduce_op: how: "sum", "avg", "product", "max" or "min".
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True)
class _NormPartial(Partial):
    """Each process has the norm of its part."""

    reduce_op: str = "sum"
    norm_type: float = 2

    def __repr__(self) -> str:
        order = int(self.norm_type) if self.norm_type == int(self.norm_type) else self.norm_type
        return f"_NormPartial({order})"


def part_of(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return where a part of a dimension begins, and its length.

    >>> part_of(5, 2, 0), part_of(5, 2, 1), part_of(1, 2, 1)
    ((0, 3), (3, 2), (1, 0))
    """
    length = -(-size // parts)
    begin = min(index * length, size)
    return begin, min(begin + length, size) - begin
