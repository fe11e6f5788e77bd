"""What autocast does to an operator: in which dtype it sees its floating-point tensors.

Owns: PyTorch's lists for the CPU, and the casts.  Functions on a list take a detour
(`autograd.detours`) while some thread has autocast on; no other function is touched, and none while
autocast is off.

LOWER_PRECISION  products and convolutions run in the dtype of the block, bfloat16 or float16
SINGLE           losses, transforms and factorisations, of which many lack a kernel for
                 half precision, run in float32
WIDEST           functions that join tensors run in the widest dtype among them
ROUNDED          functions that PyTorch makes of products return the dtype of the block

Everything else runs on the tensors unchanged.  float64 is never cast.  While a function of a list
runs, autocast is off for the functions that it calls.  The in-place and `out=` forms are on no
list.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from taper import dtypes
from taper.autograd import detours
from taper.autograd.state import INFERENCE, NO_GRAD, State, local
from taper.device import strided
from taper.opdef import inplace_function, method_of, methods, named_composites, registry
from taper.ops.activation.leaky import prelu
from taper.ops.activation.softmax import (
    log_softmax_dim,
    log_softmax_single,
    softmax_dim,
    softmax_single,
)
from taper.ops.attention.scaled import scaled_dot_product_attention
from taper.ops.conv.functions import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from taper.ops.conv.tbc import conv_tbc
from taper.ops.creation.copy import as_type
from taper.ops.elementwise.complexes import polar, view_as_complex
from taper.ops.fft.functions import (
    fft_fft,
    fft_fft2,
    fft_fftn,
    fft_hfft,
    fft_ifft,
    fft_ifft2,
    fft_ifftn,
    fft_ihfft,
    fft_irfft,
    fft_irfft2,
    fft_irfftn,
    fft_rfft,
    fft_rfft2,
    fft_rfftn,
)
from taper.ops.fft.spectral import uncentred_stft
from taper.ops.image.border_padding import (
    reflection_pad1d,
    reflection_pad2d,
    replication_pad1d,
    replication_pad2d,
    replication_pad3d,
)
from taper.ops.image.grid import (
    affine_grid_generator,
    grid_sampler,
    grid_sampler_2d,
    grid_sampler_3d,
)
from taper.ops.index.slices import index_copy
from taper.ops.linalg.addmm import addbmm, addmm, baddbmm
from taper.ops.linalg.cholesky import (
    cholesky,
    cholesky_factor,
    cholesky_inverse,
    cholesky_solve,
    linalg_cholesky,
    linalg_cholesky_ex,
)
from taper.ops.linalg.distance import cdist
from taper.ops.linalg.eigen import (
    eigen_decomposition,
    linalg_eig,
    linalg_eigh,
    linalg_eigvals,
    linalg_eigvalsh,
)
from taper.ops.linalg.linear import linear
from taper.ops.linalg.lstsq import least_squares, linalg_lstsq
from taper.ops.linalg.lu import lu, lu_solve
from taper.ops.linalg.matmul import bmm, matmul, mm
from taper.ops.linalg.norms import linalg_cond
from taper.ops.linalg.products import linalg_vecdot
from taper.ops.linalg.qr import (
    geqrf,
    linalg_householder_product,
    linalg_qr,
    orgqr,
    ormqr,
    qr,
    qr_factors,
    reflectors_product,
)
from taper.ops.linalg.solve import (
    inverse,
    inverse_ex,
    linalg_inv,
    linalg_inv_ex,
    linalg_solve,
    linalg_tensorinv,
    linalg_tensorsolve,
)
from taper.ops.linalg.svd import (
    linalg_matrix_rank,
    linalg_svd,
    linalg_svdvals,
    pinverse,
    pseudo_inverse,
    svd,
)
from taper.ops.linalg.triangular import triangular_solve
from taper.ops.loss.binary_cross_entropy import (
    binary_cross_entropy_reduced,
    binary_cross_entropy_with_logits_reduced,
)
from taper.ops.loss.class_margin import multi_margin_loss_reduced, multilabel_margin_loss_forward
from taper.ops.loss.cross_entropy import cross_entropy, nll_loss2d_forward, nll_loss_forward
from taper.ops.loss.ctc import numbered_ctc_loss
from taper.ops.loss.elementwise import (
    huber_loss_reduced,
    l1_loss_reduced,
    mse_loss_reduced,
    numbered_kl_div,
    numbered_poisson_nll_loss,
    smooth_l1_loss_reduced,
    soft_margin_loss_reduced,
)
from taper.ops.loss.margin import (
    numbered_cosine_embedding_loss,
    numbered_hinge_embedding_loss,
    numbered_margin_ranking_loss,
    numbered_triplet_margin_loss,
)
from taper.ops.norm.sample import channel_window_mean
from taper.ops.pool.adaptive import adaptive_avg_pool3d, adaptive_maximum3d
from taper.ops.pool.average import average3d
from taper.ops.pool.fractional import fractional_by_samples
from taper.ops.pool.max import plain_max_pool3d
from taper.ops.pool.unpool import unpool2d, unpool3d
from taper.ops.recurrent.layers import mkldnn_rnn_layer
from taper.ops.reduction.quantile import nanquantile, quantile
from taper.ops.reduction.sums import prod
from taper.ops.shape.split import cat_along, stack
from taper.ops.shape.triangle import trace
from taper.ops.shape.view_copies import view_as_complex_copy
from taper.tensor import Tensor, outline_of

# fmt: off
LOWER_PRECISION: tuple[Any, ...] = (
    addbmm, addmm, baddbmm, bmm, conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d,
    conv_transpose2d, conv_transpose3d, linalg_vecdot, linear, matmul, mkldnn_rnn_layer, mm, prelu,
    scaled_dot_product_attention,
)
SINGLE: tuple[Any, ...] = (
    adaptive_avg_pool3d, adaptive_maximum3d, average3d, binary_cross_entropy_reduced,
    binary_cross_entropy_with_logits_reduced, cdist, cholesky, cholesky_factor, cholesky_inverse,
    cholesky_solve, cross_entropy, eigen_decomposition, fft_fft, fft_fft2, fft_fftn, fft_hfft,
    fft_ifft, fft_ifft2, fft_ifftn, fft_ihfft, fft_irfft, fft_irfft2, fft_irfftn, fft_rfft,
    fft_rfft2, fft_rfftn, fractional_by_samples, geqrf, grid_sampler, grid_sampler_2d,
    grid_sampler_3d, huber_loss_reduced, inverse, inverse_ex, l1_loss_reduced, least_squares,
    linalg_cholesky, linalg_cholesky_ex, linalg_cond, linalg_eig, linalg_eigh, linalg_eigvals,
    linalg_eigvalsh, linalg_householder_product, linalg_inv, linalg_inv_ex, linalg_lstsq,
    linalg_matrix_rank, linalg_qr, linalg_solve, linalg_svd, linalg_svdvals, linalg_tensorinv,
    linalg_tensorsolve, lu, lu_solve, mse_loss_reduced, multi_margin_loss_reduced,
    multilabel_margin_loss_forward, nanquantile, nll_loss2d_forward, nll_loss_forward,
    numbered_cosine_embedding_loss, numbered_ctc_loss, numbered_hinge_embedding_loss,
    numbered_kl_div, numbered_margin_ranking_loss, numbered_poisson_nll_loss,
    numbered_triplet_margin_loss, orgqr, ormqr, pinverse, plain_max_pool3d, polar, prod, qr,
    qr_factors, quantile, reflection_pad1d, reflection_pad2d, reflectors_product, replication_pad1d,
    replication_pad2d, replication_pad3d, smooth_l1_loss_reduced, soft_margin_loss_reduced, svd,
    trace, triangular_solve, uncentred_stft, unpool2d, unpool3d, view_as_complex,
    view_as_complex_copy,
)
WIDEST: tuple[Any, ...] = (cat_along, index_copy, stack)
ROUNDED: tuple[Any, ...] = (affine_grid_generator, pseudo_inverse)
# Under `vmap` a function gets its batched tensors uncast: it calls functions on the whole batch,
# which may be on a list themselves.  Two sets are exceptions: for CAST_IN_BATCHES the tensors are
# cast first; PLAIN_IN_BATCHES computes with the tensors uncast.
CAST_IN_BATCHES = frozenset((
    cholesky, cholesky_inverse, cholesky_solve, fractional_by_samples, geqrf, linalg_tensorsolve,
    lu_solve, nanquantile, numbered_kl_div, numbered_margin_ranking_loss,
    numbered_triplet_margin_loss, ormqr, prod, quantile, triangular_solve, uncentred_stft,
    view_as_complex_copy,
))
PLAIN_IN_BATCHES = frozenset((
    addbmm, binary_cross_entropy_with_logits_reduced, cross_entropy, nll_loss2d_forward,
    nll_loss_forward, trace,
))
# fmt: on

# What a GPU's list has beside these: operators, and functions of them, by name.
_ON_GPU = """
    acos asin cosh tan sinh exp expm1 log log10 log1p log2 reciprocal rsqrt pow_scalar pow_tensor
    pow_base softplus cumsum cumprod erfinv renorm dist sum_all sum_dim
    layer_norm group_norm norm cosine_similarity pdist
