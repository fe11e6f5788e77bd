"""The functions of `transforms.functional` on tensors of shape (..., C, H, W).

Owns values and checks; gradients follow from the operators.  `warps` has the functions that sample
a picture at the places of a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.nn import functional as F
from taper.ops.creation.data import as_tensor, from_numpy, tensor
from taper.ops.creation.filled import ones, zeros_like
from taper.ops.creation.ranges import linspace
from taper.ops.elementwise.blend import where
from taper.ops.index.gather import take_along_dim
from taper.ops.shape.split import stack
from taper.tensor import Tensor
from taper.vision.transforms.pictures import check_padding, sides

_LARGEST = {
    dtypes.uint8: 255,
    dtypes.int8: 127,
    dtypes.int16: 32767,
    dtypes.uint16: 65535,
    dtypes.int32: 2147483647,
    dtypes.int64: 9223372036854775807,
}
_ROUNDED = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
FLOATS = (dtypes.float32, dtypes.float64)


def largest_value(dtype: dtypes.dtype) -> int:
    """Return the value of white in a dtype."""
    return _LARGEST.get(dtype, 1)


def check(img: Any) -> None:
    """Raise unless it is a picture in a tensor."""
    if not (isinstance(img, Tensor) and img.ndim >= 2):
        raise TypeError("Tensor is not a torch image.")


def dimensions(img: Tensor) -> list[int]:
    """Return channels, height and width."""
    check(img)
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def _check_channels(img: Tensor, permitted: Sequence[int]) -> int:
    channels = dimensions(img)[0]
    if channels not in permitted:
        raise TypeError(
            f"Input image tensor permitted channel values are {permitted}, but found {channels}"
        )
    return channels


def _check_rank(img: Tensor) -> None:
    if img.ndim < 3:
        raise TypeError(
            f"Input image tensor should have at least 3 dimensions, but found {img.ndim}"
        )


def _check_bytes(img: Tensor) -> None:
    if img.dtype is not dtypes.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")


def _check_not_negative(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def float_dtype(img: Tensor) -> dtypes.dtype:
    """Return the dtype to compute in: the tensor's own if it is floating, else float32."""
    return img.dtype if img.is_floating_point() else dtypes.float32


def as_batch(img: Tensor, accepted: Sequence[dtypes.dtype]) -> Tensor:
    """Return the picture with a batch dimension, in an accepted dtype (else the first one)."""
    batch = img.unsqueeze(0) if img.ndim < 4 else img
    return batch if batch.dtype in accepted else batch.to(accepted[0])


def from_batch(batch: Tensor, img: Tensor) -> Tensor:
    """Return a result in the dtype and rank of the picture that `as_batch` got."""
    if img.ndim < 4:
        batch = batch.squeeze(0)
    if batch.dtype is img.dtype:
        return batch
    if img.dtype in _ROUNDED:
        batch = batch.round()
    return batch.to(img.dtype)


# --- values ----------------------------------------------------------------------------------


def convert_image_dtype(image: Tensor, dtype: dtypes.dtype) -> Tensor:
    """Return the picture in another dtype, with its values scaled to that range."""
    given = image.dtype
    if given is dtype:
        return image
    if given.is_floating_point:
        if dtype.is_floating_point:
            return image.to(dtype)
        if (given is dtypes.float32 and dtype in (dtypes.int32, dtypes.int64)) or (
            given is dtypes.float64 and dtype is dtypes.int64
        ):
            raise RuntimeError(f"The cast from {given} to {dtype} cannot be performed safely.")
        # Almost the next integer: all values of the target get an equal share of the range.
        return image.mul(float(largest_value(dtype)) + 1.0 - 1e-3).to(dtype)
    ours, theirs = largest_value(given), largest_value(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / ours
    if ours > theirs:
        return image.div((ours + 1) // (theirs + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((theirs + 1) // (ours + 1))


def normalize(img: Tensor, mean: Any, std: Any, inplace: bool) -> Tensor:
    """Subtract the mean and divide by the deviation, channel by channel."""
    check(img)
    if not img.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {img.dtype}.")
    if img.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = "
            f"{img.size()}"
        )
    mean, std = as_tensor(mean, dtype=img.dtype), as_tensor(std, dtype=img.dtype)
    if (std == 0).any():
        raise ValueError(
            f"std evaluated to zero after conversion to {img.dtype}, leading to division by zero."
        )
    mean = mean.view(-1, 1, 1) if mean.ndim == 1 else mean
    std = std.view(-1, 1, 1) if std.ndim == 1 else std
    return (img.sub_(mean) if inplace else img.sub(mean)).div_(std)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool) -> Tensor:
    """Overwrite a rectangle."""
    check(img)
    written = img if inplace else img.clone()
    written[..., i : i + h, j : j + w] = v
    return written


