"""Plots of curves: axes, ticks, legends, as shapes that become an SVG or a PNG.

Owns the layout of a plot and both ways to draw it.  Knows curves as names and points only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from taper.viz.raster import Canvas

__all__ = ["Curve", "Panel", "picture_png", "picture_svg"]

Point = tuple[float, float]

PANEL_WIDTH, PANEL_HEIGHT = 380, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 44, 30
_COLOURS = 6
_LEAST, _MOST = 1e-300, 1e300
_LEGEND = 26  # characters of a name in the legend
# Colours by name, on light paper and on dark.
_THEMES = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1f2430",
        "soft": "#6b7280",
        "line": "#dde1e7",
        "s0": "#2563a8",
        "s1": "#c2560c",
        "s2": "#2e8540",
        "s3": "#8e44ad",
        "s4": "#b58900",
        "s5": "#0e8a8a",
    },
    "dark": {
        "paper": "#14171b",
        "ink": "#e5e7eb",
        "soft": "#9aa3b2",
        "line": "#2f3641",
        "s0": "#7db4f0",
        "s1": "#ff9a5c",
        "s2": "#7fce8c",
        "s3": "#cda2ee",
        "s4": "#e6c35c",
        "s5": "#6fd0d0",
    },
}


@dataclass(slots=True)
class Curve:
    """A line of a panel: points in order, of which those with a y that is not finite are gaps."""

    name: str
    points: Sequence[Point]
    smooth: Sequence[Point] | None = None  # drawn boldly, with the points themselves faint


@dataclass(slots=True)
class Panel:
    """One pair of axes."""

    title: str
    curves: Sequence[Curve]
    log: bool = False


@dataclass(slots=True)
class _Line:
    points: list[Point]
    colour: str
    width: float = 1.0
    opacity: float = 1.0


@dataclass(slots=True)
class _Text:
    x: float
    y: float
    text: str
    colour: str = "ink"
    anchor: str = "start"
    size: float = 11.0


_Shape = _Line | _Text


def _shapes(title: str, panels: Sequence[Panel]) -> tuple[int, int, list[_Shape]]:
    """Return the size of a picture and what is drawn."""
    columns = 1 if len(panels) == 1 else 2
    head = 34 if title else 6
    rows = max(1, math.ceil(len(panels) / columns))
    width = PANEL_WIDTH * columns if columns > 1 else PANEL_WIDTH * 2
    shapes: list[_Shape] = [_Text(16, 24, _cut(title, 84), size=14)] if title else []
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        left, top = column * PANEL_WIDTH, head + row * PANEL_HEIGHT
        shapes += _panel(panel, left, top, PANEL_WIDTH if columns > 1 else width)
    if not panels:
        shapes.append(_Text(width / 2, head + 60, "nothing was recorded", "soft", "middle"))
        return width, head + 110, shapes
    return width, head + rows * PANEL_HEIGHT + 6, shapes


def _panel(panel: Panel, left: float, top: float, width: float) -> list[_Shape]:
    right, bottom = left + width - _RIGHT, top + PANEL_HEIGHT - _BOTTOM
    left, top = left + _LEFT, top + _TOP
    shown = [_visible(curve, panel.log) for curve in panel.curves]
    xs = [x for curve in shown for part in curve for x, _ in part]
    ys = [y for curve in shown for part in curve for _, y in part]
    title = panel.title + (" (log)" if panel.log else "")
    shapes: list[_Shape] = [_Text(left, top - 24, _cut(title, 44), size=12.5)]
    if not ys:
        text = "no positive value" if panel.log else "no value that can be drawn"
        shapes.append(_Text((left + right) / 2, (top + bottom) / 2, text, "soft", "middle"))
        return shapes
    x_range, y_range = _widened(min(xs), max(xs), 0.0), _widened(min(ys), max(ys), 0.06)

    def across(x: float) -> float:
        return left + (right - left) * (x - x_range[0]) / (x_range[1] - x_range[0])

    def down(y: float) -> float:
        return bottom - (bottom - top) * (y - y_range[0]) / (y_range[1] - y_range[0])

    for value, text in _log_ticks(*y_range) if panel.log else _ticks(*y_range, 6):
        shapes.append(_Line([(left, down(value)), (right, down(value))], "line"))
        shapes.append(_Text(left - 6, down(value) + 4, text, "soft", "end", 10.5))
    for value, text in _ticks(*x_range, max(3, int(width / 90)), whole=True):
        anchor = "end" if across(value) > right - 12 else "middle"
        shapes.append(_Text(across(value), bottom + 16, text, "soft", anchor, 10.5))
    shapes.append(_Line([(left, bottom), (right, bottom)], "soft"))
    for number, (curve, parts) in enumerate(zip(panel.curves, shown, strict=True)):
        shapes += _curve(curve, parts, panel.log, f"s{number % _COLOURS}", across, down, right)
    return shapes + _legend(panel, left, right, top)


def _curve(
    curve: Curve,
    parts: list[list[Point]],
    log: bool,
    colour: str,
    across: Callable[[float], float],
    down: Callable[[float], float],
    right: float,
) -> list[_Shape]:
    def drawn(parts: list[list[Point]], width: float, opacity: float) -> list[_Shape]:
        placed = [[(across(x), down(y)) for x, y in part] for part in parts]
        return [_Line(_thinned(part), colour, width, opacity) for part in placed]

    if curve.smooth is None:
        shapes = drawn(parts, 1.8, 1.0)
    else:
        bold = _visible(Curve(curve.name, curve.smooth), log)
        shapes = drawn(parts, 1.2, 0.3) + drawn(bold, 2.0, 1.0)
    for each in shapes:  # a value between two gaps is a dot
        if isinstance(each, _Line) and len(each.points) == 1:
            each.width = 4.0
    return shapes


def _legend(panel: Panel, left: float, right: float, top: float) -> list[_Shape]:
    if len(panel.curves) == 1 and panel.curves[0].name == panel.title:
        return []
    shapes: list[_Shape] = []
    x = left
    for number, curve in enumerate(panel.curves):
        name = _cut(curve.name, _LEGEND)
        needed = 30 + 6.8 * len(name)
        if x + needed > right + 10 and x > left:
            shapes.append(_Text(x, top - 6, f"+{len(panel.curves) - number}", "soft", size=10.5))
            break
        shapes.append(_Line([(x, top - 10), (x + 14, top - 10)], f"s{number % _COLOURS}", 2.4))
        shapes.append(_Text(x + 19, top - 6, name, "soft", size=10.5))
        x += needed
    return shapes


def _cut(text: str, most: int) -> str:
    text = "".join(each if each.isprintable() else " " for each in text)
    return text if len(text) <= most else text[: most - 3] + "..."


def _visible(curve: Curve, log: bool) -> list[list[Point]]:
    """Return the stretches of a curve between its gaps; of a logarithmic one the logarithms."""
    parts: list[list[Point]] = [[]]
    for x, y in curve.points:
        if math.isfinite(x) and math.isfinite(y) and (y > 0 or not log):
            bounded = min(max(y, -_MOST), _MOST)  # so that differences are finite
            parts[-1].append((x, math.log10(y) if log else bounded))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _thinned(points: list[Point]) -> list[Point]:
    """Return a line with at most four points for each unit across: first, least, greatest, last."""
    if len(points) <= 4 * PANEL_WIDTH:
        return points
    columns: dict[int, list[Point]] = {}
    for point in points:
        columns.setdefault(int(point[0]), []).append(point)
    kept = []
    for group in columns.values():
        extremes = {group[0], group[-1]}
        extremes |= {min(group, key=lambda each: each[1]), max(group, key=lambda each: each[1])}
        kept += [each for each in group if each in extremes]
    return kept


def _widened(low: float, high: float, margin: float) -> tuple[float, float]:
    if high - low <= abs(low) * 1e-12 + _LEAST:
        around = abs(low) * 0.1 if abs(low) > _LEAST else 1.0
        return low - around, high + around
    return low - (high - low) * margin, high + (high - low) * margin


def _ticks(low: float, high: float, count: int, whole: bool = False) -> list[tuple[float, str]]:
    """Return round numbers between two, and how they are written."""
    step = 10 ** math.floor(math.log10((high - low) / count))
    step *= next(each for each in (1, 2, 5, 10) if (high - low) / (step * each) <= count)
    if whole:
        step = max(step, 1.0) if high - low >= 1 else step
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(place * step, number(place * step, step)) for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return powers of ten between two logarithms; in less than two decades other numbers too."""
    first, last = math.floor(low), math.ceil(high)
    if high - low < 0.3:
        ticks = _ticks(10**low, 10**high, 4)
        return [(math.log10(value), text) for value, text in ticks if value > 0]
    factors = (1, 2, 5) if high - low < 2.4 else (1,)
    every = max(1, math.ceil((last - first) / 6))
    found = [
        (power + math.log10(factor), number(factor * 10.0**power, 10.0**power))
        for power in range(first, last + 1, every)
        for factor in factors
    ]
    return [each for each in found if low <= each[0] <= high]


