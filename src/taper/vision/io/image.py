"""Reading and writing pictures as tensors (C, H, W) of uint8 (or uint16 for PNG of 16 bits).

Pillow decodes and encodes.  This module checks which formats a function accepts, so that untrusted
bytes reach only one decoder.
"""

from __future__ import annotations

import io
import os
from enum import Enum
from typing import Any

import numpy as np

from taper import dtypes
from taper.files.atomic import replacing
from taper.ops.creation.data import from_numpy
from taper.ops.shape.split import stack
from taper.tensor import Tensor
from taper.vision.pillow import pillow
from taper.vision.transforms.functional import to_pil_image

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


class ImageReadMode(Enum):
    """The channels into which a picture is decoded; UNCHANGED keeps those of the file.

    >>> from taper.vision.io import ImageReadMode
    >>> ImageReadMode.RGB.value
    3
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}
_ALIASES = {"GRAYSCALE": "GRAY", "GREYSCALE": "GRAY", "RGBA": "RGB_ALPHA"}


def _read_mode(mode: Any) -> ImageReadMode:
    if isinstance(mode, str):
        name = mode.upper()
        return ImageReadMode[_ALIASES.get(name, name)]
    return ImageReadMode(mode)


# --- files -----------------------------------------------------------------------------------


def read_file(path: Any) -> Tensor:
    """Return the bytes of a file.

    >>> import tempfile
    >>> from taper.vision.io import read_file
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     written = file.write(bytes([1, 2]))
    ...     file.flush()
    ...     read_file(file.name)
    tensor([1, 2], dtype=torch.uint8)
    """
    return from_numpy(np.fromfile(os.fspath(path), np.uint8))


def write_file(filename: Any, data: Tensor) -> None:
    """Write the bytes of a one-dimensional tensor of uint8.

    >>> import os, tempfile, taper
    >>> from taper.vision.io import write_file
    >>> path = os.path.join(tempfile.mkdtemp(), "bytes")
    >>> write_file(path, taper.tensor([1, 2], dtype=taper.uint8))
    >>> os.path.getsize(path)
    2
    """
    content = _checked_bytes(data)
    with replacing(os.fspath(filename)) as file:
        file.write(content)


def _checked_bytes(data: Any) -> bytes:
    if not isinstance(data, Tensor) or data.dtype is not dtypes.uint8 or data.ndim != 1:
        raise RuntimeError("Expected a non empty 1-dimensional tensor of torch.uint8")
    content: bytes = data.numpy().tobytes()
    return content


# --- from bytes ------------------------------------------------------------------------------


def _decoded(data: Tensor, mode: Any, formats: tuple[str, ...], is_turned: bool) -> Tensor:
    wanted = _read_mode(mode)
    content = _checked_bytes(data)
    image = pillow()
    try:
        with image.open(io.BytesIO(content), formats=formats) as picture:
            picture.load()
            if is_turned:
                picture = pillow("ImageOps").exif_transpose(picture)
            return _tensor_of(picture, wanted)
    except (image.UnidentifiedImageError, OSError, SyntaxError) as error:
        raise RuntimeError(
            f"Unsupported image file: {', '.join(formats)} are supported ({error})"
        ) from None


def _tensor_of(picture: Any, mode: ImageReadMode) -> Tensor:
    if mode is not ImageReadMode.UNCHANGED and picture.mode != _MODES[mode]:
        picture = picture.convert(_MODES[mode])
    elif picture.mode == "P":
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    elif picture.mode == "1":
        picture = picture.convert("L")
    array = np.array(picture)
    if array.dtype not in (np.uint8, np.uint16):
        array = array.astype(np.uint16)  # PNG of 16 bits, as some versions of Pillow read it
    planes = array.reshape(*array.shape[:2], -1).transpose(2, 0, 1)
    return from_numpy(np.ascontiguousarray(planes))


def decode_png(
    input: Tensor,
    mode: Any = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """Return the picture in the bytes of a PNG file.

    >>> import taper
    >>> from taper.vision.io import decode_png, encode_png
    >>> decode_png(encode_png(taper.full((1, 2, 2), 7, dtype=taper.uint8)))
    tensor([[[7, 7],
             [7, 7]]], dtype=torch.uint8)
    """
    return _decoded(input, mode, ("PNG",), apply_exif_orientation)


def decode_jpeg(
    input: Any,
    mode: Any = ImageReadMode.UNCHANGED,
    device: Any = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    """Return the picture in the bytes of a JPEG file; a list gives a list.

    >>> import taper
    >>> from taper.vision.io import decode_jpeg, encode_jpeg
    >>> decode_jpeg(encode_jpeg(taper.full((3, 8, 8), 7, dtype=taper.uint8))).shape
    torch.Size([3, 8, 8])
    """
    if isinstance(input, list):
        return [decode_jpeg(each, mode, device, apply_exif_orientation) for each in input]
    return _decoded(input, mode, ("JPEG",), apply_exif_orientation)


def decode_webp(input: Tensor, mode: Any = ImageReadMode.UNCHANGED) -> Tensor:
    """Return the picture in the bytes of a WebP file.

    >>> import taper
    >>> from taper.vision.io import decode_webp
    >>> decode_webp(taper.zeros(3, dtype=taper.uint8))
    Traceback (most recent call last):
    ...
    RuntimeError: Unsupported image file: WEBP are supported (cannot identify image file ...)
    """
    return _decoded(input, mode, ("WEBP",), False)


def decode_gif(input: Tensor) -> Tensor:
    """Return the picture (3, H, W), or the pictures (N, 3, H, W), in the bytes of a GIF file.

    >>> import taper
    >>> from taper.vision.io import decode_gif
    >>> decode_gif(taper.zeros(3, dtype=taper.uint8))
    Traceback (most recent call last):
    ...
    RuntimeError: Unsupported image file: GIF are supported (cannot identify image file ...)
    """
    content = _checked_bytes(input)
    image = pillow()
    try:
        with image.open(io.BytesIO(content), formats=("GIF",)) as picture:
            frames = [
                _tensor_of(frame, ImageReadMode.RGB)
                for frame in pillow("ImageSequence").Iterator(picture)
            ]
    except (image.UnidentifiedImageError, OSError, SyntaxError) as error:
        raise RuntimeError(f"Unsupported image file: GIF are supported ({error})") from None
    return frames[0] if len(frames) == 1 else stack(frames)


def decode_image(
    input: Any,
    mode: Any = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """Return the picture in a file, or in the bytes of one: PNG, JPEG, GIF or WebP.

    >>> import taper
    >>> from taper.vision.io import decode_image, encode_png
    >>> decode_image(encode_png(taper.zeros(3, 2, 2, dtype=taper.uint8)), mode="GRAY").shape
    torch.Size([1, 2, 2])
    """
    data = input if isinstance(input, Tensor) else read_file(input)
    if data.numpy()[:4].tobytes() == b"GIF8":
        return decode_gif(data)
    return _decoded(data, mode, _FORMATS, apply_exif_orientation)


def read_image(
    path: Any,
    mode: Any = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """Return the picture in a file.

    >>> import os, tempfile, taper
    >>> from taper.vision.io import read_image, write_png
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.png")
    >>> write_png(taper.full((1, 1, 2), 9, dtype=taper.uint8), path)
    >>> read_image(path)
    tensor([[[9, 9]]], dtype=torch.uint8)
    """
    return decode_image(read_file(path), mode, apply_exif_orientation)


# --- to bytes --------------------------------------------------------------------------------


def _encoded(input: Any, form: str, **options: int) -> Tensor:
    if not isinstance(input, Tensor) or input.dtype is not dtypes.uint8:
        raise RuntimeError("Input tensor dtype should be uint8")
    if input.ndim != 3 or input.shape[0] not in (1, 3):
        raise RuntimeError(
            f"The number of channels should be 1 or 3, got: {input.shape[0] if input.ndim else 0}"
            if input.ndim == 3
            else "Input data should be a 3-dimensional tensor"
        )
    written = io.BytesIO()
    to_pil_image(input).save(written, form, **options)
    return from_numpy(np.frombuffer(bytearray(written.getvalue()), np.uint8))


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """Return the bytes of a PNG file with a picture of one or three channels.

    >>> import taper
    >>> from taper.vision.io import encode_png
    >>> bytes(encode_png(taper.zeros(1, 2, 2, dtype=taper.uint8))[1:4].tolist())
    b'PNG'
    """
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return _encoded(input, "PNG", compress_level=compression_level)


def encode_jpeg(input: Any, quality: int = 75) -> Any:
    """Return the bytes of a JPEG file of a picture with one or three channels; lists too.

    >>> import taper
    >>> from taper.vision.io import encode_jpeg
    >>> encode_jpeg(taper.zeros(3, 8, 8, dtype=taper.uint8))[:2]
    tensor([255, 216], dtype=torch.uint8)
    """
    if not 1 <= quality <= 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, list):
        return [encode_jpeg(each, quality) for each in input]
    return _encoded(input, "JPEG", quality=quality)


def write_png(input: Tensor, filename: Any, compression_level: int = 6) -> None:
    """Write a picture of one or three channels as a PNG file.

    >>> import os, tempfile, taper
    >>> from taper.vision.io import write_png
    >>> path = os.path.join(tempfile.mkdtemp(), "black.png")
    >>> write_png(taper.zeros(3, 2, 2, dtype=taper.uint8), path)
    >>> os.path.exists(path)
    True
    """
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Tensor, filename: Any, quality: int = 75) -> None:
    """Write a picture of one or three channels as a JPEG file.

    >>> import os, tempfile, taper
    >>> from taper.vision.io import write_jpeg
    >>> path = os.path.join(tempfile.mkdtemp(), "black.jpg")
    >>> write_jpeg(taper.zeros(3, 2, 2, dtype=taper.uint8), path)
    >>> os.path.exists(path)
    True
    """
    write_file(filename, encode_jpeg(input, quality))
