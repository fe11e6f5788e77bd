"""Writes docs/performance.md and its plots from the stored results of `make bench`.

Owns the page's order and words.  What was not measured is said, not left out.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from plots import bars, lines
from rows import RESULTS, Row, header, load, rows_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
SLOWEST = 15  # operators in a plot

Pictures = dict[str, str]  # text of an SVG by the name of its file
Lines = list[str]


def plain(content: str) -> str:
    """Return text that Markdown shows as it stands, in a cell of a table too."""
    return re.sub(r"([\\|_*`\[\]])", r"\\\1", escape(content.replace("\n", " "), quote=False))


def grid(head: Sequence[str], body: Iterable[Sequence[str]]) -> Lines:
    """Return a table in Markdown, its first column left-aligned, the others right."""
    first, *rest = ([plain(cell) for cell in cells] for cells in (head, *body))
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (first, rule, *rest)]


def results(rows: Sequence[Row]) -> Lines:
    """Return the rows with their bars, and why some did not run."""
    found = [*grid(header(rows, ("taper", "PyTorch")), (row.cells() for row in rows)), ""]
    return found + [f"- {plain(row.name)}: {plain(row.error)}" for row in rows if row.error]


def plot(pictures: Pictures, name: str, drawn: str) -> Lines:
    """Keep a picture for the folder beside the page, and show it."""
    pictures[name] = drawn
    alternative = re.sub(r"[\[\]]", "", re.findall("<title>(.*?)</title>", drawn, re.DOTALL)[0])
    return [f"![{alternative}](performance/{name})", ""]


def ratios(rows: Iterable[Row]) -> dict[str, float]:
    return {row.name: row.ratio for row in rows if row.ratio is not None}


def models(rows: Sequence[Row], pictures: Pictures) -> Lines:
    title = "Time of a step, taper / PyTorch (dashed: as fast as PyTorch)"
    return plot(pictures, "models.svg", bars(title, ratios(rows))) + results(rows)


def captured(rows: Sequence[Row], pictures: Pictures) -> Lines:
    own = [row for row in rows if " / " in row.name]
    found = results([row for row in rows if row not in own])
    return [*found, "", "Beside taper without capture:", "", *grid(_OWN, map(Row.cells, own)), ""]


_OWN = ("workload", "captured us", "eager us", "ratio", "bar", "")


def only_table(rows: Sequence[Row], pictures: Pictures) -> Lines:
    return results(rows)


def operators(rows: Sequence[Row], pictures: Pictures) -> Lines:
    found: Lines = []
    by_size: dict[str, dict[str, Row]] = {}
    for row in rows:
        name, _, size = row.name.rpartition(" ")
        by_size.setdefault(size, {})[name] = row
    for size, named in by_size.items():
        values = ratios(named.values())
        above = sum(row.verdict == "FAIL" for row in named.values())
        bar = next(iter(named.values())).bar
        found.append(f"{size} elements: {len(named)} operators, {above} above the bar of {bar}.")
        slowest = sorted(values, key=lambda name: -values[name])[:SLOWEST]
        title = f"The slowest of the operators at {size} elements, taper / PyTorch"
        drawn = bars(title, {name: values[name] for name in slowest}, mark=bar or 1.0)
        found += ["", *plot(pictures, f"operators-{size}.svg", drawn)]
    names = dict.fromkeys(name for named in by_size.values() for name in named)
    missing = Row("", None, None, None)
    body = [
        [name, *(sized.get(name, missing).cells()[3] for sized in by_size.values())]
        for name in names
    ]
    return [*found, *grid(["operator", *by_size], body), ""]


def growing(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by what grows in them: the name without the number at its end."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.name.rpartition(" ")[0], []).append(row)
    return found


def scaling(rows: Sequence[Row], pictures: Pictures) -> Lines:
    found: Lines = []
    for name, some in growing(rows).items():
        sizes = [float(row.name.rpartition(" ")[2]) for row in some]
        sides = {"taper": [each.candidate for each in some]}
        sides["PyTorch"] = [each.reference for each in some]
        series = {
            side: [(x, y * 1e3) for x, y in zip(sizes, values, strict=True) if y]
            for side, values in sides.items()
        }
        if len(sizes) > 1 and all(series.values()):
            what = name.rpartition(" ")[2]
            drawn = lines(name.rpartition(",")[0], series, what, "ms of a step")
            found += plot(pictures, f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.svg", drawn)
    return found + results(rows)


def busy(rows: Sequence[Row], pictures: Pictures) -> Lines:
    sides = {f"{row.name}, taper": row.candidate or 0.0 for row in rows}
    sides |= {f"{row.name}, PyTorch": row.reference or 0.0 for row in rows}
    ordered = {name: sides[name] for name in sorted(sides)}
    title = "Time of a step beside busy processes / alone (dashed: the bar)"
    limit = rows[0].limit or 1.0
    drawn = bars(title, ordered, mark=limit, unit=" times")
    return plot(pictures, "busy.svg", drawn) + results(rows)


def peers(rows: Sequence[Row], pictures: Pictures) -> Lines:
    cells: dict[str, dict[str, str]] = {}
    reasons: dict[str, str] = {}
    for row in rows:
        step, _, peer = row.name.partition(" / ")
        named = cells.setdefault(step, {})
        named["taper"] = row.cells()[1]
        named[peer] = f"{row.cells()[2]} ({row.cells()[3]})"
        if row.error:
            reasons.setdefault(peer, row.error)
    columns = list(dict.fromkeys(name for named in cells.values() for name in named))
    body = [[step, *(named.get(name, "-") for name in columns)] for step, named in cells.items()]
    notes = [f"- {plain(peer)} did not run here: {plain(why)}" for peer, why in reasons.items()]
    title = "Time of a step, taper / its peer (dashed: as fast)"
    drawn = plot(pictures, "peers.svg", bars(title, ratios(rows)))
    return [*drawn, *grid(["us of a step (taper / peer)", *columns], body), "", *notes]


Section = Callable[[Sequence[Row], Pictures], Lines]

SECTIONS: dict[str, tuple[str, str, Section]] = {
    "models": ("Training steps", "Eight models, and parts of them.", models),
    "captured": (
        "Captured steps",
        "The same steps recorded once and replayed (`taper.capture`); PyTorch runs eagerly.",
        captured,
    ),
    "overhead": ("The cost of one operation", "Where overhead is all there is.", only_table),
    "operators": ("Operators", "The hundred that programs use most, not recorded.", operators),
    "memory": ("Peak memory", "The resident set of a process that trains ten steps.", only_table),
    "first step": ("The first step", "In a fresh process.", only_table),
    "import": ("Import", "In fresh interpreters.", only_table),
    "install size": ("Size of an installation", "Without compiled Python files.", only_table),
    "scaling": ("Scaling", "A step over batch, width and threads.", scaling),
    "busy": ("Beside busy processes", "Two single-threaded ones for each core.", busy),
    "peers": (
        "Other libraries",
        "Each in its own fast way, the whole step compiled where it can be; taper runs eagerly, "
        "and a step ends when its result is there (`make bench-peers`).",
        peers,
    ),
}


def machine(found: Mapping[str, Any]) -> str:
    """Return the machine of the results, in a sentence."""
    facts = next(iter(found.values()))["environment"] if found else {}
    shown = ", ".join(f"{name} {value}" for name, value in facts.items())
    return f"The machine: {plain(shown)}." if shown else "Nothing was measured yet."


def page(found: Mapping[str, Any]) -> tuple[str, Pictures]:
    """Return the text of the page, and its pictures."""
    pictures: Pictures = {}
    text = [
        "# Performance",
        "",
        "Written by `benchmarks/report.py` from what `make bench` measured; do not edit. A ratio "
        "is taper's number divided by PyTorch 2.13's (eager), below 1 taper is better; "
        "[how it is measured](../benchmarks/README.md).",
        "",
        machine(found),
    ]
    for name, (title, words, section) in SECTIONS.items():
        text += ["", f"## {title}", "", words, ""]
        rows = rows_of(found[name]) if name in found else []
        text += section(rows, pictures) if rows else ["Not measured in this run."]
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(text))
    return whole.rstrip() + "\n", pictures


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="Write the page of results, with its plots.")
    options.add_argument("--results", type=Path, default=RESULTS, help="what --save wrote")
    options.add_argument("--page", type=Path, default=PAGE, help="default: docs/performance.md")
    chosen = options.parse_args(argv)
    found = load(chosen.results)
    if not found:
        print(f"there is nothing in {chosen.results}: `make bench` writes it")
        return 2
    text, pictures = page(found)
    folder = chosen.page.parent / "performance"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, drawn in pictures.items():
        (folder / name).write_text(drawn, encoding="utf-8")
    chosen.page.write_text(text, encoding="utf-8")
    print(f"{chosen.page} and {len(pictures)} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