def number(value: float, step: float) -> str:
    """Return a number with the digits that tell it from its neighbour at a distance of `step`."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        digits = max(0, math.floor(math.log10(abs(value))) - math.floor(math.log10(step)))
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


# --- drawing -----------------------------------------------------------------------------------


def picture_svg(title: str, panels: Sequence[Panel]) -> str:
    """Return a plot as the text of an SVG file, light or dark as the reader has it."""
    width, height, shapes = _shapes(title, panels)

    def variables(theme: str) -> str:
        return ";".join(f"--{name}:{colour}" for name, colour in _THEMES[theme].items())

    style = (
        f".h{{{variables('light')}}}@media(prefers-color-scheme:dark){{.h{{{variables('dark')}}}}}"
        ".h text{font-family:system-ui,sans-serif}"
        ".h path{fill:none;stroke-linejoin:round;stroke-linecap:round}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="h" viewBox="0 0 {width} {height}" '
        f'width="{width}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="{escape(title or ", ".join(each.title for each in panels))}">',
        f"<style>{style}</style>",
        f'<rect width="{width}" height="{height}" fill="var(--paper)"/>',
    ]
    for each in shapes:
        if isinstance(each, _Text):
            parts.append(
                f'<text x="{each.x:.1f}" y="{each.y:.1f}" font-size="{each.size}" '
                f'text-anchor="{each.anchor}" fill="var(--{each.colour})">'
                f"{escape(each.text)}</text>"
            )
        else:
            points = each.points if len(each.points) > 1 else each.points * 2
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            faint = f' opacity="{each.opacity}"' if each.opacity < 1 else ""
            parts.append(
                f'<path d="{path}" stroke="var(--{each.colour})" '
                f'stroke-width="{each.width}"{faint}/>'
            )
    return "\n".join([*parts, "</svg>"])


def picture_png(title: str, panels: Sequence[Panel], dark: bool = False, scale: int = 2) -> bytes:
    """Return a plot as a PNG file; `scale` pixels are one unit of the SVG."""
    width, height, shapes = _shapes(title, panels)
    theme = {
        name: (int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16))
        for name, code in _THEMES["dark" if dark else "light"].items()
    }
    canvas = Canvas(width, height, theme["paper"], scale)
    for each in shapes:
        if isinstance(each, _Text):
            canvas.text(each.x, each.y, each.text, each.size, theme[each.colour], each.anchor)
        else:
            canvas.line(each.points, theme[each.colour], each.width, each.opacity)
    return canvas.png()
