"""The benchmarks stay runnable, and their arithmetic and verdicts are right."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))
try:
    run = importlib.import_module("run")
    workloads = importlib.import_module("workloads")
finally:
    sys.path.remove(str(FOLDER))

QUICK = [workload for workload in workloads.all_workloads() if workload.quick]


@pytest.mark.parametrize("workload", QUICK, ids=lambda each: each.name)
def test_workload_runs_on_taper(workload):
    taper = importlib.import_module("taper")
    assert 0 < workload.build(taper)(2) < 10
    assert taper.is_grad_enabled()


def test_names_are_unique():
    names = [workload.name for workload in workloads.all_workloads()]
    assert len(names) == len(set(names))


def seconds(*values):
    return [{"seconds": value} for value in values]


def row(pairs, **options):
    workload = workloads.Workload("w", make=lambda torch: {}, statement="pass", **options)
    return run.summary(workload, pairs)


def test_ratio_is_the_median_over_neighbours():
    # The machine became ten times slower for the second pair: the ratios do not show it.
    pairs = list(zip(seconds(1.0, 10.0, 1.2), seconds(2.0, 20.0, 2.0), strict=True))
    found = row(pairs, bar=0.5)
    assert (found.candidate, found.reference, found.ratio) == (1.2, 2.0, 0.5)
    assert found.verdict == "pass"


def test_bar_is_missed_by_a_slow_and_by_a_failing_candidate():
    assert row(list(zip(seconds(3.0), seconds(2.0), strict=True)), bar=1.1).verdict == "FAIL"
    failing = row([({"error": "AttributeError: no"}, {"seconds": 1.0})], bar=1.1)
    assert (failing.verdict, failing.error) == ("FAIL", "AttributeError: no")


def test_limit_judges_the_candidate_alone():
    found = row([({"seconds": 1e-7}, {"error": "has none"})], limit=2e-7)
    assert (found.verdict, found.ratio, found.error) == ("pass", None, None)


def test_table_shows_microseconds_ratio_and_verdict():
    found = row(list(zip(seconds(1e-6), seconds(4e-6), strict=True)), bar=0.8)
    head, line, first = run.table([found], ("taper", "torch")).splitlines()
    assert head.split() == ["workload", "taper", "us", "torch", "us", "ratio", "bar"]
    assert set(line) == {"-"}
    assert first.split() == ["w", "1.00", "4.00", "0.25", "<=", "0.8", "pass"]


def test_whole_run_against_itself():
    command = [sys.executable, str(FOLDER / "run.py"), "--quick", "--json", "--only", "no_grad"]
    command += ["--candidate", "taper", "--reference", "taper"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    assert [each["name"] for each in rows] == ["mul 5x5, no_grad", "add_ 5x5, no_grad"]
    assert all(each["error"] is None and each["ratio"] > 0 for each in rows)


def test_deep_chain_frees_its_memory():
    command = [sys.executable, str(FOLDER / "deep_chain.py"), "taper", "--length", "200000"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gradients right" in done.stdout
    assert "memory given back" in done.stdout
