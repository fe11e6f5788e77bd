"""The picture of a step's way through the rooms, in docs/architecture.md: it is what happens."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = re.findall(r"^```step\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)[0]
NAME = re.compile(r"[a-z]\w*(?:\.\w+)+")
# (room, name) of the lines that name a function.
LINES = [
    (line[21:31].strip(), found[0])
    for line in PICTURE.splitlines()[2:]
    if (found := NAME.search(line, 31))
]
SAID = [line[:21].strip() for line in PICTURE.splitlines()[2:] if line[:21].strip()]

PROGRAM = """
import sys
import taper

net = taper.nn.Linear(3, 2)
optimizer = taper.optim.SGD(net.parameters(), lr=0.1)
x = taper.ones(4, 3)


def step():
    optimizer.zero_grad()
    {steps}


def look(frame, event, argument):
    if event == "call":
        home = frame.f_globals.get("__name__", "")
        print(f"{{home.removeprefix('taper.')}}.{{frame.f_code.co_qualname}}")


step()
step()
sys.setprofile(look)
step()
sys.setprofile(None)
"""


@pytest.mark.parametrize(("room", "name"), LINES, ids=[name for _, name in LINES])
def test_a_name_in_the_picture_is_in_its_room(room, name):
    assert name.partition(".")[0] == room
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            target = importlib.import_module(".".join(["taper", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            target = getattr(target, part)
        assert callable(target)
        return
    pytest.fail(f"there is no {name}")


def test_the_names_go_by_in_the_order_of_the_picture():
    assert len(LINES) > 10 and len(SAID) == 3
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(steps="\n    ".join(SAID))],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TAPER_NATIVE": "0"},
    )
    assert done.stderr == ""
    calls = iter(done.stdout.splitlines())
    missed = [name for _, name in LINES if not any(call == name for call in calls)]
    assert missed == [], "the picture in docs/architecture.md shows another order, or old names"
