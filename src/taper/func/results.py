"""Rules for operators whose batch is computed by other operators: products, sums, norms, indices.

Each function gets the level and the arguments of the operator, and returns the batched result, or
None to decline.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from taper.func.batching import batched, is_batched, spread
from taper.func.rules import aligned, padded, whole_of, wrapped
from taper.opdef import registry
from taper.ops.creation.copy import fill
from taper.ops.linalg.matmul import matmul
from taper.ops.norm.batch import native_batch_norm
from taper.ops.norm.sample import native_group_norm, native_layer_norm
from taper.ops.reduction.sums import mean_dim, prod_dim, sum_dim
from taper.tensor import Tensor, wrap


def _as(level: Any, whole: Tensor) -> Tensor:
    return batched(whole, level)


def _of(level: Any, value: Any) -> Any:
    return value._whole if is_batched(value, level) else value


# --- everything at once ----------------------------------------------------------------------


def _flat(self: Any) -> Tensor:
    whole = self._whole
    flat: Tensor = whole.reshape(whole._array.shape[0], self._array.size)
    return flat


def sum_all(level: Any, self: Any, dtype: Any) -> Any:
    """Return the sum of each example."""
    return _as(level, sum_dim(_flat(self), (1,), False, dtype))


def mean_all(level: Any, self: Any, dtype: Any) -> Any:
    """Return the mean of each example."""
    return _as(level, mean_dim(_flat(self), (1,), False, dtype))


def prod_all(level: Any, self: Any, dtype: Any) -> Any:
    """Return the product of each example."""
    return _as(level, prod_dim(_flat(self), 1, False, dtype))


def max_all(level: Any, self: Any) -> Any:
    """Return the largest element of each example."""
    return _as(level, _flat(self).amax(1)) if self._array.size else None


def min_all(level: Any, self: Any) -> Any:
    """Return the smallest element of each example."""
    return _as(level, _flat(self).amin(1)) if self._array.size else None


def squeeze(level: Any, self: Any) -> Any:
    """Remove all dimensions of length one but the batch's."""
    dims = [nr + 1 for nr, length in enumerate(self._array.shape) if length == 1]
    return _as(
        level, self._whole.squeeze(tuple(dims)) if dims else self._whole.view_as(self._whole)
    )


def squeeze_dim(level: Any, self: Any, dim: Any) -> Any:
    """Leave a 0-d example alone: it has nothing to squeeze."""
    return None if self._array.ndim else _as(level, self._whole.view_as(self._whole))


def transposed(level: Any, self: Any) -> Any:
    """Transpose for `t`; an example of one dimension or none stays unchanged."""
    whole = self._whole
    flat = self._array.ndim < 2
    return _as(level, whole.view_as(whole) if flat else whole.transpose(1, 2))


# --- matrix products -------------------------------------------------------------------------


def mm(level: Any, self: Any, mat2: Any) -> Any:
    """Multiply matrices, or stacks of them."""
    if self._array.ndim == mat2._array.ndim == 3:
        return _as(level, matmul(*aligned(level, (self, mat2), 3)))
    return _as(level, matmul(_of(level, self), _of(level, mat2)))


def mv(level: Any, self: Any, vec: Any) -> Any:
    """Multiply matrix and vector."""
    if not is_batched(vec, level):
        return _as(level, matmul(self._whole, vec))
    return _as(level, matmul(_of(level, self), vec._whole.unsqueeze(-1)).squeeze(-1))


def dot(level: Any, self: Any, tensor: Any) -> Any:
    """Return scalar products."""
    one, other = _of(level, self), _of(level, tensor)
    if not is_batched(tensor, level):
        return _as(level, matmul(one, other))
    if not is_batched(self, level):
        return _as(level, matmul(other, one))
    return _as(level, matmul(one.unsqueeze(1), other.unsqueeze(2)).squeeze(2).squeeze(1))


