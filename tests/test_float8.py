"""Floats of 8 bits, which are stored, cast and compared; and dtypes that are names only."""

import io

import pytest

import taper

# dtype, min, max, eps, smallest normal: PyTorch's `finfo`.
LIMITS = [
    ("float8_e4m3fn", -448.0, 448.0, 0.125, 0.015625),
    ("float8_e5m2", -57344.0, 57344.0, 0.25, 6.103515625e-05),
]


@pytest.mark.parametrize(("name", "low", "high", "eps", "normal"), LIMITS)
def test_limits(name, low, high, eps, normal):
    which = getattr(taper, name)
    found = taper.finfo(which)
    assert (found.min, found.max, found.eps, found.smallest_normal) == (low, high, eps, normal)
    assert (found.bits, found.resolution, which.itemsize) == (8, 1.0, 1)
    assert which.is_floating_point and which.is_signed


def test_values_are_rounded_to_eight_bits():
    x = taper.tensor([0.55, -0.26, 500.0])
    rounded = x.to(taper.float8_e4m3fn)
    assert rounded.view(taper.uint8).tolist()[:2] == [49, 168]
    assert rounded.float()[:2].tolist() == [0.5625, -0.25]
    assert rounded[0].item() == 0.5625 and rounded.type() == "torch.Float8_e4m3fnTensor"
    assert x.to(taper.float8_e5m2).float()[:2].tolist() == [0.5, -0.25]


def test_printed():
    x = taper.tensor([0.5625, -0.25]).to(taper.float8_e4m3fn)
    assert repr(x) == "tensor([ 0.5625, -0.2500], dtype=torch.float8_e4m3fn)"


def test_no_promotion():
    said = "Promotion for Float8 Types is not supported, attempted to promote Float8_e5m2 and Float"
    with pytest.raises(RuntimeError, match=said):
        taper.promote_types(taper.float8_e5m2, taper.float32)
    assert taper.promote_types(taper.float8_e5m2, taper.float8_e5m2) is taper.float8_e5m2


def test_saved_and_loaded():
    x = taper.tensor([1.5, -2.0]).to(taper.float8_e5m2)
    file = io.BytesIO()
    taper.save({"x": x}, file)
    file.seek(0)
    found = taper.load(file)["x"]
    assert found.dtype is taper.float8_e5m2 and found.float().tolist() == [1.5, -2.0]


@pytest.mark.parametrize("name", ["complex32", "quint8", "qint8", "qint32", "quint4x2", "int4"])
def test_names_without_tensors(name):
    which = getattr(taper, name)
    assert repr(which) == f"torch.{name}" and which is not taper.int8
    with pytest.raises(NotImplementedError, match=f"torch.{name} is a name only"):
        taper.zeros(2, dtype=which)
    assert taper.chalf is taper.complex32
