"""Reading a recorded graph into plain data, without changing or computing anything in it.

Owns the walk over nodes and what is read of each.  Saved values are read where nodes keep them, so
that reading is no use of them: it checks no version, calls no hook and raises nothing if they were
freed.  Nothing recurses (I5).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

import numpy as np

from taper import dtypes
from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.callers import Holders, holders_of, module_of, path_of
from taper.autograd.context import BackwardCFunction
from taper.autograd.cuts import explanation
from taper.autograd.node import FREED, LEAF, Node
from taper.autograd.provenance import line_of, user_frame, variables_of
from taper.autograd.saved import SavedValue
from taper.autograd.views import CopySlices, gradient_edge, requires_grad
from taper.foreach.nodes import ForeachNode
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.opdef.nodes import TableNode
from taper.tensor import Tensor
from taper.viz.formulas import derivatives_of
from taper.viz.records import (
    Edge,
    Graph,
    GraphLeaf,
    GraphNode,
    ModuleRef,
    Output,
    Saved,
    SavedKind,
    SourceLine,
    Storage,
    Value,
)

__all__ = ["Reader", "collected", "graph", "read"]

_OTHER_SUMMARIES = {
    "CopySlices": "Write into a part of a tensor: that part's history goes through the write.",
}


def graph(root: Tensor | Iterable[Tensor], model: Module | None = None) -> Graph:
    """Return the graph that the gradient of `root` flows through, as data.

    The data are a snapshot: they keep nothing of the computation alive, and reading leaves it as it
    was.  Works on every graph that taper records, also after backward has freed its saved values.

    Args:
        root: a tensor, or several.
        model: names its parameters and the modules that recorded the nodes; without it leaves have
            the names of variables where `graph` is called.

    Returns: a `Graph`, which iterates over its nodes and has `to_json()`.

    Raises RuntimeError if no gradient can flow: the tensor has no graph.

    >>> import taper
    >>> from taper import nn, viz
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> graph = viz.graph(model(taper.ones(2, 4)).sum(), model)
    >>> for node in graph:
    ...     print(node.name, "|", node.module)
    TBackward0 | 0 Linear
    AddmmBackward0 | 0 Linear
    ReluBackward0 | 1 ReLU
    SumBackward0 | None
    >>> [leaf.name for leaf in graph.leaves]
    ['0.weight', '0.bias']
    """
    return read(root, model, names_around())[0]


def variables_around() -> Iterator[tuple[Tensor, str]]:
    """Yield the tensors that the user's running frame has names for, and these; locals first."""
    frame = user_frame(sys._getframe(1))
    for scope in (variables_of(frame), frame.f_globals):
        for name, value in list(scope.items()):
            if isinstance(value, Tensor) and not name.startswith("_"):
                yield value, name


def names_around() -> dict[int, str]:
    """Return the names of the tensors in the user's running frame, by `id`; locals win."""
    named: dict[int, str] = {}
    for tensor, name in variables_around():
        named.setdefault(id(tensor), name)
    return named


def read(
    root: Any, model: Module | None = None, names: Mapping[int, str] | None = None
) -> tuple[Graph, list[Any]]:
    """Return the graph of `root` as data, and beside it the nodes and leaf tensors by id.

    `names` are names of tensors by `id(tensor)`, used where the model has none.
    """
    with collected(root, model, names) as found:
        return found.graph(), [*found.nodes, *found.leaves]


@contextlib.contextmanager
def collected(
    root: Any, model: Module | None = None, names: Mapping[int, str] | None = None
) -> Iterator[Reader]:
    """Give a reader that has collected the nodes and leaves of a graph; inside nothing is freed."""
    roots = checked_roots(root)
    with _without_collector():
        yield Reader(roots, model, names or {})


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector: it would look at a million records again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def checked_roots(root: Any) -> list[Tensor]:
    """Return the tensors with a graph among those that were given; refuse anything else."""
    tensors = [root] if isinstance(root, Tensor) else list(root) if _is_iterable(root) else [root]
    for each in tensors:
        if not isinstance(each, Tensor):
            raise TypeError(f"graph: expected a tensor or several, got {type(each).__name__}")
    kept = [each for each in tensors if requires_grad(each)]
    if not kept:
        reason = explanation(tensors[0]) if tensors else ""
        raise RuntimeError(f"the tensor has no graph: it does not require grad.{reason}")
    return kept


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


