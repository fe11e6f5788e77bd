"""The page in a browser: load, fold, search, choose a node, play the tape, on all sizes."""

from __future__ import annotations

import re

import pytest

from taper import viz
from web.conftest import SCREENSHOTS, SIZES, screenshot
from web.programs import PROGRAMS

pytestmark = pytest.mark.taper_only

SEEN = [name for name in PROGRAMS if name not in ("functional_loop", "long_chain")]


def boxes(page) -> list[str]:
    """Return the first lines of the boxes in sight."""
    return page.eval_on_selector_all(
        "#graph .box text.name", "found => found.map(each => each.textContent)"
    )


def box(page, name: str, nth: int = 0):
    return page.locator("#graph .box", has=page.get_by_text(name, exact=True)).nth(nth)


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
@pytest.mark.parametrize("name", SEEN)
def test_every_program_opens_and_fits(opened, name, size, scheme) -> None:
    page = opened(name, size, scheme)
    assert boxes(page)
    width = SIZES[size][0]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    screenshot(page, f"{name}-{size}-{scheme}")


def test_names_of_the_loss_the_leaves_and_the_inputs(opened) -> None:
    page = opened("multiplication")
    assert set(boxes(page)) == {"a", "b", "c", "MulBackward0", "loss"}
    assert page.title() == "Graph of loss"
    assert page.locator(".box.output").count() == 1
    assert page.locator(".box.leaf").count() == 2
    assert page.locator(".box.input").count() == 1


def test_a_node_shows_formula_line_shapes_and_what_it_saves(opened) -> None:
    page = opened("perceptron")
    box(page, "TanhBackward0").click()
    panel = page.locator("#panel")
    assert panel.locator("h2").inner_text() == "TanhBackward0"
    assert panel.locator("math").count() == 1
    assert "1 Tanh" in panel.inner_text()
    assert "loss = nn.functional.cross_entropy(model(x), target)" in panel.inner_text()
    assert "(5, 8)" in panel.inner_text()
    assert "output" in panel.locator("table").nth(1).inner_text()
    screenshot(page, "panel-wide-light")
    page.keyboard.press("Escape")
    assert panel.is_hidden()


def test_what_else_holds_a_saved_tensor_is_a_way_there(opened) -> None:
    page = opened("double_backward")
    box(page, "SinBackward0").click()
    page.locator("#panel button.link", has_text="x").first.click()
    assert page.locator("#panel h2").inner_text() == "x"


def test_modules_are_folded_above_sixty_nodes_and_unfold(opened) -> None:
    page = opened("transformer")
    assert "0.layers.3" in boxes(page)
    before = len(boxes(page))
    box(page, "0.layers.3").dblclick()
    page.wait_for_selector(".container text:has-text('0.layers.3')")
    assert "0.layers.3.self_attn" in boxes(page)
    assert page.locator(".views").count() > 0  # views are on the lines
    screenshot(page, "unfolded-wide-light")
    page.locator(".container text", has_text="▾ 0.layers.3").first.click()
    page.wait_for_selector(".box.chosen:has-text('0.layers.3')")
    assert len(boxes(page)) == before


def test_small_graphs_are_open_and_all_can_be_folded(opened) -> None:
    page = opened("resnet18")
    page.click("#fold-all")
    page.wait_for_selector(".box.group")
    assert "layer4" in boxes(page)
    screenshot(page, "resnet18-folded-wide-light")
    page.click("#unfold-all")
    page.wait_for_selector(".container")


def test_search_finds_modules_lines_and_leaves(opened) -> None:
    page = opened("transformer")
    page.keyboard.press("/")
    page.keyboard.type("layers.7 norm1")
    results = page.locator("#results")
    assert "found" in results.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(".box.chosen")
    assert "0.layers.7" in page.locator("#panel").inner_text()
    page.fill("#search", "0.layers.11.linear2.bias")
    results.locator("button").first.click()
    assert page.locator("#panel h2").inner_text() == "0.layers.11.linear2.bias"
    page.fill("#search", "no such thing")
    assert "0 found" in results.inner_text()


