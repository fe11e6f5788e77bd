"""Attention with several heads, from projection to projection: `multi_head_attention_forward`.

Owns: what happens around `scaled_dot_product_attention`: the projections of inputs and output,
masks in their many forms, extra keys. Knows no modules; other operators do all the computation.
"""

from __future__ import annotations

import math
from typing import Any

from taper.opdef import composite
from taper.ops.activation.softmax import softmax
from taper.ops.attention.scaled import scaled_dot_product_attention
from taper.ops.image.padding import pad
from taper.ops.linalg.addmm import baddbmm
from taper.ops.linalg.linear import linear
from taper.ops.linalg.matmul import bmm
from taper.ops.random import dropout as dropouts
from taper.ops.shape.join import cat
from taper.tensor import Tensor
from taper.userwarning import warn_user


def _require(condition: bool, *words: Any) -> None:
    """Raise PyTorch's AssertionError; the words are joined only if it fails."""
    if not condition:
        raise AssertionError("".join(map(str, words)))


# --- checks ----------------------------------------------------------------------------------


def _is_batched(
    query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int
) -> bool:
    """Tell whether there is a batch dimension; raise where the dimensions do not fit together."""
    ndim = query.dim()
    if ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor"
        )
    start = f"For {'batched (3-D)' if ndim == 3 else 'unbatched (2-D)'} `query`, expected "
    if key.dim() != ndim or value.dim() != ndim:
        raise AssertionError(
            f"{start}`key` and `value` to be {ndim}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if padding is not None and padding.dim() != ndim - 1:
        raise AssertionError(
            f"{start}`key_padding_mask` to be `None` or {ndim - 1}-D but found {padding.dim()}-D "
            "tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"{start}`attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    if ndim == 2 and mask is not None and mask.dim() == 3:
        wanted = (heads, query.shape[0], key.shape[0])
        _require(
            tuple(mask.shape) == wanted,
            f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}",
        )
    return ndim == 3


def _check_widths(
    query: Tensor, key: Tensor, value: Tensor, wanted: int, heads: int, separate: bool
) -> None:
    width = query.shape[-1]
    _require(width == wanted, "was expecting embedding dimension of ", wanted, ", but got ", width)
    _require(width % heads == 0, "embed_dim ", width, " not divisible by num_heads ", heads)
    if separate:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    else:
        _require(
            key.shape == value.shape,
            f"key shape {key.shape} does not match value shape {value.shape}",
        )


def additive_mask(
    mask: Tensor | None, name: str, other: Tensor | None, other_name: str, query: Tensor
) -> Any:
    """Turn a mask into a summand: -inf where a bool one is True. `other` should have its dtype."""
    if mask is None:
        return None
    is_bool = mask.dtype.name == "bool"
    _require(
        is_bool or mask.is_floating_point(), f"only bool and floating types of {name} are supported"
    )
    if other is not None and other.dtype is not mask.dtype:
        warn_user(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead."
        )
    if is_bool:
        return query.new_zeros(mask.shape).masked_fill_(mask, -math.inf)
    return mask


def _masks(
    mask: Tensor | None, padding: Tensor | None, query: Tensor, causal: bool, weighed: bool
) -> tuple[Any, Any]:
    """Turn both masks into summands; none for attention that is causal anyway."""
    padding = additive_mask(padding, "key_padding_mask", mask, "attn_mask", query)
    if causal and mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if causal and padding is None and not weighed:
        return None, None
    return additive_mask(mask, "attn_mask", None, "", query), padding


def _with_heads(mask: Tensor | None, rows: int, columns: int, stack: int) -> Any:
    """Give an attention mask a dimension for batch and heads, and check its shape."""
    if mask is None:
        return None
    wanted: tuple[int, ...] = (rows, columns)
    if mask.dim() == 3:
        wanted = (stack, rows, columns)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask if mask.dim() == 3 else mask.unsqueeze(0)


# --- projections -----------------------------------------------------------------------------


def _several(input: Tensor, weight: Tensor, bias: Tensor | None, count: int) -> list[Tensor]:
    """Compute `count` projections of one input, by one product."""
    wide = linear(input, weight, bias)
    wide = wide.unflatten(-1, (count, wide.shape[-1] // count))
    parts = wide.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [parts[number] for number in range(count)]


def _packed(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> list[Tensor]:
    """Compute the three projections whose weights are parts of one matrix."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    width = query.shape[-1]
    if key is not value:
        parts = weight.chunk(3)
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        triples = zip((query, key, value), parts, biases, strict=True)
        return [linear(*each) for each in triples]
    if query is key:
        return _several(query, weight, bias, 3)
    sizes = [width, width * 2]
    parts = weight.split(sizes)
    first, rest = (None, None) if bias is None else bias.split(sizes)
    return [linear(query, parts[0], first), *_several(key, parts[1], rest, 2)]


def _separate(inputs: Any, weights: Any, bias: Tensor | None) -> list[Tensor]:
    """Compute the three projections with weights of their own."""
    for letter, weight in zip("qkv", weights, strict=True):
        _require(
            weight is not None,
            f"use_separate_proj_weight is True but {letter}_proj_weight is None",
        )
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    width = inputs[0].shape[-1]
    names = ("query", "key", "value")
    for name, input, weight in zip(names, inputs, weights, strict=True):
        wanted = (width, input.shape[-1])
        _require(
            tuple(weight.shape) == wanted,
            f"expecting {name} weights shape of {wanted}, but got {weight.shape}",
        )
    for name, each in zip(names, biases, strict=True):
        _require(
            each is None or tuple(each.shape) == (width,),
            f"expecting {name} bias shape of {(width,)}, but got {getattr(each, 'shape', None)}",
        )
    return [linear(*each) for each in zip(inputs, weights, biases, strict=True)]


# --- extra keys and the attention itself -----------------------------------------------------


def _wider(mask: Tensor | None) -> Any:
    return None if mask is None else pad(mask, (0, 1))


def _check_extra(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> None:
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
    else:
        _require(bias_k is None, "bias_k is set but bias_v is None")
        _require(bias_v is None, "bias_v is set but bias_k is None")


def _in_heads(tensor: Tensor, static: Tensor | None, name: str, stack: int, width: int) -> Tensor:
    """View (length, batch, all heads) as (batch and heads, length, width of a head)."""
    if static is None:
        return tensor.view(tensor.shape[0], stack, width).transpose(0, 1)
    _require(
        static.size(0) == stack,
        f"expecting static_{name}.size(0) of {stack}, but got {static.size(0)}",
    )
    _require(
        static.size(2) == width,
        f"expecting static_{name}.size(2) of {width}, but got {static.size(2)}",
    )
    return static


def _merged(mask: Tensor | None, padding: Tensor | None, heads: int, columns: int) -> Any:
    """Merge both masks."""
    if padding is None:
        return mask
    batch = padding.shape[0]
    _require(
        padding.shape[1] == columns,
        f"Expected key_padded_mask.shape[1] to be {columns}, but got {padding.shape[1]}",
    )
    wide = padding.view(batch, 1, 1, columns).expand(-1, heads, -1, -1)
    wide = wide.reshape(batch * heads, 1, columns)
    return wide if mask is None else mask + wide


def _weighed(
    tensors: list[Tensor], mask: Tensor | None, dropout_p: float, heads: int, average: bool
) -> tuple[Tensor, Tensor]:
    """Attend and return the weights, which `scaled_dot_product_attention` does not give away."""
    query, key, value = tensors
    scaled = query * math.sqrt(1.0 / query.shape[-1])
    if mask is None:
        weights = bmm(scaled, key.transpose(-2, -1))
    else:
        weights = baddbmm(mask, scaled, key.transpose(-2, -1))
    weights = softmax(weights, -1)
    if dropout_p > 0.0:
        weights = dropouts.dropout(weights, p=dropout_p)
    result = bmm(weights, value).transpose(0, 1)
    stack, rows, columns = weights.shape
    weights = weights.view(stack // heads, heads, rows, columns)
    return result, weights.mean(dim=1) if average else weights


def _unweighed(
    tensors: list[Tensor], mask: Any, dropout_p: float, causal: bool, heads: int
) -> Tensor:
    """Attend without returning the weights: (rows, batch, heads, width of a head)."""
    batch = tensors[0].size(0) // heads
    if mask is not None:
        if mask.size(0) == 1 and mask.dim() == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(batch, heads, -1, tensors[1].size(1))
    query, key, value = (each.view(batch, heads, each.size(1), each.size(2)) for each in tensors)
    found = scaled_dot_product_attention(query, key, value, mask, dropout_p, causal)
    return found.permute(2, 0, 1, 3)


@composite(method=False, public=False)
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
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
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    mask, padding = _masks(attn_mask, key_padding_mask, query, is_causal, need_weights)
    _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        projected = _separate((query, key, value), weights, in_proj_bias)
    else:
        projected = _packed(query, key, value, in_proj_weight, in_proj_bias)
    rows, batch, width = query.shape
    stack, narrow = batch * num_heads, width // num_heads
    mask = _with_heads(mask, rows, key.shape[0], stack)
    _check_extra(bias_k, bias_v, static_k, static_v)
    if bias_k is not None and bias_v is not None:
        projected[1] = cat([projected[1], bias_k.repeat(1, batch, 1)])
        projected[2] = cat([projected[2], bias_v.repeat(1, batch, 1)])
        mask, padding = _wider(mask), _wider(padding)
    tensors = [
        _in_heads(each, static, name, stack, narrow)
        for each, static, name in zip(projected, (None, static_k, static_v), "qkv", strict=True)
    ]
    if add_zero_attn:
        zeros = tensors[1].new_zeros((stack, 1, narrow))
        tensors[1:] = [cat([each, zeros], dim=1) for each in tensors[1:]]
        mask, padding = _wider(mask), _wider(padding)
    mask = _merged(mask, padding, num_heads, tensors[1].size(1))
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        result, found = _weighed(tensors, mask, dropout_p, num_heads, average_attn_weights)
    else:
        causal = is_causal and padding is None
        result, found = _unweighed(tensors, mask, dropout_p, causal, num_heads), None
    result = linear(result.reshape(rows * batch, width), out_proj_weight, out_proj_bias)
    result = result.view(rows, batch, result.size(1))
    if batched:
        return result, found
    return result.squeeze(1), None if found is None else found.squeeze(0)
