"""Operators that PyTorch records as something else when they write in place.

Owns: the entry that such a write is recorded as, with derivatives of its own.  `writes` looks for
it; the operator that does not write keeps its entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.opdef import POINTWISE, Op, derivative, op


def twin_in_place(function: Any, name: str, node: str, kernel: Any = None) -> Any:
    """Declare an operator like another one, with a node and derivatives of its own."""
    entry: Op = function.op
    return op(
        name=name,
        label=entry.label,
        node=node,
        promote=entry.promote,
        upcast=entry.upcast,
        tangent=entry.tangent or POINTWISE,
        inplace_name=entry.inplace_name,
        check=entry.check,
        layout=entry.layout,
        public=False,
        method=False,
    )(kernel or entry.kernel)


def recorded_in_place(function: Any) -> Callable[[Any], Any]:
    """Declare what is recorded: the decorated function gets the arguments and returns a twin."""

    def declare(choose: Callable[..., Any]) -> Callable[..., Any]:
        function.op.written = choose
        return choose

    return declare


def refused_in_place(function: Any, node: str, formula: Callable[..., Any]) -> None:
    """Declare a formula, which raises, for what an operator wrote in place."""
    entry: Op = function.op
    twin = twin_in_place(function, f"_{entry.name}_in_place", node)
    derivative(twin, wrt=entry.tensor_names)(formula)
    recorded_in_place(function)(lambda *arguments: twin)
