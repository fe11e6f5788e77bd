"""PyTorch's kernels under their own names: `native_batch_norm` and its kin.

Programs that were exported or decomposed call them. They return what the functions of the usual
names (`batch_norm`, `layer_norm`, `group_norm`, `dropout`, `channel_shuffle`) compute besides the
result.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from taper import dtypes
from taper.arrays.layouts import ELEMENTWISE, suggested_format
from taper.arrays.reduction import no_forward_mode
from taper.factory import number, refuse, shape_argument
from taper.opdef import MULTILINEAR, Array, composite, derivative, op, tangent_of
from taper.opdef.writes import compute_into
from taper.ops.elementwise.arithmetic import no_derivative
from taper.ops.image.pixels import channel_shuffle
from taper.ops.norm import batch as batch_norm
from taper.ops.norm import sample as norm
from taper.tensor import Tensor

# --- normalisation ---------------------------------------------------------------------------


def _normalised_batch(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    if not input._array.size:
        raise RuntimeError(
            f"input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    found = batch_norm.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, eps
    )
    if training and running_mean is not None and running_var is not None:
        batch_norm.follow(running_mean, running_var, found[1], found[3], momentum, input._array)
    return tuple(found[:3])


@composite(method=False, arrays=True)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `batch_norm`; also return mean and inverse deviation of each channel.

    >>> import taper
    >>> x = taper.tensor([[1.0], [3.0]])
    >>> taper.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    if not isinstance(input, Tensor):
        refuse("native_batch_norm", "input", 1, "Tensor", input)
    if not isinstance(training, bool):
        refuse("native_batch_norm", "training", 6, "bool", training)
    arguments = (input, weight, bias, running_mean, running_var, training, momentum, eps)
    if out is None:
        return _normalised_batch(*arguments)
    return tuple(compute_into("native_batch_norm", _normalised_batch, arguments, out))


@composite(method=False)
def native_layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `layer_norm`; also return mean and inverse deviation of each sample.

    >>> import taper
    >>> taper.native_layer_norm(taper.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    if not isinstance(input, Tensor):
        refuse("native_layer_norm", "input", 1, "Tensor", input)
    shape = shape_argument("native_layer_norm", "normalized_shape", 2, normalized_shape)
    return norm.native_layer_norm(input, shape, weight, bias, eps)


@composite(method=False)
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `group_norm`; also return mean and inverse deviation of each group.

    `N`, `C` and `HxW` are the numbers of samples, of channels and of elements of a channel.

    >>> import taper
    >>> x = taper.tensor([[1.0, 3.0]])
    >>> taper.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    if not isinstance(input, Tensor):
        refuse("native_group_norm", "input", 1, "Tensor", input)
    norm.check_groups(list(input.shape), C, group, weight, bias)
    if input.numel() != N * C * HxW:
        raise RuntimeError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if not input.is_contiguous(memory_format=suggested_format(input._array)):
        raise RuntimeError(
            "Expected X.is_contiguous(memory_format) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return norm.native_group_norm(input, weight, bias, N, C, HxW, group, eps)


@composite(method=False, numpy_names=True)
def native_norm(
    input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> NoReturn:
    """Refuse the norm of a sparse tensor: there is none here, and PyTorch refuses dense ones too.

    >>> import taper
    >>> taper.native_norm(taper.ones(2))
    Traceback (most recent call last):
    NotImplementedError: Could not run 'aten::native_norm' with arguments from the 'CPU' backend...
    """
    if p is not None:
        number("native_norm", "p", 2, p)
    which = "native_norm" if dim is None else "native_norm.ScalarOpt_dim_dtype"
    raise NotImplementedError(
        f"Could not run 'aten::{which}' with arguments from the 'CPU' backend. It is for sparse "
        "tensors: use norm()."
    )


# --- dropout ---------------------------------------------------------------------------------


def _scale(p: float) -> float:
    return 0.0 if p == 1 else 1.0 / (1.0 - p)


def _scaled(array: Any, mask: np.ndarray, p: float) -> Any:
    kind = array.dtype
    return array * mask.astype(kind) * kind.type(_scale(p))


@op(
    name="native_dropout_train",
    label="native_dropout",
    node="NativeDropoutBackward0",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def dropped(input: Array, mask: Array, p: float) -> tuple[Array, Array]:
    """Keep the input where the mask is, scaled so that the mean stays; also return the mask."""
    return _scaled(input, mask, p), mask


@derivative(dropped, wrt="input")
def dropped_input(grad_result0, result1, p):
    return native_dropout_backward(grad_result0, result1, _scale(p))


@tangent_of(dropped)
def dropped_tangent(input_t, result1, p):
    return native_dropout_backward(input_t, result1, _scale(p)), None


@op(
    name="native_dropout_eval",
    label="native_dropout",
    node="NativeDropoutBackward0",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def kept(input: Array, mask: Array, p: float) -> tuple[Array, Array]:
    """Return the input as it is, and a mask that is True everywhere."""
    return input.copy(), mask


@derivative(kept, wrt="input")
def kept_input(grad_result0, result1, p):
    return native_dropout_backward(grad_result0, result1, 1.0)


@tangent_of(kept)
def kept_tangent(input_t, result1):
    return native_dropout_backward(input_t, result1, 1.0), None


@op(tangent=MULTILINEAR, public=False, method=False)
def native_dropout_backward(grad_output: Array, mask: Array, scale: float) -> Array:
    """Keep the gradient where the mask is."""
    return grad_output * mask.astype(grad_output.dtype) * grad_output.dtype.type(scale)


@derivative(native_dropout_backward, wrt="grad_output")
def native_dropout_backward_grad(grad, mask, scale):
    return native_dropout_backward(grad, mask, scale)


@tangent_of(native_dropout_backward)
def native_dropout_backward_tangent(grad_output_t, mask, scale):
    return native_dropout_backward(grad_output_t, mask, scale)


@composite(method=False)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Compute `dropout`; also return the mask of what stays. `train=None` means True.

    >>> import taper
    >>> taper.native_dropout(taper.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if not isinstance(input, Tensor):
        refuse("native_dropout", "input", 1, "Tensor", input)
    if train is not None and not isinstance(train, bool):
        refuse("native_dropout", "train", 3, "bool", train)
    probability = number("native_dropout", "p", 2, p)
    if train is False or not input._array.size:
        mask = input.new_ones(input.shape, dtype=dtypes.bool_)
        return kept(input, mask, probability)
    mask = input.new_empty(input.shape, dtype=dtypes.bool_).bernoulli_(1 - probability)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype.scalar_type}"
        )
    return dropped(input, mask, probability)


# --- channel_shuffle -------------------------------------------------------------------------


@op(node="NotImplemented", method=False)
def native_channel_shuffle(self: Array, groups: int) -> Array:
    """Interleave groups of channels as `channel_shuffle`, without a derivative.

    Args:
        input: a tensor (N, C, *).
        groups: number of groups, a divisor of C.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.native_channel_shuffle(taper.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    return channel_shuffle.op.kernel(self, groups)


@derivative(native_channel_shuffle, wrt="self")
def native_channel_shuffle_self(grad):
    raise no_derivative("native_channel_shuffle")


@tangent_of(native_channel_shuffle)
def native_channel_shuffle_tangent(self_t):
    raise no_forward_mode("native_channel_shuffle")
