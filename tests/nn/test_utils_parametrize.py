"""Parametrized modules: registering, assigning, removing, copying; failed calls change nothing."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import taper
from taper import nn
from taper.nn.utils import parametrize
from taper.nn.utils.parametrize import register_parametrization, remove_parametrizations


class Symmetric(nn.Module):
    def forward(self, matrix):
        return matrix.triu() + matrix.triu(1).T


class Doubled(nn.Module):
    def forward(self, value):
        return value * 2

    def right_inverse(self, value):
        return value / 2


class Split(nn.Module):
    def forward(self, one, other):
        return one + other

    def right_inverse(self, value):
        return value / 4, value * 3 / 4


class HalvedAndCut(Doubled):
    def forward(self, value):
        return value[:1]


KEY = "parametrizations.weight.original"


def test_the_tensor_is_computed_from_the_original():
    layer = nn.Linear(2, 2)
    weight, before = layer.weight, layer.weight.tolist()
    assert register_parametrization(layer, "weight", Doubled()) is layer
    assert layer.parametrizations.weight.original is weight
    assert layer.weight.tolist() == before
    assert layer.weight.grad_fn.name() == "MulBackward0"
    assert list(layer.state_dict()) == ["bias", KEY]
    layer(taper.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_repr():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    assert repr(layer) == (
        "ParametrizedLinear(\n  in_features=2, out_features=2, bias=True\n"
        "  (parametrizations): ModuleDict(\n    (weight): ParametrizationList(\n"
        "      (0): Symmetric()\n    )\n  )\n)"
    )


def test_a_second_one_sees_the_result_of_the_first():
    layer = nn.Linear(2, 2)
    layer.weight.data = taper.tensor([[1.0, 2.0], [3.0, 4.0]])
    register_parametrization(layer, "weight", Doubled())
    register_parametrization(layer, "weight", Symmetric())
    assert layer.weight.tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert len(layer.parametrizations.weight) == 2


def test_several_originals():
    layer = nn.Linear(2, 2)
    layer.weight.data = taper.full((2, 2), 4.0)
    register_parametrization(layer, "weight", Split())
    assert list(layer.state_dict()) == ["bias", KEY + "0", KEY + "1"]
    assert layer.parametrizations.weight.original0.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    layer.weight = taper.full((2, 2), 8.0)
    assert layer.parametrizations.weight.original1.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    with pytest.raises(ValueError, match="^Cannot leave unparametrized"):
        remove_parametrizations(layer, "weight", leave_parametrized=False)
    remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    assert layer.weight.tolist() == [[8.0, 8.0], [8.0, 8.0]]


@pytest.mark.parametrize(("leave", "expected"), [(True, 4.0), (False, 2.0)])
def test_removing(leave, expected):
    layer = nn.Linear(2, 2)
    layer.weight.data = taper.full((2, 2), 4.0)
    weight = layer.weight
    register_parametrization(layer, "weight", Doubled())
    remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert type(layer) is nn.Linear
    assert layer.weight is weight
    assert layer.weight.tolist() == [[expected, expected], [expected, expected]]
    assert not parametrize.is_parametrized(layer)


def test_a_failed_registration_changes_nothing():
    layer = nn.Linear(2, 2)
    weight, before = layer.weight, layer.weight.tolist()
    with pytest.raises(ValueError, match="^Registering a parametrization may not change the shape"):
        register_parametrization(layer, "weight", HalvedAndCut())
    assert type(layer) is nn.Linear
    assert layer.weight is weight
    assert weight.tolist() == before


def test_a_failed_assignment_changes_nothing():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Split())
    before = layer.weight.tolist()
    with pytest.raises(ValueError, match="^Tensor 0 returned by `right_inverse` has dtype"):
        layer.weight = taper.ones(2, 2).double()
    assert layer.weight.tolist() == before
    layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with pytest.raises(RuntimeError, match="^parametrization Symmetric does not implement right_"):
        layer.weight = taper.ones(2, 2)


def test_copies_are_independent():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    twin = copy.deepcopy(layer)
    before = layer.weight.tolist()
    remove_parametrizations(layer, "weight")
    register_parametrization(layer, "bias", Doubled())
    assert twin.weight.tolist() == before
    assert isinstance(twin.bias, nn.Parameter)
    assert twin.parametrizations.weight.original is not layer.weight


def test_only_the_state_can_be_stored():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    with pytest.raises(RuntimeError, match=r"^Serialization of parametrized modules is only"):
        pickle.dumps(layer)
    other = register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    other.load_state_dict(layer.state_dict())
    assert taper.equal(other.weight, layer.weight)


def test_cached_values_and_modules_do_not_outlive_the_block():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    with parametrize.cached():
        first = layer.weight
        with parametrize.cached():
            assert layer.weight is first
        assert layer.weight is first
    assert layer.weight is not first
    gone = weakref.ref(layer)
    del layer, first
    gc.collect()
    assert gone() is None


def test_buffers_stay_buffers():
    layer = nn.Linear(2, 2)
    layer.register_buffer("table", taper.ones(2))
    register_parametrization(layer, "table", Doubled())
    assert list(layer.parametrizations.table._buffers) == ["original"]
    remove_parametrizations(layer, "table")
    assert layer._buffers["table"].tolist() == [1.0, 1.0]


def test_transferring():
    source = register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    target = parametrize.transfer_parametrizations_and_params(source, nn.Linear(2, 2))
    assert target.parametrizations.weight.original is source.parametrizations.weight.original
    assert parametrize.type_before_parametrizations(target) is nn.Linear


def test_optimizers_move_the_original():
    layer = register_parametrization(nn.Linear(2, 1), "weight", Doubled())
    layer.weight = taper.tensor([[2.0, 4.0]])
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.25)
    layer(taper.ones(1, 2)).sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == [[1.0, 3.0]]
