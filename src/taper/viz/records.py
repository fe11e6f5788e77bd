"""A recorded graph as plain data: what `taper.viz.graph` returns.

Owns the public record types and their JSON.  Must not know tensors or nodes: a record holds texts
and numbers only, so keeping it keeps no computation alive, and two runs of one program give equal
records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = [
    "Derivative",
    "Edge",
    "Graph",
    "GraphLeaf",
    "GraphNode",
    "ModuleRef",
    "Output",
    "Saved",
    "SourceLine",
    "Storage",
    "Value",
]

SavedKind = Literal["input", "output", "leaf", "constant", "packed"]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The user's line that recorded a node.

    Attributes:
        file: the file as Python names it; a notebook cell has the name that IPython gives it.
        number: the line in it, from 1.
        function: the function that the line is in, `<module>` outside of all.
        text: the line itself without its indent; '' if the file cannot be read.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> line = taper.viz.graph(w * 3).nodes[0].line
    >>> line.function, line.text
    ('<module>', 'line = taper.viz.graph(w * 3).nodes[0].line')
    """

    file: str
    number: int
    function: str
    text: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """The module whose `forward` recorded a node: `path` below the model, and the class's name.

    The path of the model itself is ''.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> str(taper.viz.ModuleRef('blocks.4.norm', 'LayerNorm'))
    'blocks.4.norm LayerNorm'
    """

    path: str
    class_name: str

    def __str__(self) -> str:
        return f"{self.path} {self.class_name}".lstrip()


@dataclass(frozen=True, slots=True)
class Value:
    """Shape and dtype of a tensor that went into an operation or came out of it.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> str(taper.viz.graph(w * 3).nodes[0].outputs[0])
    'float32 (2)'
    """

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} ({', '.join(map(str, self.shape))})"


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor that a node keeps for its backward.

    Attributes:
        name: what the node calls it: `self` is in `node._saved_self`.
        kind: `input` (made by another node), `output` (the node's own result), `leaf` (a tensor
            that gets a gradient), `constant` (data without a history) or `packed` (what a hook
            made of it).
        bytes: the size of the tensor itself.
        variable: name of the user's variable that holds it where the graph was asked for, or ''.
        storage: index in `Graph.storages` of the memory that it lies in; tensors that share memory
            have the same one.  None for a packed object that is no tensor.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> taper.viz.graph(w * w).nodes[0].saved[0]
    Saved(name='self', kind='leaf', shape=(2,), dtype='float32', bytes=8, storage=0, variable='w')
    """

    name: str
    kind: SavedKind
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    storage: int | None
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Storage:
    """A piece of memory that saved tensors lie in, counted once however many they are.

    Attributes:
        id: its index in `Graph.storages`.
        bytes: its size, of which a saved view may show only a part.
        leaf: id of the leaf that it belongs to, which keeps it alive anyway; else None.
        holders: ids of the nodes that keep it, in order.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> taper.viz.graph(w * w).storages
    (Storage(id=0, bytes=8, leaf=1, holders=(0,)),)
    """

    id: int
    bytes: int
    leaf: int | None
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivative:
    """How a node computes the gradient of some of its inputs.

    Attributes:
        wrt: names of the operator's arguments.
        text: the formula of the operator table, as Python.
        mathematics: the same as MathML, which browsers and notebooks typeset.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> taper.viz.graph(w.exp()).nodes[0].derivatives[0].text
    'grad * conj(result)'
    """

    wrt: tuple[str, ...]
    text: str
    mathematics: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One recorded operation.

    Attributes:
        id: its place in `Graph.nodes`, which counts in the order of recording.
        name: PyTorch's name of the node, `MulBackward0`.
        operator: the operator of the table, `mul`; None for other nodes.
        summary: what the operator computes, one sentence.
        sequence: order of recording, counted from the graph's first node.
        line: the user's line, if it is known.
        module: the module whose forward recorded it, if there was one.
        inputs: for each edge of the node what went in there; None where no gradient goes.
        outputs: what came out.
        saved: tensors that are kept for backward; () once they are freed.
        settings: what is kept besides tensors, as (name, text).
        derivatives: the formulas of the gradients; () for nodes that are not of the table.
        view: whether the output shares the memory of the input.
        freed: whether a backward pass has dropped the saved values.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> node = taper.viz.graph(w * 3).nodes[0]
    >>> node.id, node.name, node.operator, node.view
    (0, 'MulBackward0', 'mul', False)
    """

    id: int
    name: str
    operator: str | None
    summary: str
    sequence: int
    line: SourceLine | None
    module: ModuleRef | None
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    saved: tuple[Saved, ...]
    settings: tuple[tuple[str, str], ...]
    derivatives: tuple[Derivative, ...]
    view: bool
    freed: bool


