"""Expressions of a program: nodes that are computed from nodes, each written down once.

Owns: the nodes, and what is simplified while they are made (constants, casts, equal expressions).
Knows neither how an expression was found (`symbols`) nor how it is computed (`fusion`, `plan`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

MANY = 4096  # elements from which it counts how they lie
LONGEST_ROW = 2048  # elements: longer rows are reduced from memory

BOOL = np.dtype(bool)
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# What a group of element-wise operations can hold in its registers.
KNOWN = (BOOL, *FLOATS, np.dtype(np.int32), np.dtype(np.int64))
# Casts that the executor knows, as pairs of `dtype.char`.
_CASTS = {"?f", "?d", "?l", "if", "id", "lf", "ld", "l?", "fd", "df", "f?", "d?"}


class UntraceableError(Exception):
    """An expression cannot be written down: the instruction stays a call."""


class Node:
    """One array of an expression.

    `kind` says what `what` and `detail` are:

        memory    arrays that lie there: `detail` is the Value, `what` counts the writes before
        view      a part of the first input's memory: `strides` and `offset`, in bytes
        number    the same number everywhere: `detail` is it, as a 0-d array
        map       element by element: `what` is a ufunc, or "where", "cast", "copy", or a function
                  that the executor has ("logistic", "gelu", "gelu_slope")
        reduce    `what` is a ufunc, `detail` the axes, which are kept with length 1
        product   of two matrices
        store     the first input written into memory: `detail` is the Value
        call      an instruction of the program that is called: `detail` is it
        result    an output of a call: `what` is its number, `detail` the Value
    """

    __slots__ = (
        "detail",
        "dtype",
        "inputs",
        "is_again",
        "kind",
        "number",
        "offset",
        "origin",
        "shape",
        "strides",
        "what",
        "writes",
    )

    def __init__(
        self,
        kind: str,
        what: Any,
        inputs: tuple[Node, ...],
        shape: tuple[int, ...],
        dtype: np.dtype,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
        detail: Any = None,
    ) -> None:
        self.kind, self.what, self.inputs, self.detail = kind, what, inputs, detail
        self.shape, self.dtype, self.offset = shape, dtype, offset
        self.strides = row_major(shape, dtype.itemsize) if strides is None else strides
        self.number = -1
        self.origin: Any = None  # the instruction that it comes from
        self.is_again = False  # whether it may have been computed before, and gone
        self.writes: tuple[int, ...] = ()  # of a call or store: numbers of values, whose memory

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def root(self) -> Node:
        """The node whose memory this is."""
        return self.inputs[0] if self.kind == "view" else self

    @property
    def is_row_major(self) -> bool:
        return is_row_major(self.shape, self.strides, self.dtype.itemsize)


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of an array whose rows lie one after the other."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def is_row_major(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether elements lie row by row in one piece; dimensions of length 1 do not matter."""
    step = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != step:
            return 0 in shape
        step *= length
    return True


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether elements lie in one piece, in some order of the dimensions."""
    pairs = sorted(
        (stride, length) for stride, length in zip(strides, shape, strict=True) if length != 1
    )
    step = itemsize
    for stride, length in pairs:
        if stride != step:
            return 0 in shape
        step *= length
    return True


def lengths_around(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int]:
    """The elements before, along and behind axes that are reduced.

    Axes that are apart count as if the result were both before and behind them.
    """
    inside = [shape[nr] for nr in range(axes[0], axes[-1] + 1) if nr not in axes]
    if math.prod(inside) != 1:
        return 2, 1, 2
    first, last = axes[0], axes[-1] + 1
    return math.prod(shape[:first]), math.prod(shape[first:last]), math.prod(shape[last:])


def matrix_steps(node: Node) -> tuple[int, bool] | None:
    """A matrix as BLAS takes it: elements from row to row, or from column to column if turned."""
    (rows, columns), (down, along), width = node.shape, node.strides, node.dtype.itemsize
    if node.kind == "number" or down % width or along % width:
        return None
    if (along == width or columns == 1) and (down >= columns * width or rows == 1):
        return (down // width if rows > 1 else columns), False
    if (down == width or rows == 1) and (along >= rows * width or columns == 1):
        return (along // width if columns > 1 else rows), True
    return None


def _is_scattered(node: Node) -> bool:
    """Whether there are many elements, and neighbours of a row lie apart."""
    if node.size <= MANY or node.kind == "number":
        return False
    steps = [step for step, length in zip(node.strides, node.shape, strict=True) if length > 1]
    return bool(steps) and steps[-1] not in (0, node.dtype.itemsize)


def _common_order(inputs: list[Node], shape: tuple[int, ...]) -> list[int] | None:
    """The order of dimensions in which all operands lie in one piece; None if it is the usual."""
    order: list[int] | None = None
    for each in inputs:
        if each.kind == "number" or each.shape != shape or each.size <= 1:
            continue
        if each.is_row_major:
            return None
        if not is_dense(shape, each.strides, each.dtype.itemsize):
            return None
        steps = [step // each.dtype.itemsize for step in each.strides]
        own = sorted(range(len(shape)), key=lambda nr: -steps[nr])
        if order is not None and own != order:
            return None
        order = own
    return order


class Graph:
    """The nodes of a program, in an order in which they can be computed."""

    dtypes: frozenset[np.dtype] | tuple[np.dtype, ...] = KNOWN
    # What operators mean, by name, where that is simpler than what their kernels compute.
    meanings: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.nodes: list[Node] = []
        self.known: dict[Any, Node] = {}
        self.origin: Any = None  # the instruction that is being traced
        self.is_again = False  # whether what is computed from now on may have been before, and gone

    def add(self, *args: Any, **options: Any) -> Node:
        """Add a node that is not shared with others."""
        node = Node(*args, **options)
        node.number = len(self.nodes)
        node.origin, node.is_again = self.origin, self.is_again
        self.nodes.append(node)
        return node

    def shared(
        self, kind: str, what: Any, inputs: tuple[Node, ...], shape: Any, dtype: Any, **options: Any
    ) -> Node:
        """Return the node that computes this: the same one if there is one already."""
        detail = options.get("detail")
        layout = options.get("strides"), options.get("offset", 0)
        numbers = tuple([each.number for each in inputs])
        key = kind, what, numbers, shape, dtype, layout, detail, self.is_again and kind != "view"
        node = self.known.get(key)
        if node is None:
            node = self.known[key] = self.add(kind, what, inputs, shape, dtype, **options)
        return node

    def forget_since(self, count: int) -> None:
        """Take back the nodes after the first `count`."""
        del self.nodes[count:]
        while self.known:  # the last ones were put in last
            key, node = self.known.popitem()
            if node.number < count:
                self.known[key] = node
                break

    # --- leaves ------------------------------------------------------------------------------

    def constant(self, value: Any, shape: tuple[int, ...] = ()) -> Node:
        """A number, everywhere in an array of some shape."""
        array = np.asarray(value)
        if array.ndim or array.dtype not in self.dtypes:
            raise UntraceableError(f"a constant of {array.dtype} {array.shape}")
        key = "number", array.tobytes(), array.dtype, shape
        node = self.known.get(key)
        if node is None:
            node = self.add("number", None, (), shape, array.dtype, detail=array)
            self.known[key] = node
        return node

    def view(
        self,
        of: Node,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
        dtype: Any = None,
    ) -> Node:
        """A part of a node's memory; `offset` counts from the start of the memory."""
        root = of.root
        dtype = of.dtype if dtype is None else dtype
        if of.kind == "number":
            return self.constant(of.detail, shape)
        if root.kind != "memory" and root.shape == shape and root.strides == strides and not offset:
            return root
        return self.shared("view", None, (root,), shape, dtype, strides=strides, offset=offset)

    # --- what is computed ----------------------------------------------------------------------

    def map(self, what: Any, inputs: list[Node], dtype: np.dtype) -> Node:
        """An element-wise operation of inputs that have the dtypes that it takes."""
        shape = np.broadcast_shapes(*[each.shape for each in inputs])
        if all(each.kind == "number" for each in inputs) and not isinstance(what, str):
            with np.errstate(all="ignore"):
                found = np.asarray(what(*[each.detail for each in inputs], dtype=None))
            return self.constant(found.astype(dtype), shape)
        if dtype not in self.dtypes or any(each.dtype not in self.dtypes for each in inputs):
            raise UntraceableError(f"elements of {dtype}")
        order = _common_order(inputs, shape)
        if order is not None:
            return self._map_turned(what, inputs, dtype, shape, order)
        self.check_map(what, inputs, dtype)
        return self.shared("map", what, tuple(inputs), shape, dtype)

    def check_map(self, what: Any, inputs: list[Node], dtype: np.dtype) -> None:
        """Refuse what groups do not compute, or not well."""
        if any(_is_scattered(each) for each in inputs):
            raise UntraceableError("many elements that lie apart")
        if isinstance(what, np.ufunc):
            loop = "".join([each.dtype.char for each in inputs]) + "->" + dtype.char
            if loop not in what.types:
                raise UntraceableError(f"{what.__name__} of {loop}")
        elif what == "where" and dtype not in FLOATS:
            raise UntraceableError(f"a choice of {dtype}")

    def _map_turned(
        self, what: Any, inputs: list[Node], dtype: np.dtype, shape: Any, order: list[int]
    ) -> Node:
        """An operation on operands that lie in another order of dimensions, computed in that."""
        turned = []
        for each in inputs:
            lead = len(shape) - len(each.shape)
            lengths, steps = (1,) * lead + each.shape, (0,) * lead + each.strides
            if each.kind == "number":
                turned.append(self.constant(each.detail))
                continue
            view = [lengths[nr] for nr in order], [steps[nr] for nr in order]
            turned.append(self.view(each, tuple(view[0]), tuple(view[1]), each.offset))
        found = self.map(what, turned, dtype)
        strides = [0] * len(shape)
        for place, nr in enumerate(order):
            strides[nr] = found.strides[place]
        return self.view(found, shape, tuple(strides), 0)

    def cast(self, node: Node, dtype: np.dtype) -> Node:
        """The node in another dtype."""
        if node.dtype == dtype:
            return node
        if node.kind == "number":
            return self.constant(node.detail.astype(dtype), node.shape)
        if node.dtype.char + dtype.char not in _CASTS:
            raise UntraceableError(f"a cast from {node.dtype} to {dtype}")
        return self.map("cast", [node], dtype)

    def copy(self, node: Node) -> Node:
        """The node, row by row in memory of its own."""
        if node.dtype not in KNOWN or _is_scattered(node):
            raise UntraceableError(f"a copy of {node.dtype}")
        return self.add("map", "copy", (node,), node.shape, node.dtype)

    def reduce(self, what: Any, node: Node, axes: tuple[int, ...]) -> Node:
        """A reduction that keeps the axes with length 1."""
        if what not in (np.add, np.maximum, np.minimum) or node.dtype not in FLOATS:
            raise UntraceableError(f"{what.__name__} of all {node.dtype}")
        if not node.size:
            raise UntraceableError("a reduction of nothing")
        shape = tuple([1 if nr in axes else length for nr, length in enumerate(node.shape)])
        axes = tuple([nr for nr in axes if node.shape[nr] != 1])
        if not axes:
            return node
        if node.kind == "number":
            count = math.prod([node.shape[nr] for nr in axes]) if what is np.add else 1
            return self.constant(node.detail * node.dtype.type(count), shape)
        before, along, behind = lengths_around(node.shape, axes)
        if node.size > MANY:
            self._refuse_slow(what, node, before, behind)
        if before > 1 and behind > 1:
            return self._reduce_turned(what, node, axes, shape)
        unit = along if before > 1 else behind
        if unit > LONGEST_ROW and not (node.root.kind != "map" and node.is_row_major):
            node = self.copy(node)
        return self.shared("reduce", what, (node,), shape, node.dtype, detail=axes)

    def _refuse_slow(self, what: Any, node: Node, before: int, behind: int) -> None:
        """Leave reductions to their kernels where a group would be slower."""
        if what is not np.add or (before > 1 and behind > 1) or behind > LONGEST_ROW:
            raise UntraceableError("a reduction with a faster kernel")
        if node.root.kind != "map" or not node.is_row_major:
            raise UntraceableError("a reduction of what lies in memory")

    def _reduce_turned(
        self, what: Any, node: Node, axes: tuple[int, ...], shape: tuple[int, ...]
    ) -> Node:
        """A reduction of axes in the middle, or apart: with these put last."""
        kept = [nr for nr in range(len(node.shape)) if nr not in axes]
        order = [*kept, *axes]
        turned = self.view(
            node,
            tuple([node.shape[nr] for nr in order]),
            tuple([node.strides[nr] for nr in order]),
            node.offset,
        )
        found = self.reduce(what, turned, tuple(range(len(kept), len(order))))
        return self.view(found, shape, row_major(shape, node.dtype.itemsize), found.offset)

    def product(self, left: Node, right: Node) -> Node:
        """The product of two matrices."""
        if left.dtype != right.dtype or left.dtype not in FLOATS:
            raise UntraceableError(f"a product of {left.dtype} and {right.dtype}")
        if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
            raise UntraceableError("a product of stacks")
        shape = left.shape[0], right.shape[1]
        if 0 in (*shape, left.shape[1]):
            raise UntraceableError("a product of nothing")
        left, right = (each if matrix_steps(each) else self.copy(each) for each in (left, right))
        return self.shared("product", None, (left, right), shape, left.dtype)
