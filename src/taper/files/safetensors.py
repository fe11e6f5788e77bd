"""safetensors files: a length, a JSON header, the elements; nothing else, and no holes.

They are written byte for byte as the `safetensors` package writes them, and read with every number
checked against the file.  Does not need the package.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from taper import dtypes
from taper.files.atomic import replacing, write_all
from taper.files.rebuild import check_truth_values
from taper.files.sources import fill
from taper.tensor import Tensor, wrap

LARGEST_HEADER = 100_000_000
MOST_TENSORS = 100_000
_METADATA = "__metadata__"

# In the order of the file: PyTorch's dtypes by falling alignment.
_DTYPES = {
    "U64": dtypes.uint64,
    "I64": dtypes.int64,
    "F64": dtypes.float64,
    "C64": dtypes.complex64,
    "F32": dtypes.float32,
    "U32": dtypes.uint32,
    "I32": dtypes.int32,
    "BF16": dtypes.bfloat16,
    "F16": dtypes.float16,
    "U16": dtypes.uint16,
    "I16": dtypes.int16,
    "I8": dtypes.int8,
    "U8": dtypes.uint8,
    "BOOL": dtypes.bool_,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_ORDER = {dtype: position for position, dtype in enumerate(_DTYPES.values())}
_UNPROVIDED = "F4 F6_E2M3 F6_E3M2 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ".split()


class SafetensorError(Exception):
    """Raised for a file that is no safetensors file, or that says something false about itself."""


def _broken(problem: str) -> SafetensorError:
    return SafetensorError(f"Error while deserializing header: {problem}")


class _Entry(NamedTuple):
    name: str
    dtype: dtypes.dtype
    shape: tuple[int, ...]
    start: int
    end: int


# --- writing ---------------------------------------------------------------------------------


def save_safetensors(
    tensors: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors under their names.

    A tensor must be contiguous and share no element with another.  The file is replaced as a whole
    or not at all.

    Args:
        tensors: a dict from names to tensors.
        path: the file to write.
        metadata: further texts to store, by name.

    >>> import os, tempfile, taper
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> taper.files.save_safetensors({"weight": taper.ones(2)}, path)
    >>> taper.files.load_safetensors(path)
    {'weight': tensor([1., 1.])}
    """
    arrays = _checked_arrays(tensors)
    header = _header(arrays, metadata)
    with replacing(path, sum(array.nbytes for array in arrays.values())) as file:
        write_all(file, struct.pack("<Q", len(header)))
        write_all(file, header)
        for array in arrays.values():
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            write_all(file, little.reshape(-1).view(np.uint8).data)


def _checked_arrays(tensors: Any) -> dict[str, np.ndarray]:
    """Return the arrays in the order of the file."""
    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    arrays: dict[str, np.ndarray] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}"
            )
        if not isinstance(name, str):
            raise TypeError(
                f"argument 'tensor_dict': '{type(name).__name__}' object is not an instance of "
                "'str'"
            )
        if name == _METADATA:
            raise ValueError(f"a tensor cannot have the name {_METADATA}: that is for metadata")
        if tensor.dtype not in _NAMES:
            raise KeyError(tensor.dtype)
        arrays[name] = tensor._array
    _refuse_sharing(tensors)
    for name, array in arrays.items():
        if not array.flags.c_contiguous:
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. "
                "It either means you are trying to save tensors which are reference of each other "
                "in which case it's recommended to save only the full tensors, and reslice at load "
                "time, or simply call `.contiguous()` on your tensor to pack it before saving."
            )
    by_place = sorted(
        arrays.items(), key=lambda item: (_ORDER[dtypes.FROM_NUMPY[item[1].dtype]], item[0])
    )
    return dict(by_place)


def _refuse_sharing(tensors: Mapping[str, Tensor]) -> None:
    """Raise if two tensors share an element; parts of one storage may lie side by side."""
    spans = []
    for name, tensor in tensors.items():
        array = tensor._array
        if array.size and not hasattr(tensor, "_memory"):  # a conjugate view is computed anew
            last = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
            start = array.ctypes.data
            spans.append((start, start + last + array.itemsize, name))
    spans.sort()
    end, owner = 0, ""
    for start, stop, name in spans:
        if start < end:
            raise RuntimeError(
                "Some tensors share memory, this will lead to duplicate memory on disk and "
                f"potential differences when loading them again: [{{{owner!r}, {name!r}}}]. Save "
                "one of them, or a clone() of the other."
            )
        end, owner = stop, name


