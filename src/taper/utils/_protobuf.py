"""Protocol buffers on the wire: just what the messages of TensorBoard and ONNX need.

Owns: the encoding of single fields.  A message is the concatenation of its fields, as bytes; the
module that writes the message knows the numbers of its fields.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
_LEAST, _MOST = -(2**63), 2**63 - 1


def varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first; negative ones are 64 bits wide.

    >>> varint(300)
    b'\\xac\\x02'
    """
    if not _LEAST <= number <= _MOST:
        raise ValueError(f"Value out of range: {number}")
    number &= 2**64 - 1
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _key(field: int, kind: int) -> bytes:
    return varint(field << 3 | kind)


def integer(field: int, value: int) -> bytes:
    """Return a field with an integer, an enumeration or a truth value.

    >>> integer(1, 5)
    b'\\x08\\x05'
    """
    return _key(field, _VARINT) + varint(value)


def double(field: int, value: Any) -> bytes:
    """Return a field with a 64-bit floating-point number."""
    # ldexp(x, 0) is x as a float; its error for other values says that a real number is required.
    return _key(field, _EIGHT_BYTES) + struct.pack("<d", math.ldexp(value, 0))


def single(field: int, value: Any) -> bytes:
    """Return a field with a 32-bit floating-point number; a too large one becomes infinite."""
    with np.errstate(over="ignore"):
        return _key(field, _FOUR_BYTES) + np.float32(math.ldexp(value, 0)).tobytes()


def text(field: int, value: str | bytes | None) -> bytes:
    """Return a field with a text or bytes; None is the empty one.

    >>> text(2, "ab")
    b'\\x12\\x02ab'
    """
    if isinstance(value, str):
        value = value.encode("utf-8")
    elif value is None:
        value = b""
    elif not isinstance(value, bytes):
        raise TypeError(f"a text must be a str or bytes, but is {type(value).__name__}")
    return _key(field, _SIZED) + varint(len(value)) + value


def message(field: int, *parts: bytes) -> bytes:
    """Return a field with a message that consists of these fields."""
    return text(field, b"".join(parts))


def doubles(field: int, values: Any) -> bytes:
    """Return a repeated field of 64-bit floating-point numbers."""
    return text(field, np.asarray(values, dtype="<f8").tobytes())


def singles(field: int, values: Any) -> bytes:
    """Return a repeated field of 32-bit floating-point numbers."""
    return text(field, np.asarray(values, dtype="<f4").tobytes())


def integers(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of integers.

    >>> integers(6, [1, 300])
    b'2\\x03\\x01\\xac\\x02'
    """
    return text(field, b"".join(map(varint, values)))
