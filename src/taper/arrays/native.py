"""The native module, where it could be built (D7): an accelerator, never a requirement.

`native` is the compiled module, or None.  Each of its functions has a twin in Python that gives the
same results; with `TAPER_NATIVE=0` in the environment the twins run.  `onednn` is the library
that computes convolutions for the native module, where it is installed.  Imports nothing of taper.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
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


class OneDNN:
    """The library of the wheel `onednn-cpu-gomp`, an extra: convolutions of float32.

    It is looked for when the first convolution is computed, and loaded by the native module, which
    alone uses it (`native/onednn.c`).  `TAPER_ONEDNN=0` in the environment does without.
    """

    def __init__(self) -> None:
        self.version: str | None = None  # empty: there is none; None: nobody has looked
        self.path: str | None = None
        self.reason = ""  # why there is none
        self.is_wanted = True

    def load(self) -> None:
        """Look for the library and let the native module use it."""
        try:
            version, self.reason = self._find_and_load()
        except OSError as error:
            version, self.reason = "", str(error)
            warnings.warn(
                f"oneDNN is installed but cannot be used for convolutions: {error} "
                "(TAPER_ONEDNN=0 in the environment does without it)",
                stacklevel=2,
            )
        self.version = version  # last: another thread that convolves meanwhile looks for itself

    def _find_and_load(self) -> tuple[str, str]:
        """Return the version that is used from now on, or the reason why there is none."""
        if os.environ.get("TAPER_ONEDNN") == "0":
            return "", "TAPER_ONEDNN=0"
        if native is None:
            return "", "there is no native module, which would use it"
        self.path = _library_of_onednn()
        if self.path is None:
            return "", "not installed (pip install 'tapergrad[onednn]')"
        version: str = native.onednn_load(self.path)
        native.onednn_use(self.is_wanted)
        return version, ""

    def is_available(self) -> bool:
        """Tell whether oneDNN is installed and can be used."""
        if self.version is None:
            self.load()
        return bool(self.version)

    def use(self, wanted: bool) -> None:
        """Let oneDNN compute what it can, or nothing."""
        self.is_wanted = wanted
        if self.version:
            native.onednn_use(wanted)

    def description(self) -> str:
        """Say which oneDNN computes convolutions, or why none does."""
        if not self.is_available():
            return f"not used: {self.reason}"
        return f"{self.version}, for convolutions of float32 ({self.path})"


onednn = OneDNN()


def _library_of_onednn() -> str | None:
    """Return the place of the library, from the wheel's list of files.

    `importlib.metadata` would read the same list, but importing it takes 10 ms.
    """
    import glob  # late: only programs that convolve look for the library

    for folder in map(str, sys.path):
        pattern = os.path.join(glob.escape(folder), "onednn_cpu_gomp-*.dist-info", "RECORD")
        for record in glob.glob(pattern):
            with open(record, encoding="utf-8") as file:
                names = [line.split(",")[0] for line in file]
            for name in names:
                if name.endswith("/libdnnl.so.3"):
                    return os.path.normpath(os.path.join(folder, name))
    return None
