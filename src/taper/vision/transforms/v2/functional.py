"""`transforms.v2.functional`: the functions of the first interface, and where the second differs.

The second one resizes bytes as bytes, keeps grey values unrounded inside a function, fills borders
channel by channel, and takes interpolation modes by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.dtypes import dtype as Dtype
from taper.nn import functional as F
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import ones
from taper.ops.creation.ranges import linspace
from taper.ops.elementwise.blend import where
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.pillow import is_picture
from taper.vision.transforms import conversions, geometry, pictures, tensors, warps
from taper.vision.transforms import functional as first
from taper.vision.transforms.functional import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    center_crop,
    convert_image_dtype,
    crop,
    five_crop,
    gaussian_blur,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    hflip,
    normalize,
    pil_to_tensor,
    ten_crop,
    to_pil_image,
    vflip,
)
from taper.vision.transforms.modes import InterpolationMode, checked_mode, pillow_mode
from taper.vision.transforms.v2.kinds import of_every_kind, size_of
from taper.vision.transforms.v2.shapes import (
    clamp_bounding_boxes,
    clamp_keypoints,
    convert_bounding_box_format,
    resized_canvas,
    sanitize_bounding_boxes,
    sanitize_keypoints,
)
from taper.vision.transforms.v2.values import (
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    erase,
    gaussian_noise,
    invert,
    jpeg,
    posterize,
    rgb_to_grayscale,
    solarize,
)
from taper.vision.tv_tensors import Image, TVTensor, Video, wrap

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "clamp_bounding_boxes",
    "clamp_keypoints",
    "convert_bounding_box_format",
    "convert_image_dtype",
    "crop",
    "elastic",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "gaussian_noise",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "get_num_channels",
    "get_size",
    "grayscale_to_rgb",
    "hflip",
    "horizontal_flip",
    "invert",
    "is_pure_tensor",
    "jpeg",
    "normalize",
    "pad",
    "permute_channels",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "sanitize_bounding_boxes",
    "sanitize_keypoints",
    "solarize",
    "ten_crop",
    "to_dtype",
    "to_grayscale",
    "to_image",
    "to_pil_image",
    "to_tensor",
    "uniform_temporal_subsample",
    "vertical_flip",
    "vflip",
]

horizontal_flip = hflip
to_grayscale = rgb_to_grayscale
vertical_flip = vflip
get_num_channels = get_image_num_channels


def _mode(interpolation: Any) -> InterpolationMode:
    named = InterpolationMode(interpolation) if isinstance(interpolation, str) else interpolation
    return checked_mode(named)


def is_pure_tensor(inpt: Any) -> bool:
    """Return whether this is a tensor that does not know what it shows.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.is_pure_tensor(taper.zeros(2))
    True
    """
    return isinstance(inpt, Tensor) and not isinstance(inpt, TVTensor)


def get_size(inpt: Any) -> list[int]:
    """Return height and width.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.get_size(taper.zeros(3, 4, 5))
    [4, 5]
    """
    return size_of(inpt, lambda picture: get_dimensions(picture)[1:])


# --- conversions -----------------------------------------------------------------------------


def to_image(inpt: Any) -> Image:
    """Return a picture, array (H, W, C) or tensor as a tensor (..., C, H, W), unscaled.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.to_image(taper.zeros(4, 5)).shape
    torch.Size([1, 4, 5])
    """
    if isinstance(inpt, np.ndarray):
        return Image(conversions.plain_tensor(inpt).contiguous())
    if is_picture(inpt):
        return Image(pil_to_tensor(inpt))
    if isinstance(inpt, Tensor):
        return Image(inpt.as_subclass(Tensor))
    raise TypeError(
        "Input can either be a pure Tensor, a numpy array, or a PIL image, but got "
        f"{type(inpt)} instead."
    )


def to_tensor(inpt: Any) -> Tensor:
    """Return a picture or an array as numbers from 0 to 1; use `to_image` and `to_dtype`.

    >>> import warnings, numpy as np
    >>> from taper.vision.transforms.v2 import functional
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     functional.to_tensor(np.array([[51]], np.uint8))
    tensor([[[0.2000]]])
    """
    warn_user(
        "The function `to_tensor(...)` is deprecated and will be removed in a future release. "
        "Instead, please use `to_image(...)` followed by "
        "`to_dtype(..., dtype=torch.float32, scale=True)`."
    )
    return first.to_tensor(inpt)


def to_dtype(inpt: Tensor, dtype: Dtype = dtypes.float32, scale: bool = False) -> Tensor:
    """Return the tensor in another dtype, with its values scaled to that range if asked for.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.to_dtype(taper.tensor([51], dtype=taper.uint8), taper.float32, scale=True)
    tensor([0.2000])
    """
    if not isinstance(inpt, Tensor):
        raise TypeError(f"Functional F.to_dtype supports tensors, but got {type(inpt)} instead.")
    if isinstance(inpt, TVTensor) and not isinstance(inpt, Image | Video):
        return inpt.to(dtype)  # only pictures have values to scale
    plain = inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt
    found = convert_image_dtype(plain, dtype) if scale else plain.to(dtype)
    return wrap(found, like=inpt) if isinstance(inpt, TVTensor) else found


def grayscale_to_rgb(inpt: Any) -> Any:
    """Return a picture of one channel with three; one with three is returned unchanged.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.grayscale_to_rgb(taper.zeros(1, 2, 2)).shape
    torch.Size([3, 2, 2])
    """
    if not isinstance(inpt, Tensor):
        pictures.check(inpt)
        return inpt.convert("RGB")
    if inpt.shape[-3] >= 3:
        return inpt
    return rgb_to_grayscale(inpt, num_output_channels=3)


def permute_channels(inpt: Any, permutation: Sequence[int]) -> Any:
    """Return the channels in another order.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.permute_channels(taper.arange(3).reshape(3, 1, 1), [2, 0, 1]).flatten()
    tensor([2, 0, 1])
    """
    image = inpt if isinstance(inpt, Tensor) else to_image(inpt)
    channels = image.shape[-3]
    if len(permutation) != channels:
        raise ValueError(
            "Length of permutation does not match number of channels: "
            f"{len(permutation)} != {channels}"
        )
    moved = image[..., list(permutation), :, :]
    return moved if isinstance(inpt, Tensor) else to_pil_image(moved, mode=inpt.mode)


# --- geometry --------------------------------------------------------------------------------


def resize(
    inpt: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Resize to (height, width), a length of the shorter side, or to fit `max_size`.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.resize(taper.zeros(3, 4, 8), None, max_size=4).shape
    torch.Size([3, 2, 4])
    """
    mode = _mode(interpolation)
    _, height, width = get_dimensions(inpt)
    new_size = resized_canvas((height, width), size, max_size)
    if [height, width] == new_size:
        return inpt
    if not isinstance(inpt, Tensor):
        return first.resize(inpt, new_size, mode, antialias=antialias)
    is_smooth = mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    if inpt.dtype is not dtypes.uint8 or not is_smooth:
        return tensors.resize(inpt, new_size, mode.value, antialias)
    *lead, _, _, _ = (1, *inpt.shape) if inpt.ndim == 2 else inpt.shape
    batch = inpt.reshape(-1, *(inpt.shape[-3:] if inpt.ndim > 2 else (1, *inpt.shape)))
    resized = F.interpolate(
        batch,
        size=new_size,
        mode=mode.value,
        align_corners=False,
        antialias=bool(antialias),
    )
    return resized.reshape(*(lead if inpt.ndim > 2 else ()), *inpt.shape[-3:-2], *new_size)


