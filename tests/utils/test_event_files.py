"""Files of events: framing, checksums, the thread that writes, names and folders."""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import struct
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import taper as torch
from event_files import (
    events,
    fields,
    files_of,
    records,
    scalars,
)
from taper.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter, summary
from taper.utils.tensorboard.records import RecordFile, crc32c

# --- records ---------------------------------------------------------------------------------


def test_checksum_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # from RFC 3720
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


@pytest.mark.parametrize("size", [511, 512, 1023, 1024, 1025, 5000])
def test_checksum_of_long_data_goes_in_lanes(size):
    data = np.random.default_rng(size).bytes(size)
    assert struct.pack("<I", crc32c(data)) == struct.pack("<I", _plain(data))


def _plain(data):
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_record_writer_frames():
    file = io.BytesIO()
    writer = RecordWriter(file)
    for each in (b"", b"abc", bytes(3000)):
        writer.write(each)
    writer.flush()
    assert records(file.getvalue()) == [b"", b"abc", bytes(3000)]


def test_records_are_appended(tmp_path):
    path = tmp_path / "file"
    for content in (b"a", b"b"):
        file = RecordFile(str(path), 10, 120)
        file.write(content)
        file.close()
    assert records(path.read_bytes()) == [b"a", b"b"]


def test_flush_brings_everything_to_the_file(tmp_path):
    file = RecordFile(str(tmp_path / "file"), 2, 120)
    for number in range(20):
        file.write(bytes([number]))
    file.flush()
    assert len(records((tmp_path / "file").read_bytes())) == 20
    file.close()


def test_the_time_brings_it_too(tmp_path):
    file = RecordFile(str(tmp_path / "file"), 2, 0.05)
    file.write(b"soon")
    deadline = time.monotonic() + 10
    while not (tmp_path / "file").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert records((tmp_path / "file").read_bytes()) == [b"soon"]
    file.close()


def test_a_full_queue_blocks(tmp_path):
    file = RecordFile(str(tmp_path / "file"), 2, 120)
    gate, worker = threading.Event(), file._worker
    keep = worker.keep
    worker.keep = lambda record: (gate.wait(), keep(record))
    done = threading.Event()

    def add():
        for number in range(6):
            file.write(bytes([number]))
        done.set()

    thread = threading.Thread(target=add)
    thread.start()
    assert not done.wait(0.2)
    gate.set()
    assert done.wait(10)
    thread.join()
    file.close()
    assert len(records((tmp_path / "file").read_bytes())) == 6


def test_errors_of_the_thread_are_raised_in_the_caller_and_leave_whole_records(tmp_path):
    path = tmp_path / "file"
    file = RecordFile(str(path), 1, 120)
    file.write(b"good")
    file.flush()
    real = file._worker.file

    class Full(types.SimpleNamespace):
        def write(self, data):
            real.write(data[:5])
            raise OSError(errno.ENOSPC, "No space left on device")

    file._worker.file = Full(fileno=real.fileno, truncate=real.truncate, close=real.close)
    for _ in range(5):  # nobody waits for a thread that cannot write
        file.write(b"bad")
    with pytest.raises(OSError, match="No space left"):
        file.flush()
    with pytest.raises(OSError, match="No space left"):
        file.write(b"later")
    with pytest.raises(OSError, match="No space left"):
        file.close()
    assert records(path.read_bytes()) == [b"good"]


def test_a_closed_file_takes_nothing(tmp_path):
    file = RecordFile(str(tmp_path / "file"), 1, 120)
    file.close()
    file.close()
    file.flush()
    with pytest.raises(OSError, match="closed"):
        file.write(b"late")


def test_the_thread_ends_with_the_writer(tmp_path):
    writer = SummaryWriter(tmp_path)
    thread = writer.file_writer._file._worker.thread
    writer.add_scalar("a", 1.0)
    assert thread.is_alive()
    del writer
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()
    assert scalars(tmp_path) == {"a": [(0, 1.0)]}


PROGRAM = """
from taper.utils.tensorboard import SummaryWriter
writer = SummaryWriter({folder!r})
for step in range(100):
    writer.add_scalar("a", step, step)
"""


def test_the_end_of_the_program_writes_everything(tmp_path):
    source = str(Path(torch.__file__).parent.parent)
    command = [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path))]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": source})
    assert scalars(tmp_path)["a"] == [(step, step) for step in range(100)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_cannot_spoil_the_file(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("a", 1.0)
    child = os.fork()
    if child == 0:  # pragma: no cover
        code = 1
        try:
            writer.add_scalar("a", 2.0)
        except RuntimeError as error:
            code = 0 if "belongs to the process" in str(error) else 2
        writer.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    writer.close()
    assert scalars(tmp_path) == {"a": [(0, 1.0)]}


# --- files -----------------------------------------------------------------------------------


def test_the_folder_has_date_host_and_comment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr") as writer:
        assert re.fullmatch(r"runs/[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+_lr", writer.get_logdir())
    assert len(files_of(writer.get_logdir())) == 1


def test_name_and_head_of_a_file(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".end") as writer:
        assert writer.get_logdir() == tmp_path
    (path,) = files_of(tmp_path)
    pattern = rf"events\.out\.tfevents\.\d{{10}}\..+\.{os.getpid()}\.\d+\.end"
    assert re.fullmatch(pattern, path.name)
    head = fields(records(path.read_bytes())[0])
    assert head[3] == [b"brain.Event:2"]
    assert abs(struct.unpack("<d", head[1][0])[0] - time.time()) < 100


def test_purge_step_starts_a_session(tmp_path):
    SummaryWriter(tmp_path, purge_step=7).close()
    version, session = events(tmp_path)
    assert (version[2], version[3]) == ([7], [b"brain.Event:2"])
    assert (session[2], session[7]) == ([7], [b"\x08\x01"])


def test_after_close_a_new_file_is_opened(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("a", 1.0)
    writer.close()
    assert writer.file_writer is None and writer.all_writers is None
    writer.flush()
    writer.close()
    writer.add_scalar("a", 2.0)
    writer.close()
    assert len(files_of(tmp_path)) == 2
    assert sorted(scalars(tmp_path)["a"]) == [(0, 1.0), (0, 2.0)]


def test_options_that_make_no_sense(tmp_path):
    for options in ({"flush_secs": "a"}, {"purge_step": "a"}, {"filename_suffix": 3}):
        with pytest.raises(TypeError):
            SummaryWriter(tmp_path, **options)
    assert files_of(tmp_path) == []


def test_file_writer_reopens(tmp_path):
    writer = FileWriter(tmp_path)
    writer.add_summary(summary.scalar("a", 1), 1)
    writer.reopen()
    writer.add_summary(summary.scalar("a", 2), 2, walltime=5.0)
    writer.flush()
    writer.close()
    assert writer.get_logdir() == str(tmp_path)
    assert sorted(scalars(tmp_path)["a"]) == [(1, 1.0), (2, 2.0)]
