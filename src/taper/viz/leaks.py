"""Graphs of earlier steps that are still alive: who holds them, since which line, how much memory.

Owns: what an earlier step is (what was recorded before the backward pass before the last one), and
the search for holders, in one sweep over the memory.
"""

from __future__ import annotations

import gc
import html
from collections.abc import Iterator
from dataclasses import dataclass

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.node import Node
from taper.autograd.provenance import describe
from taper.autograd.state import local
from taper.tensor import Tensor
from taper.viz.holders import contents, in_container, variables
from taper.viz.memory import leaves_of, pieces, size
from taper.viz.tape import walk

__all__ = ["Leak", "LeakReport", "leaks"]

_ADVICE = (
    "Keep numbers instead of graphs: `loss.item()`, or `loss.detach()` for what you want to look "
    "at later; drop what the next step does not need."
)


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that keeps a graph of an earlier step alive.

    Attributes:
        holder: what holds it, in words: "the variable `total` in train".
        tensors: how many tensors with such a graph it holds.
        nodes: how many recorded operations it keeps.
        bytes: of what they have saved and a backward pass has not freed.
        since: the oldest line of the graph.

    >>> import taper
    >>> taper.viz.Leak("the variable `total` in train", 1, 3, 0, "train.py:4").holder
    'the variable `total` in train'
    """

    holder: str
    tensors: int
    nodes: int
    bytes: int
    since: str

    def __str__(self) -> str:
        tensors = "" if self.tensors == 1 else f" ({self.tensors:,} tensors)"
        return (
            f"{self.holder}{tensors}: {self.nodes:,} recorded "
            f"operation{'s' * (self.nodes != 1)}, which keep"
            f"{'s' * (self.nodes == 1)} "
            f"{size(self.bytes)}; the oldest is of {self.since}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class LeakReport:
    """What `leaks` found; false if there is nothing.

    >>> import taper
    >>> bool(taper.viz.leaks())
    False
    """

    leaks: tuple[Leak, ...]
    known: bool = True

    def __bool__(self) -> bool:
        return bool(self.leaks)

    def __len__(self) -> int:
        return len(self.leaks)

    def __iter__(self) -> Iterator[Leak]:
        return iter(self.leaks)

    def __str__(self) -> str:
        if not self.known:
            return "There were fewer than two backward passes: no step is an earlier one yet."
        if not self.leaks:
            return "No graph of an earlier step is alive."
        lines = [f"- {each}" for each in self.leaks]
        return "\n".join(["Graphs of earlier steps are still alive, held by", *lines, _ADVICE])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{html.escape(str(self))}</pre>'


def leaks() -> LeakReport:
    """Find what keeps graphs of earlier training steps alive.

    A graph is of an earlier step if some of it was recorded before the backward pass before the
    last one.  Call this between two steps of a loop that needs more and more memory.

    Returns: a `LeakReport`; print it.

    >>> import taper
    >>> w = taper.ones(1, requires_grad=True)
    >>> total = 0
    >>> for _ in range(3):
    ...     loss = (w * 2).sum()
    ...     loss.backward()
    ...     total = total + loss  # keeps every graph
    >>> len(taper.viz.leaks())
    1
    """
    boundary = local.state.earlier_pass
    if boundary is None:
        return LeakReport((), known=False)
    objects = gc.get_objects()
    old = {
        id(each)
        for each in objects
        if isinstance(each, Node)
        and not isinstance(each, AccumulateGrad)
        and getattr(each, "_sequence", boundary) < boundary
    }
    if not old:
        return LeakReport(())
    tensors = [each for each in objects if isinstance(each, Tensor)]
    del objects
    suspects = {id(each): each for each in tensors if each._grad_fn is not None}
    del tensors
    held = _held(suspects, old)
    found = [_leak(holder, roots) for holder, roots in held.items()]
    return LeakReport(tuple(sorted(found, key=lambda leak: (-leak.bytes, -leak.nodes))))


def _held(suspects: dict[int, Tensor], old: set[int]) -> dict[str, list[Tensor]]:
    """Return, by holder outside of the graphs, the tensors that lead to nodes of `old`."""
    found: dict[str, dict[int, Tensor]] = {}
    leads: dict[int, bool] = {}

    def add(holder: str, tensor: Tensor) -> None:
        key = id(tensor)
        if key not in leads:
            leads[key] = any(id(node) in old for node in walk([tensor._grad_fn])[0])
        if leads[key]:
            found.setdefault(holder, {})[key] = tensor

    for words, value in variables():
        if id(value) in suspects:
            add(words, value)
    for each in gc.get_referrers(*suspects.values()):
        if each is suspects:
            continue
        tensors = [value for value in contents(each) if id(value) in suspects]
        for tensor in tensors:
            for holder in in_container(tensor, each, len(tensors) > 1):
                add(holder, tensor)
    return {holder: list(tensors.values()) for holder, tensors in found.items()}


def _leak(holder: str, roots: list[Tensor]) -> Leak:
    nodes, _ = walk([each._grad_fn for each in roots])
    kept = sum(owner.nbytes for _, owner, _ in pieces(nodes, leaves_of(nodes)))
    oldest = next((node for node in nodes if node._code is not None), None)
    line = "an unknown line" if oldest is None else describe((oldest._code, oldest._offset))
    return Leak(holder, len(roots), len(nodes), kept, line)
