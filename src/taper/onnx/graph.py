"""A graph of ONNX nodes under construction.

Owns: `Value`, `Graph`, their names, constants, and the nodes that compute sizes.  Knows nothing of
operators of the table; `mapping` writes their nodes with the methods of `Graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from taper import dtypes
from taper.onnx.errors import OnnxExporterError
from taper.onnx.sizes import Size, Varying, pattern_of, term_of

# TensorProto.DataType
ELEMENT_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
}
INT64, BOOL, FLOAT32 = dtypes.DTYPES["int64"], dtypes.DTYPES["bool"], dtypes.DTYPES["float32"]


class Value:
    """A tensor of the graph; `shape` is that of the traces, and None if a mapping made the value.

    `arrays` are the values in each trace if the value is a constant that no node has used yet;
    `transposed` is the value of which this one is the transposed matrix.
    """

    __slots__ = ("array", "arrays", "dtype", "name", "shape", "transposed")

    def __init__(self, name: str, dtype: Any, shape: tuple[Size, ...] | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.array: np.ndarray | None = None
        self.arrays: list[np.ndarray] | None = None
        self.transposed: Value | None = None

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The shape of a value that has one."""
        if self.shape is None:
            raise OnnxExporterError(f"the shape of {self.name} is not known")
        return self.shape

    @property
    def rank(self) -> int:
        return len(self.sizes)


class Node(NamedTuple):
    """A node: the names of its inputs and outputs; attributes are numbers, texts and lists."""

    kind: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class Result(NamedTuple):
    """What is known of an output of an operator before it is made."""

    shape: tuple[Size, ...]
    dtype: Any


