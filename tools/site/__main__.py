"""Assembles the source of the site, then has MkDocs build it.

    python tools/site [--only-pages]

Collects the documents of the repository, the chapters cut from the tour, the reference made from
the package, and notebooks (as `make test-notebooks` ran them, if it did) in build/pages, writes
build/site.yml and builds build/site.  A warning of MkDocs is an error.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import reference
from chapters import LANGUAGES, chapters, page_of
from navigation import navigation
from notebooks import page as notebook_page
from prose import dark_face, light_face, rewritten
from sources import source_page, with_sources

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PAGES = BUILD / "pages"

# Documents that stand elsewhere on the site than in the repository.
MOVED = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
    "benchmarks/README.md": "explanation/benchmarks.md",
    "examples/README.md": "start/examples.md",
    "docs/coverage.md": "reference/coverage.md",
    "docs/derivatives.md": "reference/derivatives.md",
    "docs/releases.md": "project/releases.md",
}
# Long lists that would fill the results of a search with what has a better page.
NOT_SEARCHED = {"reference/derivatives.md", "reference/coverage.md", "explanation/behaviours.md"}
# Who asks for an answer wants the short page; who asks for a name wants the one that is used most.
RANKS = {
    "howto/": 4,
    "start/": 4,
    "reference/taper.nn-": 3,
    "reference/taper.optim": 2,
    "reference/taper-": 2,
    "reference/taper.vision": 0.5,
    "reference/taper.return_types": 0.2,
}
LEFT_OUT = {
    "README.md",
    *(each.tour for each in LANGUAGES),
    *(each.exercises for each in LANGUAGES),
}


# README alone says what is missing; the page about promises shows it.
TABLE_LINK = "[The table in README](../README.md#what-pytorch-has-and-taper-does-not-yet)"


def table_of_readme() -> str:
    """Return README's table of what PyTorch has and taper does not."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(r"^\| PyTorch \| taper .*?\n\n", text, re.MULTILINE | re.DOTALL)[0].strip()


