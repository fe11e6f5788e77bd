"""Attention: blocks change nothing, both ways agree, masks and shared heads have their effect."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from taper.autograd import gradcheck
from taper.nn import functional as F
from taper.ops.attention import scaled as attention


def heads(*shape, dtype=np.float64):
    rng = np.random.default_rng(1)
    return [
        taper.from_numpy(rng.standard_normal(shape).astype(dtype)).requires_grad_()
        for _ in range(3)
    ]


@pytest.mark.parametrize("block", [1, 7, 30, 1000])
@pytest.mark.parametrize("causal", [False, True])
def test_size_of_the_blocks_does_not_matter(monkeypatch, block, causal):
    tensors = heads(3, 2, 5, 4)
    whole = F.scaled_dot_product_attention(*tensors, is_causal=causal)
    wanted = taper.autograd.grad(whole.square().sum(), tensors)
    monkeypatch.setattr(attention, "_BLOCK", block)
    parts = F.scaled_dot_product_attention(*tensors, is_causal=causal)
    found = taper.autograd.grad(parts.square().sum(), tensors)
    assert taper.allclose(parts, whole)
    assert all(map(taper.allclose, found, wanted))


def test_both_ways_give_the_same():
    tensors = heads(2, 3, 5, 4)
    blocks = F.scaled_dot_product_attention(*tensors)
    # a mask that requires grad takes the other way
    mask = taper.zeros(5, 5, dtype=taper.float64, requires_grad=True)
    operators = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    assert type(blocks.grad_fn).__name__ == "ScaledDotProductFlashAttentionForCpuBackward0"
    assert type(operators.grad_fn).__name__ == "UnsafeViewBackward0"
    assert taper.allclose(blocks, operators)


def test_the_way_by_operators_has_all_derivatives():
    tensors = heads(3, 4, 2)
    assert gradcheck(F.scaled_dot_product_attention, tensors, check_forward_ad=True)


def test_a_row_without_keys_is_zero_and_has_no_gradient():
    tensors = heads(1, 1, 2, 3)
    mask = taper.tensor([[True, True], [False, False]])
    found = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    grads = taper.autograd.grad(found.sum(), tensors)
    assert (found[0, 0, 1] == 0).all()
    assert not any(each.isnan().any() for each in grads)
    assert (grads[0][0, 0, 1] == 0).all()


def test_lengths_of_key_and_value_must_agree():
    """Differs: PyTorch's kernel reads memory beyond the end."""
    query, key, _ = heads(1, 1, 4, 3)
    with pytest.raises(RuntimeError, match="Expected size for first two dimensions"):
        F.scaled_dot_product_attention(query, key, key[:, :, :2])


def test_saved_values_are_those_of_the_call():
    query, key, value = heads(1, 2, 3, 4)
    node = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=0.5).grad_fn
    assert node._saved_query is query and node._saved_key is key and node._saved_value is value
    assert (node._saved_is_causal, node._saved_scale, node._saved_attn_mask) == (True, 0.5, None)
    scores = (query @ key.mT).detach() * 0.5
    scores = scores.masked_fill(taper.ones(3, 3).tril() == 0, -taper.inf)
    assert taper.allclose(node._saved_logsumexp, scores.logsumexp(-1))


def test_several_heads_are_the_same_with_and_without_weights():
    x = heads(4, 2, 6)[0]
    rng = np.random.default_rng(2)
    weight, out = (taper.from_numpy(rng.standard_normal((rows, 6))) for rows in (18, 6))
    arguments = (x, x, x, 6, 3, weight, None, None, None, False, 0.0, out, None)
    with_weights, weights = F.multi_head_attention_forward(*arguments)
    without, none = F.multi_head_attention_forward(*arguments, need_weights=False)
    assert none is None
    assert weights.shape == (2, 4, 4) and taper.allclose(weights.sum(-1), taper.ones(2, 4).double())
    assert taper.allclose(with_weights, without)


def test_an_implementation_of_others_is_removed_by_its_handle():
    registered, events = taper.nn.attention, []

    class Handle:
        def __init__(self, name):
            self.name = name

        def remove(self):
            events.append((self.name, registered.current_flash_attention_impl()))

    for name in ("first", "second"):
        registered.register_flash_attention_impl(name, register_fn=lambda name=name: Handle(name))
        registered.activate_flash_attention_impl(name)
    assert events == [("first", "first")]
    assert registered.current_flash_attention_impl() == "second"
    with pytest.raises(ValueError, match="Unknown flash attention impl 'third'"):
        registered.activate_flash_attention_impl("third")
    assert events == [("first", "first"), ("second", "second")]
    registered.restore_flash_attention_impl()
    assert registered.current_flash_attention_impl() is None
