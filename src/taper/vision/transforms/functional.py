"""`transforms.functional`: transforms as functions, without randomness.

Everything is in `conversions`, `geometry` and `colours`; this file only collects it.
"""

from taper.vision.pillow import is_picture as _is_pil_image
from taper.vision.transforms.colours import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    erase,
    gaussian_blur,
    invert,
    normalize,
    posterize,
    rgb_to_grayscale,
    solarize,
    to_grayscale,
)
from taper.vision.transforms.conversions import (
    convert_image_dtype,
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from taper.vision.transforms.geometry import (
    affine,
    center_crop,
    crop,
    elastic_transform,
    five_crop,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    hflip,
    pad,
    perspective,
    resize,
    resized_crop,
    rotate,
    ten_crop,
    vflip,
)
from taper.vision.transforms.geometry import (
    perspective_coefficients as _get_perspective_coeffs,
)
from taper.vision.transforms.modes import InterpolationMode
from taper.vision.transforms.modes import from_number as _interpolation_modes_from_int
from taper.vision.transforms.warps import inverse_affine_matrix as _get_inverse_affine_matrix

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
    "convert_image_dtype",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
    "_get_inverse_affine_matrix",
    "_get_perspective_coeffs",
    "_interpolation_modes_from_int",
    "_is_pil_image",
]
