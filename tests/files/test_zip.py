"""The zip container: what is written, and what is refused."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import pytest

import taper
from files.forgery import ended, entry, local
from taper.files import zip_reader, zip_writer
from taper.files.zip_reader import ZipReader
from taper.files.zip_writer import ZipWriter

RECORDS = {"data.pkl": b"pickle", "data/0": bytes(range(200)), "data/1": b"", "version": b"3\n"}


def written(**options) -> io.BytesIO:
    file = io.BytesIO()
    writer = ZipWriter(file.write, "root", **options)
    for name, content in RECORDS.items():
        writer.add(name, content)
    writer.finish()
    file.seek(0)
    return file


def test_other_programs_read_what_is_written():
    with zipfile.ZipFile(written()) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(f"root/{name}") for name in RECORDS} == RECORDS


@pytest.mark.parametrize("alignment", [64, 4096])
def test_contents_are_aligned(alignment):
    reader = ZipReader(written(alignment=alignment))
    assert [reader.place(name) % alignment for name in reader.records] == [0] * len(RECORDS)


def test_own_reader_reads_what_is_written():
    reader = ZipReader(written())
    assert {name: reader.read(f"root/{name}") for name in RECORDS} == RECORDS


def test_archive_may_begin_inside_a_file():
    file = io.BytesIO(b"before" + written().getvalue())
    file.seek(6)
    assert ZipReader(file).read("root/data/0") == RECORDS["data/0"]


def test_large_records_use_the_wide_fields(monkeypatch):
    """The 4 GiB limit is lowered to 100 bytes: sizes and offsets exceed it."""
    monkeypatch.setattr(zip_writer, "CLASSIC_LIMIT", 100)
    entry = zip_writer.Entry(b"n", 0, 200, 300)
    assert entry.wide_fields() == struct.pack("<HHQQQ", 1, 24, 200, 200, 300)
    assert zip_writer.Entry(b"n", 0, 20, 300).wide_fields() == struct.pack("<HHQ", 1, 8, 300)
    assert zip_writer.Entry(b"n", 0, 20, 30).wide_fields() == b""


def test_wide_fields_are_read():
    name, content = b"root/data/0", b"content"
    body = local(name, content)
    wide = struct.pack("<HHQQQ", 1, 24, len(content), len(content), 0)
    most = 0xFFFFFFFF
    fixed = (45, 45, 0, 0, 0, 0, zlib.crc32(content), most, most)
    tail = (len(name), len(wide), 0, 0, 0, 0, most)
    directory = struct.pack("<4s6H3I5H2I", b"PK\1\2", *fixed, *tail) + name + wide
    file = ended(body, directory, 1)
    assert ZipReader(file).read("root/data/0") == content
    with zipfile.ZipFile(file) as archive:
        assert archive.read("root/data/0") == content


def test_deflated_records_are_read():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("root/a", b"x" * 10_000)
    file.seek(0)
    reader = ZipReader(file)
    assert reader.read("root/a") == b"x" * 10_000
    assert reader.place("root/a") is None


# --- what is refused -------------------------------------------------------------------------

A, B = b"root/a", b"root/b"


def refused(file: io.BytesIO, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        reader = ZipReader(file)
        for name in reader.records:
            reader.read(name)


def test_not_an_archive_is_refused():
    refused(io.BytesIO(b"PK\3\4" + b"hello" * 100), "not a ZIP archive")
    refused(io.BytesIO(b""), "not a ZIP archive")


def test_a_truncated_archive_is_refused():
    whole = written().getvalue()
    for length in range(0, len(whole) - 1, 37):
        refused(io.BytesIO(whole[:length]), "PytorchStreamReader failed")


def test_a_name_that_stands_twice_is_refused():
    first, second = local(A, b"1"), local(A, b"2")
    directory = entry(A, b"1", 0) + entry(A, b"2", len(first))
    refused(ended(first + second, directory, 2), "occurs twice")


def test_overlapping_records_are_refused():
    body = local(A, b"x" * 100)
    inner = local(B, b"y")
    body = body[:50] + inner + body[50 + len(inner) :]
    refused(ended(body, entry(A, b"x" * 100, 0) + entry(B, b"y", 50), 2), "overlap")


def test_one_record_under_two_names_is_refused():
    body = local(A, b"x")
    refused(ended(body, entry(A, b"x", 0) + entry(B, b"x", 0), 2), "overlap")


def test_a_record_that_reaches_into_the_directory_is_refused():
    body = local(A, b"x" * 10)
    refused(ended(body, entry(A, b"x" * 40, 0), 1), "reaches into the directory")


@pytest.mark.parametrize("offset", [7, 10**6, 0xFFFFFFFE])
def test_a_record_that_is_elsewhere_is_refused(offset):
    refused(ended(local(A, b"x" * 10), entry(A, b"x" * 10, offset), 1), "zip archive: ")


def test_a_record_with_another_name_in_its_header_is_refused():
    refused(ended(local(B, b"x"), entry(A, b"x", 0), 1), "another name")


@pytest.mark.parametrize(
    "header",
    [b"PK\3\5" + local(A, b"x")[4:], local(A, b"x", method=8), local(A, b"x", flags=1)],
    ids=["no header", "deflated", "encrypted"],
)
def test_a_record_whose_header_contradicts_the_directory_is_refused(header):
    refused(ended(header, entry(A, b"x", 0), 1), "is not what the directory says")


def test_entries_may_have_comments():
    comment = b"written by hand"
    first = bytearray(entry(A, b"x", 0))
    struct.pack_into("<H", first, 32, len(comment))
    body = local(A, b"x")
    second = entry(B, b"y", len(body))
    made = ended(body + local(B, b"y"), bytes(first) + comment + second, 2)
    reader = ZipReader(made)
    assert [reader.read(each) for each in reader.records] == [b"x", b"y"]


@pytest.mark.parametrize(
    "name", [b"../a", b"/a", b"root/../a", b"root//a", b"root\\a", b"a\0b", b".", b"root/", b"\xff"]
)
def test_names_that_are_no_plain_paths_are_refused(name):
    refused(ended(local(name, b"x"), entry(name, b"x", 0), 1), "no plain path|not UTF-8")


def test_encrypted_records_are_refused():
    refused(ended(local(A, b"x", flags=1), entry(A, b"x", 0, flags=1), 1), "encrypted")


def test_other_compressions_are_refused():
    body = local(A, b"x", method=12)
    refused(ended(body, entry(A, b"x", 0, method=12), 1), "unsupported method")


def test_a_stored_record_of_two_sizes_is_refused():
    refused(ended(local(A, b"x"), entry(A, b"x", 0, size=10**9), 1), "two sizes")


def test_a_wrong_count_is_refused():
    refused(ended(local(A, b"x"), entry(A, b"x", 0), 2), "ended early")


def test_too_many_records_are_refused(monkeypatch):
    monkeypatch.setattr(zip_reader, "MOST_RECORDS", 3)
    refused(written(), "more than 3 records")


def test_a_changed_record_is_noticed():
    whole = bytearray(written().getvalue())
    whole[whole.index(bytes(range(200))) + 7] ^= 1
    refused(io.BytesIO(bytes(whole)), "checksum")


def test_a_record_without_checksum_is_read():
    file = written(checksums=False)
    assert ZipReader(file).read("root/data/0") == RECORDS["data/0"]


# --- zip bombs -------------------------------------------------------------------------------


def deflated(content: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(content) + compressor.flush()


def bomb(packed: bytes, size: int) -> io.BytesIO:
    body = local(A, packed, method=8)
    return ended(body, entry(A, packed, 0, method=8, size=size), 1)


def test_a_declared_size_far_beyond_the_file_is_refused(monkeypatch):
    monkeypatch.setattr(zip_reader, "FREE_EXPANSION", 1000)
    refused(bomb(deflated(bytes(10**6)), 10**6), "would become 1000000 bytes")


@pytest.mark.parametrize("declared", [10, 999_999, 1_000_001])
def test_a_record_that_inflates_to_another_size_is_refused(declared):
    refused(bomb(deflated(bytes(10**6)), declared), "another size")


def test_inflating_stops_at_the_declared_size():
    """A megabyte is declared, a gigabyte is there: no more than the megabyte is inflated."""
    tracemalloc = pytest.importorskip("tracemalloc")
    packed = deflated(bytes(1 << 28))
    tracemalloc.start()
    try:
        refused(bomb(packed, 1 << 20), "another size")
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


def test_broken_deflate_is_refused():
    refused(bomb(b"\xff" * 50, 100), "reading file root/a")


def test_load_reads_a_deflated_checkpoint():
    file = io.BytesIO()
    taper.save({"a": taper.zeros(1000)}, file)
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(file) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    packed.seek(0)
    assert taper.load(packed)["a"].shape == (1000,)


# --- ends and extra fields that no usual program writes ----------------------------------------

BODY = local(b"r/a", b"text")
ENTRY = entry(b"r/a", b"text", 0)
SIZE, START, WIDE = len(ENTRY), len(BODY), 0xFFFFFFFF


def closed(count=1, size=SIZE, offset=START, disk=0, first=0, here=None, comment=b""):
    here = count if here is None else here
    numbers = (disk, first, here, count, size, offset, len(comment))
    return struct.pack("<4s4H2IH", b"PK\5\6", *numbers) + comment


def wide_end(disk=0, first=0, disks=1, here=1, count=1, offset=START, signature=b"PK\6\6"):
    numbers = (44, 45, 45, disk, first, here, count, SIZE, offset)
    end = struct.pack("<4sQHHIIQQQQ", signature, *numbers)
    return end + struct.pack("<4sIQI", b"PK\6\7", 0, START + SIZE, disks)


def contents(end: bytes, directory: bytes = ENTRY) -> bytes:
    return ZipReader(io.BytesIO(BODY + directory + end)).read("r/a")


@pytest.mark.parametrize("comment", [b"", b"x", b"PK\5\6", b"PK\5\6" + bytes(30), bytes(0xFFFF)])
def test_an_archive_may_have_a_comment(comment):
    assert contents(closed(comment=comment)) == b"text"


@pytest.mark.parametrize("numbers", [{"disk": 1}, {"first": 1}, {"here": 0}, {"here": 2}])
def test_an_archive_of_several_parts_is_refused(numbers):
    with pytest.raises(RuntimeError, match="it has several parts"):
        contents(closed(**numbers))


def test_the_64_bit_end_counts_where_the_other_has_no_room():
    assert contents(wide_end() + closed()) == b"text"
    narrow = closed(count=0xFFFF, size=WIDE, offset=WIDE)
    assert contents(wide_end() + narrow) == b"text"


@pytest.mark.parametrize("numbers", [{"count": 2}, {"size": 5}, {"offset": 0}])
def test_ends_that_contradict_each_other_are_refused(numbers):
    with pytest.raises(RuntimeError, match="its two ends contradict each other"):
        contents(wide_end() + closed(**numbers))


@pytest.mark.parametrize(
    "numbers",
    [{"disk": 1}, {"first": 1}, {"disks": 2}, {"here": 2}, {"count": 0}, {"signature": b"PK\6\0"}],
)
def test_a_broken_64_bit_end_is_refused(numbers):
    with pytest.raises(RuntimeError, match="its 64-bit end is broken"):
        contents(wide_end(**numbers) + closed())


@pytest.mark.parametrize("offset", [START + 1, 10**6])
def test_a_directory_that_is_elsewhere_is_refused(offset):
    with pytest.raises(RuntimeError, match="a place outside of the file|its directory is broken"):
        contents(closed(offset=offset))


def extended(extra: bytes, comment: bytes = b"", disk: int = 0) -> bytes:
    """The entry of the directory with sizes that only the extra fields tell."""
    fixed = (20, 20, 0, 0, 0, 0, zlib.crc32(b"text"), WIDE, WIDE)
    lengths = (3, len(extra), len(comment), disk, 0, 0, 0)
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", *fixed, *lengths) + b"r/a" + extra + comment


SIZES = struct.pack("<HHQQ", 1, 16, 4, 4)


@pytest.mark.parametrize("before", [b"", struct.pack("<HH5s", 7, 5, b"other")])
@pytest.mark.parametrize("after", [b"", b"comment"])
def test_extra_fields_may_come_before_the_sizes(before, after):
    directory = extended(before + SIZES, after, disk=0xFFFF)
    assert contents(closed(size=len(directory)), directory) == b"text"


@pytest.mark.parametrize(
    ("extra", "disk", "words"),
    [
        (b"", 0, "a size is missing"),
        (SIZES[:-1], 0, "a size is missing"),
        (struct.pack("<HHQ", 1, 8, 4), 0, "a size is missing"),
        (struct.pack("<HHQQ", 2, 16, 4, 4), 0, "a size is missing"),
        (SIZES, 1, "its directory is broken"),
    ],
)
def test_entries_without_their_sizes_or_of_another_part_are_refused(extra, disk, words):
    directory = extended(extra, disk=disk)
    with pytest.raises(RuntimeError, match=words):
        contents(closed(size=len(directory)), directory)


@pytest.mark.parametrize("cut", [1, 10])
def test_a_directory_that_ends_early_is_refused(cut):
    with pytest.raises(RuntimeError, match="its directory is broken|its directory ended early"):
        contents(closed(size=SIZE - cut), ENTRY[:-cut])