def test_the_tape_plays_forwards_and_backwards(opened) -> None:
    page = opened("multiplication")
    status = page.locator("#player output")
    assert status.inner_text() == "4 steps of backward"
    page.get_by_label("Step on").click()
    assert status.inner_text().startswith("step 1 of 4: MulBackward0")
    page.wait_for_selector(".box.now")
    assert (
        "grad of self = grad * other = 1 * 4 = 4" in page.locator("#panel .arithmetic").inner_text()
    )
    assert page.locator("#panel .histogram").count() > 0
    page.get_by_label("Step on").click()
    page.wait_for_selector(".box.done")
    page.get_by_label("Step back").click()
    assert status.inner_text().startswith("step 1 of 4")
    page.get_by_label("To the start").click()
    page.get_by_label("Play", exact=True).click()
    page.locator("#player output", has_text="step 4 of 4").wait_for()
    screenshot(page, "player-wide-light")


def test_the_tape_plays_over_folded_modules_and_shows_the_hot_path(opened) -> None:
    page = opened("transformer", "phone")
    page.get_by_label("Step on").click()
    page.get_by_label("Step on").click()
    page.wait_for_selector(".box.now")
    page.get_by_role("button", name="Hot path").click()
    page.wait_for_selector(".box.hot")
    said = page.locator("#player output").inner_text()
    assert re.fullmatch(r"hot path: .* of .* \(\d+ %\), forward .*", said)
    assert "forward" in page.locator("#panel", has_text="Time").inner_text()
    screenshot(page, "hot-phone-light")


def test_without_forward_times_the_hot_path_says_so(opened) -> None:
    page = opened("perceptron")
    page.get_by_role("button", name="Hot path").click()
    assert page.locator("#player output").inner_text().endswith("backward only")


