"""Writes `tools/api_names.txt`: the public names of PyTorch, what each is, and its rank.

Needs PyTorch, and is run by hand when the version changes; everything else only reads the file.

    .venv-oracle/bin/python tools/oracle_names.py > tools/api_names.txt
"""

from __future__ import annotations

import importlib
import types
from pathlib import Path
from typing import Any

import torch

RANKS = Path(__file__).with_name("api_ranks.txt")

AREAS = """
torch torch.Tensor torch.linalg torch.fft torch.special torch.nn torch.nn.functional torch.nn.init
torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations
torch.nn.utils.prune torch.nn.utils.stateless torch.optim torch.optim.lr_scheduler
torch.optim.swa_utils torch.autograd torch.autograd.function torch.autograd.functional
torch.autograd.graph torch.autograd.forward_ad torch.autograd.profiler torch.func
torch.utils.checkpoint torch.utils.data torch.distributions torch.distributions.transforms
torch.distributions.constraints torch.distributions.kl torch.amp
""".split()

# Their own lists leave out dtypes, and functions of several dimensions.
LISTS_TO_IGNORE = {"torch", "torch.fft"}


def ranks() -> dict[str, list[str]]:
    """Return for each area its ranked names, in order."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in RANKS.read_text().splitlines():
        if line.startswith("["):
            names = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            names += line.split()
    return found


def area_object(area: str) -> Any:
    """Return the module, or the class Tensor."""
    return torch.Tensor if area == "torch.Tensor" else importlib.import_module(area)


def is_its_own(area: str, name: str, value: Any) -> bool:
    """Return whether a name is the area's own and documented, not just imported there."""
    if area in ("torch", "torch.Tensor"):
        return name != "TYPE_CHECKING"
    if not callable(value) or not value.__doc__ or "torch_function" in name:
        return False
    if isinstance(value, types.BuiltinFunctionType):  # C functions do not say where they belong
        return True
    return value.__module__.startswith((area, "torch._C"))


def names_of(area: str) -> list[str]:
    """Return the public names: the module's own list, or else what it has of its own."""
    owner = area_object(area)
    public = getattr(owner, "__all__", None)
    if public is None or area in LISTS_TO_IGNORE:
        public = [each for each in dir(owner) if is_its_own(area, each, getattr(owner, each))]
    return sorted(
        each
        for each in set(public)
        if not each.startswith("_") and not isinstance(getattr(owner, each), types.ModuleType)
    )


def kind_of(area: str, value: Any) -> str:
    """Return class, function, property (of Tensor) or value."""
    if isinstance(value, type):
        return "class"
    if callable(value):
        return "function"
    return "property" if area == "torch.Tensor" else "value"


def render() -> str:
    """Return the text of the file."""
    ranked = ranks()
    lines = [
        "# Public names of PyTorch 2.13: name, what it is, rank if it has one.",
        "# Written by tools/oracle_names.py.",
    ]
    for area in AREAS:
        order: dict[str, int] = {}
        for names in (area, f"{area} attributes"):
            order.update({name: number for number, name in enumerate(ranked.get(names, []), 1)})
        owner = area_object(area)
        lines += ["", f"[{area}]"]
        for name in names_of(area):
            kind = kind_of(area, getattr(owner, name))
            lines.append(f"{name} {kind} {order.get(name, '')}".rstrip())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(render(), end="")
