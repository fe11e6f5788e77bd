"""dtypes against PyTorch: promotion over all pairs, result types, limits, error texts."""

import itertools

import numpy as np
import pytest
import torch

from taper import dtypes

NAMES = [found.name for found in dtypes.COMPUTED]
NUMBERS = (True, 3, 2.5, 1.5j)


def outcome(function, *arguments):
    """Return the repr of the result, or the type and the text of the error."""
    try:
        return repr(function(*arguments))
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def ours(name):
    return dtypes.DTYPES[name]


def theirs(name):
    return getattr(torch, name)


@pytest.fixture(params=["float32", "float64", "bfloat16"])
def default_dtype(request):
    dtypes.set_default_dtype(ours(request.param))
    torch.set_default_dtype(theirs(request.param))
    try:
        yield request.param
    finally:
        dtypes.set_default_dtype(dtypes.float32)
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", [*NAMES, *(each.name for each in dtypes.FLOAT8), "int4", "uint4"])
def test_attributes(name):
    mine, reference = ours(name), theirs(name)
    assert repr(mine) == repr(reference)
    for attribute in ("abbr", "is_complex", "is_floating_point", "is_signed", "itemsize"):
        assert getattr(mine, attribute) == getattr(reference, attribute), attribute
    assert repr(mine.to_real()) == repr(reference.to_real())
    if name not in ("float16", "half"):  # complex32 is left out
        assert outcome(mine.to_complex) == outcome(reference.to_complex)
    assert dtypes.type_name(mine) == torch.empty(0, dtype=reference).type()


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
def test_all_pairs(function):
    for first, second in itertools.product([*NAMES, "int", "float"], repeat=2):
        assert outcome(getattr(dtypes, function), ours(first), ours(second)) == outcome(
            getattr(torch, function), theirs(first), theirs(second)
        ), (first, second)
    for arguments in [("x", ours("int8")), (ours("int8"), None), (float, int), (bool, complex)]:
        reference = [
            getattr(torch, a.name) if isinstance(a, dtypes.dtype) else a for a in arguments
        ]
        assert outcome(getattr(dtypes, function), *arguments) == outcome(
            getattr(torch, function), *reference
        )


def test_result_type(default_dtype):
    shapes = [(), (2,)]
    operands = [*itertools.product(NAMES, shapes), *NUMBERS]
    checked = 0
    for pair in itertools.product(operands, repeat=2):
        mine = [
            np.zeros(operand[1], ours(operand[0]).numpy) if type(operand) is tuple else operand
            for operand in pair
        ]
        reference = [
            torch.zeros(operand[1], dtype=theirs(operand[0])) if type(operand) is tuple else operand
            for operand in pair
        ]
        expected = outcome(torch.result_type, *reference)
        if expected == "torch.complex32":
            with pytest.raises(NotImplementedError, match="complex32"):
                dtypes.result_type(mine)
        else:
            assert outcome(dtypes.result_type, mine) == expected, pair
        checked += 1
    assert checked == 34 * 34


def test_result_type_of_three():
    """One operand of each rank; torch.result_type takes two, so the weak two come first."""
    usable = [name for name in NAMES if name not in ("uint16", "uint32", "uint64")]
    for first, second, number in itertools.product(usable, usable, NUMBERS):
        mine = [np.zeros((2,), ours(first).numpy), np.zeros((), ours(second).numpy), number]
        weak = torch.result_type(torch.zeros((), dtype=theirs(second)), number)
        if weak is torch.complex32:
            continue
        reference = torch.result_type(
            torch.zeros((2,), dtype=theirs(first)), torch.zeros((), dtype=weak)
        )
        if reference is not torch.complex32:
            assert repr(dtypes.result_type(mine)) == repr(reference), (first, second, number)


@pytest.mark.parametrize(
    "number", [np.float32(2), np.float64(2), np.int8(2), np.uint64(2), np.bool_(True)]
)
def test_result_type_of_numpy_numbers(number):
    for name in ("bool", "int8", "float16"):
        mine = dtypes.result_type([np.zeros(2, ours(name).numpy), number])
        assert repr(mine) == repr(torch.result_type(torch.zeros(2, dtype=theirs(name)), number))


def test_limits():
    for value in [*NAMES, "x", None, 1.0, float, int, bool, complex, str]:
        mine = ours(value) if value in NAMES else value
        reference = theirs(value) if value in NAMES else value
        for function in ("finfo", "iinfo"):
            expected = outcome(getattr(torch, function), reference)
            assert outcome(getattr(dtypes, function), mine) == expected, (function, value)
            if "Error" in expected:
                continue
            for attribute in [n for n in dir(getattr(torch, function)) if not n.startswith("_")]:
                assert getattr(getattr(dtypes, function)(mine), attribute) == getattr(
                    getattr(torch, function)(reference), attribute
                ), (function, value, attribute)


def test_finfo_of_the_default(default_dtype):
    assert repr(dtypes.finfo()) == repr(torch.finfo())


def test_set_default_dtype_errors():
    for name in NAMES:
        if not theirs(name).is_floating_point:
            assert outcome(dtypes.set_default_dtype, ours(name)) == outcome(
                torch.set_default_dtype, theirs(name)
            )
    for value in ("float64", float, None):
        assert outcome(dtypes.set_default_dtype, value) == outcome(torch.set_default_dtype, value)
    assert dtypes.get_default_dtype() is dtypes.float32


@pytest.mark.parametrize(
    "kind", ["U3", "S3", "datetime64[s]", "longdouble", "O", "clongdouble", "V4", ">f4", ">i8"]
)
def test_from_numpy_errors(kind):
    array = np.zeros(2, kind)
    assert outcome(dtypes.of_array, array) == outcome(torch.from_numpy, array)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "q", "l", "L", "i", "?", "c8", "c16"])
def test_of_array(kind):
    array = np.zeros(2, kind)
    assert repr(dtypes.of_array(array)) == repr(torch.from_numpy(array).dtype)
