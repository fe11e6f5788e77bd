"""The file format: `ModelProto` and the messages in it, as protocol buffers.

Owns: the numbers of the fields.  A message is a list of pieces, so that the bytes of large
parameters are never joined.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from taper import dtypes
from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import ELEMENT_TYPES, Node
from taper.utils._protobuf import integer, integers, single, text, varint
from taper.version import taper as own_version

Piece = bytes | memoryview
_LARGEST = 2**31 - 1  # the limit of protocol buffers for a message
_FLOAT, _INT, _STRING, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 6, 7, 8  # AttributeProto.AttributeType


class Port(NamedTuple):
    """An input or output of the graph; a size is a number or the name of a dynamic one."""

    name: str
    dtype: Any
    shape: tuple[int | str, ...]


def _nested(field: int, pieces: Sequence[Piece]) -> list[Piece]:
    length = sum(len(each) for each in pieces)
    return [varint(field << 3 | 2) + varint(length), *pieces]


def _attribute(name: str, value: Any) -> bytes:
    fields = text(1, name)
    if isinstance(value, float):
        return fields + single(2, value) + integer(20, _FLOAT)
    if isinstance(value, int):
        return fields + integer(3, value) + integer(20, _INT)
    if isinstance(value, str):
        return fields + text(4, value) + integer(20, _STRING)
    if value and isinstance(value[0], str):
        return fields + b"".join(text(9, each) for each in value) + integer(20, _STRINGS)
    if value and isinstance(value[0], float):
        return fields + b"".join(single(7, each) for each in value) + integer(20, _FLOATS)
    return fields + b"".join(integer(8, each) for each in value) + integer(20, _INTS)


def _node(node: Node) -> bytes:
    fields = b"".join(text(1, each) for each in node.inputs)
    fields += b"".join(text(2, each) for each in node.outputs)
    fields += text(3, node.name) + text(4, node.kind)
    return fields + b"".join(
        text(5, _attribute(name, value)) for name, value in sorted(node.attributes.items())
    )


def _tensor(name: str, array: np.ndarray) -> list[Piece]:
    kind = ELEMENT_TYPES[dtypes.FROM_NUMPY[array.dtype].name]
    head = integers(1, array.shape) if array.ndim else b""
    array = np.ascontiguousarray(array)
    if sys.byteorder == "big":
        array = array.byteswap()
    data = array.reshape(-1).view(np.uint8).data
    return [head + integer(2, kind) + text(8, name), *_nested(9, [data])]


def _port(port: Port) -> bytes:
    dims = (integer(1, s) if isinstance(s, int) else text(2, s) for s in port.shape)
    shape = b"".join(text(1, each) for each in dims)
    tensor = integer(1, ELEMENT_TYPES[port.dtype.name]) + text(2, shape)
    return text(1, port.name) + text(2, text(1, tensor))


def model_pieces(
    nodes: Iterable[Node],
    initializers: dict[str, np.ndarray],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    opset: int,
) -> list[Piece]:
    """Return the file, in pieces that are written one after the other."""
    graph: list[Piece] = [text(1, _node(each)) for each in nodes]
    graph.append(text(2, "main_graph"))
    for name, array in initializers.items():
        graph += _nested(5, _tensor(name, array))
    graph += [text(11, _port(each)) for each in inputs]
    graph += [text(12, _port(each)) for each in outputs]
    head = integer(1, 8 if opset == 18 else 9) + text(2, "taper") + text(3, own_version)
    pieces = [head, *_nested(7, graph), text(8, integer(2, opset))]
    if sum(len(each) for each in pieces) > _LARGEST:
        raise OnnxExporterError(
            "the model is larger than 2 GB, the limit of an ONNX file. Export its parts"
        )
    return pieces
