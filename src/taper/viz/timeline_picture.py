"""The picture of a memory timeline: an area over the moments of a step, and the peak's owners."""

from __future__ import annotations

import html
from typing import Any

from taper.viz.memory import size

WIDTH, LEFT, TOP, HEIGHT = 760, 80, 46, 190
ROWS = 10  # owners that are listed
ROW = 22
BAR = 120  # width of the longest bar
MOST_CHARACTERS = 84

STYLE = """
.m{--ink:#1f2430;--soft:#6b7280;--line:#d6dae1;--area:#7aa2d6;--edge:#2f5f9e;--peak:#c2410c;
--forward:#eef4fb;--backward:#fdf1e7;--optimizer:#eaf6ec;--paper:#ffffff}
@media(prefers-color-scheme:dark){.m{--ink:#e5e7eb;--soft:#9aa3b2;--line:#3a4150;--area:#3d6ea8;
--edge:#8fb8ea;--peak:#fb923c;--forward:#182230;--backward:#2b2119;--optimizer:#182a1d;
--paper:#11151c}}
.m text{font:12px system-ui,sans-serif;fill:var(--ink)}.m .soft{fill:var(--soft)}
.m .title{font-weight:600;font-size:14px}.m .code{font-family:ui-monospace,monospace;font-size:11px}
"""


def draw(timeline: Any) -> str:
    """Return the picture as the text of an SVG file."""
    events = timeline.events
    owners = timeline.owners[:ROWS]
    height = TOP + HEIGHT + 60 + ROW * (len(owners) + 1) + 10
    top = max(timeline.peak, 1) * 1.08

    def across(place: float) -> float:
        return LEFT + (WIDTH - LEFT - 16) * place / max(len(events), 1)

    def down(live: float) -> float:
        return TOP + HEIGHT * (1 - live / top)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="m" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" role="img" aria-label="Live memory over a step">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="var(--paper)"/>',
        '<text x="16" y="24" class="title">Live memory over a step: peak '
        f"{html.escape(size(timeline.peak))}</text>",
        *_phases(events, across),
        *_ticks(top, down),
        _area(events, across, down),
        *_peak(timeline, across, down),
        *_owners(owners, TOP + HEIGHT + 62),
        "</svg>",
    ]
    return "\n".join(parts)


def _phases(events: Any, across: Any) -> list[str]:
    """Return a band for each stretch of one phase."""
    parts = []
    start = 0
    for place in range(1, len(events) + 1):
        if place == len(events) or events[place].phase != events[start].phase:
            left, right = across(start), across(place)
            phase = events[start].phase
            parts.append(
                f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{HEIGHT}" '
                f'fill="var(--{phase})"/>'
            )
            if right - left > 8 * len(phase):
                middle = (left + right) / 2
                parts.append(
                    f'<text x="{middle:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" '
                    f'class="soft">{phase}</text>'
                )
            start = place
    return parts


def _ticks(top: float, down: Any) -> list[str]:
    parts = []
    for place in range(5):
        live = top / 1.08 * place / 4
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 16}" y1="{down(live):.1f}" y2="{down(live):.1f}" '
            'stroke="var(--line)" stroke-width="0.7"/>'
            f'<text x="{LEFT - 8}" y="{down(live) + 4:.1f}" text-anchor="end" class="soft">'
            f"{size(round(live))}</text>"
        )
    return parts


def _area(events: Any, across: Any, down: Any) -> str:
    """Return the curve as steps: an amount holds from its moment to the next."""
    corners = [
        f"{across(place):.1f},{down(each.live):.1f} {across(place + 1):.1f},{down(each.live):.1f}"
        for place, each in enumerate(events)
    ]
    line = " ".join(corners)
    ground = f"{across(len(events)):.1f},{down(0):.1f} {across(0):.1f},{down(0):.1f}"
    return (
        f'<polygon points="{line} {ground}" fill="var(--area)" fill-opacity="0.55"/>'
        f'<polyline points="{line}" fill="none" stroke="var(--edge)" stroke-width="1.4"/>'
    )


def _peak(timeline: Any, across: Any, down: Any) -> list[str]:
    event = timeline.events[timeline.peak_event]
    x, y = across(timeline.peak_event + 0.5), down(event.live)
    near_right = x > WIDTH * 0.7
    label = html.escape(f"{event.label} ({event.phase})")
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="var(--peak)"/>',
        f'<text x="{x + (-8 if near_right else 8):.1f}" y="{y - 6:.1f}" '
        f'text-anchor="{"end" if near_right else "start"}" style="fill:var(--peak)">{label}</text>',
    ]


def _owners(owners: Any, y: float) -> list[str]:
    """Return the list of what lived at the peak, with bars."""
    parts = [f'<text x="16" y="{y - 12}" class="title">What lived at the peak</text>']
    most = max([each.bytes for each in owners], default=1)
    for place, each in enumerate(owners):
        line = y + ROW * (place + 0.6)
        count = "" if each.tensors == 1 else f" x {each.tensors}"
        where = " at ".join(part for part in (each.module, each.line) if part)
        text = f"{each.kind}{count} {each.what} {where}".strip()
        if len(text) > MOST_CHARACTERS:
            text = "..." + text[3 - MOST_CHARACTERS :]
        shown = html.escape(text)
        parts.append(
            f'<text x="{LEFT - 8}" y="{line + 4:.1f}" text-anchor="end">{size(each.bytes)}</text>'
            f'<rect x="{LEFT}" y="{line - 6:.1f}" width="{max(BAR * each.bytes / most, 1):.1f}" '
            'height="12" rx="2" fill="var(--area)"/>'
            f'<text x="{LEFT + BAR + 10}" y="{line + 4:.1f}" class="code">{shown}</text>'
        )
    return parts
