"""Gradients where functions have kinks, ties or poles: expression, place, and what PyTorch gives.

Appendix C of the behaviours, measured with float64.  `test_subgradients.py` compares taper with the
list, and the parity suite compares the list with PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

INF, NAN = math.inf, math.nan

# Constants that PyTorch has in single precision, even for float64.
SIXTH, TINY = 0.1666666716337204, 9.999999960041972e-13

# Of one tensor: expression of `x`, its elements, the gradient of the sum of the result.
POINTS: list[tuple[str, tuple[float, ...], tuple[float, ...]]] = [
    ("F.relu(x)", (0, -1, 1, NAN), (0, 0, 1, 1)),
    ("F.relu6(x)", (0, 6, 3), (0, 0, 1)),
    ("F.threshold(x, 0.5, 1.0)", (0.5, 0.6), (0, 1)),
    ("F.softshrink(x)", (0.5, -0.5, 0.6), (0, 0, 1)),
    ("F.hardshrink(x)", (0.5, -0.5, 0.6), (0, 0, 1)),
    ("F.hardtanh(x)", (-1, 1, 0), (0, 0, 1)),
    ("F.hardsigmoid(x)", (-3, 3, 0), (0, 0, SIXTH)),
    ("F.leaky_relu(x, 0.25)", (0, 1, -1), (0.25, 1, 0.25)),
    ("F.elu(x)", (0, 1), (1, 1)),
    ("F.gelu(x)", (0,), (0.5,)),
    ("F.hardswish(x)", (3, -3, 0), (1, 0, 0.5)),
    ("F.softplus(x)", (21, 30), (1, 1)),
    ("torch.abs(x)", (0, -2, 3), (0, -1, 1)),
    ("torch.sign(x)", (0, -2), (0, 0)),
    ("torch.sgn(x) + x", (0, -2), (1, 1)),
    ("torch.floor(x)", (0.5, 1), (0, 0)),
    ("torch.ceil(x)", (0.5, 1), (0, 0)),
    ("torch.round(x)", (0.5, 1), (0, 0)),
    ("torch.trunc(x)", (0.5, 1), (0, 0)),
    ("torch.frac(x)", (0.5, 1), (1, 1)),
    ("x.clamp(0, 1)", (0, 1, -1, 2, 0.5, NAN), (1, 1, 0, 0, 1, 0)),
    ("x.clamp_min(0)", (0, -1), (1, 0)),
    ("torch.sqrt(x)", (0, 4), (INF, 0.25)),
    ("torch.log(x)", (0, 2), (INF, 0.5)),
    ("torch.rsqrt(x)", (0,), (-INF,)),
    ("torch.asin(x)", (1,), (INF,)),
    ("x**0", (0, 2), (0, 0)),
    ("x**0.5", (0, 4), (INF, 0.25)),
    ("x**2", (0, 3), (0, 6)),
    ("torch.sinc(x)", (0,), (0,)),
    ("torch.nan_to_num(x)", (NAN, INF, 1), (0, 0, 1)),
    ("torch.xlogy(x, torch.zeros_like(x))", (0,), (0,)),
    ("torch.where(x > 0, x.log(), 0)", (-0.0, 2), (NAN, 0.5)),
    ("F.l1_loss(x, torch.zeros_like(x), reduction='sum')", (0, 1, -2), (0, 1, -1)),
    ("F.smooth_l1_loss(x, torch.zeros_like(x), reduction='sum')", (1, -1, 0.5), (1, -1, 0.5)),
    ("F.huber_loss(x, torch.zeros_like(x), reduction='sum')", (1, -1, 0.5), (1, -1, 0.5)),
    ("F.binary_cross_entropy(x, torch.ones_like(x), reduction='sum')", (0, 1), (-1 / TINY, 0)),
    ("F.binary_cross_entropy(x, torch.zeros_like(x), reduction='sum')", (0, 1), (0, 1 / TINY)),
    ("x.max()", (2, 2, 1), (0.5, 0.5, 0)),
    ("x.min()", (1, 1, 2), (0.5, 0.5, 0)),
    ("x.amax(0)", (2, 2, 1), (0.5, 0.5, 0)),
    ("x.amin(0)", (1, 1, 2), (0.5, 0.5, 0)),
    ("x.median()", (1, 2, 2, 2, 3), (0, 1 / 3, 1 / 3, 1 / 3, 0)),
    ("x.max(0).values", (2, 2, 1), (1, 0, 0)),
    ("x.sort().values[0]", (1, 1, 2), (1, 0, 0)),
    ("x.topk(1).values.sum()", (2, 2, 1), (1, 0, 0)),
    ("x.norm(INF)", (2, -2, 1), (0.5, -0.5, 0)),
    ("x.norm(1)", (0, -2, 1), (0, -1, 1)),
    ("x.norm()", (0, 0), (0, 0)),
    ("x.std()", (3, 3, 3), (0, 0, 0)),
    ("x.prod()", (0, 2, 3), (6, 0, 0)),
    ("x.prod()", (0, 0, 3), (0, 0, 0)),
    ("x.cumprod(0).sum()", (2, 0, 3), (1, 8, 0)),
    ("x.logsumexp(0)", (-INF, -INF), (NAN, NAN)),
    ("x.quantile(0.25)", (0, 2), (0.75, 0.25)),
    ("F.normalize(x, dim=0).sum()", (0, 0), (1e12, 1e12)),
    ("F.max_pool1d(x[None, None], 2).sum()", (1, 1, 0, 2), (1, 0, 0, 1)),
]

# Of two scalars: expression of `x` and `y`, the values, both gradients.
PAIRS: list[tuple[str, float, float, tuple[float, float]]] = [
    ("torch.maximum(x, y)", 1, 1, (0.5, 0.5)),
    ("torch.minimum(x, y)", 1, 1, (0.5, 0.5)),
    ("torch.fmax(x, y)", 1, 1, (1, 0)),
    ("torch.atan2(x, y)", 0, 0, (0, 0)),
    ("torch.hypot(x, y)", 0, 0, (NAN, NAN)),
    ("torch.pow(x, y)", 0, -1, (-INF, -INF)),
    ("torch.pow(x, y)", 0, 0, (0, 0)),
    ("torch.pow(x, y)", 0, 1, (1, 0)),
    ("torch.pow(x, y)", -2, 2, (-4, NAN)),
    ("torch.xlogy(x, y)", 0, 0, (0, NAN)),
    ("torch.clamp(x, y)", 1, 1, (1, 0)),
    ("torch.remainder(x, y)", 7, 3, (1, -2)),
    ("torch.fmod(x, y)", -7, 3, (1, 2)),
    ("torch.copysign(x, y)", 0, 1, (0, 0)),
    ("F.prelu(x, y)", 0, 0.25, (0.25, 0)),
]


def slopes(torch: Any, expression: str, points: tuple[float, ...]) -> list[float]:
    """Return the gradient of the sum of an expression of `x`, at these elements."""
    elements = [float(point) for point in points]
    x = torch.tensor(elements, dtype=torch.float64, requires_grad=True)
    eval(
        expression, {"torch": torch, "F": torch.nn.functional, "x": x, "INF": INF}
    ).sum().backward()
    return x.grad.tolist()


def pair_of_slopes(torch: Any, expression: str, first: float, second: float) -> list[float]:
    """Return the gradients of an expression of two scalars `x` and `y`."""
    x = torch.tensor(float(first), dtype=torch.float64, requires_grad=True)
    y = torch.tensor(float(second), dtype=torch.float64, requires_grad=True)
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "y": y}
    eval(expression, names).backward()
    return [x.grad.item(), y.grad.item()]


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        both_nan = math.isnan(one) and math.isnan(other)
        assert both_nan or one == other or math.isclose(one, other, rel_tol=1e-12), (
            found,
            expected,
        )
