"""Attention: softmax(query @ key.T * scale + mask) @ value, and its gradient.

Owns: two ways, chosen as PyTorch chooses on the CPU. The usual one is one operator that works on
blocks, so that the matrix of all weights never exists. What that operator cannot do (dropout, a
mask with a gradient, unusual shapes) is computed with other operators, which the graph shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, LOW_PRECISION
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.native import native
from taper.autograd.overrides import call_overrider, overrider
from taper.autograd.views import requires_grad
from taper.backends.cuda import sdp_allowed
from taper.dtypes import C_NAMES
from taper.opdef import Array, composite, composites, derivative, op, tangent_of
from taper.ops.activation.softmax import softmax_backward, softmax_dim
from taper.ops.elementwise.number import mul_scalar
from taper.ops.linalg.checks import check_tensors, missing_tangent, no_derivative
from taper.ops.linalg.matmul import matmul
from taper.ops.random import dropout as _dropout  # noqa: F401 - provides the composite
from taper.ops.shape.join import repeat_interleave
from taper.ops.shape.transpose import transpose
from taper.tensor import Tensor, wrap

_FLASH = "_scaled_dot_product_flash_attention_for_cpu"
_BLOCK = 1 << 20  # attention weights that are held at a time

_largest: Any = np.maximum.reduce
_sum: Any = np.add.reduce


# --- in blocks -------------------------------------------------------------------------------


def _wide(array: ndarray) -> ndarray:
    return array.astype(np.float32) if array.dtype in LOW_PRECISION else array


def _grouped(query: ndarray, heads: int) -> ndarray:
    """View as (batch, heads of the key, queries for each, length, width), without a copy."""
    batch, all_heads, *rest = query.shape
    return query.reshape(batch, heads, all_heads // heads, *rest)


def _blocks(scores: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Cut the batch and the rows into slices whose scores are few enough."""
    batch, heads, group, rows, columns = scores
    each = heads * group * columns
    tall = max(1, min(rows, _BLOCK // each))
    many = max(1, _BLOCK // (each * tall)) if tall == rows else 1
    for first in range(0, batch, many):
        for row in range(0, rows, tall):
            yield slice(first, first + many), slice(row, row + tall)


class _Scores:
    """Computes the scaled and masked products of queries and keys, a block at a time."""

    def __init__(
        self, query: ndarray, key: ndarray, mask: ndarray | None, causal: bool, scale: float | None
    ) -> None:
        heads = key.shape[1]
        self.query = _grouped(_wide(query), heads)
        self.key = _wide(key)[:, :, None]
        self.shape = (*self.query.shape[:4], key.shape[2])
        self.mask = None
        if mask is not None:
            wide = np.broadcast_to(mask, (*query.shape[:3], key.shape[2]))
            self.mask = _grouped(wide, heads)
        self.causal = causal
        self.scale = scale_of(query.shape[-1], scale)

    def plain(self, shape: tuple[int, ...]) -> tuple[ndarray | None, bool, float]:
        """What the native module wants to know beside the arrays: mask, causal, scale."""
        mask = None if self.mask is None else self.mask.reshape(*shape[:3], self.shape[-1])
        return mask, self.causal, self.scale

    def of(self, batch: slice, rows: slice) -> ndarray:
        scores = np.matmul(self.query[batch, :, :, rows], self.key[batch].swapaxes(-1, -2))
        scores *= scores.dtype.type(self.scale)
        if self.mask is not None:
            scores += self.mask[batch, :, :, rows]
        if self.causal:
            later = np.arange(self.shape[-1]) > np.arange(self.shape[-2])[rows, None]
            np.copyto(scores, -np.inf, where=later)
        return scores


def scale_of(width: int, scale: float | None) -> float:
    """Return the factor of the products: by default the inverse root of a head's width."""
    return scale if scale is not None else 1 / math.sqrt(width) if width else math.inf


def _attend(
    scores: _Scores, query: ndarray, key: ndarray, value: ndarray, output: ndarray
) -> ndarray | None:
    """Let the native module write the output; the logarithms of the sums, or None if it did not."""
    if native is None or query.dtype != FLOAT32:
        return None
    sums = np.empty((query.shape[0], query.shape[2], query.shape[1]), FLOAT32).swapaxes(1, 2)
    found = native.attend(query, key, value, output, sums[..., None], *scores.plain(query.shape))
    return sums if found else None


@op(
    name=_FLASH, outputs=("output", "logsumexp"), nondifferentiable=(1,), public=False, method=False
)
def attention_in_blocks(
    query: Array,
    key: Array,
    value: Array,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Array | None = None,
    scale: float | None = None,
) -> Array:
    """Attend; also return for each row the logarithm of the sum of its scores' exponentials."""
    if dropout_p:
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0"
        )
    output = np.empty_like(query)
    scores = _Scores(query, key, attn_mask, is_causal, scale)
    if (sums := _attend(scores, query, key, value, output)) is not None:
        return output, sums
    values = _wide(value)[:, :, None]
    target = _grouped(output, key.shape[1])
    sums = np.empty((query.shape[0], query.shape[2], query.shape[1]), values.dtype)
    logarithms = _grouped(sums.swapaxes(1, 2), key.shape[1])
    for batch, rows in _blocks(scores.shape):
        weights = scores.of(batch, rows)
        largest = _largest(weights, -1, None, None, True)
        largest[largest == -np.inf] = 0  # a row that is masked out entirely gives zero
        weights -= largest
        np.exp(weights, weights)
        total = _sum(weights, -1, None, None, True)
        masked = total == 0
        total[masked] = 1
        target[batch, :, :, rows] = np.matmul(weights, values[batch]) / total
        logarithms[batch, :, :, rows] = np.where(masked, 0, np.log(total) + largest)[..., 0]
    return output, sums.swapaxes(1, 2)


@op(
    name=f"{_FLASH}_backward",
    node="NotImplemented",
    outputs=("grad_query", "grad_key", "grad_value"),
    public=False,
    method=False,
)
def attention_gradients(
    grad_out: Array,
    query: Array,
    key: Array,
    value: Array,
    out: Array,
    logsumexp: Array,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Array | None = None,
    scale: float | None = None,
) -> Array:
    """Compute the gradients of attention; the weights come again from the saved logarithms."""
    heads = key.shape[1]
    scores = _Scores(query, key, attn_mask, is_causal, scale)
    found = [_like_rows(each, _wide(value).dtype) for each in (query, key, value)]
    if native is not None and query.dtype == FLOAT32:
        plain = scores.plain(query.shape)
        given = (query, key, value, out, logsumexp[..., None], *plain, grad_out)
        if native.attend_backward(*given, *found):
            return tuple(found)
    values = _wide(value)[:, :, None]
    grads = _grouped(_wide(grad_out), heads)
    outputs, logarithms = _grouped(_wide(out), heads), _grouped(logsumexp, heads)
    to_query = _grouped(found[0], heads)
    for batch, rows in _blocks(scores.shape):
        part = (batch, slice(None), slice(None), rows)
        grad = grads[part]
        weights = scores.of(batch, rows)
        weights -= logarithms[part][..., None]
        np.exp(weights, weights)
        found[2][batch] += np.matmul(weights.swapaxes(-1, -2), grad).sum(2)
        change = np.matmul(grad, values[batch].swapaxes(-1, -2))
        change -= np.einsum("...i,...i->...", grad, outputs[part])[..., None]
        change *= weights
        change *= change.dtype.type(scores.scale)
        to_query[part] = np.matmul(change, scores.key[batch])
        found[1][batch] += np.matmul(change.swapaxes(-1, -2), scores.query[part]).sum(2)
    return tuple([each.astype(query.dtype, copy=False) for each in found])


def _like_rows(array: ndarray, dtype: np.dtype) -> ndarray:
    """Make zeros (batch, heads, length, width), the heads of a row side by side in memory."""
    batch, heads, length, width = array.shape
    return np.zeros((batch, length, heads, width), dtype).swapaxes(1, 2)


@derivative(attention_in_blocks, wrt=("query", "key", "value"))
def attention_all(
    grad_output, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale
):
    return attention_gradients(
        grad_output,
        query,
        key,
        value,
        output,
        logsumexp,
        dropout_p,
        is_causal,
        attn_mask,
        scale,
    )


@tangent_of(attention_in_blocks)
def attention_tangent(query_t):
    raise missing_tangent(_FLASH)


@derivative(attention_gradients, wrt=("grad_out", "query", "key", "value", "out", "logsumexp"))
def attention_gradients_all(needs):
    raise no_derivative(f"{_FLASH}_backward")


@tangent_of(attention_gradients)
def attention_gradients_tangent(grad_out_t):
    raise missing_tangent(f"{_FLASH}_backward")


# --- in terms of other operators -------------------------------------------------------------


@op(name="_safe_softmax", public=False, method=False, layout=ROW_MAJOR)
def safe_softmax(self: Array, dim: int) -> Array:
    """Compute softmax that is zero, not nan, where -inf masks out a whole row."""
    masked = _largest(self, dim, None, None, True) == -np.inf if self.size else None
    with np.errstate(invalid="ignore"):
        result = softmax_dim(self, dim)
    if masked is not None and masked.any():
        np.copyto(result, 0, where=masked)
    return result


@derivative(safe_softmax, wrt="self")
def safe_softmax_self(grad: Any, result: Any, dim: int) -> Any:
    return softmax_backward(grad, result, dim)


@tangent_of(safe_softmax)
def safe_softmax_tangent(self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    return softmax_backward(self_t, result, dim)


def triangle(rows: int, columns: int) -> Tensor:
    """Return what a causal mask lets through, as a boolean tensor."""
    return wrap(np.tri(rows, columns, dtype=bool))


def _by_operators(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    causal: bool,
    scale: float | None,
    grouped: bool,
) -> Tensor:
    low = query.dtype if query._array.dtype in LOW_PRECISION else None
    if low is not None:
        query, key, value = (each.float() for each in (query, key, value))
    elif query._array.dtype.kind in "iub":
        query, key = (each.to(dtypes.default.float) for each in (query, key))
    if causal:
        if mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True"
            )
        rows, columns = query.shape[-2], key.shape[-2]
        mask = _additive(triangle(rows, columns), query)
    factor = scale_of(query.shape[-1], scale)
    root = math.sqrt(abs(factor))
    if grouped:
        key, value = _repeated(query, key, value)
    query = mul_scalar(query, math.copysign(root, factor))
    weights = matmul(query, mul_scalar(transpose(key, -2, -1), root))
    if mask is not None:
        weights = weights.add_(mask)
    weights = safe_softmax(weights, -1)
    if dropout_p > 0:
        weights = composites["dropout"](weights, dropout_p, True)
    result = matmul(weights, value)
    return result if low is None else result.to(low)


def _repeated(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Repeat keys and values for each head of the queries."""
    counts = [each.size(-3) for each in (query, key, value)]
    if not counts[1] or not counts[2] or counts[0] % counts[1] or counts[0] % counts[2]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return (
        repeat_interleave(key, counts[0] // counts[1], -3),
        repeat_interleave(value, counts[0] // counts[2], -3),
    )


# --- the choice ------------------------------------------------------------------------------


@composite(method=False, public=False)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
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
    if attn_mask is not None and overrider(attn_mask) is not None:
        options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
        values = (query, key, value, attn_mask)
        return _by_class(values, {**options, "enable_gqa": enable_gqa})
    check_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
    _check(query, key, value, attn_mask)
    dropout_p, scale = float(dropout_p), None if scale is None else float(scale)
    mask = attn_mask
    if mask is not None and mask.dtype is not query.dtype and not mask.dtype.is_floating_point:
        mask = _additive(mask, query)
    if not (query.numel() and key.numel() and value.numel()):
        return _of_nothing(query, key, value)
    in_blocks = sdp_allowed["flash"]
    if in_blocks and _fits_blocks(query, key, value, mask, dropout_p, enable_gqa):
        found = attention_in_blocks(query, key, value, dropout_p, is_causal, mask, scale)
        output: Tensor = found[0]
        return output
    _check_math(in_blocks)
    return _by_operators(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa)


def _by_class(values: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """Attend as the class of the mask says, such as a causal bias."""
    found: Tensor = call_overrider(values[3], scaled_dot_product_attention, values, options)
    return found


def _check_math(in_blocks: bool) -> None:
    """Raise if the way by operators is switched off (`nn.attention.sdpa_kernel`)."""
    if sdp_allowed["math"]:
        return
    if in_blocks:
        raise RuntimeError("No available kernel.  Aborting execution.")
    raise RuntimeError(
        "No viable backend for scaled_dot_product_attention was found. This is likely due to "
        "turning off both the math kernel and the fused kernels."
    )


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> None:
    if not (query.dtype is key.dtype is value.dtype):
        names = [C_NAMES[each.dtype] for each in (query, key, value)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead."
        )
    ndims = [each.dim() for each in (query, key, value)]
    if min(ndims) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{ndims[0]} key.dim: {ndims[1]} and value.dim: {ndims[2]} instead."
        )
    if mask is None:
        return
    if not isinstance(mask, Tensor):
        raise TypeError(
            "scaled_dot_product_attention(): argument 'attn_mask' (position 4) must be Tensor, "
            f"not {type(mask).__name__}"
        )
    if mask.dtype is not query.dtype and mask.dtype.name not in ("bool", "float32"):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {C_NAMES[mask.dtype]} and  query.dtype: {C_NAMES[query.dtype]} "
            "instead."
        )
    mask.size(-2)


def _additive(mask: Tensor, query: Tensor) -> Tensor:
    """Turn a bool mask into a summand: 0, or -inf where there is no attention."""
    return query.new_zeros(mask.shape).masked_fill_(mask.logical_not(), -math.inf)


def _of_nothing(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    zero = mul_scalar(query.sum() + key.sum() + value.sum(), 0)
    return query.new_zeros((*query.shape[:-1], value.shape[-1])) + zero


def _fits_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, grouped: bool
) -> bool:
    shapes = [each.shape for each in (query, key, value)]
    if dropout_p > 0 or any(len(shape) != 4 for shape in shapes) or not query.is_floating_point():
        return False
    batches, heads, lengths, widths = zip(*shapes, strict=True)
    if len(set(batches)) > 1 or len(set(widths)) > 1 or lengths[1] != lengths[2]:
        return False
    if heads[1] != heads[2] or (heads[0] % heads[1] if grouped else heads[0] != heads[1]):
        return False
    if any(each.stride(-1) != 1 for each in (query, key, value)):
        return False
    return mask is None or _mask_fits(mask, (*shapes[0][:3], lengths[1]))


def _mask_fits(mask: Tensor, shape: tuple[int, ...]) -> bool:
    if requires_grad(mask) or mask.dim() not in (2, 4):
        return False
    wide = zip(mask.shape, shape[-mask.dim() :], strict=True)
    return all(length in (1, wanted) for length, wanted in wide)
