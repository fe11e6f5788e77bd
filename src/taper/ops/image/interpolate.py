"""`interpolate`, and its old names `upsample`, `upsample_nearest`, `upsample_bilinear`.

Owns: which operator a mode means, and what is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.factory import refuse_size
from taper.opdef import composite
from taper.opdef.operands import invalid_combination
from taper.ops.image import nearest as copied
from taper.ops.image import smooth
from taper.ops.pool.adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from taper.tensor import Tensor
from taper.userwarning import warn_user

_ALIGNING = ("linear", "bilinear", "bicubic", "trilinear", "lanczos")
_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_OPERATORS: dict[tuple[str, int], Any] = {
    ("nearest", 3): copied.upsample_nearest1d,
    ("nearest", 4): copied.upsample_nearest2d,
    ("nearest", 5): copied.upsample_nearest3d,
    ("nearest-exact", 3): copied.upsample_nearest_exact1d,
    ("nearest-exact", 4): copied.upsample_nearest_exact2d,
    ("nearest-exact", 5): copied.upsample_nearest_exact3d,
    ("area", 3): adaptive_avg_pool1d,
    ("area", 4): adaptive_avg_pool2d,
    ("area", 5): adaptive_avg_pool3d,
    ("linear", 3): smooth.upsample_linear1d,
    ("bilinear", 4): smooth.upsample_bilinear2d,
    ("trilinear", 5): smooth.upsample_trilinear3d,
    ("bicubic", 4): smooth.upsample_bicubic2d,
}
_SMOOTHED: dict[str, Any] = {
    "bilinear": smooth.upsample_bilinear2d_aa,
    "bicubic": smooth.upsample_bicubic2d_aa,
    "lanczos": smooth.upsample_lanczos2d_aa,
}


def _lengths(input: Tensor, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """Return the wanted lengths and the factors; one of them is None."""
    spatial = list(input._array.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * len(spatial), None
        if len(size) != len(spatial):
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {spatial} and output size of {size}. Please provide "
                "input tensor in (N, C, d1, d2, ...,dK) format and output size in "
                "(o1, o2, ...,oK) format."
            )
        if not all(_is_whole(each) for each in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                f"Tuple[int, int, int], but got size with types {[type(each) for each in size]}"
            )
        return list(size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * len(spatial)
    if len(scale_factor) != len(spatial):
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {spatial} and scale_factor of shape {scale_factor}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in "
            "(s1, s2, ...,sK) format."
        )
    return None, list(scale_factor)


def _is_whole(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer))


def _times(length: int, factor: float) -> int:
    product = float(length * factor)
    if not math.isfinite(product):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return math.floor(product)


def _check_mode(input: Tensor, mode: str, antialias: bool) -> None:
    ndim = input.dim()
    if (mode, ndim) in _OPERATORS or (mode == "lanczos" and ndim == 4):
        if mode == "lanczos" and not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        return
    if mode in _NEEDS and ndim in (3, 4, 5):
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_NEEDS[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got "
        f"{mode})"
    )


@composite(method=False, public=False)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Make a signal, picture or volume larger or smaller.

    Args:
        input: a tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: lengths of the result behind N and C, a number or a tuple.
        scale_factor: factors of the lengths, instead of `size`; the result is rounded down.
        mode: "nearest", "nearest-exact", "area"; "linear" for one dimension, "bilinear", "bicubic"
            and "lanczos" (only with `antialias`) for two, "trilinear" for three.
        align_corners: whether the corner elements keep their places; only for linear and cubic
            modes.
        recompute_scale_factor: compute the factor again from the rounded lengths.
        antialias: smooth before making smaller; "bilinear", "bicubic" and "lanczos" only.

    Shape: (N, C, *size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.interpolate(taper.tensor([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
        tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    if align_corners is not None and mode not in _ALIGNING:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    ndim = input.dim()
    sizes, factors = _lengths(input, size, scale_factor)
    if recompute_scale_factor is not None and recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        lengths = input._array.shape[2:]
        sizes = [_times(*each) for each in zip(lengths, factors, strict=True)]
        factors = None
    if antialias and not (mode in _SMOOTHED and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    _check_mode(input, mode, antialias)
    return _run(input, mode, sizes, factors, bool(align_corners), antialias)


def _run(
    input: Tensor, mode: str, sizes: Any, factors: Any, align_corners: bool, antialias: bool
) -> Tensor:
    ndim = input.dim()
    found: Tensor
    if mode == "area":
        found = _OPERATORS[mode, ndim](input, tuple(sizes))
        return found
    operator = _SMOOTHED[mode] if antialias else _OPERATORS[mode, ndim]
    sizes, scales = _checked(operator.op.label, input, sizes, factors)
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    refuse_size((*input._array.shape[:2], *sizes), input._array.dtype)
    settings = (align_corners,) if mode in _ALIGNING else ()
    found = operator(input, tuple(sizes), *settings, *scales)
    return found


def _checked(label: str, input: Tensor, sizes: Any, factors: Any) -> tuple[Any, Any]:
    """Return lengths and factors as numbers; the operators take one of them."""
    if factors is not None:
        if not all(isinstance(each, (int, float)) for each in factors):
            raise invalid_combination(label, (input, None, factors), ())
        scales = [float(each) for each in factors]
        return [_times(*each) for each in zip(input._array.shape[2:], scales, strict=True)], scales
    if not all(_is_whole(each) and each is not True for each in sizes):
        raise invalid_combination(label, (input, sizes, None), ())
    return [int(each) for each in sizes], [None] * len(sizes)


# --- old names -------------------------------------------------------------------------------


def _warn(name: str) -> None:
    warn_user(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
    )


@composite(method=False, public=False)
def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize as `interpolate`; an old name that warns.

    Args:
        input: a tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: lengths of the result behind N and C.
        scale_factor: factors of the lengths, instead of `size`.
        mode: as for `interpolate`.
        align_corners: as for `interpolate`.

    Shape: (N, C, *size).

    Example:
        >>> import taper, warnings
        >>> from taper.nn import functional as F
        >>> warnings.simplefilter("ignore")
        >>> F.upsample(taper.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    _warn("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(method=False, public=False)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize as `interpolate` with the mode "nearest"; an old name that warns.

    Args:
        input: a tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: lengths of the result behind N and C.
        scale_factor: factors of the lengths, instead of `size`.

    Shape: (N, C, *size).

    Example:
        >>> import taper, warnings
        >>> from taper.nn import functional as F
        >>> warnings.simplefilter("ignore")
        >>> F.upsample_nearest(taper.tensor([[[[1.0, 2.0]]]]), size=(1, 4))
        tensor([[[[1., 1., 2., 2.]]]])
    """
    _warn("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite(method=False, public=False)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize as `interpolate` with the mode "bilinear" and aligned corners; an old name that warns.

    Args:
        input: a tensor (N, C, H, W).
        size: lengths (H', W') of the result.
        scale_factor: factors of the lengths, instead of `size`.

    Shape: (N, C, H', W').

    Example:
        >>> import taper, warnings
        >>> from taper.nn import functional as F
        >>> warnings.simplefilter("ignore")
        >>> F.upsample_bilinear(taper.tensor([[[[0.0, 3.0]]]]), size=(1, 4))
        tensor([[[[0., 1., 2., 3.]]]])
    """
    _warn("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
