"""The model of docs/scaling.md: costs of collectives, overlap, and a fit that finds them again."""

from __future__ import annotations

import sys

import pytest

from process_runs import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import scaling_model as model

LINK = model.Link("test", 1e-5, 1e-9)


def test_an_all_reduce_is_messages_of_a_tree_and_bytes_of_a_ring():
    assert LINK.all_reduce(1e6, 1) == 0
    assert LINK.all_reduce(1e6, 2) == pytest.approx(2e-5 + 1e-3)
    assert LINK.all_reduce(1e6, 1024) == pytest.approx(20 * 1e-5 + 2 * 1023 / 1024 * 1e-3)


def test_a_fit_finds_the_costs():
    times = {size: LINK.all_reduce(size, 2) for size in (4, 1 << 20, 25_000_000)}
    found = model.fitted(times, 2, "found")
    assert found.alpha == pytest.approx(LINK.alpha, rel=1e-3)
    assert found.beta == pytest.approx(LINK.beta, rel=1e-3)


def test_what_is_sent_during_the_backward_pass_costs_less():
    step = model.Step("test", 0.1, 0.2, 0.01, 100_000_000)  # four buckets
    alone = 0.31
    sent = LINK.all_reduce(25_000_000, 2)
    late = model.predicted(step, LINK, 2, None, False)
    early = model.predicted(step, LINK, 2, None, True)
    assert late == pytest.approx(alone + 4 * sent)
    assert early == pytest.approx(alone + sent)  # each bucket is there before the next is ready


def test_processes_that_share_cores_take_longer():
    step = model.Step("test", 0.1, 0.2, 0.01, 0)
    assert model.predicted(step, LINK, 4, 2, True) == pytest.approx(0.62, rel=1e-3)


def test_the_page_has_a_row_for_each_model():
    text = (ROOT / "docs" / "scaling.md").read_text()
    assert all(text.count(f"| {name} |") >= 6 for name in model.MODELS)
