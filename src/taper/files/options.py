"""Settings of the process for saving and loading, as `torch.serialization` has them."""

from __future__ import annotations

import enum
import mmap
from types import TracebackType


class LoadEndianness(enum.Enum):
    """The byte order of checkpoints that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


MAP_PRIVATE: int = getattr(mmap, "MAP_PRIVATE", 2)
MAP_SHARED: int = getattr(mmap, "MAP_SHARED", 1)


class _Options:
    """The current settings."""

    computes_checksums = True
    mapping_flags: int = MAP_PRIVATE
    endianness: LoadEndianness | None = None

    @property
    def byte_order(self) -> str | None:
        """'little', 'big', or None if nothing was chosen."""
        chosen = {LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big"}
        return chosen.get(self.endianness) if self.endianness else None


options = _Options()


def get_crc32_options() -> bool:
    """Return whether `save` computes checksums of records.

    >>> import taper
    >>> taper.serialization.get_crc32_options()
    True
    """
    return options.computes_checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether `save` computes checksums; without them damage goes unnoticed.

    Args:
        compute_crc32: whether it does.

    >>> import taper
    >>> taper.serialization.set_crc32_options(True)
    """
    options.computes_checksums = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order of checkpoints that do not say theirs; None is little.

    >>> import taper
    >>> taper.serialization.get_default_load_endianness()
    """
    return options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order of checkpoints that do not say theirs.

    Args:
        endianness: a `LoadEndianness`, or None for the default.

    >>> import taper
    >>> taper.serialization.set_default_load_endianness(None)
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    options.endianness = endianness


def get_default_mmap_options() -> int | None:
    """Return how files are mapped: privately, or so that writes go to the file.

    >>> import taper
    >>> taper.serialization.get_default_mmap_options() == taper.serialization.MAP_PRIVATE
    True
    """
    return options.mapping_flags


class set_default_mmap_options:
    """Map files so that writes stay private (MAP_PRIVATE) or go to the file (MAP_SHARED).

    As a context manager the setting ends with the block.

    Args:
        flags: MAP_PRIVATE or MAP_SHARED.

    >>> import taper
    >>> with taper.serialization.set_default_mmap_options(taper.serialization.MAP_SHARED):
    ...     taper.serialization.get_default_mmap_options() == taper.serialization.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        self._before = options.mapping_flags
        options.mapping_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        options.mapping_flags = self._before