""".split()


def _single_on_gpu() -> list[Any]:
    composites = dict(named_composites)
    found = [
        registry[name].function if name in registry else composites.get(name) for name in _ON_GPU
    ]
    return [each for each in found if each is not None]


_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)


# --- casts -----------------------------------------------------------------------------------


def _cast(tensor: Tensor, dtype: dtypes.dtype, state: State) -> Tensor:
    """Return a tensor as an operator sees it."""
    array = outline_of(tensor)
    if array.dtype is dtype.numpy or array.dtype is _DOUBLE or not tensor.dtype.is_floating_point:
        return tensor
    settings = state.autocast_settings
    if (
        settings.cache_enabled
        and array.dtype is _SINGLE
        and dtype is settings.dtypes[settings.device]
        and tensor._grad_fn is None
        and tensor.requires_grad
        and tensor._view is None
        and not state.mode & INFERENCE
    ):
        return _cast_once(tensor, dtype, state)
    copy: Tensor = as_type(tensor, dtype) if tensor.layout is strided else tensor.to(dtype)
    return copy


def _cast_once(weight: Tensor, dtype: dtypes.dtype, state: State) -> Tensor:
    """Return the weight's copy that the outermost block keeps; it has history even in `no_grad`."""
    cache: dict[int, tuple[Tensor, Tensor]] = state.autocast_settings.cache
    known = cache.get(id(weight))
    if known is None:
        mode = state.mode
        state.mode = mode & ~NO_GRAD
        try:
            # Kept with the weight, so that no other object gets its identity while the block lasts.
            copy = as_type(weight, dtype) if weight.layout is strided else weight.to(dtype)
            known = cache[id(weight)] = weight, copy
        finally:
            state.mode = mode
    return known[1]


