"""taper: PyTorch's autograd and training loop as an independent library.

The public API, one explicit list: `import taper as torch` runs the same program.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any as _Any

from taper import autograd, ops, pickling, random, return_types, version
from taper.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from taper.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from taper.device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    get_default_device,
    jagged,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    set_default_device,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from taper.dlpack import from_dlpack, to_dlpack
from taper.dtypes import DTYPES as _DTYPES
from taper.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from taper.errors import AcceleratorError, OutOfMemoryError
from taper.guards import guarded as _guarded
from taper.opdef import composites as _composites
from taper.opdef import registry as _registry
from taper.ops import on_demand as _on_demand
from taper.ops.data import from_numpy
from taper.ops.legacy import TENSOR_TYPES as _TENSOR_TYPES
from taper.ops.legacy import set_default_tensor_type
from taper.ops.ranges import range
from taper.printing import set_printoptions
from taper.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from taper.settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    use_deterministic_algorithms,
)
from taper.size import Size
from taper.storage import LEGACY as _STORAGE_TYPES
from taper.storage import StorageBase, TypedStorage, UntypedStorage
from taper.tensor import Tensor
from taper.torch_version import TorchVersion as _TorchVersion
from taper.userwarning import is_warn_always_enabled, set_warn_always

__version__ = _TorchVersion(version.__version__)  # PyTorch's; taper's own is `version.taper`
newaxis = None

# Packages that are imported when they are first used; the import of taper stays short.
_ON_DEMAND = frozenset(
    {"_C", "amp", "distributions", "fft", "files", "func", "linalg", "nn", "optim", "profiler"}
    | {"_utils", "serialization", "special", "testing", "utils", "viz"}
    | {"accelerator", "cpu", "distributed", "fx", "jit", "library", "multiprocessing", "signal"}
    | {"__config__", "_dynamo", "_inductor", "backends", "compiler", "cuda", "hub", "mps", "mtia"}
    | {"compat", "functional", "onnx", "futures", "overrides", "types", "vision", "xpu"}
)
_FROM_ON_DEMAND = {"compile": "compiler", "load": "serialization", "save": "serialization"}
_FROM_ON_DEMAND |= {"vmap": "func"}
_TOP_LEVEL = """
DisableTorchFunction DisableTorchFunctionSubclass _assert get_device_module has_lapack has_mkl
has_openmp has_spectral set_anomaly_enabled
"""
_FROM_ON_DEMAND |= dict.fromkeys(_TOP_LEVEL.split(), "top_level")
# Old questions about the build, which warn when they are asked and are in no list.
_DEPRECATED = ("has_cuda", "has_cudnn", "has_mkldnn", "has_mps")
_AUTOCAST = """
autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype
is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled
is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype
set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
"""
_FROM_ON_DEMAND |= dict.fromkeys(_AUTOCAST.split(), "amp.state")
_FROM_ON_DEMAND |= dict.fromkeys(("GradScaler", "autocast"), "amp")
_FROM_ON_DEMAND |= dict.fromkeys(
    ("_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"), "amp.grad_scaler"
)

# The functions of the operator table.  A test holds this list and the table equal.
_FUNCTIONS = """
_dirichlet_grad _neg_view _sample_dirichlet _standard_gamma _standard_gamma_grad _weight_norm
_weight_norm_interface abs abs_ absolute acos acos_ acosh acosh_ adaptive_avg_pool1d
adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv addmv_ addr adjoint affine_grid_generator
alias_copy all allclose alpha_dropout alpha_dropout_ amax amin aminmax angle any arange arccos
arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_
argmax argmin argsort argwhere as_strided as_strided_ as_strided_copy as_strided_scatter as_tensor
asarray asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d
avg_pool1d baddbmm bartlett_window batch_norm bernoulli bilinear binary_cross_entropy_with_logits
bincount binomial bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
bitwise_xor blackman_window block_diag bmm broadcast_shapes broadcast_tensors broadcast_to bucketize
can_cast cartesian_prod cat cdist ceil ceil_ celu celu_ chain_matmul channel_shuffle cholesky
cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip
clip_ clone column_stack combinations complex concat concatenate conj conj_physical conj_physical_
constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
convolution copysign corrcoef cos cos_ cosh cosh_ cosine_embedding_loss cosine_similarity
count_nonzero cov cross ctc_loss cummax cummin cumprod cumsum cumulative_trapezoid deg2rad deg2rad_
det detach detach_ detach_copy diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff
digamma dist div divide dot dropout dropout_ dsplit dstack einsum embedding embedding_bag
embedding_renorm_ empty empty_like empty_permuted empty_strided eq equal erf erf_ erfc erfc_ erfinv
exp exp2 exp2_ exp_ expand_copy expm1 expm1_ eye feature_alpha_dropout feature_alpha_dropout_
feature_dropout feature_dropout_ fill fill_ fix fix_ flatten flip fliplr flipud float_power floor
floor_ floor_divide fmax fmin fmod frac frac_ frexp frobenius_norm from_file frombuffer full
full_like gather gcd gcd_ ge geqrf ger get_device gradient greater greater_equal grid_sampler
grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt hamming_window hann_window hardshrink
hash_tensor heaviside hinge_embedding_loss histc histogram histogramdd hsplit hstack hypot i0 i0_
igamma igammac imag index_add index_copy index_fill index_put index_put_ index_reduce index_select
inner instance_norm inverse is_complex is_conj is_distributed is_floating_point is_inference is_neg
is_nonzero is_same_size is_signed is_storage is_tensor isclose isfinite isin isinf isnan isneginf
isposinf isreal istft kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le lerp
less less_equal lgamma linspace lobpcg log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax
logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logit_
logspace logsumexp lstm lstm_cell lt lu lu_solve lu_unpack margin_ranking_loss masked_fill
masked_scatter masked_select matmul matrix_exp matrix_power max max_pool1d max_pool1d_with_indices
max_pool2d max_pool3d maximum mean median meshgrid min minimum mm mode moveaxis movedim msort mul
multinomial multiply mv mvlgamma nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow
narrow_copy native_batch_norm native_channel_shuffle native_dropout native_group_norm
native_layer_norm native_norm ne neg neg_ negative negative_ nextafter nonzero nonzero_static norm
norm_except_dim normal not_equal nuclear_norm numel ones ones_like orgqr ormqr outer
pairwise_distance pca_lowrank pdist permute permute_copy pinverse pixel_shuffle pixel_unshuffle
poisson poisson_nll_loss polar polygamma positive pow prelu prod promote_types put qr quantile
rad2deg rad2deg_ rand rand_like randint randint_like randn randn_like randperm ravel real reciprocal
reciprocal_ relu relu_ remainder renorm repeat_interleave reshape resize_as_ resolve_conj
resolve_neg result_type rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round
round_ row_stack rrelu rrelu_ rsqrt rsqrt_ rsub scalar_tensor scatter scatter_add scatter_reduce
searchsorted segment_reduce select select_copy select_scatter selu selu_ sgn sigmoid sigmoid_ sign
signbit sin sin_ sinc sinc_ sinh sinh_ slice_copy slice_inverse slice_scatter slogdet softmax sort
split split_copy split_with_sizes split_with_sizes_copy sqrt sqrt_ square square_ squeeze
squeeze_copy stack std std_mean stft sub subtract sum svd svd_lowrank swapaxes swapdims t t_copy
take take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot threshold threshold_ tile topk
trace transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices
triplet_margin_loss triu triu_indices true_divide trunc trunc_ typename unbind unbind_copy unflatten
unfold_copy unique unique_consecutive unravel_index unsafe_chunk unsafe_split
unsafe_split_with_sizes unsqueeze unsqueeze_copy vander var var_mean vdot view_as_complex
view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack where xlogy xlogy_ zero_
zeros zeros_like
"""


def __getattr__(name: str) -> _Any:
    if name in _ON_DEMAND:
        return importlib.import_module(f"taper.{name}")
    if name in _FROM_ON_DEMAND:
        return getattr(importlib.import_module(f"taper.{_FROM_ON_DEMAND[name]}"), name)
    if name.startswith("_foreach_"):
        return getattr(importlib.import_module("taper.foreach"), name)
    if name in _on_demand.FAMILY_OF and name in _NAMES:
        _on_demand.load_function(name)
        fresh = [each for each in _NAMES if each not in globals() and _is_loaded(each)]
        globals().update({each: _function(each) for each in fresh})
        return globals()[name]
    if name in _DEPRECATED:
        return getattr(importlib.import_module("taper.top_level"), name)
    reason = None if name[:2] == "__" else _why_not(name)
    raise AttributeError(f"module 'taper' has no attribute {name!r}{reason or ''}")


def _why_not(name: str) -> str | None:
    sentence = importlib.import_module("taper.left_out").sentence(f"torch.{name}")
    return sentence and f". {sentence}"


def __dir__() -> list[str]:
    of_lists = importlib.import_module("taper.foreach").__all__
    return sorted({*globals(), *_ON_DEMAND, *_FROM_ON_DEMAND, *_NAMES, *of_lists})


def _is_loaded(name: str) -> _Any:
    return name in _composites or name in _registry


def _function(name: str) -> _Any:
    if name in _composites:
        return _guarded(name, _composites[name], __name__)
    return _registry[name].function


_NAMES = frozenset(_FUNCTIONS.split())
# float32, long, ...; FloatTensor, LongStorage, ...: names that hide builtins or are legion
globals().update(_DTYPES, **_TENSOR_TYPES, **_STORAGE_TYPES)
Storage = _STORAGE_TYPES["FloatStorage"]
globals().update({name: _function(name) for name in _NAMES if _is_loaded(name)})

autograd.torch = importlib.import_module(__name__)  # as PyTorch (Z6)
