"""The in-place methods that PyTorch also offers as functions: `torch.exp_(x)` is `x.exp_()`.

Owns: the list of names.
"""

from __future__ import annotations

from taper.factory import tensor_argument
from taper.opdef import composite, composites, inplace_as_function
from taper.ops import (
    activation,
    bits,
    clamping,
    complexes,
    leaky_activation,
    power,
    rounding,
    smooth_activation,
    special,
    trigonometry,
    unary,
)
from taper.tensor import Tensor

_METHODS = (
    "abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ "
    "atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ "
    "erfc_ exp2_ exp_ expm1_ fix_ floor_ frac_ gcd_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ "
    "nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ "
    "sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_"
)

# Importing them has declared the methods.
_DECLARED = (bits, clamping, complexes, power, rounding, special, trigonometry, unary)

for _name in _METHODS.split():
    inplace_as_function(_name)
composites.update(
    celu_=smooth_activation.celu_in_place,
    rrelu_=leaky_activation.rrelu_in_place,
    selu_=smooth_activation.selu_in_place,
    threshold_=activation.threshold_in_place,
)


@composite(method=False)
def detach_(input: Tensor) -> Tensor:
    """Cut the tensor's history in place.

    >>> import taper
    >>> taper.detach_(taper.ones(2, requires_grad=True) * 2)
    tensor([2., 2.])
    """
    tensor_argument("detach_", "input", input)
    result: Tensor = input.detach_()
    return result
