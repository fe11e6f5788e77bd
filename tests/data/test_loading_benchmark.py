"""The benchmark of data loading stays runnable."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "data_loading.py"


def test_rows_run_against_themselves():
    command = [sys.executable, str(PROGRAM), "--json", "--rounds", "1", "--passes", "1"]
    command += ["--candidate", "taper", "--reference", "taper", "--only", "tiny TensorDataset"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert list(rows) == ["tiny TensorDataset, 2 workers", "tiny TensorDataset, in process"]
    assert all(row["ratio"] > 0 and row["bar"] == 0.9 for row in rows.values())


def test_help():
    command = [sys.executable, str(PROGRAM), "--help"]
    assert "--check" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
