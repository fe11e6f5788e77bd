"""Rows of attention, computed in blocks and in terms of other operators."""

from __future__ import annotations

import math

import numpy as np

from op_case import Fixed, OpCase, Sample, sample


def in_blocks(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    heads = [normal((2, 3, 4, 8)), normal((2, 3, 5, 8)), normal((2, 3, 5, 8))]
    shared = [normal((2, 6, 4, 8)), normal((2, 3, 5, 8)), normal((2, 3, 5, 8))]
    visible = rng.random((4, 5)) > 0.3
    visible[1] = False
    return [
        sample(*heads),
        sample(*heads, scale=0.3),
        sample(*heads, is_causal=True),
        sample(*heads, attn_mask=visible),
        sample(*heads, attn_mask=Fixed(normal((2, 1, 4, 5)))),
        sample(*shared, enable_gqa=True),
        sample(*shared, attn_mask=Fixed(normal((4, 5))), enable_gqa=True),
    ]


def np_attention(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (np.repeat(each, times, -3) for each in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.einsum("...ik,...jk->...ij", query, key) * factor
    if attn_mask is not None:
        mask = getattr(attn_mask, "array", attn_mask)
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e30))
    total = weights.sum(-1, keepdims=True)
    return np.matmul(weights / np.where(total, total, 1), value)


CASES = [
    OpCase(
        "nn.functional.scaled_dot_product_attention",
        in_blocks,
        reference=np_attention,
        gradgrad=False,
        forward_ad=False,
        forward_dtypes=("float16", "bfloat16"),
    ),
]
