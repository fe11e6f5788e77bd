"""A short run of `fuzz.py`; the long one is `python tests/files/fuzz.py --count 100000`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited on Linux only")
def test_damaged_files_load_or_are_refused(tmp_path):
    program = Path(__file__).with_name("fuzz.py")
    command = [sys.executable, program, "--count", "2000", "--seed", "7", "--keep", tmp_path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = {line.split()[1]: int(line.split()[0]) for line in ran.stdout.splitlines()[1:]}
    assert sum(counts.values()) == 2000
    # The damage must be neither harmless nor so great that nothing behind the container is reached.
    assert counts["loaded"] > 100 and counts["UnpicklingError"] > 100
