"""The SVG text: well-formed, escaped, sized to its texts, drawn as the legend says."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from taper.viz.layout import place
from taper.viz.svg import Arrow, Box, box_size, draw, printable, text_width

NAMESPACE = "{http://www.w3.org/2000/svg}"
FONT_SIZE = 13.0


def drawn(
    boxes: list[Box],
    arrows: list[Arrow],
    *,
    horizontal: bool = False,
    max_size: tuple[float, float] | None = None,
    title: str = "A <graph> & its title",
) -> ElementTree.Element:
    layout = place(
        [box_size(box, FONT_SIZE) for box in boxes],
        [(arrow.tail, arrow.head) for arrow in arrows],
        horizontal=horizontal,
    )
    text = draw(boxes, arrows, layout, title=title, font_size=FONT_SIZE, max_size=max_size)
    return ElementTree.fromstring(text)


def frames(picture: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """Return left, top, right, bottom of each box."""
    result = []
    for rect in picture.iter(f"{NAMESPACE}rect"):
        if "x" in rect.attrib:
            x, y, width, height = (float(rect.get(n, "")) for n in ("x", "y", "width", "height"))
            result.append((x, y, x + width, y + height))
    return result


def texts(picture: ElementTree.Element) -> list[str | None]:
    return [element.text for element in picture.iter(f"{NAMESPACE}text")]


def paths(picture: ElementTree.Element) -> list[str]:
    return [element.get("d", "") for element in picture.iter(f"{NAMESPACE}path")]


def test_picture_says_what_it_is() -> None:
    picture = drawn([Box(("a",), "white")], [])
    assert picture.tag == f"{NAMESPACE}svg"
    assert picture.get("role") == "img"
    assert picture[0].tag == f"{NAMESPACE}title"
    assert picture[0].text == "A <graph> & its title"
    width, height = picture.get("width"), picture.get("height")
    assert picture.get("viewBox") == f"0 0 {width} {height}"


def test_several_pictures_fit_in_one_page() -> None:
    picture = drawn([Box(("a",), "white"), Box(("b",), "white")], [Arrow(0, 1)])
    assert not any("id" in element.attrib for element in picture.iter())
    assert not list(picture.iter(f"{NAMESPACE}style"))


def test_text_is_escaped_and_complete() -> None:
    lines = ("<b>&\"'", "(3, 1)")
    picture = drawn([Box(lines, "white", (("<name>", "1 < 2"),)), Box(("", "()"), "white")], [])
    assert texts(picture) == ["<b>&\"'", "(3, 1)", "<name>", "1 < 2", "()"]


def test_printable_writes_escapes() -> None:
    assert printable("x\n1") == "x\n1"
    assert printable("a\x00\x1b\t\ud800\u202e") == r"a\x00\x1b\t\ud800" + r"\u202e"
    assert printable("权重 é") == "权重 é"


def test_colours_are_those_of_the_legend() -> None:
    fills = ["lightgrey", "lightblue", "orange", "darkolivegreen1", "darkolivegreen3"]
    picture = drawn([Box((fill,), fill) for fill in fills], [])
    rects = [rect for rect in picture.iter(f"{NAMESPACE}rect") if "x" in rect.attrib]
    assert [rect.get("fill") for rect in rects] == [
        *("lightgrey", "lightblue", "orange"),
        *("#caff70", "#a2cd5a"),
    ]


def test_boxes_hold_their_texts_and_do_not_overlap() -> None:
    boxes = [
        Box(("AddmmBackward0",), "lightgrey", (("alpha", "1"), ("mat1_sym_sizes", "(4, 16)"))),
        Box(("a very long name of a parameter indeed", "(1,)"), "lightblue"),
        Box(("x",), "orange"),
        Box(("",), "orange"),
    ]
    picture = drawn(boxes, [Arrow(1, 0), Arrow(2, 0), Arrow(3, 0)])
    found = frames(picture)
    for one, other in combinations(found, 2):
        assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
    groups = [g for g in picture.iter(f"{NAMESPACE}g") if g.find(f"{NAMESPACE}text") is not None]
    assert len(groups) == 3  # the boxes that have a text
    for (left, top, right, bottom), group in zip(found, groups, strict=False):
        for text in group.iter(f"{NAMESPACE}text"):
            x, y = float(text.get("x", "")), float(text.get("y", ""))
            width = text_width(text.text or "", FONT_SIZE)
            shift = {"start": 0.0, "end": 1.0}.get(text.get("text-anchor", ""), 0.5) * width
            assert left <= x - shift
            assert x - shift + width <= right
            assert top + 0.7 * FONT_SIZE <= y <= bottom - 0.2 * FONT_SIZE


def test_table_cells_do_not_touch() -> None:
    box = Box(("N",), "lightgrey", (("a" * 20, "b" * 20),))
    assert box_size(box, FONT_SIZE)[0] > text_width("a" * 41, FONT_SIZE)


def test_wide_characters_take_two_places() -> None:
    assert text_width("权重", 10) == pytest.approx(text_width("abcd", 10))
    assert text_width("e\u0301", 10) == pytest.approx(text_width("e", 10))


@pytest.mark.parametrize("horizontal", [False, True])
def test_arrow_heads_touch_the_box_they_point_to(horizontal: bool) -> None:
    boxes = [Box((name,), "white") for name in ("first", "second", "third")]
    picture = drawn(boxes, [Arrow(0, 2), Arrow(1, 2)], horizontal=horizontal)
    left, top, right, bottom = frames(picture)[2]
    heads = [
        re.match(r"M(\S+) (\S+)L", element.get("d", ""))
        for element in picture.iter(f"{NAMESPACE}path")
        if element.get("fill")
    ]
    assert len(heads) == 2
    for head in heads:
        assert head is not None
        x, y = float(head[1]), float(head[2])
        if horizontal:
            assert x == pytest.approx(left, abs=0.11)
            assert top < y < bottom
        else:
            assert y == pytest.approx(top, abs=0.11)
            assert left < x < right


def test_lines_without_head_and_dotted_lines() -> None:
    boxes = [Box((name,), "white") for name in "abc"]
    picture = drawn(boxes, [Arrow(0, 1, directed=False), Arrow(1, 2, dotted=True)])
    assert len(paths(picture)) == 3
    dashed = [e for e in picture.iter(f"{NAMESPACE}path") if e.get("stroke-dasharray")]
    assert len(dashed) == 1


def test_edge_against_the_flow_has_its_head_at_its_end() -> None:
    boxes = [Box((name,), "white") for name in "abc"]
    picture = drawn(boxes, [Arrow(0, 1), Arrow(1, 2), Arrow(2, 0)])
    bottom_of_first = frames(picture)[0][3]
    tip = re.match(r"M(\S+) (\S+)L\S+ (\S+)L", paths(picture)[-1])
    assert tip is not None
    assert float(tip[2]) == pytest.approx(bottom_of_first, abs=0.11)
    assert float(tip[3]) > bottom_of_first


def test_loop_is_left_out() -> None:
    assert paths(drawn([Box(("a",), "white")], [Arrow(0, 0)])) == []


def test_size_limit_scales_the_picture_but_not_its_coordinates() -> None:
    boxes = [Box((str(index),), "white") for index in range(50)]
    arrows = [Arrow(index, index + 1) for index in range(49)]
    natural, limited = drawn(boxes, arrows), drawn(boxes, arrows, max_size=(400, 300))
    assert limited.get("viewBox") == natural.get("viewBox")
    assert limited.get("height") == "300"
    assert float(natural.get("height", "")) > 2_000
    small = drawn(boxes[:1], [], max_size=(400, 300))
    assert float(small.get("height", "")) < 60
