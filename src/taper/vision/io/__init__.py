"""Pictures in files and in tensors of bytes, by Pillow."""

from taper.vision.io import image
from taper.vision.io.image import (
    ImageReadMode,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
    encode_jpeg,
    encode_png,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)

__all__ = [
    "ImageReadMode",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "image",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]
