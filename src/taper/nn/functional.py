"""The functions behind the modules, under PyTorch's names and with its signatures.

Everything is computed by operators (`taper.ops`); this file only collects them.
"""

import importlib as _importlib
from typing import Any as _Any

from taper.autograd.overrides import has_grown as _has_grown
from taper.nn.linear_cross_entropy import linear_cross_entropy
from taper.opdef.guards import guard_all as _guard_all
from taper.ops.activation.functional import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from taper.ops.activation.softmax import functional_log_softmax as log_softmax
from taper.ops.activation.softmax import functional_softmax as softmax
from taper.ops.activation.softmax import softmin
from taper.ops.attention.multi_head import multi_head_attention_forward
from taper.ops.attention.scaled import scaled_dot_product_attention
from taper.ops.conv.fold import fold, unfold
from taper.ops.conv.functions import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from taper.ops.conv.tbc import conv_tbc
from taper.ops.image.grid import affine_grid, grid_sample
from taper.ops.image.interpolate import interpolate, upsample, upsample_bilinear, upsample_nearest
from taper.ops.image.padding import pad
from taper.ops.image.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from taper.ops.index.categories import gumbel_softmax, one_hot
from taper.ops.index.embedding import functional_embedding as embedding
from taper.ops.index.embedding_bag import functional_embedding_bag as embedding_bag
from taper.ops.linalg.grouped_mm import grouped_mm
from taper.ops.linalg.linear import bilinear, linear
from taper.ops.linalg.pairwise import pdist
from taper.ops.loss.binary_cross_entropy import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
)
from taper.ops.loss.class_margin import (
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
)
from taper.ops.loss.cross_entropy import cross_entropy, nll_loss
from taper.ops.loss.ctc import ctc_loss
from taper.ops.loss.elementwise import (
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from taper.ops.loss.margin import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from taper.ops.norm.batch import batch_norm, instance_norm
from taper.ops.norm.kernel_names import native_channel_shuffle
from taper.ops.norm.sample import group_norm, layer_norm, local_response_norm, normalize, rms_norm
from taper.ops.pool.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
)
from taper.ops.pool.average import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
)
from taper.ops.pool.fractional import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from taper.ops.pool.max import max_pool1d, max_pool1d_with_indices, max_pool2d, max_pool3d
from taper.ops.pool.max import max_pool2d_and_indices as max_pool2d_with_indices
from taper.ops.pool.max import max_pool3d_and_indices as max_pool3d_with_indices
from taper.ops.pool.unpool import max_unpool1d, max_unpool2d, max_unpool3d
from taper.ops.random.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)

__all__ = [
    # attention
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
    # convolution
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "unfold",
    # linear, lookup, shape
    "one_hot",
    "embedding_bag",
    "bilinear",
    "channel_shuffle",
    "embedding",
    "grouped_mm",
    "linear",
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    # activations
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    # normalisation and dropout
    "alpha_dropout",
    "batch_norm",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
    # losses and distances
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    # pooling
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    # resizing and sampling
    "affine_grid",
    "grid_sample",
    "interpolate",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

# What `taper` itself does not have under these names is found here, when it is pickled.
for _function in (celu_, elu_, gelu, leaky_relu_, softplus, softshrink, threshold_):
    _function.__module__ = __name__

_guard_all(globals())
_has_grown(globals())


def __getattr__(name: str) -> _Any:
    if name == "grad":  # late: the module `torch.nn.grad`, which PyTorch shows here too
        return _importlib.import_module("taper.nn.grad")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
