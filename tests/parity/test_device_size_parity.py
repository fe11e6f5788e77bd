"""device and Size against PyTorch: texts and errors."""

import importlib
import operator

import numpy as np
import pytest
import torch

from taper.size import Size

# By its full name, because the attribute `taper.device` is the class, as in PyTorch.
device = importlib.import_module("taper.device")


def outcome(function, *arguments, **keywords):
    """Return the type and repr of the result, or the type and the text of the error."""
    try:
        result = function(*arguments, **keywords)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return type(error).__name__, str(error)
    return type(result).__name__, repr(result)


@pytest.mark.parametrize(
    "text",
    [
        *"cpu:0 cuda:127 cuda:01 cuda: cpu:-1 foo foo:1 CPU cuda:x cpu:0:1 a1 :1 _ cuda_x".split(),
        *("", "cpu ", " cpu", "cpu:0\n"),
        *(name for name in device.DEVICE_TYPES if name != "mkldnn"),
    ],
)
def test_device_of_text(text):
    assert outcome(device.device, text) == outcome(torch.device, text)
    if outcome(torch.device, text)[0] == "device":
        assert str(device.device(text)) == str(torch.device(text))
        assert device.device(text).index == torch.device(text).index


@pytest.mark.parametrize(
    "arguments",
    [
        *((0,), (-1,), (None,), (1.5,), (True,), (1, 2), ("foo", 1)),
        *(("cuda", 1), ("cpu", -1), ("cuda:1", 1), ("cpu", "a"), ("cpu", None)),
    ],
)
def test_device_of_arguments(arguments):
    assert outcome(device.device, *arguments) == outcome(torch.device, *arguments)


def test_device_keywords():
    for keywords in ({"type": "cpu"}, {"type": "cpu", "index": 0}, {"device": "cuda:1"}):
        assert outcome(device.device, **keywords) == outcome(torch.device, **keywords)


def test_mkldnn_warns():
    with pytest.warns(UserWarning, match="'mkldnn' is no longer used as device type"):
        device.device("mkldnn")


def test_names():
    kinds = (torch.layout, torch.memory_format)
    found = {name for name in dir(torch) if isinstance(getattr(torch, name), kinds)}
    for name in found - {"_mkldnn"}:
        assert repr(getattr(device, name)) == repr(getattr(torch, name))


def test_size_construction():
    for items in ([2, 3], (), range(3), [True], [-1], [np.int64(3)], [1.0], ["a"], [2, None], 3):
        assert outcome(Size, items) == outcome(torch.Size, items)


def test_size_operations():
    mine, reference = Size([2, 3, 4]), torch.Size([2, 3, 4])
    for index in (0, -1, 5, slice(1), slice(None, None, -1), slice(5, 9)):
        assert outcome(operator.getitem, mine, index) == outcome(operator.getitem, reference, index)
    for other in ((5,), (), [5], 3, None, ("a",), (1.5,), (True,)):
        assert outcome(operator.add, mine, other) == outcome(operator.add, reference, other)
    assert outcome(operator.add, (5,), mine) == outcome(operator.add, (5,), reference)
    for count in (0, 1, 2, -1, True, 1.5, "a"):
        assert outcome(operator.mul, mine, count) == outcome(operator.mul, reference, count)
    assert outcome(operator.mul, 2, mine) == outcome(operator.mul, 2, reference)
    assert mine == reference and hash(mine) == hash(reference)
    assert mine.numel() == reference.numel()
