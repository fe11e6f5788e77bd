"""`nn.grad`: the gradients of convolutions, as functions of their own."""

from __future__ import annotations

from typing import Any

from taper.arrays.strides import Shape
from taper.ops.conv.convolution import convolution_backward
from taper.tensor import Tensor

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def _each(value: Any, ndim: int) -> Shape:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * ndim


def _gradients(
    ndim: int,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    settings: tuple[Any, Any, Any, int],
    wanted: tuple[bool, bool, bool],
) -> Any:
    *sizes, groups = settings
    stride, padding, dilation = (_each(value, ndim) for value in sizes)
    zero = (0,) * ndim
    return convolution_backward(
        grad_output, input, weight, None, stride, padding, dilation, False, zero, groups, wanted
    )


def _of_input(ndim: int, size: Any, weight: Tensor, grad: Tensor, *settings: Any) -> Tensor:
    input = grad.new_empty(1).expand(tuple(size))
    found: Tensor = _gradients(ndim, grad, input, weight, settings, (True, False, False))[0]
    return found


def _of_weight(ndim: int, input: Tensor, size: Any, grad: Tensor, *settings: Any) -> Tensor:
    weight = grad.new_empty(1).expand(tuple(size))
    found: Tensor = _gradients(ndim, grad, input, weight, settings, (False, True, False))[1]
    return found


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient that `conv1d` sends back to its input.

    Example:
        >>> import taper
        >>> from taper.nn import grad
        >>> grad.conv1d_input((1, 1, 4), taper.ones(1, 1, 2), taper.ones(1, 1, 3))
        tensor([[[1., 2., 2., 1.]]])
    """
    return _of_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient that `conv1d` sends back to its weight.

    Example:
        >>> import taper
        >>> from taper.nn import grad
        >>> grad.conv1d_weight(taper.ones(1, 1, 4), (1, 1, 2), taper.ones(1, 1, 3))
        tensor([[[3., 3.]]])
    """
    return _of_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient that `conv2d` sends back to its input."""
    return _of_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient that `conv2d` sends back to its weight."""
    return _of_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient that `conv3d` sends back to its input."""
    return _of_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient that `conv3d` sends back to its weight."""
    return _of_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
