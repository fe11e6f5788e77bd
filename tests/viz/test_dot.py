"""make_dot and the object it returns: labels, DOT text, files."""

from __future__ import annotations

import gc
import os
import re
import stat
import weakref
import webbrowser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from taper.viz import Dot, make_dot, make_dot_from_trace
from taper.viz.svg import Arrow, Box
from viz.fakes import FakeTensor, chain, leaf, node

_STRING = r'"(?:[^"\\]|\\.)*"'
_ATTRIBUTE = rf"\w+={_STRING}"
_STATEMENT = re.compile(
    rf"\t(?:(?P<kind>graph|node|edge)|n(?P<tail>\d+)(?: -> n(?P<head>\d+))?)"
    rf"(?: \[(?P<attributes>{_ATTRIBUTE}(?: {_ATTRIBUTE})*)\])?"
)


def parsed(source: str) -> tuple[dict[int, dict[str, str]], list[tuple[int, int, dict[str, str]]]]:
    """Return boxes and arrows of a DOT text; fail on anything outside the part that we use."""
    lines = source.split("\n")
    assert lines[0] == "digraph {"
    assert lines[-2:] == ["}", ""]
    boxes: dict[int, dict[str, str]] = {}
    arrows: list[tuple[int, int, dict[str, str]]] = []
    for line in lines[1:-2]:
        statement = _STATEMENT.fullmatch(line)
        assert statement is not None, line
        found = re.findall(rf"(\w+)=({_STRING})", statement["attributes"] or "")
        attributes = {
            name: re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value[1:-1])
            for name, value in found
        }
        if statement["head"]:
            arrows.append((int(statement["tail"]), int(statement["head"]), attributes))
        elif statement["tail"]:
            boxes[int(statement["tail"])] = attributes
    return boxes, arrows


def example() -> tuple[FakeTensor, dict[str, FakeTensor]]:
    x, accumulator = leaf(3)
    operation = node("PowBackward0", accumulator, _saved_self=x, _saved_exponent=2)
    operation._saved_result = FakeTensor(3, grad_fn=operation)
    return FakeTensor(3, grad_fn=operation), {"x": x}


def fills(dot: Dot) -> dict[str, str]:
    boxes, _ = parsed(dot.source)
    return {box["label"]: box["fillcolor"] for box in boxes.values()}


def test_labels_and_colours() -> None:
    output, names = example()
    assert fills(make_dot(output, names)) == {
        "\n (3)": "darkolivegreen1",
        "PowBackward0": "lightgrey",
        "AccumulateGrad": "lightgrey",
        "x\n (3)": "lightblue",
    }
    assert fills(make_dot(FakeTensor(), {})) == {"\n ()": "darkolivegreen1"}


def test_saved_tensors_and_views_in_the_text() -> None:
    output, names = example()
    view = FakeTensor(3, 1, grad_fn=node("ViewBackward0", output.grad_fn), base=output)
    dot = make_dot(view, names, show_saved=True)
    assert fills(dot)["result\n (3)"] == "orange"
    assert fills(dot)["\n (3)"] == "darkolivegreen3"
    boxes, arrows = parsed(dot.source)
    styles = [
        (boxes[tail]["label"], boxes[head]["label"], attributes)
        for tail, head, attributes in arrows
        if attributes
    ]
    assert styles == [
        ("\n (3)", "\n (3, 1)", {"style": "dotted"}),
        ("PowBackward0", "result\n (3)", {"dir": "none"}),
        ("x\n (3)", "PowBackward0", {"dir": "none"}),
    ]


def test_attributes_as_a_table() -> None:
    output, names = example()
    output.grad_fn._saved_indices = (None, FakeTensor(1))
    table = next(label for label in fills(make_dot(output, names, show_attrs=True)) if "-" in label)
    assert table == (
        "PowBackward0\n"
        "-------------------------\n"
        "exponent:               2\n"
        "indices : [saved tensors]\n"
        "result  :  [saved tensor]\n"
        "self    :  [saved tensor]"
    )


@pytest.mark.parametrize(
    ("limit", "shown"), [(50, "(1, 2, 3)"), (9, "(1, 2, 3)"), (8, "(1, 2..."), (0, "...")]
)
def test_long_attributes_are_cut(limit: int, shown: str) -> None:
    output = FakeTensor(1, grad_fn=node("S", _saved_sizes=(1, 2, 3)))
    dot = make_dot(output, show_attrs=True, max_attr_chars=limit)
    assert dot.boxes[1].rows == (("sizes", shown),)


def test_any_name_gives_valid_text_in_both_languages() -> None:
    names = ['"', "\\", "a\\nb", "<b>", "]", "\x00", "\ud800", "权重", "two\nlines", "{|}"]
    tensors = [FakeTensor(index) for index in range(len(names))]
    dot = make_dot(tuple(tensors), dict(zip(names, tensors, strict=True)))
    expected = [*names[:5], r"\x00", r"\ud800", "权重", "two\n lines", "{|}"]
    assert list(fills(dot)) == [f"{name}\n ({index})" for index, name in enumerate(expected)]
    dot.source.encode()
    assert len(list(ElementTree.fromstring(dot.svg()).iter())) > len(names)


def test_equal_graphs_have_equal_text() -> None:
    sources = set()
    for _ in range(3):
        output, names = example()
        dot = make_dot(output, names, show_saved=True, show_attrs=True)
        sources.add((dot.source, dot.svg()))
    assert len(sources) == 1


