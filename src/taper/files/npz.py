"""NumPy's `.npz` archives as dictionaries of tensors; never pickles.

Knows the zip container and NumPy's description of an array.
"""

from __future__ import annotations

import io
import math
import os
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


def save_npz(tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Write tensors so that `numpy.load` reads them, under their names.

    The file is replaced as a whole or not at all; its name is taken as it is.  NumPy has no
    bfloat16: convert such tensors first.

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
    """The arrays of an archive as tensors, by name; arrays of objects are refused.

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
    """The array that a record describes; its elements must fill the record exactly."""
    head = io.BytesIO(content[: _LONGEST_HEADER + 20].tobytes())
    try:
        version = npy.read_magic(head)
        read_header = npy.read_array_header_1_0 if version[0] == 1 else npy.read_array_header_2_0
        shape, is_fortran, dtype = read_header(head, max_header_size=_LONGEST_HEADER)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"the record {name!r} is no array: {error}") from None
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    native = dtype.newbyteorder("=")
    dtypes.of_array(np.empty(0, native))  # its errors for what no tensor can have
    lengths = [length for length in shape if type(length) is int and length >= 0]
    if len(lengths) != len(shape) or len(shape) > 64:
        raise ValueError(f"the record {name!r} has an impossible shape")
    if math.prod(max(length, 1) for length in shape) * dtype.itemsize >= 1 << 63:
        raise ValueError(f"the record {name!r} has an impossible shape")
    elements: Any = content[head.tell() :]
    if math.prod(shape) * dtype.itemsize != elements.size:
        raise ValueError(f"the record {name!r} has another size than its shape")
    if dtype.kind == "b":
        check_truth_values(elements)
    # A copy: the header's length need not leave the elements aligned.
    array = np.frombuffer(elements.tobytes(), dtype).astype(native)
    return array.reshape(shape, order="F" if is_fortran else "C")
