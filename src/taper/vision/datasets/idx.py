"""The IDX format of MNIST: a big-endian header of sizes, then the elements.

A file is untrusted data: every size is compared with the file before memory is allocated, and a
compressed file may not unpack to more than its header says.
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from typing import Any

import numpy as np

from taper.files.sources import fill
from taper.ops.creation.data import from_numpy
from taper.tensor import Tensor

_ELEMENTS = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MOST_EXPANSION = 1032
"""DEFLATE cannot expand more than this."""


def read_idx(path: Any) -> np.ndarray:
    """Return the array in an IDX file, which may be compressed if its name ends in `.gz`."""
    length = os.path.getsize(path)
    try:
        with open(path, "rb") as file:
            if not os.fspath(path).endswith(".gz"):
                return _read(file, path, length, is_exact=True)
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _read(unpacked, path, _MOST_EXPANSION * length, is_exact=False)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(path, f"it cannot be unpacked ({error})") from None


def _read(file: Any, path: Any, limit: int, is_exact: bool) -> np.ndarray:
    magic = file.read(4)
    if len(magic) != 4 or magic[:2] != b"\0\0":
        raise _damaged(path, f"it begins with {magic!r}")
    code, ndim = magic[2], magic[3]
    if code not in _ELEMENTS or not 1 <= ndim <= 3:
        raise _damaged(path, f"there are no {ndim} dimensions of type {code}")
    header = file.read(4 * ndim)
    if len(header) != 4 * ndim:
        raise _damaged(path, "it ends in its header")
    shape = tuple(int(size) for size in np.frombuffer(header, ">u4"))
    dtype = np.dtype(_ELEMENTS[code])
    count, left = math.prod(shape) * dtype.itemsize, limit - 4 - 4 * ndim
    if count > left or (is_exact and count != left):
        raise _damaged(path, f"its header says {count} bytes for {shape}, but it has {left}")
    content = np.empty(count, np.uint8)
    if not fill(file, content) or file.read(1):
        raise _damaged(path, f"it does not have the {count} bytes that its header says")
    return content.view(dtype).astype(dtype.newbyteorder("="), copy=False).reshape(shape)


def _damaged(path: Any, problem: str) -> ValueError:
    return ValueError(f"{path} is no whole IDX file: {problem}")


def get_int(b: bytes) -> int:
    """Return the number of big-endian bytes.

    >>> from taper.vision.datasets.mnist import get_int
    >>> get_int(b"\\x01\\x00")
    256
    """
    return int.from_bytes(b, "big")


def read_sn3_pascalvincent_tensor(path: Any, strict: bool = True) -> Tensor:
    """Return the tensor in an IDX file; too few or too many bytes raise, strict or not.

    >>> import tempfile
    >>> from taper.vision.datasets.mnist import read_sn3_pascalvincent_tensor
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     written = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    ...     file.flush()
    ...     read_sn3_pascalvincent_tensor(file.name)
    tensor([7, 9], dtype=torch.uint8)
    """
    return from_numpy(read_idx(path))


def _read_bytes(path: Any, ndim: int) -> Tensor:
    array = read_idx(path)
    if array.dtype != np.uint8:
        raise TypeError(f"{path} should have elements of uint8 instead of {array.dtype}")
    if array.ndim != ndim:
        raise ValueError(f"{path} should have {ndim} dimension instead of {array.ndim}")
    return from_numpy(array)


def read_label_file(path: Any) -> Tensor:
    """Return the labels in an IDX file, as int64.

    >>> import tempfile
    >>> from taper.vision.datasets.mnist import read_label_file
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     written = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    ...     file.flush()
    ...     read_label_file(file.name)
    tensor([7, 9])
    """
    return _read_bytes(path, 1).long()


def read_image_file(path: Any) -> Tensor:
    """Return the pictures in an IDX file.

    >>> import tempfile
    >>> from taper.vision.datasets.mnist import read_image_file
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     written = file.write(bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9]))
    ...     file.flush()
    ...     read_image_file(file.name)
    tensor([[[7, 9]]], dtype=torch.uint8)
    """
    return _read_bytes(path, 3)
