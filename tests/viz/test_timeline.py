"""The memory timeline: the curve is what tracemalloc sees, and the peak has owners."""

from __future__ import annotations

import gc
import tracemalloc
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import taper
from taper import nn, viz


def numpy_bytes():
    """Return how much memory NumPy's arrays have, as tracemalloc sees it."""
    gc.collect()
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    return sum(each.size for each in tracemalloc.take_snapshot().filter_traces([arrays]).traces)


@pytest.fixture
def trained():
    taper.manual_seed(0)
    model = nn.Sequential(nn.Linear(50, 60), nn.Tanh(), nn.Dropout(0.5), nn.Linear(60, 4))
    return model, taper.optim.Adam(model.parameters()), taper.randn(200, 50)


def test_the_curve_is_what_really_lives(trained):
    model, _, x = trained
    measured = []

    def step():
        loss = model(x).square().mean()
        taper.ones(1).exp()  # a moment at which the line before has dropped what it dropped
        measured.append(numpy_bytes())
        loss.backward()
        del loss
        measured.append(numpy_bytes())

    tracemalloc.start()
    try:
        step()
        model.zero_grad()
        measured.clear()
        before = numpy_bytes()
        timeline = viz.memory_timeline(step)
    finally:
        tracemalloc.stop()
    live = [event.live - timeline.events[0].live for event in timeline.events]
    forward = [nr for nr, event in enumerate(timeline.events) if event.phase == "forward"][-1]
    found = live[forward], live[-1]
    wanted = measured[0] - before, measured[1] - before
    assert found == pytest.approx(wanted, abs=64)


def test_the_peak_has_owners_and_phases(trained):
    model, optimizer, x = trained

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()  # the line
        optimizer.step()

    timeline = viz.memory_timeline(step)
    phases = list(dict.fromkeys(event.phase for event in timeline.events))
    assert phases == ["forward", "backward", "optimizer"]
    assert timeline.peak == max(event.live for event in timeline.events)
    assert sum(owner.bytes for owner in timeline.owners) == timeline.peak
    kinds = {owner.kind for owner in timeline.owners}
    assert {"parameter", "activation", "saved", "from before"} <= kinds
    tanh = next(owner for owner in timeline.owners if owner.what == "tanh")
    assert (tanh.kind, tanh.module, tanh.bytes) == ("activation", "1 Tanh", 200 * 60 * 4)
    assert tanh.line.startswith(__file__)
    assert timeline.events[-2].label == "Adam"
    assert timeline.events[-1].live > timeline.events[0].live  # gradients and the optimizer's state
    text = str(timeline)
    assert f"{len(timeline.events)} moments" in text
    assert "The peak is " in text


def test_the_picture_is_an_svg(trained, tmp_path):
    model, _, x = trained
    model.add_module("<script>", nn.Linear(4, 300))
    timeline = viz.memory_timeline(lambda: model(x).sum())
    svg = timeline.svg()
    ElementTree.fromstring(svg)
    assert "What lived at the peak" in svg
    assert "<script>" not in svg
    assert "&lt;script&gt;" in svg
    timeline.save(tmp_path / "timeline.svg")
    assert (tmp_path / "timeline.svg").read_text() == svg == timeline._repr_svg_()
    assert timeline._repr_html_().startswith("<svg ")


def test_the_watching_ends():
    x = taper.ones(3, requires_grad=True)
    with viz.debug_backward() as tape:
        with pytest.raises(ZeroDivisionError):
            viz.memory_timeline(lambda: 1 / 0)
        viz.memory_timeline(lambda: x.exp().sum().backward())
        x.sum().backward()
    assert [step.name for step in tape] == [
        *["SumBackward0", "ExpBackward0", "AccumulateGrad", "SumBackward0", "AccumulateGrad"]
    ]
    assert len(viz.memory_timeline(lambda: None).events) == 2
    with pytest.raises(TypeError, match="expected a function without arguments, got int"):
        viz.memory_timeline(3)
