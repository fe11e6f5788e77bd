"""What the events of a profile are called: PyTorch's names of the operators.

Owns: the names that differ from those of the operator table, and PyTorch's way of counting
floating-point operations, which depends on these names.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from taper.opdef import Op

# Operators of the table that PyTorch calls by another name.
_OPERATORS = {
    "_to_device": "_to_copy",
    "add_scalar": "add",
    "as_strided_values": "as_strided",
    "div_scalar": "div",
    "embedding_without_padding": "embedding",
    "expanded_copy": "expand_copy",
    "fill_BernoulliBackward2": "bernoulli_",
    "fill_CauchyBackward0": "cauchy_",
    "fill_ExponentialBackward0": "exponential_",
    "fill_GeometricBackward0": "geometric_",
    "fill_LogNormalBackward0": "log_normal_",
    "fill_NormalBackward0": "normal_",
    "fill_RandomBackward0": "random_",
    "fill_RandomBackward1": "random_",
    "fill_RandomBackward2": "random_",
    "fill_UniformBackward0": "uniform_",
    "fill_bernoulli": "bernoulli_",
    "fill_tensor": "fill",
    "fill_tensor_": "fill_",
    "index_fill_tensor": "index_fill",
    "masked_fill_tensor": "masked_fill",
    "mul_scalar": "mul",
    "pairs_copy": "view_as_real_copy",
    "permuted_copy": "permute_copy",
    "scatter_combined": "scatter",
    "scatter_value": "scatter",
    "search_sorted": "searchsorted",
    "selected_copy": "select_copy",
    "sliced_copy": "slice_copy",
    "split_sizes_copy": "split_with_sizes_copy",
    "split_tensor_copy": "split_copy",
    "squeeze_all_copy": "squeeze_copy",
    "squeeze_dim": "squeeze",
    "squeeze_dim_": "squeeze_",
    "squeeze_dim_copy": "squeeze_copy",
    "squeeze_dims": "squeeze",
    "squeeze_dims_": "squeeze_",
    "squeeze_dims_copy": "squeeze_copy",
    "strided_copy": "as_strided_copy",
    "sub_scalar": "sub",
    "unbound_copy": "unbind_copy",
    "unique_consecutive_slices": "unique_consecutive",
    "viewed_copy": "view_copy",
}

# Operators that PyTorch does not have: parts of others, and derivatives that it writes differently.
_OURS = frozenset(
    """
    _binary_cross_entropy_slope _cleared_at _fft_doubled _packed_rows _plain_index _rnn_layer
    _rnn_layer_backward _spread _to_integers as_strided_backward border border_backward
    channel_window_mean cleared_places index_backward lobpcg_pairs max_pool_values put_along
    repeat_backward reverse_cumsum take_along take_backward
    """.split()
)

# Composite functions that PyTorch's profiler shows under another name.
_COMPOSITES = {
    "__matmul__": "matmul",
    "__rmatmul__": "matmul",
    "affine_grid": "affine_grid_generator",
    "cross_entropy": "cross_entropy_loss",
    "dropout1d": "feature_dropout",
    "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout",
    "fold": "col2im",
    "functional_embedding_bag": "embedding_bag",
    "grid_sample": "grid_sampler",
    "nll_loss": "nll_loss_nd",
    "norm": "linalg_vector_norm",
    "dsmm": "mm",
    "hsmm": "hspmm",
    "spmm": "mm",
    "to_sparse_coo": "to_sparse",
    "unique": "_unique2",
    "vector_norm": "linalg_vector_norm",
    **dict.fromkeys(
        "bfloat16 bool byte cdouble cfloat char cpu double float half int long short type".split(),
        "to",
    ),
}

# Those that it does not show: questions about a tensor, conversions, and what PyTorch has in
# Python.
_NOT_SHOWN = frozenset(
    """
    apply_ as_subclass as_tensor asarray broadcast_shapes const_data_ptr cuda dim_order frombuffer
    gaussian_nll_loss get_device grouped_mm gumbel_softmax index interpolate is_complex is_conj
    is_contiguous is_floating_point is_inference is_neg is_shared is_signed is_storage is_tensor
    lobpcg local_response_norm lp_pool1d lp_pool2d lp_pool3d lu map2_ map_ max_unpool1d module_load
    multi_head_attention_forward multilabel_soft_margin_loss new new_tensor normalize numel numpy
    pca_lowrank share_memory_ storage storage_type svd_lowrank tensor tolist
    triplet_margin_with_distance_loss typename unravel_index untyped_storage upsample
    upsample_bilinear upsample_nearest
    """.split()
)


@functools.cache
def operator_name(op: Op, kind: str) -> str:
    """Return what PyTorch's profiler calls a call of an operator: `aten::mul`, `aten::mul_`."""
    if op.name in _OURS:
        return f"taper::{op.name}"
    name = _OPERATORS.get(op.name, op.label)
    if kind == "inplace" and not name.endswith("_"):
        name = op.inplace_name if name == op.name else f"{name}_"
    return f"aten::{name}"


def composite_name(name: str) -> str | None:
    """Return the same for a composite function; None if it does not show."""
    if name in _COMPOSITES:
        return f"aten::{_COMPOSITES[name]}"
    return None if name in _NOT_SHOWN or name.startswith("__") else f"aten::{name}"


# --- floating-point operations ---------------------------------------------------------------


def flops_of(name: str, shapes: Sequence[Any], plain: Sequence[Any]) -> int:
    """Return how many operations an operator took; 0 for all but the few that PyTorch counts."""
    count = _COUNTED.get(name)
    return 0 if count is None or not shapes else count(shapes, plain)


def _product(left: Sequence[int], right: Sequence[int]) -> int:
    return 2 * math.prod(left) * right[-1]


def _convolution(shapes: Sequence[Any], plain: Sequence[Any]) -> int:
    """Count a `conv2d` of four dimensions; `plain` is stride, padding, dilation, groups."""
    image, kernel = shapes[0], shapes[1]
    if len(image) != 4 or len(kernel) != 4 or len(plain) < 3 or isinstance(plain[1], str):
        return 0
    stride, padding, dilation = [
        (each, each) if isinstance(each, int) else tuple(each) * (3 - len(each))
        for each in plain[:3]
    ]
    places = math.prod(
        (image[dim + 2] + 2 * padding[dim] - dilation[dim] * (kernel[dim + 2] - 1) - 1)
        // stride[dim]
        + 1
        for dim in (0, 1)
    )
    return 2 * image[0] * places * math.prod(kernel)


_COUNTED: dict[str, Callable[[Sequence[Any], Sequence[Any]], int]] = {
    "aten::add": lambda shapes, _: math.prod(shapes[0]),
    "aten::addmm": lambda shapes, _: _product(shapes[1], shapes[2]),
    "aten::baddbmm": lambda shapes, _: _product(shapes[1], shapes[2]),
    "aten::bmm": lambda shapes, _: _product(shapes[0], shapes[1]),
    "aten::conv2d": _convolution,
    "aten::mm": lambda shapes, _: _product(shapes[0], shapes[1]),
    "aten::mul": lambda shapes, _: math.prod(shapes[0]),
}
