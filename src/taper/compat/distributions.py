"""What `importlib.metadata` says of torch, torchvision and torchviz while the proxy is installed.

Imported when a program asks for versions, since `importlib.metadata` is slow to load.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable
from importlib.metadata import Distribution
from os import PathLike
from typing import Any

from taper.compat.aliases import VERSIONS


class StandIn(Distribution):
    """An installed package that consists of a name and a version."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """Return the text of `METADATA`; there are no other files."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {VERSIONS[self._name]}\n"

    def locate_file(self, path: str | PathLike[str]) -> Any:
        """Return the path of a file of the package, as if it stood beside taper."""
        return pathlib.Path(__file__).parent.parent.parent / path


def found(name: str | None) -> Iterable[Distribution]:
    """Return the stand-in of that name, or all of them."""
    wanted = None if name is None else re.sub(r"[-_.]+", "-", name).lower()
    return [StandIn(each) for each in VERSIONS if wanted in (None, each)]
