"""What goes with Fourier transforms: the frequencies of points, and moving zero to the middle."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.strides import wrap_dim
from taper.device import strided
from taper.factory import finish, integer, into, options, out_dtype, refuse, refuse_size
from taper.opdef import composite
from taper.ops.fft.functions import integers
from taper.ops.shape.flip import roll
from taper.tensor import Tensor


def _frequencies(
    function: str,
    counts: np.ndarray,
    points: int,
    d: float,
    out: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
) -> Tensor:
    name = f"fft_{function}"
    if out is not None:
        which, where = out_dtype(name, out, dtype, requires_grad), out.device
    else:
        which, where = options(name, dtype, layout, device, pin_memory)
    if not (which.is_floating_point or which.is_complex):
        raise RuntimeError(f"{function} requires a floating point or complex dtype")
    if which.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{which.scalar_type}'")
    wide = np.dtype(np.float32) if which.itemsize == 2 else which.numpy
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.float64(1.0) / (points * np.float64(d))
        values = (counts.astype(wide) * wide.type(step)).astype(which.numpy)
    if out is not None:
        return into(out, values, requires_grad)
    return finish(values, requires_grad, where)


@composite(method=False, public=False)
def fft_fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Compute the frequencies of the points of `fft` of `n` samples that are `d` apart.

    >>> import taper
    >>> taper.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    points = integer("fft_fftfreq", "n", 1, n)
    if points < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {points}: [{points}]")
    refuse_size((points,), np.dtype(np.int64))
    counts = np.arange(points)
    counts[(points + 1) // 2 :] -= points
    return _frequencies(
        "fftfreq", counts, points, d, out, dtype, layout, device, pin_memory, requires_grad
    )


@composite(method=False, public=False)
def fft_rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Compute the frequencies of the points of `rfft` of `n` samples that are `d` apart.

    >>> import taper
    >>> taper.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    points = integer("fft_rfftfreq", "n", 1, n)
    refuse_size((points // 2 + 1,), np.dtype(np.int64))
    counts = np.arange(points // 2 + 1)
    return _frequencies(
        "rfftfreq", counts, points, d, out, dtype, layout, device, pin_memory, requires_grad
    )


def _moved(function: str, input: Any, dim: Any, back: bool) -> Tensor:
    if not isinstance(input, Tensor):
        refuse(f"fft_{function}", "input", 1, "Tensor", input)
    if dim is None:
        dims = tuple(range(input.dim()))
    else:
        given = integers(f"fft_{function}", "dim", 2, dim)
        if given and not input.dim():
            raise IndexError(f"Dimension specified as {given[0]} but tensor has no dimensions")
        dims = tuple([wrap_dim(each, input.dim()) for each in given])
    shifts = tuple([(input.shape[each] + back) // 2 for each in dims])
    return roll(input, shifts, dims)


@composite(method=False, public=False, numpy_names=True)
def fft_fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the zero frequency from the front to the middle, in all dimensions or in `dim`.

    >>> import taper
    >>> taper.fft.fftshift(taper.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return _moved("fftshift", input, dim, False)


@composite(method=False, public=False, numpy_names=True)
def fft_ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Undo `fftshift`.

    >>> import taper
    >>> taper.fft.ifftshift(taper.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _moved("ifftshift", input, dim, True)
