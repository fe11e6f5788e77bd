"""History of sparse tensors: nodes with PyTorch's names.

An operator of the table that meets a sparse tensor gets its usual node, whose formulas run on
Tensors in any pass.  So a formula means for sparse tensors what it means for dense ones, and where
an operator that it calls is not there for them, the pass ends with that operator's error, as in
PyTorch.  Functions that are not in the table say their formula here (`record`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.builtin import BuiltinNode
from taper.autograd.hooks import as_tensor
from taper.autograd.meta import VersionCounter
from taper.autograd.node import Place
from taper.autograd.saved import freed_error
from taper.autograd.state import local
from taper.autograd.views import wants_grad
from taper.opdef import Op
from taper.opdef.backward import node_class
from taper.opdef.nodes import TableNode, apply_slowly
from taper.opdef.recording import complete, make_node
from taper.tensor import Tensor, array_or_sparse, outline_of


def is_recorded(tensors: Sequence[Any]) -> bool:
    """Whether a function of these tensors is recorded."""
    if local.state.mode & 1:
        return False
    return any(isinstance(each, Tensor) and wants_grad(each) for each in tensors)


def _as_grads(results: Sequence[Any], tensors: bool) -> list[Any]:
    """What a node returns: Tensors, or in a pass over arrays the arrays of those that have one."""
    if tensors:
        return list(results)
    return [array_or_sparse(each) if isinstance(each, Tensor) else each for each in results]


# --- operators of the table --------------------------------------------------------------------


class _OnTensors(TableNode):
    """A node of the table whose formulas run on Tensors in any pass."""

    __slots__ = ()

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return self._run_partly(grads, None, False)

    def _run_once(self, grads: list[Any], place: Place) -> Sequence[Any]:
        results = self._run(grads)
        if self._saves:
            self._release(place)
        return results

    def _run_partly(self, grads: list[Any], needs: Any, tensors: bool) -> Sequence[Any]:
        results = apply_slowly(self, [as_tensor(grad) for grad in grads], True, needs)
        return _as_grads(results, tensors)


_kinds: dict[str, Any] = {}


def _kind_of(op: Op) -> Any:
    found = _kinds.get(op.name)
    if found is None:
        usual = node_class(op)
        members = {"__slots__": (), "_public_name": usual._class_name()}
        found = _kinds[op.name] = type(usual.__name__, (_OnTensors, usual), members)
    return found


def recorded(op: Op, arguments: tuple[Any, ...], result: Any) -> Any:
    """Give a result the history of an operator of the table, if it needs one."""
    values = {param.name: value for param, value in zip(op.params, arguments, strict=True)}
    needs = {name: is_recorded(_several(values[name])) for name in op.wrt}
    if not any(needs.values()) or not isinstance(result, Tensor):
        return result
    if not (result.dtype.is_floating_point or result.dtype.is_complex):
        return result
    node = make_node(op, arguments, needs, {}, _kind_of(op))
    for name in node.saved_output_names:
        setattr(node, f"kept_{name}", result.detach())
        setattr(node, f"version_{name}", 0)
        setattr(node, f"counter_{name}", VersionCounter())
    return _with_history(result, node)


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _with_history(result: Tensor, node: Any) -> Tensor:
    outline = outline_of(result)
    node._shape, node._dtype = outline.shape, outline.dtype
    result._requires_grad = True
    result._grad_fn = node
    return result


# --- functions that are not in the table -------------------------------------------------------


class FormulaNode(BuiltinNode):
    """A node that holds its formula: `formula(grad, needs)` returns a gradient for each edge."""

    __slots__ = ("formula",)

    _saves = True
    formula: Callable[..., Sequence[Any]] | None

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return self._run_partly(grads, None, False)

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        return self._run_partly(grads, None, True)

    def _run_partly(self, grads: list[Any], needs: Any, tensors: bool) -> Sequence[Any]:
        if self.formula is None:
            raise freed_error(self)
        wanted = [each is not None for each in self._edges] if needs is None else needs
        results = self.formula(as_tensor(grads[0]), wanted)
        return _as_grads(
            [grad if need else None for grad, need in zip(results, wanted, strict=True)], tensors
        )

    def _release(self, place: Place) -> None:
        self.formula = None
        self._freed_at = place


_named: dict[str, Any] = {}


def record(
    name: str, result: Any, inputs: Sequence[Any], formula: Callable[..., Sequence[Any]]
) -> Any:
    """Give a result the history of a function of `inputs` with a formula, if it needs one."""
    if not is_recorded(inputs):
        return result
    kind = _named.get(name)
    if kind is None:
        members = {"__slots__": (), "_public_name": name}
        kind = _named[name] = type(name.rpartition(":")[2], (FormulaNode,), members)
    node: Any = kind()
    pairs = [part for each in inputs for part in (each, is_recorded((each,)))]
    complete(node, None, local.state, sys._getframe(1), None, *pairs)
    node.formula = formula
    return _with_history(result, node)
