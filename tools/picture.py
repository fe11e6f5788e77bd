"""Takes README's picture: the page of a small network's graph, in a headless Chromium.

    python tools/picture.py [FILE]

FILE is docs/images/look-inside.png unless said otherwise.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import taper
from taper import nn, viz

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "look-inside.png"
SIZE = {"width": 1100, "height": 640}


def page() -> viz.Page:
    """Return the page of a training step, with its backward pass to play."""
    taper.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    x, target = taper.randn(5, 4), taper.tensor([0, 1, 2, 0, 1])
    with viz.debug_backward(forward=True) as tape:
        loss = nn.functional.cross_entropy(model(x), target)
        graph = viz.graph(loss, model)
        loss.backward()
    return viz.show(graph, tape=tape, title="Graph of loss")


def main(output: Path) -> None:
    """Write the picture."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = page().save(Path(folder) / "loss.html")
        # Chromium's sandbox refuses to run as root.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport=SIZE)
        view.goto(Path(file).as_uri())
        view.locator("#graph .box", has=view.get_by_text("TanhBackward0", exact=True)).click()
        view.wait_for_timeout(300)
        output.parent.mkdir(parents=True, exist_ok=True)
        view.screenshot(path=output)
        browser.close()
    # Few colours: a third of the size.
    Image.open(output).convert("RGB").quantize(96).save(output, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
