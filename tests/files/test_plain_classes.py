"""`load(weights_only=False)`: further classes of plain data, and nothing that runs."""

from __future__ import annotations

import argparse
import datetime
import io
import pathlib
from collections import defaultdict
from pickle import UnpicklingError
from types import SimpleNamespace

import numpy as np
import pytest

import taper
from files.forgery import Call, Name, checkpoint


def round_trip(value, **options):
    file = io.BytesIO()
    taper.save(value, file)
    file.seek(0)
    return taper.load(file, **options)


@pytest.mark.parametrize(
    "value",
    [
        argparse.Namespace(lr=0.1, data=pathlib.Path("a/b")),
        SimpleNamespace(epochs=3),
        defaultdict(list, {"loss": [1.0, 2.0]}),
        datetime.datetime(2024, 5, 17, 12, 30),
        datetime.timedelta(seconds=3),
        {"best": np.float64(0.5), "dtype": int},
    ],
    ids=str,
)
def test_plain_classes_load_without_weights_only(value):
    with pytest.raises(UnpicklingError, match="Unsupported global"):
        round_trip(value)
    again = round_trip(value, weights_only=False)
    assert type(again) is type(value)
    assert again == value


def test_arrays_of_numpy_load_without_weights_only():
    state = np.random.RandomState(3).get_state()
    again = round_trip({"numpy": state}, weights_only=False)["numpy"]
    assert again[0] == "MT19937"
    np.testing.assert_array_equal(again[1], state[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call(Name("builtins", "int"), "7"), "may be named, not called"),
        (Call(Name("collections", "defaultdict"), Name("argparse", "Namespace")), "factory"),
        (Call(Name("pathlib", "PosixPath"), 3), "a path is made of texts"),
        (Call(Name("datetime", "date"), "never"), "date: "),
        (Call(Name("numpy", "ndarray"), (10**12,)), "unrecognized function"),
    ],
)
def test_plain_classes_are_made_of_plain_data(call, words):
    with pytest.raises(UnpicklingError, match=words):
        taper.load(checkpoint(call), weights_only=False)
