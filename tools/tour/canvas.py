"""A small canvas for the pictures of the tour: boxes, arrows and text as a standalone SVG.

Owns colours, fonts and sizes.  A picture is 480 wide, so that it can be read on a phone, has a
light and a dark face, no ids and no script, and the same bytes for the same input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from taper.viz.svg import text_width

WIDTH = 480
CODE_SIZE = 12.0
LINE = 16.0
PADDING = 8.0
TIMES = "\u00d7"

STYLE = """
.t{--paper:#fff;--ink:#1c2330;--soft:#566072;--line:#c3cad6;--node:#eef1f6;--node-line:#8792a6;
--leaf:#dbeafe;--leaf-line:#3878b8;--output:#dcf5e3;--output-line:#37874f;--saved:#fdeacb;
--saved-line:#c07f16;--off:#f6f6f7;--grad:#b93c08;--good:#22733a;--bad:#b42318;--wash:#f3f6fb}
@media(prefers-color-scheme:dark){.t{--paper:#12161d;--ink:#e7eaf0;--soft:#a3acbb;--line:#3d4656;
--node:#252c38;--node-line:#77839a;--leaf:#16324f;--leaf-line:#6aa9e6;--output:#173a24;
--output-line:#63bd82;--saved:#453112;--saved-line:#e0a64a;--off:#1b1f27;--grad:#ff9a62;
--good:#6fd08d;--bad:#ff8f85;--wash:#1a2029}}
.t text{font:13px system-ui,-apple-system,'Segoe UI','Noto Sans',sans-serif;fill:var(--ink)}
.t .code{font:12px 'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace}
.t .head{font-weight:600;font-size:14px}.t .soft{fill:var(--soft)}.t .small{font-size:11px}
.t .grad{fill:var(--grad)}.t .good{fill:var(--good)}.t .bad{fill:var(--bad)}
.t .bold{font-weight:700}.t .halo{paint-order:stroke;stroke:var(--paper);stroke-width:4px}
.t .line{fill:none;stroke:var(--soft);stroke-width:1.3}.t .thin{fill:none;stroke:var(--line)}
.t .flow{fill:none;stroke:var(--grad);stroke-width:1.6}
.t .cut{fill:none;stroke:var(--bad);stroke-width:2}
.t .dots{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:2 4;stroke-linecap:round}
.t .curve{fill:none;stroke:var(--leaf-line);stroke-width:2}
.t .tip{fill:var(--soft)}.t .flow-tip{fill:var(--grad)}
"""


@dataclass(frozen=True, slots=True)
class Box:
    """Where a box lies."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def top(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height

    @property
    def left(self) -> tuple[float, float]:
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        return self.x + self.width, self.y + self.height / 2


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if value > -0.05 else "-0")


def box_size(lines: Sequence[str]) -> tuple[float, float]:
    """Return the width and height that lines of code need."""
    width = max(text_width(line, CODE_SIZE) for line in lines)
    return round(width + 2 * PADDING, 1), len(lines) * LINE + PADDING


class Canvas:
    """Collects elements from top to bottom; `svg()` is as tall as they are."""

    def __init__(self, title: str, description: str) -> None:
        self.title = title
        self.description = description
        self.parts: list[str] = []
        self.height = 0.0

    def _add(self, element: str, bottom: float) -> None:
        self.parts.append(element)
        self.height = max(self.height, bottom)

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Write one line; `y` is its baseline, `kind` names classes of the style sheet."""
        side = "" if anchor == "start" else f' text-anchor="{anchor}"'
        named = f' class="{kind}"' if kind else ""
        self._add(
            f'<text x="{number(x)}" y="{number(y)}"{side}{named} xml:space="preserve">'
            f"{escape(text, quote=False)}</text>",
            y + 5,
        )

    def head(self, y: float, text: str, x: float = 12) -> None:
        self.text(x, y, text, "head")

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, *, dashed: bool = False
    ) -> Box:
        """Draw a rectangle of a kind: node, leaf, output, saved, off or wash."""
        stroke = "line" if kind in ("off", "wash") else f"{kind}-line"
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self._add(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}" rx="4" style="fill:var(--{kind});'
            f'stroke:var(--{stroke})"{dashes}/>',
            y + height,
        )
        return Box(x, y, width, height)

    def box(
        self,
        x: float,
        y: float,
        lines: Sequence[str],
        kind: str,
        *,
        width: float | None = None,
        dashed: bool = False,
        soft: Iterable[int] = (),
    ) -> Box:
        """Draw a box around centred lines of code, with its top middle at (x, y)."""
        needed, height = box_size(lines)
        width = needed if width is None else width
        drawn = self.rect(x - width / 2, y, width, height, kind, dashed=dashed)
        for place, line in enumerate(lines):
            kinds = "code soft" if place in soft else "code"
            self.text(x, y + PADDING / 2 + LINE * place + 12, line, kinds, "middle")
        return drawn

    def path(self, d: str, kind: str, bottom: float = 0) -> None:
        self._add(f'<path d="{d}" class="{kind}"/>', bottom)

    def circle(self, x: float, y: float, radius: float, fill: str) -> None:
        self._add(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" '
            f'style="fill:var(--{fill})"/>',
            y + radius,
        )

    def badge(self, x: float, y: float, text: str, fill: str = "grad") -> None:
        """Draw a filled circle with a short text."""
        self.circle(x, y, 9, fill)
        self._add(
            f'<text x="{number(x)}" y="{number(y + 4)}" text-anchor="middle" '
            f'style="fill:var(--paper);font-size:11px;font-weight:700">{escape(text)}</text>',
            y + 10,
        )

    def line(
        self, start: tuple[float, float], end: tuple[float, float], kind: str = "line"
    ) -> None:
        self.path(
            f"M{number(start[0])} {number(start[1])}L{number(end[0])} {number(end[1])}",
            kind,
            max(start[1], end[1]),
        )

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], kind: str = "line"
    ) -> None:
        """Draw a straight arrow; `kind` is line, dots, flow or curve."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        base = end[0] - 7 * math.cos(angle), end[1] - 7 * math.sin(angle)
        self.line(start, base, kind)
        self.tip(end, angle, "flow-tip" if kind == "flow" else "tip")

    def tip(self, end: tuple[float, float], angle: float, kind: str = "tip") -> None:
        """Draw the head of an arrow that arrives at `end` in a direction."""
        corners = [end]
        for side in (1, -1):
            turned = angle + side * math.pi / 2
            back = end[0] - 8 * math.cos(angle), end[1] - 8 * math.sin(angle)
            corners.append((back[0] + 3.5 * math.cos(turned), back[1] + 3.5 * math.sin(turned)))
        points = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
        self._add(f'<polygon points="{points}" class="{kind}"/>', max(y for _, y in corners))

    def curve(
        self, start: tuple[float, float], end: tuple[float, float], kind: str = "line"
    ) -> None:
        """Draw an arrow that leaves and arrives upright."""
        bend = (start[1] + end[1]) / 2
        down = 1 if end[1] > start[1] else -1
        self.path(
            f"M{number(start[0])} {number(start[1])}C{number(start[0])} {number(bend)} "
            f"{number(end[0])} {number(bend)} {number(end[0])} {number(end[1] - 7 * down)}",
            kind,
            max(start[1], end[1]),
        )
        self.tip(end, down * math.pi / 2, "flow-tip" if kind == "flow" else "tip")

    def table(
        self,
        y: float,
        columns: Sequence[tuple[str, float]],
        rows: Sequence[Sequence[str]],
        *,
        marks: dict[str, str] | None = None,
        row_height: float = 22,
    ) -> float:
        """Draw a table with columns (title, x of the middle); return where it ends.

        The first column starts at its x.  `marks` names classes for cells by their text.
        """
        for place, (title, x) in enumerate(columns):
            for line, part in enumerate(reversed(title.split("\n"))):
                anchor = "start" if place == 0 else "middle"
                self.text(x, y - 13 * line, part, "soft small", anchor)
        y += 7
        for row in rows:
            self.line((12, y), (WIDTH - 12, y), "thin")
            for place, (cell, (_, x)) in enumerate(zip(row, columns, strict=True)):
                kinds = f"code {(marks or {}).get(cell, '')}".strip()
                self.text(x, y + row_height - 7, cell, kinds, "middle" if place else "start")
            y += row_height
        return y

    def svg(self) -> str:
        """Return the picture."""
        height = number(math.ceil(self.height) + 12)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="t" role="img" width="{WIDTH}" '
                f'height="{height}" viewBox="0 0 {WIDTH} {height}">',
                f"<title>{escape(self.title)}</title>",
                f"<desc>{escape(self.description)}</desc>",
                f"<style>{STYLE.strip()}</style>",
                f'<rect width="{WIDTH}" height="{height}" rx="6" style="fill:var(--paper)"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )
