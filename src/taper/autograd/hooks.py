"""Hooks during a pass: tensor hooks, retained gradients, node pre-hooks and post-hooks.

The order at one node (§H7): tensor hooks, `retain_grad`, node pre-hooks, the node itself,
post-accumulate hooks, node post-hooks.  Hooks see Tensors even in a pass over arrays; `tensors`
says which of the two the pass works on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper import dtypes
from taper.autograd.conjugate import as_gradient
from taper.autograd.node import Node
from taper.device import contiguous_format
from taper.tensor import Tensor, array_or_sparse, outline_of


def as_tensor(grad: Any) -> Tensor | None:
    return grad if grad is None or isinstance(grad, Tensor) else as_gradient(grad)


def as_grad(tensor: Tensor | None, tensors: bool) -> Any:
    return tensor if tensors or tensor is None else array_or_sparse(tensor)


def run_tensor_hooks(node: Node, leaf_hooks: Any, grads: list[Any], tensors: bool) -> None:
    """Run tensor hooks and `retain_grad`, which change `grads`; `leaf_hooks` belong to a leaf."""
    if leaf_hooks:
        grads[0] = _through(leaf_hooks, grads[0], tensors)
    extra = node._extra
    if extra is None:
        return
    for nr, hooks in list(extra.tensor_hooks.items()):
        if hooks:
            grads[nr] = _through(hooks, grads[nr], tensors)
    for nr, reference in list(extra.retained.items()):
        tensor = reference()
        if tensor is not None and grads[nr] is not None:
            _retain(tensor, grads[nr])


def _through(hooks: Any, grad: Any, tensors: bool) -> Any:
    """Run the hooks of one tensor in order of registration; each may replace the gradient."""
    value = as_tensor(grad)
    for hook in list(hooks.values()):
        result = hook(value)
        if result is not None and result is not value:
            check_replacement(value, result, hook)
            value = result
    return as_grad(value, tensors)


def run_pre_hooks(node: Node, grads: list[Any], tensors: bool) -> list[Any]:
    """Run node pre-hooks: `hook(grad_outputs)` may return a tuple to replace them."""
    given = _seen(node, grads)
    for hook in list((node._rarely().pre_hooks or {}).values()):
        result = hook(given)
        if result is not None and result is not given:
            _check_tuple(given, result, hook)
            given = result
    replaced = iter([as_grad(grad, tensors) for grad in given])
    unseen = node._unseen_outputs
    return [grad if nr in unseen else next(replaced) for nr, grad in enumerate(grads)]


def _seen(node: Node, grads: Sequence[Any]) -> tuple[Tensor | None, ...]:
    """Return the gradients that hooks see: those of differentiable outputs."""
    unseen = node._unseen_outputs
    return tuple([as_tensor(grad) for nr, grad in enumerate(grads) if nr not in unseen])


def run_post_hooks(
    node: Node, results: Sequence[Any], grads: Sequence[Any], tensors: bool
) -> Sequence[Any]:
    """Run node post-hooks: `hook(grad_inputs, grad_outputs)` may return a tuple for the former."""
    hooks = node._rarely().post_hooks
    if not hooks:
        return results
    outputs = _seen(node, grads)
    inputs = tuple(as_tensor(grad) for grad in results)
    for hook in list(hooks.values()):
        result = hook(inputs, outputs)
        if result is not None and result is not inputs:
            _check_tuple(inputs, result, hook)
            inputs = result
    return [as_grad(grad, tensors) for grad in inputs]


def _retain(tensor: Tensor, grad: Any) -> None:
    meta = tensor._autograd_meta
    value: Any = as_tensor(grad)
    if meta.grad is not None:
        meta.grad = meta.grad + value
    elif value.is_sparse:
        meta.grad = value.clone()
    else:
        meta.grad = value.clone(memory_format=contiguous_format)


def _check_tuple(given: tuple[Any, ...], result: Any, hook: Callable[..., Any]) -> None:
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(given):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(given)})"
        )
    for value, replacement in zip(given, result, strict=True):
        check_replacement(value, replacement, hook)


def check_replacement(value: Tensor | None, result: Any, hook: Callable[..., Any]) -> None:
    """Raise unless `result` may replace `value` (§H1)."""
    if result is None:
        return
    if value is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if outline_of(value).dtype != outline_of(result).dtype:
        was, got = dtypes.backend_type_name(value.dtype), dtypes.backend_type_name(result.dtype)
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {was} got {got})"
        )
    if outline_of(value).shape != outline_of(result).shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", "<unknown>")
