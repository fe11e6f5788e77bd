"""Distributions of trials: Bernoulli, dropout, geometric, Poisson, binomial, multinomial.

Knows generators and NumPy arrays; must not know Tensor. Names and errors are PyTorch's.
"""

from __future__ import annotations

import math

import numpy as np

from taper import dtypes
from taper.arrays.foreign import is_foreign
from taper.arrays.native import native
from taper.arrays.reduction import glance_natively
from taper.dtypes import no_kernel
from taper.sampling.continuous import exponential_
from taper.sampling.fill import WIDE_UNSIGNED, dtype_of, elsewhere, in_memory_order, source, write
from taper.sampling.generator import Generator
from taper.sampling.normals import c_library, uniform24, uniform53
from taper.sampling.one_by_one import OneByOne


def _are_probabilities(p: np.ndarray) -> bool:
    """Return whether all elements are between 0 and 1."""
    seen = glance_natively(p)  # the least and the greatest: 2 us less
    return bool(((p >= 0) & (p <= 1)).all()) if seen is None else seen[0] >= 0 and seen[1] <= 1


def bernoulli_(
    out: np.ndarray, p: np.ndarray | float = 0.5, generator: Generator | None = None
) -> np.ndarray:
    """Fill with ones, each with probability `p`, and zeros; an array `p` broadcasts to `out`.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.discrete import bernoulli_
    >>> bernoulli_(np.empty(4), 0.5, Generator().manual_seed(0))
    array([0., 0., 1., 0.])
    """
    if is_foreign(out):
        return elsewhere(bernoulli_, out, p, generator)
    if not isinstance(p, np.ndarray) and not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if not out.size:
        return out
    dtype = dtype_of(out)
    if dtype.is_complex or dtype in WIDE_UNSIGNED:
        form = "tensor_cpu_self_" if isinstance(p, np.ndarray) else "scalar_cpu_"
        raise no_kernel(f"bernoulli_{form}", dtype)
    draw = uniform53
    if isinstance(p, np.ndarray):
        if not dtype_of(p).is_floating_point:
            raise no_kernel("bernoulli_tensor_cpu_p_", dtype_of(p))
        if not _are_probabilities(p):
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                "message be improved?  If so, please report an enhancement request to PyTorch.)"
            )
        if p.dtype != np.float64:
            draw, p = uniform24, p.astype(np.float32)
        p = in_memory_order(np.broadcast_to(p, out.shape), out).ravel()
    elif _fill_trials(out, p, np.ones((), out.dtype), source(generator)):
        return out
    return write(out, draw(source(generator), out.size) < p)


def _fill_trials(out: np.ndarray, p: float, one: np.ndarray, generator: Generator) -> bool:
    """Fill natively with `one`, of the dtype of `out`, with probability `p`, and zeros."""
    if generator.fill("trials", out, p, one):
        return True
    flat = np.empty(out.size, out.dtype)
    if not generator.fill("trials", flat, p, one):
        return False
    write(out, flat)
    return True


def dropout_mask_(
    out: np.ndarray, p: float = 0.5, generator: Generator | None = None
) -> np.ndarray:
    """Fill with the factors of ``dropout``: 0 with probability `p`, else ``1 / (1 - p)``.

    Nothing is drawn when `p` is 0 or 1.  To have PyTorch's zeros, `out` needs the strides of the
    input (``np.empty_like`` gives them).

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.discrete import dropout_mask_
    >>> dropout_mask_(np.empty(4), 0.5, Generator().manual_seed(0))
    array([0., 0., 2., 0.])
    """
    if is_foreign(out):
        return elsewhere(dropout_mask_, out, p, generator)
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    dtype = dtype_of(out)
    if p in (0.0, 1.0) or not out.size:
        out[...] = 1 - int(p)
        return out
    if not dtype.is_floating_point and not dtype.is_complex and dtype not in WIDE_UNSIGNED:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {dtype.scalar_type}"
        )
    if not dtype.is_floating_point:
        raise no_kernel("bernoulli_scalar_cpu_", dtype)
    wide = out.dtype.type if out.dtype.itemsize > 4 else np.float32
    scale = np.asarray(wide(1.0) / wide(1.0 - p)).astype(out.dtype)
    if not _fill_trials(out, 1.0 - p, scale, source(generator)):
        bernoulli_(out, 1.0 - p, generator)
        out *= scale
    return out


