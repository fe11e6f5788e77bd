"""The types of `taper.fft`.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import return_types as _return_types
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.random import Generator
from taper.size import Size as _Size
from taper.tensor import Tensor
from typing_extensions import TypeIs
import numpy as _np

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

def fft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Compute the discrete Fourier transform along a dimension of `n` points.

    The input is cut or filled with zeros to `n`. `norm` says which direction divides by the number
    of points: "forward", "backward", or "ortho" for both, by its root.

    >>> import taper
    >>> taper.fft.fft(taper.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j])
    """
def fft2(input: Tensor, s: Any = None, dim: _Ints | None = ..., norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform the last two dimensions as `fftn`.

    >>> import taper
    >>> taper.fft.fft2(taper.ones(2, 2)).abs()
    tensor([[4., 0.],
            [0., 0.]])
    """
def fftfreq(n: _int, d: _float = 1.0, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Compute the frequencies of the points of `fft` of `n` samples that are `d` apart.

    >>> import taper
    >>> taper.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
def fftn(input: Tensor, s: Any = None, dim: _Ints | None = None, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform several dimensions: `dim`, or the last of them if `s` is given, or all.

    >>> import taper
    >>> taper.fft.fftn(taper.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
def fftshift(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Move the zero frequency from the front to the middle, in all dimensions or in `dim`.

    >>> import taper
    >>> taper.fft.fftshift(taper.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
def hfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform a signal whose second half, conjugate to the first, is missing, to real numbers.

    >>> import taper
    >>> taper.fft.hfft(taper.tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
def hfft2(input: Tensor, s: Any = None, dim: _Ints | None = ..., norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform the last two dimensions as `hfftn`.

    >>> import taper
    >>> taper.fft.hfft2(taper.ones(3, 2, 3)).shape
    torch.Size([3, 2, 4])
    """
def hfftn(input: Tensor, s: Any = None, dim: _Ints | None = None, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform as `hfft` in several dimensions; in the last one half is missing.

    >>> import taper
    >>> taper.fft.hfftn(taper.ones(2, 3)).shape
    torch.Size([2, 4])
    """
def ifft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Undo `fft`.

    >>> import taper
    >>> taper.fft.ifft(taper.tensor([3.0 + 0j, -1.0]))
    tensor([1.+0.j, 2.+0.j])
    """
def ifft2(input: Tensor, s: Any = None, dim: _Ints | None = ..., norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform the last two dimensions as `ifftn`.

    >>> import taper
    >>> taper.fft.ifft2(taper.ones(2, 2)).abs()
    tensor([[1., 0.],
            [0., 0.]])
    """
def ifftn(input: Tensor, s: Any = None, dim: _Ints | None = None, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Undo `fftn`.

    >>> import taper
    >>> taper.fft.ifftn(taper.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
def ifftshift(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Undo `fftshift`.

    >>> import taper
    >>> taper.fft.ifftshift(taper.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
def ihfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Undo `hfft`.

    >>> import taper
    >>> taper.fft.ihfft(taper.tensor([8.0, -2.0, 0.0, -2.0])).real
    tensor([1., 2., 3.])
    """
def ihfft2(input: Tensor, s: Any = None, dim: _Ints | None = ..., norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform the last two dimensions as `ihfftn`.

    >>> import taper
    >>> taper.fft.ihfft2(taper.ones(3, 2, 4)).shape
    torch.Size([3, 2, 3])
    """
def ihfftn(input: Tensor, s: Any = None, dim: _Ints | None = None, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Undo `hfftn`.

    >>> import taper
    >>> taper.fft.ihfftn(taper.ones(2, 4)).shape
    torch.Size([2, 3])
    """
def irfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Undo `rfft`; `n` is the number of points of the result.

    >>> import taper
    >>> taper.fft.irfft(taper.tensor([10.0 + 0j, -2 + 2j, -2]))
    tensor([1., 2., 3., 4.])
    """
def irfft2(input: Tensor, s: Any = None, dim: _Ints | None = ..., norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform the last two dimensions as `irfftn`.

    >>> import taper
    >>> taper.fft.irfft2(taper.ones(3, 2, 3)).shape
    torch.Size([3, 2, 4])
    """
def irfftn(input: Tensor, s: Any = None, dim: _Ints | None = None, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Undo `rfftn`; `s` are the sizes of the result.

    >>> import taper
    >>> taper.fft.irfftn(taper.ones(2, 3, dtype=taper.complex64)).shape
    torch.Size([2, 4])
    """
def rfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform real numbers, leaving out the half that is the conjugate of the other.

    >>> import taper
    >>> taper.fft.rfft(taper.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
def rfft2(input: Tensor, s: Any = None, dim: _Ints | None = ..., norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform the last two dimensions as `rfftn`.

    >>> import taper
    >>> taper.fft.rfft2(taper.ones(3, 2, 4)).shape
    torch.Size([3, 2, 3])
    """
def rfftfreq(n: _int, d: _float = 1.0, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Compute the frequencies of the points of `rfft` of `n` samples that are `d` apart.

    >>> import taper
    >>> taper.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
def rfftn(input: Tensor, s: Any = None, dim: _Ints | None = None, norm: str | None = None, *, out: Any | None = None) -> Tensor:
    """Transform real numbers in several dimensions; half of the last one is left out.

    >>> import taper
    >>> taper.fft.rfftn(taper.ones(2, 4)).shape
    torch.Size([2, 3])
    """
