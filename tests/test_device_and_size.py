"""device, layout, memory_format and Size; the expected texts are PyTorch's."""

import copy
import pickle
import threading
from operator import add

import numpy as np
import pytest

from taper.device import (
    CPU,
    channels_last,
    device,
    get_default_device,
    layout,
    legacy_contiguous_format,
    memory_format,
    set_default_device,
    strided,
    usable,
)
from taper.size import Size, of_shape


@pytest.mark.parametrize(
    ("arguments", "text", "short"),
    [
        (("cpu",), "device(type='cpu')", "cpu"),
        (("cpu:0",), "device(type='cpu', index=0)", "cpu:0"),
        (("cuda", 1), "device(type='cuda', index=1)", "cuda:1"),
        (("meta",), "device(type='meta')", "meta"),
    ],
)
def test_device_text(arguments, text, short):
    made = device(*arguments)
    assert repr(made) == text
    assert str(made) == short
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_device_equality():
    assert device("cpu") == device(type="cpu") == device(device("cpu"))
    assert device("cpu") != device("cpu:0")
    assert device("cpu") != "cpu"
    assert len({device("cuda:1"), device("cuda", 1), device("cuda")}) == 2
    with pytest.raises(AttributeError):
        CPU.type = "cuda"


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("foo:1",), RuntimeError, "Expected one of cpu, cuda, .* start of device string: foo$"),
        (("",), RuntimeError, "Device string must not be empty"),
        (("cuda:01",), RuntimeError, "Invalid device string: 'cuda:01'"),
        (("cpu:-1",), RuntimeError, "Invalid device string: 'cpu:-1'"),
        (("cpu", -1), RuntimeError, "Device index must not be negative"),
        (("cpu:1", 1), RuntimeError, "must not include an index because index was passed"),
        ((0,), RuntimeError, "Cannot access accelerator device when none is available."),
        ((1.5,), TypeError, r"invalid combination of arguments - got \(float\)"),
        (("cpu", "a"), TypeError, r"argument 'index' \(position 2\) must be int, not str"),
    ],
)
def test_device_errors(arguments, error, text):
    with pytest.raises(error, match=text):
        device(*arguments)


def test_default_device_is_of_the_thread():
    seen = []
    with device("cuda") as active:
        assert get_default_device() is active
        with device("cpu:0"):
            assert str(get_default_device()) == "cpu:0"
        assert get_default_device() is active
        thread = threading.Thread(target=lambda: seen.append(get_default_device()))
        thread.start()
        thread.join()
    assert seen == [CPU]
    assert get_default_device() == CPU


def test_default_device_comes_back_after_an_error():
    with pytest.raises(KeyError), device("cuda"):
        raise KeyError
    assert get_default_device() == CPU


def test_set_default_device():
    try:
        set_default_device("cpu:0")
        assert str(get_default_device()) == "cpu:0"
        with pytest.raises(RuntimeError, match="Expected one of"):
            set_default_device("foo")
        assert str(get_default_device()) == "cpu:0"
    finally:
        set_default_device(None)
    assert get_default_device() == CPU


def test_the_cpu_and_meta_are_usable():
    for given in (None, "cpu", "cpu:0", CPU):
        assert usable(given, "zeros") is CPU
    with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
        usable("cuda", "zeros")
    with device("cuda"), pytest.raises(AssertionError, match="CUDA"):
        usable(None, "zeros")
    with pytest.raises(RuntimeError, match="not linked with support for mps devices"):
        usable("mps", "zeros")
    assert usable("meta", "zeros") == device("meta")
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'device' must be torch.device"):
        usable(1.5, "zeros")


def test_layouts_and_memory_formats_are_singletons():
    assert repr(strided) == "torch.strided"
    assert repr(channels_last) == "torch.channels_last"
    assert repr(legacy_contiguous_format) == "torch.contiguous_format"
    for found in (strided, channels_last):
        assert copy.deepcopy(found) is found
        assert pickle.loads(pickle.dumps(found)) is found
    for kind in (layout, memory_format):
        with pytest.raises(TypeError, match=f"cannot create 'torch.{kind.__name__}' instances"):
            kind()


def test_size_stays_a_size():
    size = Size([2, 3])
    for made, text in [
        (size, "torch.Size([2, 3])"),
        (size[:1], "torch.Size([2])"),
        (size[::-1], "torch.Size([3, 2])"),
        (add(size, (4,)), "torch.Size([2, 3, 4])"),
        (add((4,), size), "torch.Size([4, 2, 3])"),
        (size * 2, "torch.Size([2, 3, 2, 3])"),
        (2 * size, "torch.Size([2, 3, 2, 3])"),
        (Size(), "torch.Size([])"),
        (Size([np.int64(3), True]), "torch.Size([3, 1])"),
        (of_shape(np.zeros((2, 0)).shape), "torch.Size([2, 0])"),
        (copy.deepcopy(size), "torch.Size([2, 3])"),
        (pickle.loads(pickle.dumps(size)), "torch.Size([2, 3])"),
    ]:
        assert type(made) is Size
        assert repr(made) == str(made) == text


def test_size_is_a_tuple():
    size = Size([2, 3])
    assert size == (2, 3)
    assert size != [2, 3]
    assert hash(size) == hash((2, 3))
    assert size[-1] == 3
    assert {(2, 3): "found"}[size] == "found"


def test_numel():
    assert Size([2, 3]).numel() == 6
    assert Size([]).numel() == 1
    assert Size([0, 3]).numel() == 0


def test_size_errors():
    with pytest.raises(
        TypeError, match=r"torch.Size\(\) takes an iterable of 'int' \(item 1 is 'float'\)"
    ):
        Size([1, 1.0])
    with pytest.raises(TypeError, match=r"\(item 2 is 'str'\)"):
        add(Size([2, 3]), ("a",))
    with pytest.raises(TypeError, match=r"can only concatenate tuple \(not list\) to torch.Size"):
        add(Size([2, 3]), [4])
    with pytest.raises(TypeError, match="can't multiply sequence by non-int of type 'float'"):
        Size([2, 3]) * 1.5