# --- colours ---------------------------------------------------------------------------------


def _blend(img: Tensor, other: Tensor, ratio: float) -> Tensor:
    ratio = float(ratio)
    mixed = ratio * img + (1.0 - ratio) * other
    return mixed.clamp(0, largest_value(img.dtype)).to(img.dtype)


def _grey(img: Tensor) -> Tensor:
    red, green, blue = img.unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def rgb_to_grayscale(img: Tensor, num_output_channels: int) -> Tensor:
    """Turn the picture grey, with one channel or three."""
    _check_rank(img)
    channels = _check_channels(img, [1, 3])
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if channels == 1:
        return img.clone()
    grey = _grey(img)
    return grey.expand(img.shape) if num_output_channels == 3 else grey


def adjust_brightness(img: Tensor, factor: float) -> Tensor:
    """Multiply the brightness by a factor."""
    _check_not_negative("brightness_factor", factor)
    check(img)
    _check_channels(img, [1, 3])
    return _blend(img, zeros_like(img), factor)


def adjust_contrast(img: Tensor, factor: float) -> Tensor:
    """Multiply the contrast by a factor."""
    _check_not_negative("contrast_factor", factor)
    check(img)
    channels = _check_channels(img, [3, 1])
    grey = rgb_to_grayscale(img, 1) if channels == 3 else img
    return _blend(img, grey.to(float_dtype(img)).mean(dim=(-3, -2, -1), keepdim=True), factor)


def adjust_saturation(img: Tensor, factor: float) -> Tensor:
    """Multiply the strength of colours by a factor."""
    _check_not_negative("saturation_factor", factor)
    check(img)
    if _check_channels(img, [1, 3]) == 1:
        return img
    return _blend(img, rgb_to_grayscale(img, 1), factor)


