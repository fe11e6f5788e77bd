"""The graph of a computation as plain data: boxes for functions and tensors, edges between them.

Owns the walk from output tensors back to the leaves.  Must not know how a tensor or a node is
built: it reads only what PyTorch makes public (`grad_fn`, `next_functions`, `variable`, `_saved_*`,
`saved_tensors`, `_base`), so it works on any objects that have these attributes.

Invariants: (I1) every function and every tensor appears once; (I2) no recursion: only memory limits
the depth of a graph; (I3) the graph keeps every value in it alive, so an `id` is never used twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Drawing", "Link", "Vertex", "is_tensor"]

TensorKind = Literal["saved", "base", "output", "leaf"]
VertexKind = Literal["function", "saved", "base", "output", "leaf"]
LinkKind = Literal["flow", "saved", "view"]

# A tensor with several roles is drawn in the one that says most about it.
_PRECEDENCE: dict[str, int] = {"saved": 0, "base": 1, "output": 2, "leaf": 3}
_SAVED = "_saved_"


@dataclass(slots=True)
class Vertex:
    """A function or a tensor of the graph.

    `name` is the function's name, or what is known of the tensor's ('' if nothing).  `attributes`
    are what a function keeps, as (name, value), if the graph was asked for them.

    >>> import taper
    >>> graph = taper.viz.drawing.Drawing(taper.ones(2, requires_grad=True) * 3)
    >>> [(vertex.kind, vertex.name) for vertex in graph.vertices]
    [('output', ''), ('function', 'MulBackward0'), ('function', 'AccumulateGrad'), ('leaf', '')]
    """

    index: int
    kind: VertexKind
    value: Any
    name: str
    shape: tuple[int, ...] | None = None
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A line from vertex `tail` to vertex `head`, in the direction of the forward computation.

    'flow': values go from tail to head; 'saved': one end is a tensor that the other end, a
    function, keeps for its backward (an input of it is the tail, a result of it the head);
    'view': head is a view of tail.

    >>> import taper
    >>> graph = taper.viz.drawing.Drawing(taper.ones(2, requires_grad=True) * 3)
    >>> graph.edges[0]
    Link(tail=1, head=0, kind='flow')
    """

    tail: int
    head: int
    kind: LinkKind


def is_tensor(value: object) -> bool:
    """Return whether the value has what this package needs of a tensor."""
    return hasattr(value, "grad_fn") and hasattr(value, "shape")


