"""Cuts the tour, one long page, into the chapters of "Learn autograd", with their exercises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ANCHOR = re.compile(r'^<a id="(?:picture-(?P<number>\d+)|index)"></a>$', re.MULTILINE)
EXERCISE = re.compile(r"^## (\d+)\. .*$", re.MULTILINE)


@dataclass(frozen=True)
class Language:
    """One edition of the tour."""

    tour: str
    exercises: str
    folder: str
    heading: str  # of the exercises


LANGUAGES = (
    Language("docs/tour.md", "docs/learn/exercises.md", "learn", "Exercises"),
    Language("docs/tour.zh.md", "docs/learn/exercises.zh.md", "learn/zh", "练习"),
)


def page_of(language: Language, anchor: str) -> str:
    """Return the page that an anchor of the tour has become."""
    number = anchor.removeprefix("picture-")
    if number.isdigit():
        return f"{language.folder}/{int(number):02}.md"
    return (
        f"{language.folder}/statements.md" if anchor == "index" else f"{language.folder}/index.md"
    )


def exercises_of(text: str) -> dict[int, str]:
    """Return the exercises of each chapter, by its number."""
    _, *parts = EXERCISE.split(text)
    return {int(number): body.strip() for number, body in zip(parts[::2], parts[1::2], strict=True)}


def chapters(language: Language, root: Path) -> dict[str, str]:
    """Return the pages of an edition by their paths: introduction, chapters, list of statements."""
    text = (root / language.tour).read_text(encoding="utf-8")
    path = root / language.exercises
    exercises = exercises_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    cuts = list(ANCHOR.finditer(text))
    pages = {page_of(language, ""): text[: cuts[0].start()]}
    for cut, following in zip(cuts, [*cuts[1:], None], strict=True):
        body = text[cut.end() : following.start() if following else None].strip()
        body = re.sub(r"^#(#+ )", r"\1", body, flags=re.MULTILINE)  # a level up
        number = cut["number"]
        if number and int(number) in exercises:
            body += f"\n\n## {language.heading}\n\n{exercises[int(number)]}"
        pages[page_of(language, f"picture-{number}" if number else "index")] = f"{body}\n"
    return pages
