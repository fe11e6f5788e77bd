"""The public functions that change values: on tensors, or on pictures."""

from __future__ import annotations

from typing import Any

from taper.tensor import Tensor
from taper.vision.pillow import is_picture
from taper.vision.transforms import pictures, tensors
from taper.vision.transforms.conversions import pil_to_tensor, to_pil_image


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """Subtract the mean and divide by the deviation, channel by channel.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.normalize(taper.tensor([[[0.0, 0.5, 1.0]]]), [0.5], [0.5])
    tensor([[[-1.,  0.,  1.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    return tensors.normalize(tensor, mean, std, inplace)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """Overwrite a rectangle with `v`.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.erase(taper.zeros(1, 2, 3), 0, 1, 2, 1, taper.tensor(5.0))
    tensor([[[0., 5., 0.],
             [0., 5., 0.]]])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    return tensors.erase(img, i, j, h, w, v, inplace)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Multiply the brightness by a factor: 0 is black, 1 the picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.adjust_brightness(taper.full((1, 1, 2), 0.25), 2)
    tensor([[[0.5000, 0.5000]]])
    """
    if not isinstance(img, Tensor):
        return pictures.adjust_brightness(img, brightness_factor)
    return tensors.adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Multiply the contrast by a factor: 0 is grey, 1 the picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.adjust_contrast(taper.tensor([[[0.0, 1.0]]]), 0.5)
    tensor([[[0.2500, 0.7500]]])
    """
    if not isinstance(img, Tensor):
        return pictures.adjust_contrast(img, contrast_factor)
    return tensors.adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Multiply the strength of colours by a factor: 0 is black and white, 1 the picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.adjust_saturation(taper.ones(3, 1, 1), 1.0).flatten()
    tensor([1., 1., 1.])
    """
    if not isinstance(img, Tensor):
        return pictures.adjust_saturation(img, saturation_factor)
    return tensors.adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turn hues by a part of the circle, from -0.5 to 0.5.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.adjust_hue(taper.tensor([[[1.0]], [[0.0]], [[0.0]]]), 0.5).flatten()
    tensor([0., 1., 1.])
    """
    if not isinstance(img, Tensor):
        return pictures.adjust_hue(img, hue_factor)
    return tensors.adjust_hue(img, hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """Return `gain * value ** gamma` of values from 0 to 1.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.adjust_gamma(taper.tensor([[[0.5, 1.0]]]), 2)
    tensor([[[0.2500, 1.0000]]])
    """
    if not isinstance(img, Tensor):
        return pictures.adjust_gamma(img, gamma, gain)
    return tensors.adjust_gamma(img, gamma, gain)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Multiply the sharpness by a factor: 0 is blurred, 1 the picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.adjust_sharpness(taper.ones(1, 3, 3), 2.0).sum()
    tensor(9.)
    """
    if not isinstance(img, Tensor):
        return pictures.adjust_sharpness(img, sharpness_factor)
    return tensors.adjust_sharpness(img, sharpness_factor)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Turn a picture grey, with one channel or three; for tensors see `rgb_to_grayscale`.

    >>> from PIL import Image
    >>> from taper.vision.transforms import functional
    >>> functional.to_grayscale(Image.new("RGB", (2, 2))).mode
    'L'
    """
    if is_picture(img):
        return pictures.to_grayscale(img, num_output_channels)
    raise TypeError("Input should be PIL Image")


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Turn the picture grey, with one channel or three.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.rgb_to_grayscale(taper.ones(3, 1, 1))
    tensor([[[0.9999]]])
    """
    if not isinstance(img, Tensor):
        return pictures.to_grayscale(img, num_output_channels)
    return tensors.rgb_to_grayscale(img, num_output_channels)


def invert(img: Any) -> Any:
    """Return the negative.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.invert(taper.tensor([[[0.0, 0.75]]]))
    tensor([[[1.0000, 0.2500]]])
    """
    return tensors.invert(img) if isinstance(img, Tensor) else pictures.invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Keep only the first bits of each value, of 8.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.posterize(taper.tensor([[[63, 64, 255]]], dtype=taper.uint8), 2)
    tensor([[[  0,  64, 192]]], dtype=torch.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return (
        tensors.posterize(img, bits) if isinstance(img, Tensor) else pictures.posterize(img, bits)
    )


def solarize(img: Any, threshold: float) -> Any:
    """Invert all values from a threshold on.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.solarize(taper.tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    if not isinstance(img, Tensor):
        return pictures.solarize(img, threshold)
    return tensors.solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Stretch each channel to the whole range.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.autocontrast(taper.tensor([[[0.25, 0.5, 0.75]]]))
    tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    return tensors.autocontrast(img) if isinstance(img, Tensor) else pictures.autocontrast(img)


def equalize(img: Any) -> Any:
    """Give each channel of bytes a flat histogram.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.equalize(taper.zeros(1, 1, 2, dtype=taper.uint8))
    tensor([[[0, 0]]], dtype=torch.uint8)
    """
    return tensors.equalize(img) if isinstance(img, Tensor) else pictures.equalize(img)


def _blur_sizes(kernel_size: Any) -> list[int]:
    if not isinstance(kernel_size, int | list | tuple):
        raise TypeError(
            f"kernel_size should be int or a sequence of integers. Got {type(kernel_size)}"
        )
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(sizes)}")
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(
            f"kernel_size should have odd and positive integers. Got {kernel_size}"
            if not isinstance(kernel_size, int)
            else f"kernel_size should have odd and positive integers. Got {sizes}"
        )
    return sizes


def _blur_widths(sigma: Any, sizes: list[int]) -> list[float]:
    if sigma is None:
        return [size * 0.15 + 0.35 for size in sizes]
    if not isinstance(sigma, int | float | list | tuple):
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigma)}")
    widths = [float(sigma)] * 2 if isinstance(sigma, int | float) else list(sigma)
    if len(widths) == 1:
        widths *= 2
    if len(widths) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(widths)}")
    if any(width <= 0.0 for width in widths):
        raise ValueError(f"sigma should have positive values. Got {widths}")
    return widths


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Blur the picture with a bell; size and deviation may be given for x and y.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.gaussian_blur(taper.eye(3)[None], 3, 0.5)[0, 1]
    tensor([0.2515, 0.6420, 0.2515])
    """
    sizes = _blur_sizes(kernel_size)
    widths = _blur_widths(sigma, sizes)
    if isinstance(img, Tensor):
        return tensors.gaussian_blur(img, sizes, widths)
    if not is_picture(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    blurred = tensors.gaussian_blur(pil_to_tensor(img), sizes, widths)
    return to_pil_image(blurred, mode=img.mode)