def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Return a rectangle of the picture, resized.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.resized_crop(taper.eye(4)[None], 0, 0, 2, 2, (1, 1))
    tensor([[[0.5000]]])
    """
    return resize(crop(inpt, top, left, height, width), size, interpolation, antialias=antialias)


def pad(inpt: Any, padding: Any, fill: Any = None, padding_mode: str = "constant") -> Any:
    """Add a border; `fill` may have a number for each channel.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.pad(taper.zeros(2, 1, 1), [1, 0], fill=[1.0, 2.0])
    tensor([[[1., 0., 1.]],
    <BLANKLINE>
            [[2., 0., 2.]]])
    """
    if isinstance(padding, tuple | list) and len(padding) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple or list. Found {len(padding)}"
        )
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "`padding_mode` should be either `'constant'`, `'edge'`, `'reflect'` or "
            f"`'symmetric'`, but got `'{padding_mode}'`."
        )
    if not isinstance(inpt, Tensor) or not isinstance(fill, tuple | list):
        return first.pad(inpt, padding, 0 if fill is None else fill, padding_mode)
    if len(fill) == 1:
        return first.pad(inpt, padding, fill[0], padding_mode)
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
    inside = first.pad(ones(inpt.shape[-2:], dtype=dtypes.bool_), padding)
    colour = tensor(list(fill), dtype=inpt.dtype).view(-1, 1, 1)
    return where(inside, first.pad(inpt, padding), colour)


def rotate(
    inpt: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """Turn the picture counterclockwise, in degrees.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.rotate(taper.tensor([[[1, 2], [3, 4]]]), 90)
    tensor([[[2, 4],
             [1, 3]]])
    """
    return first.rotate(inpt, angle, _mode(interpolation), expand, center, fill)


def affine(
    inpt: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Any = None,
) -> Any:
    """Scale, shear and turn the picture clockwise (degrees), then move it.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.affine(taper.tensor([[[1, 2, 3]]]), 0, [1, 0], 1.0, [0.0, 0.0])
    tensor([[[0, 1, 2]]])
    """
    mode = _mode(interpolation)
    return first.affine(inpt, angle, list(translate), scale, shear, mode, fill, center)  # type: ignore[arg-type]


def perspective(
    inpt: Any,
    startpoints: Any,
    endpoints: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    """Return the picture seen so that four points move to four others, or by eight numbers.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
    >>> functional.perspective(taper.ones(1, 4, 4), corners, corners).shape
    torch.Size([1, 4, 4])
    """
    mode = _mode(interpolation)
    if coefficients is None:
        coefficients = geometry.perspective_coefficients(startpoints, endpoints)
    elif startpoints is not None and endpoints is not None:
        raise ValueError(
            "The startpoints/endpoints and the coefficients shouldn't be defined concurrently."
        )
    elif len(coefficients) != 8:
        raise ValueError("Argument coefficients should have 8 float values")
    if not isinstance(inpt, Tensor):
        return pictures.perspective(inpt, coefficients, pillow_mode(mode), fill)
    return warps.perspective(inpt, coefficients, mode.value, fill)


def elastic(
    inpt: Any,
    displacement: Tensor,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Fetch each pixel from a place beside its own.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.elastic(taper.ones(1, 2, 2), taper.zeros(1, 2, 2, 2)).sum()
    tensor(4.)
    """
    return first.elastic_transform(inpt, displacement, _mode(interpolation), fill)


