"""Bar and line plots as the text of a standalone SVG picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#2f6fb3", "#d9822b", "#4c9a52", "#a04d8c", "#8a8a8a", "#c2413b", "#3aa6a6")
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
WIDTH = 720
ROW, LABEL, RIGHT, TOP = 22, 250, 60, 56
HEIGHT, LEFT, BOTTOM = 320, 70, 40  # of a line plot

Point = tuple[float, float]


def text(x: float, y: float, content: str, anchor: str = "start", fill: str = "#333") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">'
        f"{escape(content)}</text>"
    )


def line(start: Point, end: Point, colour: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}"{dashes}/>'
    )


def picture(title: str, height: float, parts: Sequence[str]) -> str:
    """Return the whole file; white, so that it can be read on a dark page."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" role="img" {FONT}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
            text(12, 20, title, fill="#000"),
            *parts,
            "</svg>\n",
        )
    )


def bars(title: str, rows: Mapping[str, float], mark: float = 1.0, unit: str = "") -> str:
    """Return horizontal bars, the line of `mark` through them; longer ones than 4 marks are cut."""
    most = 4 * mark
    longest = min(most, max([mark * 1.2, *rows.values()]))
    scale = (WIDTH - LABEL - RIGHT) / longest
    parts = []
    for nr, (name, value) in enumerate(rows.items()):
        y = TOP - 14 + nr * ROW
        colour = COLOURS[0] if value <= mark else COLOURS[1]
        length = min(value, longest) * scale
        parts += [
            text(LABEL - 8, y + 13, name, "end"),
            f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>',
            text(LABEL + length + 5, y + 13, f"{value:.2f}{unit}"),
        ]
    height = TOP + len(rows) * ROW
    x = LABEL + mark * scale
    parts += [line((x, TOP - 20), (x, height - 14), "#000", dashed=True)]
    return picture(title, height, parts)


def legend(names: Sequence[str]) -> list[str]:
    parts, x = [], float(LEFT)
    for name, colour in zip(names, COLOURS, strict=False):
        parts += [f'<rect x="{x:.1f}" y="30" width="12" height="12" fill="{colour}"/>']
        parts += [text(x + 17, 40, name)]
        x += 34 + 7 * len(name)
    return parts


def lines(title: str, series: Mapping[str, Sequence[Point]], x_name: str, y_name: str) -> str:
    """Lines through points; both axes double from mark to mark."""
    points = [point for each in series.values() for point in each]
    (left, right), (low, high) = (
        (math.floor(math.log2(min(values))), math.ceil(math.log2(max(values))))
        for values in zip(*points, strict=True)
    )

    def place(x: float, y: float) -> Point:
        across = (math.log2(x) - left) / max(right - left, 1)
        up = (math.log2(y) - low) / max(high - low, 1)
        width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return LEFT + across * width, HEIGHT - BOTTOM - up * height

    parts = [*legend(list(series)), text(WIDTH / 2, HEIGHT - 6, x_name, "middle")]
    parts.append(text(WIDTH - 12, 20, y_name, "end"))
    for power in range(low, high + 1):
        start, end = place(2.0**left, 2.0**power), place(2.0**right, 2.0**power)
        parts += [line(start, end, "#ddd"), text(LEFT - 6, start[1] + 4, f"{2.0**power:g}", "end")]
    for power in range(left, right + 1):
        x, y = place(2.0**power, 2.0**low)
        parts.append(text(x, y + 16, f"{2.0**power:g}", "middle"))
    for each, colour in zip(series.values(), COLOURS, strict=False):
        places = [place(*point) for point in each]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return picture(title, HEIGHT, parts)
