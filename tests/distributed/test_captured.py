"""Captured functions in which processes work together run eagerly, and say why."""

from __future__ import annotations

from pathlib import Path

from process_runs import by_hand

CAPTURED = Path(__file__).resolve().parent / "captured.py"


def test_captured_steps_of_several_processes_are_the_eager_ones():
    results = by_hand(CAPTURED, 2)
    assert all(code == 0 and "the same" in output for code, output in results), results
