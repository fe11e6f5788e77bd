"""Compiling loops in the background: the system's C compiler, never waited for.

Owns: which compiler, the files that are kept (`~/.cache/taper`, by content, for this user alone),
and the one thread that compiles.  `TAPER_COMPILE=0` in the environment does without.  Where there
is no compiler, or it fails, programs run as they did.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import queue
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
COMPILE_AFTER = 20  # runs of a program: what runs less often is not worth the compiler's time
_TIMEOUT = 60  # seconds for one file

_jobs: queue.SimpleQueue[tuple[str, Callable[[Any], None]]] = queue.SimpleQueue()
_lock = threading.Lock()
_worker: threading.Thread | None = None
_functions: dict[str, Any] = {}  # what was loaded, by name; never unloaded


@functools.cache
def compiler() -> str | None:
    """Return the C compiler that is used, None if there is none or none is wanted."""
    if os.environ.get("TAPER_COMPILE") == "0" or os.name != "posix":
        return None
    return (
        shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc") or shutil.which("clang")
    )


def request(text: str, ready: Callable[[Any], None]) -> None:
    """Let a text be compiled; `ready` is called with the function, in another thread."""
    global _worker
    if compiler() is None:
        return
    with _lock:
        if _worker is None or not _worker.is_alive():
            _worker = threading.Thread(target=_work, name="taper-compiler", daemon=True)
            _worker.start()
    _jobs.put((text, ready))


def _work() -> None:
    while True:
        text, ready = _jobs.get()
        try:
            function = load(text)
        except (OSError, subprocess.SubprocessError, AttributeError):
            continue  # the program runs as it did
        ready(function)


def load(text: str) -> Any:
    """Return the function `run` of a text, compiled now or earlier."""
    name = _name_of(text)
    if name not in _functions:
        directory = _directory()
        library = directory / f"{name}.so"
        if not _is_ours(library):
            _compile(text, library)
        _functions[name] = ctypes.CDLL(str(library)).run
    return _functions[name]


def _name_of(text: str) -> str:
    """A name that says for what, by which compiler and for which processor."""
    parts = [text, str(compiler()), _version(), " ".join(_FLAGS), _processor()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


@functools.cache
def _version() -> str:
    found = subprocess.run(
        [str(compiler()), "--version"], capture_output=True, text=True, timeout=10, check=True
    )
    return found.stdout


@functools.cache
def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(line for line in lines if line.startswith(("model name", "flags")))[:8192]


@functools.cache
def _directory() -> Path:
    """The directory of this user's libraries; one for this run alone if others may write there."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    wanted = Path(base) / "taper" / "programs"
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(wanted, stat.S_ISDIR):
            return wanted
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="taper-"))


def _is_private(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether a file is this user's, and nobody else may write it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return is_kind(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _is_ours(library: Path) -> bool:
    return _is_private(library, stat.S_ISREG)


def _compile(text: str, library: Path) -> None:
    """Compile a text into a library, which appears when it is complete."""
    with tempfile.TemporaryDirectory(dir=library.parent) as place:
        source, made = Path(place) / "loop.c", Path(place) / "loop.so"
        source.write_text(text)
        exact = text.startswith("/* rounds")
        contract = "-ffp-contract=off" if exact else "-ffp-contract=fast"
        command = [str(compiler()), *_FLAGS, contract, "-o", str(made), str(source), "-lm"]
        subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=True)
        made.chmod(0o700)
        made.replace(library)


def address_of(function: Any) -> int:
    """Return where a loaded function is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
