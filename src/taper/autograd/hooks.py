"""Running hooks during a pass: tensor hooks, retained gradients, node pre-hooks and post-hooks.

The order at one node (H7): tensor hooks, `retain_grad`, node pre-hooks, the node itself,
post-accumulate hooks, node post-hooks.  Hooks see Tensors, also in a pass over arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.node import Node
from taper.tensor import Tensor, wrap


def as_tensor(grad: Any) -> Tensor | None:
    return grad if grad is None or isinstance(grad, Tensor) else wrap(grad)


def as_grad(tensor: Tensor | None, tensors: bool) -> Any:
    return tensor if tensors or tensor is None else tensor._array


def run_pre_hooks(node: Node, grads: list[Any], tensors: bool, task: Any) -> list[Any]:
    """Tensor hooks, `retain_grad` and node pre-hooks, each seeing what the one before returned."""
    if isinstance(node, AccumulateGrad):
        meta = node.variable._meta
        if meta is not None and meta.hooks:
            grads[0] = run_tensor_hooks(meta.hooks, grads[0], tensors)
    extra = node.extra
    if extra is None:
        return grads
    for nr, hooks in list(extra.tensor_hooks.items()):
        grads[nr] = run_tensor_hooks(hooks, grads[nr], tensors)
    for nr, reference in list(extra.retained.items()):
        tensor = reference()
        if tensor is not None and grads[nr] is not None:
            _retain(tensor, grads[nr], tensors)
    will_run = task.needed is None or _runs(node, task)
    if extra.pre_hooks and will_run:
        given = tuple(as_tensor(grad) for grad in grads)
        for hook in list(extra.pre_hooks.values()):
            result = hook(given)
            if result is not None:
                given = _checked_tuple(result, len(given), hook)
        grads = [as_grad(grad, tensors) for grad in given]
    return grads


def _runs(node: Node, task: Any) -> bool:
    if task.wanted is None or node not in task.wanted or task.accumulate:
        return True
    return any(each in task.needed for each in node.edges if each is not None)


def run_tensor_hooks(hooks: Any, grad: Any, tensors: bool) -> Any:
    """Hooks of one tensor, in order of registration; each may replace the gradient."""
    value = as_tensor(grad)
    for hook in list(hooks.values()):
        result = hook(value)
        if result is not None:
            _check_replacement(value, result, hook)
            value = result
    return as_grad(value, tensors)


def _check_replacement(value: Tensor | None, result: Any, hook: Callable[..., Any]) -> None:
    name = getattr(hook, "__name__", "<unknown>")
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if value is None:
        return
    if value._array.dtype != result._array.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {value.type()} got {result.type()})"
        )
    if value._array.shape != result._array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def _retain(tensor: Tensor, grad: Any, tensors: bool) -> None:
    meta = tensor._meta
    value = as_tensor(grad)
    if meta.grad is None:
        meta.grad = value if tensors else wrap(grad.copy())
    else:
        meta.grad = meta.grad + value


def run_post_hooks(
    node: Node, results: Sequence[Any], grads: Sequence[Any], tensors: bool
) -> Sequence[Any]:
    """Node post-hooks; each may replace the gradients of the inputs."""
    outputs = tuple(as_tensor(grad) for grad in grads)
    inputs = tuple(as_tensor(grad) for grad in results)
    for hook in list(node.rarely().post_hooks.values()):
        result = hook(inputs, outputs)
        if result is not None:
            inputs = _checked_tuple(result, len(inputs), hook)
    return [as_grad(grad, tensors) for grad in inputs]


def _checked_tuple(result: Any, count: int, hook: Callable[..., Any]) -> tuple[Any, ...]:
    if isinstance(result, Tensor) and count == 1:
        return (result,)
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != count:
        name = getattr(hook, "__name__", "<unknown>")
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but "
            f"expected {count})"
        )
    return result
