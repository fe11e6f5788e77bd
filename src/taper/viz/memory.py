"""What a graph keeps for its backward, as a table by module and line.

Owns: the table and its text.  Each piece of memory is counted once, at the first node that keeps
it, and as a whole: a saved view keeps all of the memory that it looks at.
"""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from taper.autograd.callers import Holders, holders_of, module_of, path_of
from taper.autograd.node import FREED
from taper.autograd.provenance import line_of, place_name
from taper.autograd.views import gradient_edge
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.viz.holding import Holding
from taper.viz.reading import checked_roots, owner_of, saved_values
from taper.viz.tape import walk

__all__ = ["SavedRow", "SavedTable", "saved_tensors"]


@dataclass(frozen=True, slots=True)
class SavedRow:
    """What the operations of one line in one module keep.

    Attributes:
        module: `blocks.4.norm LayerNorm`; '' outside of all modules.
        line: `file.py:12`, the user's line.
        source: the text of that line.
        nodes: the names of the nodes, each once.
        tensors: how many pieces of memory they keep.
        bytes: of what only the graph holds.
        shared: of what is held elsewhere too, such as your data; leaves are not counted.

    >>> import taper
    >>> row = taper.viz.saved_tensors(taper.ones(4, requires_grad=True).exp().sum()).rows[0]
    >>> row.nodes, row.bytes, row.tensors
    (('ExpBackward0',), 16, 1)
    """

    module: str
    line: str
    source: str
    nodes: tuple[str, ...]
    tensors: int
    bytes: int
    shared: int


@dataclass(frozen=True, slots=True, repr=False)
class SavedTable:
    """The table that `saved_tensors` returns: `rows`, the largest first, and their sums.

    `total` is what dropping the graph would free, `shared` what it keeps but others hold too.

    >>> import taper
    >>> table = taper.viz.saved_tensors(taper.ones(4, requires_grad=True).exp().sum())
    >>> print(str(table).splitlines()[-1])
    16 bytes are held by the graph alone.
    """

    rows: tuple[SavedRow, ...]
    total: int
    shared: int
    freed: bool

    def __iter__(self) -> Iterator[SavedRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the table as dicts and lists."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.rows:
            return (
                "Nothing is kept: a backward pass has freed what was saved."
                if self.freed
                else "Nothing is kept: no operation of this graph saves a tensor."
            )
        lines = [("bytes", "shared", "tensors", "module", "line")]
        for row in self.rows:
            source = f"{row.line}: {row.source}" if row.source else row.line
            counted = f"{row.bytes:,}", f"{row.shared:,}", str(row.tensors)
            lines.append((*counted, row.module or "-", source))
        widths = [max(len(line[place]) for line in lines) for place in range(4)]
        text = "\n".join(
            f"{a:>{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d:<{widths[3]}}  {e}".rstrip()
            for a, b, c, d, e in lines
        )
        shared = f", and {size(self.shared)} that others hold too" if self.shared else ""
        return f"{text}\n{size(self.total)} are held by the graph alone{shared}."

    def __repr__(self) -> str:
        return f"<SavedTable of {len(self.rows)} rows, {self.total:,} bytes>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def size(count: int) -> str:
    """Return a number of bytes for people: `12 bytes`, `3.4 kB`, `1.2 MB`."""
    if count < 1000:
        return f"{count} bytes"
    for unit in ("kB", "MB", "GB"):
        count /= 1000  # type: ignore[assignment]
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
    return ""


def saved_tensors(root: Tensor | Iterable[Tensor], model: Module | None = None) -> SavedTable:
    """Return what the graph of `root` keeps for its backward, by module and line.

    Args:
        root: a tensor, or several.
        model: names the modules; without it their paths are searched for in memory.

    Returns: a `SavedTable`; `print` shows it.

    Raises RuntimeError if the tensor has no graph.

    >>> import taper
    >>> from taper import viz
    >>> w = taper.ones(1000, requires_grad=True)
    >>> table = viz.saved_tensors((w * 2).exp().sum())
    >>> table.total  # exp keeps its result; the factor is a number
    4000
    >>> table.rows[0].nodes
    ('ExpBackward0',)
    """
    nodes, _ = walk([gradient_edge(each)[0] for each in checked_roots(root)])
    named = _Names(model)
    found: dict[tuple[str, str, str], list[Any]] = {}
    for place, owner, alone in pieces(nodes, leaves_of(nodes)):
        node = nodes[place]
        row = found.setdefault((named.module(node), *named.line(node)), [{}, 0, 0, 0])
        row[0][node._class_name().rpartition("::")[2]] = None
        row[1] += 1
        row[2 if alone else 3] += owner.nbytes
    rows = [SavedRow(*key, tuple(names), *rest) for key, (names, *rest) in found.items()]
    rows.sort(key=lambda row: -row.bytes - row.shared)
    freed = any(each._status == FREED for each in nodes)
    total, shared = sum(each.bytes for each in rows), sum(each.shared for each in rows)
    return SavedTable(tuple(rows), total, shared, freed)


class _Names:
    """Names of modules and lines for the rows, each looked up once."""

    def __init__(self, model: Module | None) -> None:
        self._modules: dict[int, str] = {}
        self._lines: dict[tuple[Any, int], tuple[str, str]] = {}
        for path, module in () if model is None else model.named_modules():
            self._modules[id(module)] = f"{path} {type(module).__name__}".lstrip()
        self._holders: Holders | None = None

    def module(self, node: Any) -> str:
        """Return `blocks.4.norm LayerNorm`; '' outside of all modules."""
        module = module_of(node)
        if module is None:
            return ""
        if id(module) not in self._modules:
            if self._holders is None:
                self._holders = holders_of(type(module))
            path = path_of(module, self._holders)
            self._modules[id(module)] = f"{path} {type(module).__name__}".lstrip()
        return self._modules[id(module)]

    def line(self, node: Any) -> tuple[str, str]:
        """Return `file.py:12` and the text of that line."""
        if node._code is None:
            return "", ""
        key = node._code, node._offset
        if key not in self._lines:
            name, number = node._code.co_filename, line_of(*key)
            text = linecache.getline(name, number).strip()
            self._lines[key] = place_name(name, number), text
        return self._lines[key]


def leaves_of(nodes: Sequence[Any]) -> list[Tensor]:
    """Return the leaves that nodes lead to."""
    ends = [getattr(end, "variable", end) for node in nodes for end in node._edges]
    return list({id(end): end for end in ends if isinstance(end, Tensor)}.values())


def pieces(nodes: Sequence[Any], leaves: Sequence[Any]) -> Iterator[tuple[int, Any, bool]]:
    """Yield each piece of memory that nodes keep: the first of them, its owner, if it is alone.

    The memory of leaves is left out: it is there without the graph.
    """
    seen = {id(owner_of(leaf._array)) for leaf in leaves}
    if not any(True for node in nodes for _ in _owners(node)):
        return
    holding = Holding(nodes, leaves)
    for place, node in enumerate(nodes):
        for owner in _owners(node):
            if id(owner) not in seen:
                seen.add(id(owner))
                yield place, owner, holding.is_alone(owner)


def _owners(node: Any) -> Iterator[Any]:
    """Yield the arrays that own the memory of what a node keeps."""
    for _, _, value in saved_values(node):
        array = value._array if isinstance(value, Tensor) else value
        if hasattr(array, "nbytes"):
            yield owner_of(array)
