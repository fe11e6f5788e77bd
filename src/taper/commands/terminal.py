"""Progress on a terminal: rich's bar if rich is installed, else a plain one; nothing elsewhere.

A command prints a line for each thing it has done, which is what a file or a pipe gets.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_WIDTH = 30


def track(items: Sequence[Item], label: str) -> Iterator[Item]:
    """Yield the items; on a terminal show a bar that disappears at the end."""
    if not sys.stdout.isatty():
        return iter(items)
    if importlib.util.find_spec("rich") is not None:
        return _with_rich(items, label)
    return _with_text(items, label)


def _with_rich(items: Sequence[Item], label: str) -> Iterator[Item]:
    progress = importlib.import_module("rich.progress")
    yield from progress.track(items, description=f"   {label}", transient=True)


def _with_text(items: Sequence[Item], label: str) -> Iterator[Item]:
    for done, item in enumerate(items):
        filled = _WIDTH * done // len(items)
        bar = "#" * filled + "." * (_WIDTH - filled)
        sys.stdout.write(f"\r   {label} [{bar}] {done}/{len(items)}")
        sys.stdout.flush()
        yield item
    sys.stdout.write("\r" + " " * (_WIDTH + len(label) + 20) + "\r")
    sys.stdout.flush()
