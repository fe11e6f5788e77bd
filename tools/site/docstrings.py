"""Turns a docstring of this package into HTML: prose, formulas, arguments, examples.

Owns how an entry of the reference looks inside.  HTML and not Markdown, since docstrings hold
formulas (`w[o, c] * x`) that Markdown would read as its own marks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

HEADINGS = (
    "Args",
    "Arguments",
    "Attributes",
    "Differs from PyTorch",
    "Example",
    "Examples",
    "Initialisation",
    "Note",
    "Raises",
    "Returns",
    "Shape",
    "Yields",
)
HEADING = re.compile(rf"({'|'.join(HEADINGS)}):(?:\s+(.*))?$")
ARGUMENT = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?: (.*)")


@cache
def coloured(code: str, language: str) -> str:
    """Return code as HTML in the colours of the site, left out of the search."""
    lexer = get_lexer_by_name(language, stripnl=False)
    inside = highlight(code, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<div class="highlight" data-search-exclude><pre><code>{inside}\n</code></pre></div>'


def inline(text: str) -> str:
    """Return prose as HTML; what stands in backquotes is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    words = (
        f"<code>{escape(part)}</code>" if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
    return "".join(words)


def sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading with the lines under it; what comes before the first has none."""
    heading, lines = "", []
    for line in inspect.cleandoc(doc).splitlines():
        if started := HEADING.match(line):
            yield heading, lines
            heading, lines = started[1], [started[2]] if started[2] else []
        elif heading and line.startswith(">>> "):
            yield heading, lines
            heading, lines = "", [line]
        else:
            lines.append(line)
    yield heading, lines


def paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Yield runs of lines between empty ones; an interactive session stays together."""
    run: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            run.append(line)
        elif run:
            yield run
            run = []


def paragraph(lines: list[str], *, formulas: bool) -> str:
    """Return one paragraph: an example, a formula or prose."""
    text = inspect.cleandoc("\n".join(lines)) if lines[0].startswith(" ") else "\n".join(lines)
    if text.startswith(">>> "):
        return coloured(text, "pycon")
    stated = text.startswith("result") or not text.rstrip().endswith((".", ":", ")", "`"))
    is_formula = lines[0].startswith("    ") or stated
    if formulas and is_formula:
        return f'<pre class="formula">{escape(text.replace("`", ""))}</pre>'
    if text.startswith("- "):
        points = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
        inside = "".join(f"<li>{inline(' '.join(point.split()))}</li>" for point in points)
        return f"<ul>{inside}</ul>"
    words = " ".join(text.split())
    return f"<p>{inline(words[:1].upper() + words[1:])}</p>"


def arguments(lines: list[str]) -> str:
    """Return the entries of an `Args` section as a list."""
    found: list[list[str]] = []
    for line in inspect.cleandoc("\n".join(["", *lines])).splitlines():
        started = ARGUMENT.match(line)
        if started:
            found.append([started[1], started[2]])
        elif found:
            found[-1][1] += f" {line.strip()}"
        elif line.strip():
            found.append(["", line.strip()])
    items = (
        f"<li>{f'<code>{escape(name)}</code>: ' if name else ''}{inline(text)}</li>"
        for name, text in found
    )
    return f'<ul class="arguments">{"".join(items)}</ul>'


def first_sentence(doc: str | None) -> str:
    """Return what a docstring says first."""
    return " ".join(inspect.cleandoc(doc or "").partition("\n\n")[0].split())


def as_html(doc: str) -> str:
    """Return a whole docstring as HTML."""
    parts: list[str] = []
    for heading, lines in sections(doc):
        if heading in ("Args", "Arguments", "Attributes", "Raises"):
            title = {"Args": "Arguments"}.get(heading, heading)
            parts.append(f'<p class="part">{title}</p>{arguments(lines)}')
        elif heading and any(line.strip() for line in lines):
            whole = [inspect.cleandoc("\n".join(["", *lines]))]
            body = "".join(
                paragraph(each, formulas=False) for each in paragraphs(whole[0].splitlines())
            )
            parts.append(f'<p class="part">{heading}</p>{body}')
        else:
            parts += [
                paragraph(each, formulas=place > 0) for place, each in enumerate(paragraphs(lines))
            ]
    return "\n".join(parts)