@dataclass(frozen=True, slots=True)
class GraphLeaf:
    """A tensor in which gradients end.

    `id` continues the counting of the nodes.  `name` is that of a parameter of the model, or of a
    variable where the graph was asked for; '' if there is none.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> taper.viz.graph(w * 3).leaves[0]
    GraphLeaf(id=1, name='w', shape=(2,), dtype='float32', bytes=8, parameter=False)
    """

    id: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    parameter: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A value on its way forward; its gradient goes the other way.

    Attributes:
        source: id of the node or leaf that it comes from.
        output: which output of the source it is.
        target: id of the node that takes it.
        input: which edge of the target it is, a position in `GraphNode.inputs`.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> taper.viz.graph(w * 3).edges
    (Edge(source=1, output=0, target=0, input=0),)
    """

    source: int
    output: int
    target: int
    input: int


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that the graph was asked for: its name, if it has one, and where it comes from.

    >>> import taper
    >>> w = taper.ones(2, requires_grad=True)
    >>> loss = w.sum()
    >>> taper.viz.graph(loss).outputs
    (Output(name='loss', source=0, output=0, shape=(), dtype='float32'),)
    """

    name: str
    source: int
    output: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, repr=False)
class Graph:
    """What tensors were computed from, as far as a gradient flows.

    Iterating gives the nodes in the order of recording, `graph[id]` a node or leaf.  Two graphs are
    equal if the same program recorded them.

    Attributes:
        outputs: the tensors that the graph was asked for.
        nodes: the recorded operations, in the order of recording.
        leaves: the tensors in which gradients end.
        edges: the values that go from nodes and leaves to nodes.
        storages: the memory that saved tensors lie in.
        modules: the modules that recorded nodes, and those around them.

    >>> import taper
    >>> from taper import viz
    >>> w = taper.ones(3, requires_grad=True)
    >>> graph = viz.graph((w * w).sum())
    >>> [(node.id, node.name, node.outputs[0].shape) for node in graph]
    [(0, 'MulBackward0', (3,)), (1, 'SumBackward0', ())]
    >>> graph.leaves[0].name, graph.leaves[0].id
    ('w', 2)
    >>> [(edge.source, edge.target) for edge in graph.edges]
    [(2, 0), (2, 0), (0, 1)]
    """

    outputs: tuple[Output, ...]
    nodes: tuple[GraphNode, ...]
    leaves: tuple[GraphLeaf, ...]
    edges: tuple[Edge, ...]
    storages: tuple[Storage, ...] = ()
    modules: tuple[ModuleRef, ...] = ()

    def __iter__(self) -> Iterator[GraphNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, id: int) -> GraphNode | GraphLeaf:
        if not 0 <= id < len(self.nodes) + len(self.leaves):
            raise KeyError(id)
        return self.nodes[id] if id < len(self.nodes) else self.leaves[id - len(self.nodes)]

    @property
    def saved_bytes(self) -> int:
        """Bytes that the graph keeps alive for its backward, each piece of memory counted once.

        The memory of leaves is not counted: it is there without the graph.

        >>> import taper
        >>> w = taper.ones(1000, requires_grad=True)
        >>> taper.viz.graph((w * 2).exp().sum()).saved_bytes  # exp keeps its result
        4000
        """
        return sum(each.bytes for each in self.storages if each.leaf is None)

    def to_json(self) -> dict[str, Any]:
        """Return the graph as dicts, lists, texts and numbers, with the names of the attributes.

        >>> import taper
        >>> data = taper.viz.graph(taper.ones(2, requires_grad=True) * 3).to_json()
        >>> list(data)
        ['outputs', 'nodes', 'leaves', 'edges', 'storages', 'modules']
        >>> data["nodes"][0]["outputs"]
        [{'shape': [2], 'dtype': 'float32'}]
        """
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # tuples become lists
        return data

    def json(self, indent: int | None = None) -> str:
        """Return the text of `to_json()`."""
        return json.dumps(asdict(self), indent=indent, ensure_ascii=False)

    def __repr__(self) -> str:
        return (
            f"<Graph of {len(self.nodes)} nodes, {len(self.leaves)} leaves and "
            f"{len(self.edges)} edges>"
        )
