"""The types of `taper.nn.functional`.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import adaptive_avg_pool1d as adaptive_avg_pool1d
from taper import avg_pool1d as avg_pool1d
from taper import bilinear as bilinear
from taper import celu_ as celu_
from taper import channel_shuffle as channel_shuffle
from taper import conv1d as conv1d
from taper import conv2d as conv2d
from taper import conv3d as conv3d
from taper import conv_tbc as conv_tbc
from taper import conv_transpose1d as conv_transpose1d
from taper import conv_transpose2d as conv_transpose2d
from taper import conv_transpose3d as conv_transpose3d
from taper import cosine_similarity as cosine_similarity
from taper import hardshrink as hardshrink
from taper import native_channel_shuffle as native_channel_shuffle
from taper import pairwise_distance as pairwise_distance
from taper import pdist as pdist
from taper import pixel_shuffle as pixel_shuffle
from taper import pixel_unshuffle as pixel_unshuffle
from taper import prelu as prelu
from taper import relu_ as relu_
from taper import return_types as _return_types
from taper import rms_norm as rms_norm
from taper import rrelu_ as rrelu_
from taper import selu_ as selu_
from taper import sigmoid as sigmoid
from taper import tanh as tanh
from taper import threshold_ as threshold_
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.nn.linear_cross_entropy import LinearCrossEntropyOptions as _LinearCrossEntropyOptions
from taper.random import Generator
from taper.size import Size as _Size
from taper.tensor import Tensor
from typing_extensions import TypeIs
import numpy as _np

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False) -> tuple[Tensor, Tensor | None]:
    """Project queries, keys and values, attend in several heads, and project the result.

    The function behind `nn.MultiheadAttention`; lengths L (queries) and S (keys), batch N, width E.

    Args:
        query: (L, N, E) or (L, E).
        key, value: (S, N, E) or (S, E).
        embed_dim_to_check: E, for a check.
        num_heads: number of heads, a divisor of E.
        in_proj_weight: (3E, E), the projections of query, key and value, or None.
        in_proj_bias: (3E,) or None.
        bias_k, bias_v: (1, 1, E), one more key and value for all, or None.
        add_zero_attn: whether to add a key and a value of zeros.
        dropout_p: probability that a weight is dropped while training.
        out_proj_weight: (E, E), the last projection.
        out_proj_bias: (E,) or None.
        training: whether dropout is applied.
        key_padding_mask: (N, S); True where a key is ignored, or floats that are added to the
            scores.
        need_weights: whether to return the attention weights.
        attn_mask: (L, S) or (N · heads, L, S); True where there is no attention, or floats to add.
        use_separate_proj_weight: use the three weights below instead of `in_proj_weight`.
        q_proj_weight, k_proj_weight, v_proj_weight: the projections one by one.
        static_k, static_v: (N · heads, S, E / heads), used as projected key and value.
        average_attn_weights: whether the weights are averaged over the heads.
        is_causal: says that `attn_mask` is the causal one.

    Returns: the result (L, N, E) and the weights (N, L, S), or (N, heads, L, S), or None.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> x = taper.ones(2, 1, 4)
        >>> weight, out = taper.cat([taper.eye(4)] * 3), taper.eye(4)
        >>> result, weights = F.multi_head_attention_forward(
        ...     x, x, x, 4, 2, weight, None, None, None, False, 0.0, out, None)
        >>> weights
        tensor([[[0.5000, 0.5000],
                 [0.5000, 0.5000]]])
    """
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: _float = 0.0, is_causal: _bool = False, *, scale: _float | None = None, enable_gqa: _bool = False) -> Tensor:
    """Attend: average values, weighted by how well each query matches each key.

    result = softmax(query @ keyᵀ · scale + mask) @ value

    Args:
        query: (*, L, E), with L queries.
        key: (*, S, E), with S keys.
        value: (*, S, V).
        attn_mask: broadcasts to (*, L, S); a bool mask is True where there is attention, a floating
            one is added to the scores.
        dropout_p: probability that a weight is dropped; also applies outside of training.
        is_causal: let query i see the keys up to i only; excludes `attn_mask`.
        scale: factor of the scores; 1 / √E by default.
        enable_gqa: let several heads of `query` (dimension -3) share one head of `key` and `value`.

    Shape: (*, L, V).

    Differs from PyTorch: key and value of different lengths are an error; PyTorch's kernel reads
        beyond the end.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> x = taper.eye(2)[None, None]
        >>> F.scaled_dot_product_attention(x, x, x, is_causal=True)
        tensor([[[[1.0000, 0.0000],
                  [0.3302, 0.6698]]]])
    """
def fold(input: Tensor, output_size: _int | Sequence[_int | None] | None, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> Tensor:
    """Add up windows into an image, where they overlap: the reverse of `unfold`.

    Args:
        input: columns (N, C · K₁ · K₂, number of windows), or without N.
        output_size: size (H, W) of the image.
        kernel_size: size (K₁, K₂) of a window, a number or a pair.
        dilation: distance of a window's elements, a number or a pair.
        padding: zeros that `unfold` added on all sides, a number or a pair.
        stride: step from window to window, a number or a pair.

    Shape: (N, C, H, W).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fold(taper.ones(1, 2, 2), (1, 3), (1, 2))
        tensor([[[[1., 2., 1.]]]])
    """
def unfold(input: Tensor, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> Tensor:
    """Cut an image into windows, each of which becomes a column.

    Args:
        input: image (N, C, H, W) or (C, H, W).
        kernel_size: size (K₁, K₂) of a window, a number or a pair.
        dilation: distance of a window's elements, a number or a pair.
        padding: zeros added on all sides, a number or a pair.
        stride: step from window to window, a number or a pair.

    Shape: (N, C · K₁ · K₂, number of windows).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.unfold(taper.arange(4.0).view(1, 1, 2, 2), (1, 2))
        tensor([[[0., 2.],
                 [1., 3.]]])
    """
def one_hot(input: Tensor, num_classes: _int = -1) -> Tensor:
    """Turn class numbers into vectors with a single one.

    Args:
        input: int64 tensor of class numbers.
        num_classes: length of the vectors; by default one more than the largest number.

    Shape: (*) gives (*, num_classes), in int64.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.one_hot(taper.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> Tensor:
    """Look up rows of a table and reduce them bag by bag.

    Args:
        input: row numbers; a matrix with a bag in each row, or a vector of all bags.
        weight: table (rows, width).
        offsets: where each bag begins in a vector `input`.
        max_norm: rows that are looked up are first scaled down, in place, to this norm.
        norm_type: order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of `weight` is sparse, with a row for each index.
        per_sample_weights: factors of the rows, in the shape of `input`; only with "sum".
        include_last_offset: `offsets` also says where the last bag ends.
        padding_idx: row that does not count and gets no gradient.

    Shape: (bags, width).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> weight = taper.tensor([[1.0], [2.0], [4.0]])
        >>> F.embedding_bag(taper.tensor([[0, 2], [1, 1]]), weight, mode="sum")
        tensor([[5.],
                [4.]])
    """
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """Look up rows of a table.

    result = weight[input]

    Args:
        input: integer tensor of row numbers.
        weight: table (rows, width).
        padding_idx: row that gets no gradient.
        max_norm: rows that are looked up are first scaled down, in place, to this norm.
        norm_type: order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        sparse: whether the gradient of `weight` is sparse, with a row for each index.

    Shape: (*) gives (*, width).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> table = taper.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> F.embedding(taper.tensor([1, 0, 1]), table)
        tensor([[3., 4.],
                [1., 2.],
                [3., 4.]])
    """
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None) -> Tensor:
    """Multiply groups of matrices in one call.

    Args:
        mat_a: left matrices, a stack or one matrix that is cut into groups.
        mat_b: right matrices, likewise.
        offs: int32 vector with the end of each group, where a matrix is cut.
        bias: must be None, as in PyTorch.
        out_dtype: dtype of the result; must be that of `mat_a`.

    Shape: (g, m, k) and (g, k, n) give (g, m, n); a matrix (m, k) cut by rows gives (m, n), with
        zeros behind the last end; two matrices cut along k give (g, m, n).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> offs = taper.tensor([1, 2], dtype=taper.int32)
        >>> F.grouped_mm(taper.ones(2, 4), taper.ones(2, 4, 4), offs=offs)
        tensor([[4., 4., 4., 4.],
                [4., 4., 4., 4.]])
    """
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Apply an affine map to the last dimension.

    result = input @ weightᵀ + bias

    Args:
        input: a tensor (*, in).
        weight: matrix (out, in), or a vector (in,).
        bias: vector (out,), or None.
        out: tensor that receives the result.

    Shape: (*, out); with a vector as weight (*).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.linear(taper.ones(2, 3), taper.ones(1, 3), taper.tensor([0.5]))
        tensor([[3.5000],
                [3.5000]])
    """
def pad(input: Tensor, pad: Sequence[_int], mode: str = 'constant', value: _float | None = None) -> Tensor:
    """Add a border to a tensor.

    Args:
        input: a tensor.
        pad: widths in pairs (before, after), beginning with the last dimension; negative ones cut.
        mode: "constant", "reflect" (mirrored at the edge), "replicate" (the edge repeated) or
            "circular" (from the other side).
        value: number for the mode "constant"; 0 by default.

    Shape: each padded length grows by its two widths.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.pad(taper.tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="reflect")
        tensor([[2., 1., 2., 3., 2.]])
    """
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """Bend negative elements smoothly towards -alpha, with slope 1 at zero for any alpha.

    result = x where x > 0, else alpha · (exp(x / alpha) - 1)

    Args:
        input: a tensor.
        alpha: bound of the negative side.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.celu(taper.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """
def elu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """Bend negative elements smoothly towards -alpha.

    result = x where x > 0, else alpha · (eˣ - 1)

    Args:
        input: a tensor.
        alpha: bound of the negative side.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.elu(taper.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
def elu_(input: Tensor, alpha: _Number = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    """Bend negative elements smoothly towards a bound, in place.

    result = scale · x where x > 0, else scale · alpha · (exp(input_scale · x) - 1)

    Args:
        input: the tensor that is changed.
        alpha: bound of the negative side.
        scale: factor of the result.
        input_scale: factor of x in the exponential.

    Returns: `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.elu_(taper.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """
def gelu(input: Tensor, *, approximate: str = 'none', out: Tensor | None = None) -> Tensor:
    """Weigh every element by the normal distribution function.

    result = x · Φ(x), or x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))

    Args:
        input: a tensor.
        approximate: "none" for the first formula, "tanh" for the second.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.gelu(taper.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
def glu(input: Tensor, dim: _int = -1) -> Tensor:
    """Gate the first half of a tensor by the sigmoid of the second half.

    result = a · sigmoid(b), with a and b the halves of `input` along `dim`

    Args:
        input: a tensor whose length along `dim` is even.
        dim: dimension that is halved.

    Shape: (*, 2n, *) gives (*, n, *).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.glu(taper.tensor([2.0, 0.0]))
        tensor([1.])
    """
def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1) -> Tensor:
    """Draw from a categorical distribution so that gradients can flow through the draw.

    result = softmax((logits + g) / tau), with g drawn from the Gumbel distribution

    Args:
        logits: unnormalised log-probabilities.
        tau: temperature; small values give results close to one-hot.
        hard: return a one-hot draw that has the gradient of the soft one.
        eps: has no effect.
        dim: dimension along which the results sum to 1.

    Shape: the result has the shape of `logits`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> generator = taper.manual_seed(0)
        >>> F.gumbel_softmax(taper.zeros(1, 3), hard=True)
        tensor([[0., 0., 1.]])
    """
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """Approximate the sigmoid by straight lines.

    result = min(max(0, x + 3), 6) / 6

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardsigmoid(taper.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor:
    """Multiply every element by its hardsigmoid.

    result = x · min(max(0, x + 3), 6) / 6

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardswish(taper.tensor([-4.0, 1.0]))
        tensor([-0.0000, 0.6667])
    """
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> Tensor:
    """Move every element into [min_val, max_val].

    result = min(max(min_val, x), max_val)

    Args:
        input: a tensor.
        min_val: lower bound.
        max_val: upper bound.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardtanh(taper.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
    """Move every element into [min_val, max_val], in place.

    Args:
        input: the tensor that is changed.
        min_val: lower bound.
        max_val: upper bound.

    Returns: `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardtanh_(taper.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor:
    """Scale down negative elements.

    result = x where x > 0, else negative_slope · x

    Args:
        input: a tensor.
        negative_slope: factor of negative elements.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.leaky_relu(taper.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """Scale down negative elements in place.

    result = x where x > 0, else negative_slope · x

    Args:
        input: the tensor that is changed.
        negative_slope: factor of negative elements.

    Returns: `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.leaky_relu_(taper.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """Take the logarithm of softmax along a dimension, without overflow.

    result[i] = input[i] - ln Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the exponentials of the results sum to 1; leaving it out is
            deprecated and warns.
        _stacklevel: where that warning points to.
        dtype: dtype that `input` is converted to first.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.log_softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the sigmoid of every element, without overflow.

    result = ln(1 / (1 + e⁻ˣ))

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.logsigmoid(taper.tensor([0.0, 1.0]))
        tensor([-0.6931, -0.3133])
    """
def mish(input: Tensor, inplace: _bool = False) -> Tensor:
    """Multiply every element by the hyperbolic tangent of its softplus.

    result = x · tanh(ln(1 + eˣ))

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.mish(taper.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """Replace negative elements by zero.

    result = max(0, x)

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.relu(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """Move every element into [0, 6].

    result = min(max(0, x), 6)

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.relu6(taper.tensor([-1.0, 7.0]))
        tensor([0., 6.])
    """
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Scale down negative elements by a random slope while training, by the mean slope otherwise.

    result = x where x ≥ 0, else a · x; a is drawn from [lower, upper], or (lower + upper) / 2

    Args:
        input: a tensor.
        lower: smallest slope.
        upper: largest slope.
        training: whether slopes are drawn.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.rrelu(taper.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """Apply elu with the two constants that keep mean 0 and variance 1 from layer to layer.

    result = s · x where x > 0, else s · a · (eˣ - 1), with a = 1.6733 and s = 1.0507

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.selu(taper.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
def silu(input: Tensor, inplace: _bool = False) -> Tensor:
    """Multiply every element by its sigmoid; also called swish.

    result = x / (1 + e⁻ˣ)

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.silu(taper.tensor([-1.0, 1.0]))
        tensor([-0.2689,  0.7311])
    """
def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """Turn numbers into probabilities along a dimension.

    result[i] = exp(input[i]) / Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the results sum to 1; leaving it out is deprecated and warns.
        _stacklevel: where that warning points to.
        dtype: dtype that `input` is converted to first.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """Turn numbers into probabilities along a dimension, the largest for the smallest number.

    result[i] = exp(-input[i]) / Σⱼ exp(-input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the results sum to 1; leaving it out is deprecated and warns.
        _stacklevel: where that warning points to.
        dtype: dtype that `input` is converted to first.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softmin(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
def softplus(input: Tensor, beta: _Number = 1, threshold: _Number = 20, *, out: Tensor | None = None) -> Tensor:
    """Smooth the relu.

    result = ln(1 + exp(beta · x)) / beta, and x itself where beta · x > threshold

    Args:
        input: a tensor.
        beta: sharpness of the bend.
        threshold: where the function goes over into a straight line.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softplus(taper.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
def softshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Move every element towards zero by `lambd`, and to zero where it would pass it.

    result = x - lambd where x > lambd, x + lambd where x < -lambd, else 0

    Args:
        input: a tensor.
        lambd: the distance, not negative.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softshrink(taper.tensor([-1.0, 0.3, 0.75]))
        tensor([-0.5000,  0.0000,  0.2500])
    """
def softsign(input: Tensor) -> Tensor:
    """Squash every element into (-1, 1).

    result = x / (1 + |x|)

    Args:
        input: a tensor.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softsign(taper.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
def tanhshrink(input: Tensor) -> Tensor:
    """Subtract from every element its hyperbolic tangent.

    result = x - tanh x

    Args:
        input: a tensor.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.tanhshrink(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = False) -> Tensor:
    """Replace elements that are not above a threshold.

    result = x where x > threshold, else value

    Args:
        input: a tensor.
        threshold: bound that an element must exceed.
        value: what the others become.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.threshold(taper.tensor([-1.0, 2.0]), 0.5, 10)
        tensor([10.,  2.])
    """
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
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
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Normalise each channel to mean 0 and variance 1.

    result = (x - mean) / √(var + eps) · weight + bias, with one mean and variance for each channel

    Args:
        input: a tensor (N, C, *).
        running_mean, running_var: vectors (C,), used in evaluation and updated while training, or
            None.
        weight: factors (C,), or None.
        bias: summands (C,), or None.
        training: use mean and variance of the batch, not the running ones.
        momentum: share of the batch in the update of the running values (whose variance is
            unbiased).
        eps: added to the variance.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> mean, var = taper.zeros(1), taper.ones(1)
        >>> F.batch_norm(taper.tensor([[1.0], [3.0]]), mean, var, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
        >>> mean, var
        (tensor([0.2000]), tensor([1.1000]))
    """
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
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
def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
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
def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
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
def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
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
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
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
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Normalise groups of channels of each sample to mean 0 and variance 1.

    result = (x - mean) / √(var + eps) · weight + bias

    Args:
        input: a tensor (N, C, *).
        num_groups: number of groups, a divisor of C.
        weight: factors (C,), or None.
        bias: summands (C,), or None.
        eps: added to the variance.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.group_norm(taper.tensor([[1.0, 3.0, 10.0, 20.0]]), 2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Normalise each channel of each sample to mean 0 and variance 1.

    result = (x - mean) / √(var + eps) · weight + bias

    Args:
        input: a tensor (N, C, *).
        running_mean, running_var: vectors (C,), used without `use_input_stats` and updated with it,
            or None.
        weight: factors (C,), or None.
        bias: summands (C,), or None.
        use_input_stats: use mean and variance of the sample, not the running ones.
        momentum: share of the batch in the update of the running values.
        eps: added to the variance.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.instance_norm(taper.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """
def layer_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Normalise the last dimensions to mean 0 and variance 1.

    result = (x - mean) / √(var + eps) · weight + bias

    Args:
        input: a tensor whose last dimensions are `normalized_shape`.
        normalized_shape: the lengths of the dimensions to normalise over.
        weight: factors in that shape, or None.
        bias: summands in that shape, or None.
        eps: added to the variance.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.layer_norm(taper.tensor([[1.0, 3.0], [5.0, 1.0]]), (2,))
        tensor([[-1.0000,  1.0000],
                [ 1.0000, -1.0000]])
    """
def local_response_norm(input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> Tensor:
    """Divide each element by a power of the mean square of its neighbours among the channels.

    result = x / (k + alpha · mean of x² over `size` channels)^beta

    Args:
        input: a tensor (N, C, *).
        size: number of neighbouring channels, the element's own among them.
        alpha: factor of the mean square.
        beta: the exponent.
        k: summand.

    Shape: the result has the shape of `input`.

    Differs from PyTorch: the graph has one node where PyTorch has several for padding and pooling.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.local_response_norm(taper.ones(1, 2, 1), 2, alpha=6.0, beta=0.5)
        tensor([[[0.5000],
                 [0.3780]]])
    """
def normalize(input: Tensor, p: _float = 2.0, dim: _Ints | None = 1, eps: _float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide vectors along a dimension by their norm.

    result = x / max(‖x‖ₚ, eps)

    Args:
        input: a tensor.
        p: order of the norm.
        dim: dimension of the vectors.
        eps: smallest divisor.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.normalize(taper.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute the cross entropy of probabilities with targets.

    loss = -weight · (target · ln input + (1 - target) · ln(1 - input)), logarithms at least -100

    Args:
        input: probabilities in [0, 1].
        target: true values in [0, 1].
        weight: factors of the losses, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.binary_cross_entropy(taper.tensor([0.5]), taper.tensor([1.0]))
        tensor(0.6931)
    """
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """Compute the cross entropy of sigmoid(input) with targets, without overflow.

    loss = -weight · (pos_weight · target · ln p + (1 - target) · ln(1 - p)), p = sigmoid(input)

    Args:
        input: logits.
        target: true values in [0, 1].
        weight: factors of the losses, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        pos_weight: factors of the part where the target is 1, or None.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> f = F.binary_cross_entropy_with_logits
        >>> f(taper.tensor([0.0]), taper.tensor([1.0]))
        tensor(0.6931)
    """
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute a loss of angles: small ones are wanted for target 1, large ones for target -1.

    loss = 1 - cos(input1, input2) where target = 1, max(0, cos(input1, input2) - margin) where -1

    Args:
        input1: vectors (N, D) or (D,).
        input2: vectors of the same shape.
        target: 1 or -1, (N,) or ().
        margin: cosine below which dissimilar pairs do not count.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[0.0, 1.0]])
        >>> F.cosine_embedding_loss(a, b, taper.tensor([1]))
        tensor(1.)
    """
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean', label_smoothing: _float = 0.0) -> Tensor:
    """Compute the cross entropy of logits with target classes or target probabilities.

    loss = -weight[y] · log_softmax(input)[y] for a class y,
    or -Σ weight · target · log_softmax(input) for probabilities

    Args:
        input: logits (N, C, *) or (C,), C the number of classes.
        target: classes (N, *) or (), or probabilities in the shape of `input`.
        weight: a factor for each class; of target classes "mean" is then the weighted mean.
        size_average, reduce: old forms of `reduction`; deprecated.
        ignore_index: class whose elements do not count.
        reduction: "mean", "sum", or "none" for the losses one by one.
        label_smoothing: share of the uniform distribution that is mixed into the target, 0 to 1.

    Shape: 0-d; with "none" (N, *) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.cross_entropy(taper.zeros(1, 2), taper.tensor([1]))
        tensor(0.6931)
    """
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[_int], target_lengths: Tensor | Sequence[_int], blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """Compute the negative log-likelihood of label sequences, summed over all alignments.

    Args:
        log_probs: log-probabilities (T, N, C) or (T, C) of C classes at T steps.
        targets: classes (N, longest) or all sequences in one vector.
        input_lengths: number of steps of each sequence.
        target_lengths: number of labels of each sequence.
        blank: class that stands for no label.
        reduction: "mean" (losses divided by the lengths of their targets), "sum" or "none".
        zero_infinity: replace infinite losses, of targets too long to align, and their gradients by
            0.

    Shape: 0-d; with "none" (N,).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> log_probs = taper.zeros(2, 2).log_softmax(1)
        >>> F.ctc_loss(log_probs, taper.tensor([1]), taper.tensor(2), taper.tensor(1))
        tensor(0.2877)
    """
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | _float, full: _bool = False, eps: _float = 1e-06, reduction: str = 'mean') -> Tensor:
    """Compute the negative log-likelihood of targets under normal distributions.

    loss = (ln max(var, eps) + (input - target)² / max(var, eps)) / 2

    Args:
        input: means.
        target: true values.
        var: variances, a tensor that broadcasts, or a number.
        full: add the constant ln(2π) / 2.
        eps: smallest variance; gradients ignore it.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> one = taper.ones(1)
        >>> F.gaussian_nll_loss(taper.tensor([3.0]), one, one)
        tensor(2.)
    """
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute a loss of distances: small ones are wanted for target 1, large ones for target -1.

    loss = input where target = 1, max(0, margin - input) where target = -1

    Args:
        input: distances.
        target: 1 or -1 for each.
        margin: distance from which dissimilar pairs do not count.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` broadcast; the result is 0-d, with "none" of their shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> f = F.hinge_embedding_loss
        >>> f(taper.tensor([0.5, 0.25]), taper.tensor([1, -1]), reduction="none")
        tensor([0.5000, 0.7500])
    """
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: _float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Compute an error that is squared near zero and absolute far from it.

    loss = d² / 2 where d ≤ delta, else delta · (d - delta / 2), with d = |input - target|

    Args:
        input: predictions.
        target: true values.
        reduction: "mean", "sum", or "none" for the losses one by one.
        delta: where the square ends.
        weight: factors of the losses; "mean" then divides by their sum.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.huber_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(0.7500)
    """
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', log_target: _bool = False) -> Tensor:
    """Compute the Kullback-Leibler divergence of a distribution from a target distribution.

    loss = target · (ln target - input)

    Args:
        input: log-probabilities.
        target: probabilities.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "batchmean" (the sum divided by the batch size: the mathematical definition),
            "mean" (over all elements), "sum" or "none".
        log_target: whether `target` holds log-probabilities, too.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.kl_div(taper.tensor([-1.0]), taper.tensor([1.0]), reduction="sum")
        tensor(1.)
    """
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Compute the mean absolute error.

    loss = |input - target|

    Args:
        input: predictions.
        target: true values.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        weight: factors of the losses; "mean" then divides by their sum.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.l1_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(1.)
    """
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: _LinearCrossEntropyOptions | None = None) -> Tensor:
    """Compute the cross entropy of logits that a linear map makes of the input.

    loss = cross_entropy(linear(input, linear_weight, linear_bias), target)

    Args:
        input: features (N, F) or (F,).
        linear_weight: (C, F), or (C, *, F) for targets with more dimensions.
        target: classes or probabilities, as for `cross_entropy`.
        linear_bias: (C,), or (C, *), or None.
        weight: a factor for each class.
        reduction: "mean", "sum", or "none" for the losses one by one.
        ignore_index: class whose elements do not count.
        label_smoothing: share of the uniform distribution that is mixed into the target, 0 to 1.
        options: how to compute in parts, so that not all logits exist at the same time.

    Shape: 0-d; with "none" one loss for each target.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.linear_cross_entropy(taper.zeros(1, 3), taper.ones(2, 3), taper.tensor([1]))
        tensor(0.6931)
    """
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute how far one input fails to exceed another by a margin.

    loss = max(0, -target · (input1 - input2) + margin)

    Args:
        input1: first scores.
        input2: second scores.
        target: 1 where the first should be larger, -1 where the second should.
        margin: by how much.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: all have one shape or broadcast; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> f = F.margin_ranking_loss
        >>> f(taper.tensor([1.0]), taper.tensor([3.0]), taper.tensor([1.0]))
        tensor(2.)
    """
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Compute the mean squared error.

    loss = (input - target)²

    Args:
        input: predictions.
        target: true values.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        weight: factors of the losses; "mean" then divides by their sum.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.mse_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(2.)
    """
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute how far other classes come within a margin of the target class.

    loss = Σ over classes i ≠ y of weight[y] · max(0, margin - input[y] + input[i])ᵖ / C

    Args:
        input: scores (N, C) or (C,).
        target: classes (N,) or ().
        p: the exponent, 1 or 2.
        margin: by how much the target class should lead.
        weight: a factor for each class, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.multi_margin_loss(taper.tensor([[0.5, 0.0]]), taper.tensor([0]))
        tensor(0.2500)
    """
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute how far other classes come within 1 of any of several target classes.

    loss = Σ over targets y and other classes i of max(0, 1 - input[y] + input[i]) / C

    Args:
        input: scores (N, C) or (C,).
        target: class numbers (N, C) or (C,); in each row the first -1 ends them.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> x, y = taper.tensor([[0.5, 0.0]]), taper.tensor([[0, -1]])
        >>> F.multilabel_margin_loss(x, y)
        tensor(0.2500)
    """
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute the binary cross entropy of logits, averaged over the classes.

    loss = -mean over classes of weight · (target · ln p + (1 - target) · ln(1 - p)),
    with p = sigmoid(input)

    Args:
        input: logits (N, C) or (*, C).
        target: 0 or 1, in the same shape.
        weight: a factor for each class, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" the shape without C.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> x, y = taper.tensor([[0.0, 0.0]]), taper.tensor([[1.0, 0.0]])
        >>> F.multilabel_soft_margin_loss(x, y)
        tensor(0.6931)
    """
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute the negative log-likelihood of target classes.

    loss = -weight[y] · input[y] for the class y

    Args:
        input: log-probabilities (N, C, *) or (C,), C the number of classes.
        target: classes (N, *) or ().
        weight: a factor for each class; "mean" is then the weighted mean.
        size_average, reduce: old forms of `reduction`; deprecated.
        ignore_index: class whose elements do not count.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N, *) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.nll_loss(taper.tensor([[-1.0, -2.0]]), taper.tensor([1]))
        tensor(2.)
    """
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute the negative log-likelihood of counts under Poisson distributions.

    loss = exp(input) - target · input, or input - target · ln(input + eps) without `log_input`

    Args:
        input: logarithms of the rates, or the rates.
        target: counts.
        log_input: whether `input` holds logarithms.
        full: add the term of the target alone, by Stirling's formula.
        size_average, reduce: old forms of `reduction`; deprecated.
        eps: keeps the logarithm finite.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` broadcast; the result is 0-d, with "none" of their shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.poisson_nll_loss(taper.tensor([0.0]), taper.tensor([2.0]))
        tensor(1.)
    """
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', beta: _float = 1.0) -> Tensor:
    """Compute an error that is squared near zero and absolute far from it.

    loss = d² / (2·beta) where d < beta, else d - beta / 2, with d = |input - target|

    Args:
        input: predictions.
        target: true values.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        beta: where the square ends.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.smooth_l1_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(0.7500)
    """
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute the logistic loss of two classes.

    loss = ln(1 + exp(-target · input))

    Args:
        input: scores.
        target: 1 or -1 for each score.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.soft_margin_loss(taper.tensor([0.0]), taper.tensor([1.0]))
        tensor(0.6931)
    """
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Compute how far negatives fail to be farther from anchors than positives, by a margin.

    loss = max(0, d(anchor, positive) - d(anchor, negative) + margin), d(a, b) = ‖a - b‖ₚ

    Args:
        anchor: vectors (N, D) or (D,).
        positive: vectors that should be near.
        negative: vectors that should be far.
        margin: by how much farther.
        p: order of the norm.
        eps: added to every difference.
        swap: let d(positive, negative) count where it is the smaller one.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
        >>> F.triplet_margin_loss(a, b, c, margin=2.0)
        tensor(0.5858)
    """
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: _float = 1.0, swap: _bool = False, reduction: str = 'mean') -> Tensor:
    """Compute the loss of `triplet_margin_loss` with a distance of your own.

    loss = max(0, d(anchor, positive) - d(anchor, negative) + margin)

    Args:
        anchor: vectors (N, *).
        positive: vectors that should be near.
        negative: vectors that should be far.
        distance_function: d, a function of two tensors; by default `pairwise_distance`.
        margin: by how much farther.
        swap: let d(positive, negative) count where it is the smaller one.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
        >>> F.triplet_margin_with_distance_loss(a, b, c, margin=2.0)
        tensor(0.5858)
    """
def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Average windows whose number is given and that together cover the last two dimensions.

    Window i of n goes from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉, and likewise along W.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_avg_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[1.5000]]])
    """
def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Average windows whose number is given and that together cover the last three dimensions.

    Window i of n goes from ⌊i · D / n⌋ to ⌈(i + 1) · D / n⌉, and likewise along H and W.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_avg_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """Take the largest elements of windows that together cover the last dimension.

    Window i of n goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.
        return_indices: also return where the largest elements are.

    Shape: (N, C, output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[2., 3.]])
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that together cover the last dimension.

    Window i of n goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.
        return_indices: also return where the largest elements are.

    Shape: (N, C, output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[2., 3.]])
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any:
    """Take the largest elements of windows that together cover the last dimension.

    Window i of n goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.
        return_indices: also return where the largest elements are.

    Shape: (N, C, output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[2., 3.]])
    """
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that cover the last dimension, and their indices.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.
        return_indices: has no effect.

    Returns: the elements and their indices in L, both (N, C, output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool1d_with_indices(taper.tensor([[1.0, 2.0, 3.0]]), 1)
        (tensor([[3.]]), tensor([[2]]))
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """Take the largest elements of windows that together cover the last two dimensions.

    Window i of n goes from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉, and likewise along W.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[3.]]])
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that together cover the last two dimensions.

    Window i of n goes from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉, and likewise along W.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[3.]]])
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any:
    """Take the largest elements of windows that together cover the last two dimensions.

    Window i of n goes from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉, and likewise along W.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[3.]]])
    """
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that cover the last two dimensions, and their indices.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.
        return_indices: has no effect.

    Returns: the elements and their indices in the plane, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 1)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """Take the largest elements of windows that together cover the last three dimensions.

    Window i of n goes from ⌊i · D / n⌋ to ⌈(i + 1) · D / n⌉, and likewise along H and W.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[7.]]]])
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that together cover the last three dimensions.

    Window i of n goes from ⌊i · D / n⌋ to ⌈(i + 1) · D / n⌉, and likewise along H and W.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[7.]]]])
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any:
    """Take the largest elements of windows that together cover the last three dimensions.

    Window i of n goes from ⌊i · D / n⌋ to ⌈(i + 1) · D / n⌉, and likewise along H and W.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[7.]]]])
    """
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that cover the last three dimensions, and their indices.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.
        return_indices: has no effect.

    Returns: the elements and their indices in the volume, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool3d_with_indices(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
def avg_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Average each window of the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: zeros added on all sides, at most K / 2.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether padding counts in the averages.
        divisor_override: number to divide the sums by instead of the size of the window.
        out: tensor that receives the result.

    Shape: (N, C, H', W'), with H' = ⌊(H + 2·padding - K) / stride⌋ + 1 and W' alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.avg_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
def avg_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Average each window of the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: zeros added on all sides, at most K / 2.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether padding counts in the averages.
        divisor_override: number to divide the sums by instead of the size of the window.
        out: tensor that receives the result.

    Shape: (N, C, D', H', W'), with D' = ⌊(D + 2·padding - K) / stride⌋ + 1, and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.avg_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """Take the largest elements of windows at random distances in the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size of a window, a number or a pair.
        output_size: number of windows, one for both or a pair.
        output_ratio: pair of numbers in (0, 1) that multiply H and W, instead of `output_size`.
        return_indices: also return where the largest elements are, counted in the plane.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 2).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
        tensor([[[3.]]])
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows at random distances in the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size of a window, a number or a pair.
        output_size: number of windows, one for both or a pair.
        output_ratio: pair of numbers in (0, 1) that multiply H and W, instead of `output_size`.
        return_indices: also return where the largest elements are, counted in the plane.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 2).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
        tensor([[[3.]]])
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """Take the largest elements of windows at random distances in the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size of a window, a number or a pair.
        output_size: number of windows, one for both or a pair.
        output_ratio: pair of numbers in (0, 1) that multiply H and W, instead of `output_size`.
        return_indices: also return where the largest elements are, counted in the plane.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 2).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
        tensor([[[3.]]])
    """
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows at random distances, and their indices.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size of a window, a number or a pair.
        output_size: number of windows, one for both or a pair.
        output_ratio: pair of numbers in (0, 1) that multiply H and W, instead of `output_size`.
        return_indices: has no effect.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 2).

    Returns: the elements and their indices in the plane, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """Take the largest elements of windows at random distances in the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size of a window, a number or a triple.
        output_size: number of windows, one for all or a triple.
        output_ratio: triple of numbers in (0, 1) that multiply D, H and W, instead of
            `output_size`.
        return_indices: also return where the largest elements are, counted in the volume.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 3).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
        tensor([[[[26.]]]])
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows at random distances in the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size of a window, a number or a triple.
        output_size: number of windows, one for all or a triple.
        output_ratio: triple of numbers in (0, 1) that multiply D, H and W, instead of
            `output_size`.
        return_indices: also return where the largest elements are, counted in the volume.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 3).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
        tensor([[[[26.]]]])
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """Take the largest elements of windows at random distances in the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size of a window, a number or a triple.
        output_size: number of windows, one for all or a triple.
        output_ratio: triple of numbers in (0, 1) that multiply D, H and W, instead of
            `output_size`.
        return_indices: also return where the largest elements are, counted in the volume.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 3).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
        tensor([[[[26.]]]])
    """
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows at random distances, and their indices.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size of a window, a number or a triple.
        output_size: number of windows, one for all or a triple.
        output_ratio: triple of numbers in (0, 1) that multiply D, H and W, instead of
            `output_size`.
        return_indices: has no effect.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 3).

    Returns: the elements and their indices in the volume, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool3d_with_indices(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
        (tensor([[[[26.]]]]), tensor([[[[26]]]]))
    """
