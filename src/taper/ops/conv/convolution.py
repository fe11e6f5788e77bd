"""The operators `convolution` and `convolution_backward`, with their derivatives.

Every function that is called a convolution calls one of them. The computation is in
`arrays.convolution`, the checks of arguments are in `checks`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays import convolution as kernels
from taper.arrays.elements import cast
from taper.arrays.layouts import laid_out_like
from taper.arrays.strides import Shape, strided
from taper.opdef import Array, derivative, op, tangent_of
from taper.ops.conv.checks import Geometry, check_dtypes, geometry_of, wide
from taper.ops.shape.reshape import expand, reshape


@op(method=False)
def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> Array:
    """Convolve a batch of images, or convolve transposed, in one to three dimensions.

    >>> import taper
    >>> x, w = taper.ones(1, 1, 4), taper.ones(1, 1, 3)
    >>> taper.convolution(x, w, None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[3., 3.]]])
    """
    bias_shape = None if bias is None else bias.shape
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    geometry = geometry_of(input.shape, weight.shape, bias_shape, *settings)
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    if not input.size:
        outputs = outputs if input.shape[1] else 0
        return np.zeros((len(input), outputs, *geometry.sizes), input.dtype)
    check_dtypes(input, weight, bias, transposed, groups, geometry)
    array, matrix = wide(input), _by_group(wide(weight), groups)
    bias = None if bias is None else wide(bias).astype(array.dtype, copy=False)
    out = np.empty((len(input), outputs, *geometry.sizes), array.dtype)
    compute = kernels.spread if transposed else kernels.convolve
    compute(array, matrix, bias, *geometry[:3], out)
    return _laid_out(out, input, weight, groups)


def _by_group(weight: ndarray, groups: int) -> ndarray:
    return weight.reshape(groups, len(weight) // groups, *weight.shape[1:])


def _laid_out(result: ndarray, input: ndarray, weight: ndarray, groups: int) -> ndarray:
    """Convert a result to the input's dtype; channels last if those of an operand are."""
    result = result if result.dtype is input.dtype else cast(result, input.dtype)
    if input.ndim == 3:  # for PyTorch an image of height 1, with a row-major input
        return laid_out_like(_image(result), _image(weight))[:, :, 0]
    if input.ndim == 5 and not _by_blocks(input, weight, groups):
        return laid_out_like(result)
    return laid_out_like(result, input, weight)


def _by_blocks(input: ndarray, weight: ndarray, groups: int) -> bool:
    """Tell whether PyTorch hands volumes to oneDNN, which alone leaves their channels last."""
    if input.dtype.itemsize > 4 or input.dtype.kind in "iu":
        return False
    large = min(weight.shape[-2:]) > 3 or math.prod(input.shape[:4]) > 20480
    return groups > 1 or len(input) > 1 or large


def _image(array: ndarray) -> ndarray:
    """View (N, C, L) with a new dimension before the last, and strides as in PyTorch."""
    shape, strides = array.shape, array.strides
    step = shape[2] * strides[2]
    return strided(array, (*shape[:2], 1, shape[2]), (*strides[:2], step, strides[2]))


@derivative(convolution, wrt=("input", "weight", "bias"))
def convolution_all(
    grad,
    input,
    weight,
    bias_shape,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    needs,
):
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    found = convolution_backward(grad, input, weight, bias_shape, *settings, needs)
    return [each if needed else None for each, needed in zip(found, needs, strict=True)]


@tangent_of(convolution)
def convolution_tangent(
    input,
    weight,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    result_shape,
    input_t,
    weight_t,
    bias_t,
):
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    return _bilinear(input, weight, result_shape, settings, input_t, weight_t, bias_t)


def _bilinear(
    input: Any,
    weight: Any,
    shape: Shape,
    settings: Any,
    of_input: Any,
    of_weight: Any,
    of_bias: Any,
) -> Any:
    """Compute how the result moves with input, weight and bias; None stands for zero."""
    if 0 in shape:
        return convolution(input, weight, None, *settings)
    if of_input is None and of_weight is None:
        return expand(_along_channels(of_bias, len(shape)), shape)
    if of_input is None:
        return convolution(input, of_weight, of_bias, *settings)
    moved = convolution(of_input, weight, of_bias, *settings)
    return moved if of_weight is None else moved + convolution(input, of_weight, None, *settings)


