"""The native module, where it could be built (D7): an accelerator, never a requirement.

`native` is the compiled module, or None.  Each of its functions has a twin in Python that gives the
same results; with `TAPER_NATIVE=0` in the environment the twins run.  Imports nothing of taper.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

native: Any = None

if os.environ.get("TAPER_NATIVE") != "0":
    try:
        native = importlib.import_module("taper._native")
    except ImportError:  # not built, or built for another Python
        pass


def _most_kept() -> int:
    """How many bytes of freed arrays to keep: `TAPER_CACHE_MB`, else a quarter of the memory."""
    said = os.environ.get("TAPER_CACHE_MB", "")
    if said.isdigit():
        return int(said) << 20
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    except (ValueError, OSError, AttributeError):  # the system does not say
        return 1 << 30


_LIMIT = _most_kept()


def keep_memory() -> None:
    """Keep the memory of this thread's large arrays for the next ones; NumPy asks by thread."""
    if native is not None and _LIMIT:
        native.keep_memory(_LIMIT)


def curve(name: str) -> Callable[..., Any]:
    """A function of an element that the native module has as one loop, see `native/curves.c`.

    Called as (x, g, p), an array, the gradient and a number, it returns a new array, or None where
    the twin must compute: without the native module, and for operands that are not row-major of one
    shape and dtype.  The twin stands in the operator that asks.
    """
    if native is None:
        return _nothing
    return partial(native.curve, native.curve_number(name))


def _nothing(*_: Any) -> None:
    """Stand for every curve where there is no native module."""
