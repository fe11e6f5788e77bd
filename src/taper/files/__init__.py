"""Files: checkpoints that PyTorch reads and writes, safetensors, NumPy's archives.

Nothing that is read is trusted: no file is executed, every number in it is checked against the file
before memory is allocated, and a path is replaced as a whole or not at all.
"""

from __future__ import annotations

from taper.files.checkpoint import load, save
from taper.files.npz import load_npz, save_npz
from taper.files.safetensors import (
    SafetensorError,
    load_safetensors,
    read_safetensors_metadata,
    save_safetensors,
)

__all__ = [
    "load",
    "save",
    "load_npz",
    "save_npz",
    "SafetensorError",
    "load_safetensors",
    "read_safetensors_metadata",
    "save_safetensors",
]
