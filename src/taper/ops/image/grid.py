"""Pictures sampled at the places of a grid: `grid_sample`, and `affine_grid`, which makes grids.

Owns: these operators, their gradients and the public functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.grid import sampled, sampled_backward
from taper.arrays.strides import Shape, integers
from taper.dtypes import no_kernel
from taper.factory import refuse
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.ops.creation.ranges import evenly_spaced
from taper.ops.image.grid_second import backward_tangent, second
from taper.ops.linalg.matmul import bmm
from taper.ops.pool.checks import FLOATS, require_dtype
from taper.ops.shape.ones import transpose, view_as_shape
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user

_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}

# --- the operators ---------------------------------------------------------------------------


def _check(array: ndarray, grid: ndarray, rank: int) -> None:
    if not grid.ndim or not array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if grid.shape[0] != array.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(array.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != array.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {array.ndim - 2} in last dimension, but "
            f"got grid with sizes {list(grid.shape)}"
        )
    for dim in range(2, array.ndim):
        if array.shape[dim] <= 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(array.shape)} with dimension {dim} being empty"
            )
    if array.ndim != rank + 2 or grid.ndim != rank + 2:
        raise RuntimeError(
            f"grid_sampler(): expected {rank + 2}D input and grid with same number of "
            f"dimensions, but got input with sizes {list(array.shape)} and grid with sizes "
            f"{list(grid.shape)}"
        )


def _check_dtype(array: ndarray, grid: ndarray, kernel: str) -> None:
    require_dtype(kernel, array, FLOATS)
    if array.dtype != grid.dtype:
        wanted, found = (dtypes.FROM_NUMPY[each.dtype].scalar_type for each in (array, grid))
        raise RuntimeError(f"expected scalar type {wanted} but found {found}")


def _same_dtypes(common: dtypes.dtype, operands: Any) -> None:
    """Refuse half precision beside another one, before all become float32."""
    first, second_one = operands
    if first.dtype != second_one.dtype and 2 in (first.itemsize, second_one.itemsize):
        _check_dtype(first, second_one, "grid_sampler_2d_cpu_kernel_impl")


@op(upcast=True, check=_same_dtypes, method=False)
def grid_sampler_2d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Sample pictures at the places of a grid with coordinates from -1 to 1; modes are numbers.

    >>> import taper
    >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
    >>> taper.grid_sampler_2d(picture, center, 0, 0, True)
    tensor([[[[4.]]]])
    """
    _check(input, grid, 2)
    _check_dtype(input, grid, "grid_sampler_2d_cpu_kernel_impl")
    return sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@op(upcast=True, check=_same_dtypes, method=False)
