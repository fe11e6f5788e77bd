"""`testing` against PyTorch: the outcome of every comparison, the numbers of make_tensor."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest
import torch

import taper

DTYPES = (
    "float16 bfloat16 float32 float64 complex64 complex128 int8 uint8 int16 int32 int64 uint16 "
    "uint32 uint64 bool"
).split()
NAN, INF = math.nan, math.inf
VALUES = [0, 1, -1, 2, 3, 1.5, 1e-6, 1 + 1e-6, 1 + 1e-3, 100, 127, -128, 255, NAN, INF, -INF]


def outcome(function):
    """Return what a function returns, or the error that it raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
        except Exception as error:
            text = str(error).replace("taper.tensor.Tensor", "torch.Tensor")
            result = type(error), text.replace("taper.nn", "torch.nn"), type(error.__cause__)
    return result, [(each.category, str(each.message)) for each in caught]


def tensor_of(package, values, dtype, shape):
    whole = dtype not in DTYPES[:6]
    if whole:
        values = [int(each) % 128 if math.isfinite(each) else 7 for each in values]
    if dtype == "bool":
        values = [bool(each) for each in values]
    made = package.tensor(values, dtype=package.int64 if whole else package.float64)
    return made.to(getattr(package, dtype)).reshape(shape)


def random_comparison(seed):
    draw = random.Random(seed)
    dtypes = [draw.choice(DTYPES), draw.choice(DTYPES)]
    if draw.random() < 0.5:
        dtypes[1] = dtypes[0]
    shape = draw.choice([(), (1,), (3,), (2, 2)])
    first = [draw.choice(VALUES) for _ in range(math.prod(shape))]
    second = [each if draw.random() < 0.5 else draw.choice(VALUES) for each in first]
    options = {"check_dtype": draw.random() < 0.3, "equal_nan": draw.random() < 0.3}
    if draw.random() < 0.3:
        options.update(rtol=draw.choice([0, 0.1, 1.0]), atol=draw.choice([0, 0.5, 0.0]))

    def program(package):
        actual = tensor_of(package, first, dtypes[0], shape)
        expected = tensor_of(package, second, dtypes[1], shape)
        package.testing.assert_close(actual, expected, **options)

    return program


@pytest.mark.parametrize("start", range(0, 600, 50))
def test_comparisons_of_tensors(start):
    for seed in range(start, start + 50):
        program = random_comparison(seed)
        assert outcome(lambda: program(taper)) == outcome(lambda: program(torch)), seed  # noqa: B023


COMPARISONS = """
[1, 2], [1, 3]
1.0, 0.0
1j, 2j
2**80, 2**80 + 1
1, 2.5, check_dtype=False
1 + 1j, 1.0, check_dtype=False
1.0, INF
complex(INF, 0), 1 + 0j
complex(NAN, 0), complex(0, NAN), equal_nan=True
1.0, 2.0, rtol=-1, atol=0
1.0, 2.0, rtol="a", atol=0
True, False
True, 1
[1], [True]
np.bool_(True), False
np.float32(1), 2
np.array(1.0), np.array(2.0)
np.array(1.0), 1.0
np.float64(1), np.array(1.0)
np.array(["a"]), np.array(["a"])
np.ma.array([1.0]), np.ma.array([2.0])
None, 1
1.0, None
None, T([1.0])
"a", "a"
b"a", b"b"
range(2), range(1, 3)
Size([1]), Size([2])
{"b": 1.0, "a": "x"}, {"a": "y", "b": 2.0}
{"b": 1.0, 1: 1.0}, {2: 2.0, "c": 2.0}
{1: 1.0, (1, 2): 2.0}, {1: 1.0, (1, 2): 3.0}
[{1: 1.0}], [{2: 1.0}]
[[1.0]], [[1.0, 2.0]]
T(1.0), T(1.0), rtol=-1, atol=0
T([2**62]), T([-(2**62)])
T([1 + 1j]).conj(), T([1 - 1j])
T([1.0]), [T(1.0)]
T([1.0]), 1.0
Parameter(T([1.0])), T([2.0])
Parameter(T([1.0])), T([1.0]), allow_subclasses=False
T(1.0), T(2.0), msg=3
T(1.0), T(2.0), msg=lambda text: 3
T(1.0), T(2.0), msg=""
[None, 1.0], [None, 1.0], rtol=0.5
None, 5, rtol=0.5
""".strip().splitlines()


