"""The row of the operator tests: what an operator is called with, and what is claimed of it.

A row is data.  The templates in `test_ops.py`, `test_gradients.py` and `parity/test_ops_parity.py`
turn every row into tests of forward, dtypes, strides, 0-d and empty inputs, errors, in-place,
`out=`, gradients of first and second order, forward mode, and the comparison with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Arguments of one call.  Arrays become tensors, even inside lists.

    A float64 (complex128) array is a differentiable input; templates cast it to the dtype under
    test.  Integer and bool arrays keep their dtype.  `Fixed(array)` is a float array that never
    requires grad.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fixed:
    """A float array that is data, not a differentiable input."""

    array: np.ndarray


def sample(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


@dataclass(frozen=True)
class Raises:
    """A call that must fail: the type and a part of the text of PyTorch's exception."""

    error: type[Exception]
    text: str
    sample: Sample


@dataclass(frozen=True)
class OpCase:
    """One operator.

    name           path below the package: "mul", "nn.functional.gelu", "Tensor.view"
    samples        samples(rng) gives the calls; away from kinks, with 0-d, empty, broadcast shapes
    reference      the same on NumPy arrays, where NumPy or a few lines have it
    dtypes         dtypes in which the float arrays of the samples are tried and differentiated
    forward_dtypes further dtypes for which only the forward pass is compared (int64, bool, ...)
    complex        also try complex64 and complex128, with gradients
    differentiable whether results require grad; gradcheck is run
    gradgrad       whether gradgradcheck is run
    forward_ad     whether forward mode is checked against backward
    inplace        the method that does it in place, e.g. "mul_"
    out            whether `out=` exists
    graph          whether the nodes and their saved attributes are PyTorch's
    errors         calls that must fail
    random         results depend on the generator (seeded the same on both sides in parity)
    tolerance      relative tolerance in float32
    """

    name: str
    samples: Callable[[np.random.Generator], Iterable[Sample]]
    reference: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = ("float32", "float64")
    forward_dtypes: tuple[str, ...] = ()
    complex: bool = False
    differentiable: bool = True
    gradgrad: bool = True
    forward_ad: bool = True
    inplace: str | None = None
    out: bool = False
    graph: bool = True
    errors: tuple[Raises, ...] = ()
    random: bool = False
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Dtype:
    """A dtype argument by name: becomes `taper.float64` or `torch.float64`."""

    name: str
