"""Dropout: PyTorch's masks, identity without training, in place, warnings about dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from taper.nn import functional as F

ALL = ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d")
SHAPES = {"dropout1d": (2, 3, 4), "dropout2d": (2, 3, 4, 2), "dropout3d": (2, 3, 4, 2, 2)}


def test_the_mask_is_that_of_pytorch():
    taper.manual_seed(7)
    found = F.dropout(taper.arange(1.0, 7.0), 0.4)
    np.testing.assert_allclose(found.numpy(), [5 / 3, 10 / 3, 0, 0, 0, 0], rtol=1e-6)


def test_the_graph_is_one_product_with_the_mask():
    x = taper.ones(4, 5, requires_grad=True)
    result = F.dropout(x, 0.5)
    assert type(result.grad_fn).__name__ == "MulBackward0"
    result.sum().backward()
    assert taper.equal(x.grad, result.detach())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("p", "training"), [(0.5, False), (0.0, True)])
def test_nothing_happens_without_training_or_probability(name, p, training):
    x = taper.ones(SHAPES.get(name, (2, 3)))
    result = getattr(F, name)(x, p, training)
    assert result is x or np.shares_memory(result.numpy(), x.numpy())


@pytest.mark.parametrize("name", ALL)
def test_in_place_writes_the_same_numbers(name):
    shape = SHAPES.get(name, (2, 3))
    x = taper.rand(shape)
    taper.manual_seed(1)
    expected = getattr(F, name)(x.clone(), 0.5, True)
    taper.manual_seed(1)
    result = getattr(F, name)(x, 0.5, True, inplace=True)
    assert result is x
    assert taper.equal(x, expected)
    assert x._version > 0


@pytest.mark.parametrize("name", ["dropout1d", "dropout2d", "dropout3d"])
def test_whole_channels_are_dropped(name):
    result = getattr(F, name)(taper.ones(SHAPES[name]), 0.5).flatten(2)
    assert taper.equal(result, result[:, :, :1].expand(2, 3, result.shape[2]))


def test_inputs_of_other_dimensions_are_refused_or_warned_of():
    with pytest.raises(RuntimeError, match="dropout1d: Expected 2D or 3D input"):
        F.dropout1d(taper.ones(3))
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout2d"):
        F.dropout2d(taper.ones(2, 3))
    with pytest.warns(UserWarning, match="Received a 3D input to dropout2d and assuming"):
        F.dropout2d(taper.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="Received a 3-D input to dropout3d"):
        F.dropout3d(taper.ones(2, 3, 4))


def test_a_leaf_is_not_dropped_in_place():
    x = taper.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F.dropout(x, 0.5, inplace=True)
