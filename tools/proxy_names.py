"""Writes `src/taper/compat/names.txt`: PyTorch's public names for the import proxy's messages.

Reads what `tools/coverage.py` reads, so that a message and docs/coverage.md say the same.

    python tools/proxy_names.py > src/taper/compat/names.txt
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import coverage

HEAD = """# Public names of PyTorch 2.13, as name:rank:subject; a subject is what taper leaves out.
# Written by tools/proxy_names.py."""


def word(name: coverage.Name, keys: dict[str, int]) -> str:
    """Return `add:35`, `sparse_coo_tensor:242:0`, `AVG::6`, or the bare name."""
    subject = coverage.reason(name)
    key = "" if subject is None else str(keys[subject])
    return f"{name.name}:{name.rank or ''}:{key}".rstrip(":")


def lines() -> Iterator[str]:
    """Yield the file."""
    yield HEAD
    keys = {subject: key for key, subject in enumerate(coverage.REFUSED)}
    for subject, key in keys.items():
        yield f"@{key} {subject}"
    for area, names in coverage.known_names().items():
        yield f"[{area}]"
        words = " ".join(word(each, keys) for each in names)
        yield textwrap.fill(words, 100, break_on_hyphens=False, break_long_words=False)


if __name__ == "__main__":
    print("\n".join(lines()))