elastic_transform = elastic


def uniform_temporal_subsample(inpt: Tensor, num_samples: int) -> Tensor:
    """Return evenly spaced pictures of a video (..., T, C, H, W).

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.uniform_temporal_subsample(taper.zeros(9, 3, 2, 2), 4).shape
    torch.Size([4, 3, 2, 2])
    """
    last = inpt.shape[-4] - 1
    return inpt.index_select(-4, linspace(0, last, num_samples).long())


def _all_kinds() -> None:
    """Let the functions of pictures know the other kinds of tensors."""
    own = globals()
    spared = {"InterpolationMode", "get_dimensions", "get_image_num_channels", "get_image_size"}
    spared |= {"get_num_channels", "get_size", "is_pure_tensor", "pil_to_tensor", "to_image"}
    spared |= {"to_dtype", "to_pil_image", "to_tensor", "resized_crop", "clamp_bounding_boxes"}
    spared |= {"clamp_keypoints", "convert_bounding_box_format", "sanitize_bounding_boxes"}
    spared |= {"sanitize_keypoints"}
    names = {"hflip": "horizontal_flip", "vflip": "vertical_flip", "elastic_transform": "elastic"}
    made: dict[Any, Any] = {}  # two names of a function stay one function
    for name in __all__:
        if name not in spared:
            plain = own[name]
            if plain not in made:
                made[plain] = of_every_kind(plain, names.get(name, name))
            own[name] = made[plain]


_all_kinds()
