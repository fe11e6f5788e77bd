"""Views with dimensions of length 1 added or dropped; and the door to all views of all elements.

Other families import `reshape`, `expand`, `transpose`, `permute`, `t`, `unsqueeze`, `squeeze`,
`select` and the like from here; their formulas use these on arrays and Tensors alike.
"""

from __future__ import annotations

from typing import Any

from taper.arrays.native import native
from taper.arrays.strides import Shape, strided, wrap_dim
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.ops.shape.parts import diagonal, narrow, select, slice_dim
from taper.ops.shape.reshape import (
    alias,
    broadcast_to,
    detach,
    expand,
    expand_as,
    expand_to,
    flatten,
    reshape,
    sizes,
    unflatten,
    unsafe_view,
    view,
    view_as_shape,
)
from taper.ops.shape.transpose import movedim, permute, permute_dims, t, transpose


@op(view=True, tangent=LINEAR)
def unsqueeze(self: Array, dim: int) -> Array:
    """Insert a dimension of length 1.

    Args:
        input: a tensor with d dimensions.
        dim: position of the new dimension in the result, from -(d + 1) to d.

    Shape: (*) gives (*, 1, *); the result is a view.

    Example:
        >>> import taper
        >>> taper.unsqueeze(taper.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
    """
    if native is not None:
        quick = native.unsqueezed(self, dim)  # 0.55 us less
        if quick is not None:
            return quick
    shape = self.shape
    ndim = len(shape)
    position = wrap_dim(dim, ndim + 1)
    wanted = (*shape[:position], 1, *shape[position:])
    if 1 not in shape and self.size and (position < ndim or self.flags.c_contiguous):
        return self.reshape(wanted)  # never a copy: a dimension of length 1 fits any strides
    # NumPy would give other dimensions of length 1 new strides, and a wrong stride to a new last
    # one.
    step = shape[position] * self.strides[position] if position < ndim else self.itemsize
    strides = self.strides
    return strided(self, wanted, (*strides[:position], step, *strides[position:]))


@derivative(unsqueeze, wrt="self")
def unsqueeze_self(grad: Array, dim: int) -> Array:
    return squeeze_dim(grad, dim)


@op(name="squeeze", view=True, tangent=LINEAR, public=False, method=False)
def squeeze_all(self: Array) -> Array:
    """Drop all dimensions of length 1."""
    return self.squeeze()


@derivative(squeeze_all, wrt="self")
def squeeze_all_self(grad: Array, self_shape: Shape) -> Array:
    return reshape(grad, self_shape)


@op(
    name="squeeze_dim",
    node="SqueezeBackward1",
    view=True,
    tangent=LINEAR,
    public=False,
    method=False,
)
def squeeze_dim(self: Array, dim: int) -> Array:
    """Drop the dimension `dim` if its length is 1."""
    ndim = self.ndim
    position = wrap_dim(dim, ndim)
    return self.squeeze(position) if ndim and self.shape[position] == 1 else self


@derivative(squeeze_dim, wrt="self")
def squeeze_dim_self(grad: Array, dim: int, self_shape: Shape) -> Array:
    return reshape(grad, self_shape)


@op(
    name="squeeze_dims",
    node="SqueezeBackward2",
    view=True,
    tangent=LINEAR,
    public=False,
    method=False,
)
def squeeze_dims(self: Array, dim: Shape) -> Array:
    """Drop those of the dimensions `dim` whose length is 1."""
    ndim = self.ndim
    positions = [wrap_dim(each, ndim) for each in dim]
    for number, each in enumerate(positions):
        if each in positions[:number]:
            raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return self.squeeze(tuple([each for each in positions if ndim and self.shape[each] == 1]))


@derivative(squeeze_dims, wrt="self")
def squeeze_dims_self(grad: Array, dim: Shape, self_shape: Shape) -> Array:
    return reshape(grad, self_shape)


@composite(
    quick="squeezed(input, local.state, getframe(1), F_squeeze) if dim is axis is None else None"
)
def squeeze(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Drop dimensions of length 1.

    Args:
        input: a tensor.
        dim: dimension or dimensions to drop if their length is 1; by default all that can be.
        axis: NumPy's name for `dim`.

    Shape: `input` without those dimensions; the result is a view.

    Example:
        >>> import taper
        >>> taper.squeeze(taper.zeros(1, 2, 1)).shape
        torch.Size([2])
    """
    if dim is None:
        if axis is not None:
            return squeeze(input, axis)
        return squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return squeeze_dims(input, sizes("squeeze", "dim", (dim,)))
    return squeeze_dim(input, dim)


__all__ = [
    "alias",
    "broadcast_to",
    "detach",
    "diagonal",
    "expand",
    "expand_as",
    "expand_to",
    "flatten",
    "movedim",
    "narrow",
    "permute",
    "permute_dims",
    "reshape",
    "select",
    "slice_dim",
    "squeeze",
    "squeeze_all",
    "squeeze_dim",
    "squeeze_dims",
    "t",
    "transpose",
    "unflatten",
    "unsafe_view",
    "unsqueeze",
    "view",
    "view_as_shape",
]
