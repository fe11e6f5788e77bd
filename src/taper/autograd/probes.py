"""Probes: nodes that raise or lose the gradient when they run (§G15), and a weak reference (§W9).

`once_differentiable` and `gradcheck` need them, as do tests of hooks, errors and lifetimes.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from taper.autograd.builtin import BuiltinNode
from taper.autograd.node import LIVE
from taper.autograd.state import local
from taper.autograd.views import gradient_edge, requires_grad, set_history
from taper.tensor import Tensor, wrap


class _Probe(BuiltinNode):
    __slots__ = ("metadata_of_outputs",)

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        pairs = [gradient_edge(each) for each in inputs]
        state = local.state
        self._edges = tuple(node for node, _ in pairs)
        self._edge_nrs = tuple(nr for _, nr in pairs)
        self._sequence = state.sequence
        state.sequence += 1
        self._status = LIVE
        self._code = None
        self._offset = 0
        self._extra = None
        self.metadata_of_outputs = [(each._array.shape, each._array.dtype) for each in outputs]
        self._shape, self._dtype = self.metadata_of_outputs[0]

    @property
    def _output_count(self) -> int:  # type: ignore[override]
        return len(self.metadata_of_outputs)

    def _output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        return self.metadata_of_outputs[nr]


class _Raising(_Probe):
    """Raises its message when it runs."""

    __slots__ = ("message",)

    _passes_undefined = False

    def __init__(self, message: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        super().__init__(inputs, outputs)
        self.message = message

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        raise RuntimeError(self.message)

    _run_tensors = _run


class Error(_Raising):
    """The history of a tensor that may not be differentiated."""

    __slots__ = ()

    _public_name = "torch::autograd::Error"


class Unimplemented(_Raising):
    """The history of a result of an operator without derivative."""

    __slots__ = ()

    _public_name = "torch::autograd::NotImplemented"


Unimplemented.__name__ = "NotImplemented"


class UndefinedGradBackward(_Probe):
    """Sends on an undefined gradient, whatever arrives."""

    __slots__ = ()

    _public_name = "torch::autograd::UndefinedGradBackward"

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return (None,) * len(self._edges)

    _run_tensors = _run


class DelayedError:
    """`DelayedError(message, n)(*tensors)` is the identity, and raises `message` in backward."""

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) != 2:
            raise RuntimeError(f"Requires two arguments, got {len(arguments)}")
        message, count = arguments
        if not isinstance(message, str):
            raise RuntimeError("argument 'msg' must be a string")
        if not isinstance(count, int):
            raise RuntimeError("argument 'num_inputs' must be an int")
        self.message = message
        self.count = count

    def __call__(self, *tensors: Tensor) -> Any:
        _check(tensors, self.count)
        outputs = [wrap(each._array) for each in tensors]
        if any(requires_grad(each) for each in tensors):  # in every grad mode
            node = Error(self.message, tensors, outputs)
            for nr, output in enumerate(outputs):
                set_history(output, node, nr)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class UndefinedGrad:
    """`UndefinedGrad()(tensor)` is the identity; its backward loses the gradient."""

    def __init__(self, *arguments: Any) -> None:
        if arguments:
            raise RuntimeError(f"Requires zero arguments, got {len(arguments)}")

    def __call__(self, *tensors: Tensor) -> Tensor:
        _check(tensors, 1)
        output = wrap(tensors[0]._array)
        if any(requires_grad(each) for each in tensors):  # in every grad mode
            set_history(output, UndefinedGradBackward(tensors, (output,)))
        return output


def _check(tensors: Sequence[Any], count: int) -> None:
    if len(tensors) != count:
        raise TypeError(f"expected {count} arguments, got {len(tensors)} instead")
    for position, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(f"argument {position} is not a Variable")


class WeakTensorRef:
    """Knows whether a tensor is still alive, without keeping it so.

    >>> import taper
    >>> x = taper.ones(2)
    >>> reference = taper._C._WeakTensorRef(x)
    >>> del x
    >>> reference.expired()
    True
    """

    __slots__ = ("_reference",)

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"_WeakTensorRef expected a Tensor, but got {type(tensor).__name__}")
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Return whether the tensor is gone."""
        return self._reference() is None
