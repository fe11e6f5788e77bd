"""Figures of Matplotlib as arrays.  Matplotlib is no dependency: a program with a figure has it."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_pictures(figures: Any, close: bool) -> tuple[np.ndarray, str]:
    """Return a figure, or a list of figures of one size, as bytes; and the names of the axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def drawn(figure: Any) -> np.ndarray:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba(), np.uint8)[:, :, :3]

    if isinstance(figures, list):
        pictures, axes = np.stack([drawn(each) for each in figures]), "NHWC"
    else:
        pictures, axes = drawn(figures), "HWC"
    if close:
        from matplotlib import pyplot

        for each in figures if isinstance(figures, list) else [figures]:
            pyplot.close(each)
    return pictures, axes
