"""Files that replace others, and those that killed processes leave (files/atomic.py)."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import pytest

import taper
from taper.files import atomic

KILLED = """
import os, signal, sys
from taper.files.atomic import replacing
with replacing(sys.argv[1], int(sys.argv[2])) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed the way of POSIX")
@pytest.mark.parametrize("size", [0, 1 << 26], ids=["usual", "direct"])
def test_found_c10_a_save_removes_what_killed_ones_have_left(tmp_path, size):
    path = tmp_path / "model.pt"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for name in ("model.pt", "other.pt"):
        command = [sys.executable, "-c", KILLED, tmp_path / name, str(size)]
        assert subprocess.run(command, env=environment).returncode == -9
    (tmp_path / ".model.pt.notes.tmp").touch()
    assert len(os.listdir(tmp_path)) == 3
    taper.save(taper.ones(2), path)
    left = sorted(os.listdir(tmp_path))
    assert [each[:10] for each in left] == [".model.pt.", ".other.pt.", "model.pt"]
    assert left[0] == ".model.pt.notes.tmp"  # whose name is nobody's of ours


def test_found_c10_two_saves_at_once_leave_each_other_alone(tmp_path):
    path = tmp_path / "a"
    with atomic.replacing(path) as first:
        first.write(b"first")
        with atomic.replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_found_c10_a_finished_file_is_held_until_it_is_renamed(tmp_path, monkeypatch):
    """The file is closed before that: another process that saves must not take it for abandoned."""
    real = os.replace

    def replace(source, target):
        atomic._remove_abandoned(str(tmp_path), "a")
        real(source, target)

    monkeypatch.setattr(atomic.os, "replace", replace)
    with atomic.replacing(tmp_path / "a") as file:
        file.write(b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_found_c10_a_file_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    real, removed = os.dup, []

    def dup(descriptor):
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        return real(descriptor)

    monkeypatch.setattr(atomic.os, "dup", dup)
    with atomic.replacing(tmp_path / "a") as file:
        file.write(b"whole")
    assert removed
    assert os.listdir(tmp_path) == ["a"]


def test_found_c10_without_locks_an_open_file_is_not_removed_by_the_system(tmp_path, monkeypatch):
    """On Windows, which has no such locks, unlinking a file that is open anywhere fails."""
    monkeypatch.setattr(atomic, "fcntl", None)
    left = tmp_path / f".a.{'0' * 16}.tmp"
    left.touch()
    with atomic.replacing(tmp_path / "a") as file:
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["a"]
    assert not left.exists()


def test_what_is_no_regular_file_is_written_directly(tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)  # not /dev/null: a mistake would replace the machine's
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    taper.save(taper.ones(2), path)
    reader.join(10)
    assert taper.load(io.BytesIO(got[0])).tolist() == [1, 1]
    assert path.is_fifo()


@pytest.mark.parametrize("name", ["模型" * 40, "a" * 255])
def test_found_c10_a_long_name_is_saved_and_what_was_left_of_it_removed(tmp_path, name):
    """A name may have 255 bytes; that of the temporary file, which is longer, must fit as well."""
    with atomic.replacing(tmp_path / name):
        [left] = os.listdir(tmp_path)
    (tmp_path / left).touch()
    taper.save(taper.ones(2), tmp_path / name)
    assert os.listdir(tmp_path) == [name] and taper.load(tmp_path / name).tolist() == [1.0, 1.0]
