"""The page of a graph: one HTML file with everything in it, which opens from disk.

Owns the assembling of style, scripts and data.  The files beside this one are the page's readable
sources; `data.py` says what they are given.
"""

from __future__ import annotations

import functools
import json
import webbrowser
from collections.abc import Iterable
from html import escape
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from taper.files.atomic import replacing
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.viz.condensing import read_condensed
from taper.viz.page.data import MOST_NODES, facts_of, page_data
from taper.viz.reading import collected, names_around
from taper.viz.records import Graph

__all__ = ["Page", "page_of", "show"]

_SCRIPTS = ("layout.js", "folding.js", "scene.js", "view.js", "panel.js", "player.js", "main.js")


class Page:
    """A page that shows a graph; a notebook shows it inline, `save` writes it.

    Attributes:
        html: the text of the whole file.
        graph: the graph as data.

    >>> import taper
    >>> w = taper.ones(3, requires_grad=True)
    >>> page = taper.viz.show((w * w).sum())
    >>> page.html.startswith("<!doctype html>"), page.graph
    (True, <Graph of 2 nodes, 1 leaves and 3 edges>)
    """

    def __init__(self, html: str, graph: Graph) -> None:
        self.html = html
        self.graph = graph

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(self.html.encode())
        return path

    def _repr_html_(self) -> str:
        # A frame of its own: the page's style and scripts do not meet the notebook's.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="autograd graph" '
            'style="width:100%;height:560px;border:1px solid #8884;border-radius:6px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page of {self.graph!r}, {len(self.html) / 1e3:.0f} kB>"


def show(
    root: Tensor | Iterable[Tensor] | Graph,
    model: Module | None = None,
    output: str | PathLike[str] | None = None,
    *,
    tape: Any = None,
    title: str | None = None,
    open: bool = False,
) -> Page:
    """Show the graph of a result as a page to look around in: zoom, search, fold, play.

    In a notebook the page appears inline.  Modules are folded in graphs of more than 60 nodes;
    views are part of the lines they are on.  A click on a box shows its formula, line, shapes and
    saved tensors.  In a graph of more than 20,000 nodes one box stands for all nodes that a line
    recorded.

    Args:
        root: a tensor, several, or a graph that was read before: a backward pass frees what its
            graph has saved, so read the graph first to see both that and the tape.
        model: gives modules and parameters their names.
        output: the file to write, usually `something.html`; None writes none.
        tape: what `debug_backward` recorded, to be played over the graph.
        title: the title; by default the name of the result.
        open: open the written file in a browser.

    Returns: the `Page`.

    >>> import taper
    >>> from taper import nn, viz
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> page = viz.show(model(taper.ones(2, 4)).sum(), model)
    >>> page.graph
    <Graph of 4 nodes, 2 leaves and 5 edges>

    Play a backward pass over the graph:

    >>> loss = model(taper.ones(2, 4)).sum()
    >>> graph = viz.graph(loss, model)
    >>> with viz.debug_backward() as tape:
    ...     loss.backward()
    >>> page = viz.show(graph, tape=tape)
    """
    counts = None
    if isinstance(root, Graph):
        graph = root
    else:
        with collected(root, model, names_around()) as reader:
            large = len(reader.nodes) > MOST_NODES
            graph, counts = read_condensed(reader) if large else (reader.graph(), None)
    page = page_of(graph, tape, title, counts)
    if output is not None:
        path = page.save(output)
        if open:
            webbrowser.open(path.resolve().as_uri())
    return page


def page_of(
    graph: Graph, tape: Any = None, title: str | None = None, counts: list[int] | None = None
) -> Page:
    """Return the page of a graph that was read before; `counts` says what each node stands for."""
    if title is None:
        names = [each.name for each in graph.outputs if each.name]
        title = "Graph of " + ", ".join(names) if names else "Autograd graph"
    data = json.dumps(page_data(graph, _tape_data(tape, graph), counts), separators=(",", ":"))
    parts = {
        "css": _asset("page.css"),
        "script": "\n".join(_asset(name) for name in _SCRIPTS),
        # Within a script element only `<` could end it; the other two end lines in old browsers.
        "data": data.replace("<", "\\u003c"),
        "title": escape(title),
        "facts": escape(facts_of(graph, counts)),
    }
    pieces = _asset("page.html").split("@")
    html = "".join(parts.get(piece, piece) for piece in pieces)
    return Page(html, graph)


def _tape_data(tape: Any, graph: Graph) -> Any:
    """Return the steps of the last pass of a tape that went through the graph."""
    if tape is None:
        return None
    names = [*(each.name for each in graph.nodes), *["AccumulateGrad"] * len(graph.leaves)]
    data = tape.to_json() if hasattr(tape, "to_json") else tape
    steps = [
        each
        for each in data["steps"]
        if each["node"] is not None
        and 0 <= each["node"] < len(names)
        and each.get("name", names[each["node"]]) == names[each["node"]]
    ]
    last = steps[-1].get("pass") if steps else None
    return {"steps": [each for each in steps if each.get("pass") == last]}


@functools.cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
