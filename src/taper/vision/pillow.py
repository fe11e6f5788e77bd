"""Pillow, an optional extra: imported where a picture is needed, never for tensors."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np


def pillow(module: str = "Image") -> Any:
    """Return a module of Pillow, or raise an error that says how to get it.

    >>> from taper.vision.pillow import pillow
    >>> pillow().__name__
    'PIL.Image'
    """
    try:
        # late: Pillow is an extra, which nobody must have
        return importlib.import_module(f"PIL.{module}")
    except ModuleNotFoundError as error:
        if error.name not in ("PIL", f"PIL.{module}"):
            raise
        raise ModuleNotFoundError(
            "pictures need Pillow: pip install tapergrad[vision] (tensors work without it)",
            name=error.name,
        ) from None


def is_picture(value: Any) -> bool:
    """Return whether this is a Pillow image; does not import Pillow.

    >>> from taper.vision.pillow import is_picture
    >>> is_picture("holiday.png")
    False
    """
    # A program that has a picture has imported the module.
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def from_array(array: np.ndarray, mode: str) -> Any:
    """Return a picture of a mode with the bytes of an array (H, W) or (H, W, C).

    >>> import numpy as np
    >>> from taper.vision.pillow import from_array
    >>> from_array(np.array([[1, 2]], np.uint8), "L").getpixel((1, 0))
    2
    """
    # Pillow 11 warns about `fromarray` with a mode.
    return pillow().frombytes(mode, array.shape[1::-1], array.tobytes())