class Reader:
    """Collects nodes, leaves and memory, then describes them."""

    def __init__(self, roots: list[Tensor], model: Module | None, names: Mapping[int, str]) -> None:
        self.roots = roots
        self.names = names
        self.modules: dict[int, ModuleRef] = {}
        self.holders: Holders | None = None
        if model is not None:
            for name, module in model.named_modules():
                self.modules[id(module)] = ModuleRef(name, type(module).__name__)
        self.parameters = {} if model is None else {id(p): n for n, p in model.named_parameters()}
        self.nodes: list[Any] = []
        self.leaves: list[Tensor] = []
        self.ids: dict[int, int] = {}
        self.root_edges = [gradient_edge(each) for each in roots]
        self._walk()
        self.leaf_storages = {id(owner_of(each._array)): id(each) for each in self.leaves}
        self.storages: dict[int, tuple[int, int, int | None, list[int]]] = {}
        self.alive: list[Any] = []  # owners of memory, so that no id is used twice
        self.lines: dict[tuple[CodeType, int], SourceLine] = {}

    def _walk(self) -> None:
        seen: set[int] = set()
        stack: list[Any] = [node for node, _ in self.root_edges]
        leaves: dict[int, Tensor] = {}
        while stack:
            node = stack.pop()
            if isinstance(node, AccumulateGrad | Tensor):
                leaf = node.variable if isinstance(node, AccumulateGrad) else node
                leaves.setdefault(id(leaf), leaf)
            elif node is not None and id(node) not in seen:
                seen.add(id(node))
                self.nodes.append(node)
                stack.extend(node._edges)
        self.nodes.sort(key=lambda node: node._sequence)
        self.ids = {id(node): place for place, node in enumerate(self.nodes)}
        for node in self.nodes:  # in the order of use, which is that of the program
            for edge in node._edges:
                leaf = edge.variable if isinstance(edge, AccumulateGrad) else edge
                if isinstance(leaf, Tensor) and id(leaf) not in self.ids:
                    self._add_leaf(leaf)
        for leaf in leaves.values():
            if id(leaf) not in self.ids:
                self._add_leaf(leaf)

    def _add_leaf(self, leaf: Tensor) -> None:
        self.ids[id(leaf)] = len(self.nodes) + len(self.leaves)
        self.leaves.append(leaf)

    def graph(self) -> Graph:
        """Describe what was collected."""
        nodes = tuple([self.node(place, node) for place, node in enumerate(self.nodes)])
        return self.assembled(nodes, self._edges())

    def assembled(self, nodes: tuple[GraphNode, ...], edges: Iterable[Edge]) -> Graph:
        """Return a graph of described nodes, with the leaves and memory that were found."""
        return Graph(
            tuple([self._output(*each) for each in zip(self.roots, self.root_edges, strict=True)]),
            nodes,
            tuple([self._leaf(each) for each in self.leaves]),
            tuple(edges),
            tuple([Storage(i, n, leaf, tuple(by)) for i, n, leaf, by in self.storages.values()]),
            self._modules_around(nodes),
        )

    def id_of(self, end: Any) -> int:
        """Return the id of what an edge leads to."""
        return self.ids[id(end.variable if isinstance(end, AccumulateGrad) else end)]

    def _output(self, tensor: Tensor, edge: tuple[Any, int]) -> Output:
        shape, dtype = tensor._array.shape, dtype_name(tensor._array.dtype)
        return Output(self.names.get(id(tensor), ""), self.id_of(edge[0]), edge[1], shape, dtype)

    def _leaf(self, leaf: Tensor) -> GraphLeaf:
        name = self.parameters.get(id(leaf)) or self.names.get(id(leaf), "")
        array = leaf._array
        is_parameter = isinstance(leaf, Parameter)
        dtype = dtype_name(array.dtype)
        return GraphLeaf(self.ids[id(leaf)], name, array.shape, dtype, array.nbytes, is_parameter)

    def _edges(self) -> Iterator[Edge]:
        for target, node in enumerate(self.nodes):
            for place, (end, nr) in enumerate(zip(node._edges, node._edge_nrs, strict=True)):
                if end is not None:
                    yield Edge(self.id_of(end), max(nr, 0), target, place)

    def node(self, place: int, node: Any) -> GraphNode:
        """Describe a node that gets the id `place`."""
        op = node.op if isinstance(node, TableNode) else None
        name, summary = _name_and_summary(node._class_name(), op)
        return GraphNode(
            id=place,
            name=name,
            operator=None if op is None else op.name,
            summary=summary,
            sequence=node._sequence - self.nodes[0]._sequence,
            line=self._line(node),
            module=self._module(node),
            inputs=tuple([_input(*e) for e in zip(node._edges, node._edge_nrs, strict=True)]),
            outputs=tuple(
                [
                    _value(tuple(shape), dtype)
                    for shape, dtype in map(node._output_metadata, range(node._output_count))
                ]
            ),
            saved=tuple(self.saved(place, node)),
            settings=settings_of(node),
            derivatives=() if op is None else derivatives_of(op, node),
            view=op is not None and bool(op.view),
            freed=node._status == FREED,
        )

    def _line(self, node: Any) -> SourceLine | None:
        if node._code is None:
            return None
        key = node._code, node._offset
        line = self.lines.get(key)
        if line is None:
            code, number = node._code, line_of(*key)
            text = linecache.getline(code.co_filename, number).strip()
            line = self.lines[key] = SourceLine(code.co_filename, number, code.co_name, text)
        return line

    def _module(self, node: Any) -> ModuleRef | None:
        module = module_of(node.fn if isinstance(node, CopySlices) else node)
        if module is None:
            return None
        known = self.modules.get(id(module))
        if known is None:
            self.alive.append(module)
            if self.holders is None:
                self.holders = holders_of(type(module))
            known = ModuleRef(path_of(module, self.holders), type(module).__name__)
            self.modules[id(module)] = known
        return known

    def _modules_around(self, nodes: Iterable[GraphNode]) -> tuple[ModuleRef, ...]:
        """Return the modules of the nodes and those that hold them, as far as they are known."""
        used = dict.fromkeys(node.module for node in nodes if node.module is not None)
        classes = {each.path: each for each in self.modules.values()}
        for _, holder in (self.holders or {}).values():
            path = path_of(holder, self.holders)
            classes.setdefault(path, ModuleRef(path, type(holder).__name__))
        for each in list(used):
            parts = each.path.split(".")
            for length in range(1, len(parts)):
                outer = classes.get(".".join(parts[:length]))
                if outer is not None:
                    used.setdefault(outer)
        return tuple(sorted(used, key=lambda each: (each.path, each.class_name)))

    def saved(self, place: int, node: Any) -> Iterator[Saved]:
        """Describe what a node keeps, and note that the node `place` holds that memory."""
        for name, kind, value in saved_values(node):
            array = value._array if isinstance(value, Tensor) else value
            if not isinstance(array, np.ndarray):
                yield Saved(name, kind, (), type(value).__name__, 0, None)
                continue
            owner = owner_of(array)
            known = self.storages.get(id(owner))
            if known is None:
                self.alive.append(owner)
                leaf = self.leaf_storages.get(id(owner))
                known = (
                    len(self.storages),
                    owner.nbytes,
                    None if leaf is None else self.ids[leaf],
                    [],
                )
                self.storages[id(owner)] = known
            if not known[3] or known[3][-1] != place:
                known[3].append(place)
            if kind == "input" and known[2] is not None and _is_leaf(value):
                kind = "leaf"
            shape, dtype = array.shape, dtype_name(array.dtype)
            variable = self.names.get(id(value), "")
            yield Saved(name, kind, shape, dtype, array.nbytes, known[0], variable)