class Site:
    """The pages of the site by their paths, and what they need beside them."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, str]] = {}  # by page: its origin, and its text
        self.sources: set[str] = set()
        self.pictures: set[str] = set()
        self.places = self._places()

    def _places(self) -> dict[str, str]:
        """Return the page of each document of the repository."""
        inside = sorted((ROOT / "docs").rglob("*.md"))
        names = [path.relative_to(ROOT).as_posix() for path in inside]
        found = {name: name.removeprefix("docs/") for name in names}
        # A new document beside the others explains something, unless MOVED says otherwise.
        at_top = {name for name in names if name.count("/") == 1 and name != "docs/index.md"}
        found |= {name: f"explanation/{Path(name).name}" for name in at_top} | MOVED
        for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
            found[f"notebooks/{path.name}"] = f"notebooks/{path.stem}.md"
        return found

    def collect(self) -> None:
        """Read all documents."""
        for origin, page in self.places.items():
            if origin not in LEFT_OUT and origin.endswith(".md"):
                self.texts[page] = origin, (ROOT / origin).read_text(encoding="utf-8")
        page = self.places["docs/promises.md"]
        origin, text = self.texts[page]
        self.texts[page] = origin, text.replace(TABLE_LINK, table_of_readme())
        for language in LANGUAGES:
            for page, text in chapters(language, ROOT).items():
                self.texts[page] = language.tour, text
        for origin, page in self.places.items():
            if origin.endswith(".ipynb"):
                self.texts[page] = origin, self._notebook(origin)

    def _notebook(self, origin: str) -> str:
        run = BUILD / origin
        text, pictures = notebook_page(run if run.exists() else ROOT / origin)
        self.copy(f"{origin}", (ROOT / origin).read_bytes())
        for name, content in pictures.items():
            self.copy(f"notebooks/{name}", content)
        return text

    def copy(self, path: str, content: bytes | str) -> None:
        """Write a file of the site's source."""
        (PAGES / path).parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        (PAGES / path).write_bytes(data)

    def _target(self, page: str, origin: str, target: str) -> str:
        """Return where a link of a document leads on the site."""
        if "://" in target or target.startswith("mailto:"):
            return target
        path, _, anchor = target.partition("#")
        if not path and origin not in {each.tour for each in LANGUAGES}:
            return target
        full = (
            posixpath.normpath(posixpath.join(posixpath.dirname(origin), path)) if path else origin
        )
        for language in LANGUAGES:
            if full == language.tour:
                known = anchor == "index" or anchor.startswith("picture-")
                full_page = page_of(language, anchor if known else "")
                return self._relative(page, full_page)
        if origin.endswith(".ipynb") and "/" not in path:
            return target  # the notebook itself and its pictures
        if full in self.places:
            return self._relative(page, self.places[full]) + (f"#{anchor}" if anchor else "")
        if full.startswith("docs/"):
            self.pictures.add(full)
            return self._relative(page, full.removeprefix("docs/"))
        if (ROOT / full).is_dir():
            return self._relative(page, "start/examples.md" if "examples" in full else "index.md")
        self.sources.add(full)
        return self._relative(page, f"source/{full}.html")

    @staticmethod
    def _relative(page: str, target: str) -> str:
        return posixpath.relpath(target, posixpath.dirname(page) or ".")

    def write(self) -> None:
        """Write pages, pictures and the sources that pages link."""
        for page, (origin, text) in self.texts.items():
            text = rewritten(
                text,
                lambda target, page=page, origin=origin: self._target(page, origin, target),
                lambda target: target.endswith(".svg") and ("tour/" in target or "perf" in target),
            )
            text = with_sources(ROOT, text, self._relative(page, "source") + "/")
            self.copy(page, self._ranked(page, text))
        self.sources |= {f"src/taper/{path}" for path in self._included()}
        for path in sorted(self.sources):
            self.copy(f"source/{path}.html", source_page(ROOT, path))
        for path in sorted(self.pictures):
            self._copy_picture(path)
        for path in sorted((ROOT / "docs" / "site").glob("*.[cj]s*")):
            self.copy(f"site/{path.name}", path.read_bytes())
        for page, text in reference.pages().items():
            self.copy(page, self._ranked(page, text))
        self.copy("reference/index.md", self._reference_index())

    @staticmethod
    def _ranked(page: str, text: str) -> str:
        """Tell the search how much a page counts, where that is not as much as any other."""
        if page in NOT_SEARCHED:
            return f"---\nsearch:\n  exclude: true\n---\n\n{text}"
        boost = next((rank for start, rank in RANKS.items() if page.startswith(start)), None)
        return f"---\nsearch:\n  boost: {boost}\n---\n\n{text}" if boost else text

    def _included(self) -> Iterator[str]:
        for _, text in self.texts.values():
            yield from re.findall(r"^```source (\S+) ", text, re.MULTILINE)

    def _copy_picture(self, path: str) -> None:
        name = path.removeprefix("docs/")
        if not path.endswith(".svg"):
            self.copy(name, (ROOT / path).read_bytes())
            return
        text = (ROOT / path).read_text(encoding="utf-8")
        self.copy(name, light_face(text))
        self.copy(f"{name.removesuffix('.svg')}.dark.svg", dark_face(text))

    @staticmethod
    def _reference_index() -> str:
        """Return the page that lists the packages."""
        by_page: dict[str, list[str]] = {}
        for entry in reference.entries().values():
            by_page.setdefault(entry.page, []).append(entry.name)
        rows = [
            f"| [{reference.title_of(page)}]({Path(page).name}) | {len(names)} | "
            f"{', '.join(f'`{name}`' for name in names[:4])}{' ...' if len(names) > 4 else ''} |"
            for page, names in by_page.items()
        ]
        head = (ROOT / "docs" / "site" / "reference.txt").read_text(encoding="utf-8")
        return "\n".join([head, "| page | names | first |", "| --- | --- | --- |", *rows, ""])


def main(only_pages: bool) -> int:
    """Assemble, then build; return MkDocs' exit code."""
    shutil.rmtree(PAGES, ignore_errors=True)
    site = Site()
    site.collect()
    site.write()
    # JSON is YAML.
    tree = navigation({page: text for page, (_, text) in site.texts.items()})
    settings = {"INHERIT": "../docs/site/site.yml", "nav": tree}
    (BUILD / "site.yml").write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")
    if only_pages:
        return 0
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(BUILD / "site.yml")]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    return subprocess.run([*command, "--quiet"], env={**os.environ, **quiet}).returncode


if __name__ == "__main__":
    sys.exit(main("--only-pages" in sys.argv[1:]))