def test_a_picture_keeps_no_tensor_alive() -> None:
    output, names = example()
    alive = weakref.ref(output)
    dot = make_dot(output, names, show_saved=True, show_attrs=True)
    del output, names
    gc.collect()
    assert alive() is None
    assert repr(dot) == "<Dot of 5 boxes and 5 arrows>"
    assert str(dot) == dot.source


def test_errors_of_make_dot() -> None:
    output, _ = example()
    with pytest.raises(TypeError, match="^expected a tensor or a tuple of tensors, got int$"):
        make_dot(5)
    with pytest.raises(
        AssertionError, match="^make_dot: expected a tensor for parameter 'x', got int$"
    ):
        make_dot(output, params={"x": 3})
    for params in (5, [output], [(output, output)]):
        with pytest.raises(TypeError, match=r"^make_dot: expected a dict or an iterable of \(name"):
            make_dot(output, params=params)
    with pytest.raises(NotImplementedError, match=r"Use make_dot on a result instead\.$"):
        make_dot_from_trace(object())


def test_attribute_dicts_are_heeded() -> None:
    output, names = example()
    dot = make_dot(output, names)
    plain = ElementTree.fromstring(dot.svg())
    dot.graph_attr.update(rankdir="LR", size="1,1")
    dot.node_attr["fontsize"] = "20"
    dot.edge_attr["color"] = 'a "b"'
    assert 'graph [rankdir="LR" size="1,1"]' in dot.source
    assert 'edge [color="a \\"b\\""]' in dot.source
    changed = ElementTree.fromstring(dot.svg())
    assert float(plain.get("width", "")) < float(plain.get("height", ""))
    assert float(changed.get("width", "")) == 96
    assert float(changed.get("height", "")) < 96


def test_render_writes_text_and_picture(tmp_path: Path) -> None:
    output, names = example()
    dot = make_dot(output, names)
    path = dot.render(tmp_path / "deep" / "net", format="svg")
    assert path == str(tmp_path / "deep" / "net.svg")
    assert Path(path).read_text("utf-8") == dot.svg()
    assert (tmp_path / "deep" / "net").read_text("utf-8") == dot.source
    assert sorted(os.listdir(tmp_path / "deep")) == ["net", "net.svg"]


def test_render_defaults_and_cleanup(tmp_path: Path) -> None:
    dot = Dot([Box(("a",), "white")], [])
    assert dot.format == "svg"
    assert dot.render(directory=str(tmp_path), cleanup=True) == str(tmp_path / "Digraph.gv.svg")
    assert os.listdir(tmp_path) == ["Digraph.gv.svg"]
    dot.format = "gv"
    assert dot.render("x") == str(tmp_path / "x.gv")
    assert (tmp_path / "x.gv").read_text() == (tmp_path / "x").read_text() == dot.source


def test_cleanup_removes_nothing_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "net").write_text("mine")
    Dot([Box(("a",), "white")], []).render(tmp_path / "net", cleanup=True)
    assert (tmp_path / "net").read_text() == "mine"


def test_files_are_as_readable_as_others(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    path = Dot([], []).save(tmp_path / "mine")
    modes = [stat.S_IMODE(os.stat(name).st_mode) for name in (path, tmp_path / "other")]
    assert modes[0] == modes[1]


def test_a_failing_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "net.gv"
    target.write_text("old")

    def refuse(source: object, destination: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="^disk full$"):
        Dot([], []).save(target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["net.gv"]


def test_other_formats_need_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(
        RuntimeError, match="^format 'png' needs graphviz's program 'dot', which is"
    ):
        Dot([], []).render(tmp_path / "net", format="png")
    assert os.listdir(tmp_path) == []
    for unknown in ("", "../x", "a b"):
        with pytest.raises(ValueError, match=re.escape(f"unknown format: {unknown!r}")):
            Dot([], []).pipe(unknown)


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for graphviz is a shell script")
def test_other_formats_are_written_by_graphviz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dot"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = -Tbad ]; then echo "no such format" >&2; exit 1; fi\n'
        'echo "$1"\nexec /bin/cat\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    dot = Dot([Box(("a",), "white")], [])
    path = dot.render(tmp_path / "net", format="PNG", cleanup=True)
    assert path == str(tmp_path / "net.png")
    assert Path(path).read_text() == f"-Tpng\n{dot.source}"
    with pytest.raises(
        RuntimeError, match="^graphviz could not write format 'bad': no such format$"
    ):
        dot.render(tmp_path / "other", format="bad")
    assert sorted(os.listdir(tmp_path)) == ["dot", "net.png"]


def test_view_opens_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = Dot([], []).view(tmp_path / "net", cleanup=True)
    assert opened == [Path(path).as_uri()]


def test_notebooks_get_the_picture() -> None:
    dot = Dot([Box(("a",), "white"), Box(("b",), "white")], [Arrow(0, 1)])
    assert dot._repr_svg_() == dot.svg()
    assert dot._repr_mimebundle_() == {"image/svg+xml": dot.svg()}
    assert dot._repr_mimebundle_(include={"text/plain"}) == {}
    assert dot._repr_mimebundle_(exclude={"image/svg+xml"}) == {}


def test_long_chain_is_drawn() -> None:
    dot = make_dot(chain(2_000))
    assert repr(dot) == "<Dot of 2003 boxes and 2002 arrows>"
    boxes, arrows = parsed(dot.source)
    assert (len(boxes), len(arrows)) == (2003, 2002)
    assert dot.svg().count("<rect") == 2004