def adjust_hue(img: Tensor, hue_factor: float) -> Tensor:
    """Turn hues by a part of the circle."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    check(img)
    if _check_channels(img, [1, 3]) == 1:
        return img
    hue, saturation, value = _to_hsv(convert_image_dtype(img, dtypes.float32))
    return convert_image_dtype(_from_hsv((hue + hue_factor) % 1.0, saturation, value), img.dtype)


def _to_hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    red, green, blue = img.unbind(-3)
    largest, smallest = img.max(dim=-3).values, img.min(dim=-3).values
    is_grey, spread = largest == smallest, largest - smallest
    saturation = spread / where(is_grey, 1.0, largest)
    divisor = where(is_grey, 1.0, spread)
    from_red, from_green, from_blue = ((largest - each) / divisor for each in (red, green, blue))
    is_red = largest == red
    is_green = (largest == green) & ~is_red
    is_blue = (largest != green) & ~is_red
    sixths = (
        is_red * (from_blue - from_green)
        + is_green * (2.0 + from_red - from_blue)
        + is_blue * (4.0 + from_green - from_red)
    )
    return (sixths / 6.0 + 1.0).fmod(1.0), saturation, largest


def _from_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    sector = (hue * 6.0).floor()
    part = hue * 6.0 - sector
    low = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * part)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - part))).clamp(0.0, 1.0)
    which = (sector.to(dtypes.int64) % 6).unsqueeze(-3)
    ramps = (
        (value, falling, low, low, rising, value),
        (rising, value, value, falling, low, low),
        (low, low, rising, value, value, falling),
    )
    channels = [take_along_dim(stack(each, -3), which, -3).squeeze(-3) for each in ramps]
    return stack(channels, -1).movedim(-1, -3)  # torchvision's strides


def adjust_gamma(img: Tensor, gamma: float, gain: float) -> Tensor:
    """Return `gain * value ** gamma` of values from 0 to 1."""
    check(img)
    _check_channels(img, [1, 3])
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    scaled = img if img.is_floating_point() else convert_image_dtype(img, dtypes.float32)
    return convert_image_dtype((gain * scaled**gamma).clamp(0, 1), img.dtype)


def invert(img: Tensor) -> Tensor:
    """Return the negative."""
    check(img)
    _check_rank(img)
    _check_channels(img, [1, 3])
    return largest_value(img.dtype) - img


def posterize(img: Tensor, bits: int) -> Tensor:
    """Keep only the first bits of each value."""
    check(img)
    _check_rank(img)
    _check_bytes(img)
    _check_channels(img, [1, 3])
    return img & -int(2 ** (8 - bits))


def solarize(img: Tensor, threshold: float) -> Tensor:
    """Invert all values from a threshold on."""
    check(img)
    _check_rank(img)
    _check_channels(img, [1, 3])
    if threshold > largest_value(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return where(img >= threshold, invert(img), img)


def _per_channel(batch: Tensor, kernel: Tensor, channels: int) -> Tensor:
    return F.conv2d(batch, kernel.expand(channels, 1, *kernel.shape), groups=channels)


def adjust_sharpness(img: Tensor, factor: float) -> Tensor:
    """Multiply the sharpness by a factor."""
    smooth = smoothed(img, factor)
    return img if smooth is None else _blend(img, smooth.to(img.dtype), factor)


def smoothed(img: Tensor, factor: float) -> Tensor | None:
    """Return the picture blurred inside, in floating point; None if it is too small."""
    _check_not_negative("sharpness_factor", factor)
    check(img)
    _check_channels(img, [1, 3])
    if img.shape[-1] <= 2 or img.shape[-2] <= 2:
        return None
    kernel = ones((3, 3), dtype=float_dtype(img))
    kernel[1, 1] = 5.0
    kernel /= kernel.sum()
    smooth = img.to(kernel.dtype, copy=True)
    inner = _per_channel(as_batch(img, [kernel.dtype]), kernel, img.shape[-3])
    smooth[..., 1:-1, 1:-1] = from_batch(inner, img).to(kernel.dtype)
    return smooth


def autocontrast(img: Tensor) -> Tensor:
    """Stretch each channel to the whole range."""
    check(img)
    _check_rank(img)
    _check_channels(img, [1, 3])
    bound, dtype = largest_value(img.dtype), float_dtype(img)
    lowest = img.amin(dim=(-2, -1), keepdim=True).to(dtype)
    highest = img.amax(dim=(-2, -1), keepdim=True).to(dtype)
    scale = bound / (highest - lowest)
    is_flat = ~scale.isfinite()
    lowest, scale = where(is_flat, 0.0, lowest), where(is_flat, 1.0, scale)
    return ((img - lowest) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Tensor) -> Tensor:
    """Give each channel a flat histogram."""
    check(img)
    if not 3 <= img.ndim <= 4:
        raise TypeError(f"Input image tensor should have 3 or 4 dimensions, but found {img.ndim}")
    _check_bytes(img)
    _check_channels(img, [1, 3])
    array = img.numpy()
    planes = array.reshape(-1, *array.shape[-2:])
    flat = np.stack([_equalized(plane) for plane in planes]) if len(planes) else planes.copy()
    return from_numpy(flat.reshape(array.shape))


def _equalized(plane: np.ndarray) -> np.ndarray:
    counts = np.bincount(plane.reshape(-1), minlength=256)
    step = int(counts[counts != 0][:-1].sum()) // 255
    if step == 0:
        return plane
    table = np.zeros(256, np.uint8)
    table[1:] = np.minimum((np.cumsum(counts)[:-1] + step // 2) // step, 255)
    return table[plane]


# --- geometry --------------------------------------------------------------------------------


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """Return a rectangle, with zeros where it leaves the picture."""
    check(img)
    rows, columns = img.shape[-2:]
    right, bottom = left + width, top + height
    if left >= 0 and top >= 0 and right <= columns and bottom <= rows:
        return img[..., top:bottom, left:right]
    outside = [
        max(-left + min(0, right), 0),
        max(-top + min(0, bottom), 0),
        max(right - max(columns, left), 0),
        max(bottom - max(rows, top), 0),
    ]
    return pad(img[..., max(top, 0) : bottom, max(left, 0) : right], outside, 0, "constant")


def pad(img: Tensor, padding: Any, fill: Any, padding_mode: str) -> Tensor:
    """Add a border around the picture; a negative one cuts."""
    check(img)
    if not isinstance(padding, int | tuple | list):
        raise TypeError("Got inappropriate padding arg")
    check_padding(padding, fill, (int, float), padding_mode)
    left, top, right, bottom = sides(padding)
    widths = [left, right, top, bottom]
    if padding_mode == "symmetric":
        return _mirrored(img, widths)
    batch = img.unsqueeze(0) if img.ndim < 4 else img
    if padding_mode == "constant":
        padded = F.pad(batch, widths, value=0.0 if fill is None else float(fill))
        return padded.squeeze(0) if img.ndim < 4 else padded
    batch = batch if batch.dtype in FLOATS else batch.to(dtypes.float32)
    padded = F.pad(batch, widths, mode="replicate" if padding_mode == "edge" else padding_mode)
    padded = padded.squeeze(0) if img.ndim < 4 else padded
    return padded.to(img.dtype)


def _mirrored(img: Tensor, widths: Sequence[int]) -> Tensor:
    if img.ndim not in (3, 4):
        raise RuntimeError("Symmetric padding of N-D tensors are not supported yet")
    cut = [-min(each, 0) for each in widths]
    rows, columns = img.shape[-2:]
    img = img[..., cut[2] : rows - cut[3], cut[0] : columns - cut[1]]
    left, right, top, bottom = (max(each, 0) for each in widths)
    places = [
        tensor([*range(before - 1, -1, -1), *range(count), *range(-1, -after - 1, -1)])
        for count, before, after in ((img.shape[-2], top, bottom), (img.shape[-1], left, right))
    ]
    return img[..., places[0][:, None], places[1][None, :]]


def resize(img: Tensor, size: Sequence[int], interpolation: str, antialias: Any) -> Tensor:
    """Return the picture in `(height, width)`."""
    check(img)
    is_smooth = interpolation in ("bilinear", "bicubic")
    resized = F.interpolate(
        as_batch(img, FLOATS),
        size=list(size),
        mode=interpolation,
        align_corners=False if is_smooth else None,
        antialias=bool(antialias) and is_smooth,
    )
    if interpolation == "bicubic" and img.dtype is dtypes.uint8:
        resized = resized.clamp(0, 255)
    return from_batch(resized, img)


def gaussian_kernel(size: int, sigma: float, dtype: dtypes.dtype) -> Tensor:
    """Return `size` weights of a bell, which sum to one."""
    half = (size - 1) * 0.5
    places = linspace(-half, half, steps=size, dtype=dtype)
    bell = (-0.5 * (places / sigma).pow(2)).exp()
    return bell / bell.sum()


def gaussian_blur(img: Tensor, kernel_size: Sequence[int], sigma: Sequence[float]) -> Tensor:
    """Blur the picture with a bell of `kernel_size`, given as width and height."""
    check(img)
    dtype, channels = float_dtype(img), img.shape[-3]
    across, down = (
        gaussian_kernel(size, width, dtype) for size, width in zip(kernel_size, sigma, strict=True)
    )
    batch = as_batch(img, [dtype])
    edge_x, edge_y = kernel_size[0] // 2, kernel_size[1] // 2
    padded = F.pad(batch, [edge_x, edge_x, edge_y, edge_y], mode="reflect")
    # One direction after the other: k + k products for each pixel instead of k * k.
    blurred = _per_channel(padded, down[:, None], channels)
    return from_batch(_per_channel(blurred, across[None, :], channels), img)
