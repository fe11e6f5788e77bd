"""Orthogonal polynomials of Chebyshev, Hermite, Laguerre and Legendre; PyTorch gives no gradient.

Owns: the operators.  All are computed by the recurrence of three terms, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.chebyshev import in_double
from taper.arrays.layouts import ELEMENTWISE
from taper.opdef import FLOAT, Array, op
from taper.opdef.dtype_checks import COMPLEX, not_implemented
from taper.opdef.operands import NUMBERS, invalid_combination
from taper.tensor import Tensor, wrap

# next(k, x, p of degree k, p of degree k - 1) is p of degree k + 1
Next: TypeAlias = Callable[[int, ndarray, ndarray, ndarray], ndarray]

_SIGNATURES = (
    "(Tensor x, Tensor n, *, Tensor out = None)",
    "(Number x, Tensor n, *, Tensor out = None)",
    "(Tensor x, Number n, *, Tensor out = None)",
)


def _evaluated(
    first: Callable[[ndarray], ndarray], following: Next, x: ndarray, n: ndarray
) -> ndarray:
    """Evaluate polynomials of degree `n`, cut to a whole number; zero if negative or infinite."""
    degree = np.where(np.isfinite(n), np.trunc(n), -1.0)
    result = np.where(degree == 0, 1.0, 0.0)
    largest = int(degree.max(initial=-1.0))
    if largest < 1:
        return result
    if largest > _LONG and x.size <= _FEW:
        each = zip(x.ravel().tolist(), degree.ravel().tolist(), result.ravel(), strict=True)
        values = [_one_by_one(first, following, *given) for given in each]
        return np.array(values).reshape(x.shape)
    wanted = set(degree.ravel().tolist())
    before, now = np.ones_like(x), first(x)
    result = np.where(degree == 1, now, result)
    for number in range(1, largest):
        before, now = now, following(number, x, now, before)
        if number + 1 in wanted:
            result = np.where(degree == number + 1, now, result)
        if number % 64 == 0 and np.isnan(now).all():  # as are all that follow
            return np.where(degree > number, np.nan, result)
    return result


# From such a degree on, for so few points, Python's numbers are faster than NumPy's calls.
_LONG, _FEW = 1024, 16


def _one_by_one(first: Any, following: Any, x: float, degree: float, low: float) -> float:
    """Run the recurrence at one point; `low` is the value for degrees below 1."""
    if degree < 1:
        return float(low)
    before, now = 1.0, first(x)
    for number in range(1, int(degree)):
        before, now = now, following(number, x, now, before)
        if now != now:
            break
    return float(now)


# By letter: between -1 and 1 with the angle, beyond with the area's angle (on both sides apart from
# the sign), at 1, and at -1 apart from the sign.
_CLOSED: dict[str, tuple[Callable[..., Any], ...]] = {
    "t": (
        lambda n, angle: np.cos(n * angle),
        lambda n, area, x: np.cosh(n * area),
        lambda n: 1.0,
        lambda n: 1.0,
    ),
    "u": (
        lambda n, angle: np.sin((n + 1) * angle) / np.sin(angle),
        lambda n, area, x: np.sinh((n + 1) * area) / np.sinh(area),
        lambda n: n + 1,
        lambda n: n + 1,
    ),
    "v": (
        lambda n, angle: np.cos((n + 0.5) * angle) / np.cos(angle / 2),
        lambda n, area, x: _halves(n, area, x > 0),
        lambda n: 1.0,
        lambda n: 2 * n + 1,
    ),
    "w": (
        lambda n, angle: np.sin((n + 0.5) * angle) / np.sin(angle / 2),
        lambda n, area, x: _halves(n, area, x < 0),
        lambda n: 2 * n + 1,
        lambda n: 1.0,
    ),
}
_HIGH = 256


def _halves(n: ndarray, area: ndarray, even: ndarray) -> ndarray:
    even_part = np.cosh((n + 0.5) * area) / np.cosh(area / 2)
    return np.where(even, even_part, np.sinh((n + 0.5) * area) / np.sinh(area / 2))


def _evaluated_chebyshev(
    letter: str, first: Callable[[ndarray], ndarray], x: ndarray, n: ndarray
) -> ndarray:
    """Evaluate as `_evaluated`, high degrees by trigonometry: a million takes no longer (§M6)."""
    high = np.isfinite(n) & (n > _HIGH)
    result = _evaluated(first, _chebyshev, x, np.where(high, 0.0, n))
    if not high.any():
        return result
    degree = np.where(high, np.trunc(n), 0.0)
    within, beyond, at_one, at_minus_one = _CLOSED[letter]
    sign = np.where((degree % 2 != 0) & (x < 0), -1.0, 1.0)
    closed = within(degree, np.arccos(np.clip(x, -1.0, 1.0)))
    outside = sign * beyond(degree, np.arccosh(np.maximum(np.abs(x), 1.0)), x)
    # The recurrence, with which PyTorch goes on there, subtracts infinity from infinity.
    outside = np.where(np.isinf(outside), np.nan, outside)
    closed = np.where(np.abs(x) > 1.0, outside, closed)
    closed = np.where(x == 1.0, at_one(degree), closed)
    closed = np.where(x == -1.0, sign * at_minus_one(degree), closed)
    return np.where(high, closed, result)


def _chebyshev(k: int, x: ndarray, now: ndarray, before: ndarray) -> ndarray:
    return 2 * x * now - before


def _hermite_h(k: int, x: ndarray, now: ndarray, before: ndarray) -> ndarray:
    return 2 * x * now - 2 * k * before


def _hermite_he(k: int, x: ndarray, now: ndarray, before: ndarray) -> ndarray:
    return x * now - k * before


def _laguerre(k: int, x: ndarray, now: ndarray, before: ndarray) -> ndarray:
    return ((2 * k + 1 - x) * now - k * before) / (k + 1)


def _legendre(k: int, x: ndarray, now: ndarray, before: ndarray) -> ndarray:
    return ((2 * k + 1) * x * now - k * before) / (k + 1)


def _beside(number: Any, tensor: Tensor) -> Tensor:
    """Turn a number into a tensor that does not change the dtype of a floating one beside it."""
    kind = tensor.dtype if tensor.is_floating_point() else dtypes.default.float
    return wrap(np.array(number, kind.numpy))


def _declare(
    name: str,
    first: Callable[[ndarray], ndarray],
    following: Next,
    doc: str,
    value: float,
    shifted: bool = False,
) -> Any:
    """Declare a polynomial; `value` is that of degree 2 at 0.5, for the example."""

    def kernel(x: Array, n: Array) -> Any:
        def evaluated(points: ndarray, degrees: ndarray) -> ndarray:
            where = 2 * points - 1 if shifted else points
            if following is _chebyshev:
                return _evaluated_chebyshev(name[-1], first, where, degrees)
            return _evaluated(first, following, where, degrees)

        return in_double(evaluated, *np.broadcast_arrays(x, n))

    kernel.__doc__ = f"{doc} of degree `n`; both are tensors."
    operator = op(
        name=f"special_{name}",
        promote=FLOAT,
        out=True,
        public=False,
        method=False,
        check=not_implemented(f"{name}_cpu", "float16", "bfloat16", *COMPLEX),
        layout=ELEMENTWISE,
    )(kernel)

    def polynomial(x: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        if x.__class__ in NUMBERS and isinstance(n, Tensor):
            x = _beside(x, n)
        elif n.__class__ in NUMBERS and isinstance(x, Tensor):
            n = _beside(n, x)
        elif not (isinstance(x, Tensor) and isinstance(n, Tensor)):
            raise invalid_combination(f"special_{name}", (x, n), _SIGNATURES)
        found: Tensor = operator(x, n, out=out)
        return found

    shown = f"{value:.4f}" if value % 1 else f"{value:.0f}."
    polynomial.__doc__ = f"""{doc} of degree `n`; one of them may be a number.

    >>> import taper
    >>> taper.special.{name}(taper.tensor([0.5]), 2)
    tensor([{shown}])
    """
    polynomial.__name__ = polynomial.__qualname__ = f"special_{name}"
    return polynomial


_FIRSTS: dict[str, tuple[Callable[[ndarray], ndarray], str, float, float]] = {
    "t": (lambda x: x, "first", -0.5, -1.0),
    "u": (lambda x: 2 * x, "second", 0.0, -1.0),
    "v": (lambda x: 2 * x - 1, "third", -1.0, -1.0),
    "w": (lambda x: 2 * x + 1, "fourth", 1.0, -1.0),
}
CHEBYSHEV = {
    f"{prefix}chebyshev_polynomial_{letter}": _declare(
        f"{prefix}chebyshev_polynomial_{letter}",
        first,
        _chebyshev,
        f"The {'shifted ' if prefix else ''}Chebyshev polynomial of the {kind} kind",
        moved if prefix else value,
        bool(prefix),
    )
    for prefix in ("", "shifted_")
    for letter, (first, kind, value, moved) in _FIRSTS.items()
}
hermite_polynomial_h = _declare(
    "hermite_polynomial_h", lambda x: 2 * x, _hermite_h, "The Hermite polynomial of physicists", -1
)
hermite_polynomial_he = _declare(
    "hermite_polynomial_he",
    lambda x: x,
    _hermite_he,
    "The Hermite polynomial of probability theory",
    -0.75,
)
laguerre_polynomial_l = _declare(
    "laguerre_polynomial_l", lambda x: 1 - x, _laguerre, "The Laguerre polynomial", 0.125
)
legendre_polynomial_p = _declare(
    "legendre_polynomial_p", lambda x: x, _legendre, "The Legendre polynomial", -0.125
)