@pytest.mark.parametrize("arguments", COMPARISONS)
def test_comparisons(arguments):
    def run(package):
        names = {
            "T": package.tensor,
            "Size": package.Size,
            "Parameter": package.nn.Parameter,
            "check": package.testing.assert_close,
            **{"np": np, "INF": INF, "NAN": NAN},
        }
        return outcome(lambda: eval(f"check({arguments})", names))

    assert run(taper) == run(torch)


OLD_COMPARISONS = """
T([1.0, 2.0]), [1.0, 3.0]
[1.0, 2.0], T([1.0, 3.0])
1.0, 1.1
T([1, 2]), T([1.0, 2.5])
T([1.0]).half(), T([1.01]).double()
T([1.0]).bfloat16(), T([1.3])
T([1 + 1j]), T([2 + 1j])
np.array([1.0]), np.array([2.0])
T([1]), [1.5]
T([NAN]), T([NAN])
T([1.0]), T([2.0]), rtol=0.1
T([1.0]), T([2.0]), 0.1, 0.1, True, "text"
T([1.0]), T([1.0, 2.0])
None, None
""".strip().splitlines()


@pytest.mark.parametrize("arguments", OLD_COMPARISONS)
def test_old_comparisons(arguments):
    def run(package):
        check = package.testing.assert_allclose
        names = {"T": package.tensor, "check": check, "np": np, "NAN": NAN}
        return outcome(lambda: eval(f"check({arguments})", names))

    assert run(taper) == run(torch)


# --- make_tensor -----------------------------------------------------------------------------

BOUNDS = [
    {},
    {"low": 1, "high": 4},
    {"low": 0.5, "high": 3.7},
    {"low": 20},
    {"high": -20},
    {"high": NAN},
    {"low": -40000, "high": 40000},
    {"low": 1e299, "high": 1e300},
    {"low": 1, "high": 1},
    {"low": INF, "high": -INF},
    {"low": 0, "high": 0},
    {"low": -200, "high": -128},
    {"low": 127.5, "high": 200},
    {"low": 65504.0, "high": INF},
    {"low": 0.2, "high": 0.9},
    {"low": 0, "high": 2**63},
    {"low": "a"},
    {"low": 1j},
]
SHAPES = [(), (1,), (5,), (2, 3), ((2, 3),), ([2],), (0, 3), (2, 3, 4, 5), (np.int64(3),)]
OPTIONS = [
    {"noncontiguous": True},
    {"exclude_zero": True},
    {"requires_grad": True},
    {"requires_grad": True, "noncontiguous": True, "exclude_zero": True},
    {"memory_format": "channels_last"},
    {"memory_format": "contiguous_format"},
    {"memory_format": "channels_last", "noncontiguous": True},
]


def made(package, shape, dtype, options):
    """Return everything about a made tensor, and the next random number."""
    package.manual_seed(3)
    dtype = getattr(package, dtype)
    if "memory_format" in options:
        options = {**options, "memory_format": getattr(package, options["memory_format"])}
    result = package.testing.make_tensor(*shape, dtype=dtype, device="cpu", **options)
    return (
        repr(result.tolist()),
        *(tuple(result.shape), result.stride(), result.storage_offset(), str(result.dtype)),
        *(result.requires_grad, result.is_leaf, result._base is None),
        package.rand(1).item(),
    )


def lacks_a_kernel(dtype, options):
    """Return whether PyTorch lacks masked_fill, as for wide unsigned dtypes; taper has it."""
    return dtype in ("uint16", "uint32", "uint64") and "exclude_zero" in options


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds(dtype):
    for options in BOUNDS:
        ours = outcome(lambda: made(taper, (6,), dtype, options))  # noqa: B023
        assert ours == outcome(lambda: made(torch, (6,), dtype, options)), options  # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_and_layouts(dtype):
    for shape in SHAPES:
        for options in OPTIONS:
            if not lacks_a_kernel(dtype, options):
                ours = outcome(lambda: made(taper, shape, dtype, options))  # noqa: B023
                theirs = outcome(lambda: made(torch, shape, dtype, options))  # noqa: B023
                assert ours == theirs, (shape, options)
