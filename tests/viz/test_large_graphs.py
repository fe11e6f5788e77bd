"""Graphs that are too large for a picture: folded, with the sums of all nodes, or a clear word."""

from __future__ import annotations

import json
import re
import time

import pytest

import taper
from taper import nn, viz

pytestmark = pytest.mark.taper_only


def chain(length: int) -> taper.Tensor:
    h = taper.ones(1, requires_grad=True)
    for _ in range(length // 2):
        h = h * 1.0
        h = h.sin()
    return h


def data_of(page: viz.Page) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page.html).group(1))


def test_one_box_for_each_line_with_the_memory_of_all() -> None:
    page = viz.show(chain(30_000))
    assert "30,000 nodes" in page.html
    assert len(page.html) < 200_000
    data = data_of(page)
    assert [(node["name"], node["count"]) for node in data["nodes"]] == [
        ("MulBackward0", 15_000),
        ("SinBackward0", 15_000),
    ]
    assert page.graph.saved_bytes == 15_000 * 4  # sin keeps what it was given
    assert [(edge.source, edge.target) for edge in page.graph.edges] == [(2, 0), (1, 0), (0, 1)]
    assert page.graph.leaves[0].id == 2
    assert page.graph.outputs[0].source == 1


def test_a_graph_that_was_read_before_gives_the_same_page() -> None:
    h = chain(30_000)
    assert data_of(viz.show(viz.graph(h), title="x"))["nodes"] == data_of(viz.show(h))["nodes"]
    assert data_of(viz.show(viz.graph(h)))["storages"] == data_of(viz.show(h))["storages"]


def test_modules_stay_apart() -> None:
    model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(3)))
    h = taper.ones(1, 1)
    for _ in range(4_000):
        h = model(h)
    graph = viz.show(h.sum(), model).graph
    assert {str(node.module) for node in graph} == {"0 Linear", "1 Linear", "2 Linear", "None"}
    assert sorted(leaf.name for leaf in graph.leaves) == [
        f"{nr}.{name}" for nr in range(3) for name in ("bias", "weight")
    ]


def test_the_time_grows_with_the_nodes_only() -> None:
    h = chain(200_000)
    start = time.process_time()
    viz.show(h)
    assert time.process_time() - start < 20  # 1.5 s on an idle machine


def test_a_picture_of_too_many_boxes_is_refused_with_a_sentence() -> None:
    dot = viz.make_dot(chain(60_000))
    with pytest.raises(RuntimeError, match="60,003 boxes could not be read: taper.viz.show folds"):
        dot.svg()
    assert dot._repr_mimebundle_() == {}
    assert dot.source.startswith("digraph")
