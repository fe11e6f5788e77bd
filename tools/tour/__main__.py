"""Write the twelve pictures of the tour, and the scripts and their output into its pages.

    python tools/tour [FOLDER]

FOLDER, by default docs, holds `tour.md` and `tour.zh.md`; pictures go to its folder `tour`.  Every
picture is drawn from what a script of `examples/tour/` computes, run on taper.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import curves
import graphs
from runs import SCRIPTS, play

PICTURES = {
    "01_one_multiplication": graphs.one_multiplication,
    "02_leaves": graphs.leaves,
    "03_backward_in_order": graphs.backward_in_order,
    "04_gradients_add_up": curves.gradients_add_up,
    "05_saved_tensors": graphs.saved_tensors,
    "06_in_place": graphs.in_place,
    "07_grad_modes": curves.grad_modes,
    "08_without_a_derivative": curves.without_a_derivative,
    "09_hooks": graphs.hooks,
    "10_complex": curves.complex_gradients,
    "11_double_backward": graphs.double_backward,
    "12_training_loop": curves.training_loop,
}
PAGES = ("tour.md", "tour.zh.md")

# A line that links a script, the script, and what it prints.
BLOCKS = re.compile(
    r"(?<=\]\(\.\./examples/tour/)(?P<name>\w+)(?P<rest>\.py\)\n\n)"
    r"```python\n.*?```\n\n```text\n.*?```\n",
    re.DOTALL,
)


def filled(page: str, printed: dict[str, str]) -> str:
    """Return a page with the scripts it links and their output as they are now."""

    def blocks(match: re.Match[str]) -> str:
        name = match["name"]
        code = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
        return f"{name}{match['rest']}```python\n{code}```\n\n```text\n{printed[name]}```\n"

    return BLOCKS.sub(blocks, page)


def main(folder: Path) -> None:
    """Draw all pictures and fill the pages in a folder."""
    (folder / "tour").mkdir(parents=True, exist_ok=True)
    runs = {path.stem: play(path.stem) for path in sorted(SCRIPTS.glob("*.py"))}
    for name, draw in PICTURES.items():
        (folder / "tour" / f"{name}.svg").write_text(draw(runs[name]).svg(), encoding="utf-8")
    printed = {name: run.printed for name, run in runs.items()}
    for name in PAGES:
        page = folder / name
        page.write_text(filled(page.read_text(encoding="utf-8"), printed), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs")
