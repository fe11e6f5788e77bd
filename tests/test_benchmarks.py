"""The benchmarks stay runnable, and their arithmetic and verdicts are right."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))
try:
    check = importlib.import_module("check")
    install_size = importlib.import_module("install_size")
    plots = importlib.import_module("plots")
    report = importlib.import_module("report")
    rows = importlib.import_module("rows")
    run = importlib.import_module("run")
    scaling = importlib.import_module("scaling")
    tables = importlib.import_module("tables")
    workloads = importlib.import_module("workloads")
finally:
    sys.path.remove(str(FOLDER))

QUICK = [workload for workload in workloads.all_workloads() if workload.quick]


@pytest.mark.parametrize("workload", QUICK, ids=lambda each: each.name)
def test_workload_runs_on_taper(workload):
    taper = importlib.import_module("taper")
    assert 0 < workload.build(taper)(2) < 10
    assert taper.is_grad_enabled()


@pytest.mark.parametrize("table", sorted(tables.TABLES))
def test_names_are_unique(table):
    names = [workload.name for workload in tables.TABLES[table]()]
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
    command = [sys.executable, str(FOLDER / "run.py"), "--table", "overhead", "--quick"]
    command += ["--json", "--only", "no_grad", "--candidate", "taper", "--reference", "taper"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["rows"]
    assert [each["name"] for each in found] == ["mul 5x5, no_grad", "add_ 5x5, no_grad"]
    assert all(each["error"] is None and each["ratio"] > 0 for each in found)


def test_captured_steps_are_compared_with_both():
    command = [sys.executable, str(FOLDER / "run.py"), "--table", "captured", "--quick", "--json"]
    command += ["--only", "5x5", "--candidate", "taper", "--reference", "taper"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = json.loads(done.stdout)["rows"]
    assert (first["name"], first["bar"]) == ("step: 5x5 variance fit, SGD", 0.9)
    assert (second["name"], second["bar"]) == ("step: 5x5 variance fit, SGD / taper itself", 0.8)
    assert first["error"] is None and second["ratio"] > 0
    found = report.captured([rows.Row(**each) for each in (_plain(first), _plain(second))], {})
    assert "Beside taper without capture:" in found


def _plain(row):
    return {name: value for name, value in row.items() if name != "verdict"}


def test_deep_chain_frees_its_memory():
    command = [sys.executable, str(FOLDER / "deep_chain.py"), "taper", "--length", "200000"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gradients right" in done.stdout
    assert "memory given back" in done.stdout


PROGRAMS = sorted(
    path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "worker.py"])
def test_program_explains_itself(program):
    command = [sys.executable, str(FOLDER / program), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: {program}")


def test_worker_answers_with_the_reason_why_it_cannot():
    worker = run.Worker("no_such_library", "peer-jax")
    try:
        answers = [worker.measure(0, 0.01) for _ in range(2)]
    finally:
        worker.stop()
    assert answers == [{"error": "ModuleNotFoundError: No module named 'no_such_library'"}] * 2


def test_threads_are_put_back():
    taper = importlib.import_module("taper")
    before = taper.get_num_threads()
    one = workloads.Workload(
        "w", lambda torch: {"seen": set()}, "seen.add(torch.get_num_threads())", threads=1
    )
    assert one.build(taper)(2) > 0
    assert taper.get_num_threads() == before


def test_thread_counts_end_with_all_cores():
    assert [scaling.thread_counts(n) for n in (1, 2, 6)] == [[1], [1, 2], [1, 2, 4, 6]]


STORED = {"models: a": 0.50, "models: b": 1.00}


def test_only_what_is_more_than_15_percent_worse_is_named():
    assert check.worse(STORED, {"models: a": 0.57, "models: b": 0.2, "models: new": 9.0}) == {}
    found = check.worse(STORED, {"models: a": 0.60, "models: b": 1.0})
    assert found == {"models: a": "0.50 -> 0.60, +20%"}
    assert check.worse(STORED, {"models: a": 0.5}) == {"models: b": "1.00 -> did not run"}


def test_what_looks_worse_is_measured_again_and_only_that(monkeypatch, capsys):
    asked = []

    def measure(rounds, names=None):
        asked.append(names)
        later = {"models: a": 0.7, "models: b": 1.1}
        return {name: later[name] for name in names} if names else dict.fromkeys(STORED, 2.0)

    monkeypatch.setattr(check, "measure", measure)
    assert check.checked(STORED, 3) == {"models: a": "0.50 -> 0.70, +40%"}
    assert asked == [None, set(STORED), {"models: a"}, {"models: a"}]


def test_check_tells_the_exit_code(monkeypatch, tmp_path, capsys):
    path = tmp_path / "baseline.json"
    arguments = ["--baseline", str(path)]
    assert check.main(arguments) == 2
    assert "make bench-baseline" in capsys.readouterr().out
    monkeypatch.setattr(check, "measure", lambda rounds, names=None: dict(STORED))
    assert check.main([*arguments, "--write"]) == 0
    assert check.main(arguments) == 0
    monkeypatch.setattr(check, "measure", lambda rounds, names=None: dict.fromkeys(STORED, 3.0))
    capsys.readouterr()
    assert check.main(arguments) == 1
    assert "WORSE  models: a: 0.50 -> 3.00, +500%" in capsys.readouterr().out


def test_another_machine_is_said():
    here = rows.environment()
    assert check.differences({**here, "load": -1.0}) == []
    (line,) = check.differences({**here, "cores": 77})
    assert line.startswith("cores: 77 in the baseline")


def test_limit_is_shown_in_the_unit_of_the_row():
    found = rows.pair("w", 0.07, 0.14, limit=0.06, unit="ms")
    assert found.cells() == ("w", "70.00", "140.00", "0.50", "<= 60 ms", "FAIL")


def test_results_keep_the_sections_of_other_programs(tmp_path):
    path = tmp_path / "results.json"
    first, second = rows.pair("a", 1.0, 2.0), rows.pair("b", 3.0, 2.0, unit="MB")
    rows.store(path, "one", [first])
    rows.store(path, "two", [first])
    rows.store(path, "two", [second])
    found = rows.load(path)
    assert [rows.rows_of(found[name]) for name in ("one", "two")] == [[first], [second]]


ODD = 'a < b & "c" | *d* _e_ `f` [g](h)'


@pytest.mark.parametrize(
    "drawn",
    [
        plots.bars(ODD, {ODD: 2.0, "too long": 99.0}),
        plots.bars("no rows", {}),
        plots.lines(ODD, {ODD: [(1.0, 0.1), (2.0, 5.0)]}, ODD, ODD),
        plots.lines("one point", {"a": [(1.0, 1.0)]}, "x", "y"),
    ],
)
def test_plot_is_well_formed_and_stays_inside(drawn):
    tree = ElementTree.fromstring(drawn)
    texts = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert ODD in texts or texts
    for bar in tree.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(bar.get("x", 0)) + float(bar.get("width")) <= plots.WIDTH


def test_page_escapes_names_and_says_what_is_missing(tmp_path):
    results, page = tmp_path / "results.json", tmp_path / "docs" / "performance.md"
    assert report.main(["--results", str(results), "--page", str(page)]) == 2
    rows.store(results, "models", [rows.pair(ODD, 1.0, 2.0, bar=0.4)])
    rows.store(results, "scaling", [rows.pair(f"{ODD}, threads {n}", 1.0, 2.0) for n in (1, 2)])
    rows.store(results, "busy", [rows.pair("step", 6.0, 4.0, limit=5.0, unit="times")])
    assert report.main(["--results", str(results), "--page", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    escaped = r"a &lt; b &amp; \"c\" \| \*d\* \_e\_ \`f\` \[g\](h)"
    assert f"| {escaped.replace(chr(92) + chr(34), chr(34))} | 1000000.00 |" in text
    assert text.count("Not measured in this run.") == len(report.SECTIONS) - 3
    shown = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert sorted(shown) == sorted(
        f"performance/{each.name}" for each in (page.parent / "performance").iterdir()
    )


def test_operators_and_peers_become_one_line_each():
    pictures = {}
    sized = [rows.pair(f"add {size}", 1.0, 2.0, bar=1.0) for size in ("1e3", "1e6")]
    assert "| add | 0.50 | 0.50 |" in report.operators(sized, pictures)
    failing = rows.Row("step / MLX", 1e-6, None, None, error="ImportError: no")
    found = report.peers([rows.pair("step / JAX", 1e-6, 4e-6), failing], pictures)
    assert "| step | 1.00 | 4.00 (0.25) | - (-) |" in found
    assert "- MLX did not run here: ImportError: no" in found


def test_dependencies_leave_out_numpy_and_extras():
    assert install_size.dependencies("tapergrad") == {"ml_dtypes"}
    assert 0 < install_size.megabytes("taper")[0] < 50
