"""safetensors: the bytes of the file, and what is refused."""

from __future__ import annotations

import errno
import json
import struct

import pytest

import taper
from taper import files
from taper.files import safetensors


def save(tensors, path, **options):
    files.save_safetensors(tensors, path, **options)
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return content[8 : 8 + length], content[8 + length :]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def test_the_bytes_of_a_file(path):
    tensors = {
        "b": taper.ones(2, 2),
        "a": taper.tensor([1, 2], dtype=taper.int8),
        "s": taper.tensor(1.0),
        "e": taper.zeros(0, 3),
    }
    header, elements = save(tensors, path, metadata={"format": "pt", "z": 'ä"'})
    assert header.decode().rstrip() == (
        '{"__metadata__":{"format":"pt","z":"ä\\""},'
        '"b":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
        '"e":{"dtype":"F32","shape":[0,3],"data_offsets":[16,16]},'
        '"s":{"dtype":"F32","shape":[],"data_offsets":[16,20]},'
        '"a":{"dtype":"I8","shape":[2],"data_offsets":[20,22]}}'
    )
    assert len(header) % 8 == 0
    assert elements == struct.pack("<5f", *[1.0] * 5) + b"\1\2"


NAMES = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64"


@pytest.mark.parametrize("name", [*NAMES.split(), "complex64"])
def test_every_dtype_comes_back(path, name):
    value = taper.arange(6).reshape(2, 3).to(getattr(taper, name))
    files.save_safetensors({"x": value}, path)
    again = files.load_safetensors(path)["x"]
    assert (again.dtype, again.tolist()) == (value.dtype, value.tolist())
    again[0, 0] = 1  # writable, with memory of its own


def test_metadata_comes_back(path):
    files.save_safetensors({}, path, metadata={"b": "1", "a": ""})
    assert files.read_safetensors_metadata(path) == {"a": "", "b": "1"}
    assert files.load_safetensors(path) == {}


def test_requires_grad_is_not_saved(path):
    files.save_safetensors({"x": taper.ones(2, requires_grad=True)}, path)
    assert not files.load_safetensors(path)["x"].requires_grad


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda x: [x], ValueError, r"Expected a dict of \[str, torch.Tensor\] but received"),
        (lambda x: {"a": 3}, ValueError, "Key `a` is invalid, expected torch.Tensor"),
        (lambda x: {1: x}, TypeError, "'int' object is not an instance of 'str'"),
        (lambda x: {"__metadata__": x}, ValueError, "cannot have the name"),
        (lambda x: {"a": x.t()}, ValueError, "save a non contiguous tensor: `a`"),
        (lambda x: {"a": x, "b": x}, RuntimeError, r"share memory.*\[\{'a', 'b'\}\]"),
        (lambda x: {"a": x[:3], "b": x[2:]}, RuntimeError, "share memory"),
        (lambda x: {"a": x.to(taper.complex128)}, KeyError, "complex128"),
    ],
)
def test_what_cannot_be_saved(path, make, kind, message):
    with pytest.raises(kind, match=message):
        files.save_safetensors(make(taper.arange(16.0).reshape(4, 4)), path)
    assert not path.exists()


def test_parts_side_by_side_can_be_saved(path):
    value = taper.arange(16.0).reshape(4, 4)
    files.save_safetensors({"a": value[:2], "b": value[2:]}, path)
    assert files.load_safetensors(path)["b"].tolist() == value[2:].tolist()


def test_metadata_must_be_texts(path):
    with pytest.raises(TypeError, match="argument 'metadata': 'int' object is not an instance"):
        files.save_safetensors({}, path, metadata={"a": 1})


def test_a_full_disk_leaves_the_old_file_whole(path, monkeypatch):
    files.save_safetensors({"x": taper.ones(2)}, path)

    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(safetensors, "write_all", full)
    with pytest.raises(OSError, match="No space left"):
        files.save_safetensors({"x": taper.zeros(1000)}, path)
    assert files.load_safetensors(path)["x"].tolist() == [1, 1]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


# --- files made by hand ----------------------------------------------------------------------


