"""Dropout in all forms: elements or whole channels become zero, or SELU's saturation value.

The masks are PyTorch's for the same seed (D8).  A dropout is one product with the mask, and for
the alpha forms one sum more, so that the graph shows the same nodes as PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.interception import seen_made
from taper.autograd.state import local
from taper.autograd.transforms import whole
from taper.factory import array_like, refuse
from taper.opdef import composite, composites
from taper.ops.elementwise.arithmetic import mul
from taper.sampling.discrete import bernoulli_, dropout_mask_
from taper.sampling.fill import dtype_of
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user

# The value that SELU goes to for large negative inputs, with the sign changed.
_SATURATION = 1.7580993408473766


# --- the computation -------------------------------------------------------------------------


@whole("dropout")
def _dropped(function: str, input: Any, p: float, train: bool, inplace: bool) -> Tensor:
    """Set elements to zero with probability `p`; the others grow so that the mean stays."""
    array = _checked(function, input, p)
    if p == 0 or not train or not array.size:
        return input
    if p == 1:
        return _product(input, np.zeros((), array.dtype), inplace)
    mask = dropout_mask_(array_like(array, array.dtype, None), p)
    if local.state.interceptors:
        _show_mask(input, wrap(mask), p)
    return _product(input, mask, inplace)


def _show_mask(input: Tensor, mask: Tensor, p: float) -> None:
    """Show what PyTorch calls to make a mask to who sees operators."""
    seen_made("empty_like", (input,), {}, mask)
    seen_made("bernoulli_.float", (mask,) if p == 0.5 else (mask, 1 - p), {}, mask)
    seen_made("div_.Scalar", (mask, 1 - p), {}, mask)


@whole("feature_dropout")
def _dropped_features(function: str, input: Any, p: float, train: bool, inplace: bool) -> Tensor:
    """Set whole channels, the slices of the second dimension, to zero."""
    array = _checked(function, input, p)
    if p == 0 or not train or not array.size:
        return input
    if p == 1:
        return _product(input, np.zeros((), array.dtype), inplace)
    return _product(input, dropout_mask_(_channels(array), p), inplace)


@whole("alpha_dropout")
def _dropped_alpha(
    function: str, input: Any, p: float, train: bool, inplace: bool, features: bool = False
) -> Tensor:
    """Set elements or channels to SELU's saturation value; mean and variance stay."""
    array = _checked(function, input, p)
    if p == 0 or not train or not array.size:
        return input
    if p == 1:
        return _product(input, np.zeros((), array.dtype), inplace)
    noise = _channels(array) if features else array_like(array, array.dtype, None)
    if array.dtype.kind in "iub":
        # The difference of PyTorch's noise and a number, which makes bool an integer.
        name = "Long" if array.dtype == bool else dtype_of(array).scalar_type
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")
    bernoulli_(noise, 1.0 - p)
    drawn = wrap(noise)
    result = _product(input, alpha_factor(drawn, p)._array, inplace)
    return result.add_(alpha_shift(drawn, p))


def _alpha_scale(p: float) -> float:
    return 1.0 / math.sqrt((_SATURATION * _SATURATION * p + 1.0) * (1.0 - p))


def _at_least_single(noise: Tensor) -> np.ndarray:
    array = noise._array
    return array.astype(np.float32) if array.dtype.itemsize == 2 else array


def alpha_factor(noise: Tensor, p: float) -> Tensor:
    """What the elements that are kept are multiplied by; the others by zero."""
    return wrap((_at_least_single(noise) * _alpha_scale(p)).astype(noise._array.dtype))


def alpha_shift(noise: Tensor, p: float) -> Tensor:
    """What is added to all elements, so that dropped ones get the saturation value."""
    most = _SATURATION * _alpha_scale(p)
    shift = (_at_least_single(noise) - 1.0) * most + most * p
    return wrap(shift.astype(noise._array.dtype))


def _checked(function: str, input: Any, p: Any) -> np.ndarray:
    if not isinstance(input, Tensor):
        refuse(function, "input", 1, "Tensor", input)
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    return input._array


def _channels(array: np.ndarray) -> np.ndarray:
    if array.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = array.shape[:2] + (1,) * (array.ndim - 2)
    return np.empty_like(array, order="C", subok=False, shape=shape)


def _product(input: Tensor, factor: np.ndarray, inplace: bool) -> Tensor:
    return input.mul_(wrap(factor)) if inplace else mul(input, wrap(factor))


