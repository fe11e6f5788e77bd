"""Settings of the whole process: threads, deterministic algorithms, precision of products.

Threads are those of the native pool, on which NumPy's element-wise loops and matrix products run;
BLAS itself has one then.  Without the native module they are BLAS's.  All algorithms are
deterministic and all products are exact to their dtype, so those settings change only what
uninitialised memory holds.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays import threads
from taper.arrays.native import native
from taper.userwarning import warn_user


class _Settings:
    threads: int = threads.first_number()
    interop_threads: int = os.cpu_count() or 1
    interop_threads_set = False
    deterministic = False
    warn_only = False
    fill_uninitialized = True
    fills_memory = False  # whether new memory is filled: in deterministic mode, if asked for
    matmul_precision = "highest"
    matmul_precision_set = False


settings = _Settings()


# --- threads ---------------------------------------------------------------------------------


threads.start(settings.threads)


def _set_blas_threads() -> Callable[..., Any] | None:
    """Return OpenBLAS's `set_num_threads` in NumPy's library."""
    own = os.path.dirname(np.__file__)
    for folder in (os.path.join(os.path.dirname(own), "numpy.libs"), os.path.join(own, ".dylibs")):
        names = os.listdir(folder) if os.path.isdir(folder) else []  # `glob` is 0.4 ms of import
        for library in [os.path.join(folder, name) for name in names if "openblas" in name]:
            found = _setter_in(library)
            if found is not None:
                return found
    return None


def _setter_in(library: str) -> Callable[..., Any] | None:
    """Return the function of a library, whatever prefix its names have."""
    loaded = ctypes.CDLL(library)
    for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
        function = getattr(loaded, f"{prefix}openblas_set_num_threads{suffix}", None)
        if function is not None:
            return function
    return None


def get_num_threads() -> int:
    """Return how many threads an operation may use.

    The first value is `OMP_NUM_THREADS`, else the number of cores that this process may use (by its
    affinity, and the quota of its container).

    >>> import taper
    >>> taper.get_num_threads() >= 1
    True
    """
    return settings.threads


def _checked_count(function: str, count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{function} expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    return count


def set_num_threads(nthreads: int, /) -> None:
    """Choose how many threads an operation may use.

    Args:
        nthreads: At least 1; with 1 everything runs on the thread that calls.

    >>> import taper
    >>> taper.set_num_threads(taper.get_num_threads())
    """
    settings.threads = _checked_count("set_num_threads", nthreads)
    if native is not None:
        native.set_threads(nthreads)
        return
    change = _set_blas_threads()
    if change is not None:
        change(nthreads)


def get_num_interop_threads() -> int:
    """Return how many operations PyTorch would run in parallel; taper runs them in turn.

    >>> import taper
    >>> taper.get_num_interop_threads() >= 1
    True
    """
    return settings.interop_threads


def set_num_interop_threads(nthreads: int, /) -> None:
    """Keep the number of operations that PyTorch would run in parallel.

    >>> import taper
    >>> taper.set_num_interop_threads(0)
    Traceback (most recent call last):
        ...
    RuntimeError: set_num_interop_threads expects a positive integer
    """
    count = _checked_count("set_num_interop_threads", nthreads)
    if settings.interop_threads_set:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    settings.interop_threads, settings.interop_threads_set = count, True


# --- determinism -----------------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms, which all are; uninitialised memory is filled, too.

    Args:
        mode: whether they are asked for.
        warn_only: kept, and returned by `is_deterministic_algorithms_warn_only_enabled`.

    >>> import taper
    >>> taper.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
            f"{type(mode).__name__}"
        )
    if not isinstance(warn_only, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'warn_only' must be bool, not "
            f"{type(warn_only).__name__}"
        )
    settings.deterministic, settings.warn_only = mode, warn_only
    settings.fills_memory = mode and settings.fill_uninitialized


def set_fill_uninitialized(mode: bool) -> None:
    """Choose whether deterministic algorithms fill uninitialised memory."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode)}")
    settings.fill_uninitialized = mode
    settings.fills_memory = mode and settings.deterministic


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` is on.

    >>> import taper
    >>> taper.are_deterministic_algorithms_enabled()
    False
    """
    return settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` is on with `warn_only`.

    >>> import taper
    >>> taper.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return settings.warn_only


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set deterministic algorithms by name ('default', 'warn', 'error') or number (0, 1, 2).

    >>> import taper
    >>> taper.set_deterministic_debug_mode("warn")
    >>> taper.get_deterministic_debug_mode()
    1
    >>> taper.set_deterministic_debug_mode("default")
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but "
                f"got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2: see `set_deterministic_debug_mode`.

    >>> import taper
    >>> taper.get_deterministic_debug_mode()
    0
    """
    return 0 if not settings.deterministic else 1 if settings.warn_only else 2


# --- precision -------------------------------------------------------------------------------


def get_float32_matmul_precision() -> str:
    """Return the precision asked for in products of float32 matrices.

    >>> import taper
    >>> taper.get_float32_matmul_precision()
    'highest'
    """
    return settings.matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Ask for 'highest', 'high' or 'medium' precision; products always have the highest.

    >>> import taper
    >>> taper.set_float32_matmul_precision("highest")
    """
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}"
        )
    if precision not in ("highest", "high", "medium"):
        warn_user(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    settings.matmul_precision, settings.matmul_precision_set = precision, True


def is_matmul_precision_set() -> bool:
    """Return whether a precision was set, even if it was the present one."""
    return settings.matmul_precision_set


def set_flush_denormal(mode: bool) -> bool:
    """Return False: how the processor treats very small numbers cannot be changed.

    >>> import taper
    >>> taper.set_flush_denormal(False) in (True, False)
    True
    """
    return False
