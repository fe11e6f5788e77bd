"""The types of `taper.special`.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import digamma as digamma
from taper import erf as erf
from taper import erfc as erfc
from taper import erfinv as erfinv
from taper import exp2 as exp2
from taper import expm1 as expm1
from taper import i0 as i0
from taper import log1p as log1p
from taper import log_softmax as log_softmax
from taper import logit as logit
from taper import logsumexp as logsumexp
from taper import polygamma as polygamma
from taper import return_types as _return_types
from taper import sinc as sinc
from taper import softmax as softmax
from taper import xlogy as xlogy
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

def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.airy_ai(taper.tensor([1.0]))
    tensor([0.1353])
    """
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.bessel_j0(taper.tensor([1.0]))
    tensor([0.7652])
    """
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.bessel_j1(taper.tensor([1.0]))
    tensor([0.4401])
    """
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.bessel_y0(taper.tensor([1.0]))
    tensor([0.0883])
    """
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.bessel_y1(taper.tensor([1.0]))
    tensor([-0.7812])
    """
def chebyshev_polynomial_t(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.chebyshev_polynomial_t(taper.tensor([0.5]), 2)
    tensor([-0.5000])
    """
def chebyshev_polynomial_u(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.chebyshev_polynomial_u(taper.tensor([0.5]), 2)
    tensor([0.])
    """
def chebyshev_polynomial_v(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.chebyshev_polynomial_v(taper.tensor([0.5]), 2)
    tensor([-1.])
    """
def chebyshev_polynomial_w(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.chebyshev_polynomial_w(taper.tensor([0.5]), 2)
    tensor([1.])
    """
def shifted_chebyshev_polynomial_t(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the first kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.shifted_chebyshev_polynomial_t(taper.tensor([0.5]), 2)
    tensor([-1.])
    """
def shifted_chebyshev_polynomial_u(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the second kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.shifted_chebyshev_polynomial_u(taper.tensor([0.5]), 2)
    tensor([-1.])
    """
def shifted_chebyshev_polynomial_v(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the third kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.shifted_chebyshev_polynomial_v(taper.tensor([0.5]), 2)
    tensor([-1.])
    """
def shifted_chebyshev_polynomial_w(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the fourth kind of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.shifted_chebyshev_polynomial_w(taper.tensor([0.5]), 2)
    tensor([-1.])
    """
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute -x log(x); zero at zero and -inf below it.

    >>> import taper
    >>> taper.special.entr(taper.tensor([-1.0, 0.0, 0.5]))
    tensor([  -inf, 0.0000, 0.3466])
    """
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute exp(x**2) erfc(x).

    >>> import taper
    >>> taper.special.erfcx(taper.tensor([0.0, 1.0, 10.0]))
    tensor([1.0000, 0.4276, 0.0561])
    """
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Apply the logistic function to every element.

    result = 1 / (1 + e⁻ˣ) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sigmoid(taper.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the regularised lower incomplete gamma function of parameter `input` at `other`.

    >>> import taper
    >>> taper.igamma(taper.tensor([4.0]), taper.tensor([3.0]))
    tensor([0.3528])
    """
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the regularised upper incomplete gamma function: one minus `igamma`.

    >>> import taper
    >>> taper.igammac(taper.tensor([4.0]), taper.tensor([3.0]))
    tensor([0.6472])
    """
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the absolute value of the gamma function.

    >>> import taper
    >>> taper.lgamma(taper.tensor([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """
def hermite_polynomial_h(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hermite polynomial of physicists of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.hermite_polynomial_h(taper.tensor([0.5]), 2)
    tensor([-1.])
    """
def hermite_polynomial_he(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hermite polynomial of probability theory of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.hermite_polynomial_he(taper.tensor([0.5]), 2)
    tensor([-0.7500])
    """
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute exp(-abs(x)) i0(x), which does not overflow.

    >>> import taper
    >>> taper.special.i0e(taper.tensor([0.0, 1.0, 1000.0]))
    tensor([1.0000, 0.4658, 0.0126])
    """
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 1.

    >>> import taper
    >>> taper.special.i1(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute exp(-abs(x)) i1(x), which does not overflow.

    >>> import taper
    >>> taper.special.i1e(taper.tensor([0.0, 1.0, 1000.0]))
    tensor([0.0000, 0.2079, 0.0126])
    """
def laguerre_polynomial_l(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Laguerre polynomial of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.laguerre_polynomial_l(taper.tensor([0.5]), 2)
    tensor([0.1250])
    """
def legendre_polynomial_p(x: _Operand, n: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Legendre polynomial of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.legendre_polynomial_p(taper.tensor([0.5]), 2)
    tensor([-0.1250])
    """
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of `ndtr`, even where `ndtr` rounds to 0.

    >>> import taper
    >>> taper.special.log_ndtr(taper.tensor([-50.0, 0.0]))
    tensor([-1.2548e+03, -6.9315e-01])
    """
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function I of order 0; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.modified_bessel_i0(taper.tensor([1.0]))
    tensor([1.2661])
    """
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function I of order 1; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.modified_bessel_i1(taper.tensor([1.0]))
    tensor([0.5652])
    """
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function K of order 0; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.modified_bessel_k0(taper.tensor([1.0]))
    tensor([0.4210])
    """
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function K of order 1; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.modified_bessel_k1(taper.tensor([1.0]))
    tensor([0.6019])
    """
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the gamma function of dimension `p`, without its constant sign.

    >>> import taper
    >>> taper.mvlgamma(taper.tensor([3.0]), 2)
    tensor([1.5502])
    """
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the probability that a standard normal deviate is below `input`.

    >>> import taper
    >>> taper.special.ndtr(taper.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Invert `ndtr`.

    >>> import taper
    >>> taper.special.ndtri(taper.tensor([0.025, 0.5, 1.0]))
    tensor([-1.9600,  0.0000,     inf])
    """
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the derivative of lgamma.

    >>> import taper
    >>> taper.digamma(taper.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """Round to the nearest whole number, or to some decimals; halves go to the even one.

    >>> import taper
    >>> taper.special.round(taper.tensor([0.5, 1.5, 2.4]))
    tensor([0., 2., 2.])
    """
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) modified_bessel_k0(x); without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.scaled_modified_bessel_k0(taper.tensor([1.0]))
    tensor([1.1445])
    """
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) modified_bessel_k1(x); without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.scaled_modified_bessel_k1(taper.tensor([1.0]))
    tensor([1.6362])
    """
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(x) / x, a spherical Bessel function of order 0; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.spherical_bessel_j0(taper.tensor([1.0]))
    tensor([0.8415])
    """
def xlog1py(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Compute x log(1 + y); zero where x is zero. One of the two may be a number.

    >>> import taper
    >>> taper.special.xlog1py(taper.tensor([0.0, 2.0]), taper.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
def zeta(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Sum (other + k)**-input over k = 0, 1, ...: Hurwitz' zeta function.

    >>> import taper
    >>> taper.special.zeta(taper.tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """
