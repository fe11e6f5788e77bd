"""Pictures made of pixels: lines and letters on an array, written as a PNG file.

Owns the rasteriser and the file format.  Knows nothing of what is drawn.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from taper.viz.strokes import ADVANCE, strokes_of

__all__ = ["Canvas", "png_bytes"]

Colour = tuple[int, int, int]
Point = tuple[float, float]

_STRETCH = 64  # segments that are drawn together, so that the box around them stays small


class Canvas:
    """An array of pixels that lines, rectangles and texts are drawn on.

    Coordinates are in units of the picture; `scale` pixels are one unit.

    >>> from taper.viz.raster import Canvas
    >>> canvas = Canvas(4, 3, (255, 255, 255))
    >>> canvas.rectangle(0, 0, 2, 3, (0, 0, 0))
    >>> canvas.pixels[1, :, 0].tolist()
    [0.0, 0.0, 255.0, 255.0]
    """

    def __init__(self, width: int, height: int, paper: Colour, scale: int = 1) -> None:
        self.scale = scale
        self.pixels = np.empty((height * scale, width * scale, 3), np.float32)
        self.pixels[:] = paper

    def rectangle(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle; its edges fall on whole pixels."""
        left, top = round(x * self.scale), round(y * self.scale)
        right, bottom = round((x + width) * self.scale), round((y + height) * self.scale)
        self.pixels[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = colour

    def line(
        self, points: Sequence[Point], colour: Colour, width: float = 1.0, opacity: float = 1.0
    ) -> None:
        """Draw a line through points, with smooth edges and round ends."""
        if not len(points):
            return
        path = np.asarray(points, np.float32) * self.scale
        if len(path) == 1:
            path = np.concatenate([path, path])
        radius = width * self.scale / 2
        for start in range(0, len(path) - 1, _STRETCH):
            self._stroke(path[start : start + _STRETCH + 1], colour, radius, opacity)

    def _stroke(self, path: np.ndarray, colour: Colour, radius: float, opacity: float) -> None:
        height, width = self.pixels.shape[:2]
        low = np.floor(path.min(0) - radius - 1).astype(int).clip(0)
        high = np.ceil(path.max(0) + radius + 2).astype(int).clip(0, (width, height))
        if (high <= low).any():
            return
        ys, xs = np.mgrid[low[1] : high[1], low[0] : high[0]].astype(np.float32) + 0.5
        nearest = np.full(xs.shape, np.inf, np.float32)
        for (x0, y0), (x1, y1) in pairwise(path):
            left = max(int(min(x0, x1) - radius - 2) - low[0], 0)
            right = max(int(max(x0, x1) + radius + 3) - low[0], 0)
            part = slice(None), slice(left, right)
            dx, dy = x1 - x0, y1 - y0
            length = dx * dx + dy * dy
            px, py = xs[part] - x0, ys[part] - y0
            along = ((px * dx + py * dy) / length).clip(0, 1) if length > 0 else 0.0
            distance = np.hypot(px - along * dx, py - along * dy)
            np.minimum(nearest[part], distance, out=nearest[part])
        cover = (radius + 0.5 - nearest).clip(0, 1)[..., None] * opacity
        region = self.pixels[low[1] : high[1], low[0] : high[0]]
        region += cover * (np.asarray(colour, np.float32) - region)

    def text(
        self, x: float, y: float, text: str, size: float, colour: Colour, anchor: str = "start"
    ) -> None:
        """Write a line whose baseline begins, ends or has its middle at a point."""
        unit = size / 9
        length = (len(text) * ADVANCE - 1.6) * unit
        x -= {"start": 0.0, "middle": length / 2, "end": length}[anchor]
        for letter in text:
            for stroke in strokes_of(letter):
                points = [(x + at * unit, y + (down - 6) * unit) for at, down in stroke]
                self.line(points, colour, 0.11 * size)
            x += ADVANCE * unit

    def png(self) -> bytes:
        """Return the picture as a PNG file."""
        return png_bytes(np.rint(self.pixels).clip(0, 255).astype(np.uint8))


def png_bytes(pixels: np.ndarray) -> bytes:
    """Return an array of height x width x 3 bytes (red, green, blue) as a PNG file.

    >>> import numpy as np
    >>> from taper.viz.raster import png_bytes
    >>> png_bytes(np.zeros((2, 2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + width * 3), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, width * 3)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
