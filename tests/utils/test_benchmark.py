"""`utils.benchmark`: reliable times, and tables of them."""

from __future__ import annotations

import pickle

import pytest

import taper
from taper.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit


def measured(times, number=1, **names):
    return Measurement(number, times, TaskSpec(names.pop("stmt", "f(x)"), "pass", **names))


def test_a_timer_runs_the_statement_with_its_names():
    calls = []
    timer = Timer("f(x)", "y = 1", globals={"f": calls.append, "x": 3}, label="calls")
    result = timer.timeit(10)
    assert (result.number_per_run, len(result.times), result.label) == (10, 1, "calls")
    assert len(calls) > 10 and set(calls) == {3}


def test_blocks_are_repeated_for_the_time_asked():
    result = Timer("torch.ones(2)").blocked_autorange(min_run_time=0.02)
    assert sum(result.raw_times) >= 0.02
    assert result.median > 0
    assert Timer("1 + 1").adaptive_autorange(max_run_time=0.05).median > 0


def test_the_number_of_threads_is_that_of_the_block():
    before = taper.get_num_threads()
    seen = []
    Timer("f()", globals={"f": lambda: seen.append(taper.get_num_threads())}, num_threads=1).timeit(
        2
    )
    assert set(seen) == {1} and taper.get_num_threads() == before


def test_statistics():
    result = measured([1e-3, 2e-3, 3e-3, 9e-3, 1e-3], number=10)
    assert (result.median, result.mean) == pytest.approx((2e-4, 3.2e-4))
    assert result.iqr == pytest.approx(2e-4) and result.has_warnings
    assert measured([1e-3] * 3).significant_figures == 4
    assert not measured([1.0, 1.2, 1.4]).meets_confidence()
    assert [select_unit(each)[0] for each in (1e-9, 1e-6, 0.5, 1)] == ["ns", "us", "ms", "s"]


def test_it_is_printed_as_pytorch_does():
    first, *lines = repr(measured([1e-3] * 4, label="L", sub_label="S", description="D")).split(
        "\n"
    )
    assert "Measurement object at" in first
    assert lines == [
        "L: S",
        "D",
        "  Median: 1.00 ms",
        "  IQR:    0.00 ms (1.00 to 1.00)",
        "  4 measurements, 1 runs per measurement, 1 thread",
    ]


def test_measurements_of_one_task_are_merged_and_pickled():
    one, other = measured([1.0], number=2), measured([3.0], number=2)
    (merged,) = Measurement.merge([one, other])
    assert merged.times == [0.5, 1.5]
    assert pickle.loads(pickle.dumps(one)).times == [0.5]


def test_a_table_has_a_column_for_each_description():
    table = Compare(
        [
            measured([1e-3 * number], label="L", sub_label=row, description=column)
            for number, (row, column) in enumerate(
                ((row, column) for row in ("s1", "s2 long") for column in ("torch", "mine")), 1
            )
        ]
    )
    assert str(table).split("\n") == [
        "[------------- L --------------]",
        "               |  torch  |  mine",
        "1 threads: ---------------------",
        "      s1       |   1.0   |  2.0 ",
        "      s2 long  |   3.0   |  4.0 ",
        "",
        "Times are in milliseconds (ms).",
        "",
    ]


def test_what_cannot_be_timed_is_refused():
    with pytest.raises(ValueError, match="only a `str` stmt"):
        Timer(print)
    with pytest.raises(NotImplementedError, match="only statements of Python"):
        Timer("x", language="cpp")
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([1])
