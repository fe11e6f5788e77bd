"""`taper.types`: names for type hints."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from taper.device import device, layout
from taper.dtypes import dtype
from taper.size import Size
from taper.storage import UntypedStorage as Storage
from taper.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
_device = device
_layout = layout
_dtype = dtype
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex
_str = builtins.str
_bytes = builtins.bytes
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
