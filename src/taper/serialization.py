"""`torch.serialization`: saving and loading, and what checkpoints may name.

It has PyTorch's names only; `taper.files` does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from taper.device import device as Device
from taper.files.checkpoint import (
    DEFAULT_PROTOCOL,
    get_unsafe_globals_in_checkpoint,
    load,
    save,
)
from taper.files.legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from taper.files.locations import default_restore_location, location_tag, register_package
from taper.files.options import (
    MAP_PRIVATE,
    MAP_SHARED,
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
)
from taper.files.safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | Device | str | dict[str, str] | None

__all__ = [
    "save",
    "load",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "safe_globals",
    "default_restore_location",
    "location_tag",
    "register_package",
    "DEFAULT_PROTOCOL",
    "MAGIC_NUMBER",
    "MAP_LOCATION",
    "MAP_PRIVATE",
    "MAP_SHARED",
    "PROTOCOL_VERSION",
    "LoadEndianness",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
]
