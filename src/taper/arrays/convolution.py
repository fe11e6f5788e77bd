"""Convolutions of arrays as matrix products, block by block; knows NumPy only.

A convolution is the product of the weight, as a matrix, with the windows of the input, each a
column.  Windows of one output row share most of their input rows with those of the next.  So the
columns of a block are laid out as (input row, channel, inner tap, image, inner place): the windows
of an output row are then `kernel[0]` neighbouring rows of the block, a view.  Only the taps along
the inner dimensions are copied, a third of all taps for a kernel of 3x3.  Where a row has few
places the products would be too small: then a dimension of length 1 is put in front, and all taps
are copied.  Weights have the shape (groups, outputs of a group, inputs of a group, *kernel)
throughout.

Measured on one thread relative to PyTorch's time: im2col of whole images 1.1 to 2.4, this 1.1 to
1.9.  A direct multiply-add over the taps of a depthwise kernel took twice as long as this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.native import native, onednn
from taper.arrays.strides import Shape, strided

BLOCK = 1 << 19  # elements of columns in a block, so that they stay in the second cache
PLACES = 256  # columns of a product from which BLAS is at its best
FEWEST_PLACES = 48  # columns of a product below which whole images are better than rows
MOST_PLACES = 512  # columns of a product from which it gets slower again
GRADIENTS = 1 << 15  # elements of the output's gradient in a block, for the gradient of a weight
NARROW = 256  # inputs times taps up to which a product for each row of taps is too thin
FEW_PRODUCTS = 2048  # elements of a weight below which the number of calls dominates the cost

EVERYTHING = (slice(None), slice(None))  # all images and all channels


class Scratch:
    """Memory that the blocks of one convolution reuse: fresh pages cost as much as a copy."""

    __slots__ = ("buffers", "dtype")

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.buffers: dict[str, ndarray] = {}

    def get(self, name: str, shape: Sequence[int]) -> ndarray:
        """Return uninitialised memory under a name; its former content is lost."""
        size = math.prod(shape)
        found = self.buffers.get(name)
        if found is None or found.size < size:
            found = self.buffers[name] = np.empty(size, self.dtype)
        return found[:size].reshape(shape)


def _reach(sizes: Shape, kernel: Sequence[int], stride: Shape, dilation: Shape) -> list[int]:
    """Return how much input the windows of `sizes` outputs cover, in each dimension."""
    return [
        (size - 1) * step + (taps - 1) * apart + 1
        for size, taps, step, apart in zip(sizes, kernel, stride, dilation, strict=True)
    ]


def _padded(array: ndarray, front: Sequence[int], lengths: Sequence[int], scratch: Scratch) -> Any:
    """Return `lengths` places of an array padded with zeros, from `front` before its start on."""
    source, target = [*EVERYTHING], [*EVERYTHING]
    inside = True
    for size, before, length in zip(array.shape[2:], front, lengths, strict=True):
        start, skipped = max(before, 0), max(-before, 0)
        count = max(0, min(size - skipped, length - start))
        source.append(slice(skipped, skipped + count))
        target.append(slice(start, start + count))
        inside = inside and count == length
    if inside:
        return array[tuple(source)]
    result = scratch.get("padded", (*array.shape[:2], *lengths))
    result.fill(0)
    result[tuple(target)] = array[tuple(source)]
    return result


def _natively(
    name: str,
    array: ndarray,
    weight: ndarray,
    out: ndarray,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    *bias: ndarray | None,
) -> bool:
    """Let the native module compute one of the three, itself or by oneDNN; False if not.

    The one that is computed is contiguous, so that what is written is not a copy.
    """
    if native is None:
        return False
    if onednn.version is None:
        onednn.load()
    arrays = [np.ascontiguousarray(each) for each in (array, weight, out)]
    if len(stride) == 1:
        arrays = [each.reshape(*each.shape[:-1], 1, each.shape[-1]) for each in arrays]
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    return getattr(native, name)(*arrays, stride, padding, dilation, *bias) is not None


# --- the convolution -------------------------------------------------------------------------


def correlate(
    array: ndarray,
    weight: ndarray,
    bias: ndarray | None,
    stride: Shape,
    front: Shape,
    dilation: Shape,
    out: ndarray,
) -> ndarray:
    """Write into `out`, for each of its places, the sum of a window of the input times the weight.

    The first window starts `front` before the input; places outside the input are zero.
    """
    groups, outputs, _, *kernel = weight.shape
    sizes = out.shape[2:]
    if bias is not None:
        bias = bias.reshape(groups, outputs, *[1] * len(sizes))
    places = len(array) * math.prod(sizes[1:])
    # Reading a large weight for each row would dominate the cost.
    fewest = FEWEST_PLACES if weight.size <= BLOCK else PLACES
    by_row = len(sizes) > 1 and dilation[0] == 1 and places >= fewest
    images, rows = _blocks(len(array), weight.shape, stride[0], sizes, by_row)
    # BLAS cannot take a view with negative steps, such as a flipped kernel.
    matrix = np.ascontiguousarray(weight.swapaxes(2, 3) if by_row else weight)
    matrix = matrix.reshape(groups, 1, outputs, -1)
    scratch = Scratch(out.dtype)
    for image in range(0, len(array), images):
        part, target = array[image : image + images], out[image : image + images]
        for start in range(0, sizes[0], rows):
            before = (front[0] - start * stride[0], *front[1:])
            block = target[:, :, start : start + rows]
            if by_row:
                _block(part, matrix, bias, kernel, stride, before, dilation, block, scratch)
                continue
            settings = (1, *kernel), (1, *stride), (0, *before), (1, *dilation)
            vector = None if bias is None else bias[..., None]
            _block(part[:, :, None], matrix, vector, *settings, block[:, :, None], scratch)
    return out


def _blocks(count: int, weight: Shape, stride: int, sizes: Shape, by_row: bool) -> tuple[int, int]:
    """Return how many images and how many rows of the output to compute at once."""
    groups, _, inputs, taps, *inner = weight
    width = math.prod(sizes[1:])
    of_row = max(1, groups * inputs * math.prod(inner) * width)
    if by_row:
        images = min(count, -(-PLACES // width))
        rows = (BLOCK // (of_row * images) - taps) // stride + 1
        return images, max(1, rows, 2 * taps // stride)
    of_row *= taps
    block = max(BLOCK, math.prod(weight))
    images = max(1, min(count, block // (of_row * sizes[0])))
    return images, sizes[0] if images > 1 else max(1, block // of_row)


def _block(
    array: ndarray,
    matrix: ndarray,
    bias: ndarray | None,
    kernel: Sequence[int],
    stride: Shape,
    front: Shape,
    dilation: Shape,
    out: ndarray,
    scratch: Scratch,
) -> None:
    """Do the work of `correlate` for some images and rows at once."""
    images, sizes = len(array), out.shape[2:]
    groups, _, outputs, length = matrix.shape
    lengths = _reach(sizes, kernel, stride, dilation)
    array = _padded(array, front, lengths, scratch)
    inputs = array.shape[1] // groups
    of_image, of_channel, of_row, *inner = array.strides
    shape = (groups, lengths[0], inputs, *kernel[1:], images, *sizes[1:])
    steps = (
        *(of_channel * inputs, of_row, of_channel),
        *[step * apart for step, apart in zip(inner, dilation[1:], strict=True)],
        of_image,
        *[step * apart for step, apart in zip(inner, stride[1:], strict=True)],
    )
    columns = scratch.get("columns", shape)
    np.copyto(columns, strided(array, shape, steps))
    places, item = images * math.prod(sizes[1:]), columns.itemsize
    windows = strided(
        columns,
        (groups, sizes[0], length, places),
        (columns.strides[0], columns.strides[1] * stride[0], places * item, item),
    )
    products = scratch.get("products", (groups, sizes[0], outputs, places))
    np.matmul(matrix, windows, out=products)
    products = products.reshape(groups, sizes[0], outputs, images, *sizes[1:])
    products = products.transpose(3, 0, 2, 1, *range(4, products.ndim))
    target = out.reshape(images, groups, outputs, *sizes) if groups > 1 else out[:, None]
    if bias is None:
        np.copyto(target, products)
    else:
        np.add(products, bias, out=target)


def is_pointwise(kernel: Shape, padding: Shape) -> bool:
    """Return whether a window is a single place of the input: then no copy is needed."""
    return max(kernel) == 1 and not any(padding)


def _seen(array: ndarray, stride: Shape, sizes: Shape) -> ndarray:
    """Return the places of the input that `sizes` windows of a single place see."""
    if array.shape[2:] == sizes:
        return array
    pairs = zip(stride, sizes, strict=True)
    return array[(*EVERYTHING, *[slice(0, (size - 1) * step + 1, step) for step, size in pairs])]


def _pointwise(array: ndarray, weight: ndarray, bias: ndarray | None, out: ndarray) -> ndarray:
    groups, outputs, inputs = weight.shape
    places = math.prod(out.shape[2:])
    result = out.reshape(len(array), groups, outputs, places)
    array = array.reshape(len(array), groups, inputs, places)
    step = MOST_PLACES if outputs * inputs > FEW_PRODUCTS else places
    for start in range(0, places, step):
        part = (..., slice(start, start + step))
        np.matmul(weight, array[part], out=result[part])
    if bias is not None:
        result += bias.reshape(groups, outputs, 1)
    return out


def convolve(
    array: ndarray,
    weight: ndarray,
    bias: ndarray | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    out: ndarray,
) -> ndarray:
    """Write the convolution of (image, channel, *place) into `out`, which is contiguous."""
    if _natively("convolve", array, weight, out, stride, padding, dilation, bias):
        return out
    if is_pointwise(weight.shape[3:], padding):
        array = _seen(array, stride, out.shape[2:])
        return _pointwise(array, weight.reshape(weight.shape[:3]), bias, out)
    return correlate(array, weight, bias, stride, padding, dilation, out)


# --- its adjoint, which is the transposed convolution ----------------------------------------


def spread(
    array: ndarray,
    weight: ndarray,
    bias: ndarray | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    out: ndarray,
) -> ndarray:
    """Write the adjoint of `convolve` into `out`: each place adds the weight to a window.

    Places of `out` that are a multiple of the stride apart see the same taps of the kernel.  For
    each such set the adjoint is a plain convolution with a part of the kernel, turned around.
    """
    if _natively("spread", out, weight, array, stride, padding, dilation, bias):
        return out
    if _has_few_places(array, weight):
        return _spread_columns(array, weight, bias, stride, padding, dilation, out)
    turned = weight.swapaxes(1, 2)
    if is_pointwise(weight.shape[3:], padding) and array.shape[2:] == out.shape[2:]:
        return _pointwise(array, turned.reshape(turned.shape[:3]), bias, out)
    ones = (1,) * len(stride)
    geometry = list(zip(weight.shape[3:], stride, padding, dilation, strict=True))
    for phases in product(*[range(step) for step in stride]):
        found = [_phase(phase, *each) for phase, each in zip(phases, geometry, strict=True)]
        part = out[(*EVERYTHING, *[places for places, _, _, _ in found])]
        if not part.size:
            continue
        if any(taps is None for _, taps, _, _ in found):
            part[...] = 0 if bias is None else bias.reshape(-1, *ones)
            continue
        taps = turned[(*EVERYTHING, slice(None), *[taps for _, taps, _, _ in found])]
        front, apart = tuple(each[2] for each in found), tuple(each[3] for each in found)
        correlate(array, taps, bias, ones, front, apart, part)
    return out


def _has_few_places(array: ndarray, weight: ndarray) -> bool:
    """Return whether the weight dominates the cost, so that it must not be copied."""
    return len(array) * math.prod(array.shape[2:]) <= weight.shape[1] and weight[0, 0, 0].size > 1


def _spread_columns(
    array: ndarray,
    weight: ndarray,
    bias: ndarray | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    out: ndarray,
) -> ndarray:
    """Do the work of `spread` for few places: one product for all taps, then add them up.

    Images are the last dimension here: rows of few places would be short loops.  For 512 channels
    at 2x2 and 8 images this takes 1.9 ms, turning the weight around 4.8 ms.
    """
    groups, outputs, inputs, *kernel = weight.shape
    images, places = len(array), array.shape[2:]
    grads = array.reshape(images, groups, outputs, math.prod(places)).transpose(1, 2, 3, 0)
    matrix = weight.reshape(groups, outputs, -1).swapaxes(1, 2)
    columns = np.matmul(matrix, grads.reshape(groups, outputs, -1))
    columns = columns.reshape(groups, inputs, *kernel, *places, images)
    reach = _reach(places, kernel, stride, dilation)
    sizes = zip(reach, padding, out.shape[2:], strict=True)
    lengths = [max(covered, before + size) for covered, before, size in sizes]
    total = np.zeros((groups, inputs, *lengths, images), out.dtype)
    for taps in product(*map(range, kernel)):
        seen = [
            slice(tap * apart, tap * apart + (size - 1) * step + 1, step)
            for tap, apart, size, step in zip(taps, dilation, places, stride, strict=True)
        ]
        total[(*EVERYTHING, *seen)] += columns[(*EVERYTHING, *taps)]
    kept = [slice(a, a + size) for a, size in zip(padding, out.shape[2:], strict=True)]
    total = np.moveaxis(total[(*EVERYTHING, *kept)], -1, 0)
    out.reshape(total.shape)[...] = total
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(stride))
    return out


def _phase(
    phase: int, taps: int, stride: int, padding: int, dilation: int
) -> tuple[slice, slice | None, int, int]:
    """Return one dimension of a set of places: the places, their taps, `front` and dilation.

    Tap k of input y adds to place y * stride + k * dilation - padding.
    """
    start = (phase - padding) % stride
    places = slice(start, None, stride)
    common = math.gcd(dilation, stride)
    step, apart = stride // common, dilation // common
    first = next((tap for tap in range(min(step, taps)) if tap * dilation % stride == phase), None)
    if first is None:
        return places, None, 0, 1
    count = len(range(first, taps, step))
    last = first + (count - 1) * step
    nearest = (start + padding - first * dilation) // stride
    turned = slice(last, first - 1 if first else None, -step)
    return places, turned, (count - 1) * apart - nearest, apart


# --- the gradient of the weight --------------------------------------------------------------


def weight_gradient(
    array: ndarray,
    grad: ndarray,
    shape: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
) -> ndarray:
    """Return the gradient of a weight of `shape`, from `convolve`'s input and output gradient.

    There is one product for each tap along the first dimension, of the gradient with the input rows
    that the tap sees.  Rows are the inner dimension of the columns here, so that they are a view
    again.
    """
    groups, outputs, inputs, *rest = shape
    kernel = tuple(rest)
    result = np.empty(shape, grad.dtype)
    if _natively("weight_gradient", array, result, grad, stride, padding, dilation):
        return result
    if is_pointwise(kernel, padding):
        return _pointwise_gradient(array, grad, shape, stride)
    places = len(array) * math.prod(grad.shape[2:])
    if groups * inputs * math.prod(kernel) * places <= max(2 * BLOCK, math.prod(shape)):
        return _gradient_of_columns(array, grad, shape, stride, padding, dilation)
    if groups == 1 and inputs * math.prod(kernel) <= NARROW:
        return _gradient_of_rows(array, grad, shape, stride, padding, dilation)
    if len(kernel) == 1:
        array, grad, kernel = array[:, :, None], grad[:, :, None], (1, *kernel)
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    sizes = grad.shape[2:]
    width = math.prod(sizes[1:])
    places = width * sizes[0]
    images = GRADIENTS // (groups * outputs * places), PLACES // places, 1
    images = min(len(array), max(images))
    row = groups * inputs * math.prod(kernel[1:]) * images * width * stride[0]
    rows = max(1, BLOCK // row, 2 * kernel[0] // stride[0])
    total = _zeros(kernel[0], groups, outputs, inputs * math.prod(kernel[1:]), grad.dtype)
    scratch = Scratch(grad.dtype)
    for image in range(0, len(array), images):
        part, of_part = array[image : image + images], grad[image : image + images]
        for start in range(0, sizes[0], rows):
            front = (padding[0] - start * stride[0], *padding[1:])
            block = of_part[:, :, start : start + rows]
            _add_products(part, block, total, kernel, stride, front, dilation, scratch)
    total = total.reshape(kernel[0], groups, outputs, inputs, *kernel[1:])
    return np.ascontiguousarray(np.moveaxis(total, 0, 3)).reshape(shape)


def _gradient_of_columns(
    array: ndarray, grad: ndarray, shape: Shape, stride: Shape, padding: Shape, dilation: Shape
) -> ndarray:
    """Return the gradient of a weight if the columns of all windows fit: one product, no sums.

    For 512 channels at 2x2 and 8 images this takes 2.1 ms, adding up a product for each row of taps
    14 ms, and PyTorch 5.5 ms.
    """
    groups, outputs, inputs, *kernel = shape
    images, sizes = len(array), grad.shape[2:]
    lengths = _reach(sizes, kernel, stride, dilation)
    array = _padded(array, padding, lengths, Scratch(array.dtype))
    of_image, of_channel, *inner = array.strides
    steps = (
        *(of_channel * inputs, of_channel),
        *[step * apart for step, apart in zip(inner, dilation, strict=True)],
        of_image,
        *[step * apart for step, apart in zip(inner, stride, strict=True)],
    )
    columns = strided(array, (groups, inputs, *kernel, images, *sizes), steps)
    columns = columns.reshape(groups, inputs * math.prod(kernel), -1)
    grad = grad.reshape(images, groups, outputs, math.prod(sizes)).transpose(1, 2, 0, 3)
    grad = grad.reshape(groups, outputs, -1)
    return np.matmul(grad, columns.swapaxes(1, 2)).reshape(shape)


def _gradient_of_rows(
    array: ndarray, grad: ndarray, shape: Shape, stride: Shape, padding: Shape, dilation: Shape
) -> ndarray:
    """Return the gradient of a weight with few taps and inputs: one tap alone is too thin."""
    height, *inner = grad.shape[2:]
    rows = max(1, BLOCK // (math.prod(shape[2:]) * math.prod(inner)))
    total = np.zeros(shape, grad.dtype)
    for image in range(len(array)):
        part, of_part = array[image : image + 1], grad[image : image + 1]
        for start in range(0, height, rows):
            front = (padding[0] - start * stride[0], *padding[1:])
            block = of_part[:, :, start : start + rows]
            total += _gradient_of_columns(part, block, shape, stride, front, dilation)
    return total


def _add_products(
    array: ndarray,
    grad: ndarray,
    total: ndarray,
    kernel: Shape,
    stride: Shape,
    front: Shape,
    dilation: Shape,
    scratch: Scratch,
) -> None:
    images, sizes = len(array), grad.shape[2:]
    _, groups, outputs, length = total.shape
    lengths = _reach(sizes, kernel, stride, dilation)
    # Rows are sorted by their distance to a multiple of the stride, the phase: then the rows that a
    # tap sees are neighbours.
    phases = min(stride[0], lengths[0])
    count = (kernel[0] - 1) * dilation[0] // stride[0] + sizes[0]
    lengths[0] = max(lengths[0], (count - 1) * stride[0] + phases)
    array = _padded(array, front, lengths, scratch)
    inputs = array.shape[1] // groups
    of_image, of_channel, of_row, *inner = array.strides
    shape = (groups, inputs, *kernel[1:], phases, count, images, *sizes[1:])
    steps = (
        *(of_channel * inputs, of_channel),
        *[step * apart for step, apart in zip(inner, dilation[1:], strict=True)],
        *(of_row, of_row * stride[0], of_image),
        *[step * apart for step, apart in zip(inner, stride[1:], strict=True)],
    )
    columns = scratch.get("columns", shape)
    np.copyto(columns, strided(array, shape, steps))
    grad = grad.reshape(images, groups, outputs, *sizes)
    grad = grad.transpose(1, 2, 3, 0, *range(4, grad.ndim))
    if not grad.flags.c_contiguous:
        copied = scratch.get("grad", grad.shape)
        np.copyto(copied, grad)
        grad = copied
    places, item = images * math.prod(sizes[1:]), columns.itemsize
    grad = grad.reshape(groups, outputs, sizes[0] * places)
    for tap in range(kernel[0]):
        row, phase = divmod(tap * dilation[0], stride[0])
        seen = strided(
            columns,
            (groups, length, sizes[0] * places),
            (columns.strides[0], phases * count * places * item, item),
            (phase * count + row) * places * item,
        )
        _add_product(total[tap], grad, seen, scratch)


def _zeros(taps: int, groups: int, outputs: int, length: int, dtype: np.dtype) -> ndarray:
    """Return zeros for products of (outputs, places) and (length, places), the longer one first.

    BLAS takes up to a third less time in that order.
    """
    if length > outputs:
        return np.zeros((taps, groups, length, outputs), dtype).swapaxes(2, 3)
    return np.zeros((taps, groups, outputs, length), dtype)


def _add_product(total: ndarray, grad: ndarray, seen: ndarray, scratch: Scratch) -> None:
    """Add the product of (groups, outputs, places) with (groups, length, places)."""
    if total.shape[2] > total.shape[1]:
        total, grad, seen = total.swapaxes(1, 2), seen, grad
    places = grad.shape[2]
    products = scratch.get("products", total.shape)
    step = MOST_PLACES if total[0].size > FEW_PRODUCTS else places
    for start in range(0, places, step):
        part = (..., slice(start, start + step))
        np.matmul(grad[part], seen[part].swapaxes(1, 2), out=products)
        total += products


def _pointwise_gradient(array: ndarray, grad: ndarray, shape: Shape, stride: Shape) -> ndarray:
    groups, outputs, inputs = shape[:3]
    array = _seen(array, stride, grad.shape[2:])
    places = math.prod(grad.shape[2:])
    grad = grad.reshape(len(grad), groups, outputs, places)
    array = array.reshape(len(array), groups, inputs, places)
    total = _zeros(1, groups, outputs, inputs, grad.dtype)
    scratch = Scratch(grad.dtype)
    for image in range(len(array)):
        _add_product(total[0], grad[image], array[image], scratch)
    return np.ascontiguousarray(total[0]).reshape(shape)


def sum_of_channels(grad: ndarray) -> ndarray:
    """Return the sum of all that belongs to a channel: the gradient of a bias."""
    images, channels = grad.shape[:2]
    places = math.prod(grad.shape[2:])
    sums = grad.reshape(images * channels, places).dot(np.ones(places, grad.dtype))
    return sums.reshape(images, channels).sum(0, dtype=grad.dtype)