def tensor(start, end, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def forge(path, header, elements=b"", length=None):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    length = len(header) if length is None else length
    path.write_bytes(struct.pack("<Q", length) + header + elements)
    return path


def test_a_file_made_by_hand_is_read(path):
    header = {"b": tensor(8, 16), "a": tensor(0, 8), "e": tensor(8, 8, (0,))}
    found = files.load_safetensors(forge(path, header, struct.pack("<4f", 1, 2, 3, 4)))
    assert {name: each.tolist() for name, each in found.items()} == {
        "a": [1, 2],
        "e": [],
        "b": [3, 4],
    }


@pytest.mark.parametrize(
    ("header", "size", "message"),
    [
        ({"a": tensor(0, 8)}, 7, "file not fully covered"),
        ({"a": tensor(0, 8)}, 9, "file not fully covered"),
        ({"a": tensor(0, 8), "b": tensor(12, 20)}, 20, "invalid offset for tensor `b`"),
        ({"a": tensor(0, 8), "b": tensor(4, 12)}, 12, "invalid offset for tensor `b`"),
        ({"a": tensor(0, 8), "b": tensor(0, 8)}, 8, "invalid offset for tensor `b`"),
        ({"a": tensor(4, 12)}, 12, "invalid offset for tensor `a`"),
        ({"a": tensor(8, 0)}, 8, "invalid offset for tensor `a`"),
        ({"a": tensor(0, 12)}, 12, "invalid shape, data type, or offset"),
        ({"a": tensor(0, 8, (2**62, 2**62))}, 8, "overflow computing buffer size"),
        ({"a": tensor(0, 0, (2**62, 0, 2**62))}, 0, "overflow computing buffer size"),
        ({"a": tensor(0, 8, dtype="X")}, 8, "unknown variant `X`"),
        ({"a": tensor(0, 8, dtype=3)}, 8, "unknown variant"),
        ({"a": tensor(0, 8, (-2,))}, 8, "lists of sizes"),
        ({"a": tensor(0, 8, (2.0,))}, 8, "lists of sizes"),
        ({"a": tensor(0, 8, (True, 2))}, 8, "lists of sizes"),
        ({"a": {"dtype": "F32"}}, 0, "misses a field"),
        ({"a": 3}, 0, "misses a field"),
        ({"a": {**tensor(0, 8), "data_offsets": [0]}}, 8, "two offsets"),
        ({"a": tensor(0, 4, (1,) * 65)}, 4, "two offsets"),
        ({"__metadata__": {"a": 1}}, 0, "must be texts"),
        (b'{"a"', 0, "invalid JSON"),
        (b"[]", 0, "expected an object"),
        (b"{}\0", 0, "invalid JSON"),
        (b'{"\xff":1}', 0, "invalid UTF-8"),
        (b'{"a":1,"a":2}', 0, "occurs twice"),
        (b"[" * 5000, 0, "invalid JSON"),
        (b'{"a":' * 5000, 0, "invalid JSON"),
        (b"9" * 10_000, 0, "invalid JSON"),
    ],
)
def test_files_that_contradict_themselves_are_refused(path, header, size, message):
    with pytest.raises(
        files.SafetensorError, match=f"Error while deserializing header: .*{message}"
    ):
        files.load_safetensors(forge(path, header, b"\0" * size))


@pytest.mark.parametrize(
    ("length", "message"),
    [(2**60, "header too large"), (10**8 + 1, "header too large"), (100, "invalid header length")],
)
def test_lengths_of_headers(path, length, message):
    with pytest.raises(files.SafetensorError, match=message):
        files.load_safetensors(forge(path, b"{}", length=length))


def test_a_file_of_a_few_bytes_is_refused(path):
    path.write_bytes(b"abc")
    with pytest.raises(files.SafetensorError, match="header too small"):
        files.load_safetensors(path)


def test_too_many_tensors_are_refused_before_they_are_objects(path, monkeypatch):
    monkeypatch.setattr(safetensors, "MOST_TENSORS", 10)
    header = {str(n): tensor(0, 0, (0,)) for n in range(20)}
    with pytest.raises(files.SafetensorError, match="more than 10 tensors"):
        files.load_safetensors(forge(path, header))
    with pytest.raises(files.SafetensorError, match="too many numbers"):
        files.load_safetensors(forge(path, {"a": tensor(0, 0, [1] * 300)}))


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2", "F4"])
def test_dtypes_that_taper_does_not_have_are_named(path, dtype):
    with pytest.raises(NotImplementedError, match=f"{dtype} of tensor `a` is not provided"):
        files.load_safetensors(forge(path, {"a": tensor(0, 2, dtype=dtype)}, b"\0\0"))


def test_bytes_that_are_no_truth_values_are_refused(path):
    with pytest.raises(RuntimeError, match="neither 0 nor 1"):
        files.load_safetensors(forge(path, {"a": tensor(0, 2, dtype="BOOL")}, b"\1\2"))


@pytest.mark.parametrize("name", ["a", "ab", "abc", "abcdefgh"])
def test_the_numbers_begin_at_a_multiple_of_eight(name, path):
    header, elements = save({name: taper.ones(3)}, path)
    assert (len(header) % 8, len(elements)) == (0, 12)
