"""Window functions: hann, hamming, bartlett, blackman and kaiser.

Each is computed in the dtype asked for, in PyTorch's order of operations.  A periodic window is
the symmetric one of one more point without its last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.device import strided
from taper.dtypes import C_NAMES
from taper.factory import finish, integer, options, refuse_size
from taper.opdef import composite
from taper.tensor import Tensor


def _window(
    function: str,
    curve: Callable[[np.ndarray, int], np.ndarray],
    window_length: Any,
    periodic: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
) -> Tensor:
    """Make a window of `curve(positions, intervals)`."""
    length = integer(function, "window_length", 1, window_length)
    if not isinstance(periodic, bool):
        raise TypeError(
            f"{function}(): argument 'periodic' (position 2) must be bool, "
            f"not {type(periodic).__name__}"
        )
    which, where = options(function, dtype, layout, device, pin_memory)
    if which.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{which.scalar_type}'")
    if not which.is_floating_point:
        raise RuntimeError(
            f"{function} expects floating point dtypes, got: TensorOptions(dtype="
            f"{C_NAMES[which]}, device=cpu, layout=Strided (default), "
            "requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(
            f"{function} requires non-negative window_length, got window_length={length}"
        )
    if length < 2:
        return finish(np.ones(length, which.numpy), requires_grad, where)
    points = length + periodic
    refuse_size((points,), which.numpy)
    positions = np.arange(points).astype(which.numpy)
    return finish(curve(positions, points - 1)[:length].copy(), requires_grad, where)


def _scalar(value: float, like: np.ndarray) -> Any:
    """Convert a number to the dtype of an array, so that the array's dtype stays."""
    return like.dtype.type(value)


def _cosine(positions: np.ndarray, intervals: int, alpha: float, beta: float) -> np.ndarray:
    angle = positions * _scalar(2 * math.pi / intervals, positions)
    return np.cos(angle) * _scalar(-beta, positions) + _scalar(alpha, positions)


def _triangle(positions: np.ndarray, intervals: int) -> np.ndarray:
    line = positions * _scalar(2 / intervals, positions)
    middle = intervals // 2 + 1
    line[middle:] = _scalar(2, line) - line[middle:]
    return line


def _blackman(positions: np.ndarray, intervals: int) -> np.ndarray:
    angle = positions * _scalar(math.pi / intervals, positions)
    fine = np.cos(angle * _scalar(4, angle)) * _scalar(0.08, angle)
    coarse = np.cos(angle * _scalar(2, angle)) * _scalar(0.5, angle)
    return fine - coarse + _scalar(0.42, angle)


def _kaiser(positions: np.ndarray, intervals: int, beta: float) -> np.ndarray:
    ratio = positions.astype(np.float64) * 2 / intervals - 1
    curve = np.i0(beta * np.sqrt(np.maximum(1 - ratio * ratio, 0))) / np.i0(beta)
    return curve.astype(positions.dtype)


@composite(method=False)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a window of half of one minus a cosine: 0 at the ends and 1 in the middle.

    >>> import taper
    >>> taper.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def curve(positions: np.ndarray, intervals: int) -> np.ndarray:
        return _cosine(positions, intervals, 0.5, 0.5)

    return _window(
        "hann_window",
        curve,
        window_length,
        periodic,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


@composite(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a window of `alpha - beta * cos`: a raised cosine whose ends are not quite 0.

    >>> import taper
    >>> taper.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """

    def curve(positions: np.ndarray, intervals: int) -> np.ndarray:
        return _cosine(positions, intervals, alpha, beta)

    return _window(
        "hamming_window",
        curve,
        window_length,
        periodic,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


@composite(method=False)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a triangular window: 0 at the ends and 1 in the middle.

    >>> import taper
    >>> taper.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett_window",
        _triangle,
        window_length,
        periodic,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


@composite(method=False)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a window of two cosines, so that little leaks to neighbouring frequencies.

    >>> import taper
    >>> taper.blackman_window(4, dtype=taper.float64)[1:]
    tensor([0.3400, 1.0000, 0.3400], dtype=torch.float64)
    """
    return _window(
        "blackman_window",
        _blackman,
        window_length,
        periodic,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


@composite(method=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a window of a Bessel function; the larger `beta`, the narrower the window.

    >>> import taper
    >>> taper.kaiser_window(4, beta=2.0)
    tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """

    def curve(positions: np.ndarray, intervals: int) -> np.ndarray:
        return _kaiser(positions, intervals, beta)

    return _window(
        "kaiser_window",
        curve,
        window_length,
        periodic,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )
