"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import taper
from taper import nn


def kinds(modules):
    return [type(module).__name__ for module in modules]


# --------------------------------------------------------------------------------- Sequential


def test_sequential_runs_in_order():
    model = nn.Sequential(nn.Flatten(), nn.Identity(), nn.Unflatten(1, (2, 3)))
    assert model(taper.ones(4, 3, 2)).shape == (4, 2, 3)
    assert nn.Sequential()(5) == 5


def test_sequential_as_a_list():
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert len(model) == 2
    assert model[-1] is model[1]
    assert kinds(model[1:]) == ["Tanh"]
    model.append(nn.ELU()).extend([nn.GELU()]).insert(0, nn.Sigmoid())
    assert kinds(model) == ["Sigmoid", "ReLU", "Tanh", "ELU", "GELU"]
    model.insert(-1, nn.Mish())
    assert kinds(model) == ["Sigmoid", "ReLU", "Tanh", "ELU", "Mish", "GELU"]
    del model[1:3]
    model[0] = nn.SELU()
    assert kinds(model) == ["SELU", "ELU", "Mish", "GELU"]
    assert list(model._modules) == ["0", "1", "2", "3"]
    assert kinds([model.pop(0)]) == ["SELU"]
    assert kinds(model + nn.Sequential(nn.ReLU())) == ["ELU", "Mish", "GELU", "ReLU"]
    model += nn.Sequential(nn.ReLU())
    assert kinds(model) == ["ELU", "Mish", "GELU", "ReLU"]


def test_sequential_repeats_the_same_modules():
    block = nn.Sequential(nn.ReLU())
    assert kinds(block * 3) == kinds(3 * block) == ["ReLU"] * 3
    assert (block * 2)[1] is block[0]
    block *= 2
    assert len(block) == 2


def test_sequential_with_names():
    model = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert repr(model) == "Sequential(\n  (first): ReLU()\n  (second): Tanh()\n)"
    assert model.first is model[0]
    assert repr(model[:1]) == "Sequential(\n  (first): ReLU()\n)"
    del model[0]
    assert list(model._modules) == ["0"]


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda m: m[5], IndexError, "index 5 is out of range"),
        (lambda m: m["a"], TypeError, "'str' object cannot be interpreted as an integer"),
        (lambda m: m.insert(7, nn.ReLU()), IndexError, "Index out of range: 7"),
        (lambda m: m * 1.5, TypeError, "unsupported operand type"),
        (lambda m: m * 0, ValueError, "Non-positive multiplication factor 0 for"),
        (lambda m: m + 3, ValueError, "add operator supports only objects of Sequential class"),
        (lambda m: m.insert(0, 3), AssertionError, "module should be of type: "),
        (lambda m: m.append(3), TypeError, "int is not a Module subclass"),
    ],
)
def test_sequential_refusals(action, error, text):
    model = nn.Sequential(nn.ReLU())
    with pytest.raises(error) as caught:
        action(model)
    assert str(caught.value).startswith(text)
    assert kinds(model) == ["ReLU"]


# --------------------------------------------------------------------------------- ModuleList


def test_module_list():
    layers = nn.ModuleList([nn.Linear(1, 2) for _ in range(3)])
    assert repr(layers) == (
        "ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=2, bias=True)\n)"
    )
    layers.append(nn.ReLU()).extend([nn.ModuleList([nn.ReLU(), nn.ReLU()])])
    layers.insert(1, nn.Tanh())
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0): Linear(in_features=1, out_features=2, bias=True)\n"
        "  (1): Tanh()\n"
        "  (2-3): 2 x Linear(in_features=1, out_features=2, bias=True)\n"
        "  (4): ReLU()\n"
        "  (5): ModuleList(\n    (0-1): 2 x ReLU()\n  )\n)"
    )
    assert len(list(layers.parameters())) == 6
    assert kinds(layers[1:2] + nn.ModuleList([nn.ELU()])) == ["Tanh", "ELU"]
    del layers[0], layers[-1], layers[1:3]
    assert kinds(layers) == ["Tanh", "ReLU"]
    layers[1] = nn.SELU()
    layers += [nn.GELU()]
    assert kinds([layers.pop(0)]) == ["Tanh"]
    assert list(layers._modules) == ["0", "1"]
    assert layers[0] in layers
    assert repr(nn.ModuleList()) == "ModuleList()"
    with pytest.raises(IndexError, match="^index 9 is out of range$"):
        layers[9]
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        layers(1)


# --------------------------------------------------------------------------------- ModuleDict


def test_module_dict():
    layers = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    layers["c"] = nn.ELU()
    layers.update([("d", nn.GELU())])
    layers.update(nn.ModuleDict({"e": nn.Mish()}))
    assert list(layers) == list(layers.keys()) == ["b", "a", "c", "d", "e"]
    assert kinds(layers.values()) == ["ReLU", "Tanh", "ELU", "GELU", "Mish"]
    assert "a" in layers
    assert kinds([layers.pop("b")]) == ["ReLU"]
    del layers["a"]
    assert len(layers) == 3
    assert dict(layers.items())["c"] is layers["c"]
    layers.clear()
    assert len(layers) == 0
    with pytest.raises(KeyError, match="attribute 'keys' already exists"):
        layers["keys"] = nn.ReLU()


# ----------------------------------------------------------------- ParameterList and -Dict


def test_parameter_list():
    values = nn.ParameterList([taper.ones(2), nn.Parameter(taper.ones(3)), "text"])
    assert repr(values) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2]\n"
        "    (1): Parameter containing: [torch.float32 of size 3]\n"
        "    (2): Object of type: str\n)"
    )
    assert len(list(values.parameters())) == 2
    assert values[2] == values[-1] == "text"
    values[0] = taper.zeros(4, 1)
    values.append(taper.ones(1)).extend(nn.ParameterList([taper.ones(1)]))
    values += [taper.ones(1)]
    assert [name for name, _ in values.named_parameters()] == ["0", "1", "3", "4", "5"]
    assert values[0].shape == (4, 1)
    assert len(values[1:4:2]) == 2
    assert len(list(values)) == len(values) == 6
    with pytest.raises(TypeError, match="should be called with an iterable, but got Tensor"):
        values.extend(taper.ones(1))
    with pytest.raises(RuntimeError, match="^ParameterList should not be called.$"):
        values(1)


def test_parameter_dict():
    values = nn.ParameterDict({"b": taper.ones(1), "a": taper.ones(2)})
    assert list(values) == ["a", "b"]
    assert list(reversed(values)) == ["b", "a"]
    assert list(nn.ParameterDict([("b", taper.ones(1)), ("a", 3)])) == ["b", "a"]
    assert repr(nn.ParameterDict({"a": taper.ones(2)})) == (
        "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])"
    )
    assert values.get("nothing", 5) == 5
    assert values.setdefault("c", taper.ones(1)) is values["c"]
    assert values.setdefault("c") is values["c"]
    assert values.pop("c").shape == (1,)
    merged = values | nn.ParameterDict({"z": taper.ones(1)})
    assert list(merged) == ["a", "b", "z"]
    assert merged["a"] is values["a"]
    values |= nn.ParameterDict({"y": taper.ones(1)})
    assert list(values) == ["a", "b", "y"]
    assert values.popitem()[0] == "y"
    del values["a"]
    assert [name for name, _ in values.named_parameters()] == ["b"]
    assert list(values.fromkeys(["u", "v"], 1).values()) == [1, 1]
    assert dict(values.copy().items())["b"] is values["b"]
    values.clear()
    assert len(values) == 0
    assert "b" not in values
    with pytest.raises(TypeError, match="cannot be used as a key as it is not a string"):
        values[3] = 1
