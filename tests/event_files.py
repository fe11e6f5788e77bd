"""Reads files of events: a small decoder that shares nothing with the encoder."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np


def varint(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def fields(data):
    """Return {field number: [values]}; numbers as integers, everything else as bytes."""
    found, place = {}, 0
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == 0:
            value, place = varint(data, place)
        else:
            if key & 7 == 2:
                size, place = varint(data, place)
            else:
                size = {1: 8, 5: 4}[key & 7]
            value, place = data[place : place + size], place + size
        found.setdefault(key >> 3, []).append(value)
    return found


def crc32c(data):
    """Return the checksum bit by bit, as the polynomial defines it."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def masked(data):
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) % 2**32


def records(data):
    found, place = [], 0
    while place < len(data):
        (size,) = struct.unpack_from("<Q", data, place)
        assert struct.unpack_from("<I", data, place + 8) == (masked(data[place : place + 8]),)
        record = data[place + 12 : place + 12 + size]
        assert struct.unpack_from("<I", data, place + 12 + size) == (masked(record),)
        found.append(record)
        place += size + 16
    return found


def files_of(folder):
    return sorted(Path(folder).glob("events.out.tfevents.*"))


def events(folder):
    """Return the fields of all events in a folder's files, without each file's version."""
    return [fields(each) for path in files_of(folder) for each in records(path.read_bytes())[1:]]


def values(folder):
    """Yield (step, tag, fields) of each value of each summary."""
    found = []
    for event in events(folder):
        for summary in event.get(5, []):
            for value in fields(summary).get(1, []):
                inner = fields(value)
                found.append((event.get(2, [0])[0], inner[1][0].decode(), inner))
    return found


def scalars(folder):
    """Return {tag: [(step, number)]}."""
    found = {}
    for step, tag, value in values(folder):
        if 2 in value:
            found.setdefault(tag, []).append((step, struct.unpack("<f", value[2][0])[0]))
    return found


def plugin(value):
    """Return (name of the plugin, its content, fields or None)."""
    data = fields(fields(value[9][0])[1][0])
    return data[1][0].decode(), fields(data[2][0]) if 2 in data else None


def doubles(data):
    return np.frombuffer(data, "<f8").tolist()


def singles(data):
    return np.frombuffer(data, "<f4").tolist()


def picture(png):
    """Return the pixels of a PNG file whose rows are not filtered."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(png):
        (size,) = struct.unpack_from(">I", png, place)
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        assert struct.unpack_from(">I", png, place + 8 + size) == (zlib.crc32(kind + data),)
        chunks[kind], place = data, place + size + 12
    width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert bits == 8 and rest == [0, 0, 0] and not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)
