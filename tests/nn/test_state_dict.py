"""state_dict, load_state_dict and their hooks."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import taper
from taper import nn


def model():
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Sequential(nn.Linear(2, 1)))


def test_keys_order_and_metadata():
    state = model().state_dict()
    assert list(state) == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
        "2.0.weight",
        "2.0.bias",
    ]
    assert state._metadata == OrderedDict(
        {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
        | {"2": {"version": 1}, "2.0": {"version": 1}}
    )


def test_entries_are_detached_and_share_memory():
    layer = nn.Linear(2, 2)
    state = layer.state_dict()
    assert type(state["weight"]) is taper.Tensor
    assert not state["weight"].requires_grad
    assert state["weight"].data_ptr() == layer.weight.data_ptr()
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight
    assert list(layer.state_dict(prefix="p.")) == ["p.weight", "p.bias"]


def test_positional_arguments_warn():
    with pytest.warns(FutureWarning, match="^Positional args are being deprecated"):
        state = nn.Linear(1, 1).state_dict(OrderedDict(), "p.", True)
    assert list(state) == ["p.weight", "p.bias"]


def test_load_copies_in_place():
    ours, theirs = model(), model()
    kept = ours[0].weight
    result = ours.load_state_dict(theirs.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert ours[0].weight is kept
    assert ours[0].weight.tolist() == theirs[0].weight.tolist()
    assert ours[0].weight.data_ptr() != theirs[0].weight.data_ptr()
    assert ours[0].weight.is_leaf


def spoilt():
    state = dict(model().state_dict())
    state["x.y"] = 1
    state["0.other"] = taper.ones(1)
    state["0.weight"] = taper.ones(3, 3)
    state["0.bias"] = taper.full((2,), 7.0)
    state["2.0.bias"] = 5
    del state["1.bias"]
    return state


MISFITS = (
    "size mismatch for 0.weight: copying a param with shape torch.Size([3, 3]) from checkpoint, "
    "the shape in current model is torch.Size([2, 2]).\n\t"
    'While copying the parameter named "2.0.bias", expected torch.Tensor or Tensor-like object '
    "from checkpoint but received <class 'int'>"
)


def test_everything_wrong_is_said_at_once():
    with pytest.raises(RuntimeError) as caught:
        model().load_state_dict(spoilt())
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n\t"
        'Missing key(s) in state_dict: "1.bias". \n\t'
        'Unexpected key(s) in state_dict: "x.y", "0.other". \n\t' + MISFITS
    )


def test_failed_load_changes_nothing():
    target = model()
    before = {name: value.tolist() for name, value in target.state_dict().items()}
    with pytest.raises(RuntimeError, match="Error"):
        target.load_state_dict(spoilt())
    assert {name: value.tolist() for name, value in target.state_dict().items()} == before


def test_not_strict_still_refuses_misfits():
    with pytest.raises(RuntimeError) as caught:
        model().load_state_dict(spoilt(), strict=False)
    assert str(caught.value) == "Error(s) in loading state_dict for Sequential:\n\t" + MISFITS


def test_not_strict_returns_the_differences():
    result = nn.Linear(1, 1).load_state_dict({"weight": taper.ones(1, 1), "more": 1}, strict=False)
    assert result.missing_keys == ["bias"]
    assert result.unexpected_keys == ["more"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['more'])"


def test_assign_replaces_and_keeps_the_flag():
    layer = nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    weight = taper.zeros(2, 2, dtype=taper.float64)
    given = nn.Parameter(taper.ones(2))
    layer.load_state_dict({"weight": weight, "bias": given}, assign=True)
    assert isinstance(layer.weight, nn.Parameter)
    assert layer.weight.requires_grad
    assert layer.weight.dtype == taper.float64
    assert layer.weight.data_ptr() == weight.data_ptr()
    assert layer.bias is given
    assert not given.requires_grad


def test_scalars_saved_as_one_element():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(taper.tensor(1.0))

    scale = Scale()
    scale.load_state_dict({"factor": taper.tensor([5.0])})
    assert scale.factor.item() == 5.0


def test_not_a_mapping():
    with pytest.raises(
        TypeError, match="^Expected state_dict to be dict-like, got <class 'int'>.$"
    ):
        nn.Linear(1, 1).load_state_dict(3)


class Extra(nn.Module):
    value = 3

    def get_extra_state(self):
        return {"value": self.value}

    def set_extra_state(self, state):
        self.value = state["value"]


def test_extra_state():
    first, second = Extra(), Extra()
    first.value = 9
    second.load_state_dict(first.state_dict())
    assert second.value == 9
    with pytest.raises(RuntimeError, match='Missing key.s. in state_dict: "_extra_state"'):
        second.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key.s. in state_dict: "_extra_state"'):
        nn.Identity().load_state_dict({"_extra_state": 1})


def test_override_of_load_sees_what_it_loaded():
    class Doubled(nn.Linear):
        def _load_from_state_dict(self, *args):
            super()._load_from_state_dict(*args)
            self.seen = self.weight.item()

    layer = Doubled(1, 1, bias=False)
    layer.load_state_dict({"weight": taper.tensor([[4.0]])})
    assert layer.seen == 4.0


def test_hooks_on_saving():
    seen = []
    layer = nn.Linear(1, 1)
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias"))
    with pytest.raises(RuntimeError, match="^state_dict post-hook must return None$"):
        layer.state_dict()
    layer._state_dict_hooks.clear()

    def drop(module, state, prefix, metadata):
        del state[prefix + "bias"]

    layer.register_state_dict_post_hook(drop)
    assert list(layer.state_dict(prefix="p.")) == ["p.weight"]
    assert seen == [("", False), ("p.", False)]
    with pytest.raises(RuntimeError, match="^Cannot register the same function as the state dict"):
        layer._register_state_dict_hook(drop)
    layer._register_state_dict_hook(lambda *arguments: {"other": 1})
    assert layer.state_dict() == {"other": 1}


def test_hooks_on_loading():
    seen = []
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_pre_hook(
        lambda m, state, prefix, *rest: seen.append((m, prefix))
    )
    layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append(prefix))
    layer.register_load_state_dict_post_hook(lambda m, keys: seen.append(m.weight.item()))
    model = nn.Sequential(layer)
    model.load_state_dict({"0.weight": taper.tensor([[2.0]]), "0.bias": taper.ones(1)})
    assert seen == [(layer, "0."), "0.", 2.0]


def test_post_hook_may_forgive():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    result = layer.load_state_dict({"weight": taper.tensor([[2.0]])})
    assert repr(result) == "<All keys matched successfully>"
    assert layer.weight.item() == 2.0
    layer.register_load_state_dict_post_hook(lambda m, keys: 5)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        layer.load_state_dict(layer.state_dict())


def test_batch_norm_of_an_older_version():
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        norm.load_state_dict(state)
    state._metadata[""]["version"] = 1
    assert repr(norm.load_state_dict(state)) == "<All keys matched successfully>"
