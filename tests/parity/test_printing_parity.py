"""The text of tensors against PyTorch's, over random arrays, dtypes and print options."""

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import _tensor_str

from taper import dtypes, printing

NAMES = [found.name for found in dtypes.COMPUTED]
SHAPES = [(), (1,), (2,), (7,), (30,), (1, 1), (3, 4), (2, 12), (2, 1, 3), (2, 2, 2, 2)]
EMPTY_SHAPES = [(0,), (0, 3), (3, 0), (2, 0, 1)]
LARGE_SHAPES = [(1001,), (40, 30), (3, 400), (400, 3), (7, 1, 200), (11, 11, 11), (1, 6, 7, 30)]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf]


def floats(random, shape):
    """Floats of one of the kinds that print differently: whole, plain, wide, tiny, special."""
    kind = random.integers(8)
    values = random.standard_normal(shape)
    if kind == 0:
        values = np.round(values * 10.0 ** random.integers(0, 10))
    elif kind == 1:
        values = values * 10.0 ** random.integers(-8, 9)
    elif kind == 2:
        values = values * 10.0 ** random.uniform(-6, 6, shape)
    elif kind == 3:
        values = np.abs(values)
    elif kind == 4:
        values = values * 10.0 ** random.choice([-300, -100, -40, 37, 99, 300], shape)
    elif kind == 5:
        values = random.choice(SPECIAL, shape)
    elif kind == 6:
        values = np.where(random.random(shape) < 0.3, random.choice(SPECIAL, shape), values)
    else:
        values = random.integers(-5, 6, shape) / random.choice([1.0, 1.0, 2.0])
    return np.asarray(values)


def array_of(random, name, shape):
    target = dtypes.DTYPES[name].numpy
    if name == "bool":
        return np.asarray(random.random(shape) < random.choice([0.0, 0.5, 1.0]))
    if target.kind in "iu":
        limits = np.iinfo(target)
        small = random.integers(2)
        low, high = (max(limits.min, -20), 20) if small else (limits.min, limits.max)
        return random.integers(low, high, shape, dtype=target, endpoint=True).reshape(shape)
    with np.errstate(all="ignore"):
        values = floats(random, shape)
        if target.kind == "c":
            values = values + 1j * floats(random, shape)
        return np.asarray(values.astype(target))


def tensor_of(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array)


def assert_same_text(array, **arguments):
    assert printing.tensor_repr(array, **arguments) == repr(tensor_of(array)), printing.options


@pytest.fixture(autouse=True)
def same_options():
    """Start and end both libraries with the options of the default profile."""
    yield
    torch.set_printoptions(profile="default")
    printing.set_printoptions(profile="default")


def set_both(**arguments):
    torch.set_printoptions(**arguments)
    printing.set_printoptions(**arguments)
    assert printing.get_printoptions() == _tensor_str.get_printoptions()


@pytest.mark.parametrize("name", NAMES)
def test_random_arrays(name):
    random = np.random.default_rng(7)
    for shape in SHAPES:
        for _ in range(40):
            assert_same_text(array_of(random, name, shape))


@pytest.mark.parametrize("name", NAMES)
def test_empty_arrays(name):
    for shape in EMPTY_SHAPES:
        assert_same_text(np.zeros(shape, dtypes.DTYPES[name].numpy))


@pytest.mark.parametrize("name", NAMES)
def test_summaries(name):
    random = np.random.default_rng(8)
    for shape in LARGE_SHAPES:
        for _ in range(2):
            assert_same_text(array_of(random, name, shape))


def random_options(random):
    choices = {
        "precision": [0, 1, 2, 4, 8, None],
        "threshold": [0, 3, 10, 1000, None],
        "edgeitems": [0, 1, 2, 3, 5, None],
        "linewidth": [1, 20, 40, 80, 120, None],
        "profile": ["default", "short", "full", "unknown", None],
        "sci_mode": [True, False, None, None],
    }
    return {
        name: values[random.integers(len(values))]
        for name, values in choices.items()
        if random.random() < 0.6
    }


