"""`Variable`: the old name of Tensor, kept for old programs, and the engine behind it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.backward import backward, grad
from taper.autograd.state import local
from taper.autograd.tensor_api import set_leaf_flag
from taper.dtypes import get_default_dtype
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user


class ImperativeEngine:
    """The engine as programs reach it: `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback()` when the running pass ends."""
        task = local.state.graph_task
        if task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        task.callbacks.append(callback)

    def run_backward(
        self,
        tensors: Any,
        grad_tensors: Any,
        keep_graph: bool,
        create_graph: bool,
        inputs: Any = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> Any:
        """Run one pass, with the arguments that PyTorch's engine takes."""
        if accumulate_grad:
            return backward(tensors, grad_tensors, keep_graph, create_graph, inputs=inputs or None)
        return grad(
            tensors, inputs, grad_tensors, keep_graph, create_graph, allow_unused=allow_unreachable
        )

    def is_checkpoint_valid(self) -> bool:
        """Return whether a checkpoint may recompute now: not in a pass for some inputs only."""
        task = local.state.graph_task
        while task is not None and task.wanted is None:
            task = task.outer
        return task is None


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(tensor)` is a tensor on the same memory; every Tensor is an instance of it.

    Args:
        data: a tensor.
        requires_grad: whether the result requires a gradient.
        volatile: without effect, as in PyTorch; it warns.

    >>> import taper
    >>> taper.autograd.Variable(taper.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warn_user(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
            )
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is None:
            data = wrap(np.empty(0, get_default_dtype().numpy))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        tensor = data.detach()
        set_leaf_flag(
            tensor,
            bool(operator.index(requires_grad)),
            "Only Tensors of floating point and complex dtype can require gradients",
        )
        return tensor