def _widest(values: list[Any], lower: dtypes.dtype) -> dtypes.dtype:
    """Return the dtype for tensors that are joined."""
    found = lower
    for each in values:
        array = each._array
        if array.dtype is _DOUBLE or not each.dtype.is_floating_point or found is dtypes.float32:
            continue
        if array.dtype is _SINGLE:
            found = dtypes.float32
        elif array.dtype is not lower.numpy:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return found


def _tensors(values: Any) -> list[Tensor]:
    """Return the tensors among arguments, and in lists among them."""
    found = []
    for each in values:
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, list | tuple):
            found.extend([inner for inner in each if isinstance(inner, Tensor)])
    return found


def _cast_argument(value: Any, dtype: dtypes.dtype, state: State) -> Any:
    if isinstance(value, Tensor):
        return _cast(value, dtype, state)
    if isinstance(value, list | tuple) and any([isinstance(each, Tensor) for each in value]):
        return [_cast(each, dtype, state) if isinstance(each, Tensor) else each for each in value]
    return value


def _in_order(function: Any, names: Any) -> list[str]:
    """Return keywords in the order of declaration."""
    code = detours.original_of(function).__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return sorted(names, key=lambda name: known.index(name) if name in known else -1)


# --- detours ---------------------------------------------------------------------------------

Choice = Callable[[list[Tensor], dtypes.dtype], dtypes.dtype]


def _casting(function: Any, choose: Choice) -> detours.Handler:
    """Return the handler of a function on a list; `choose` says in which dtype it runs."""

    def cast(run: Any, /, *args: Any, **kwargs: Any) -> Any:
        state = local.state
        lower = state.autocast
        if lower is None:
            return run(*args, **kwargs)
        tensors = _tensors(args if not kwargs else (*args, *kwargs.values()))
        if not tensors or tensors[0].device.type != state.autocast_settings.device:
            return run(*args, **kwargs)
        batched = bool(state.transforms) and _are_batched(tensors)
        if kwargs.get("out") is not None or (batched and function in PLAIN_IN_BATCHES):
            return without_autocast(run, args, kwargs, state)
        if batched and function not in CAST_IN_BATCHES:
            return run(*args, **kwargs)
        dtype = choose(tensors, lower)
        given = [*args]
        # PyTorch casts the last argument first: the order of the nodes shows it.
        for name in reversed(_in_order(function, kwargs) if len(kwargs) > 1 else [*kwargs]):
            kwargs[name] = _cast_argument(kwargs[name], dtype, state)
        for nr in reversed(range(len(given))):
            given[nr] = _cast_argument(given[nr], dtype, state)
        return without_autocast(run, given, kwargs, state)

    return cast