class Drawing:
    """What `outputs` were computed from, as far as a gradient would flow.

    Reading saved values of a graph that a backward pass has freed raises the usual error.

    Args:
        outputs: a tensor, or a tuple of tensors.
        names: a dict from names to tensors, or pairs.
        saved: add the tensors that functions keep in `_saved_*` attributes; those of custom
            functions, `saved_tensors`, are always there.
        attributes: fill `Vertex.attributes`.

    >>> import taper
    >>> from taper.viz.drawing import Drawing
    >>> x = taper.ones(3, requires_grad=True)
    >>> graph = Drawing((x * x).sum(), names={"x": x})
    >>> [vertex.name for vertex in graph.vertices if vertex.kind == "function"]
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    >>> [vertex.name for vertex in graph.vertices if vertex.kind == "leaf"]
    ['x']
    """

    def __init__(
        self,
        outputs: Any,
        names: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
        *,
        saved: bool = False,
        attributes: bool = False,
    ) -> None:
        self.vertices: list[Vertex] = []
        self.edges: list[Link] = []
        self._saved = saved
        self._attributes = attributes
        self._indices: dict[int, int] = {}
        self._unvisited: list[tuple[int, Any]] = []
        self._attribute_names: dict[type, list[str]] = {}
        self._named = dict(() if names is None else names)
        self._names = {id(tensor): name for name, tensor in self._named.items()}
        for output in _checked(outputs):
            self._add_output(output)
        while self._unvisited:
            self._visit(*self._unvisited.pop())

    def index_of(self, value: object) -> int:
        """Return the index of the vertex of a tensor or function; KeyError if it is missing."""
        return self._indices[id(value)]

    def _add_output(self, tensor: Any) -> None:
        head = self._result(tensor, "output")
        base = getattr(tensor, "_base", None)
        if base is not None:
            self._connect(self._result(base, "base"), head, "view")

    def _result(self, tensor: Any, kind: TensorKind) -> int:
        """Return the tensor's vertex, joined to the function that made the tensor."""
        is_new = id(tensor) not in self._indices
        index = self._tensor(tensor, kind)
        if is_new and tensor.grad_fn is not None:
            self._connect(self._function(tensor.grad_fn), index, "flow")
        return index

    def _connect(self, tail: int, head: int, kind: LinkKind) -> None:
        self.edges.append(Link(tail, head, kind))

    def _tensor(self, tensor: Any, kind: TensorKind, name: str | None = None) -> int:
        if name is None:
            name = self._names.get(id(tensor), "")
        index = self._indices.get(id(tensor))
        if index is None:
            index = self._indices[id(tensor)] = len(self.vertices)
            self.vertices.append(Vertex(index, kind, tensor, name, tuple(tensor.shape)))
        elif _PRECEDENCE[kind] > _PRECEDENCE[self.vertices[index].kind]:
            self.vertices[index].kind = kind
            self.vertices[index].name = name
        return index

    def _function(self, node: Any) -> int:
        index = self._indices.get(id(node))
        if index is None:
            index = self._indices[id(node)] = len(self.vertices)
            # Not `node.name()`: a custom function may have overwritten it (`ctx.name = ...`).
            self.vertices.append(Vertex(index, "function", node, type(node).__name__))
            self._unvisited.append((index, node))
        return index

    def _visit(self, index: int, node: Any) -> None:
        for previous, _ in node.next_functions:
            if previous is not None:
                self._connect(self._function(previous), index, "flow")
        vertex = self.vertices[index]
        if vertex.name == "AccumulateGrad":
            self._connect(self._tensor(node.variable, "leaf"), index, "flow")
            return
        if self._saved or self._attributes:
            kept = [(name, getattr(node, _SAVED + name)) for name in self._names_of_saved(node)]
            if self._attributes:
                vertex.attributes = tuple(kept)
            if self._saved:
                for name, tensor in _tensors_in(kept):
                    self._connect_saved(index, node, tensor, name)
        for tensor in _saved_by_custom_function(node):
            self._connect_saved(index, node, tensor, None)

    def _connect_saved(self, index: int, node: Any, tensor: Any, name: str | None) -> None:
        box = self._tensor(tensor, "saved", name)
        if tensor.grad_fn is node:
            self._connect(index, box, "saved")
        else:
            self._connect(box, index, "saved")

    def _names_of_saved(self, node: Any) -> list[str]:
        names = self._attribute_names.get(type(node))
        if names is None:
            names = [name[len(_SAVED) :] for name in dir(node) if name.startswith(_SAVED)]
            # Nodes with a `__dict__` may each have their own names; others share one list by type,
            # and asking for it is slow.
            if not hasattr(node, "__dict__"):
                self._attribute_names[type(node)] = names
        return names


def _checked(outputs: Any) -> list[Any]:
    """Return the output tensors, each once."""
    tensors = outputs if isinstance(outputs, tuple) else (outputs,)
    for output in tensors:
        if not is_tensor(output):
            inside = "" if output is outputs else f" with {type(output).__name__}"
            raise TypeError(
                f"expected a tensor or a tuple of tensors, got {type(outputs).__name__}{inside}"
            )
    return list({id(tensor): tensor for tensor in tensors}.values())


def _tensors_in(attributes: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, value in attributes:
        if is_tensor(value):
            yield name, value
        elif isinstance(value, tuple | list):
            for position, element in enumerate(value):
                if is_tensor(element):
                    yield f"{name}[{position}]", element


def _saved_by_custom_function(node: Any) -> list[Any]:
    # Such a function hands its tensors over at the first reading, which a picture must not cause.
    function = getattr(node, "_forward_cls", node)
    if getattr(function, "clear_saved_tensors_on_access", False):
        return []
    return [tensor for tensor in getattr(node, "saved_tensors", ()) or () if is_tensor(tensor)]
