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
    """Project, attend in several heads, project; returns the result and, if wanted, the weights.

    Inputs are (length, batch, width) or (length, width).  Where a bool mask is True there is no
    attention; a floating one is added.  `bias_k` and `bias_v` are one more key and value,
    `static_k` and `static_v` stand in their place, `add_zero_attn` adds one of zeros.
    `is_causal` says that `attn_mask` is the causal one.

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
    """softmax(query @ key.T * scale + mask) @ value, for heads and batches of them.

    Where a bool `attn_mask` is False there is no attention; a floating one is added.  `is_causal`
    lets a query see the keys up to its own place.  With `enable_gqa` several heads of the queries
    share one of keys and values.

    Differs: key and value of different lengths are an error; PyTorch's kernel reads on.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> x = taper.eye(2)[None, None]
    >>> F.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[[[1.0000, 0.0000],
              [0.3302, 0.6698]]]])
    """
def fold(input: Tensor, output_size: _int | Sequence[_int | None] | None, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> Tensor:
    """Columns added up as windows of an image; what windows share is the sum of all of them.

    >>> import taper
    >>> from taper.ops.conv.fold import fold
    >>> fold(taper.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
def unfold(input: Tensor, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> Tensor:
    """The windows of (batch, channels, height, width), each a column: (batch, C * kernel, windows).

    >>> import taper
    >>> from taper.ops.conv.fold import unfold
    >>> unfold(taper.arange(4.0).view(1, 1, 2, 2), (1, 2))
    tensor([[[0., 2.],
             [1., 3.]]])
    """
def one_hot(input: Tensor, num_classes: _int = -1) -> Tensor:
    """A vector of zeros with a one at its place for each number; `nn.functional.one_hot`.

    Without `num_classes` there are as many as the largest number asks for.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.one_hot(taper.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> Tensor:
    """Sums, means or maxima of bags of rows of `weight`.

    `input` is a matrix with a bag in each row, or a vector of all indices, and `offsets` says where
    each bag begins (with `include_last_offset` also where the last ends).  In sums each row may be
    multiplied by its `per_sample_weights`.  The row `padding_idx` does not count.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> weight = taper.tensor([[1.0], [2.0], [4.0]])
    >>> F.embedding_bag(taper.tensor([[0, 2], [1, 1]]), weight, mode="sum")
    tensor([[5.],
            [4.]])
    """
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """The rows of `weight` at the numbers in `input`.

    Row `padding_idx` gets no gradient.  With `max_norm` the rows that are looked up are first
    scaled down, in place, to that `norm_type` norm.  With `scale_grad_by_freq` a gradient is
    divided by how often its row was looked up.

    >>> import taper
    >>> table = taper.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> taper.nn.functional.embedding(taper.tensor([1, 0, 1]), table)
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None) -> Tensor:
    """Matrix products of groups; `offs` holds the ends of the groups in a matrix of two dimensions.

    Rows (columns) behind the last end give zeros.

    >>> import taper
    >>> from taper.ops.linalg.grouped_mm import grouped_mm
    >>> offs = taper.tensor([1, 2], dtype=taper.int32)
    >>> grouped_mm(taper.ones(2, 4), taper.ones(2, 4, 4), offs=offs)
    tensor([[4., 4., 4., 4.],
            [4., 4., 4., 4.]])
    """
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dimension of `input`.

    >>> import taper
    >>> from taper.ops.linalg.linear import linear
    >>> linear(taper.ones(2, 3), taper.ones(1, 3), taper.tensor([0.5]))
    tensor([[3.5000],
            [3.5000]])
    """
def pad(input: Tensor, pad: Sequence[_int], mode: str = 'constant', value: _float | None = None) -> Tensor:
    """A tensor with a border; `pad` lists widths in pairs from the last dimension on.

    `mode` is "constant" (with `value`), "reflect", "replicate" or "circular".

    >>> import taper
    >>> from taper.ops.image.padding import pad
    >>> pad(taper.tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="reflect")
    tensor([[2., 1., 2., 3., 2.]])
    """
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x above zero, else `alpha * (exp(x / alpha) - 1)`.

    >>> import taper
    >>> celu(taper.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
def elu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x above zero, else `alpha * (exp(x) - 1)`.

    >>> import taper
    >>> elu(taper.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
def elu_(input: Tensor, alpha: _Number = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    """In-place version of `elu`.

    >>> import taper
    >>> taper.nn.functional.elu_(taper.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
def gelu(input: Tensor, *, approximate: str = 'none', out: Tensor | None = None) -> Tensor:
    """x times the probability that a normal deviate is below x, or an approximation by tanh.

    >>> import taper
    >>> taper.nn.functional.gelu(taper.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
def glu(input: Tensor, dim: _int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second.

    >>> import taper
    >>> glu(taper.tensor([2.0, 0.0]))
    tensor([1.])
    """
def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1) -> Tensor:
    """softmax of the logits with random Gumbel noise, at temperature `tau`.

    With `hard` the result is one-hot, with the gradient of the soft one.  `eps` has no effect.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> generator = taper.manual_seed(0)
    >>> F.gumbel_softmax(taper.zeros(1, 3), hard=True)
    tensor([[0., 0., 1.]])
    """
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """(x + 3) / 6 kept within [0, 1].

    >>> import taper
    >>> hardsigmoid(taper.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor:
    """x times hardsigmoid(x).

    >>> import taper
    >>> hardswish(taper.tensor([-4.0, 1.0]))
    tensor([-0.0000, 0.6667])
    """
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> Tensor:
    """Every element kept within [min_val, max_val].

    >>> import taper
    >>> hardtanh(taper.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
    """In-place version of `hardtanh`.

    >>> import taper
    >>> hardtanh_(taper.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor:
    """x above zero, else `negative_slope` times x.

    >>> import taper
    >>> leaky_relu(taper.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """In-place version of `leaky_relu`.

    >>> import taper
    >>> taper.nn.functional.leaky_relu_(taper.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """The logarithm of softmax along a dimension; `nn.functional.log_softmax`.

    >>> import taper
    >>> from taper.ops.activation.softmax import functional_log_softmax
    >>> functional_log_softmax(taper.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)).

    >>> import taper
    >>> logsigmoid(taper.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133])
    """
def mish(input: Tensor, inplace: _bool = False) -> Tensor:
    """x times tanh(softplus(x)).

    >>> import taper
    >>> mish(taper.tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """The positive part of every element.

    >>> import taper
    >>> relu(taper.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """Every element kept within [0, 6].

    >>> import taper
    >>> relu6(taper.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """x above zero, else x times a slope: drawn from [lower, upper] while training, else the mean.

    >>> import taper
    >>> rrelu(taper.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """The self-normalising elu.

    >>> import taper
    >>> selu(taper.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
def silu(input: Tensor, inplace: _bool = False) -> Tensor:
    """x times sigmoid(x).

    >>> import taper
    >>> silu(taper.tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """
def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """Exponentials along a dimension, divided by their sum; `nn.functional.softmax`.

    >>> import taper
    >>> from taper.ops.activation.softmax import functional_softmax
    >>> functional_softmax(taper.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """softmax of the negative input; `nn.functional.softmin`.

    >>> import taper
    >>> from taper.ops.activation.softmax import softmin
    >>> softmin(taper.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
def softplus(input: Tensor, beta: _Number = 1, threshold: _Number = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x itself where beta x is above `threshold`.

    >>> import taper
    >>> taper.nn.functional.softplus(taper.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
def softshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x moved towards zero by `lambd`, and zero where it would pass it.

    >>> import taper
    >>> taper.nn.functional.softshrink(taper.tensor([-1.0, 0.3, 0.75]))
    tensor([-0.5000,  0.0000,  0.2500])
    """
def softsign(input: Tensor) -> Tensor:
    """x / (1 + abs(x)).

    >>> import taper
    >>> softsign(taper.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    >>> import taper
    >>> tanhshrink(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = False) -> Tensor:
    """Every element that is above `threshold`, else `value`.

    >>> import taper
    >>> threshold(taper.tensor([-1.0, 2.0]), 0.5, 10)
    tensor([10.,  2.])
    """
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Dropout for SELU networks: keeps mean and variance.

    >>> import taper
    >>> from taper.ops.random.dropout import alpha_dropout
    >>> generator = taper.manual_seed(0)
    >>> alpha_dropout(taper.ones(4), 0.5, training=True)
    tensor([-0.7792, -0.7792,  1.6656, -0.7792])
    """
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Each channel with mean 0 and variance 1, by the batch if `training`, else by running values.

    >>> import taper
    >>> from taper.ops.norm.batch import batch_norm
    >>> mean, var = taper.zeros(1), taper.ones(1)
    >>> batch_norm(taper.tensor([[1.0], [3.0]]), mean, var, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    >>> mean, var
    (tensor([0.2000]), tensor([1.1000]))
    """
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Elements become zero with probability `p`; the others are divided by `1 - p`.

    >>> import taper
    >>> from taper.ops.random.dropout import dropout
    >>> generator = taper.manual_seed(0)
    >>> dropout(taper.ones(4), 0.5)
    tensor([0., 0., 2., 0.])
    """
def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Dropout of whole channels of an input (C, L) or (N, C, L).

    >>> import taper
    >>> from taper.ops.random.dropout import dropout1d
    >>> generator = taper.manual_seed(0)
    >>> dropout1d(taper.ones(3, 2))
    tensor([[0., 0.],
            [0., 0.],
            [2., 2.]])
    """
def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Dropout of whole channels of an input (N, C, H, W).

    >>> import taper
    >>> from taper.ops.random.dropout import dropout2d
    >>> generator = taper.manual_seed(0)
    >>> dropout2d(taper.ones(1, 3, 1, 1)).flatten()
    tensor([0., 0., 2.])
    """
def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Dropout of whole channels of an input (C, D, H, W) or (N, C, D, H, W).

    >>> import taper
    >>> from taper.ops.random.dropout import dropout3d
    >>> generator = taper.manual_seed(0)
    >>> dropout3d(taper.ones(1, 3, 1, 1, 1)).flatten()
    tensor([0., 0., 2.])
    """
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`alpha_dropout` of whole channels.

    >>> import taper
    >>> from taper.ops.random.dropout import feature_alpha_dropout
    >>> generator = taper.manual_seed(0)
    >>> feature_alpha_dropout(taper.ones(1, 3, 2), 0.5, training=True)[0, :, 0]
    tensor([-0.7792, -0.7792,  1.6656])
    """
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Each group of channels of each sample with mean 0 and variance 1.

    >>> import taper
    >>> taper.nn.functional.group_norm(taper.tensor([[1.0, 3.0, 10.0, 20.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1.

    >>> import taper
    >>> from taper.ops.norm.batch import instance_norm
    >>> instance_norm(taper.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
def layer_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """The last dimensions, of shape `normalized_shape`, with mean 0 and variance 1.

    >>> import taper
    >>> taper.nn.functional.layer_norm(taper.tensor([[1.0, 3.0], [5.0, 1.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [ 1.0000, -1.0000]])
    """
def local_response_norm(input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> Tensor:
    """Each element divided by a power of the mean square of its neighbours among the channels.

    Differs: the graph has one node in the place of PyTorch's padding and pooling.

    >>> import taper
    >>> taper.nn.functional.local_response_norm(taper.ones(1, 2, 1), 2, alpha=6.0, beta=0.5)
    tensor([[[0.5000],
             [0.3780]]])
    """
def normalize(input: Tensor, p: _float = 2.0, dim: _Ints | None = 1, eps: _float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Vectors along `dim` divided by their p-norm, at least by `eps`.

    >>> import taper
    >>> taper.nn.functional.normalize(taper.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """The cross entropy of probabilities with targets between 0 and 1.

    >>> import taper
    >>> taper.nn.functional.binary_cross_entropy(taper.tensor([0.5]), taper.tensor([1.0]))
    tensor(0.6931)
    """
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """The cross entropy of sigmoid(input) with targets between 0 and 1.

    `weight` scales every element, `pos_weight` the part of the target that is one.

    >>> import taper
    >>> f = taper.nn.functional.binary_cross_entropy_with_logits
    >>> f(taper.tensor([0.0]), taper.tensor([1.0]))
    tensor(0.6931)
    """
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """1 - cosine of pairs with target 1; the cosine above `margin` of pairs with target -1.

    >>> import taper
    >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[0.0, 1.0]])
    >>> taper.nn.functional.cosine_embedding_loss(a, b, taper.tensor([1]))
    tensor(1.)
    """
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean', label_smoothing: _float = 0.0) -> Tensor:
    """The cross entropy of logits with target classes, or with target probabilities.

    The input has shape (batch, classes, ...) or (classes,); a floating point target of the same
    shape holds probabilities.  `label_smoothing` mixes the target with the uniform distribution.

    >>> import taper
    >>> taper.nn.functional.cross_entropy(taper.zeros(1, 2), taper.tensor([1]))
    tensor(0.6931)
    """
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[_int], target_lengths: Tensor | Sequence[_int], blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """Minus the log-likelihood of label sequences, summed over all alignments to the input.

    `log_probs` is (steps, batch, classes) or (steps, classes); `targets` is (batch, longest) or
    all sequences in a row.  The mean is over losses divided by the lengths of their targets.

    >>> import taper
    >>> from taper.ops.loss.ctc import ctc_loss
    >>> log_probs = taper.zeros(2, 2).log_softmax(1)
    >>> ctc_loss(log_probs, taper.tensor([1]), taper.tensor(2), taper.tensor(1))
    tensor(0.2877)
    """
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | _float, full: _bool = False, eps: _float = 1e-06, reduction: str = 'mean') -> Tensor:
    """The negative log-likelihood of targets under normal distributions of mean `input`.

    The variance is at least `eps`, which its gradient ignores; `full` adds the constant.

    >>> import taper
    >>> one = taper.ones(1)
    >>> taper.nn.functional.gaussian_nll_loss(taper.tensor([3.0]), one, one)
    tensor(2.)
    """
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """The input where the target is 1, what it lacks to `margin` where the target is -1.

    >>> import taper
    >>> f = taper.nn.functional.hinge_embedding_loss
    >>> f(taper.tensor([0.5, 0.25]), taper.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.7500])
    """
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: _float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Half the squared difference where it is at most `delta`, `delta` times the rest above.

    >>> import taper
    >>> taper.nn.functional.huber_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', log_target: _bool = False) -> Tensor:
    """The Kullback-Leibler divergence of target probabilities from log-probabilities.

    `reduction="batchmean"` is the sum divided by the batch size, the mathematical definition;
    with `log_target` the target holds log-probabilities too.

    >>> import taper
    >>> taper.nn.functional.kl_div(taper.tensor([-1.0]), taper.tensor([1.0]), reduction="sum")
    tensor(1.)
    """
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The absolute difference of input and target; weighted, a mean divides by the weights' sum.

    >>> import taper
    >>> taper.nn.functional.l1_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
    tensor(1.)
    """
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: _LinearCrossEntropyOptions | None = None) -> Tensor:
    """Compute `cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    The weight may have more dimensions between the classes and the features; the target then has
    them too. With `options` not all logits exist at the same time.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.linear_cross_entropy(taper.zeros(1, 3), taper.ones(2, 3), taper.tensor([1]))
        tensor(0.6931)
    """
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """How far input1 fails to exceed input2 by `margin`, or the other way where the target is -1.

    >>> import taper
    >>> f = taper.nn.functional.margin_ranking_loss
    >>> f(taper.tensor([1.0]), taper.tensor([3.0]), taper.tensor([1.0]))
    tensor(2.)
    """
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The squared difference of input and target; weighted, a mean divides by the weights' sum.

    >>> import taper
    >>> taper.nn.functional.mse_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
    tensor(2.)
    """
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """How far other classes come within `margin` of the target class, to the power `p` (1 or 2).

    >>> import taper
    >>> taper.nn.functional.multi_margin_loss(taper.tensor([[0.5, 0.0]]), taper.tensor([0]))
    tensor(0.2500)
    """
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """How far other classes come within 1 of any target class.

    The targets of a row are class numbers; the first -1 ends them.

    >>> import taper
    >>> x, y = taper.tensor([[0.5, 0.0]]), taper.tensor([[0, -1]])
    >>> taper.nn.functional.multilabel_margin_loss(x, y)
    tensor(0.2500)
    """
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """The binary cross entropy of logits, averaged over the last dimension.

    >>> import taper
    >>> x, y = taper.tensor([[0.0, 0.0]]), taper.tensor([[1.0, 0.0]])
    >>> taper.nn.functional.multilabel_soft_margin_loss(x, y)
    tensor(0.6931)
    """
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """Minus the log-probability of each target class.

    The input has shape (batch, classes, ...) or (classes,).  A mean is weighted by `weight`, one
    number for each class; targets equal to `ignore_index` do not count.

    >>> import taper
    >>> taper.nn.functional.nll_loss(taper.tensor([[-1.0, -2.0]]), taper.tensor([1]))
    tensor(2.)
    """
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negative log-likelihood of counts under Poisson distributions.

    The input is the logarithm of the rate, without `log_input` the rate itself; `full` adds
    Stirling's approximation of the term that the target alone decides.

    >>> import taper
    >>> taper.nn.functional.poisson_nll_loss(taper.tensor([0.0]), taper.tensor([2.0]))
    tensor(1.)
    """
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean', beta: _float = 1.0) -> Tensor:
    """The difference of input and target, squared where it is below `beta` and absolute above.

    >>> import taper
    >>> taper.nn.functional.smooth_l1_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1.

    >>> import taper
    >>> taper.nn.functional.soft_margin_loss(taper.tensor([0.0]), taper.tensor([1.0]))
    tensor(0.6931)
    """
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: str = 'mean') -> Tensor:
    """How far the negative fails to be farther from the anchor than the positive by `margin`.

    With `swap` the distance of positive and negative counts if it is smaller.

    >>> import taper
    >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
    >>> taper.nn.functional.triplet_margin_loss(a, b, c, margin=2.0)
    tensor(0.5858)
    """
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: _float = 1.0, swap: _bool = False, reduction: str = 'mean') -> Tensor:
    """As `triplet_margin_loss`, with a distance of the caller's.

    >>> import taper
    >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
    >>> taper.nn.functional.triplet_margin_with_distance_loss(a, b, c, margin=2.0)
    tensor(0.5858)
    """
def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Averages of windows that together cover the last two dimensions; None keeps a length.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_avg_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[1.5000]]])
    """
def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Averages of windows that together cover the last three dimensions; None keeps a length.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_avg_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """The largest elements of windows that cover the last dimension; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
    tensor([[2., 3.]])
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover the last dimension; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
    tensor([[2., 3.]])
    """
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any:
    """The largest elements of windows that cover the last dimension; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
    tensor([[2., 3.]])
    """
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that together cover the last dimension, and their places.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool1d_with_indices(taper.tensor([[1.0, 2.0, 3.0]]), 1)
    (tensor([[3.]]), tensor([[2]]))
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """The largest elements of windows that cover two dimensions; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[3.]]])
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover two dimensions; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[3.]]])
    """
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any:
    """The largest elements of windows that cover two dimensions; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[3.]]])
    """
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover the last two dimensions, and their places.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 1)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """The largest elements of windows that cover three dimensions; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover three dimensions; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> Any:
    """The largest elements of windows that cover three dimensions; with places on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover the last three dimensions, and their places.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.adaptive_max_pool3d_with_indices(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
def avg_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of the last two dimensions.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.avg_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
def avg_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of the last three dimensions.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.avg_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest elements of windows at random distances in the last two dimensions.

    There are `output_size` windows, or `output_ratio` times as many as there are elements.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
    tensor([[[3.]]])
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The largest elements of windows at random distances in the last two dimensions.

    There are `output_size` windows, or `output_ratio` times as many as there are elements.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
    tensor([[[3.]]])
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest elements of windows at random distances in the last two dimensions.

    There are `output_size` windows, or `output_ratio` times as many as there are elements.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
    tensor([[[3.]]])
    """
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The largest elements of windows at random distances, and their places in the plane.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest elements of windows at random distances in the last three dimensions.

    There are `output_size` windows, or `output_ratio` times as many as there are elements.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
    tensor([[[[26.]]]])
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The largest elements of windows at random distances in the last three dimensions.

    There are `output_size` windows, or `output_ratio` times as many as there are elements.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
    tensor([[[[26.]]]])
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest elements of windows at random distances in the last three dimensions.

    There are `output_size` windows, or `output_ratio` times as many as there are elements.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
    tensor([[[[26.]]]])
    """
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, output_size: _int | Sequence[_int | None] | None = None, output_ratio: _float | Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The largest elements of windows at random distances, and their places in the volume.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.fractional_max_pool3d_with_indices(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
    (tensor([[[[26.]]]]), tensor([[[[26]]]]))
    """
