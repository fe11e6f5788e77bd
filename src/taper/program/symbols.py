"""Symbolic arrays: a kernel or formula that is called with them writes its expression down.

A `Symbol` answers what an array is asked (shape, dtype, strides) and notes what is computed with
it as nodes of a graph.  Kernels ask `type(x) is ndarray` and call each other by their global
names, so a function is called in a copy whose globals are looked up through `_World`: there
`ndarray` is `Symbol`, and operators are their kernels.

Owns: what NumPy's functions mean for symbols.  What a symbol does not know raises, and the
instruction that was traced stays a call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from taper.arrays import elements, reduction
from taper.arrays.strides import reshaped
from taper.opdef import Op
from taper.ops.activation import smooth
from taper.program.graph import BOOL, FLOATS, Graph, Node, UntraceableError, is_row_major, row_major

_BYTE = np.zeros(1, np.int8)
_SIMPLE = {np.positive, np.conjugate}
_WEAK = (int, float)


class Symbol(NDArrayOperatorsMixin):
    """An array of which only shape, dtype and origin are known."""

    __slots__ = ("graph", "is_shared", "node")

    graph: Graph
    node: Node
    is_shared: bool  # whether others may see the memory, so that it must not be written

    def __new__(  # what `ndarray(...)` means in a kernel: a view of other memory
        cls, shape: Any, dtype: Any, buffer: Any, offset: int = 0, strides: Any = None
    ) -> Any:
        if not isinstance(buffer, Symbol):
            return np.ndarray(shape, dtype, buffer, offset, strides)
        node = buffer.node
        if dtype != node.dtype:
            raise UntraceableError("memory seen in another dtype")
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        strides = row_major(shape, node.dtype.itemsize) if strides is None else tuple(strides)
        return buffer._seen(shape, strides, node.offset + offset)

    # --- what it is like -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def dtype(self) -> np.dtype:
        return self.node.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return self.node.strides

    @property
    def ndim(self) -> int:
        return len(self.node.shape)

    @property
    def size(self) -> int:
        return self.node.size

    @property
    def itemsize(self) -> int:
        return self.node.dtype.itemsize

    @property
    def flags(self) -> Any:
        node = self.node
        by_rows = node.is_row_major
        turned = is_row_major(node.shape[::-1], node.strides[::-1], node.dtype.itemsize)
        return types.SimpleNamespace(
            c_contiguous=by_rows,
            f_contiguous=turned,
            contiguous=by_rows,
            forc=by_rows or turned,
            writeable=True,
        )

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def real(self) -> Any:
        return self

    base = None

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self, *_: Any) -> bool:
        raise UntraceableError("a decision that depends on values")

    __float__ = __int__ = __index__ = __iter__ = __setitem__ = __array__ = view = __bool__

    def item(self) -> Any:
        """The one element, as a symbol still."""
        return self.reshape(())

    # --- views ---------------------------------------------------------------------------------

    def _seen(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        self.is_shared = True
        return symbol(self.graph, self.graph.view(self.node, shape, strides, offset), True)

    def _rearranged(self, change: Callable[[np.ndarray], np.ndarray]) -> Any:
        """What NumPy makes of the shape and strides; the elements are never looked at."""
        node = self.node
        if node.kind == "number":
            found = change(np.broadcast_to(node.detail, node.shape))
            return symbol(self.graph, self.graph.constant(node.detail, found.shape))
        before = as_strided(_BYTE, node.shape, node.strides)
        after = change(before)
        if not isinstance(after, np.ndarray):
            raise UntraceableError("an index that is no view")
        start = before.__array_interface__["data"][0]
        offset = node.offset + after.__array_interface__["data"][0] - start
        return self._seen(after.shape, after.strides, offset)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        if order != "C":
            raise UntraceableError("a reshape by columns")
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        try:
            return self._rearranged(lambda array: reshaped(array, wanted))
        except ValueError:
            copy = symbol(self.graph, self.graph.copy(self.node))
            return copy._rearranged(lambda array: reshaped(array, wanted))

    def ravel(self) -> Any:
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> Any:
        return self._rearranged(lambda array: array.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> Any:
        return self._rearranged(lambda array: array.swapaxes(first, second))

    def squeeze(self, axis: Any = None) -> Any:
        return self._rearranged(lambda array: array.squeeze(axis))

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(each is None or each is ... or isinstance(each, int | slice) for each in parts):
            raise UntraceableError("an index by an array")
        return self._rearranged(lambda array: array[parts if ... in parts else (*parts, ...)])

    # --- what is computed ------------------------------------------------------------------------

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Any:
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return symbol(self.graph, self.node) if copy else self
        return symbol(self.graph, self.graph.cast(self.node, wanted))

    def copy(self, order: str = "C") -> Any:
        return symbol(self.graph, self.graph.copy(self.node))

    def conj(self) -> Any:
        return self

    conjugate = conj

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        return _reduced(self, np.add, axis, keepdims, dtype)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return _reduced(self, np.maximum, axis, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return _reduced(self, np.minimum, axis, keepdims)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        total = self.sum(axis, dtype, None, keepdims)
        return total / (self.size // max(total.size, 1))

    def dot(self, other: Any) -> Any:
        return _matrix_product(self, other)

    # --- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        (out,) = options.pop("out", (None,))
        graph = self.graph
        if method == "reduce":
            (array,) = inputs
            axis = options.pop("axis", 0)
            keepdims = options.pop("keepdims", False)
            dtype = options.pop("dtype", None)
            _refuse(options)
            result = _reduced(array, ufunc, axis, keepdims, dtype)
        elif method != "__call__":
            raise UntraceableError(f"{ufunc.__name__}.{method}")
        elif ufunc is np.matmul:
            _refuse(options)
            result = _matrix_product(*inputs)
        else:
            dtype = options.pop("dtype", None)
            options.pop("casting", None)
            _refuse(options)
            result = _mapped(graph, ufunc, inputs, dtype)
        return result if out is None else _written(out, result)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        meaning = _FUNCTIONS.get(function)
        if meaning is None:
            raise UntraceableError(f"numpy.{function.__name__}")
        return meaning(*args, **kwargs)


def symbol(graph: Graph, node: Node, is_shared: bool = False) -> Any:
    """Return a symbol for a node; one that is shared may not be written."""
    found = object.__new__(Symbol)
    found.graph, found.node, found.is_shared = graph, node, is_shared
    return found


def _refuse(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value not in (True, None) or (name == "where" and value is not True):
            raise UntraceableError(f"the option {name}")


def _written(out: Any, result: Any) -> Any:
    """The meaning of `out=`: from now on the symbol is the result."""
    if not isinstance(out, Symbol) or out.is_shared:
        raise UntraceableError("memory that others may see is written")
    if out.shape != result.shape:
        raise UntraceableError("a result that is broadcast into memory")
    out.node = out.graph.cast(result.node, out.dtype)
    return out


def _node(graph: Graph, value: Any, dtype: Any = None) -> Node:
    if isinstance(value, Symbol):
        return value.node
    if isinstance(value, np.ndarray) and value.ndim:
        if value.size and (value == value.reshape(-1)[0]).all():
            return graph.constant(value.reshape(-1)[0], value.shape)
        raise UntraceableError("an array that the kernel made")
    return graph.constant(np.asarray(value, dtype))


def _mapped(graph: Graph, ufunc: Any, inputs: tuple[Any, ...], dtype: Any = None) -> Any:
    """The element-wise operation, its operands in the dtypes that NumPy computes it in."""
    if ufunc.nout != 1 or ufunc.signature is not None:
        raise UntraceableError(ufunc.__name__)
    kinds = [
        type(each)
        if type(each) in _WEAK
        else each.dtype
        if hasattr(each, "dtype")
        else np.dtype(type(each))
        for each in inputs
    ]
    chosen = {} if dtype is None else {"signature": (None,) * len(inputs) + (np.dtype(dtype),)}
    loop = ufunc.resolve_dtypes((*kinds, None), **chosen)
    nodes = []
    for each, wanted in zip(inputs, loop, strict=False):
        node = _node(graph, each, wanted if type(each) in _WEAK else None)
        nodes.append(graph.cast(node, wanted))
    return symbol(graph, _simplified(graph, ufunc, nodes, loop[-1]))


def _is_number(node: Node, value: float) -> bool:
    return node.kind == "number" and bool(node.detail == value)


def _simplified(graph: Graph, ufunc: Any, nodes: list[Node], dtype: np.dtype) -> Node:
    shape = np.broadcast_shapes(*[each.shape for each in nodes])
    if ufunc in _SIMPLE:
        return nodes[0]
    if ufunc in (np.multiply, np.divide) and _is_number(nodes[1], 1) and nodes[0].shape == shape:
        return nodes[0]
    if ufunc is np.multiply and _is_number(nodes[0], 1) and nodes[1].shape == shape:
        return nodes[1]
    if ufunc is np.square:
        return graph.map(np.multiply, [nodes[0], nodes[0]], dtype)
    if ufunc is np.reciprocal and dtype in FLOATS:
        return graph.map(np.divide, [graph.constant(dtype.type(1)), nodes[0]], dtype)
    if ufunc is np.power and _is_number(nodes[1], 2):
        return graph.map(np.multiply, [nodes[0], nodes[0]], dtype)
    return graph.map(ufunc, nodes, dtype)


def _reduced(array: Any, ufunc: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Any:
    graph = array.graph
    if dtype is not None and np.dtype(dtype) != array.dtype:
        array = array.astype(dtype)
    ndim = array.ndim
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted([each % ndim for each in axes])) if ndim else ()
    kept = symbol(graph, graph.reduce(ufunc, array.node, axes))
    if keepdims:
        return kept
    return kept.reshape([n for nr, n in enumerate(array.shape) if nr not in axes])


def _matrix_product(left: Any, right: Any) -> Any:
    """left @ right, for matrices and vectors."""
    if not isinstance(left, Symbol) or not isinstance(right, Symbol) or not left.ndim * right.ndim:
        raise UntraceableError("a product with a constant")
    shape = left.shape[:-1] + right.shape[1:]
    if left.ndim == 1:
        left = left.reshape(1, -1)
    if right.ndim == 1:
        right = right.reshape(-1, 1)
    if left.ndim > 2 and right.ndim == 2:
        left = left.reshape(-1, left.shape[-1])
    found = symbol(left.graph, left.graph.product(left.node, right.node))
    return found if found.shape == shape else found.reshape(shape)


# --- NumPy's functions that are no ufuncs ------------------------------------------------------


def _graph_of(*values: Any) -> Graph:
    for each in values:
        if isinstance(each, Symbol):
            return each.graph
    raise UntraceableError("no symbol")


def _where(condition: Any, first: Any, second: Any) -> Any:
    graph = _graph_of(condition, first, second)
    kinds = [type(each) if type(each) in _WEAK else each.dtype for each in (first, second)]
    dtype = np.add.resolve_dtypes((*kinds, None))[-1] if BOOL not in kinds else BOOL
    nodes = [graph.cast(_node(graph, condition), BOOL)]
    for each in (first, second):
        node = _node(graph, each, dtype if type(each) in _WEAK else None)
        nodes.append(graph.cast(node, dtype))
    return symbol(graph, graph.map("where", nodes, dtype))


def _like(value: Any) -> Callable[..., Any]:
    def make(
        array: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
    ) -> Any:
        kind = array.dtype if dtype is None else np.dtype(dtype)
        return symbol(
            array.graph, array.graph.constant(np.array(value, kind), shape or array.shape)
        )

    return make


def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    return array._rearranged(lambda each: np.broadcast_to(each, wanted))


def _as_array(value: Any, dtype: Any = None, **_: Any) -> Any:
    if not isinstance(value, Symbol):
        return np.asarray(value, dtype)
    return value if dtype is None else value.astype(dtype, copy=False)


def _row_by_row(value: Any, dtype: Any = None) -> Any:
    if not isinstance(value, Symbol):
        return np.ascontiguousarray(value, dtype)
    value = _as_array(value, dtype)
    return value if value.node.is_row_major else value.copy()


def _clip(array: Any, low: Any = None, high: Any = None, out: Any = None) -> Any:
    if low is not None:
        array = np.maximum(array, low)
    return array if high is None else np.minimum(array, high)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.zeros_like: _like(0),
    np.empty_like: _like(0),
    np.ones_like: _like(1),
    np.broadcast_to: _broadcast_to,
    np.reshape: lambda array, shape: array.reshape(shape),
    np.transpose: lambda array, axes=None: array.transpose(axes),
    np.swapaxes: lambda array, first, second: array.swapaxes(first, second),
    np.expand_dims: lambda array, axis: array._rearranged(lambda each: np.expand_dims(each, axis)),
    np.squeeze: lambda array, axis=None: array.squeeze(axis),
    np.moveaxis: lambda array, *to: array._rearranged(lambda each: np.moveaxis(each, *to)),
    np.sum: lambda array, axis=None, **options: array.sum(axis, **options),
    np.max: lambda array, axis=None, **options: array.max(axis, **options),
    np.min: lambda array, axis=None, **options: array.min(axis, **options),
    np.mean: lambda array, axis=None, **options: array.mean(axis, **options),
    np.dot: lambda left, right: _matrix_product(left, right),
    np.clip: _clip,
    np.copy: lambda array: array.copy(),
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
    np.size: lambda array: array.size,
}


# --- the world in which kernels run --------------------------------------------------------------


def _of_floats(name: str) -> Callable[[Any], Any]:
    """A function that the executor has for floats."""

    def meaning(values: Any) -> Any:
        if not isinstance(values, Symbol) or values.dtype != np.float32:
            raise UntraceableError(f"{name} in double precision")
        return symbol(values.graph, values.graph.map(name, [values.node], values.dtype))

    return meaning


def _masked(values: Any, mask: Any) -> Any:
    return _where(mask, values, values.dtype.type(0))


def _sum_of(array: Any, axes: Any, keepdims: bool, dtype: Any) -> Any:
    return _reduced(array, np.add, axes, keepdims, dtype)


# Functions of kernels whose meaning is simpler than how they compute it.
_MEANINGS: dict[Any, Any] = {
    np.ndarray: Symbol,
    elements.logistic: _of_floats("logistic"),
    smooth._gelu: _of_floats("gelu"),
    smooth._gelu_slope: _of_floats("gelu_slope"),
    elements.masked: _masked,
    elements.select: _where,
    elements.in_blocks: lambda function, *arrays: function(*arrays),
    reduction.total_of: lambda array: _reduced(array, np.add, None, False),
    reduction.add_blocks: _sum_of,
    reduction.row_sums: lambda array, axis: _reduced(array, np.add, axis, True),
    reduction.column_sums: lambda array: _reduced(array, np.add, 0, False),
}


class _NumPy:
    """NumPy as kernels see it: what makes arrays of arrays leaves symbols as they are."""

    ndarray = Symbol
    asarray = staticmethod(_as_array)
    asanyarray = staticmethod(_as_array)
    ascontiguousarray = staticmethod(_row_by_row)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


_NUMPY = _NumPy()


class _World(dict):
    """The globals of a module, seen through `stand_in`."""

    def __init__(self, real: dict[str, Any]) -> None:
        super().__init__(__builtins__=real.get("__builtins__", __builtins__))
        self.real = real

    def __getitem__(self, name: str) -> Any:
        return stand_in(self.real[name])


_worlds: dict[int, _World] = {}
_copies: dict[Any, Any] = {}


def stand_in(value: Any) -> Any:
    """Return what stands for a global name in the world of symbols."""
    if value is np:
        return _NUMPY
    try:
        meaning = _MEANINGS.get(value)
    except TypeError:  # not hashable
        return value
    if meaning is not None:
        return meaning
    entry = getattr(value, "op", None)
    if isinstance(entry, Op) and value is entry.function:
        return _operator(entry)
    if isinstance(value, types.FunctionType) and value.__module__.startswith("taper"):
        return in_world(value)
    return value


def _operator(entry: Op) -> Callable[..., Any]:
    """An operator as formulas call it: its kernel, or what the graph has for it."""

    def call(*args: Any, **options: Any) -> Any:
        first = next((each for each in args if isinstance(each, Symbol)), None)
        meaning = None if first is None else first.graph.meanings.get(entry.name)
        if meaning is not None:
            return meaning(*args, **options)
        options = {("self" if name == "input" else name): each for name, each in options.items()}
        return entry.call(stand_in(entry.kernel), entry.arguments(args, options))

    return call


def in_world(function: Any) -> Any:
    """Return a copy of a Python function whose global names are looked up through `stand_in`."""
    copy = _copies.get(function)
    if copy is None:
        real = function.__globals__
        world = _worlds.get(id(real))
        if world is None:
            world = _worlds[id(real)] = _World(real)
        copy = types.FunctionType(
            function.__code__, world, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        _copies[function] = copy
    return copy
