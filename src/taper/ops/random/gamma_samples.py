"""Random numbers of the gamma and Dirichlet distributions, and how they move with the parameters.

The numbers are PyTorch's for the same seed (D8): `sampling` draws them.  `distributions` is made
of these operators; PyTorch has them under private names, and so they are here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays import gamma_gradient as arrays
from taper.arrays.elements import FLOAT32, FLOAT64
from taper.arrays.reduction import scalar_type
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.operands import broadcast_clash
from taper.ops.linalg.checks import (
    check_tensors,
    missing_tangent,
    no_derivative,
    no_formula,
)
from taper.ops.random.draws import check_generator
from taper.sampling import gamma
from taper.tensor import Tensor


def _in_double(kernel: str, first: ndarray, *others: ndarray) -> list[ndarray]:
    """Convert the arguments of a gradient, of one dtype and broadcast, to double precision."""
    for other in others:
        clash = broadcast_clash((first.shape, other.shape))
        if clash is not None:
            raise clash
        if other.dtype != first.dtype:
            raise RuntimeError(
                f"Found dtype {scalar_type(other.dtype)} but expected {scalar_type(first.dtype)}"
            )
    if first.dtype not in (FLOAT32, FLOAT64):
        raise no_kernel(kernel, first.dtype)
    return [each.astype(np.float64) for each in np.broadcast_arrays(first, *others)]


# --- gamma -----------------------------------------------------------------------------------


@op(name="_standard_gamma_grad", node="StandardGammaGradBackward0", method=False)
def standard_gamma_gradient(self: Array, output: Array) -> Array:
    """Compute the derivative of gamma numbers `output` by their concentrations `input`.

    >>> import taper
    >>> taper._standard_gamma_grad(taper.tensor([1.0, 5.0]), taper.tensor([0.5, 6.0]))
    tensor([0.8070, 1.1311])
    """
    alpha, x = _in_double("_standard_gamma_grad_cpu", self, output)
    return arrays.standard_gamma_gradient(alpha, x).astype(self.dtype)


@derivative(standard_gamma_gradient, wrt=("self", "output"))
def standard_gamma_gradient_all(needs):
    raise no_formula("_standard_gamma_grad")


@tangent_of(standard_gamma_gradient)
def standard_gamma_gradient_tangent(self_t, output_t):
    raise missing_tangent("_standard_gamma_grad")


@op(
    name="standard_gamma_each",
    label="_standard_gamma",
    node="StandardGammaBackward0",
    public=False,
    method=False,
)
def standard_gamma_each(self: Array, generator: Any) -> Array:
    """Draw gamma numbers of rate 1 with the elements as concentrations."""
    return gamma.standard_gamma(self, generator)


@derivative(standard_gamma_each, wrt="self")
def standard_gamma_each_self(grad, self, result):
    return grad * standard_gamma_gradient(self, result)


@tangent_of(standard_gamma_each)
def standard_gamma_each_tangent(self_t):
    raise missing_tangent("_standard_gamma")


@composite(name="_standard_gamma", method=False)
def standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Draw numbers of the gamma distribution of rate 1, each with its concentration.

    Their gradient with respect to the concentration is that at a fixed probability.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper._standard_gamma(taper.tensor([2.0, 3.0]))
    tensor([4.5526, 2.2156])
    """
    check_tensors("_standard_gamma", input=input)
    check_generator("_standard_gamma", generator)
    return standard_gamma_each(input, generator)


# --- Dirichlet -------------------------------------------------------------------------------


@op(name="_dirichlet_grad", node="NotImplemented", method=False)
def dirichlet_gradient(x: Array, alpha: Array, total: Array) -> Array:
    """Compute the derivative of beta numbers `x` with respect to `alpha`, over `1 - x`.

    `total` is the sum of both parameters, of which the other one is fixed.

    >>> import taper
    >>> half, two, four = (taper.tensor([value]) for value in (0.5, 2.0, 4.0))
    >>> taper._dirichlet_grad(half, two, four)
    tensor([0.2954])
    """
    x64, alpha64, total64 = _in_double("_dirichlet_grad_cpu", x, alpha, total)
    return arrays.dirichlet_gradient(x64, alpha64, total64).astype(x.dtype)


@derivative(dirichlet_gradient, wrt=("x", "alpha", "total"))
def dirichlet_gradient_all(needs):
    raise no_derivative("_dirichlet_grad")


@op(
    name="sample_dirichlet_each",
    label="_sample_dirichlet",
    node="NotImplemented",
    public=False,
    method=False,
)
def sample_dirichlet_each(self: Array, generator: Any) -> Array:
    """Draw points of simplices with the elements of each row as concentrations."""
    return gamma.dirichlet(self, generator)


@derivative(sample_dirichlet_each, wrt="self")
def sample_dirichlet_each_self(grad):
    raise no_derivative("_sample_dirichlet")


@composite(name="_sample_dirichlet", method=False)
def sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Draw points of the Dirichlet distribution, one for each row of concentrations.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper._sample_dirichlet(taper.tensor([2.0, 3.0]))
    tensor([0.6726, 0.3274])
    """
    check_tensors("_sample_dirichlet", input=input)
    check_generator("_sample_dirichlet", generator)
    return sample_dirichlet_each(input, generator)
