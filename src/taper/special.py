"""Special functions, as `torch.special`: one list of names; the functions are in `ops`.

>>> import taper
>>> taper.special.i1(taper.tensor([0.0, 1.0]))
tensor([0.0000, 0.5652])
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from taper.autograd.overrides import has_grown as _has_grown
from taper.factory import refuse as _refuse
from taper.opdef.guards import guard_all as _guard_all
from taper.ops.activation import softmax as softmaxes
from taper.ops.elementwise import rounding, trigonometry, unary
from taper.ops.elementwise.power import xlogy
from taper.ops.reduction import sums as reduce
from taper.ops.special import basic as special
from taper.ops.special import bessel as special_bessel
from taper.ops.special import gamma as special_gamma
from taper.ops.special.basic import polygamma
from taper.ops.special.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from taper.ops.special.gamma import special_zeta as zeta
from taper.ops.special.normal import entr, erfcx, log_ndtr, ndtri, xlog1py
from taper.ops.special.normal import special_ndtr as ndtr
from taper.ops.special.polynomials import CHEBYSHEV as _CHEBYSHEV
from taper.ops.special.polynomials import (
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
)
from taper.tensor import Tensor


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function under its name here, which its error for a non-Tensor shows."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs.get("input")
        if not isinstance(first, Tensor):
            _refuse(f"special_{name}", "input", 1, "Tensor", first)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = f"special_{name}"
    return call


def _round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Round to the nearest whole number, or to some decimals; halves go to the even one.

    >>> import taper
    >>> taper.special.round(taper.tensor([0.5, 1.5, 2.4]))
    tensor([0., 2., 2.])
    """
    found: Tensor = rounding.round(input, decimals=decimals, out=out)
    return found


digamma = _named("digamma", special.digamma)
erf = _named("erf", special.erf)
erfc = _named("erfc", special.erfc)
erfinv = _named("erfinv", special.erfinv)
exp2 = _named("exp2", unary.exp2)
expit = _named("expit", unary.sigmoid)
expm1 = _named("expm1", unary.expm1)
gammainc = _named("gammainc", special_gamma.igamma)
gammaincc = _named("gammaincc", special_gamma.igammac)
gammaln = _named("gammaln", special.lgamma)
i0 = _named("i0", special_bessel.i0)
log1p = _named("log1p", unary.log1p)
log_softmax = _named("log_softmax", softmaxes.log_softmax)
logit = _named("logit", unary.logit)
logsumexp = _named("logsumexp", reduce.logsumexp)
multigammaln = _named("multigammaln", special_gamma.mvlgamma)
psi = _named("psi", special.digamma)
round = _named("round", _round)
sinc = _named("sinc", trigonometry.sinc)
softmax = _named("softmax", softmaxes.softmax)
globals().update(_CHEBYSHEV)

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    *_CHEBYSHEV,
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

_guard_all(globals())
_has_grown(globals())
