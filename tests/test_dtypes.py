"""dtype objects, promotion and limits; the expected values are PyTorch's."""

import copy
import os
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from taper import dtypes
from taper.dtypes import (
    DTYPES,
    FROM_NUMPY,
    bfloat16,
    bool_,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_category,
    result_type,
    set_default_dtype,
    uint8,
    uint16,
)

ALL = list(FROM_NUMPY.values())


@pytest.fixture
def restored_default():
    yield
    set_default_dtype(float32)


def test_fifteen_dtypes_and_eight_aliases():
    """Five floats of 8 bits, and names that no tensor has (one with an alias), come on top."""
    assert len(ALL) == 15 + 5
    named_only = [each for each in DTYPES.values() if each not in ALL]
    assert len(DTYPES) == 15 + 8 + 5 + len(named_only)
    assert len(set(named_only)) + 1 == len(named_only) == 27
    assert DTYPES["float"] is float32
    assert DTYPES["long"] is int64
    assert DTYPES["half"] is float16


@pytest.mark.parametrize("which", ALL, ids=repr)
def test_copies_are_the_same_object(which):
    assert copy.copy(which) is which
    assert copy.deepcopy(which) is which
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(which, protocol)) is which


def test_attributes():
    assert repr(bfloat16) == "torch.bfloat16"
    assert (bfloat16.name, bfloat16.itemsize, bfloat16.category) == ("bfloat16", 2, 2)
    assert bfloat16.numpy == np.dtype(ml_dtypes.bfloat16)
    assert [which.category for which in (bool_, uint8, float64, complex64)] == [0, 1, 2, 3]
    assert float32.is_floating_point and not complex64.is_floating_point
    assert complex64.is_complex and complex64.is_signed
    assert not uint8.is_signed and not bool_.is_signed


def test_dtypes_cannot_be_made_or_changed():
    with pytest.raises(TypeError, match="cannot create 'torch.dtype' instances"):
        dtypes.dtype()
    with pytest.raises(AttributeError, match="'itemsize' of 'torch.dtype' objects is not writable"):
        float32.itemsize = 1
    with pytest.raises(AttributeError, match="'torch.dtype' object has no attribute 'x'"):
        float32.x = 1
    assert float32.itemsize == 4


def test_real_and_complex():
    assert complex128.to_real() is float64
    assert int8.to_real() is int8
    assert bfloat16.to_complex() is complex64
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Long"):
        int64.to_complex()
    with pytest.raises(NotImplementedError, match="complex32"):
        float16.to_complex()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (bool_, bool_, bool_),
        (bool_, uint8, uint8),
        (uint8, int8, int16),
        (uint8, int16, int16),
        (int32, int64, int64),
        (int64, float16, float16),
        (float16, bfloat16, float32),
        (uint16, float16, float16),
        (float64, complex64, complex128),
        (float32, complex64, complex64),
        (bfloat16, complex64, complex64),
    ],
)
def test_promotion(first, second, expected):
    assert promote_types(first, second) is expected
    assert promote_types(second, first) is expected


def test_promotion_errors():
    text = (
        "Promotion for uint16, uint32, uint64 types is not supported, "
        "attempted to promote UInt16 and Long"
    )
    with pytest.raises(RuntimeError, match=text):
        promote_types(uint16, int64)
    with pytest.raises(TypeError, match=r"argument 'type2' \(position 2\) must be torch.dtype"):
        promote_types(float32, "float32")


def test_python_types_name_dtypes():
    assert promote_types(float, int8) is float64
    assert promote_types(bool, complex) is complex128


def test_can_cast_never_lowers_the_category():
    assert can_cast(int64, uint8)
    assert can_cast(float64, float16)
    assert not can_cast(float16, int64)
    assert not can_cast(uint8, bool_)
    assert not can_cast(complex64, float64)


def zeros(which, *shape):
    return np.zeros(shape, which.numpy)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([zeros(float32, 2), zeros(float64)], float32),
        ([zeros(float32, 2), zeros(float64, 1)], float64),
        ([zeros(int8, 2), zeros(int64)], int8),
        ([zeros(int8, 2), 2.5], float32),
        ([zeros(int8, 2), zeros(float16)], float16),
        ([zeros(bool_, 2), 3], int64),
        ([zeros(uint8, 2), True], uint8),
        ([zeros(float64, 2), 1j], complex128),
        ([zeros(bfloat16), 1j], complex64),
        ([zeros(uint16, 2), 1j], complex64),
        ([zeros(float32), zeros(float64)], float64),
        ([zeros(bool_, 2), zeros(int8), 2.5], float32),
        ([zeros(float16, 2), np.float64(2.5)], float16),
        ([True, 2], int64),
        ([2, 2.5], float32),
        ([2, 1j], complex64),
    ],
)
def test_result_type(operands, expected):
    assert result_type(operands) is expected
    assert result_type(reversed(operands)) is expected


