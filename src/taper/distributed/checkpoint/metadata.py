"""What a checkpoint of several processes says about itself: tensors, their chunks, where they are.

The names and fields are PyTorch's, whose checkpoints have these objects in `.metadata`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from taper.device import contiguous_format, strided
from taper.size import Size

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its shape."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    """How files write a memory format."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What a tensor is, apart from its elements."""

    dtype: Any = None
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> Any:
        first = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
        return (self.dtype, self.layout, self.requires_grad, first, self.pin_memory)

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise ValueError("the properties of a tensor must be five values")
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Return the properties of a tensor."""
        return TensorProperties(tensor.dtype, strided, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor: what it is, its shape, and the parts in which it was saved."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something that is no tensor."""


@dataclass
class StorageMeta:
    """Where and when a checkpoint was saved."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All that a checkpoint says about itself."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True, eq=False)
class MetadataIndex:
    """Names a part of a tensor, or a thing that is no tensor."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(default=None)

    def _key(self) -> tuple[str, Any]:
        # A file may say anything, and hashing that could take for ever.
        offset = self.offset
        plain = offset is None or (type(offset) is Size and all(type(n) is int for n in offset))
        if type(self.fqn) is not str or not plain:
            raise ValueError("a name of a checkpoint must be a text and an offset")
        return self.fqn, offset

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetadataIndex) and self._key() == other._key()
