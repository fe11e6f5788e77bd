"""Bags of embeddings: the layer, what the padding gets, and what a failed call leaves alone."""

from __future__ import annotations

import pytest

import taper
from taper import nn

NUMBERS = taper.tensor([0, 1, 2, 2, 5])
OFFSETS = taper.tensor([0, 2])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_bag_is_the_reduction_of_its_embeddings(mode):
    layer = nn.EmbeddingBag(6, 3, mode=mode)
    found = layer(NUMBERS, OFFSETS)
    rows = nn.functional.embedding(NUMBERS, layer.weight)
    reduce = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.amax(0)}
    assert taper.allclose(found, taper.stack([reduce[mode](rows[:2]), reduce[mode](rows[2:])]))


def test_padding_is_zero_and_gets_no_gradient():
    layer = nn.EmbeddingBag(6, 3, mode="sum", padding_idx=2)
    layer(NUMBERS, OFFSETS).sum().backward()
    assert (layer.weight[2] == 0).all() and (layer.weight.grad[2] == 0).all()
    assert (layer.weight.grad[5] == 1).all()


def test_layer_says_what_it_is():
    layer = nn.EmbeddingBag(6, 3, max_norm=1.0, mode="max", padding_idx=-1)
    assert repr(layer) == "EmbeddingBag(6, 3, max_norm=1.0, mode='max', padding_idx=5)"
    assert repr(nn.EmbeddingBag(6, 3)) == "EmbeddingBag(6, 3, mode='mean')"


def test_pretrained_vectors_are_shared_and_frozen():
    table = taper.ones(6, 3)
    layer = nn.EmbeddingBag.from_pretrained(table)
    assert layer.weight.data_ptr() == table.data_ptr() and not layer.weight.requires_grad
    assert nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad


def test_long_rows_are_shortened_in_place():
    layer = nn.EmbeddingBag(6, 3, max_norm=0.5)
    layer.weight.requires_grad_(False)
    layer(NUMBERS, OFFSETS)
    norms = layer.weight.norm(dim=1)
    assert (norms[NUMBERS] <= 0.5 + 1e-5).all()


def test_sparse_gradient_has_a_row_for_each_index():
    layer = nn.EmbeddingBag(6, 3, sparse=True)
    layer(NUMBERS, OFFSETS).sum().backward()
    assert layer.weight.grad.is_sparse
    assert layer.weight.grad._nnz() == len(NUMBERS)


def test_weights_of_samples_need_sums():
    layer = nn.EmbeddingBag(6, 3, mode="mean")
    with pytest.raises(NotImplementedError, match="only supported for mode='sum'"):
        layer(NUMBERS, OFFSETS, taper.ones(5))