# --- nn.functional ---------------------------------------------------------------------------


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@composite(method=False, public=False)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set random elements to zero while training.

    result = x / (1 - p) with probability 1 - p, else 0

    Args:
        input: a tensor.
        p: probability that an element becomes zero.
        training: whether anything is dropped at all.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.dropout(taper.ones(4), 0.5)
        tensor([0., 0., 2., 0.])
    """
    _check_probability(p)
    return _dropped("dropout", input, p, training, inplace)


@composite(method=False, public=False)
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Drop random elements for networks with selu: mean and variance stay.

    result = a · x + b for kept elements, a · c + b for dropped ones, with c = -1.7581

    Args:
        input: a tensor.
        p: probability that an element is dropped.
        training: whether anything is dropped at all.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.alpha_dropout(taper.ones(4), 0.5, training=True)
        tensor([-0.7792, -0.7792,  1.6656, -0.7792])
    """
    _check_probability(p)
    return _dropped_alpha("alpha_dropout", input, p, training, inplace)


@composite(method=False, public=False)
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Drop random channels as `alpha_dropout` drops elements.

    Args:
        input: a tensor (N, C, *).
        p: probability that a channel is dropped.
        training: whether anything is dropped at all.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.feature_alpha_dropout(taper.ones(1, 3, 2), 0.5, training=True)[0, :, 0]
        tensor([-0.7792, -0.7792,  1.6656])
    """
    _check_probability(p)
    return _dropped_alpha("feature_alpha_dropout", input, p, training, inplace, features=True)


def _with_batch(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    """Drop channels of an input that may lack the batch dimension."""
    if batched:
        return _dropped_features("feature_dropout", input, p, training, inplace)
    single = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _dropped_features("feature_dropout", single, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


@composite(method=False, public=False)
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set random channels to zero while training; the others are divided by 1 - p.

    Args:
        input: a tensor (C, L) or (N, C, L).
        p: probability that a channel becomes zero.
        training: whether anything is dropped at all.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.dropout1d(taper.ones(3, 2))
        tensor([[0., 0.],
                [0., 0.],
                [2., 2.]])
    """
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _with_batch(input, p, training, inplace, ndim == 3)


@composite(method=False, public=False)
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set random channels to zero while training; the others are divided by 1 - p.

    Args:
        input: a tensor (N, C, H, W).
        p: probability that a channel becomes zero.
        training: whether anything is dropped at all.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.dropout2d(taper.ones(1, 3, 1, 1)).flatten()
        tensor([0., 0., 2.])
    """
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (3, 4):
        _warn_dimensions("dropout2d", ndim, 2, "3D or 4D")
    if ndim == 3:
        warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
            "dropout behavior is desired - input is interpreted as shape (N, C, L), where C is "
            "the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _dropped_features("feature_dropout", input, p, training, inplace)


@composite(method=False, public=False)
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set random channels to zero while training; the others are divided by 1 - p.

    Args:
        input: a tensor (C, D, H, W) or (N, C, D, H, W).
        p: probability that a channel becomes zero.
        training: whether anything is dropped at all.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.dropout3d(taper.ones(1, 3, 1, 1, 1)).flatten()
        tensor([0., 0., 2.])
    """
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (4, 5):
        _warn_dimensions("dropout3d", ndim, 3, "4D or 5D")
    return _with_batch(input, p, training, inplace, ndim == 5)


def _warn_dimensions(name: str, ndim: int, spatial: int, wanted: str) -> None:
    warn_user(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {wanted} inputs)."
    )


# --- the functions in the top namespace: f(input, p, train) and f_(input, p, train) ----------


_TOP_LEVEL_DOC = """Drop elements or channels as in `nn.functional`; `{name}_` works in place.

    >>> import taper
    >>> taper.{label}(taper.ones(1, 2), 0.5, train=False)
    tensor([[1., 1.]])
    """


def _top_level(name: str, compute: Callable[..., Tensor]) -> None:
    def function(input: Tensor, p: float, train: bool) -> Tensor:
        return compute(name, input, p, train, False)

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        return compute(f"{name}_", input, p, train, True)

    for label, each in ((name, function), (f"{name}_", in_place)):
        each.__name__ = each.__qualname__ = label
        each.__doc__ = _TOP_LEVEL_DOC.format(name=name, label=label)
        composites[label] = each


def _dropped_alpha_features(
    function: str, input: Any, p: float, train: bool, inplace: bool
) -> Tensor:
    return _dropped_alpha(function, input, p, train, inplace, features=True)


_top_level("dropout", _dropped)
_top_level("alpha_dropout", _dropped_alpha)
_top_level("feature_dropout", _dropped_features)
_top_level("feature_alpha_dropout", _dropped_alpha_features)
