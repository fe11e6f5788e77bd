"""What the rest of the library knows of the transforms of `taper.func`: that some are open.

`state.transforms` holds the open ones of a thread, the innermost last.  Operators of the table
reach them as interceptors; functions that make, read or draw arrays themselves, and custom
functions, ask here.  While no transform is open this costs one attribute read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from taper.autograd.state import local

_INSIDE = (
    "inside of a function being transformed by a functorch transform. This is unsupported, please "
    "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {} "
    "outside of a function being transformed instead."
)
BACKWARD_INSIDE = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)


def mark_made(tensor: Any) -> None:
    """Tell the open transforms that a tensor was made inside them, so that they may write it."""
    transforms = local.state.transforms
    if transforms:
        tensor.__dict__["_made_in"] = transforms[-1].number


def seen_whole(label: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that works on arrays: an open transform gets the call as a whole."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        transforms = local.state.transforms
        if transforms:
            return transforms[-1].call(label, function, args, kwargs)
        return function(*args, **kwargs)

    return call


def whole(label: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Apply `seen_whole` as a decorator, for functions that are no composites of their own."""
    return functools.partial(seen_whole, label)


def shown(tensor: Any, text: Callable[[Any, bool], str]) -> str:
    """Return a tensor as it prints inside transforms: wrapped once for each that knows it.

    `text(tensor, history)` is how an ordinary tensor prints, with its history or without.
    """
    inner = tensor
    while hasattr(inner, "_whole"):
        inner = inner._whole
    heads = [level.head(tensor) for level in local.state.transforms]
    found = text(inner, not any(heads))
    for head in heads:
        if head:
            lines = found.replace("\n", "\n    ")
            found = f"{head}, value=\n    {lines}\n)"
    return found


def refuse_requires_grad() -> None:
    """Raise if a transform is open: it alone decides what requires a gradient."""
    if local.state.transforms:
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            f"torch.autograd.functional.* APIs) {_INSIDE.format('requires_grad_()')}"
        )


def refuse_retain_grad() -> None:
    """Raise if a transform is open: its tensors have no `.grad`."""
    if local.state.transforms:
        raise RuntimeError(
            f"You are attempting to call Tensor.retain_grad() {_INSIDE.format('retain_grad()')}"
        )


def refuse_backward() -> None:
    """Raise if a transform is open."""
    if local.state.transforms:
        raise RuntimeError(BACKWARD_INSIDE)
