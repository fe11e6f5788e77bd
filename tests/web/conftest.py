"""A headless Chromium for the tests of the page; see `make test-web`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from web.programs import PROGRAMS

SCREENSHOTS = Path(os.environ.get("TAPER_SCREENSHOTS", "build/screenshots"))
SIZES = {"wide": (1400, 900), "phone": (400, 800)}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("there is no Chromium; `make test-web` installs it")
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to run as root, as which CI runs.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the file of a program's page, written on first use."""
    folder = tmp_path_factory.mktemp("pages")

    def file(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            PROGRAMS[name]().save(path)
        return path

    return file


@pytest.fixture
def opened(browser: Browser, files: Callable[[str], Path]) -> Iterator[Callable[..., Page]]:
    """Open the page of a program; at the end nothing may have been said on the console."""
    contexts: list[Any] = []
    said: list[str] = []

    def open_page(
        name: str, size: str = "wide", scheme: str = "light", touch: bool = False
    ) -> Page:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=touch
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if outside(request.url) else 0)
        page.goto(files(name).as_uri())
        page.wait_for_selector("#graph .box")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def outside(url: str) -> bool:
    return not url.startswith(("file:", "data:"))


def screenshot(page: Page, name: str) -> None:
    """Keep a picture of the page as output of the tests."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(150)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
