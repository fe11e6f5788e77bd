"""`torch._C._functions`: node classes by name, and the probes that tests use.  Owns nothing."""

from __future__ import annotations

from typing import Any

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.probes import DelayedError, Error, UndefinedGrad, UndefinedGradBackward
from taper.autograd.views import CopySlices
from taper.opdef import registry
from taper.opdef.backward import node_class
from taper.ops.on_demand import load_all

__all__ = [
    "AccumulateGrad",
    "CopySlices",
    "DelayedError",
    "Error",
    "UndefinedGrad",
    "UndefinedGradBackward",
]


def __getattr__(name: str) -> Any:
    """Return the node class `name`, such as `MulBackward0`, of the operator table."""
    if not name.startswith("_"):
        load_all()
        for entry in registry.values():
            if entry.node_name == name:
                return node_class(entry)
    raise AttributeError(f"module 'taper._C._functions' has no attribute {name!r}")
