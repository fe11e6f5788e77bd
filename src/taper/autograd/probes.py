"""Nodes without arithmetic: one that raises when it runs, one that loses the gradient (G15).

`once_differentiable` and `gradcheck` need them, and tests of hooks and errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.autograd.builtin import BuiltinNode
from taper.autograd.node import LIVE
from taper.autograd.state import NO_GRAD, local
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


class Error(_Probe):
    """Raises its message when it runs."""

    __slots__ = ("message",)

    _public_name = "torch::autograd::Error"
    _passes_undefined = False

    def __init__(self, message: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        super().__init__(inputs, outputs)
        self.message = message

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        raise RuntimeError(self.message)

    _run_tensors = _run


class UndefinedGradBackward(_Probe):
    """Sends an undefined gradient on, whatever arrives."""

    __slots__ = ()

    _public_name = "torch::autograd::UndefinedGradBackward"

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return (None,) * len(self._edges)

    _run_tensors = _run


class DelayedError:
    """`DelayedError(message, n)(*tensors)` is the identity now and raises `message` in backward."""

    def __init__(self, msg: str, num_inputs: int) -> None:
        self.message = msg
        self.count = num_inputs

    def __call__(self, *tensors: Tensor) -> Any:
        outputs = [wrap(each._array) for each in tensors]
        if _recorded(tensors):
            node = Error(self.message, tensors, outputs)
            for nr, output in enumerate(outputs):
                set_history(output, node, nr)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class UndefinedGrad:
    """`UndefinedGrad()(tensor)` is the identity now; its backward loses the gradient."""

    def __call__(self, tensor: Tensor) -> Tensor:
        output = wrap(tensor._array)
        if _recorded((tensor,)):
            set_history(output, UndefinedGradBackward((tensor,), (output,)))
        return output


def _recorded(tensors: Sequence[Tensor]) -> bool:
    return not local.state.mode & NO_GRAD and any(requires_grad(each) for each in tensors)
