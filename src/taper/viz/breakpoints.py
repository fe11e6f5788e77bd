"""Where a recorded backward pass stops in the user's debugger."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from taper.autograd.callers import origin
from taper.autograd.node import Node
from taper.tensor import Tensor, wrap
from taper.viz.summaries import number


class Break:
    """One call of `Tape.break_on`: where and when to stop."""

    def __init__(self, node: int | str | Node | None, nan: bool, norm: float | None) -> None:
        if node is not None and (isinstance(node, bool) or not isinstance(node, int | str | Node)):
            raise TypeError(
                "break_on: node is the id of a node in viz.graph, a name such as 'MulBackward0', "
                f"or a grad_fn; got {type(node).__name__}"
            )
        if norm is not None and (isinstance(norm, bool) or not isinstance(norm, int | float)):
            raise TypeError(f"break_on: norm is a number; got {type(norm).__name__}")
        if node is None and not nan and norm is None:
            raise ValueError("break_on: say where (node=) or when (nan=True, norm=) to stop")
        self.node = node
        self.nan = nan
        self.norm = norm

    def reason(self, step: Any, node: Node) -> str:
        """Return why to stop at a step; '' if there is no reason."""
        if not self._is_at(step, node):
            return ""
        sent = [each for each in step.outputs or step.inputs if each is not None]
        if self.nan and any(each.nan for each in sent):
            return "it sends a NaN" if step.outputs else "a NaN arrives"
        if self.norm is not None:
            norm = max([each.norm for each in sent], default=0.0)
            if norm > self.norm or math.isnan(norm):
                return f"a gradient has the norm {number(norm)}"
        return "" if self.nan or self.norm is not None else "you asked for it"

    def _is_at(self, step: Any, node: Node) -> bool:
        if self.node is None:
            return True
        if isinstance(self.node, str):
            # A module's path takes a search, so what is at hand comes first.
            return self.node in (step.name, step.leaf, *step.module.split())
        return self.node is node if isinstance(self.node, Node) else self.node == step.node


def stop(
    step: Any, node: Node, gradients: Sequence[Any], results: Sequence[Any] | None, reason: str
) -> None:
    """Hand over to the user's debugger; here `arrived` and `sent` are the gradients."""
    arrived = [_as_tensor(each) for each in gradients]
    sent = [_as_tensor(each) for each in results or ()]
    print(f"stopped at step {step.order}, {step.name}: {reason}")
    if step.line:
        print(f"recorded {origin(node)}")
    breakpoint()
    del arrived, sent  # the debugger stops here: print(step), node, arrived, sent


def _as_tensor(gradient: Any) -> Any:
    return gradient if gradient is None or isinstance(gradient, Tensor) else wrap(gradient)
