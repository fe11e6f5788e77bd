"""The seam of CUDA tensors without a GPU: devices, mixtures, training, memory, rows of the table.

A fake device computes with NumPy behind addresses that may not be read (`fake.py`).  It is in use
in one process of its own (`fake_program.py`), whose verdicts are the tests here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), "fake_program.py")
with open(PROGRAM, encoding="utf-8") as _file:
    CHECKS = re.findall(r"^def (check_\w+)", _file.read(), re.M)


@pytest.fixture(scope="module")
def output():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "error:a captured step runs without", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("check", CHECKS)
def test_check(check, output):
    assert f"passed {check}" in output, output[-3000:]
