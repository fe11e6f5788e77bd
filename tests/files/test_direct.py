"""Large files, which go to the disk without filling the system's memory (files/direct.py)."""

from __future__ import annotations

import errno
import os

import pytest

import taper
from taper.files import atomic, direct

pytestmark = pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="only Linux has O_DIRECT")


@pytest.fixture
def small_pieces(monkeypatch):
    """Use pieces of two pages, so that small files have many."""
    monkeypatch.setattr(direct, "_PIECE", 8192)
    monkeypatch.setattr(direct, "WORTH_IT", 1)


def contents(length):
    return bytes(number * 7 % 251 for number in range(length))


@pytest.mark.parametrize("length", [0, 1, 8191, 8192, 8193, 16384, 100_000])
@pytest.mark.parametrize("step", [999, 8192, 50_000])
def test_all_bytes_arrive(small_pieces, tmp_path, length, step):
    data = contents(length)
    with direct.DirectFile(str(tmp_path / "a")) as file:
        for start in range(0, length, step):
            part = data[start : start + step]
            assert file.write(memoryview(part)) == len(part)
    assert (tmp_path / "a").read_bytes() == data
    assert file.closed


def test_what_was_flushed_can_be_read_and_more_may_come(small_pieces, tmp_path):
    path = tmp_path / "a"
    with direct.DirectFile(str(path)) as file:
        file.write(contents(10_000))
        file.flush()
        assert path.read_bytes() == contents(10_000)
        file.write(contents(10_000))
    assert path.read_bytes() == contents(10_000) * 2


def test_an_existing_file_is_refused(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        direct.DirectFile(str(path))
    assert path.read_bytes() == b"old"


def saved_directly(monkeypatch, path, value):
    """Save, and return how many direct files there were."""
    made = []

    class Counted(direct.DirectFile):
        def __init__(self, path):
            super().__init__(path)
            made.append(path)

    monkeypatch.setattr(direct, "DirectFile", Counted)
    taper.save(value, path)
    return len(made)


def test_large_checkpoints_take_this_way(small_pieces, monkeypatch, tmp_path):
    path = tmp_path / "model.pt"
    value = {"weight": taper.arange(30_000.0), "step": 3}
    assert saved_directly(monkeypatch, path, value) == 1
    loaded = taper.load(path)
    assert taper.equal(loaded["weight"], value["weight"])
    assert [each.name for each in tmp_path.iterdir()] == ["model.pt"]


def test_small_checkpoints_do_not(monkeypatch, tmp_path):
    assert saved_directly(monkeypatch, tmp_path / "model.pt", taper.ones(10)) == 0


def test_a_full_disk_leaves_the_old_file(small_pieces, monkeypatch, tmp_path):
    path = tmp_path / "model.pt"
    taper.save(taper.ones(2), path)
    before = path.read_bytes()
    pwrite, calls = os.pwrite, []

    def full(descriptor, data, offset):
        calls.append(offset)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        taper.save(taper.arange(30_000.0), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.pt"]


def test_a_file_system_without_it_gets_the_usual_way(small_pieces, monkeypatch, tmp_path):
    path = tmp_path / "model.pt"
    system = os.open

    def refusing(path, flags, *args, **kwargs):
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return system(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    taper.save(taper.arange(30_000.0), path)
    assert taper.equal(taper.load(path), taper.arange(30_000.0))


def test_the_mode_of_the_old_file_is_kept(small_pieces, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with atomic.replacing(path, size=100) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
