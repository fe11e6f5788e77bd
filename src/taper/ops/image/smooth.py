"""Arrays made larger or smaller by interpolation: linear, cubic, and smoothed where they shrink.

Owns: the operators of the modes of `interpolate` that have weights, one for each mode and rank.
The computation is in `nearest`, the weights are in `arrays.interpolation`.
"""

from __future__ import annotations

from taper.arrays.interpolation import cubic, linear, smoothed
from taper.arrays.strides import Shape
from taper.opdef import LINEAR, Array, derivative, op
from taper.opdef.dtype_checks import not_implemented
from taper.ops.image.nearest import (
    AS_GRADIENT,
    WITH_BYTES,
    MakeMap,
    Scale,
    transposed,
    upsampled,
)
from taper.ops.pool.checks import FLOATS


def _linear(align_corners: bool) -> MakeMap:
    return lambda length, count, scale, kind: linear(length, count, align_corners, scale, kind)


def _cubic(align_corners: bool) -> MakeMap:
    return lambda length, count, scale, kind: cubic(length, count, align_corners, scale, kind)


def _smooth(name: str, align_corners: bool) -> MakeMap:
    return lambda length, count, scale, kind: smoothed(
        name, length, count, align_corners, scale, kind
    )


# --- between neighbours ----------------------------------------------------------------------


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_linear1d(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales: Scale = None,
) -> Array:
    """Interpolate linearly in one dimension."""
    return upsampled(
        self,
        "compute_indices_weights_linear",
        FLOATS,
        _linear(align_corners),
        output_size,
        (scales,),
    )


@derivative(upsample_linear1d, wrt="self")
def upsample_linear1d_self(grad, self_shape, output_size, align_corners, scales):
    return upsample_linear1d_backward(grad, output_size, self_shape, align_corners, scales)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_linear1d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _linear(align_corners), input_size, (scales,))