@np.errstate(over="ignore")
def geometric_(out: np.ndarray, p: float, generator: Generator | None = None) -> np.ndarray:
    """Fill with the number of trials until the first success of probability `p`.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.discrete import geometric_
    >>> geometric_(np.empty(4), 0.1, Generator().manual_seed(0))
    array([1., 4., 8., 1.])
    """
    if is_foreign(out):
        return elsewhere(geometric_, out, p, generator)
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if not out.size:
        return out
    dtype = dtype_of(out)
    if dtype in (dtypes.bool_, *WIDE_UNSIGNED) or dtype.is_complex:
        raise no_kernel("geometric_cpu", dtype)
    uniforms = uniform53(source(generator), out.size)
    logarithms = c_library(math.log, np.maximum(uniforms, 5e-324))
    logarithms[uniforms == 0.0] = -np.inf
    values = np.ceil(logarithms / math.log1p(-p))
    if not dtype.is_floating_point:
        # What the processor makes of a number that is too large.
        limit = 2.0**63 if dtype is dtypes.int64 else 2.0**31
        values = np.where(values < limit, values, -limit).astype(np.int64)
    return write(out, values)


def poisson(rates: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """Return counts of events, each with the rate at its place in `rates`, in that dtype.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.discrete import poisson
    >>> poisson(np.array([1.0, 10.0, 100.0]), Generator().manual_seed(0))
    array([  2.,  15., 109.])
    """
    if not dtype_of(rates).is_floating_point:
        raise no_kernel("poisson_cpu", dtype_of(rates))
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    parameters = zip(rates.astype(np.float64).ravel().tolist(), strict=True)
    counts = OneByOne(source(generator)).values(_poisson_one, parameters, rates > 0)
    return write(np.empty(rates.shape, rates.dtype), np.array(counts, np.int64))


def _poisson_one(rate: float, draw: OneByOne) -> int:
    return (_poisson_large if rate >= 10.0 else _poisson_small)(rate, draw)


def _poisson_small(rate: float, draw: OneByOne) -> int:
    """Count how many uniform numbers can be multiplied before the product is below exp(-rate)."""
    if rate == 0.0:
        return 0
    count, product, limit = 0, draw(), math.exp(-rate)
    while product > limit:
        count += 1
        product *= draw()
    return count


def _poisson_large(rate: float, draw: OneByOne) -> int:
    """Draw by Hoermann's transformed rejection with squeeze (PTRS, 1993)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        value = (2.0 * a / us + b) * u + rate + 0.43 if us else math.inf
        # A count beyond 64 bits becomes the smallest integer, as on the processor.
        k = math.floor(value) if abs(value) < 2.0**63 else -(2**63)
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accepted <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def binomial(
    counts: np.ndarray, probs: np.ndarray, generator: Generator | None = None
) -> np.ndarray:
    """Return how many trials succeed, each with its probability; arrays of one shape and dtype.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.discrete import binomial
    >>> binomial(np.array([10.0, 100.0]), np.array([0.5, 0.5]), Generator().manual_seed(0))
    array([ 7., 51.])
    """
    kind = dtype_of(counts)
    if kind.itemsize == 2:
        raise no_kernel("binomial_cpu", kind)
    pairs = zip(counts.ravel().tolist(), probs.ravel().tolist(), strict=True)
    needs = (counts > 0) & (probs > 0) & (probs < 1)
    found = OneByOne(source(generator)).values(_binomial_one, pairs, needs)
    return write(np.empty(counts.shape, counts.dtype), np.array(found, np.float64))


def _binomial_one(count: float, prob: float, draw: OneByOne) -> float:
    if count <= 0.0 or prob <= 0.0:
        return 0.0
    if prob >= 1.0:
        return count
    if prob > 0.5:
        return count - _binomial_one(count, 1.0 - prob, draw)
    if not (prob <= 0.5 and count == count):
        return math.nan
    return (_binomial_large if count * prob >= 10.0 else _binomial_small)(count, prob, draw)


def _binomial_small(count: float, prob: float, draw: OneByOne) -> float:
    """Go from success to success: the distances have a geometric distribution."""
    successes, place, scale = 0, 0.0, math.log1p(-prob)
    while True:
        uniform = draw()
        place += math.ceil(math.log(uniform) / scale) if uniform else math.inf
        if place > count:
            return float(successes)
        successes += 1


def _stirling_rest(k: float) -> float:
    """Return what Stirling's formula for log(k!) lacks, without its first terms."""
    if k <= 9:
        return _STIRLING_RESTS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


_STIRLING_RESTS = [
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    for k in range(10)
]


def _binomial_large(count: float, prob: float, draw: OneByOne) -> float:
    """Draw by Hoermann's transformed rejection with squeeze (BTRS, 1993)."""
    spread = math.sqrt(count * prob * (1.0 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    squeeze = 0.92 - 4.2 / b
    ratio = prob / (1.0 - prob)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((count + 1) * prob)
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        k = float(math.floor((2.0 * a / us + b) * u + c)) if us else math.inf
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0 or k > count:
            continue
        accepted = math.log(v * alpha / (a / (us * us) + b)) if v else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
            + _stirling_rest(mode)
            + _stirling_rest(count - mode)
            - _stirling_rest(k)
            - _stirling_rest(count - k)
        )
        if accepted <= bound:
            return k


def multinomial(
    probs: np.ndarray, count: int, replacement: bool = False, generator: Generator | None = None
) -> np.ndarray:
    """Return indices of categories, `count` for each row, drawn with the row's weights.

    The weights need not be normalised.

    Differs: equal quotients weight / random number occur without replacement in half precision and
    among weights of zero; then the smaller index comes first.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.discrete import multinomial
    >>> multinomial(np.array([0.0, 10.0, 3.0, 0.0]), 4, True, Generator().manual_seed(0))
    array([2, 1, 1, 2])
    """
    _check_multinomial(probs, count, replacement)
    if count > 1 and replacement:
        return _with_replacement(probs, count, source(generator))
    if not probs.size and probs.shape[-1] == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    if not ((probs >= 0) & (probs < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (probs > 0).any(axis=-1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    quotients = exponential_(np.empty_like(probs), 1.0, generator)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotients = np.divide(probs, quotients)
    if count == 1:
        return np.argmax(quotients, axis=-1, keepdims=True)
    negated = -quotients.astype(np.promote_types(quotients.dtype, np.float32))
    if native is not None:
        best: np.ndarray | None = native.top_rows(negated, count, False)
        if best is not None:
            return best
    if 1000 < negated.shape[-1] > 4 * count:
        found = [_places_of_smallest(row, count) for row in np.atleast_2d(negated)]
        return np.array(found).reshape(*probs.shape[:-1], count)
    return np.argsort(negated, axis=-1, kind="stable")[..., :count]


def _places_of_smallest(row: np.ndarray, count: int) -> np.ndarray:
    """Return the first places of a stable sort; a few of many are found 5 times as fast so."""
    few = np.flatnonzero(row <= np.partition(row, count - 1)[count - 1])
    if few.size < count:  # NaN is not below anything
        return np.argsort(row, kind="stable")[:count]
    return few[np.argsort(row[few], kind="stable")[:count]]


def _check_multinomial(probs: np.ndarray, count: int, replacement: bool) -> None:
    if probs.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    dtype = dtype_of(probs)
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {dtype.scalar_type}"
        )
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > probs.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if probs.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _with_replacement(probs: np.ndarray, count: int, generator: Generator) -> np.ndarray:
    wide = np.float64 if probs.dtype == np.float64 else np.float32
    distributions = []
    for row in np.atleast_2d(probs).astype(wide):
        _check_weights(row)
        sums = np.cumsum(row, dtype=wide)
        cumulative = sums / sums[-1]
        cumulative[-1] = 1.0
        distributions.append(cumulative)
    uniforms = uniform53(generator, len(distributions) * count).reshape(-1, count)
    found = [np.searchsorted(*pair) for pair in zip(distributions, uniforms, strict=True)]
    return np.array(found, np.int64).reshape(*probs.shape[:-1], count)


def _check_weights(row: np.ndarray) -> None:
    reason = "sum of probabilities <= 0"
    usable = (row >= 0) & (row < np.inf)
    if usable.all():
        if row.sum() > 0:
            return
    elif row[np.argmin(usable)] >= 0:
        reason = "encountering probability entry = infinity or NaN"
    else:
        reason = "encountering probability entry < 0"
    raise RuntimeError(f"invalid multinomial distribution ({reason})")
