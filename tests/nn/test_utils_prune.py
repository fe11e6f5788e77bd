"""Pruning; the masks are those of PyTorch 2.13 for the same seed."""

from __future__ import annotations

import pickle

import pytest

import taper
from taper import nn
from taper.nn.utils import prune


@pytest.fixture(autouse=True)
def seed():
    taper.manual_seed(0)


def test_masks_of_a_chain():
    layer = prune.random_unstructured(nn.Linear(4, 3), "weight", 0.5)
    assert layer.weight_mask.tolist() == [[1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]
    prune.random_structured(layer, "weight", 1, 1)
    assert layer.weight_mask.tolist() == [[0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 1, 0]]
    prune.ln_structured(layer, "weight", 1, 2, 0)
    assert layer.weight_mask.tolist() == [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    prune.l1_unstructured(layer, "weight", 1)
    assert layer.weight_mask.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    (hook,) = layer._forward_pre_hooks.values()
    assert [type(each).__name__ for each in hook] == [
        "RandomUnstructured",
        "RandomStructured",
        "LnStructured",
        "L1Unstructured",
    ]


@pytest.mark.parametrize(
    ("method", "masks"),
    [
        (prune.RandomUnstructured, [[[1, 1, 0], [0, 1, 1]], [[0, 0], [1, 0]]]),
        (prune.L1Unstructured, [[[0, 1, 1], [1, 1, 0]], [[0, 0], [1, 0]]]),
    ],
)
def test_global(method, masks):
    layers = [nn.Linear(3, 2), nn.Linear(2, 2)]
    prune.global_unstructured([(each, "weight") for each in layers], method, amount=5)
    assert [each.weight_mask.tolist() for each in layers] == masks


def test_a_pruned_parameter_is_a_product():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    weight.data = taper.tensor([[1.0, 3.0]])
    prune.l1_unstructured(layer, "weight", 1)
    assert layer.weight_orig is weight
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    layer(taper.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[0.0, 1.0]]
    assert prune.is_pruned(nn.Sequential(layer))
    assert pickle.loads(pickle.dumps(layer)).weight.tolist() == [[0.0, 3.0]]
    prune.remove(layer, "weight")
    assert layer.weight is weight
    assert weight.tolist() == [[0.0, 3.0]]
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert not prune.is_pruned(layer)


def test_a_failed_pruning_changes_nothing():
    class Broken(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            raise RuntimeError("no")

    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="^no$"):
        Broken.apply(layer, "weight")
    assert list(layer.state_dict()) == ["weight", "bias"]
    prune.identity(layer, "weight")
    hooks = dict(layer._forward_pre_hooks)
    with pytest.raises(RuntimeError, match="^no$"):
        Broken.apply(layer, "weight")
    assert dict(layer._forward_pre_hooks) == hooks
    assert layer.weight_mask.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda x: prune.l1_unstructured(x, "weight", 1.5), ValueError, "amount=1.5 should either"),
        (lambda x: prune.l1_unstructured(x, "weight", -1), ValueError, "amount=-1 should either"),
        (lambda x: prune.l1_unstructured(x, "weight", "a"), TypeError, "Invalid type for amount"),
        (lambda x: prune.l1_unstructured(x, "weight", 5), ValueError, "amount=5 should be smaller"),
        (lambda x: prune.random_structured(x, "bias", 1, 0), ValueError, "Structured pruning can"),
        (lambda x: prune.ln_structured(x, "weight", 1, 2, 3), IndexError, "Invalid index 3 for"),
        (lambda x: prune.remove(x, "weight"), ValueError, "Parameter 'weight' of module Linear"),
        (
            lambda x: prune.l1_unstructured(x, "weight", 1, taper.ones(3)),
            AssertionError,
            "importance_scores should have the same shape as parameter weight of Linear",
        ),
        (
            lambda x: prune.custom_from_mask(x, "weight", taper.ones(3)),
            AssertionError,
            "default_mask shape torch.Size([2, 2]) must match self.mask shape torch.Size([3])",
        ),
        (
            lambda x: prune.global_unstructured([(x, "weight")], prune.LnStructured, amount=1, n=1),
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported',
        ),
    ],
)
def test_refusals(action, error, text):
    layer = nn.Linear(2, 2)
    with pytest.raises(error) as caught:
        action(layer)
    assert str(caught.value).startswith(text)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_scores_decide_instead_of_values():
    layer = nn.Linear(3, 1)
    scores = taper.tensor([[5.0, -6.0, 1.0]])
    assert prune.l1_unstructured(layer, "weight", 1, scores).weight_mask.tolist() == [[1, 1, 0]]


def test_a_container_holds_methods_of_one_parameter():
    one, other = prune.L1Unstructured(1), prune.L1Unstructured(1)
    one._tensor_name, other._tensor_name = "weight", "bias"
    container = prune.PruningContainer(one)
    with pytest.raises(ValueError, match="^Can only add pruning methods acting on the parameter"):
        container.add_pruning_method(other)
    with pytest.raises(TypeError, match="is not a BasePruningMethod subclass$"):
        container.add_pruning_method(3)
    assert list(container) == [one]
