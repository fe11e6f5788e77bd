"""The leak report: graphs of earlier steps, who holds them, since which line."""

from __future__ import annotations

import gc

import pytest

import taper
from taper import nn, viz
from taper.autograd.state import local


@pytest.fixture(autouse=True)
def fresh():
    """Begin each test as if no pass had run, with nothing left over."""
    gc.collect()
    local.state.earlier_pass = local.state.last_pass = None


def steps(count, keep):
    model = nn.Linear(100, 1)
    for step in range(count):
        loss = model(taper.ones(10, 100)).exp().mean()  # the forward
        loss.backward()
        keep(step, loss, model)


def test_a_sum_of_losses_is_a_leak():
    total = taper.zeros(())

    def add(step, loss, model):
        nonlocal total
        total = total + loss

    steps(4, add)
    report = viz.leaks()
    assert [leak.holder for leak in report] == [
        "the variable `total` in test_a_sum_of_losses_is_a_leak"
    ]
    (leak,) = report
    assert (leak.tensors, leak.bytes) == (1, 0)  # backward has freed what was saved
    assert leak.nodes == 4 * 5
    assert leak.since.endswith("# the forward")
    assert str(report).startswith(
        "Graphs of earlier steps are still alive, held by\n- the variable"
    )
    assert "loss.item()" in str(report)


def test_lists_and_attributes_are_named():
    class Trainer:
        best = None

    kept, trainer = [], Trainer()

    def keep(step, loss, model):
        kept.append(model(taper.ones(10, 100)).exp())  # never differentiated
        if step == 0:
            trainer.best = loss

    steps(5, keep)
    report = {leak.holder: leak for leak in viz.leaks()}
    assert set(report) == {"the list `kept`", "the attribute `best` of a Trainer"}
    leak = report["the list `kept`"]
    assert leak.tensors == 3  # the last two are of this step
    assert leak.bytes >= 3 * 10 * 100 * 4  # the inputs of the layers
    assert leak.since.endswith("# never differentiated")


def test_without_a_leak():
    losses = []
    assert "fewer than two backward passes" in str(viz.leaks())
    steps(3, lambda step, loss, model: losses.append(loss.item()))
    report = viz.leaks()
    assert not report
    assert len(report) == 0
    assert str(report) == "No graph of an earlier step is alive."
    assert report._repr_html_().startswith("<pre")


def test_the_graph_of_the_present_step_is_none():
    last = []

    def keep(step, loss, model):
        last[:] = [loss]

    steps(3, keep)
    assert not viz.leaks()


def test_the_report_keeps_nothing_alive():
    kept = []
    steps(3, lambda step, loss, model: kept.append(loss))
    report = viz.leaks()
    assert report
    kept.clear()
    assert not viz.leaks()
