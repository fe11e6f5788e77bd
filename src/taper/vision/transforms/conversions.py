"""From pictures and arrays to tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.ops.creation.data import from_numpy
from taper.tensor import Tensor
from taper.vision.pillow import from_array, is_picture
from taper.vision.transforms import tensors

_ELEMENTS = {"I": np.int32, "I;16": np.int16, "I;16B": np.int16, "F": np.float32}
_MODES = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}


def _channels_first(array: np.ndarray) -> np.ndarray:
    planes = array[:, :, None] if array.ndim == 2 else array
    return planes.transpose(2, 0, 1)


def _check_rank(pic: Any) -> None:
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")


def to_tensor(pic: Any) -> Tensor:
    """Return a picture, or an array (H, W) or (H, W, C), as a tensor (C, H, W).

    Bytes become numbers from 0 to 1; other values stay unchanged.

    >>> import numpy as np
    >>> from taper.vision.transforms import functional
    >>> functional.to_tensor(np.array([[0, 51], [102, 255]], np.uint8))
    tensor([[[0.0000, 0.2000],
             [0.4000, 1.0000]]])
    """
    if isinstance(pic, np.ndarray):
        _check_rank(pic)
        array = pic
    elif is_picture(pic):
        # Pillow's numbers of 16 bits are read as signed ones, as in torchvision.
        array = np.array(pic, _ELEMENTS.get(pic.mode, np.uint8))
        if pic.mode == "1":
            array = array * np.uint8(255)
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    planes = from_numpy(_channels_first(array)).contiguous()
    if planes.dtype is dtypes.uint8:
        return planes.to(dtypes.get_default_dtype()).div_(255)
    return planes


def pil_to_tensor(pic: Any) -> Tensor:
    """Return a picture as a tensor (C, H, W) of the same values.

    >>> from PIL import Image
    >>> from taper.vision.transforms import functional
    >>> functional.pil_to_tensor(Image.new("RGB", (2, 1), (1, 2, 3)))
    tensor([[[1, 1]],
    <BLANKLINE>
            [[2, 2]],
    <BLANKLINE>
            [[3, 3]]], dtype=torch.uint8)
    """
    if not is_picture(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return plain_tensor(np.array(pic))


def plain_tensor(array: np.ndarray) -> Tensor:
    """Return an array (H, W) or (H, W, C) as a tensor (C, H, W) on the same memory."""
    return from_numpy(array.reshape(*array.shape[:2], -1).transpose(2, 0, 1))


def convert_image_dtype(image: Tensor, dtype: dtypes.dtype = dtypes.float32) -> Tensor:
    """Return the picture in another dtype, with its values scaled to that range.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.convert_image_dtype(taper.tensor([[0, 51, 255]], dtype=taper.uint8))
    tensor([[0.0000, 0.2000, 1.0000]])
    """
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    return tensors.convert_image_dtype(image, dtype)


def _of_one_channel(array: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Return the plane and the mode that its elements mean."""
    plane = array[:, :, 0]
    modes = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}
    return plane, modes.get(plane.dtype.name)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Return a tensor (C, H, W) or (H, W), or an array (H, W, C) or (H, W), as a picture.

    >>> import taper
    >>> from taper.vision.transforms import functional
    >>> functional.to_pil_image(taper.zeros(3, 4, 5)).size
    (5, 4)
    """
    if not isinstance(pic, Tensor | np.ndarray):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    _check_rank(pic)
    if isinstance(pic, Tensor):
        array = _channels_last(pic)
    else:
        array = pic[:, :, None] if pic.ndim == 2 else pic
    if array.shape[-1] > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {array.shape[-1]} channels.")
    if np.issubdtype(array.dtype, np.floating) and mode != "F":
        array = (array * 255).astype(np.uint8)
    return _picture(array, mode)


def _channels_last(pic: Tensor) -> np.ndarray:
    array = pic.detach().numpy()
    return (array[None] if array.ndim == 2 else array).transpose(1, 2, 0)


def _picture(array: np.ndarray, mode: str | None) -> Any:
    channels = array.shape[2]
    if channels == 1:
        array, expected = _of_one_channel(array)
        if mode is not None and mode != expected:
            raise ValueError(
                f"Incorrect mode ({mode}) supplied for input type {np.dtype}. Should be {expected}"
            )
        mode = expected
    else:
        permitted = _MODES.get(channels, _MODES[3])
        if mode is not None and mode not in permitted:
            raise ValueError(f"Only modes {permitted} are supported for {channels}D inputs")
        if array.dtype == np.uint8:
            mode = mode or permitted[0]
    if mode is None:
        raise TypeError(f"Input type {array.dtype} is not supported")
    return from_array(array, mode)