def grid_sampler_3d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Sample volumes at the places of a grid with coordinates from -1 to 1; modes are numbers.

    >>> import taper
    >>> volume, center = taper.arange(8.0).reshape(1, 1, 2, 2, 2), taper.zeros(1, 1, 1, 1, 3)
    >>> taper.grid_sampler_3d(volume, center, 0, 0, True)
    tensor([[[[[3.5000]]]]])
    """
    _check(input, grid, 3)
    if interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    _check_dtype(input, grid, "grid_sampler3d_cpu")
    return sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@op(outputs=("result0", "result1"), upcast=True, public=False, method=False)
def grid_sampler_2d_backward(
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: tuple[bool, bool],
) -> tuple[Array, Array]:
    """Compute the gradients of pictures and grid."""
    return sampled_backward(
        grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask
    )


@op(outputs=("result0", "result1"), upcast=True, public=False, method=False)
def grid_sampler_3d_backward(
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: tuple[bool, bool],
) -> tuple[Array, Array]:
    """Compute the gradients of volumes and grid."""
    return sampled_backward(
        grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask
    )


def _backward_of(grid: Any) -> Any:
    """Choose the operator for the gradients by the rank of the pictures that a grid is for."""
    return grid_sampler_2d_backward if grid.ndim == 4 else grid_sampler_3d_backward


@derivative(grid_sampler_3d, wrt=("input", "grid"))
@derivative(grid_sampler_2d, wrt=("input", "grid"))
def grid_sampler_all(grad, input, grid, interpolation_mode, padding_mode, align_corners, needs):
    found = _backward_of(grid)(
        grad, input, grid, interpolation_mode, padding_mode, align_corners, needs
    )
    return found[0] if needs[0] else None, found[1] if needs[1] else None


@tangent_of(grid_sampler_3d)
@tangent_of(grid_sampler_2d)
def grid_sampler_tangent(
    input, grid, interpolation_mode, padding_mode, align_corners, input_t, grid_t
):
    settings = (interpolation_mode, padding_mode, align_corners)
    return second(input_t, grid_t, None, input, grid, settings)[0]


@tangent_of(grid_sampler_3d_backward)
@tangent_of(grid_sampler_2d_backward)
def grid_sampler_backward_tangent(
    grad_output,
    input,
    grid,
    interpolation_mode,
    padding_mode,
    align_corners,
    output_mask,
    grad_output_t,
    input_t,
    grid_t,
):
    settings = (interpolation_mode, padding_mode, align_corners)
    given = (grad_output, input, grid, grad_output_t, input_t, grid_t)
    return backward_tangent(_backward_of(grid), given, settings, output_mask)


@derivative(grid_sampler_3d_backward, wrt=("grad_output", "input", "grid"))
@derivative(grid_sampler_2d_backward, wrt=("grad_output", "input", "grid"))
def grid_sampler_backward_all(
    grad_output,
    input,
    grid,
    interpolation_mode,
    padding_mode,
    align_corners,
    grad_result0=None,
    grad_result1=None,
):
    settings = (interpolation_mode, padding_mode, align_corners)
    return second(grad_result0, grad_result1, grad_output, input, grid, settings)


# --- grids of affine maps --------------------------------------------------------------------


def _base_grid(size: Shape, dtype: np.dtype, align_corners: bool) -> ndarray:
    """Make the coordinates of the identity, each followed by a 1: (places, rank + 1)."""
    lengths = size[2:]
    rank = len(lengths)
    result = np.ones((*lengths, rank + 1), dtype)
    which = dtypes.FROM_NUMPY[dtype]
    for dim, length in enumerate(lengths):
        # Exact to the last bit: at the identity that decides between which pixels a place lies.
        steps = evenly_spaced(-1, 1, length, which) if length > 1 else np.zeros(length, dtype)
        if not align_corners and length:
            steps = steps * dtype.type(length - 1) / dtype.type(length)
        result[..., rank - 1 - dim] = steps.reshape(-1, *(1,) * (rank - 1 - dim))
    return result.reshape(-1, rank + 1)


def _base(size: Shape, dtype: np.dtype, align_corners: bool) -> ndarray:
    base = _base_grid(size, dtype, align_corners)
    return np.broadcast_to(base, (size[0], *base.shape))


@op(tangent=LINEAR, upcast=True, method=False)
def affine_grid_generator(theta: Array, size: Shape, align_corners: bool) -> Array:
    """Compute where each affine map takes the places of a picture of `size`.

    >>> import taper
    >>> identity = taper.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> taper.affine_grid_generator(identity, (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    if not isinstance(size, (tuple, list)):
        refuse("affine_grid_generator", "size", 2, "tuple of ints", size)
    rank = len(size) - 2
    if rank not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if theta.dtype.kind == "b":
        raise no_kernel("linspace_cpu" if size[-1] > 1 else "tensor_cpu", theta.dtype)
    base = _base(size, theta.dtype, align_corners)
    if theta.ndim == 3 and (theta.shape[0], theta.shape[2]) != (size[0], rank + 1):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: "
            f"[{size[0]}, {rank + 1}] but got: [{theta.shape[0]}, {theta.shape[2]}]."
        )
    return view_as_shape(np.matmul(base, theta.swapaxes(1, 2)), (size[0], *size[2:], rank))


@derivative(affine_grid_generator, wrt="theta")
def affine_grid_generator_theta(grad, size, align_corners):
    rank = len(size) - 2
    plain = type(grad) is ndarray
    base = _base(size, grad.dtype if plain else grad._array.dtype, align_corners)
    turned = base.swapaxes(1, 2)
    flat = (size[0], base.shape[1], rank)
    if plain:
        return np.matmul(turned, grad.reshape(flat)).swapaxes(1, 2)
    return transpose(bmm(wrap(turned), view_as_shape(grad.contiguous(), flat)), 1, 2)


# --- the functions ---------------------------------------------------------------------------


@composite(method=False)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Sample pictures or volumes at a grid; modes are numbers, else as `grid_sample`.

    >>> import taper
    >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
    >>> taper.grid_sampler(picture, center, 0, 0, True)
    tensor([[[[4.]]]])
    """
    for position, (name, value) in enumerate((("input", input), ("grid", grid)), 1):
        if not isinstance(value, Tensor):
            refuse("grid_sampler", name, position, "Tensor", value)
    modes = (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode))
    for position, (name, number) in enumerate(modes, 3):
        if not isinstance(number, int):
            refuse("grid_sampler", name, position, "int", number)
    if not isinstance(align_corners, bool):
        refuse("grid_sampler", "align_corners", 5, "bool", align_corners)
    sampler = grid_sampler_2d if input.dim() == 4 else grid_sampler_3d
    found: Tensor = sampler(input, grid, interpolation_mode, padding_mode, align_corners)
    return found


def _default_alignment() -> bool:
    warn_user(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details."
    )
    return False


@composite(method=False, public=False)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample pictures or volumes at the places of a grid.

    Args:
        input: pictures (N, C, H, W) or volumes (N, C, D, H, W).
        grid: places (N, H', W', 2) as (x, y), or (N, D', H', W', 3), with coordinates from -1 to 1.
        mode: "bilinear", "nearest" or "bicubic" (pictures only).
        padding_mode: what lies outside: "zeros", the "border" or a "reflection".
        align_corners: whether -1 and 1 are the centres of the border pixels (True) or their outer
            edges (False); None warns and means False.

    Shape: (N, C, H', W') or (N, C, D', H', W').

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
        >>> F.grid_sample(picture, center, align_corners=False)
        tensor([[[[4.]]]])
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        align_corners = _default_alignment()
    return grid_sampler(input, grid, _MODES[mode], _PADDINGS[padding_mode], align_corners)


@composite(method=False, public=False)
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Make the sampling grid of affine maps, for `grid_sample`.

    result[n, i, j] = theta[n] @ (x, y, 1), with x and y from -1 to 1 over the picture

    Args:
        theta: maps (N, 2, 3) of pictures, or (N, 3, 4) of volumes.
        size: size (N, C, H, W) of the result of `grid_sample`, or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the border pixels (True) or their outer
            edges (False); None warns and means False.

    Shape: (N, H, W, 2) or (N, D, H, W, 3).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> identity = taper.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> F.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
        tensor([[[[-0.5000,  0.0000],
                  [ 0.5000,  0.0000]]]])
    """
    if align_corners is None:
        align_corners = _default_alignment()
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warn_user(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    lengths = integers("affine_grid_generator", "size", size, 2)
    return affine_grid_generator(theta, lengths, align_corners)