def _is_leaf(value: Any) -> bool:
    return isinstance(value, Tensor) and value._grad_fn is None


def _input(end: Any, nr: int) -> Value | None:
    if end is None:
        return None
    if nr == LEAF:
        return _value(end._array.shape, end._array.dtype)
    shape, dtype = end._output_metadata(nr)
    return _value(tuple(shape), dtype)


@functools.lru_cache(maxsize=1000)  # many nodes have the same few shapes
def _value(shape: tuple[int, ...], dtype: Any) -> Value:
    return Value(shape, dtype_name(dtype))


@functools.lru_cache(maxsize=1000)
def _name_and_summary(class_name: str, op: Any) -> tuple[str, str]:
    name = class_name.rpartition("::")[2]
    return name, op.doc.split("\n")[0] if op is not None else _OTHER_SUMMARIES.get(name, "")


@functools.cache
def dtype_name(dtype: Any) -> str:
    """Return `float32` for NumPy's dtype of that name, also of the dtypes that NumPy lacks."""
    if dtype is None:
        return ""
    known = dtypes.FROM_NUMPY.get(np.dtype(dtype))
    return str(dtype) if known is None else str(known).removeprefix("torch.")


def owner_of(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of `array`, as far as it is an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


# --- what a node keeps ------------------------------------------------------------------------


def saved_values(node: Any) -> Iterator[tuple[str, SavedKind, Any]]:
    """Yield (name, kind, tensor, array or packed object) for what a node keeps for its backward."""
    if isinstance(node, TableNode):
        yield from _saved_by_table(node)
    elif isinstance(node, BackwardCFunction):
        for place, value in enumerate(node._kept_values or ()):
            yield from _general(f"saved_tensors[{place}]", value)
    elif isinstance(node, CopySlices):
        if isinstance(node.fn, Node):
            yield from saved_values(node.fn)
    elif isinstance(node, ForeachNode):
        for place, inner in enumerate(node.inner):
            if inner is not None:
                for name, kind, value in saved_values(inner):
                    yield f"{name}[{place}]", kind, value


def _saved_by_table(node: Any) -> Iterator[tuple[str, SavedKind, Any]]:
    moved = {} if node._extra is None else node._extra.saved
    for name in (*node.saved_tensor_names, *node.saved_output_names):
        if name in moved:
            yield from _each(name, moved[name])
        elif node._status != FREED:
            kept = getattr(node, f"kept_{name}", None)
            if isinstance(kept, tuple):
                for place, each in enumerate(kept):
                    if isinstance(each, Tensor):
                        yield f"{name}[{place}]", _kind(each), each
            elif isinstance(kept, Tensor):
                yield name, _kind(kept), kept
            elif isinstance(kept, np.ndarray):
                yield name, "output", kept


def _each(name: str, value: Any) -> Iterator[tuple[str, SavedKind, Any]]:
    if not isinstance(value, tuple):
        yield from _general(name, value)
    else:
        for place, each in enumerate(value):
            yield from _general(f"{name}[{place}]", each)


def _general(name: str, value: SavedValue) -> Iterator[tuple[str, SavedKind, Any]]:
    if value.unpack_hook is not None:
        yield name, "packed", value.packed
    elif value.is_output and value.array is not None:
        yield name, "output", value.array
    elif value.tensor is not None:
        yield name, _kind(value.tensor), value.tensor


def _kind(tensor: Tensor) -> SavedKind:
    if tensor._grad_fn is not None:
        return "input"
    return "leaf" if tensor._requires_grad is True else "constant"


def settings_of(node: Any) -> tuple[tuple[str, str], ...]:
    """Return what a node keeps besides tensors, as the user wrote it: `dim` is `-1`."""
    if isinstance(node, CopySlices):
        part = shown_setting(node.view_shape)
        return (("written by", node.fn._class_name()), ("shape of the written part", part))
    if not isinstance(node, TableNode):
        return ()
    found = []
    for name in node.saved_plain_names:
        value = getattr(node, f"kept_{name}", None)
        if not isinstance(value, Tensor | np.ndarray) and not callable(value):
            found.append((name, shown_setting(value)))
    return tuple(found)


def shown_setting(value: Any) -> str:
    """Return a setting as text of at most one line."""
    if isinstance(value, np.dtype):
        return dtype_name(value)
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
