"""Pictures: from tensors of any layout to PNG files.

Owns: layouts of axes, grids, boxes and labels, the PNG encoding.  Arrays in, bytes out: a picture
is an array of bytes, height by width by channels.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from taper.vision.pillow import pillow

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # PNG's, by the number of channels
_RED = (255, 0, 0)
_BITS = 22  # bits of the weights with which pictures are resized


def png(picture: np.ndarray) -> bytes:
    """Return a picture of 1 to 4 channels as a PNG file.

    >>> import numpy as np
    >>> png(np.zeros((2, 3, 3), np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width, channels = picture.shape
    if channels not in _COLOUR_TYPES:
        raise TypeError(f"Cannot handle this data type: (1, 1, {channels}), |u1")
    if not height or not width:
        raise ValueError("cannot write empty image")
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = picture.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = (b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


def as_bytes(picture: np.ndarray) -> np.ndarray:
    """Return brightness as bytes: numbers from 0 to 1 are scaled, bytes are kept."""
    scale = 1 if picture.dtype == np.uint8 else 255
    return np.clip(picture.astype(np.float32) * scale, 0, 255).astype(np.uint8)


def in_rows(array: np.ndarray, axes: str) -> np.ndarray:
    """Return an array with named axes as (height, width, channels); several make a grid.

    >>> import numpy as np
    >>> in_rows(np.zeros((8, 3, 4, 5)), "NCHW").shape
    (4, 40, 3)
    """
    if len(set(axes)) != len(axes):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice.             input_format: {axes}"
        )
    if array.ndim != len(axes):
        raise AssertionError(
            "size of input tensor and input format are different.         "
            f"tensor shape: {array.shape}, input_format: {axes}"
        )
    axes = axes.upper()
    if len(axes) == 4:
        pictures = array.transpose([axes.find(each) for each in "NCHW"])
        return grid(pictures, columns=8).transpose(1, 2, 0)
    if len(axes) == 3:
        picture = array.transpose([axes.find(each) for each in "HWC"])
        return picture.repeat(3, axis=2) if picture.shape[2] == 1 else picture
    if len(axes) == 2:
        picture = array.transpose([axes.find(each) for each in "HW"])
        return picture[:, :, None].repeat(3, axis=2)
    raise ValueError(f"a picture has 2 to 4 axes, but these are named: {axes!r}")


def grid(pictures: np.ndarray, columns: int) -> np.ndarray:
    """Put pictures (number, channels, height, width) side by side, `columns` in a row."""
    if pictures.ndim == 4 and pictures.shape[1] == 1:
        pictures = pictures.repeat(3, axis=1)
    if pictures.ndim != 4 or pictures.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    number, channels, height, width = pictures.shape
    columns = min(number, columns)
    rows = math.ceil(number / columns)
    sheet = np.zeros((rows * columns, channels, height, width), pictures.dtype)
    sheet[:number] = pictures
    sheet = sheet.reshape(rows, columns, channels, height, width)
    return sheet.transpose(2, 0, 3, 1, 4).reshape(channels, rows * height, columns * width)


# --- resizing --------------------------------------------------------------------------------


def resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize a picture with Lanczos' window, in integers as Pillow does it."""
    if picture.shape[1] != width:
        picture = _stretched(picture.transpose(1, 0, 2), width).transpose(1, 0, 2)
    if picture.shape[0] != height:
        picture = _stretched(picture, height)
    return picture


def _stretched(picture: np.ndarray, size: int) -> np.ndarray:
    weights = np.rint(_lanczos(picture.shape[0], size) * (1 << _BITS)).astype(np.int64)
    sums = np.tensordot(weights, picture.astype(np.int64), 1) + (1 << _BITS - 1)
    return np.clip(sums >> _BITS, 0, 255).astype(np.uint8)


def _lanczos(old: int, new: int) -> np.ndarray:
    """Return the weight of each old row in each new one."""
    scale = old / new
    stretch = max(scale, 1.0)
    reach = 3 * stretch
    centres = (np.arange(new) + 0.5) * scale
    first = np.maximum(np.trunc(centres - reach + 0.5), 0)[:, None]
    end = np.minimum(np.trunc(centres + reach + 0.5), old)[:, None]
    places = np.arange(old)
    distances = (places - centres[:, None] + 0.5) / stretch
    weights = np.sinc(distances) * np.sinc(distances / 3) * (np.abs(distances) < 3)
    weights *= (places >= first) & (places < end)
    return weights / weights.sum(axis=1, keepdims=True)


# --- boxes -----------------------------------------------------------------------------------


def with_boxes(
    picture: np.ndarray, boxes: np.ndarray, labels: Sequence[str] | None = None
) -> np.ndarray:
    """Draw red frames (left, top, right, bottom), two pixels wide, on a picture."""
    picture = picture.copy()
    turned = picture.transpose(1, 0, 2)
    for number, box in enumerate(boxes):
        left, top, right, bottom = (int(box[side]) for side in range(4))
        # A line covers the pixels it runs through, and those on its left in the direction of
        # drawing, which starts at the top left corner and goes right first.
        _line(picture, top, left <= right, left, right)
        _line(picture, bottom, right < left, left, right)
        _line(turned, left, bottom < top, top, bottom)
        _line(turned, right, top <= bottom, top, bottom)
        if labels is not None and labels[number]:
            picture[...] = _labelled(picture, labels[number], left, bottom)
    return picture


def _line(picture: np.ndarray, row: int, before: bool, start: int, end: int) -> None:
    """Draw along a row and the one before or after it; without length only a point."""
    rows = slice(row, row + 1) if start == end else slice(row - before, row - before + 2)
    columns = slice(max(min(start, end), 0), max(start + 1, end + 1, 0))
    picture[max(rows.start, 0) : max(rows.stop, 0), columns] = _RED


def _labelled(picture: np.ndarray, label: str, left: int, bottom: int) -> np.ndarray:
    """Write a text on red into a picture; Pillow provides the letters."""
    font = pillow("ImageFont").load_default()
    x_start, y_start, x_end, y_end = font.getbbox(label)
    width, height = x_end - x_start, y_end - y_start
    margin = math.ceil(0.05 * height)
    canvas = pillow().fromarray(picture)
    drawing = pillow("ImageDraw").Draw(canvas)
    drawing.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="red")
    drawing.text((left + margin, bottom - height - margin), label, fill="black", font=font)
    return np.array(canvas)