def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: _int, stride: _Ints | None = None, ceil_mode: _bool = False) -> Tensor:
    """The `norm_type` norm of each window of the last dimension.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.lp_pool1d(taper.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: _bool = False) -> Tensor:
    """The `norm_type` norm of each window of the last two dimensions.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.lp_pool2d(taper.tensor([[[1.0, 1.0], [1.0, 1.0]]]), 2, 2)
    tensor([[[2.]]])
    """
def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: _bool = False) -> Tensor:
    """The `norm_type` norm of each window of the last three dimensions.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.lp_pool3d(taper.ones(1, 2, 2, 2), 3, 2)
    tensor([[[[2.]]]])
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element in each window of the last dimension; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element in each window of the last dimension; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element in each window of the last dimension; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The largest element in each window of the last dimension, and its place.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool1d_with_indices(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element in each window of the last two dimensions; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element in each window of the last two dimensions; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element in each window of the last two dimensions; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
def max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The largest element in each window of the last two dimensions, and its place in the plane.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 2)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element in each window of the last three dimensions; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element in each window of the last three dimensions; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element in each window of the last three dimensions; with its place on request.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
def max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> tuple[Tensor, Tensor]:
    """The largest element in each window of three dimensions, and its place in the volume.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_pool3d_with_indices(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _int | Sequence[_int | None] | None = None) -> Tensor:
    """The elements that `max_pool1d` chose, in their places among zeros.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_unpool1d(taper.tensor([[3.0, 2.0]]), taper.tensor([[1, 2]]), 2)
    tensor([[0., 3., 2., 0.]])
    """
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _int | Sequence[_int | None] | None = None) -> Tensor:
    """The elements that `max_pool2d` chose, in their places among zeros.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_unpool2d(taper.tensor([[[3.0]]]), taper.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _int | Sequence[_int | None] | None = None) -> Tensor:
    """The elements that `max_pool3d` chose, in their places among zeros.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.max_unpool3d(taper.tensor([[[[3.0]]]]), taper.tensor([[[[7]]]]), 2).sum()
    tensor(3.)
    """
