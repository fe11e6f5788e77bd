"""Limiting gradients: by their common norm or element by element."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from taper.autograd.grad_mode import no_grad
from taper.autograd.state import local
from taper.autograd.views import bump_version
from taper.device import strided
from taper.ops.creation.filled import zeros
from taper.ops.reduction.vector_norm import vector_norm
from taper.ops.shape.join import stack
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = [
    "clip_grad_norm_",
    "clip_grad_norm",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _as_list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Any) -> list[Tensor]:
    return [each.grad for each in _as_list(parameters) if each.grad is not None]


def _norm(tensor: Tensor, order: float) -> Tensor:
    # A class with a norm of its own has its elements elsewhere.
    own = "norm" in vars(type(tensor)) and tensor.layout is strided
    return tensor.norm(order) if own else vector_norm(tensor, order)


@no_grad()
def get_total_norm(
    tensors: Any,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    Args:
        tensors: the tensors: an iterable, or one of them.
        norm_type: the order of the norm; may be infinite.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error.
        foreach: accepted; one way serves all values.

    Example:
        >>> import taper
        >>> taper.nn.utils.get_total_norm([taper.tensor([3.0]), taper.tensor([4.0])])
        tensor(5.)
    """
    order = float(norm_type)
    listed = _as_list(tensors)
    if not listed:
        return zeros(())
    if order == math.inf and foreach is not False and any(not each.numel() for each in listed):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
            "operation does not have an identity"
        )
    total = _norm(stack([_norm(each, order) for each in listed]), order)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients of a known norm down to a largest one.

        grad ← grad min(1, max_norm / (total_norm + 1e-6))

    Args:
        parameters: the parameters whose `.grad` is meant: an iterable, or one tensor.
        max_norm: the largest norm.
        total_norm: the norm that they have together.
        foreach: accepted; one way serves all values.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.zeros(2))
        >>> weight.grad = taper.tensor([3.0, 4.0])
        >>> taper.nn.utils.clip_grads_with_norm_([weight], 1.0, taper.tensor(5.0))
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    grads = _grads(parameters)
    if not _scaled_on_device(grads, factor):
        for grad in grads:
            grad.mul_(factor)


def _scaled_on_device(grads: list[Tensor], factor: Tensor) -> bool:
    """Scale all gradients by one kernel; False, with nothing done, if they are not for this."""
    if len(grads) < 2 or local.state.interceptors:
        return False
    if not all([type(each) is Tensor and each.is_cuda for each in (*grads, factor)]):
        return False
    if any([each._array.dtype is not grads[0]._array.dtype for each in grads]):
        return False
    from taper.gpu import rules  # late: for programs with a GPU

    arrays: list[Any] = [each._array for each in grads]
    wide = np.float64 if arrays[0].itemsize == 8 else np.float32
    where = factor._array.astype(wide).reshape(1, 1)
    if not rules.run(rules.SCALE, (arrays,), (None,), where):
        return False
    for each in grads:
        bump_version(each)
    return True


@no_grad()
def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients together to a norm of at most `max_norm`; return the norm before.

        grad ← grad min(1, max_norm / (norm + 1e-6))

    Args:
        parameters: the parameters whose `.grad` is meant: an iterable, or one tensor.
        max_norm: the largest norm.
        norm_type: the order of the norm; may be infinite.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error.
        foreach: accepted; one way serves all values.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.zeros(2))
        >>> weight.grad = taper.tensor([3.0, 4.0])
        >>> taper.nn.utils.clip_grad_norm_([weight], 1.0)
        tensor(5.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    generated = isinstance(parameters, types.GeneratorType)
    listed = _as_list(parameters)
    if generated and not listed:
        warn_user("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Call `clip_grad_norm_` by its old name; deprecated.

    Args:
        parameters, max_norm, norm_type, error_if_nonfinite, foreach: as for `clip_grad_norm_`.

    Example:
        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> weight = taper.nn.Parameter(taper.zeros(2))
        >>> weight.grad = taper.tensor([3.0, 4.0])
        >>> taper.nn.utils.clip_grad_norm([weight], 1.0)
        tensor(5.)
    """
    warn_user(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clip every element of all gradients.

        grad ← min(max(grad, -clip_value), clip_value)

    Args:
        parameters: the parameters whose `.grad` is meant: an iterable, or one tensor.
        clip_value: the largest absolute value.
        foreach: accepted; one way serves all values.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.zeros(2))
        >>> weight.grad = taper.tensor([0.5, -4.0])
        >>> taper.nn.utils.clip_grad_value_([weight], 1.0)
        >>> weight.grad
        tensor([ 0.5000, -1.0000])
    """
    limit = float(clip_value)
    for grad in _grads(parameters):
        grad.clamp_(min=-limit, max=limit)


# PyTorch's private names of the two parts.
_get_total_norm = get_total_norm
_clip_grads_with_norm_ = clip_grads_with_norm_
