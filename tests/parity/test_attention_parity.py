"""Attention against PyTorch: the way it is computed, values, gradients, saved values, errors."""

from __future__ import annotations

import pytest
import torch as pytorch

from both_packages import assert_same


def heads(make, queries=4, keys=5, width=8, batch=2, count=3, **options):
    query = make(batch, count, queries, width, **options)
    return query, *(make(batch, count, keys, width, **options) for _ in range(2))


def attend(torch, *args, **kwargs):
    return torch.nn.functional.scaled_dot_product_attention(*args, **kwargs)


def mask_of(torch, make, *shape):
    return make(*shape, grad=False) > 0.2


PROGRAMS = {
    "dense": lambda t, m: attend(t, *heads(m)),
    "scale": lambda t, m: attend(t, *heads(m), scale=0.3),
    "negative scale": lambda t, m: attend(t, *heads(m), scale=-0.3),
    "scale zero": lambda t, m: attend(t, *heads(m), scale=0),
    "causal": lambda t, m: attend(t, *heads(m), is_causal=True),
    "causal, more queries": lambda t, m: attend(t, *heads(m, 6, 3), is_causal=True),
    "bool mask": lambda t, m: attend(t, *heads(m), attn_mask=mask_of(t, m, 4, 5)),
    "row masked out": lambda t, m: attend(
        t, *heads(m), attn_mask=m.data([[True] * 5, [False] * 5] * 2)
    ),
    "float mask": lambda t, m: attend(t, *heads(m), attn_mask=m(4, 5, grad=False)),
    "float32 mask": lambda t, m: attend(
        t, *heads(m), attn_mask=m(4, 5, grad=False, dtype="float32")
    ),
    "transposed mask": lambda t, m: attend(t, *heads(m), attn_mask=m(5, 4, grad=False).T),
    "mask of one row": lambda t, m: attend(t, *heads(m), attn_mask=m(1, 5, grad=False)),
    "mask of one column": lambda t, m: attend(t, *heads(m), attn_mask=m(4, 1, grad=False)),
    "mask of 4 dimensions": lambda t, m: attend(t, *heads(m), attn_mask=m(2, 1, 4, 5, grad=False)),
    "mask of heads": lambda t, m: attend(t, *heads(m), attn_mask=m(1, 3, 1, 5, grad=False)),
    "mask of 3 dimensions": lambda t, m: attend(t, *heads(m), attn_mask=m(3, 4, 5, grad=False)),
    "mask with a gradient": lambda t, m: attend(t, *heads(m), attn_mask=m(4, 5)),
    "mask and causal": lambda t, m: attend(
        t, *heads(m), attn_mask=m(4, 5, grad=False), is_causal=True
    ),
    "only query": lambda t, m: attend(
        t, m(2, 3, 4, 8), m(2, 3, 5, 8, grad=False), m(2, 3, 5, 8, grad=False)
    ),
    "only key": lambda t, m: attend(
        t, m(2, 3, 4, 8, grad=False), m(2, 3, 5, 8), m(2, 3, 5, 8, grad=False)
    ),
    "grouped heads": lambda t, m: attend(
        t, m(2, 6, 4, 8), m(2, 3, 5, 8), m(2, 3, 5, 8), enable_gqa=True
    ),
    "grouped heads, mask": lambda t, m: attend(
        t,
        m(2, 6, 4, 8),
        m(2, 3, 5, 8),
        m(2, 3, 5, 8),
        attn_mask=m(2, 6, 4, 5, grad=False),
        is_causal=True,
        enable_gqa=True,
    ),
    "heads beside each other": lambda t, m: attend(
        t, *(m(2, 4, 3, 8).transpose(1, 2) for _ in range(3))
    ),
    "dropout": lambda t, m: attend(t, *heads(m), dropout_p=0.5),
    "dropout, causal": lambda t, m: attend(t, *heads(m), dropout_p=0.5, is_causal=True),
    "dropout, row masked out": lambda t, m: attend(
        t, *heads(m), attn_mask=m.data([[True] * 5, [False] * 5] * 2), dropout_p=0.5
    ),
    "3 dimensions": lambda t, m: attend(t, m(3, 4, 8), m(3, 5, 8), m(3, 5, 8)),
    "3 dimensions, negative scale": lambda t, m: attend(
        t, m(3, 4, 8), m(3, 5, 8), m(3, 5, 8), scale=-0.4
    ),
    "3 dimensions, causal": lambda t, m: attend(
        t, m(3, 4, 8), m(3, 5, 8), m(3, 5, 8), is_causal=True
    ),
    "3 dimensions, grouped": lambda t, m: attend(
        t, m(6, 4, 8), m(3, 5, 8), m(2, 5, 8), enable_gqa=True
    ),
    "2 dimensions": lambda t, m: attend(t, m(4, 8), m(5, 8), m(5, 8)),
    "5 dimensions": lambda t, m: attend(t, m(2, 2, 3, 4, 8), m(2, 2, 3, 5, 8), m(2, 2, 3, 5, 8)),
    "broadcast batch": lambda t, m: attend(t, m(2, 3, 4, 8), m(1, 3, 5, 8), m(1, 3, 5, 8)),
    "other width of values": lambda t, m: attend(t, m(2, 3, 4, 8), m(2, 3, 5, 8), m(2, 3, 5, 7)),
    "turned values": lambda t, m: attend(t, m(2, 3, 4, 8), m(2, 3, 5, 8), m(2, 3, 8, 5).mT),
    "no queries": lambda t, m: attend(t, *heads(m, queries=0)),
    "no keys": lambda t, m: attend(t, *heads(m, keys=0)),
    "no batch": lambda t, m: attend(t, *heads(m, batch=0)),
    # errors
    "dtypes": lambda t, m: attend(t, m(2, 3, 4, 8), m(2, 3, 5, 8, dtype="float32"), m(2, 3, 5, 8)),
    "1 dimension": lambda t, m: attend(t, m(8), m(8), m(8)),
    "widths": lambda t, m: attend(t, m(2, 3, 4, 8), m(2, 3, 5, 7), m(2, 3, 5, 8)),
    "batches": lambda t, m: attend(t, m(2, 3, 4, 8), m(3, 3, 5, 8), m(2, 3, 5, 8)),
    "heads": lambda t, m: attend(t, m(2, 6, 4, 8), m(2, 3, 5, 8), m(2, 3, 5, 8)),
    "groups": lambda t, m: attend(t, m(2, 5, 4, 8), m(2, 3, 5, 8), m(2, 3, 5, 8), enable_gqa=True),
    "groups of 2 dimensions": lambda t, m: attend(t, m(4, 8), m(5, 8), m(5, 8), enable_gqa=True),
    "integers": lambda t, m: attend(t, *(m.data([[1, 2], [3, 4]]) for _ in range(3))),
    "complex": lambda t, m: attend(t, *heads(m, dtype="complex128", grad=False)),
    "mask of integers": lambda t, m: attend(t, *heads(m), attn_mask=m.data([[1] * 5] * 4)),
    "mask of another dtype": lambda t, m: attend(
        t, *heads(m), attn_mask=m(4, 5, grad=False, dtype="float16")
    ),
    "mask too wide": lambda t, m: attend(t, *heads(m), attn_mask=m(4, 6, grad=False)),
    "mask of 1 dimension": lambda t, m: attend(t, *heads(m), attn_mask=m(5, grad=False)),
    "mask of 5 dimensions": lambda t, m: attend(
        t, *heads(m), attn_mask=m(1, 1, 3, 1, 5, grad=False)
    ),
    "mask and causal by operators": lambda t, m: attend(
        t, m(3, 4, 8), m(3, 5, 8), m(3, 5, 8), attn_mask=m(4, 5, grad=False), is_causal=True
    ),
    "dropout too likely": lambda t, m: attend(t, *heads(m), dropout_p=1.5),
    "negative dropout": lambda t, m: attend(t, *heads(m), dropout_p=-0.5),
    "no tensor": lambda t, m: attend(t, m(2, 8), m(2, 8), 3),
    "mask no tensor": lambda t, m: attend(t, *heads(m), "x"),
    "second derivative": lambda t, m: second(t, *heads(m)),
    "forward mode": lambda t, m: tangent(t, *heads(m, grad=False)),
}