def _are_batched(tensors: list[Tensor]) -> bool:
    """Return whether some tensor stands for the examples of a `vmap`."""
    return any([hasattr(each, "_whole") for each in tensors])


def without_autocast(run: Any, args: Any, kwargs: Any, state: State) -> Any:
    """Call a function with autocast off for what it calls."""
    lower, settings = state.autocast, state.autocast_settings
    if lower is None:
        return run(*args, **kwargs)
    state.autocast = None
    settings.suspended += 1
    try:
        return run(*args, **kwargs)
    finally:
        settings.suspended -= 1
        state.autocast = lower


@contextlib.contextmanager
def casts_of_its_own() -> Iterator[None]:
    """Let the block make its own copies of weights, and keep none of them."""
    settings = local.state.autocast_settings
    if settings is None:
        yield
        return
    before, settings.cache = settings.cache, {}
    try:
        yield
    finally:
        settings.cache = before


def _passing(run: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Run the in-place form of a function on a list, with autocast off."""
    return without_autocast(run, args, kwargs, local.state)


def _rounding(run: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Run a function whose result is rounded to the dtype of the block."""
    state = local.state
    lower, result = state.autocast, without_autocast(run, args, kwargs, state)
    if lower is None or not isinstance(result, Tensor) or result._array.dtype is _DOUBLE:
        return result
    if _are_batched([result]):
        return as_type(result, lower)
    result._array = result._array.astype(lower.numpy)
    if result._grad_fn is not None:
        result._grad_fn._dtype = lower.numpy
    return result


def _single_in_volumes(tensors: list[Tensor], lower: dtypes.dtype) -> dtypes.dtype:
    """Return the mean that PyTorch takes with `avg_pool2d` or, in four dimensions, `avg_pool3d`."""
    return dtypes.float32 if tensors[0].ndim > 3 else tensors[0].dtype


def _as_single(tensors: list[Tensor], lower: dtypes.dtype) -> dtypes.dtype:
    return dtypes.float32


def _on_gpu(handler: detours.Handler) -> detours.Handler:
    """Return a handler for functions that are on the GPU's lists alone."""

    def cast(run: Any, /, *args: Any, **kwargs: Any) -> Any:
        settings = local.state.autocast_settings
        if settings is None or settings.device != "cuda":
            return run(*args, **kwargs)
        return handler(run, *args, **kwargs)

    return cast


def _normalising(plain: Any, single: Any) -> detours.Handler:
    """Return the handler of a softmax on a GPU: of half types, only its result is wider."""
    casting = _casting(plain, _as_single)

    def cast(run: Any, /, input: Tensor, dim: int) -> Any:
        state = local.state
        if state.autocast is None or not input.is_cuda or input._array.dtype.itemsize != 2:
            return casting(run, input, dim)
        return without_autocast(single, (input, dim), {}, state)

    return _on_gpu(cast)


def _as_a_whole(handler: detours.Handler) -> detours.Handler:
    """Return a handler for functions that are on the processor's lists, but not on the GPU's."""

    def cast(run: Any, /, *args: Any, **kwargs: Any) -> Any:
        settings = local.state.autocast_settings
        if settings is not None and settings.device == "cuda":
            return run(*args, **kwargs)
        return handler(run, *args, **kwargs)

    return cast


def _handlers() -> dict[Any, detours.Handler]:
    choices: list[tuple[tuple[Any, ...], Choice]] = [
        (LOWER_PRECISION, lambda tensors, lower: lower),
        (SINGLE, lambda tensors, lower: dtypes.float32),
        (WIDEST, _widest),
        ((channel_window_mean,), _single_in_volumes),
    ]
    found = {each: _casting(each, choose) for list_, choose in choices for each in list_}
    found |= dict.fromkeys(ROUNDED, _rounding)
    found |= {
        each: _on_gpu(_casting(each, _as_single)) for each in _single_on_gpu() if each not in found
    }
    found[softmax_dim] = _normalising(softmax_dim, softmax_single)
    found[log_softmax_dim] = _normalising(log_softmax_dim, log_softmax_single)
    found[cross_entropy] = _as_a_whole(found[cross_entropy])
    for function in list(found):
        entry = getattr(function, "op", None)
        if entry is not None and entry.inplace:
            found[inplace_function(function)] = _passing
    for name, function in methods.items():
        if function in found:
            found[method_of(function, name)] = found[function]
    return found


_HANDLERS = _handlers()


def start() -> None:
    """Let the functions of the lists run through the casts."""
    detours.lead_through("autocast", _HANDLERS)


def stop() -> None:
    """Let the functions of the lists run directly again."""
    detours.leave("autocast")