def test_what_was_found_is_walked_with_arrows_and_fits_a_phone(opened) -> None:
    page = opened("transformer", "phone")
    page.keyboard.press("/")
    page.keyboard.type("norm1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert "0.layers.1.norm1" in page.evaluate("document.activeElement.textContent")
    box = page.locator("#results").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 400
    screenshot(page, "search-phone-light")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "0.layers.0.norm1" in page.locator("#panel").inner_text()
    assert page.evaluate("document.activeElement.id") == "graph"


def test_the_first_view_is_in_the_middle(opened) -> None:
    page = opened("transformer")
    box = page.locator("#graph .box").first.bounding_box()
    assert abs(box["x"] + box["width"] / 2 - SIZES["wide"][0] / 2) < 20


def test_a_write_into_a_part_says_what_wrote(opened) -> None:
    page = opened("in_place_on_views")
    texts = page.locator("#graph .box", has_text="CopySlices").all_text_contents()
    assert any("by MulBackward0" in text for text in texts)
    assert any("by AddBackward0" in text for text in texts)


def test_memory_by_module_and_by_line(opened) -> None:
    page = opened("resnet18")
    memory = page.locator("#memory")
    assert "saved" in memory.inner_text()
    assert "layer1" in memory.locator(".part").first.get_attribute("title")
    memory.get_by_role("button", name="by module").click()
    assert "programs.py:" in memory.locator(".part").first.get_attribute("title")


def test_zoom_pan_and_fit(opened) -> None:
    page = opened("transformer")

    def transform() -> str:
        page.wait_for_timeout(60)
        return page.locator("#graph > g").get_attribute("transform")

    first = transform()
    page.mouse.move(700, 400)
    page.mouse.wheel(0, -300)
    zoomed = transform()
    assert zoomed != first
    page.mouse.down()
    page.mouse.move(640, 340, steps=4)
    page.mouse.up()
    assert transform() != zoomed
    page.click("#fit")
    page.wait_for_timeout(60)
    inside = page.evaluate(
        "taperGraph.scene.height * taperGraph.view.scale <= taperGraph.view.size()[1]"
    )
    assert inside
    screenshot(page, "fit-wide-light")


def test_keys_walk_from_box_to_box(opened) -> None:
    page = opened("double_backward")
    page.locator("#graph").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#panel h2").inner_text() == "x"
    page.keyboard.press("ArrowDown")
    assert page.locator("#panel h2").inner_text() == "MulBackward0"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#panel h2").inner_text() == "SinBackward0"
    page.keyboard.press("ArrowUp")
    assert page.locator("#panel h2").inner_text() == "x"
    assert "x" in page.locator("#live").inner_text()


def test_touch_and_small_screens(opened) -> None:
    page = opened("perceptron", "phone", "dark", touch=True)
    box(page, "TanhBackward0").tap()
    assert page.locator("#panel h2").inner_text() == "TanhBackward0"
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    screenshot(page, "panel-phone-dark")


def test_strings_of_the_program_stay_text(opened) -> None:
    page = opened("strange_names")
    assert page.evaluate("window.owned") is None
    assert page.locator("#graph .box.leaf").count() == 1
    box(page, "ExpBackward0").click()
    page.locator(".box.leaf").click()
    assert "<script>" in page.locator("#panel h2").inner_text()
    assert page.locator("img").count() == 0


def test_ten_thousand_nodes_stay_usable(opened) -> None:
    page = opened("functional_loop")
    assert "h = h + x" in boxes(page)
    seconds = page.evaluate(
        "(() => { const start = performance.now(); taperGraph.setAll(true);"
        " taperGraph.view.drawNow(); return (performance.now() - start) / 1000; })()"
    )
    assert seconds < 10
    assert page.evaluate("taperGraph.scene.boxes.length") > 10_000
    assert page.locator("#graph .box").count() < 800  # only what is in sight is drawn
    moved = page.evaluate(
        "(() => { const start = performance.now();"
        " for (let i = 0; i < 10; i++) { taperGraph.view.pan(0, -500); taperGraph.view.drawNow(); }"
        " return (performance.now() - start) / 10; })()"
    )
    assert moved < 300
    screenshot(page, "ten-thousand-wide-light")


def test_a_chain_that_is_too_long_is_one_box(opened) -> None:
    page = opened("long_chain")
    assert "30,000" in page.locator("#graph .box.node").text_content()
    page.locator(".box.node").click()
    assert "30,000 nodes of this line are shown as one" in page.locator("#panel").inner_text()
    screenshot(page, "long-chain-wide-light")


def test_printing_shows_the_whole_graph(opened) -> None:
    page = opened("transformer")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert "0.layers.11" in boxes(page)
    assert page.locator("#player").is_hidden()
    screenshot(page, "print")


def test_a_notebook_shows_the_page_in_a_frame(browser, tmp_path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<p>before</p>{PROGRAMS['multiplication']()._repr_html_()}<p>after</p>")
    context = browser.new_context(viewport={"width": 900, "height": 700})
    page = context.new_page()
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#graph .box").first.wait_for()
    assert frame.locator("#graph .box").count() == 6
    screenshot(page, "notebook")
    context.close()


VIEWS = """
import taper
from taper import nn, optim, viz
taper.manual_seed(0)
w = taper.randn(6, 9, requires_grad=True)
model = nn.Sequential(nn.Linear(9, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 1)))
loss = model(w).exp().mean()
optimizer = optim.Adam(model.parameters())
history = viz.History("Training")
for step in range(60):
    history.add(train_loss=1 / (step + 1), val_loss=1.3 / (step + 1))
"""


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_views_in_notebooks(browser, tmp_path, size, scheme) -> None:
    scope: dict = {}
    exec(VIEWS, scope)
    shown = [scope[name]._repr_html_() for name in ("w", "model", "optimizer")]
    shown += [scope["loss"].grad_fn._repr_html_(), scope["history"].svg(smooth=0.5)]
    shown.append(viz.summary(scope["model"], scope["w"], verbose=0)._repr_html_())
    notebook = tmp_path / "views.html"
    notebook.write_text(
        "<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'>"
        f"<meta name=viewport content='width=device-width'>{'<hr>'.join(shown)}"
    )
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(notebook.as_uri())
    page.locator("summary", has_text="1 Sequential").click()
    assert page.get_by_text("in_features=4").is_visible()
    picture = page.locator("svg.h").bounding_box()
    assert picture["width"] <= width
    ink = page.locator("svg.h text").first.evaluate("each => getComputedStyle(each).fill")
    assert ink == ("rgb(31, 36, 48)" if scheme == "light" else "rgb(229, 231, 235)")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"views-{size}-{scheme}.png", full_page=True)
    context.close()
