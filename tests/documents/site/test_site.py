"""The built site: every link leads somewhere, nothing comes from a network, the search finds.

`make test-docs` builds the site first, strictly: a warning of MkDocs is an error.
"""

from __future__ import annotations

import html.parser
import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from documents.site.conftest import SCREENSHOTS, SITE, SIZES

pytestmark = pytest.mark.taper_only


class Links(html.parser.HTMLParser):
    """What a page refers to, what it loads, and the places in it that others can refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and given.get("href"):
            self.targets.append(given["href"])
        if tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.loaded.append(given["href"])
        if given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Links]:
    found = [path for path in site.rglob("*.html") if path.name != "404.html"]
    return {path: Links(path.read_text(encoding="utf-8")) for path in found}


def broken(path: Path, target: str, pages: dict[Path, Links]) -> bool:
    parts = urlsplit(target)
    if parts.scheme in ("http", "https", "mailto"):
        return False
    where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if where.is_dir():
        where = where / "index.html"
    if not where.exists():
        return True
    known = pages[where].places if where in pages else set()
    return bool(parts.fragment) and where.suffix == ".html" and unquote(parts.fragment) not in known


def test_links_lead_somewhere(pages):
    found = [
        f"{path.relative_to(SITE)}: {target}"
        for path, links in pages.items()
        for target in {*links.targets, *links.loaded}
        if broken(path, target, pages) and target not in ("#", "#__comments")
    ]
    assert found == []


def test_nothing_is_loaded_from_a_network(pages):
    outside = {
        target
        for links in pages.values()
        for target in links.loaded
        if urlsplit(target).scheme in ("http", "https") or target.startswith("//")
    }
    assert outside == set()


def test_every_public_name_has_its_entry(pages):
    import reference

    missing = []
    for entry in reference.entries().values():
        page = SITE / entry.page.replace(".md", ".html")
        if page not in pages or entry.full not in pages[page].places:
            missing.append(entry.full)
    assert missing == []
    assert len(reference.entries()) > 3000


def test_the_reference_knows_every_package_of_pytorch_that_is_there():
    """Names as PyTorch documents them: `tools/api_names.txt`, by package."""
    import reference

    coverage = reference.module_at("tools/coverage.py")
    known, lacking = reference.entries(), []
    for area, names in coverage.known_names().items():
        owner = coverage.counterpart(area)
        for each in names:
            full = f"{area}.{each.name}".replace("torch", "taper", 1)
            if coverage.is_there(owner, each) and full not in known:
                lacking.append(full)
    assert lacking == []


def test_an_entry_has_its_parts(pages):
    text = (SITE / "reference" / "taper-elementwise.html").read_text(encoding="utf-8")
    entry = text.partition('id="taper.exp"')[2].partition("<h2")[0]
    for part in ("Arguments", "Shape", "Example", "Derivative", "ExpBackward0", "<pre"):
        assert part in entry, part


QUERIES = {
    "why is my grad None": "howto/why-is-my-grad-none.html",
    "freeze a layer": "howto/freeze-a-layer.html",
    "in-place error": "howto/in-place-error.html",
    "save and load": "howto/save-and-load.html",
    "two processes": "howto/two-processes.html",
    "run my PyTorch script": "start/run-your-script.html",
    "nan": "howto/find-nan.html",
    "custom gradient": "howto/custom-gradient.html",
    "backward a second time": "howto/backward-twice.html",
    "out of memory": "howto/memory.html",
    "softmax": "reference/",
    "Conv2d": "reference/taper.nn-conv.html",
    "叶子": "learn/zh/",
}


def test_the_search_finds_the_page(opened, site):
    """From disk, where there is no server to ask."""
    page = opened("index.html")
    found = {}
    for query in QUERIES:
        for text in ("", query):
            page.fill("input.md-search__input", text)
            page.press("input.md-search__input", "Shift")  # it listens to keys alone
            items = "document.querySelectorAll('.md-search-result__item').length"
            page.wait_for_function(f"() => {items} {'>' if text else '=='} 0")
        page.wait_for_timeout(200)
        first = page.locator(".md-search-result__item a").first.get_attribute("href")
        found[query] = first.partition("build/site/")[2]
    assert {
        query: place for query, place in found.items() if not place.startswith(QUERIES[query])
    } == {}


SHOWN = {
    "home": "index.html",
    "howto": "howto/in-place-error.html",
    "chapter": "learn/03.html",
    "chapter-zh": "learn/zh/03.html",
    "reference": "reference/taper.nn-conv.html",
    "engine": "explanation/engine.html",
    "performance": "explanation/performance.html",
    "notebook": "notebooks/10_looking_inside.html",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_pages_fit_the_screen(opened, size, scheme):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for name, path in SHOWN.items():
        page = opened(path, size, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], name
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light"), name
        page.screenshot(path=SCREENSHOTS / f"site-{name}-{size}-{scheme}.png")


def test_the_index_is_no_larger_than_a_page_may_be(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert len(index["docs"]) > 3000
    assert (site / "search" / "search_index.json").stat().st_size < 4_000_000