def test_random_options():
    random = np.random.default_rng(9)
    for _ in range(1500):
        set_both(**random_options(random))
        name = NAMES[random.integers(len(NAMES))]
        shapes = SHAPES + EMPTY_SHAPES
        assert_same_text(array_of(random, name, shapes[random.integers(len(shapes))]))


def test_strided_arrays():
    random = np.random.default_rng(10)
    base = floats(random, (6, 8)).astype(np.float32)
    for array in (base.T, base[::2, 1::3], np.broadcast_to(base[0], (3, 8)).copy().T):
        assert_same_text(array)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_suffix_of_dtype_follows_the_default(name):
    torch.set_default_dtype(getattr(torch, name))
    dtypes.set_default_dtype(dtypes.DTYPES[name])
    try:
        for other in NAMES:
            for shape in [(), (2,), (0,), (0, 2)]:
                assert_same_text(np.zeros(shape, dtypes.DTYPES[other].numpy))
    finally:
        torch.set_default_dtype(torch.float32)
        dtypes.set_default_dtype(dtypes.float32)


def test_suffixes_of_autograd():
    random = np.random.default_rng(11)
    for _ in range(400):
        set_both(linewidth=int(random.integers(20, 100)))
        name = ["float32", "float64", "complex64", "complex128"][random.integers(4)]
        shapes = SHAPES + EMPTY_SHAPES
        array = array_of(random, name, shapes[random.integers(len(shapes))])
        leaf = tensor_of(array).requires_grad_()
        assert printing.tensor_repr(array, requires_grad=True) == repr(leaf)
        output = leaf.clone()
        text = printing.tensor_repr(array, requires_grad=True, grad_fn_name="CloneBackward0")
        assert text == repr(output)
        parameter = torch.nn.Parameter(tensor_of(array))
        assert printing.tensor_repr(array, requires_grad=True, parameter=True) == repr(parameter)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_tangent():
    random = np.random.default_rng(12)
    with torch.autograd.forward_ad.dual_level():
        for shape in SHAPES + EMPTY_SHAPES:
            primal, tangent = floats(random, shape), floats(random, shape)
            dual = torch.autograd.forward_ad.make_dual(tensor_of(primal), tensor_of(tangent))
            shown = printing.tensor_repr(tangent) if shape else printing.format_scalar(tangent, "")
            text = printing.tensor_repr(primal, tangent=shown)
            assert text == repr(dual)


class Labelled(torch.Tensor):
    """A subclass: its name replaces 'tensor'."""


def test_subclass_and_contents():
    random = np.random.default_rng(13)
    for name in ("float32", "int32"):
        for shape in SHAPES + EMPTY_SHAPES:
            array = array_of(random, name, shape)
            labelled = tensor_of(array).as_subclass(Labelled)
            assert printing.tensor_repr(array, name="Labelled") == repr(labelled)
            for contents in ("abc", "abc\ndef"):
                expected = tensor_of(array).__repr__(tensor_contents=contents)
                assert printing.tensor_repr(array, contents=contents) == expected


@pytest.mark.parametrize("name", NAMES)
def test_format_scalar(name):
    random = np.random.default_rng(14)
    for _ in range(20):
        array = array_of(random, name, ())
        specs = ["", ">12"] if name == "bool" else ["", ".2f", ".3e", ">12", "+"]
        for spec in specs:
            assert printing.format_scalar(array, spec) == format(tensor_of(array), spec)


def test_printoptions_context():
    set_both(precision=3)
    with printing.printoptions(sci_mode=True), _tensor_str.printoptions(sci_mode=True):
        assert printing.get_printoptions() == _tensor_str.get_printoptions()
        assert_same_text(np.array([1.5, 2.0], np.float32))
    assert printing.get_printoptions() == _tensor_str.get_printoptions()
    assert printing.options.precision == 3