def test_result_type_follows_the_default(restored_default):
    set_default_dtype(float64)
    assert result_type([zeros(int8, 2), 2.5]) is float64
    assert result_type([zeros(int8, 2), 1j]) is complex128
    assert result_type([zeros(float32, 2), 1j]) is complex64


def test_result_category():
    assert result_category([zeros(int8, 2), 2.5]) == dtypes.FLOATING
    assert result_category([zeros(bool_, 2), True]) == dtypes.BOOL
    assert result_category([zeros(float64), 3, 1j]) == dtypes.COMPLEX


def test_result_type_refuses_what_is_no_number():
    with pytest.raises(TypeError, match="got str"):
        result_type([zeros(int8, 2), "2"])
    with pytest.raises(ValueError, match="at least one operand"):
        result_type([])


def test_default_dtype(restored_default):
    assert dtypes.get_default_dtype() is float32
    set_default_dtype(float64)
    assert dtypes.default.float is float64
    assert dtypes.default.float_numpy == np.float64
    assert dtypes.default.complex is complex128
    for refused in (int64, complex64):
        with pytest.raises(
            TypeError, match="^only floating-point types are supported as the default type$"
        ):
            set_default_dtype(refused)
    with pytest.raises(TypeError, match="^invalid dtype object: only floating-point types"):
        set_default_dtype("float64")
    assert dtypes.get_default_dtype() is float64


def test_of_array():
    assert dtypes.of_array(np.zeros(2, "q")) is int64
    assert dtypes.of_array(np.zeros(2, ml_dtypes.bfloat16)) is bfloat16
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.str_. The only"):
        dtypes.of_array(np.array(["a"]))
    with pytest.raises(ValueError, match="byte order different from the native byte order"):
        dtypes.of_array(np.zeros(2, np.dtype("f4").newbyteorder()))


def test_as_dtype():
    assert dtypes.as_dtype(int, "zeros", "dtype") is int64
    assert dtypes.as_dtype(int8, "zeros", "dtype") is int8
    with pytest.raises(
        TypeError, match=r"^zeros\(\): argument 'dtype' must be torch.dtype, not str$"
    ):
        dtypes.as_dtype("int8", "zeros", "dtype")


def test_finfo():
    limits = finfo(bfloat16)
    assert limits.max == 3.3895313892515355e38
    assert limits.eps == 0.0078125
    assert limits.resolution == 0.01
    assert limits.bits == 16
    assert repr(finfo(float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    )
    assert finfo(complex64) == finfo(float32) == finfo()
    assert finfo(complex64) != finfo(float64)
    with pytest.raises(TypeError, match="Use torch.iinfo to handle 'torch.finfo'"):
        finfo(int64)
    with pytest.raises(TypeError, match="unhashable"):
        hash(limits)


def test_iinfo():
    assert (iinfo(int8).min, iinfo(int8).max, iinfo(int8).bits) == (-128, 127, 8)
    assert repr(iinfo(int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    with pytest.raises(TypeError, match="torch.bool is not supported by torch.iinfo"):
        iinfo(bool_)
    with pytest.raises(TypeError, match="Use torch.finfo to handle 'torch.iinfo'"):
        iinfo(float32)


def test_names_in_messages():
    names = [dtypes.scalar_type_name(which) for which in (float32, int64, uint8, int8, bfloat16)]
    assert names == ["Float", "Long", "Byte", "Char", "BFloat16"]
    assert dtypes.type_name(complex64) == "torch.ComplexFloatTensor"
    assert dtypes.type_name(uint16) == "torch.UInt16Tensor"


def test_an_old_numpy_is_refused_in_one_sentence():
    program = "import numpy; numpy.__version__ = '1.26.4'; import taper"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    told = "ImportError: taper needs NumPy 2 or newer, and this is NumPy 1.26.4"
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (1, told)
