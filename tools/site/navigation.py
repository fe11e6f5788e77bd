"""The tree of pages: sections in the order that a reader needs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import reference

START = ("index.md", "start/install.md", "start/first-training.md", "start/run-your-script.md")
EXPLANATION = (
    *("architecture", "engine", "behaviours", "promises", "performance", "benchmarks"),
    *("capture", "viz", "scaling"),
)
PROJECT = ("changelog", "contributing", "security", "releases")


def navigation(texts: dict[str, str]) -> list[dict[str, Any]]:
    """Return the sections, each with its pages.

    Args:
        texts: the pages beside those of the reference, with their texts.
    """
    learn = sorted(page for page in texts if re.fullmatch(r"learn/\d+\.md", page))
    chinese = [f"learn/zh/{Path(page).name}" for page in learn]
    howto = sorted(
        (page for page in texts if page.startswith("howto/")),
        key=lambda page: (page != "howto/index.md", texts[page].partition("\n")[0]),
    )
    edition = {"中文": ["learn/zh/index.md", *chinese, "learn/zh/statements.md"]}
    lists = ("reference/derivatives.md", "reference/coverage.md")
    explanation = [f"explanation/{name}.md" for name in EXPLANATION]
    explanation += sorted(
        page for page in texts if page.startswith("explanation/") and page not in explanation
    )
    return [
        {"Start": [*START, "start/examples.md"]},
        {"Learn autograd": ["learn/index.md", *learn, "learn/statements.md", edition]},
        {"How-to": howto},
        {"Notebooks": sorted(page for page in texts if page.startswith("notebooks/"))},
        {"Reference": ["reference/index.md", *packages(), *lists]},
        {"Explanation": explanation},
        {"Project": [f"project/{name}.md" for name in PROJECT]},
    ]


def packages() -> list[dict[str, Any]]:
    """Return the pages of the reference, those of a package together."""
    groups: dict[str, list[dict[str, str]]] = {}
    for page in dict.fromkeys(entry.page for entry in reference.entries().values()):
        package = Path(page).stem.partition("-")[0].split(".")
        title = {reference.title_of(page): page}
        groups.setdefault(".".join(package[:2]), []).append(title)
    return [{name: pages} if len(pages) > 1 else pages[0] for name, pages in groups.items()]