@derivative(upsample_linear1d_backward, wrt="grad_output")
def upsample_linear1d_backward_grad(grad, output_size, align_corners, scales):
    return upsample_linear1d(grad, output_size, align_corners, scales)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_bilinear2d(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Interpolate linearly in two dimensions."""
    return upsampled(
        self,
        "upsample_bilinear2d_channels_last",
        WITH_BYTES,
        _linear(align_corners),
        output_size,
        (scales_h, scales_w),
    )


@derivative(upsample_bilinear2d, wrt="self")
def upsample_bilinear2d_self(grad, self_shape, output_size, align_corners, scales_h, scales_w):
    return upsample_bilinear2d_backward(
        grad, output_size, self_shape, align_corners, scales_h, scales_w
    )


@op(tangent=LINEAR, upcast=True, public=False, method=False, layout=AS_GRADIENT)
def upsample_bilinear2d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _linear(align_corners), input_size, (scales_h, scales_w))


@derivative(upsample_bilinear2d_backward, wrt="grad_output")
def upsample_bilinear2d_backward_grad(grad, output_size, align_corners, scales_h, scales_w):
    return upsample_bilinear2d(grad, output_size, align_corners, scales_h, scales_w)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_trilinear3d(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales_d: Scale = None,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Interpolate linearly in three dimensions."""
    return upsampled(
        self,
        "compute_indices_weights_linear",
        FLOATS,
        _linear(align_corners),
        output_size,
        (scales_d, scales_h, scales_w),
    )


@derivative(upsample_trilinear3d, wrt="self")
def upsample_trilinear3d_self(
    grad, self_shape, output_size, align_corners, scales_d, scales_h, scales_w
):
    return upsample_trilinear3d_backward(
        grad, output_size, self_shape, align_corners, scales_d, scales_h, scales_w
    )


@op(tangent=LINEAR, upcast=True, public=False, method=False, layout=AS_GRADIENT)
def upsample_trilinear3d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales_d: Scale,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(
        grad_output, _linear(align_corners), input_size, (scales_d, scales_h, scales_w)
    )


@derivative(upsample_trilinear3d_backward, wrt="grad_output")
def upsample_trilinear3d_backward_grad(
    grad, output_size, align_corners, scales_d, scales_h, scales_w
):
    return upsample_trilinear3d(grad, output_size, align_corners, scales_d, scales_h, scales_w)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_bicubic2d(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Interpolate cubically in two dimensions."""
    return upsampled(
        self,
        "compute_indices_weights_cubic",
        WITH_BYTES,
        _cubic(align_corners),
        output_size,
        (scales_h, scales_w),
    )


@derivative(upsample_bicubic2d, wrt="self")
def upsample_bicubic2d_self(grad, self_shape, output_size, align_corners, scales_h, scales_w):
    return upsample_bicubic2d_backward(
        grad, output_size, self_shape, align_corners, scales_h, scales_w
    )


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_bicubic2d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _cubic(align_corners), input_size, (scales_h, scales_w))


@derivative(upsample_bicubic2d_backward, wrt="grad_output")
def upsample_bicubic2d_backward_grad(grad, output_size, align_corners, scales_h, scales_w):
    return upsample_bicubic2d(grad, output_size, align_corners, scales_h, scales_w)


# --- smoothed before they shrink -------------------------------------------------------------

_WEIGHTS = "compute_index_ranges_weights"
_SINGLE = ("float32", "float64", "uint8")
_NO_HALF = not_implemented(_WEIGHTS, "float16", "bfloat16")


@op(
    name="_upsample_bilinear2d_aa",
    tangent=LINEAR,
    upcast=True,
    check=_NO_HALF,
    public=False,
    method=False,
)
def upsample_bilinear2d_aa(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Interpolate linearly in two dimensions, smoothed where the picture shrinks."""
    return upsampled(
        self,
        _WEIGHTS,
        _SINGLE,
        _smooth("bilinear", align_corners),
        output_size,
        (scales_h, scales_w),
    )


@derivative(upsample_bilinear2d_aa, wrt="self")
def upsample_bilinear2d_aa_self(grad, self_shape, output_size, align_corners, scales_h, scales_w):
    return upsample_bilinear2d_aa_backward(
        grad, output_size, self_shape, align_corners, scales_h, scales_w
    )


@op(
    name="_upsample_bilinear2d_aa_backward",
    tangent=LINEAR,
    upcast=True,
    public=False,
    method=False,
    layout=AS_GRADIENT,
)
def upsample_bilinear2d_aa_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(
        grad_output, _smooth("bilinear", align_corners), input_size, (scales_h, scales_w)
    )


@derivative(upsample_bilinear2d_aa_backward, wrt="grad_output")
def upsample_bilinear2d_aa_backward_grad(grad, output_size, align_corners, scales_h, scales_w):
    return upsample_bilinear2d_aa(grad, output_size, align_corners, scales_h, scales_w)


@op(
    name="_upsample_bicubic2d_aa",
    tangent=LINEAR,
    upcast=True,
    check=_NO_HALF,
    public=False,
    method=False,
)
def upsample_bicubic2d_aa(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Interpolate cubically in two dimensions, smoothed where the picture shrinks."""
    return upsampled(
        self,
        _WEIGHTS,
        _SINGLE,
        _smooth("bicubic", align_corners),
        output_size,
        (scales_h, scales_w),
    )


@derivative(upsample_bicubic2d_aa, wrt="self")
def upsample_bicubic2d_aa_self(grad, self_shape, output_size, align_corners, scales_h, scales_w):
    return upsample_bicubic2d_aa_backward(
        grad, output_size, self_shape, align_corners, scales_h, scales_w
    )


@op(name="_upsample_bicubic2d_aa_backward", tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_bicubic2d_aa_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(
        grad_output, _smooth("bicubic", align_corners), input_size, (scales_h, scales_w)
    )


@derivative(upsample_bicubic2d_aa_backward, wrt="grad_output")
def upsample_bicubic2d_aa_backward_grad(grad, output_size, align_corners, scales_h, scales_w):
    return upsample_bicubic2d_aa(grad, output_size, align_corners, scales_h, scales_w)


@op(
    name="_upsample_lanczos2d_aa",
    tangent=LINEAR,
    upcast=True,
    check=_NO_HALF,
    public=False,
    method=False,
)
def upsample_lanczos2d_aa(
    self: Array,
    output_size: Shape,
    align_corners: bool,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Interpolate by Lanczos in two dimensions, smoothed where the picture shrinks."""
    return upsampled(
        self,
        _WEIGHTS,
        _SINGLE,
        _smooth("lanczos", align_corners),
        output_size,
        (scales_h, scales_w),
    )


@derivative(upsample_lanczos2d_aa, wrt="self")
def upsample_lanczos2d_aa_self(grad, self_shape, output_size, align_corners, scales_h, scales_w):
    return upsample_lanczos2d_aa_backward(
        grad, output_size, self_shape, align_corners, scales_h, scales_w
    )


@op(name="_upsample_lanczos2d_aa_backward", tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_lanczos2d_aa_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    align_corners: bool,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(
        grad_output, _smooth("lanczos", align_corners), input_size, (scales_h, scales_w)
    )


@derivative(upsample_lanczos2d_aa_backward, wrt="grad_output")
def upsample_lanczos2d_aa_backward_grad(grad, output_size, align_corners, scales_h, scales_w):
    return upsample_lanczos2d_aa(grad, output_size, align_corners, scales_h, scales_w)
