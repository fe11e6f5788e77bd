"""The site that `make docs` has built, and a headless Chromium that opens it from disk."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "build" / "site"
SCREENSHOTS = Path(os.environ.get("TAPER_SCREENSHOTS", "build/screenshots"))
SIZES = {"wide": (1400, 900), "phone": (400, 800)}

sys.path.append(str(ROOT / "tools" / "site"))


@pytest.fixture(scope="session")
def site() -> Path:
    assert (SITE / "index.html").exists(), "run: make docs"
    return SITE


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path is not None, "there is no Chromium; `make test-docs` installs it"
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to run as root, as which CI runs.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, site: Path) -> Iterator[Callable[..., Page]]:
    """Open a page from disk; at the end nothing may have come from elsewhere, or failed."""
    contexts: list[Any] = []
    said: list[str] = []

    def open_page(path: str, size: str = "wide", scheme: str = "light") -> Page:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:")) else said.append(request.url)
            ),
        )
        page.goto((site / path).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