def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: _int, stride: _Ints | None = None, ceil_mode: _bool = False) -> Tensor:
    """Take the norm of order `norm_type` of each window of the last dimension.

    result = (Σ xᵖ)^(1/p), with p = norm_type

    Args:
        input: a tensor (N, C, L) or (C, L).
        norm_type: p.
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        ceil_mode: round the number of windows up, not down.

    Shape: (N, C, ⌊(L - K) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.lp_pool1d(taper.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
        tensor([[ 5., 10.]])
    """
def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: _bool = False) -> Tensor:
    """Take the norm of order `norm_type` of each window of the last two dimensions.

    result = (Σ xᵖ)^(1/p), with p = norm_type

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        norm_type: p.
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        ceil_mode: round the number of windows up, not down.

    Shape: (N, C, H', W'), with H' = ⌊(H - K) / stride⌋ + 1 and W' alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.lp_pool2d(taper.tensor([[[1.0, 1.0], [1.0, 1.0]]]), 2, 2)
        tensor([[[2.]]])
    """
def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: _bool = False) -> Tensor:
    """Take the norm of order `norm_type` of each window of the last three dimensions.

    result = (Σ xᵖ)^(1/p), with p = norm_type

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        norm_type: p.
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        ceil_mode: round the number of windows up, not down.

    Shape: (N, C, D', H', W'), with D' = ⌊(D - K) / stride⌋ + 1, and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.lp_pool3d(taper.ones(1, 2, 2, 2), 3, 2)
        tensor([[[[2.]]]])
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """Take the largest element of each window of the last dimension.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: -inf added at both ends, at most K / 2.
        dilation: distance of a window's elements.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are.

    Shape: (N, C, ⌊(L + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last dimension.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: -inf added at both ends, at most K / 2.
        dilation: distance of a window's elements.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are.

    Shape: (N, C, ⌊(L + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """Take the largest element of each window of the last dimension.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: -inf added at both ends, at most K / 2.
        dilation: distance of a window's elements.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are.

    Shape: (N, C, ⌊(L + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last dimension, and its index.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: -inf added at both ends, at most K / 2.
        dilation: distance of a window's elements.
        ceil_mode: round the number of windows up, not down.
        return_indices: has no effect.

    Returns: the elements and their indices in L, both as `max_pool1d` returns them.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool1d_with_indices(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """Take the largest element of each window of the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a pair.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, H', W'), with H' = ⌊(H + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1 and W'
        alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a pair.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, H', W'), with H' = ⌊(H + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1 and W'
        alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """Take the largest element of each window of the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a pair.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, H', W'), with H' = ⌊(H + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1 and W'
        alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
def max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last two dimensions, and its index.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a pair.
        ceil_mode: round the number of windows up, not down.
        return_indices: has no effect.

    Returns: the elements and their indices, counted in the plane, both as `max_pool2d` returns
        them.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 2)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """Take the largest element of each window of the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a triple.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, D', H', W'), with D' = ⌊(D + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1,
        and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a triple.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, D', H', W'), with D' = ⌊(D + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1,
        and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """Take the largest element of each window of the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a triple.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, D', H', W'), with D' = ⌊(D + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1,
        and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
def max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last three dimensions, and its index.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a triple.
        ceil_mode: round the number of windows up, not down.
        return_indices: has no effect.

    Returns: the elements and their indices, counted in the volume, both as `max_pool3d` returns
        them.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool3d_with_indices(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _int | Sequence[_int | None] | None = None) -> Tensor:
    """Put the elements that `max_pool1d` chose back in their places, among zeros.

    Args:
        input: the chosen elements (N, C, L) or (C, L).
        indices: their indices, as `max_pool1d` returned them.
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: padding of `max_pool1d`.
        output_size: size of the result, where several fit.

    Shape: (N, C, (L - 1) · stride - 2·padding + K).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_unpool1d(taper.tensor([[3.0, 2.0]]), taper.tensor([[1, 2]]), 2)
        tensor([[0., 3., 2., 0.]])
    """
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _int | Sequence[_int | None] | None = None) -> Tensor:
    """Put the elements that `max_pool2d` chose back in their places, among zeros.

    Args:
        input: the chosen elements (N, C, H, W) or (C, H, W).
        indices: their indices, as `max_pool2d` returned them.
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: padding of `max_pool2d`.
        output_size: size of the result, where several fit.

    Shape: (N, C, H', W'), with H' = (H - 1) · stride - 2·padding + K and W' alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_unpool2d(taper.tensor([[[3.0]]]), taper.tensor([[[3]]]), 2)
        tensor([[[0., 0.],
                 [0., 3.]]])
    """
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _int | Sequence[_int | None] | None = None) -> Tensor:
    """Put the elements that `max_pool3d` chose back in their places, among zeros.

    Args:
        input: the chosen elements (N, C, D, H, W) or (C, D, H, W).
        indices: their indices, as `max_pool3d` returned them.
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: padding of `max_pool3d`.
        output_size: size of the result, where several fit.

    Shape: (N, C, D', H', W'), with D' = (D - 1) · stride - 2·padding + K, and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_unpool3d(taper.tensor([[[[3.0]]]]), taper.tensor([[[[7]]]]), 2).sum()
        tensor(3.)
    """
def affine_grid(theta: Tensor, size: _Ints, align_corners: _bool | None = None) -> Tensor:
    """Make the sampling grid of affine maps, for `grid_sample`.

    result[n, i, j] = theta[n] @ (x, y, 1), with x and y from -1 to 1 over the picture

    Args:
        theta: maps (N, 2, 3) of pictures, or (N, 3, 4) of volumes.
        size: size (N, C, H, W) of the result of `grid_sample`, or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the border pixels (True) or their outer
            edges (False); None warns and means False.

    Shape: (N, H, W, 2) or (N, D, H, W, 3).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> identity = taper.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> F.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
        tensor([[[[-0.5000,  0.0000],
                  [ 0.5000,  0.0000]]]])
    """
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: _bool | None = None) -> Tensor:
    """Sample pictures or volumes at the places of a grid.

    Args:
        input: pictures (N, C, H, W) or volumes (N, C, D, H, W).
        grid: places (N, H', W', 2) as (x, y), or (N, D', H', W', 3), with coordinates from -1 to 1.
        mode: "bilinear", "nearest" or "bicubic" (pictures only).
        padding_mode: what lies outside: "zeros", the "border" or a "reflection".
        align_corners: whether -1 and 1 are the centres of the border pixels (True) or their outer
            edges (False); None warns and means False.

    Shape: (N, C, H', W') or (N, C, D', H', W').

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
        >>> F.grid_sample(picture, center, align_corners=False)
        tensor([[[[4.]]]])
    """
def interpolate(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False) -> Tensor:
    """Make a signal, picture or volume larger or smaller.

    Args:
        input: a tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: lengths of the result behind N and C, a number or a tuple.
        scale_factor: factors of the lengths, instead of `size`; the result is rounded down.
        mode: "nearest", "nearest-exact", "area"; "linear" for one dimension, "bilinear", "bicubic"
            and "lanczos" (only with `antialias`) for two, "trilinear" for three.
        align_corners: whether the corner elements keep their places; only for linear and cubic
            modes.
        recompute_scale_factor: compute the factor again from the rounded lengths.
        antialias: smooth before making smaller; "bilinear", "bicubic" and "lanczos" only.

    Shape: (N, C, *size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.interpolate(taper.tensor([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
        tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
def upsample(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: str = 'nearest', align_corners: _bool | None = None) -> Tensor:
    """Resize as `interpolate`; an old name that warns.

    Args:
        input: a tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: lengths of the result behind N and C.
        scale_factor: factors of the lengths, instead of `size`.
        mode: as for `interpolate`.
        align_corners: as for `interpolate`.

    Shape: (N, C, *size).

    Example:
        >>> import taper, warnings
        >>> from taper.nn import functional as F
        >>> warnings.simplefilter("ignore")
        >>> F.upsample(taper.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
def upsample_bilinear(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor:
    """Resize as `interpolate` with the mode "bilinear" and aligned corners; an old name that warns.

    Args:
        input: a tensor (N, C, H, W).
        size: lengths (H', W') of the result.
        scale_factor: factors of the lengths, instead of `size`.

    Shape: (N, C, H', W').

    Example:
        >>> import taper, warnings
        >>> from taper.nn import functional as F
        >>> warnings.simplefilter("ignore")
        >>> F.upsample_bilinear(taper.tensor([[[[0.0, 3.0]]]]), size=(1, 4))
        tensor([[[[0., 1., 2., 3.]]]])
    """
def upsample_nearest(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor:
    """Resize as `interpolate` with the mode "nearest"; an old name that warns.

    Args:
        input: a tensor (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: lengths of the result behind N and C.
        scale_factor: factors of the lengths, instead of `size`.

    Shape: (N, C, *size).

    Example:
        >>> import taper, warnings
        >>> from taper.nn import functional as F
        >>> warnings.simplefilter("ignore")
        >>> F.upsample_nearest(taper.tensor([[[[1.0, 2.0]]]]), size=(1, 4))
        tensor([[[[1., 1., 2., 2.]]]])
    """
