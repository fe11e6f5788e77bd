"""Window functions: curves that fade a piece of a signal in and out.

All take the number of points `M`.  With `sym=False` the window is periodic: that of one more point,
without the last.  They are computed with tensors, in PyTorch's order of operations, so that
`requires_grad` gives the same graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from taper import dtypes
from taper.device import strided
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import empty, ones
from taper.ops.creation.ranges import arange, linspace
from taper.ops.elementwise.arithmetic import rsub
from taper.ops.special.bessel import i0
from taper.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


class _Options:
    """The options that all windows take, checked, and the windows of no and of one point."""

    def __init__(
        self, name: str, M: Any, dtype: Any, layout: Any, device: Any, requires_grad: Any
    ) -> None:
        kind = dtypes.default.float if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if kind not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
        self.dtype = kind
        self.made = {
            "dtype": kind,
            "layout": layout,
            "device": device,
            "requires_grad": requires_grad,
        }

    def short(self, M: int) -> Tensor:
        return ones((1,), **self.made) if M else empty((0,), **self.made)

    def line(self, start: float, end: float, M: int) -> Tensor:
        return linspace(start, end, M, **self.made)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a triangle with zeros at its ends.

    Args:
        M: the number of points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = _Options("bartlett", M, dtype, layout, device, requires_grad)
    if M < 2:
        return options.short(M)
    step = 2 / (M - 1 if sym else M)
    return rsub(options.line(-1, -1 + (M - 1) * step, M).abs(), 1)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return half a wave of the sine.

    Args:
        M: the number of points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    options = _Options("cosine", M, dtype, layout, device, requires_grad)
    if M < 2:
        return options.short(M)
    step = math.pi / (M if sym else M + 1)
    return options.line(0.5 * step, (0.5 + (M - 1)) * step, M).sin()


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return an exponential decay on both sides of `center`, by 1/e in `tau` points.

    Args:
        M: the number of points.
        center: where the window is largest; by default the middle, and with `sym=True` no other is
            allowed.
        tau: the points in which it falls to 1/e.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    options = _Options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M < 2:
        return options.short(M)
    if center is None:
        center = (M - 1 if sym else M) / 2
    factor = 1 / tau
    line = options.line(-center * factor, (-center + (M - 1)) * factor, M)
    return (-line.abs()).exp()


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a bell curve whose standard deviation is `std` points.

    Args:
        M: the number of points.
        std: the standard deviation in points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    options = _Options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M < 2:
        return options.short(M)
    start = -(M - 1 if sym else M) / 2.0
    factor = 1 / (std * math.sqrt(2))
    line = options.line(start * factor, (start + (M - 1)) * factor, M)
    return (-(line**2)).exp()


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return Kaiser's window, which is narrower for a larger `beta`.

    Args:
        M: the number of points.
        beta: the shape; nonnegative.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.kaiser(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    options = _Options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return options.short(M)
    # A float32 line may overshoot its end, where the root has no value.
    shape = tensor(beta, dtype=options.dtype, device=device)
    start = -float(shape)
    step = 2.0 * float(shape) / (M - 1 if sym else M)
    end = min(float(shape), start + (M - 1) * step)
    line = options.line(start, end, M)
    return i0((shape * shape - line**2).sqrt()) / i0(shape)


def _cosines(options: _Options, M: int, coefficients: list[float], sym: bool) -> Tensor:
    step = 2 * math.pi / (M - 1 if sym else M)
    line = options.line(0, (M - 1) * step, M)
    signed = [(-1) ** nr * each for nr, each in enumerate(coefficients)]
    weights = tensor(
        signed,
        device=options.made["device"],
        dtype=options.dtype,
        requires_grad=options.made["requires_grad"],
    )
    numbers = arange(
        len(signed),
        dtype=options.dtype,
        device=options.made["device"],
        requires_grad=options.made["requires_grad"],
    )
    return (weights.unsqueeze(-1) * (numbers.unsqueeze(-1) * line).cos()).sum(0)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a sum of cosines with the coefficients `a`, whose signs alternate.

    Args:
        M: the number of points.
        a: the coefficients.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    options = _Options("general_cosine", M, dtype, layout, device, requires_grad)
    if M < 2:
        return options.short(M)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    coefficients = list(a)
    if not coefficients:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(options, M, coefficients, sym)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `alpha` minus a cosine of amplitude `1 - alpha`.

    Args:
        M: the number of points.
        alpha: the constant part.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M,
        a=[alpha, 1.0 - alpha],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return Hamming's window: a cosine on a pedestal.

    Args:
        M: the number of points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device}
    return general_hamming(M, **options, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return Hann's window: one minus a cosine, halved.

    Args:
        M: the number of points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device}
    return general_hamming(M, alpha=0.5, **options, requires_grad=requires_grad)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return Blackman's window, of three cosines.

    Args:
        M: the number of points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.blackman(4, sym=False)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    options = _Options("blackman", M, dtype, layout, device, requires_grad)
    if M < 2:
        return options.short(M)
    return _cosines(options, M, [0.42, 0.5, 0.08], sym)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return Nuttall's window, of four cosines.

    Args:
        M: the number of points.
        sym: symmetric; False gives a periodic window.
        dtype, layout, device, requires_grad: as in `taper.zeros`.

    >>> import taper
    >>> taper.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
