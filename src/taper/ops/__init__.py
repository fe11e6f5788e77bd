"""The operators, one family a file.  Importing this puts their methods on Tensor.

Half of the families are imported when one of their functions is first used (`on_demand`): that
takes a third off the time of `import taper`.
"""

import importlib
from typing import Any

from taper.opdef import (
    compiler,  # noqa: F401 - provides what lazy functions need on first use
    methods,
)
from taper.ops import on_demand

# What nearly every program uses.
_ALWAYS = """
    activation.straight creation.convert creation.copy creation.data creation.filled
    creation.legacy creation.ranges elementwise.arithmetic elementwise.bits elementwise.compare
    elementwise.complexes elementwise.operators elementwise.power elementwise.remainders
    elementwise.unary index.advanced index.getitem linalg.matmul reduction.cumulative
    reduction.sums shape.ones shape.parts shape.reshape shape.split shape.transpose
"""
for _family in _ALWAYS.split():
    importlib.import_module(f"taper.ops.{_family}")

on_demand.install(methods)
load_all = on_demand.load_all


def __getattr__(name: str) -> Any:
    if name in ("aten", "prim"):
        # late: PyTorch's names of operators, which few programs use
        return getattr(importlib.import_module("taper.ops.identity"), name)
    raise AttributeError(f"module 'taper.ops' has no attribute {name!r}")
