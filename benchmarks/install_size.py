"""How many megabytes an installation takes beside NumPy: the package and all that it depends on."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from options import parser
from rows import finish, pair

DISTRIBUTIONS = {"taper": "tapergrad", "torch": "torch"}
NOT_COUNTED = {"numpy"}  # both have it


def dependencies(distribution: str) -> set[str]:
    """Return all installed distributions that this one needs; itself and extras are left out."""
    found: set[str] = set()
    waiting = [distribution]
    while waiting:
        try:
            needs = metadata.requires(waiting.pop()) or []
        except metadata.PackageNotFoundError:  # needed on other systems only
            continue
        for need in needs:
            name = re.split(r"[^\w.-]", need, maxsplit=1)[0].lower()
            if "extra ==" not in need and name not in found | NOT_COUNTED:
                found.add(name)
                waiting.append(name)
    return found


def folder_size(folder: Path) -> int:
    """Return the bytes of a package's files; compiled modules are made later, by the user."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return sum(each.stat().st_size for each in files if "__pycache__" not in each.parts)


def distribution_size(name: str) -> int:
    """Return bytes of what a distribution installed; 0 for one that is not there."""
    try:
        files = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return 0
    paths = (Path(str(each.locate())) for each in files if "__pycache__" not in each.parts)
    return sum(path.stat().st_size for path in paths if path.is_file())


def megabytes(library: str) -> tuple[float, float]:
    """Return the package alone (its folder: it may be a checkout's), and what it needs."""
    spec = importlib.util.find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{library} is not installed")
    alone = folder_size(Path(spec.submodule_search_locations[0]))
    needed = sum(map(distribution_size, dependencies(DISTRIBUTIONS[library])))
    return alone / 2**20, needed / 2**20


def main(argv: Sequence[str] | None = None) -> int:
    options = parser("Megabytes of an installation beside NumPy, against PyTorch's.")
    chosen = options.parse_args(argv)
    taper, torch = megabytes("taper"), megabytes("torch")
    rows = [
        pair("the package", taper[0], torch[0], unit="MB"),
        pair("with what it needs, without NumPy", sum(taper), sum(torch), unit="MB"),
    ]
    return finish(rows, "install size", chosen.save, chosen.check)


if __name__ == "__main__":
    sys.exit(main())