def _along_channels(vector: Any, ndim: int) -> Any:
    return reshape(vector, (1, -1, *[1] * (ndim - 2)))


@op(
    outputs=("result0", "result1", "result2"),
    node="ConvolutionBackwardBackward0",
    public=False,
    method=False,
)
def convolution_backward(
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_sizes: Any,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
    output_mask: tuple[bool, bool, bool],
) -> tuple[Array, Array, Array]:
    """Compute the gradients of input, weight and bias; those outside `output_mask` are empty."""
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    geometry = geometry_of(input.shape, weight.shape, None, *settings)
    if not input.size:
        shapes = (input.shape, weight.shape, bias_sizes)
        pairs = zip(shapes, output_mask, strict=True)
        empty = [np.zeros(shape if wanted else 0, input.dtype) for shape, wanted in pairs]
        return empty[0], empty[1], empty[2]
    grad, array, kernel = wide(grad_output), wide(input), wide(weight)
    nothing = np.empty(0, input.dtype)
    results = [nothing, nothing, nothing]
    if output_mask[0]:
        results[0] = _input_gradient(grad, kernel, input.shape, geometry, transposed, groups)
        results[0] = _laid_out(results[0], input, weight, groups)
    if output_mask[1]:
        results[1] = _weight_gradient(grad, array, weight.shape, geometry, transposed, groups)
        results[1] = _laid_out(results[1], input, weight, groups)
    if output_mask[2]:
        results[2] = kernels.sum_of_channels(grad).astype(input.dtype, copy=False)
    return results[0], results[1], results[2]


def _input_gradient(
    grad: ndarray, weight: ndarray, shape: Shape, geometry: Geometry, transposed: bool, groups: int
) -> ndarray:
    out = np.empty(shape, grad.dtype)
    compute = kernels.convolve if transposed else kernels.spread
    return compute(grad, _by_group(weight, groups), None, *geometry[:3], out)


def _weight_gradient(
    grad: ndarray, array: ndarray, shape: Shape, geometry: Geometry, transposed: bool, groups: int
) -> ndarray:
    if transposed:  # the convolution of which this is the adjoint takes `grad` to `array`
        array, grad = grad, array
    grouped = (groups, shape[0] // groups, *shape[1:])
    return kernels.weight_gradient(array, grad, grouped, *geometry[:3]).reshape(shape)


@derivative(convolution_backward, wrt=("grad_output", "input", "weight"))
def convolution_backward_all(
    grad_output,
    input,
    weight,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    needs,
    grad_result0=None,
    grad_result1=None,
    grad_result2=None,
):
    """Differentiate the gradients, which are linear in input, weight and bias each."""
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    of_grad = of_input = of_weight = None
    if needs[0]:
        shape = tuple(grad_output.shape)
        of_grad = _bilinear(
            input, weight, shape, settings, grad_result0, grad_result1, grad_result2
        )
    if needs[1] and grad_result1 is not None:
        given = (grad_output, input, grad_result1, None)
        of_input = convolution_backward(*given, *settings, (True, False, False))[0]
    if needs[2] and grad_result0 is not None:
        given = (grad_output, grad_result0, weight, None)
        of_weight = convolution_backward(*given, *settings, (False, True, False))[1]
    return of_grad, of_input, of_weight


@tangent_of(convolution_backward)
def convolution_backward_tangent(
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
    grad_output_t,
    input_t,
    weight_t,
):
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    moved: list[Any] = [None, None, None]
    if grad_output_t is not None:
        found = convolution_backward(
            grad_output_t, input, weight, bias_sizes, *settings, output_mask
        )
        moved = [each if wanted else None for each, wanted in zip(found, output_mask, strict=True)]
    if weight_t is not None and output_mask[0]:
        only = (True, False, False)
        term = convolution_backward(grad_output, input, weight_t, None, *settings, only)[0]
        moved[0] = term if moved[0] is None else moved[0] + term
    if input_t is not None and output_mask[1]:
        only = (False, True, False)
        term = convolution_backward(grad_output, input_t, weight, None, *settings, only)[1]
        moved[1] = term if moved[1] is None else moved[1] + term
    return tuple(moved)