def _header(arrays: dict[str, np.ndarray], metadata: Mapping[str, str] | None) -> bytes:
    described: dict[str, Any] = {}
    if metadata is not None:
        for each in [*metadata.keys(), *metadata.values()]:
            if not isinstance(each, str):
                raise TypeError(
                    f"argument 'metadata': '{type(each).__name__}' object is not an instance of "
                    "'str'"
                )
        described[_METADATA] = dict(sorted(metadata.items()))
    position = 0
    for name, array in arrays.items():
        described[name] = {
            "dtype": _NAMES[dtypes.FROM_NUMPY[array.dtype]],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


# --- reading ---------------------------------------------------------------------------------


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the tensors of a file, by name.

    Args:
        path: the file to read.

    >>> import os, tempfile, taper
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> taper.files.save_safetensors({"a": taper.arange(3)}, path, metadata={"format": "pt"})
    >>> taper.files.load_safetensors(path)
    {'a': tensor([0, 1, 2])}
    """
    tensors = {}
    with open(path, "rb") as file:
        entries, _ = _read_header(file)
        for entry in entries:
            content = np.empty(entry.end - entry.start, np.uint8)
            if not fill(file, content):
                raise _broken("incomplete metadata, file not fully covered")
            if entry.dtype is dtypes.bool_:
                check_truth_values(content)
            stored = content.view(entry.dtype.numpy.newbyteorder("<"))
            array = stored.astype(entry.dtype.numpy, copy=False)
            tensors[entry.name] = wrap(array.reshape(entry.shape))
    return tensors


def read_safetensors_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the texts that a file stores beside its tensors.

    Args:
        path: the file to read.

    >>> import os, tempfile, taper
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> taper.files.save_safetensors({}, path, metadata={"format": "pt"})
    >>> taper.files.read_safetensors_metadata(path)
    {'format': 'pt'}
    """
    with open(path, "rb") as file:
        return _read_header(file)[1]


def _read_header(file: Any) -> tuple[list[_Entry], dict[str, str]]:
    """Return the checked entries in the order of their elements, and the metadata."""
    total = os.fstat(file.fileno()).st_size
    if total < 8:
        raise _broken("header too small")
    length = struct.unpack("<Q", file.read(8))[0]
    if length > LARGEST_HEADER:
        raise _broken("header too large")
    if 8 + length > total:
        raise _broken("invalid header length")
    described = _parsed(file.read(length))
    metadata = described.pop(_METADATA, {})
    if type(metadata) is not dict or any(type(each) is not str for each in metadata.values()):
        raise _broken("invalid JSON in header: the metadata must be texts")
    entries = [_entry(name, value) for name, value in described.items()]
    entries.sort(key=lambda entry: (entry.start, entry.end))
    position = 0
    for entry in entries:
        if entry.start != position or entry.end < entry.start:
            raise _broken(f"invalid offset for tensor `{entry.name}`")
        numel = math.prod(entry.shape)
        if math.prod(max(each, 1) for each in entry.shape) * entry.dtype.itemsize >= 1 << 63:
            raise _broken("overflow computing buffer size from shape and/or element type")
        if numel * entry.dtype.itemsize != entry.end - entry.start:
            raise _broken("invalid shape, data type, or offset for tensor")
        position = entry.end
    if 8 + length + position != total:
        raise _broken("incomplete metadata, file not fully covered")
    return entries, metadata


def _parsed(header: bytes) -> dict[str, Any]:
    # Checked before the text becomes objects, which are many times larger.
    if header.count(b"{") > MOST_TENSORS + 2 or header.count(b"[") > 2 * MOST_TENSORS:
        raise _broken(f"more than {MOST_TENSORS} tensors")
    if header.count(b",") > 20 * MOST_TENSORS:
        raise _broken("too many numbers")
    try:
        described = json.loads(header.decode("utf-8"), object_pairs_hook=_without_twins)
    except UnicodeDecodeError as error:
        raise _broken(f"invalid UTF-8 in header: {error.reason}") from None
    except (ValueError, RecursionError) as error:
        raise _broken(f"invalid JSON in header: {error}") from None
    if type(described) is not dict:
        raise _broken("invalid JSON in header: expected an object")
    return described


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _entry(name: str, value: Any) -> _Entry:
    if type(value) is not dict or not {"dtype", "shape", "data_offsets"} <= value.keys():
        raise _broken(f"invalid JSON in header: tensor `{name}` misses a field")
    kind, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if type(kind) is str and kind in _UNPROVIDED:
        raise NotImplementedError(
            f"the dtype {kind} of tensor `{name}` is not provided: convert it to BF16 or F32"
        )
    if type(kind) is not str or kind not in _DTYPES:
        raise _broken(f"invalid JSON in header: unknown variant `{kind}`")
    for numbers in (shape, offsets):
        if type(numbers) is not list or not all(
            type(each) is int and 0 <= each < 1 << 63 for each in numbers
        ):
            raise _broken(f"invalid JSON in header: tensor `{name}` needs lists of sizes")
    if len(offsets) != 2 or len(shape) > 64:
        raise _broken(f"invalid JSON in header: tensor `{name}` needs two offsets")
    return _Entry(name, _DTYPES[kind], tuple(shape), *offsets)
