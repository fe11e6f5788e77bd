"""Writes `src/taper/ops/provided.py`: which names each family of operators brings with it.

Half of the families are imported when one of their functions or methods is first used, so the
loader must know in advance which family has it.  The answer is derived from the table.

    python tools/operator_names.py > src/taper/ops/provided.py
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from taper import ops
from taper.opdef import Op, composites, methods, registry

HEAD = '''"""Which names each family of operators provides that is imported when it is first used.

Written by tools/operator_names.py (`make docs`).  `name` is a function and a Tensor method,
`name()` a function only, `.name` a method only.
"""

PROVIDES: dict[str, str] = {'''

# No families: the loader, the file it reads, and PyTorch's names of operators, which users ask for.
NOT_A_FAMILY = {"identity", "on_demand", "provided"}
LOADED_AT_ONCE = "import sys, taper; print(*(m for m in sys.modules if m.startswith('taper.ops.')))"


def families() -> list[str]:
    """Return all modules of operators, as `linear` or `linalg.qr`."""
    prefix = ops.__name__ + "."
    found = pkgutil.walk_packages(ops.__path__, prefix)
    names = [each.name.removeprefix(prefix) for each in found if not each.ispkg]
    return sorted(set(names) - NOT_A_FAMILY)


def loaded_at_once() -> set[str]:
    """Return the families that `import taper` loads, asked of a fresh process."""
    command = [sys.executable, "-c", LOADED_AT_ONCE]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name.removeprefix("taper.ops.") for name in printed.split()}


def family_of(function: Any) -> str:
    """Return the family that declares a function: a generated one knows its operator."""
    entry = getattr(function, "__wrapped__", None)
    home: str = entry.kernel.__module__ if isinstance(entry, Op) else function.__module__
    return home.removeprefix("taper.ops.")


def provided() -> dict[str, list[str]]:
    """Return the families on demand with the names of each."""
    for family in families():
        importlib.import_module(f"taper.ops.{family}")
    functions = {entry.name: entry.function for entry in registry.values() if entry.public}
    functions |= composites
    found: dict[str, list[str]] = {name: [] for name in families() if name not in loaded_at_once()}
    for name in sorted({*functions, *methods}):
        family = family_of(functions.get(name) or methods[name])
        if family in found:
            mark = name if name in functions and name in methods else f".{name}"
            found[family].append(mark if name in methods else f"{name}()")
    return found


def page() -> Iterator[str]:
    """Yield the lines of the module."""
    yield HEAD
    for family, names in provided().items():
        if not names:
            yield f'    "{family}": "",'
            continue
        yield f'    "{family}": """'
        yield textwrap.indent(textwrap.fill(" ".join(names), 92), " " * 8)
        yield '    """,'
    yield "}"


if __name__ == "__main__":
    print("\n".join(page()))
