"""Whether there is a GPU that can be used, and what must happen when the first program uses it.

Imports no more than the question needs: a program without a GPU pays nothing.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
from collections.abc import Callable
from typing import Any

# What serves the device once it is in use: a `Runtime`, see `cupy_runtime`.
runtime: Any = None

# The graph that work goes into instead of being done (see `graphs`), or None.
capturing: Any = None

# Called once, when the device comes into use: the rooms above make themselves ready.
at_start: list[Callable[[], None]] = []


class Patience(threading.local):
    """Whether a thread waits for copies from and to pinned memory."""

    waits = True


patience = Patience()

_PARTS = (
    "dispatch",
    "ufuncs",
    "world",
    "place",
    "ops",
    "layers",
    "attention",
    "recurrent",
    "random",
)
_lock = threading.RLock()
_count: int | None = None


def device_count() -> int:
    """Count the GPUs that can be used: at most one, and none without a driver or CuPy."""
    global _count
    if runtime is not None:
        return 1
    if _count is None:
        _count = min(_driver_count(), 1)
        if _count and importlib.util.find_spec("cupy") is None:
            _count = 0
    return _count


def _driver_count() -> int:
    """Ask the driver how many devices it shows; 0 if there is no driver."""
    if os.environ.get("TAPER_CUDA") == "0":
        return 0
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def _part(name: str) -> Any:
    """Load a module of this room: all others are for programs with a GPU, and know this one."""
    return importlib.import_module(f"taper.gpu.{name}")  # late: CuPy takes a second


def asked(wanted: Any) -> Any:
    """Return the device that a program asks for, ready for use, or raise PyTorch's error."""
    start()
    if wanted.index not in (None, 0):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return _part("array").CUDA


def start(given: Any = None) -> Any:
    """Return what serves the device; the first call makes it, and everything ready for it."""
    global runtime
    if runtime is None:
        with _lock:
            if runtime is None:
                if given is None:
                    if not device_count():
                        raise AssertionError("Torch not compiled with CUDA enabled")
                    given = _part("cupy_runtime").Runtime()
                runtime = given
                for name in _PARTS:
                    _part(name)
                for each in at_start:
                    each()
    return runtime


def unwaited(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function whose copies from and to pinned memory are not waited for."""
    before, patience.waits = patience.waits, False
    try:
        return function(*args)
    finally:
        patience.waits = before


def is_pinned_array(array: Any) -> bool:
    """Whether an array of the processor's is in memory that the device can read by itself."""
    base = array.base
    while base is not None and hasattr(base, "base"):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return type(base).__name__ == "PinnedMemoryPointer"