def second(torch, *given):
    (grad,) = torch.autograd.grad(attend(torch, *given).sum(), given[0], create_graph=True)
    return torch.autograd.grad(grad.sum(), given[0])


def tangent(torch, query, key, value):
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(query, torch.ones_like(query))
        return attend(torch, dual, key, value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_attention(name):
    assert_same(pytorch, PROGRAMS[name], strides=True)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "name", ["dense", "causal", "bool mask", "float32 mask", "grouped heads", "dropout"]
)
def test_attention_in_lower_precision(name, dtype):
    assert_same(pytorch, PROGRAMS[name], dtype, factor=2)


# ------------------------------------------------------------------------------ several heads


def several(
    torch,
    make,
    rows=4,
    columns=5,
    batch=2,
    width=6,
    heads=2,
    same="",
    key_width=6,
    value_width=6,
    separate=False,
    **options,
):
    """Run several heads; `same`: "all" or "key and value" are one tensor; a batch of 0 is none."""
    stack = (batch,) if batch else ()
    query = make(rows, *stack, width)
    key = query if same == "all" else make(columns, *stack, key_width)
    value = key if same else make(columns, *stack, value_width)
    given = {
        "in_proj_weight": None if separate else make(3 * width, width),
        "in_proj_bias": make(3 * width),
        "bias_k": None,
        "bias_v": None,
        "add_zero_attn": False,
        "dropout_p": 0.0,
        "out_proj_weight": make(width, width),
        "out_proj_bias": make(width),
    }
    if separate:
        given["use_separate_proj_weight"] = True
        given["q_proj_weight"] = make(width, width)
        given["k_proj_weight"] = make(width, key_width)
        given["v_proj_weight"] = make(width, value_width)
    given.update(options)
    found = torch.nn.functional.multi_head_attention_forward(
        query, key, value, width, heads, **given
    )
    return [each for each in found if each is not None]


