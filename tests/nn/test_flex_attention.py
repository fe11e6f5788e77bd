"""Attention with functions of scores and masks; the numbers are PyTorch's."""

import pytest

import taper
from taper.nn.attention import flex_attention as flex


def causal(batch, head, query, key):
    return query >= key


def test_masks_by_blocks():
    mask = flex.create_block_mask(causal, None, None, 6, 6, BLOCK_SIZE=4)
    assert mask.shape == (1, 1, 6, 6) and mask.kv_indices.dtype is taper.int32
    assert mask.kv_num_blocks.tolist() == [[[1, 2]]]
    assert mask.kv_indices.tolist() == [[[[0, 1], [0, 1]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 0]]]
    assert mask.q_num_blocks.tolist() == [[[2, 1]]]
    assert mask.q_indices.tolist() == [[[[0, 1], [1, 0]]]]
    assert mask.to_dense().tolist() == [[[[1, 0], [1, 1]]]]
    assert mask.sparsity() == pytest.approx(-33.3333, abs=1e-3)


def test_scores_changed_and_hidden():
    taper.manual_seed(0)
    q, k, v = (taper.randn(2, 4, 6, 8) for _ in range(3))
    mask = flex.create_block_mask(causal, None, None, 6, 6, BLOCK_SIZE=4)
    result, sums = flex.flex_attention(
        q, k, v, lambda score, b, h, i, j: score * 2 + (h - i), mask, return_lse=True
    )
    assert result.sum().item() == pytest.approx(-23.023994, abs=1e-4)
    assert sums.sum().item() == pytest.approx(27.509815, abs=1e-4)
    shared = flex.flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    assert shared.sum().item() == pytest.approx(-29.165997, abs=1e-4)


def test_it_is_attention_and_has_gradients():
    q, k, v = (taper.randn(1, 2, 5, 4, requires_grad=True) for _ in range(3))
    mask = flex.create_block_mask(causal, None, None, 5, 5)
    found = flex.flex_attention(q, k, v, block_mask=mask)
    expected = taper.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert taper.allclose(found, expected, atol=1e-6)
    one = taper.autograd.grad(found.square().sum(), (q, k, v))
    other = taper.autograd.grad(expected.square().sum(), (q, k, v))
    assert all(taper.allclose(a, b, atol=1e-5) for a, b in zip(one, other, strict=True))


def test_a_query_that_sees_nothing_gives_zeros():
    q = k = v = taper.ones(1, 1, 2, 4)
    hidden = flex.create_block_mask(lambda b, h, i, j: i + j < 1, None, None, 2, 2)
    result, aux = flex.flex_attention(
        q, k, v, block_mask=hidden, return_aux=flex.AuxRequest(lse=True)
    )
    assert result[0, 0, 1].tolist() == [0.0] * 4 and aux.lse[0, 0, 1].item() == float("-inf")
    assert aux.max_scores is None
