"""`load(weights_only=False)`: whole modules, without running anything of the file's choosing."""

from __future__ import annotations

import io
import pickle
import struct
from pickle import UnpicklingError

import pytest

import taper
from files.forgery import archive
from taper import nn, serialization


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.rnn = nn.LSTM(4, 2)

    def forward(self, x):
        return self.rnn(self.body(x))[0]


def written(value):
    file = io.BytesIO()
    taper.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2), nn.GELU()),
        lambda: nn.GRU(3, 2),
        lambda: nn.TransformerEncoderLayer(3, 1, 4, dropout=0.0, activation="gelu"),
        lambda: nn.ModuleDict({"a": nn.ParameterList([taper.ones(1)])}),
    ],
)
def test_modules_of_nn_load(make):
    model = make()
    with pytest.raises(UnpicklingError, match="Unsupported global"):
        taper.load(written(model))
    again = taper.load(written(model), weights_only=False)
    assert str(again) == str(model)
    assert again.__dict__.keys() == model.__dict__.keys()
    for (name, one), (other, two) in zip(
        model.state_dict().items(), again.state_dict().items(), strict=True
    ):
        assert name == other
        assert taper.equal(one, two)


def test_a_class_of_the_program_must_be_allowed():
    model, x = Net(), taper.randn(2, 3)
    with pytest.raises(NotImplementedError, match="names .*Net: allow it with"):
        taper.load(written(model), weights_only=False)
    with serialization.safe_globals([Net]):
        again = taper.load(written(model), weights_only=False)
    assert taper.equal(again(x), model(x))
    every = [Net, nn.Sequential, nn.Linear, nn.ReLU, nn.LSTM]
    with serialization.safe_globals(every):
        assert taper.equal(taper.load(written(model))(x), model(x))


def opcodes(data: bytes) -> io.BytesIO:
    return archive(b"\x80\2" + data)


def text(word: str) -> bytes:
    return b"X" + struct.pack("<I", len(word)) + word.encode()


LINEAR = b"ctorch.nn.modules.linear\nLinear\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (LINEAR + b"K\1\x85\x81.", "made without arguments"),
        (LINEAR + b")R.", "unrecognized function"),
        (LINEAR + b")\x81K\1b.", "names of attributes"),
        (
            LINEAR + b")\x81}" + text("forward") + b"c_codecs\nencode\nsb.",
            "is a method and cannot be an attribute",
        ),
        (
            LINEAR + b")\x81}" + text("_forward_hooks") + b"}K\0c_codecs\nencode\nssb.",
            "must be allowed by add_safe_globals",
        ),
        (
            LINEAR + b")\x81}" + text("_modules") + b"}" + text("a") + b"K\1ssb.",
            "must hold Modules",
        ),
        (b"ctorch.nn.functional\nrelu\nK\1\x85R.", "unrecognized function"),
    ],
)
def test_a_file_makes_modules_of_data_alone(data, words):
    with pytest.raises(UnpicklingError, match=words):
        taper.load(opcodes(data), weights_only=False)


def test_a_file_names_no_other_class_of_the_library():
    for name in (
        b"torch.nn.parallel.data_parallel\nDataParallel",
        b"torch.fx.graph_module\nreduce",
    ):
        with pytest.raises(NotImplementedError, match="never executes files"):
            taper.load(opcodes(b"c" + name + b"\n)\x81."), weights_only=False)


def test_saving_does_not_use_the_table_that_dill_changes(monkeypatch):
    def of_dill(pickler, value):
        return pickler._session

    for kind in list(pickle._Pickler.dispatch):
        monkeypatch.setitem(pickle._Pickler.dispatch, kind, of_dill)
    value = {"a": [1, 2.0, "x", b"y", None, True, (3,), {4}], "t": taper.ones(2)}
    again = taper.load(written(value))
    assert again["a"] == value["a"]


class Even(taper.distributions.constraints.Constraint):
    def check(self, value):
        return value % 2 == 0


def test_constraints_are_loaded_and_nothing_else_of_their_module():
    constraints = taper.distributions.constraints
    saved = {"a": constraints.interval(0.0, 2.0), "c": constraints.simplex}
    loaded = taper.load(written(saved), weights_only=False)
    assert loaded["a"].check(taper.tensor([1.0, 3.0])).tolist() == [True, False]
    assert type(loaded["c"]) is type(constraints.simplex)
    with pytest.raises(UnpicklingError):
        taper.load(written(saved))
    with pytest.raises(NotImplementedError, match="never executes files"):
        taper.load(written({"function": constraints.is_dependent}), weights_only=False)


def test_constraints_of_others_are_loaded_when_they_are_allowed():
    with pytest.raises(NotImplementedError, match="never executes files"):
        taper.load(written(Even()), weights_only=False)
    with taper.serialization.safe_globals([Even]):
        assert type(taper.load(written(Even()), weights_only=False)) is Even