def _added(level: Any, self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """Return beta * self + alpha * product; with beta 0, NaN in `self` does not count."""
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)


def addmm(level: Any, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """Return the sum of a matrix and a product."""
    shared = _plain(level, mat1, mat2)
    product = matmul(mat1, mat2) if shared else mm(level, mat1, mat2)
    return _finish_sum(level, self, product, beta, alpha)


def addmv(level: Any, self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    """Return the sum of a vector and a product."""
    shared = _plain(level, mat, vec)
    product = matmul(mat, vec) if shared else mv(level, mat, vec)
    return _finish_sum(level, self, product, beta, alpha)


def _plain(level: Any, *tensors: Any) -> bool:
    return not any(is_batched(each, level) for each in tensors)


def _finish_sum(level: Any, self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    ndim = max(product._array.ndim, self._array.ndim)
    if beta == 0 and not is_batched(product, level):
        product = _as(level, spread(product, level.size))
    whole_product, whole_self = aligned(level, (product, self), ndim)
    return _as(level, _added(level, whole_self, whole_product, beta, alpha))


# --- normalisation ---------------------------------------------------------------------------


def layer_norm(level: Any, input: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalise over the last dimensions, then apply the parameters of each example."""
    if _plain(level, weight, bias):
        return wrapped(level, native_layer_norm(input._whole, shape, weight, bias, eps))
    result, mean, deviation = native_layer_norm(_of(level, input), shape, None, None, eps)
    ndim = input._array.ndim
    whole = result if is_batched(input, level) else result.unsqueeze(0)
    for each, combine in ((weight, "mul"), (bias, "add")):
        if each is not None:
            whole = getattr(whole, combine)(aligned(level, (each,), ndim)[0])
    rest = (
        batched(each, level) if is_batched(input, level) else each for each in (mean, deviation)
    )
    return (batched(whole, level), *rest)


def group_norm(
    level: Any,
    input: Any,
    weight: Any,
    bias: Any,
    count: int,
    channels: int,
    area: int,
    group: int,
    eps: float,
) -> Any:
    """Let the batch join the samples; parameters of each example come afterwards."""
    whole = whole_of(level, input)
    joined = whole.reshape(level.size * count, *whole._array.shape[2:])
    own = _plain(level, weight, bias)
    found = native_group_norm(
        joined,
        weight if own else None,
        bias if own else None,
        level.size * count,
        channels,
        area,
        group,
        eps,
    )
    result = found[0].reshape(whole._array.shape)
    if not own:
        shape = (channels,) + (1,) * (whole.dim() - 3)
        for each, combine in ((weight, "mul"), (bias, "add")):
            if each is not None:
                fitted = whole_of(level, each).reshape(level.size, 1, *shape)
                result = getattr(result, combine)(fitted)
    rest = [batched(each.reshape(level.size, count, group), level) for each in found[1:]]
    return (batched(result, level), *rest)


def batch_norm(
    level: Any,
    input: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: bool,
    eps: float,
) -> Any:
    """Let the batch join the channels, each of which has its own statistics."""
    whole = whole_of(level, input)
    shape = whole._array.shape
    channels = level.size * shape[2]
    joined = whole.transpose(0, 1).reshape(shape[1], channels, *shape[3:])
    parameters = [
        None if each is None else whole_of(level, each).reshape(channels)
        for each in (weight, bias, mean, variance)
    ]
    result, *rest = native_batch_norm(joined, *parameters, training, eps)
    result = result.reshape(shape[1], level.size, *shape[2:]).transpose(0, 1)
    per_channel = [
        batched(
            each.reshape(level.size, shape[2]) if each._array.size else each.expand(level.size, 0),
            level,
        )
        for each in rest
    ]
    return (batched(result, level), *per_channel)


# --- stacks of images and matrices -----------------------------------------------------------


def of_images(name: str, spatial: int | None = None) -> Any:
    """Pool: the batch is the dimension of samples, or joins it."""

    def rule(level: Any, self: Any, *rest: Any) -> Any:
        function = registry[name].function
        rank = rest[-1] if spatial is None else spatial
        if self._array.ndim == rank + 1:
            return wrapped(level, function(self._whole, *rest))
        whole = self._whole
        found = function(whole.flatten(0, 1), *rest)
        several = isinstance(found, tuple)
        results = [
            batched(each.unflatten(0, whole._array.shape[:2]), level)
            for each in (found if several else (found,))
        ]
        return type(found)(results) if several else results[0]

    return rule


def convolution(level: Any, input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """Convolve all samples together or, with weights for each example, as groups."""
    function = registry["convolution"].function
    *settings, groups = rest
    if _plain(level, weight, bias):
        whole = input._whole
        found = function(whole.flatten(0, 1), weight, bias, *settings, groups)
        return _as(level, found.unflatten(0, whole._array.shape[:2]))
    samples = whole_of(level, input).transpose(0, 1)
    filters = whole_of(level, weight).flatten(0, 1)
    offsets = None if bias is None else whole_of(level, bias).flatten()
    found = function(samples.flatten(1, 2), filters, offsets, *settings, groups * level.size)
    return _as(level, found.unflatten(1, (level.size, -1)).transpose(0, 1))


def of_matrices(name: str, label: str) -> Any:
    """Return a function of one matrix that takes stacks of them."""

    def rule(level: Any, self: Any, *rest: Any) -> Any:
        if self._array.ndim < 2:
            shown = rest[0] if label == "linalg.slogdet" else label
            argument = "input" if label == "linalg.pinv" else "A"
            raise RuntimeError(
                f"{shown}: The input tensor {argument} must have at least 2 dimensions."
            )
        if any(is_batched(each, level) for each in rest):
            return None
        found = registry[name].function(self._whole, *rest)
        several = found if isinstance(found, tuple) else (found,)
        if any(each._array.shape[:1] != (level.size,) for each in several):
            return None  # an output that was not asked for
        return wrapped(level, found)

    return rule


# What PyTorch calls them where an example is no matrix.
_MATRICES = {
    "_linalg_det": "linalg.det",
    "_linalg_eigh": "linalg.eigh",
    "_linalg_slogdet": "linalg.slogdet",
    "_linalg_svd": "linalg.svd",
    "cholesky_older": "cholesky",
    "geqrf_all": "geqrf",
    "inverse_from_factor": "cholesky_inverse",
    "linalg_cholesky_ex": "linalg.cholesky",
    "linalg_eig": "linalg.eig",
    "linalg_inv_ex": "linalg.inv_ex",
    "linalg_ldl_factor_ex": "torch.linalg.ldl_factor_ex",
    "linalg_matrix_exp": "torch.matrix_exp",
    "linalg_pinv": "linalg.pinv",
    "linalg_qr": "linalg.qr",
}


def lu_factor(level: Any, self: Any, *rest: Any) -> Any:
    """Factor a stack of matrices."""
    if self._array.ndim < 2:
        raise RuntimeError(
            "torch.lu_factor_ex: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(self._whole._array.shape)} instead"
        )
    return wrapped(level, registry["linalg_lu_factor_ex"].function(self._whole, *rest))


def middle(name: str) -> Any:
    """Return the median of all elements of an example as that of its only row."""

    def rule(level: Any, self: Any) -> Any:
        rows = self._whole.reshape(level.size, math.prod(self._array.shape))
        return _as(level, registry[name].function(rows, 1)[0])

    return rule


_POOLS = {
    "_adaptive_avg_pool2d": 2,
    "_adaptive_avg_pool3d": 3,
    "adaptive_max_pool2d": 2,
    "adaptive_max_pool3d": 3,
    "avg_pool2d": 2,
    "avg_pool3d": 3,
    "max_pool2d_with_indices": 2,
    "max_pool3d_with_indices": 3,
    "max_pool_values": None,
}


# --- losses ----------------------------------------------------------------------------------


def reduced_loss(name: str, position: int) -> Any:
    """Return the rule of a loss: element by element, then reduced within the example."""

    def rule(level: Any, *arguments: Any) -> Any:
        reduction = arguments[position]
        ndim = max(each._array.ndim for each in arguments[:2])
        given = aligned(level, arguments, ndim)
        if arguments[0]._array.shape == arguments[1]._array.shape:
            given[:2] = [whole_of(level, each) for each in arguments[:2]]
        given[position] = 0
        entry = registry[name]
        return _as(level, _reduced(entry.call(entry.function, given), reduction))

    return rule


def _reduced(losses: Any, reduction: int) -> Tensor:
    """Reduce losses within each example: not at all, to the mean, or to the sum."""
    if reduction == 0:
        whole: Tensor = losses
        return whole
    flat = losses.reshape(losses.shape[0], math.prod(losses.shape[1:]))
    found: Tensor = flat.mean(1) if reduction == 1 else flat.sum(1)
    return found


def nll_loss(level: Any, self: Any, target: Any, weight: Any, reduction: int, ignored: int) -> Any:
    """Return the losses of all samples of all examples, weighted within the example."""
    if is_batched(weight, level):
        return None
    scores, classes = whole_of(level, self), whole_of(level, target)
    function = registry["nll_loss_forward"].function
    samples = scores.reshape(-1, scores.shape[-1])
    losses, _ = function(samples, classes.reshape(-1), weight, 0, ignored)
    losses = losses.reshape(classes.shape)
    counted = (classes != ignored).to(self.dtype)
    if weight is not None:
        counted = counted * weight[classes.masked_fill(classes == ignored, 0)]
    total = _reduced(counted, 2)
    if reduction:
        losses = _reduced(losses, 2)
        losses = losses / total if reduction == 1 else losses
    return _as(level, losses), _as(level, total)


# --- values in place of numbers --------------------------------------------------------------


def masked_fill_tensor(level: Any, self: Any, mask: Any, value: Any) -> Any:
    """Select where the mask holds, with a value for each example."""
    if not is_batched(value, level):
        given = aligned(level, (self, mask))
        if not is_batched(self, level):
            given[0] = given[0].expand(level.size, *_common_shape(self, mask))
        return _as(level, given[0].masked_fill(given[1], value))
    ndim = max(self._array.ndim, mask._array.ndim)
    own, where, filled = aligned(level, (self, mask, value), ndim)
    return _as(level, filled.to(self.dtype).where(where, own))


def _common_shape(*tensors: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(each._array.shape for each in tensors))


def masked_fill(level: Any, self: Any, mask: Any, value: Any) -> Any:
    """Fill a tensor that all examples share, with a mask for each."""
    if is_batched(self, level):
        return None
    mask = aligned(level, (self, mask))[1]
    whole = self.expand(level.size, *_common_shape(self, mask)[1:])
    return _as(level, whole.masked_fill(mask, value))


def fill_tensor(level: Any, self: Any, value: Any) -> Any:
    """Fill each example with its own number."""
    if not is_batched(value, level):
        return _as(level, fill(self._whole, value))
    shape = self._array.shape
    filled = padded(value._whole, len(shape)).to(self.dtype).expand(level.size, *shape)
    return _as(level, filled.clone())


# --- indices ---------------------------------------------------------------------------------


def index(level: Any, self: Any, indices: Any) -> Any:
    """Index with the batch as an index of its own where the indices are batched: `x[i, j]`."""
    _refuse_masks(level, indices)
    if not any(is_batched(each, level) for each in indices):
        places = [nr for nr, each in enumerate(indices) if each is not None]
        if places[-1] - places[0] + 1 != len(places):
            return None
        return _as(level, registry["index"].function(self._whole, (None, *indices)))
    if any(each is None for each in indices) or _has_mask(indices):
        return None
    ndim = max(each._array.ndim for each in indices)
    batch = wrap(np.arange(level.size)).reshape(-1, *(1,) * ndim)
    given = aligned(level, indices, ndim)
    return _as(level, registry["index"].function(whole_of(level, self), (batch, *given)))


def _has_mask(indices: Any) -> bool:
    return any(each is not None and each._array.dtype.itemsize == 1 for each in indices)


def _refuse_masks(level: Any, indices: Any) -> None:
    batched_ones = [each for each in indices if each is not None and is_batched(each, level)]
    if _has_mask(batched_ones):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. "
            "Attempting to batch over indexing with a boolean mask."
        )


def index_put(level: Any, self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """Check only: the examples are written one after the other."""
    _refuse_masks(level, indices)


def embedding(
    level: Any, weight: Any, indices: Any, padding_idx: int, scale: bool, sparse: bool
) -> Any:
    """Return rows of a table that all examples share."""
    if is_batched(weight, level):
        return None
    function = registry["embedding"].function
    return _as(level, function(weight, indices._whole, padding_idx, scale, sparse))


def masked_select(level: Any, self: Any, mask: Any) -> Any:
    """Select by a mask that all examples share; other masks are refused."""
    if is_batched(mask, level):
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
            "support this because for each batch this would return a differently shaped Tensor. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
            "feature."
        )


def dynamic(name: str) -> Any:
    """Return the rule of a function whose result has another shape for each example."""

    def rule(level: Any, *arguments: Any) -> NoReturn:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted "
            f"to vmap over aten::{name}. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )

    return rule


RESULTS: dict[str, Any] = dict(
    sum_all=sum_all,
    mean_all=mean_all,
    prod_all=prod_all,
    max_all=max_all,
    min_all=min_all,
    squeeze=squeeze,
    squeeze_dim=squeeze_dim,
    squeeze_dims=squeeze_dim,
    squeeze_=squeeze,
    squeeze_dim_=squeeze_dim,
    squeeze_dims_=squeeze_dim,
    t=transposed,
    t_=transposed,
    mm=mm,
    bmm=mm,
    mv=mv,
    dot=dot,
    addmm=addmm,
    baddbmm=addmm,
    addmv=addmv,
    native_layer_norm=layer_norm,
    native_group_norm=group_norm,
    native_batch_norm=batch_norm,
    mse_loss_reduced=reduced_loss("mse_loss_reduced", 2),
    huber_loss_reduced=reduced_loss("huber_loss_reduced", 2),
    smooth_l1_loss_reduced=reduced_loss("smooth_l1_loss_reduced", 2),
    soft_margin_loss_reduced=reduced_loss("soft_margin_loss_reduced", 2),
    convolution=convolution,
    **{name: of_matrices(name, label) for name, label in _MATRICES.items()},
    linalg_lu_factor_ex=lu_factor,
    median_all=middle("median_dim"),
    nanmedian_all=middle("nanmedian_dim"),
    **{name: of_images(name, rank) for name, rank in _POOLS.items()},
    binary_cross_entropy_reduced=reduced_loss("binary_cross_entropy_reduced", 3),
    binary_cross_entropy_with_logits_reduced=reduced_loss(
        "binary_cross_entropy_with_logits_reduced", 4
    ),
    nll_loss_forward=nll_loss,
    masked_fill=masked_fill,
    masked_fill_tensor=masked_fill_tensor,
    fill_tensor=fill_tensor,
    index=index,
    index_put=index_put,
    embedding=embedding,
    masked_select=masked_select,
    nonzero=dynamic("nonzero"),
    _unique2=dynamic("_unique2"),
    unique_dim=dynamic("unique_dim"),
    unique_consecutive_slices=dynamic("unique_consecutive"),
)
