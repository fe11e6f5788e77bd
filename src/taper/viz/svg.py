"""A laid-out graph as the text of a standalone SVG picture.

Owns what boxes and arrows look like and how large a text is.  Must not know where boxes come from
or how they are placed.  The picture has no ids, no style sheet and no script, so that several of
them can stand in one page without disturbing each other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from taper.viz.layout import Layout, Point

__all__ = ["Arrow", "Box", "box_size", "draw", "printable"]

# X11 names that are no CSS names, but that graphviz knows.
_COLOURS = {"darkolivegreen1": "#caff70", "darkolivegreen3": "#a2cd5a"}
_FONTS = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
_ADVANCE = 0.61  # width of a character of these fonts, in font sizes (0.60 and some room)
_LINE_HEIGHT = 1.3
_BASELINE = 0.97  # from the top of a line to its baseline
_PADDING = 7.0
_COLUMN_GAP = 14.0
_MARGIN = 8.0
_ARROW_LENGTH = 8.0
_ARROW_HALF_WIDTH = 3.5
_ARROW_STEM = 3.0  # straight piece before the head


@dataclass(frozen=True, slots=True)
class Box:
    """Centred lines of text above a table of names and values; `fill` is a colour name."""

    lines: tuple[str, ...]
    fill: str
    rows: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line between two boxes, by index; with a head at its end if `directed`."""

    tail: int
    head: int
    directed: bool = True
    dotted: bool = False


def printable(text: str) -> str:
    """Return the text with what cannot be shown or stored as escapes; line ends are kept."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character == "\n" or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )


def text_width(text: str, font_size: float) -> float:
    """Return the width of one line of text; East Asian characters take two places."""
    if text.isascii():
        return len(text) * _ADVANCE * font_size
    columns = 0
    for character in text:
        if not unicodedata.combining(character):
            columns += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return columns * _ADVANCE * font_size


def box_size(box: Box, font_size: float) -> Point:
    """Return the width and height that the box's text needs."""
    width = max((text_width(line, font_size) for line in box.lines), default=0.0)
    count = sum(1 for line in box.lines if line) + len(box.rows)
    height = max(count, 1) * _LINE_HEIGHT * font_size
    if box.rows:
        columns = zip(*box.rows, strict=True)
        needed = [max(text_width(cell, font_size) for cell in column) for column in columns]
        width = max(width, sum(needed) + _COLUMN_GAP)
        height += _PADDING
    return round(width + 2 * _PADDING, 1), round(height + _PADDING, 1)


def draw(
    boxes: Sequence[Box],
    arrows: Sequence[Arrow],
    layout: Layout,
    *,
    title: str,
    font_size: float = 13.0,
    font: str = "monospace",
    max_size: Point | None = None,
) -> str:
    """Return the picture on white; `max_size` in pixels makes it smaller, never larger."""
    width = round(layout.width + 2 * _MARGIN, 1)
    height = round(layout.height + 2 * _MARGIN, 1)
    scale = 1.0
    if max_size is not None:
        scale = min(1.0, max_size[0] / width, max_size[1] / height)
    fonts = _FONTS if font == "monospace" else f"{font}, {_FONTS}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_number(width * scale)}"'
        f' height="{_number(height * scale)}" viewBox="0 0 {_number(width)} {_number(height)}">',
        f"<title>{escape(printable(title))}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<g transform="translate({_number(_MARGIN)} {_number(_MARGIN)})">',
        '<g fill="none" stroke="#333" stroke-width="1">',
        *(_line(arrow, route, layout) for arrow, route in zip(arrows, layout.routes, strict=True)),
        "</g>",
        f'<g font-family="{escape(fonts)}" font-size="{_number(font_size)}"'
        ' text-anchor="middle" fill="#111">',
        *(_box(box, centre, font_size) for box, centre in zip(boxes, layout.centres, strict=True)),
        "</g>",
        "</g>",
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _pair(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _line(arrow: Arrow, route: list[Point], layout: Layout) -> str:
    if len(route) < 2:
        return ""
    points = [(y, x) for x, y in route] if layout.horizontal else route
    head = ""

    def pair(x: float, y: float) -> str:
        return _pair(y, x) if layout.horizontal else _pair(x, y)

    if arrow.directed:
        tip = points[-1]
        points = _make_room_for_head(points)
        base = points[-1][1]
        left, right = (tip[0] - _ARROW_HALF_WIDTH, base), (tip[0] + _ARROW_HALF_WIDTH, base)
        head = f'<path d="M{pair(*tip)}L{pair(*left)}L{pair(*right)}Z" fill="#333"/>'
    steps = [f"M{pair(*points[0])}"]
    for (x, y), (next_x, next_y) in pairwise(points):
        if x == next_x:
            steps.append(f"L{pair(next_x, next_y)}")
        else:
            bend = (y + next_y) / 2
            steps.append(f"C{pair(x, bend)} {pair(next_x, bend)} {pair(next_x, next_y)}")
    dashes = ' stroke-dasharray="2 3"' if arrow.dotted else ""
    return f'<path d="{"".join(steps)}"{dashes}/>{head}'


def _make_room_for_head(points: list[Point]) -> list[Point]:
    """Return the line up to the base of the head, straight at its end: a bend breaks it."""
    x, tip = points[-1]
    down = 1.0 if tip >= points[0][1] else -1.0
    base = tip - down * _ARROW_LENGTH
    stem = base - down * _ARROW_STEM
    before = points[:-1]
    if len(before) > 1 and before[-1][0] == x and down * (before[-1][1] - stem) > 0:
        before.pop()
    return [*before, (x, stem), (x, base)]


def _box(box: Box, centre: Point, font_size: float) -> str:
    width, height = box_size(box, font_size)
    x, y = centre[0] - width / 2, centre[1] - height / 2
    fill = _COLOURS.get(box.fill, box.fill)
    parts = [
        f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(width)}"'
        f' height="{_number(height)}" rx="3" fill="{escape(fill)}" stroke="#333"/>'
    ]
    line_top = y + _PADDING / 2
    for line in filter(None, box.lines):
        parts.append(_text(centre[0], line_top, line, font_size))
        line_top += _LINE_HEIGHT * font_size
    if box.rows:
        rule = _number(line_top + _PADDING / 2)
        parts.append(f'<path d="M{_number(x)} {rule}h{_number(width)}" stroke="#333"/>')
        line_top += _PADDING
    for name, value in box.rows:
        parts.append(_text(x + _PADDING, line_top, name, font_size, "start"))
        parts.append(_text(x + width - _PADDING, line_top, value, font_size, "end"))
        line_top += _LINE_HEIGHT * font_size
    return f"<g>{''.join(parts)}</g>"


def _text(x: float, top: float, text: str, font_size: float, anchor: str = "") -> str:
    place = f'x="{_number(x)}" y="{_number(top + _BASELINE * font_size)}"'
    if anchor:
        place += f' text-anchor="{anchor}"'
    return f"<text {place}>{escape(text, quote=False)}</text>"
