"""NumPy's `.npz` archives as dictionaries of tensors; never pickles.

Knows the zip container and NumPy's description of an array.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy

from taper import dtypes
from taper.files.atomic import replacing, write_all
from taper.files.rebuild import check_truth_values
from taper.files.zip_reader import ZipReader
from taper.files.zip_writer import ZipWriter
from taper.tensor import Tensor, wrap

_LONGEST_HEADER = 10_000
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z]\d{0,6})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,19}, ?)*(?:\d{1,19})?)\), \}[ ]*\n"
)


def save_npz(tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Write tensors so that `numpy.load` reads them, under their names.

    The file is replaced as a whole or not at all; no ending is added to its name.  NumPy has no
    bfloat16: convert such tensors first.

    Args:
        tensors: a dict from names to tensors.
        path: the file to write.

    >>> import os, tempfile, taper
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> taper.files.save_npz({"weight": taper.ones(2)}, path)
    >>> taper.files.load_npz(path)
    {'weight': tensor([1., 1.])}
    """
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_npz(): expected tensors by name, got {type(tensor).__name__} under {name!r}"
            )
        if tensor.dtype is dtypes.bfloat16:
            raise TypeError(
                f"save_npz(): NumPy has no bfloat16: convert {name!r} with .float() first"
            )
        arrays[name] = tensor._array
    with replacing(path) as file:
        writer = ZipWriter(lambda part: write_all(file, part))
        for name, array in arrays.items():
            content = io.BytesIO()
            npy.write_array(content, array, allow_pickle=False)
            writer.add(f"{name}.npy", content.getbuffer())
        writer.finish()


def load_npz(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the arrays of an archive as tensors, by name; arrays of objects are refused.

    Args:
        path: the file to read.

    >>> import os, tempfile, numpy, taper
    >>> path = os.path.join(tempfile.mkdtemp(), "data.npz")
    >>> numpy.savez(path, x=numpy.arange(3))
    >>> taper.files.load_npz(path)
    {'x': tensor([0, 1, 2])}
    """
    tensors = {}
    with open(path, "rb") as file:
        archive = ZipReader(file)
        for name in archive.records:
            if not name.endswith(".npy"):
                raise ValueError(f"the record {name!r} is no array")
            tensors[name.removesuffix(".npy")] = wrap(_array(archive.read_array(name), name))
    return tensors


def _array(content: np.ndarray, name: str) -> np.ndarray:
    """Return the array that a record describes; its elements must fill the record exactly."""
    dtype, is_fortran, shape, start = _described(content, name)
    native = dtype.newbyteorder("=")
    dtypes.of_array(np.empty(0, native))  # raises for what no tensor can hold
    if len(shape) > 64 or math.prod(max(length, 1) for length in shape) * dtype.itemsize >> 63:
        raise ValueError(f"the record {name!r} has an impossible shape")
    elements = content[start:]
    if math.prod(shape) * dtype.itemsize != elements.size:
        raise ValueError(f"the record {name!r} has another size than its shape")
    if dtype.kind == "b":
        check_truth_values(elements)
    # A copy: the header's length need not leave the elements aligned.
    array = np.frombuffer(elements.tobytes(), dtype).astype(native)
    return array.reshape(shape, order="F" if is_fortran else "C")


def _described(content: np.ndarray, name: str) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """Return dtype, order, shape and the place of the elements, as the header says.

    The header is a Python expression, which NumPy evaluates; here it must have the one form that
    NumPy writes.
    """
    head = content[:_LONGEST_HEADER].tobytes()
    width = 2 if head[6:7] == b"\1" else 4
    start = 8 + width + int.from_bytes(head[8 : 8 + width], "little")
    found = _HEADER.fullmatch(head[8 + width : start])
    if head[:6] != b"\x93NUMPY" or start > len(head) or found is None:
        raise ValueError(f"the record {name!r} is no array")
    code, order, lengths = (part.decode("ascii") for part in found.groups())
    if "O" in code:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    try:
        dtype = np.dtype(code)
    except TypeError:
        raise ValueError(f"the record {name!r} has the unknown dtype {code!r}") from None
    shape = tuple(int(length) for length in lengths.split(",") if length.strip())
    return dtype, order == "True", shape, start
