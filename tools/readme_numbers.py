"""Writes README's table of numbers from docs/performance.md, which `make bench` has written.

python tools/readme_numbers.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The rows of the page that README shows, and what they are called there.
SHOWN = {
    "step: 5x5 variance fit, SGD": "step of a 5x5 variance fit, SGD",
    "step: 32-64-64-10, Adam": "step of a perceptron 32-64-64-10, Adam",
    "step: 784-512-512-10, Adam": "step of a perceptron 784-512-512-10, Adam",
    "step: LSTM 128, 32 steps": "step of an LSTM, 128 wide, 32 long",
    "step: GPT, 4 blocks of 128": "step of a GPT, 4 blocks of 128",
    "step: MNIST CNN, 64 images": "step of a small CNN, 64 images",
    "step: ResNet-18, 8x3x96x96": "step of a ResNet-18, 8x3x96x96",
    "import, beyond NumPy's": "import, beyond NumPy's",
}
HEAD = "| | taper | PyTorch | ratio |\n| --- | ---: | ---: | ---: |\n"
TABLE = re.compile(rf"{re.escape(HEAD)}(?:\|.*\n)*")


def time(number: str, unit: str) -> str:
    """Return a time as people say it: `25 us`, `2.9 ms`."""
    value = float(number) * {"us": 1, "ms": 1000}[unit]
    return f"{value / 1000:.1f} ms" if value >= 1000 else f"{value:.0f} us"


def rows(page: str) -> str:
    """Return the rows of README's table; those that were not measured are left out."""
    found = []
    for head, body in re.findall(r"^\| workload \| (.*)\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE):
        unit = "ms" if head.startswith("taper ms") else "us"
        for name, ours, theirs, ratio in re.findall(
            r"^\| (.*?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", body, re.MULTILINE
        ):
            if name in SHOWN:
                found.append(
                    f"| {SHOWN[name]} | {time(ours, unit)} | {time(theirs, unit)} | {ratio} |\n"
                )
    return "".join(found)


def filled(readme: str, page: str) -> str:
    """Return README with the numbers of the page."""
    return TABLE.sub(lambda _: HEAD + rows(page), readme, count=1)


if __name__ == "__main__":
    texts = (ROOT / "README.md", ROOT / "docs" / "performance.md")
    readme, page = (path.read_text(encoding="utf-8") for path in texts)
    texts[0].write_text(filled(readme, page), encoding="utf-8")
