"""Pictures in files: written, read back, refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import taper
from taper.vision.io import (
    ImageReadMode,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)


def noise(channels: int = 3) -> taper.Tensor:
    source = np.random.default_rng(0)
    return taper.from_numpy(source.integers(0, 256, (channels, 6, 7), dtype=np.uint8))


def encoded(picture: Image.Image, form: str, **options) -> taper.Tensor:
    written = io.BytesIO()
    picture.save(written, form, **options)
    return taper.from_numpy(np.frombuffer(bytearray(written.getvalue()), np.uint8))


@pytest.mark.parametrize("channels", [1, 3])
def test_png_is_lossless(tmp_path, channels):
    picture = noise(channels)
    write_png(picture, tmp_path / "x.png")
    assert taper.equal(read_image(tmp_path / "x.png"), picture)
    assert taper.equal(decode_image(str(tmp_path / "x.png")), picture)
    assert taper.equal(decode_png(encode_png(picture, compression_level=0)), picture)


def test_jpeg_is_close(tmp_path):
    picture = taper.full((3, 16, 16), 120, dtype=taper.uint8)
    write_jpeg(picture, tmp_path / "x.jpg", quality=95)
    read = read_image(tmp_path / "x.jpg")
    assert int((read.int() - picture.int()).abs().max()) <= 2
    assert [each.shape for each in decode_jpeg(encode_jpeg([picture] * 2))] == [(3, 16, 16)] * 2


@pytest.mark.parametrize(
    ("mode", "channels"),
    [
        (ImageReadMode.UNCHANGED, 4),
        (ImageReadMode.GRAY, 1),
        ("RGB", 3),
        ("rgba", 4),
        (ImageReadMode.GRAY_ALPHA, 2),
    ],
)
def test_modes(mode, channels):
    data = encoded(Image.new("RGBA", (3, 2), (1, 2, 3, 4)), "PNG")
    assert decode_image(data, mode).shape == (channels, 2, 3)


def test_png_of_sixteen_bits():
    array = np.array([[0, 256, 65535]], np.uint16)
    read = decode_png(encoded(Image.fromarray(array), "PNG"))
    assert read.dtype is taper.uint16
    assert read.tolist() == [[[0, 256, 65535]]]


def test_palette_and_bits_become_values():
    coloured = Image.new("RGB", (2, 2), (10, 20, 30)).quantize(4)
    assert decode_image(encoded(coloured, "PNG"))[:, 0, 0].tolist() == [10, 20, 30]
    assert decode_image(encoded(Image.new("1", (2, 2), 1), "PNG")).unique().tolist() == [255]


def test_gif_of_several_pictures():
    frames = [Image.new("RGB", (4, 3), (value, 0, 0)) for value in (0, 100, 200)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode_gif(data).shape == decode_image(data).shape == (3, 3, 3, 4)
    assert decode_gif(encoded(frames[0], "GIF")).shape == (3, 3, 4)


def test_orientation_is_applied_if_asked_for():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a right angle
    data = encoded(Image.new("RGB", (8, 4)), "JPEG", exif=exif)
    assert decode_image(data).shape == (3, 4, 8)
    assert decode_image(data, apply_exif_orientation=True).shape == (3, 8, 4)


def test_bytes_of_a_file(tmp_path):
    write_file(tmp_path / "x", taper.tensor([1, 2, 255], dtype=taper.uint8))
    assert read_file(tmp_path / "x").tolist() == [1, 2, 255]


@pytest.mark.parametrize("end", [0, 4, 30, -40])
def test_damaged_pictures(end):
    with pytest.raises(RuntimeError, match="Unsupported image file|1-dimensional"):
        decode_image(encode_png(noise())[:end])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: decode_png(encode_jpeg(noise())), RuntimeError, "Unsupported image file: PNG"),
        (lambda: decode_image(taper.zeros(3)), RuntimeError, "1-dimensional tensor of torch.uint8"),
        (lambda: encode_png(taper.zeros(3, 2, 2)), RuntimeError, "dtype should be uint8"),
        (lambda: encode_png(noise(4)), RuntimeError, "channels should be 1 or 3, got: 4"),
        (lambda: encode_png(noise()[0]), RuntimeError, "3-dimensional"),
        (lambda: encode_png(noise(), 10), RuntimeError, "between 0 and 9"),
        (lambda: encode_jpeg(noise(), 0), ValueError, "between 1 and 100"),
        (lambda: read_image("no such file"), FileNotFoundError, "no such file"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
