"""The functions of `transforms.v2.functional` that change values differently from the first ones.

Grey values are not rounded inside a function, and floating point is accepted everywhere.
"""

from __future__ import annotations

from typing import Any

from taper import dtypes
from taper.ops.elementwise.blend import where
from taper.ops.random.draws import randn_like
from taper.tensor import Tensor
from taper.vision.pillow import pillow
from taper.vision.transforms import functional as first
from taper.vision.transforms import pictures, tensors
from taper.vision.transforms.functional import convert_image_dtype, pil_to_tensor, to_pil_image


def _grey(image: Tensor) -> Tensor:
    """Return grey values that are not rounded."""
    red, green, blue = image.unbind(-3)
    grey = red.mul(0.2989).add(green, alpha=0.587).add(blue, alpha=0.114)
    return grey.unsqueeze(-3)


def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """Turn the picture grey, with one channel or three.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.rgb_to_grayscale(taper.ones(3, 1, 1), 3).shape
    torch.Size([3, 1, 1])
    """
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    if not isinstance(inpt, Tensor):
        return pictures.to_grayscale(inpt, num_output_channels)
    grey = inpt if inpt.shape[-3] == 1 else _grey(inpt).to(inpt.dtype)
    if num_output_channels == 1:
        return grey.clone() if grey is inpt else grey
    return grey.expand(*inpt.shape[:-3], 3, *inpt.shape[-2:])


def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """Multiply the strength of colours by a factor.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.adjust_saturation(taper.ones(3, 1, 1), 1.0).flatten()
    tensor([1., 1., 1.])
    """
    if not isinstance(inpt, Tensor) or inpt.is_floating_point() or inpt.shape[-3] != 3:
        return first.adjust_saturation(inpt, saturation_factor)
    if saturation_factor < 0:
        raise ValueError(f"saturation_factor ({saturation_factor}) is not non-negative.")
    grey = _grey(inpt).floor()
    return _blended(inpt, grey, saturation_factor)


def _blended(image: Tensor, other: Tensor, ratio: float) -> Tensor:
    mixed = image.mul(ratio).add(other, alpha=1.0 - ratio)
    return mixed.clamp(0, tensors.largest_value(image.dtype)).to(image.dtype)


def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """Multiply the sharpness by a factor: 0 is blurred, 1 the picture.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.adjust_sharpness(taper.ones(1, 3, 3), 2.0).sum()
    tensor(9.)
    """
    if not isinstance(inpt, Tensor):
        return pictures.adjust_sharpness(inpt, sharpness_factor)
    smooth = tensors.smoothed(inpt, sharpness_factor)
    if smooth is None:
        return inpt
    image = inpt.to(smooth.dtype)
    mixed = image.add(smooth.sub(image), alpha=1.0 - sharpness_factor)
    return mixed.clamp(0, tensors.largest_value(inpt.dtype)).to(inpt.dtype)


def invert(inpt: Any) -> Any:
    """Return the negative.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.invert(taper.tensor([[[0.0, 0.75]]]))
    tensor([[[1.0000, 0.2500]]])
    """
    if not isinstance(inpt, Tensor):
        return pictures.invert(inpt)
    return tensors.largest_value(inpt.dtype) - inpt


def posterize(inpt: Any, bits: int) -> Any:
    """Keep only the first bits of each value; numbers from 0 to 1 keep as many levels.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.posterize(taper.tensor([[[0.3, 0.8]]]), 1)
    tensor([[[0.0000, 0.5000]]])
    """
    if not isinstance(inpt, Tensor):
        return pictures.posterize(inpt, bits)
    if inpt.is_floating_point():
        levels = 1 << bits
        return inpt.mul(levels).floor().clamp(0, levels - 1).mul(1.0 / levels)
    return inpt & -(1 << (8 - bits))


def solarize(inpt: Any, threshold: float) -> Any:
    """Invert all values from a threshold on.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.solarize(taper.tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    if not isinstance(inpt, Tensor):
        return pictures.solarize(inpt, threshold)
    if threshold > tensors.largest_value(inpt.dtype):
        raise TypeError(
            f"Threshold should be less or equal the maximum value of the dtype, but got {threshold}"
        )
    return where(inpt >= threshold, invert(inpt), inpt)


def autocontrast(inpt: Any) -> Any:
    """Stretch each channel to the whole range.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.autocontrast(taper.tensor([[[0.25, 0.5, 0.75]]]))
    tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    if not isinstance(inpt, Tensor) or inpt.is_floating_point():
        return first.autocontrast(inpt)
    bound = tensors.largest_value(inpt.dtype)
    lowest = inpt.amin(dim=(-2, -1), keepdim=True).to(dtypes.float32)
    highest = inpt.amax(dim=(-2, -1), keepdim=True).to(dtypes.float32)
    is_flat = highest == lowest
    inverse = highest.sub(lowest).mul(1.0 / bound)
    lowest = where(is_flat, 0.0, lowest)
    spread = where(is_flat, 1.0, inverse)
    return inpt.sub(lowest).div(spread).clamp(0, bound).to(inpt.dtype)


def equalize(inpt: Any) -> Any:
    """Give each channel a flat histogram.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.equalize(taper.zeros(1, 1, 2))
    tensor([[[0., 0.]]])
    """
    if not isinstance(inpt, Tensor) or inpt.dtype is dtypes.uint8:
        return first.equalize(inpt)
    as_bytes = convert_image_dtype(inpt, dtypes.uint8)
    return convert_image_dtype(first.equalize(as_bytes), inpt.dtype)


def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Any:
    """Overwrite a rectangle with `v`; a Pillow image is never changed itself.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.erase(taper.zeros(1, 2, 3), 0, 1, 2, 1, taper.tensor(5.0)).sum()
    tensor(10.)
    """
    if isinstance(inpt, Tensor):
        return first.erase(inpt, i, j, h, w, v, inplace)
    erased = first.erase(pil_to_tensor(inpt), i, j, h, w, v, inplace=True)
    return to_pil_image(erased, mode=inpt.mode)


def gaussian_noise(
    inpt: Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True
) -> Tensor:
    """Return the tensor plus normal noise, kept between black and white if `clip`.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.gaussian_noise(taper.ones(1, 2, 2), sigma=0.0).sum()
    tensor(4.)
    """
    if not isinstance(inpt, Tensor):
        raise ValueError("Gaussian Noise is not implemented for PIL images.")
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if inpt.is_floating_point():
        noisy = inpt + (mean + randn_like(inpt) * sigma)
        return noisy.clamp(0, 1) if clip else noisy
    if inpt.dtype is not dtypes.uint8:
        raise ValueError(
            f"Input tensor is expected to be in uint8 or float dtype, got dtype={inpt.dtype}"
        )
    noise = mean * 255 + randn_like(inpt, dtype=dtypes.float32) * sigma * 255
    noisy = inpt.to(dtypes.int16) + noise.to(dtypes.int16)
    return (noisy.clamp(0, 255) if clip else noisy).to(dtypes.uint8)


def jpeg(inpt: Any, quality: int) -> Any:
    """Write the picture as JPEG and read it again.

    >>> import taper
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.jpeg(taper.zeros(3, 8, 8, dtype=taper.uint8), 50).shape
    torch.Size([3, 8, 8])
    """
    picture = to_pil_image(inpt) if isinstance(inpt, Tensor) else inpt
    pictures.check(picture)
    written = pictures.as_jpeg(picture, quality)
    read = pillow().open(written).convert(picture.mode)
    return pil_to_tensor(read) if isinstance(inpt, Tensor) else read
