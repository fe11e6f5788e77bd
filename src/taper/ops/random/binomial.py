"""Random counts of successes: `binomial`; the numbers are PyTorch's for the same seed (D8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.reduction import scalar_type
from taper.opdef import Array, composite, derivative, op
from taper.opdef.operands import broadcast_clash
from taper.ops.linalg.checks import check_tensors, no_derivative
from taper.ops.random.draws import check_generator
from taper.sampling import discrete
from taper.tensor import Tensor


@op(name="binomial_each", label="binomial", node="NotImplemented", public=False, method=False)
def binomial_each(count: Array, prob: Array, generator: Any) -> Array:
    """Draw successes of so many trials, each with its probability."""
    clash = broadcast_clash((count.shape, prob.shape))
    if clash is not None:
        raise clash
    if count.dtype.kind == "f" and count.dtype != prob.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type(prob.dtype)} but expected {scalar_type(count.dtype)}"
        )
    counts, probs = np.broadcast_arrays(count, prob)
    return discrete.binomial(counts, probs, generator)


@derivative(binomial_each, wrt=("count", "prob"))
def binomial_each_all(needs):
    raise no_derivative("binomial")


@composite(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Draw how many of `count` trials succeed, each with probability `prob`; both broadcast.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.binomial(taper.tensor([10.0, 100.0]), taper.tensor([0.5]))
    tensor([ 7., 51.])
    """
    check_tensors("binomial", count=count, prob=prob)
    check_generator("binomial", generator)
    if not count.is_floating_point():
        raise ValueError(
            "binomial only supports floating-point dtypes for count, got: "
            f"{count.dtype.scalar_type}"
        )
    return binomial_each(count, prob, generator)