class Graph:
    """Nodes and initializers; `results` and `scope` are those of the operator being mapped."""

    def __init__(self, sizes: dict[str, tuple[int, ...]], opset: int) -> None:
        self.opset = opset
        self.nodes: list[Node] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.sizes = sizes
        self.places: dict[str, tuple[Value, int]] = {}  # for a dynamic size: an input and its axis
        self.scope = ""
        self.results: list[Result] = []
        self._used: dict[str, int] = {}
        self._constants: dict[Any, Value] = {}
        self._terms: dict[Varying, Value] = {}

    @property
    def result(self) -> Result:
        """What is known of the only, or the first, output."""
        return self.results[0]

    def free(self, name: str) -> str:
        """Return a name that nothing else has: the second `/Add` is `/Add_1`."""
        number = self._used.get(name, 0)
        self._used[name] = number + 1
        return self.free(f"{name}_{number}") if number else name

    # --- nodes ---

    def many(
        self, kind: str, inputs: Sequence[Value | None], types: Sequence[Any], **attributes: Any
    ) -> list[Value]:
        """Add a node with an output of each of these dtypes."""
        name = self.free(f"{self.scope}/{kind}")
        outputs = [Value(f"{name}_output_{nr}", dtype) for nr, dtype in enumerate(types)]
        names = [self.named(each) if each is not None else "" for each in inputs]
        while names and not names[-1]:
            names.pop()
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(Node(kind, name, names, [each.name for each in outputs], given))
        return outputs

    def op(self, kind: str, *inputs: Value | None, dtype: Any = None, **attributes: Any) -> Value:
        """Add a node with one output, by default of the first input's dtype."""
        if dtype is None and inputs[0] is not None:
            dtype = inputs[0].dtype
        return self.many(kind, inputs, [dtype], **attributes)[0]

    def cast(self, value: Value, dtype: Any) -> Value:
        """Return the value with another dtype; itself if it has that already."""
        if value.dtype is dtype:
            return value
        if dtype.is_complex or value.dtype.is_complex:
            raise OnnxExporterError("complex tensors cannot be exported: ONNX has few uses of them")
        cast = self.op("Cast", value, dtype=dtype, to=ELEMENT_TYPES[dtype.name])
        cast.shape = value.shape
        return cast

    # --- constants ---

    def constant(self, array: Any, dtype: Any = INT64) -> Value:
        """Return an array that is the same for all inputs."""
        array = np.asarray(array, dtype.numpy)
        key = array.shape, dtype.name, array.tobytes()
        if key not in self._constants:
            value = Value(self.free("constant"), dtype, array.shape)
            value.array = array
            self.initializers[value.name] = array
            self._constants[key] = value
        return self._constants[key]

    def number(self, number: Any, dtype: Any) -> Value:
        """Return a number, even one that varies, as a tensor without dimensions."""
        if isinstance(number, Varying):
            scalar = self.op("Squeeze", self.size(number), self.constant([0]))
            scalar.shape = ()
            return self.cast(scalar, dtype)
        return self.constant(number, dtype)

    def operand(self, operand: Any, dtype: Any) -> Value:
        """Return a tensor or a number, with this dtype."""
        if isinstance(operand, Value):
            return self.cast(operand, dtype)
        return self.number(operand, dtype)

    def named(self, value: Value) -> str:
        """Return the name of a value, which must exist now: a constant becomes one on first use."""
        if value.arrays is not None:
            arrays, value.arrays = value.arrays, None
            pattern = pattern_of(arrays)
            if pattern == "same":
                value.array = arrays[0]
                value.name = self.constant(arrays[0], value.dtype).name
            elif pattern == "uniform":
                value.name = self._uniform(value, arrays).name
            elif pattern == "range":
                value.name = self._range(value, arrays[0]).name
            else:
                value.arrays = arrays
                raise OnnxExporterError(
                    "a tensor that no operator made depends on the input: on the values of a "
                    "tensor (`item()`, `tolist()`, a random number), or on a size in a way that "
                    "the export cannot follow. Compute it with operators from tensors, or leave "
                    "the size out of dynamic_axes"
                )
        return value.name

    def _uniform(self, value: Value, arrays: list[np.ndarray]) -> Value:
        elements = [each.flat[0] for each in arrays]
        if any(each != elements[0] for each in elements) and elements[0] == elements[0]:
            number = self.number(Varying(tuple(map(int, elements))), value.dtype)
        else:
            number = self.number(elements[0], value.dtype)
        return self.op("Expand", number, self.shape(value.sizes))

    def _range(self, value: Value, array: np.ndarray) -> Value:
        count = self.number(value.sizes[0], INT64)
        places = self.op("Range", self.number(0, INT64), count, self.number(1, INT64))
        start, step = array[0], array[1] - array[0]
        scaled = self.cast(places, value.dtype)
        if step != 1:
            scaled = self.op("Mul", scaled, self.number(step, value.dtype))
        return self.op("Add", scaled, self.number(start, value.dtype)) if start else scaled

    # --- sizes ---

    def size(self, size: Size) -> Value:
        """Return a size, as a tensor with one element."""
        if not isinstance(size, Varying):
            return self.constant([size])
        if size not in self._terms:
            self._terms[size] = self._computed(size)
        return self._terms[size]

    def _computed(self, size: Varying) -> Value:
        term = term_of(size, self.sizes)
        if term is None:
            raise OnnxExporterError(
                f"a size was {', '.join(map(str, size.values))} where the dynamic sizes were "
                f"{self.sizes}, which is no multiple of one or two of them plus a constant. "
                "Leave the size out of dynamic_axes"
            )
        found: Value | None = None
        for name in term.names:
            value, axis = self.places[name]
            one = self.op("Shape", value, dtype=INT64, start=axis, end=axis + 1)
            found = one if found is None else self.op("Mul", found, one)
        if found is None:
            return self.constant([term.rest])
        if term.factor != 1:
            found = self.op("Mul", found, self.constant([term.factor]))
        return self.op("Add", found, self.constant([term.rest])) if term.rest else found

    def shape(self, sizes: Sequence[Size]) -> Value:
        """Return sizes as a tensor with one dimension."""
        if not any(isinstance(each, Varying) for each in sizes):
            return self.constant(list(sizes))
        return self.op("Concat", *map(self.size, sizes), axis=0)

    def reshape(self, value: Value, sizes: Sequence[Size]) -> Value:
        """Return the value with another shape; one size that varies needs no computation."""
        old = value.shape if value.shape is not None else ()
        wanted: list[Size] = list(sizes)
        for nr, size in enumerate(wanted):
            if isinstance(size, Varying) and nr < len(old) and old[nr] == size:
                wanted[nr] = 0  # unchanged
        varying = [nr for nr, size in enumerate(wanted) if isinstance(size, Varying)]
        if len(varying) == 1 and not any(
            size == 0 and sizes[nr] == 0 for nr, size in enumerate(wanted)
        ):
            wanted[varying[0]] = -1
        allowed = 1 if any(size == 0 for size in sizes) else None
        if allowed:  # a true zero: no size may be taken from the old shape
            wanted = list(sizes)
        reshaped = self.op("Reshape", value, self.shape(wanted), allowzero=allowed)
        reshaped.shape = tuple(sizes)
        return reshaped

    def expand(self, value: Value, sizes: Sequence[Size]) -> Value:
        """Return the value broadcast to a shape; only new dimensions are computed."""
        old = value.sizes
        if tuple(sizes) == old:
            return value
        ahead = len(sizes) - len(old)
        wanted = [1 if nr >= ahead and old[nr - ahead] == s else s for nr, s in enumerate(sizes)]
        expanded = self.op("Expand", value, self.shape(wanted))
        expanded.shape = tuple(sizes)
        return expanded

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Return the value with its dimensions in this order."""
        turned = self.op("Transpose", value, perm=list(order))
        if value.shape is not None:
            turned.shape = tuple(value.shape[each] for each in order)
        return turned

    # --- the end ---

    def without_unused(self, outputs: Sequence[str]) -> list[Node]:
        """Return the nodes that the outputs depend on; drop initializers that no node reads."""
        needed = set(outputs)
        kept = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                kept.append(node)
                needed.update(node.inputs)
        self.initializers = {n: each for n, each in self.initializers.items() if n in needed}
        return kept[::-1]