def affine_grid(theta: Tensor, size: _Ints, align_corners: _bool | None = None) -> Tensor:
    """For each affine map in `theta`, the places that it takes a picture of `size` to.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> identity = taper.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> F.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: _bool | None = None) -> Tensor:
    """Pictures (N, C, H, W) or volumes at the places of a grid, in coordinates from -1 to 1.

    `mode` is "bilinear", "nearest" or "bicubic" (pictures only); what lies outside is "zeros",
    the "border" or a "reflection".

    >>> import taper
    >>> from taper.nn import functional as F
    >>> picture, center = taper.arange(9.0).reshape(1, 1, 3, 3), taper.zeros(1, 1, 1, 2)
    >>> F.grid_sample(picture, center, align_corners=False)
    tensor([[[[4.]]]])
    """
def interpolate(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False) -> Tensor:
    """The input made larger or smaller, to `size` or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "linear" (one dimension), "bilinear", "bicubic",
    "lanczos" (two), "trilinear" (three) or "area".

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.interpolate(taper.tensor([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
def upsample(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None, mode: str = 'nearest', align_corners: _bool | None = None) -> Tensor:
    """An old name of `interpolate`; warns.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.nn.functional.upsample(taper.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
def upsample_bilinear(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor:
    """An old name of `interpolate` with the mode "bilinear" and aligned corners; warns.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.nn.functional.upsample_bilinear(taper.tensor([[[[0.0, 3.0]]]]), size=(1, 4))
    tensor([[[[0., 1., 2., 3.]]]])
    """
def upsample_nearest(input: Tensor, size: _Ints | None = None, scale_factor: _float | Sequence[_float] | None = None) -> Tensor:
    """An old name of `interpolate` with the mode "nearest"; warns.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.nn.functional.upsample_nearest(taper.tensor([[[[1.0, 2.0]]]]), size=(1, 4))
    tensor([[[[1., 1., 2., 2.]]]])
    """
