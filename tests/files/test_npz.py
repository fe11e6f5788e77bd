"""NumPy's archives: both ways with NumPy, and what is refused."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

import taper
from taper import files


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.npz"


NAMES = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64"


@pytest.mark.parametrize("name", [*NAMES.split(), "complex64", "complex128"])
def test_numpy_reads_what_is_saved(path, name):
    value = taper.arange(6).reshape(2, 3).to(getattr(taper, name))
    files.save_npz({"x": value, "t": value.t(), "folder/e": value[:0]}, path)
    with np.load(path) as found:
        assert found["x"].dtype == name
        assert found["x"].tolist() == value.tolist()
        assert found["t"].tolist() == value.t().tolist()
        assert found["folder/e"].shape == (0, 3)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_saves_is_read(path, save):
    arrays = {
        "matrix": np.arange(6.0).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "big": np.arange(3, dtype=">f4"),
        "flags": np.array([True, False]),
        "scalar": np.array(2.5),
        "empty": np.zeros((2, 0), np.int16),
        "complex": np.array([1j]),
    }
    save(path, **arrays)
    found = files.load_npz(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype is taper.from_numpy(array.astype(array.dtype.name)).dtype
        np.testing.assert_array_equal(found[name].numpy(), array)
        found[name].zero_()


def test_what_cannot_be_saved(path):
    with pytest.raises(TypeError, match="NumPy has no bfloat16: convert 'x'"):
        files.save_npz({"x": taper.ones(2, dtype=taper.bfloat16)}, path)
    with pytest.raises(TypeError, match="expected tensors by name, got list"):
        files.save_npz({"x": [1]}, path)
    assert not path.exists()


def test_objects_are_refused(path):
    np.savez(path, x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded when allow_pickle=False"):
        files.load_npz(path)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([b"a"])])
def test_elements_that_no_tensor_has_are_refused(path, array):
    np.savez(path, x=array)
    with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
        files.load_npz(path)


def test_records_of_named_fields_are_refused(path):
    np.savez(path, x=np.zeros(2, [("a", "f4")]))
    with pytest.raises(ValueError, match="is no array"):
        files.load_npz(path)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


HONEST = npy(np.arange(4, dtype=np.float32))


def described(text: str, elements: bytes = b"") -> bytes:
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + elements


def header(dtype: str = "'<f4'", order: str = "False", shape: str = "(4,)") -> str:
    return f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def test_an_array_described_by_hand_is_read(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", described(header(shape="(2, 2)"), bytes(16)))
    assert files.load_npz(path)["x"].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no array"),
        (b"hello", "is no array"),
        (HONEST[:-1], "another size than its shape"),
        (HONEST + b"\0", "another size than its shape"),
        (HONEST.replace(b"(4,)", b"(5,)"), "another size than its shape"),
        (described(header(), bytes(15)), "another size than its shape"),
        (described(header(shape="(-4,)"), bytes(16)), "is no array"),
        (described(header(shape="(1 << 40,)"), bytes(16)), "is no array"),
        (described(header(shape="[4]"), bytes(16)), "is no array"),
        (described(header(order="__import__('os')"), bytes(16)), "is no array"),
        (described(header(dtype="[('a', '<f4')]"), bytes(16)), "is no array"),
        (described(header(dtype="'<f3'"), bytes(16)), "unknown dtype '<f3'"),
        (described("(" * 9000), "is no array"),
        (described("x" * 60_000), "is no array"),
        (described(header(shape="(9223372036854775807, 0, 9)")), "impossible shape"),
        (described(header(shape=f"({'1, ' * 65})"), bytes(4)), "impossible shape"),
        (described(header(dtype="'|b1'"), b"\0\1\1\2"), "neither 0 nor 1"),
    ],
)
def test_arrays_that_contradict_themselves_are_refused(path, content, message):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises((ValueError, RuntimeError), match=message):
        files.load_npz(path)


def test_other_records_are_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.txt", b"text")
    with pytest.raises(ValueError, match="'x.txt' is no array"):
        files.load_npz(path)