def booleans(make, *shape):
    return make(*shape, grad=False) > 0.5


def floats(make, *shape):
    return make(*shape, grad=False)


def causal(torch, make, length):
    return make.data(
        [[0.0 if c <= r else -torch.inf for c in range(length)] for r in range(length)]
    )


HEADS = {
    "self": lambda t, m: several(t, m, same="all"),
    "self, no weights": lambda t, m: several(t, m, same="all", need_weights=False),
    "key and value": lambda t, m: several(t, m, same="kv", average_attn_weights=False),
    "no bias": lambda t, m: several(t, m, in_proj_bias=None, out_proj_bias=None),
    "no bias, key and value": lambda t, m: several(t, m, same="kv", in_proj_bias=None),
    "separate": lambda t, m: several(t, m, separate=True, key_width=3, value_width=5),
    "separate, no bias": lambda t, m: several(t, m, separate=True, in_proj_bias=None),
    "no batch": lambda t, m: several(t, m, batch=0, same="all"),
    "no batch, no weights": lambda t, m: several(t, m, batch=0, need_weights=False),
    "bias of keys": lambda t, m: several(t, m, bias_k=m(1, 1, 6), bias_v=m(1, 1, 6)),
    "zero key": lambda t, m: several(t, m, add_zero_attn=True, need_weights=False),
    "dropout": lambda t, m: several(t, m, dropout_p=0.5),
    "dropout, no weights": lambda t, m: several(t, m, dropout_p=0.5, need_weights=False),
    "dropout, evaluating": lambda t, m: several(t, m, dropout_p=0.5, training=False),
    "mask": lambda t, m: several(t, m, attn_mask=floats(m, 4, 5)),
    "mask of heads": lambda t, m: several(t, m, attn_mask=floats(m, 4, 4, 5)),
    "mask of heads, no weights": lambda t, m: several(
        t, m, attn_mask=floats(m, 4, 4, 5), need_weights=False
    ),
    "mask with a gradient": lambda t, m: several(t, m, attn_mask=m(4, 5), need_weights=False),
    "bool mask": lambda t, m: several(t, m, attn_mask=booleans(m, 4, 5)),
    "padding": lambda t, m: several(t, m, key_padding_mask=booleans(m, 2, 5), need_weights=False),
    "padding, no batch": lambda t, m: several(t, m, batch=0, key_padding_mask=booleans(m, 5)),
    "both masks": lambda t, m: several(
        t, m, key_padding_mask=booleans(m, 2, 5), attn_mask=booleans(m, 4, 5)
    ),
    "masks of two dtypes": lambda t, m: several(
        t, m, key_padding_mask=booleans(m, 2, 5), attn_mask=floats(m, 4, 5)
    ),
    "all of it": lambda t, m: several(
        t,
        m,
        bias_k=m(1, 1, 6),
        bias_v=m(1, 1, 6),
        attn_mask=floats(m, 4, 5),
        key_padding_mask=floats(m, 2, 5),
        add_zero_attn=True,
    ),
    "static": lambda t, m: several(t, m, static_k=m(4, 7, 3), static_v=m(4, 7, 3)),
    "causal": lambda t, m: several(
        t, m, columns=4, attn_mask=causal(t, m, 4).double(), is_causal=True
    ),
    "causal, no weights": lambda t, m: several(
        t, m, columns=4, attn_mask=causal(t, m, 4), is_causal=True, need_weights=False
    ),
    "causal and padding": lambda t, m: several(
        t,
        m,
        columns=4,
        attn_mask=causal(t, m, 4).double(),
        is_causal=True,
        need_weights=False,
        key_padding_mask=floats(m, 2, 4),
    ),
    # errors
    "no mask": lambda t, m: several(t, m, is_causal=True),
    "widths": lambda t, m: t.nn.functional.multi_head_attention_forward(
        *(m(4, 2, 6) for _ in range(3)), 7, 2, None, None, None, None, False, 0.0, m(6, 6), None
    ),
    "heads": lambda t, m: several(t, m, heads=4),
    "4 dimensions": lambda t, m: t.nn.functional.multi_head_attention_forward(
        *(m(1, 4, 2, 6) for _ in range(3)), 6, 2, None, None, None, None, False, 0.0, m(6, 6), None
    ),
    "dimensions": lambda t, m: t.nn.functional.multi_head_attention_forward(
        m(4, 2, 6), m(2, 6), m(2, 6), 6, 2, None, None, None, None, False, 0.0, m(6, 6), None
    ),
    "dimensions, no batch": lambda t, m: t.nn.functional.multi_head_attention_forward(
        m(4, 6), m(4, 2, 6), m(2, 6), 6, 2, None, None, None, None, False, 0.0, m(6, 6), None
    ),
    "lengths": lambda t, m: t.nn.functional.multi_head_attention_forward(
        m(4, 2, 6), m(5, 2, 6), m(4, 2, 6), 6, 2, None, None, None, None, False, 0.0, m(6, 6), None
    ),
    "separate lengths": lambda t, m: t.nn.functional.multi_head_attention_forward(
        m(4, 2, 6),
        m(5, 2, 6),
        m(4, 2, 6),
        *(6, 2, None, None, None, None, False, 0.0, m(6, 6), None),
        use_separate_proj_weight=True,
    ),
    "no weight": lambda t, m: several(t, m, in_proj_weight=None),
    "no query weight": lambda t, m: several(t, m, separate=True, q_proj_weight=None),
    "no value weight": lambda t, m: several(t, m, separate=True, v_proj_weight=None),
    "query weight": lambda t, m: several(t, m, separate=True, q_proj_weight=m(5, 6)),
    "key weight": lambda t, m: several(t, m, separate=True, k_proj_weight=m(6, 5)),
    "bias": lambda t, m: several(t, m, separate=True, in_proj_bias=m(17)),
    "bias of keys alone": lambda t, m: several(t, m, bias_k=m(1, 1, 6)),
    "bias of values alone": lambda t, m: several(t, m, bias_v=m(1, 1, 6)),
    "bias and static": lambda t, m: several(
        t, m, bias_k=m(1, 1, 6), bias_v=m(1, 1, 6), static_v=m(4, 5, 3)
    ),
    "static stack": lambda t, m: several(t, m, static_k=m(3, 7, 3), static_v=m(4, 7, 3)),
    "static width": lambda t, m: several(t, m, static_k=m(4, 7, 3), static_v=m(4, 7, 4)),
    "mask shape": lambda t, m: several(t, m, attn_mask=floats(m, 4, 6)),
    "mask of heads shape": lambda t, m: several(t, m, attn_mask=floats(m, 3, 4, 5)),
    "mask of heads shape, no batch": lambda t, m: several(
        t, m, batch=0, attn_mask=floats(m, 3, 4, 5)
    ),
    "mask dimensions": lambda t, m: several(t, m, attn_mask=floats(m, 5)),
    "mask dtype": lambda t, m: several(t, m, attn_mask=m.data([[1] * 5] * 4)),
    "padding dimensions": lambda t, m: several(t, m, key_padding_mask=booleans(m, 5)),
    "padding shape": lambda t, m: several(t, m, key_padding_mask=booleans(m, 2, 4)),
    "padding dtype": lambda t, m: several(t, m, key_padding_mask=m.data([[1] * 5] * 2)),
}


@pytest.mark.parametrize("name", HEADS)
def test_several_heads(name):
    assert_same(pytorch, HEADS[name])
