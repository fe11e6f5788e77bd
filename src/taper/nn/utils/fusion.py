"""A layer and the batch normalisation after it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.ops.creation.filled import ones_like, zeros_like
from taper.tensor import Tensor

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

ConvT = TypeVar("ConvT", bound=Module)
LinearT = TypeVar("LinearT", bound=Module)


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn: Any) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: ConvT, bn: Any, transpose: bool = False) -> ConvT:
    """Copy a convolution so that it does the work of the batch normalisation after it, too.

    Args:
        conv: the convolution, in eval mode.
        bn: the batch normalisation, in eval mode.
        transpose: whether the convolution is a transposed one.

    Example:
        >>> import taper
        >>> from taper import nn
        >>> conv, norm = nn.Conv2d(1, 2, 1).eval(), nn.BatchNorm2d(2).eval()
        >>> x = taper.ones(1, 1, 2, 2)
        >>> fused = nn.utils.fuse_conv_bn_eval(conv, norm)
        >>> taper.allclose(fused(x), norm(conv(x)))
        True
    """
    _check(conv, bn)
    fused: Any = copy.deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Fold a batch normalisation into weight and bias of a convolution, and return both.

        w ← w · bn_w / √(bn_rv + bn_eps), b ← (b - bn_rm) · bn_w / √(bn_rv + bn_eps) + bn_b

    Args:
        conv_w, conv_b: weight and bias of the convolution; a bias None is 0.
        bn_rm, bn_rv: running mean and variance.
        bn_eps: the `eps` of the normalisation.
        bn_w, bn_b: its weight and bias; None means 1 and 0.
        transpose: whether the channels of the output are dimension 1 of the weight.

    Example:
        >>> import taper
        >>> mean, variance, weight = taper.tensor([1.0]), taper.tensor([4.0]), taper.ones(1, 1, 2)
        >>> taper.nn.utils.fuse_conv_bn_weights(weight, None, mean, variance, 0.0, None, None)
        (Parameter containing:
        tensor([[[0.5000, 0.5000]]]), Parameter containing:
        tensor([-0.5000]))
    """
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(dtype=conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b.requires_grad)


def fuse_linear_bn_eval(linear: LinearT, bn: Any) -> LinearT:
    """Copy a `Linear` so that it does the work of the batch normalisation after it, too.

    Args:
        linear: the layer, in eval mode.
        bn: the batch normalisation, in eval mode.

    Example:
        >>> from taper import nn
        >>> nn.utils.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())
        Linear(in_features=3, out_features=2, bias=True)
    """
    _check(linear, bn)
    fused: Any = copy.deepcopy(linear)
    if fused.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={fused.out_features} and bn.num_features={bn.num_features}"
        )
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Fold a batch normalisation into weight and bias of a `Linear`, and return both.

        w ← w · bn_w / √(bn_rv + bn_eps), b ← (b - bn_rm) · bn_w / √(bn_rv + bn_eps) + bn_b

    Args:
        linear_w, linear_b: weight and bias of the layer; a bias None is 0.
        bn_rm, bn_rv: running mean and variance.
        bn_eps: the `eps` of the normalisation.
        bn_w, bn_b: its weight and bias.

    Example:
        >>> import taper
        >>> mean, variance, one = taper.tensor([1.0]), taper.tensor([4.0]), taper.ones(1)
        >>> weight = taper.ones(1, 2)
        >>> taper.nn.utils.fuse_linear_bn_weights(weight, None, mean, variance, 0.0, one, one)
        (Parameter containing:
        tensor([[0.5000, 0.5000]]), Parameter containing:
        tensor([0.5000]))
    """
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, linear_b.requires_grad)
