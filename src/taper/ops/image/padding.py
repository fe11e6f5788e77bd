"""Tensors with a border: `pad`, and the constant and circular ones; others in `border_padding`.

`pad` lists the widths in pairs, front and back, from the last dimension on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.layouts import laid_out_like
from taper.arrays.scalars import filler
from taper.arrays.strides import Shape, copied_natively, integers
from taper.factory import refuse
from taper.opdef import LINEAR, Array, derivative, op, tangent_of
from taper.ops.image import border_padding
from taper.ops.shape.parts import narrow
from taper.tensor import Tensor

# --- constant --------------------------------------------------------------------------------


def check_pairs(shape: Shape, pad: Shape) -> None:
    """Raise if the widths do not come in pairs, or are too many."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {len(shape)} dimensions."
        )


@op(tangent=LINEAR, method=False)
def constant_pad_nd(self: Array, pad: Shape, value: Any = 0) -> Array:
    """Add a border of one number; a negative width cuts off.

    >>> import taper
    >>> taper.constant_pad_nd(taper.tensor([1, 2]), (1, 1))
    tensor([0, 1, 2, 0])
    """
    check_pairs(self.shape, pad)
    ndim = self.ndim
    shape, source, target = list(self.shape), [slice(None)] * ndim, [slice(None)] * ndim
    for number in range(len(pad) // 2):
        dim = ndim - 1 - number
        front, back = pad[2 * number], pad[2 * number + 1]
        length = self.shape[dim]
        if length - max(-front, 0) - max(-back, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        shape[dim] = length + front + back
        if shape[dim] < 0:
            raise RuntimeError(
                f"The input size {length}, plus negative padding {front} and {back} resulted in a "
                f"negative output size, which is invalid. Check dimension {dim} of your input."
            )
        source[dim] = slice(max(-front, 0), length - max(-back, 0))
        target[dim] = slice(max(front, 0), shape[dim] - max(back, 0))
    number = filler(value, dtypes.FROM_NUMPY[self.dtype])
    if number:
        result = np.full(shape, number, self.dtype)
    else:
        is_wider = any([width > 0 for width in pad])
        result = (np.zeros if is_wider else np.empty)(shape, self.dtype)
    if not ndim or not copied_natively(result[tuple(target)], self[tuple(source)]):
        result[tuple(target)] = self[tuple(source)]
    return laid_out_like(result, self)


@tangent_of(constant_pad_nd)
def constant_pad_tangent(self_t: Any, pad: Shape) -> Any:
    return constant_pad_nd(self_t, pad, 0)


@derivative(constant_pad_nd, wrt="self")
def constant_pad_self(grad: Array, pad: Shape) -> Array:
    return constant_pad_nd(grad, tuple([-width for width in pad]), 0)


# --- circular --------------------------------------------------------------------------------


def pad_circular(input: Tensor, padding: Shape) -> Tensor:
    """Add a border that shows the opposite edge, written slice by slice into new memory."""
    shape = input._array.shape
    ndim = len(shape)
    result_shape = list(shape)
    for number in range(len(padding) // 2):
        dim = ndim - 1 - number
        front, back = padding[2 * number], padding[2 * number + 1]
        result_shape[dim] = shape[dim] + front + back
        if front > shape[dim] or back > shape[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if result_shape[dim] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    result = input.new_empty(result_shape)
    source, target = input, result
    for number in range(len(padding) // 2):
        dim = ndim - 1 - number
        front, back = padding[2 * number], padding[2 * number + 1]
        kept = shape[dim] + min(front, 0) + min(back, 0)
        source = narrow(source, dim, max(-front, 0), kept)
        target = narrow(target, dim, max(front, 0), kept)
    target.copy_(source)
    for number in range(len(padding) // 2):
        dim = ndim - 1 - number
        front, back = padding[2 * number], padding[2 * number + 1]
        end = result_shape[dim] - max(back, 0)
        if front > 0:
            edge = narrow(result, dim, end - front, front)
            narrow(result, dim, 0, front).copy_(edge)
        if back > 0:
            edge = narrow(result, dim, max(front, 0), back)
            narrow(result, dim, end, back).copy_(edge)
    return result


_BORDERS: dict[tuple[str, int], Any] = {
    ("reflect", 1): border_padding.reflection_pad1d,
    ("reflect", 2): border_padding.reflection_pad2d,
    ("reflect", 3): border_padding.reflection_pad3d,
    ("replicate", 1): border_padding.replication_pad1d,
    ("replicate", 2): border_padding.replication_pad2d,
    ("replicate", 3): border_padding.replication_pad3d,
}


# --- the function ----------------------------------------------------------------------------


def _check_types(input: Any, pad: Any, value: Any) -> None:
    if not isinstance(input, Tensor):
        refuse("pad", "input", 1, "Tensor", input)
    if not isinstance(pad, (list, tuple)):
        refuse("pad", "pad", 2, "tuple of ints", pad)
    if value is not None and not isinstance(value, (int, float, np.number)):
        refuse("pad", "value", 4, "float", value)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Add a border to a tensor.

    Args:
        input: a tensor.
        pad: widths in pairs (before, after), beginning with the last dimension; negative ones cut.
        mode: "constant", "reflect" (mirrored at the edge), "replicate" (the edge repeated) or
            "circular" (from the other side).
        value: number for the mode "constant"; 0 by default.

    Shape: each padded length grows by its two widths.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.pad(taper.tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="reflect")
        tensor([[2., 1., 2., 3., 2.]])
    """
    if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad:
        value = value._array.item()  # a number
    _check_types(input, pad, value)
    widths = integers("pad", "pad", pad, 2)
    ndim = input._array.ndim
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) // 2 > ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(widths)} and input of dimension {ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, widths, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    rank = len(widths) // 2
    if not 1 <= rank <= 3 or ndim not in (rank + 1, rank + 2):
        raise NotImplementedError(
            f"Padding size {len(widths)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode == "circular":
        return pad_circular(input, widths)
    function = _BORDERS.get((mode, rank))
    if function is None:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return function(input, widths)
