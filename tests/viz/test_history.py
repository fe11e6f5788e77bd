"""`viz.History`: collecting, reading, plots as SVG and PNG, blocks, files, live drawing."""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
import sys
import types
import xml.etree.ElementTree as ElementTree
import zlib
from itertools import pairwise

import numpy as np
import pytest

import taper
from taper.viz import History
from taper.viz.history import smoothed
from taper.viz.plot import number
from taper.viz.raster import Canvas, png_bytes
from taper.viz.strokes import strokes_of

pytestmark = pytest.mark.taper_only

NAN = math.nan


def history(*values: float, **options) -> History:
    made = History(**options)
    for value in values:
        made.add(loss=value)
    return made


def pixels(data: bytes) -> np.ndarray:
    """Read a PNG of 8 bits for red, green and blue without filters, and check its checksums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, found = 8, {}
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind = data[place + 4 : place + 8]
        found[kind] = data[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert checksum == zlib.crc32(kind + found[kind])
        place += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", found[b"IHDR"][:10])
    assert (depth, colour) == (8, 2)
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


# --- collecting --------------------------------------------------------------------------------


def test_values_of_every_kind_become_floats() -> None:
    made = History()
    weight = taper.tensor([0.5], requires_grad=True)
    made.add(a=1, b=taper.tensor(2.0), c=np.float32(3), d=weight * 8)
    assert [made[name] for name in made.metrics] == [[1.0], [2.0], [3.0], [4.0]]
    assert all(type(made[name][0]) is float for name in made.metrics)
    for wrong, text in (
        (taper.ones(3), r"Tensor of shape \(3,\)"),
        ("x", "got str"),
        (None, "NoneType"),
    ):
        with pytest.raises(TypeError, match=text):
            made.add(a=5.0, e=wrong)
    assert made["a"] == [1.0]  # a refused call records nothing
    with pytest.raises(ValueError, match="finite number"):
        made.add(a=1.0, step=NAN)


def test_steps_follow_each_other() -> None:
    made = History()
    made.add(loss=1.0)
    made.add(loss=0.5, step=10)
    made.add({"loss": 0.25}, accuracy=0.9)
    made.add(loss=7.0, run="other")
    assert made.series("loss", "") == ([0, 10, 11], [1.0, 0.5, 0.25])
    assert made.series("loss", "other") == ([0], [7.0])
    assert made.series("accuracy") == ([11], [0.9])
    assert (made.runs, made.metrics, len(made)) == (["", "other"], ["loss", "accuracy"], 5)
    assert "loss" in made
    assert "lr" not in made


def test_what_is_not_there_is_named() -> None:
    made = history(1.0)
    made.add(loss=1.0, run="b")
    with pytest.raises(KeyError, match="several runs"):
        made["loss"]
    with pytest.raises(KeyError, match="there is no 'x' in the history; there is loss"):
        made["x"]
    with pytest.raises(KeyError, match="there is no 'x'"):
        made.svg("x")
    with pytest.raises(KeyError, match="there is no run 'c'"):
        made.svg(runs=["c"])
    with pytest.raises(ValueError, match="smooth"):
        made.svg(smooth=1.0)
    with pytest.raises(ValueError, match="scale"):
        made.png(scale=0)


# --- text --------------------------------------------------------------------------------------


def test_lines_of_blocks() -> None:
    assert history(1, 2, NAN, 4).sparkline("loss") == "▁▃ █"
    assert history(*range(8)).sparkline("loss") == "▁▂▃▄▅▆▇█"
    assert history(3, 3).sparkline("loss") == "▁▁"
    assert history(NAN).sparkline("loss") == " "
    assert len(history(*range(1000)).sparkline("loss")) == 40
    assert history(*range(1000)).sparkline("loss", width=4) == "▁▃▆█"


def test_a_line_for_each_metric() -> None:
    made = history(2.0, NAN, 0.5, title="Run 1")
    made.add(val_loss=1.0)
    assert str(made).splitlines() == [
        "Run 1",
        "loss      █ ▁  last 0.5, least 0.5 at 2, greatest 2 at 0, 1 NaN",
        "val_loss  ▁    last 1, least 1 at 3, greatest 1 at 3",
    ]
    assert repr(made) == "<History of 4 values: loss, val_loss>"
    assert str(History()) == "an empty history: nothing was recorded"
    assert str(history(NAN)) == "loss     last nan, 1 NaN"


# --- plots -------------------------------------------------------------------------------------


def curves(svg: str, colour: str = "s0") -> list[list[tuple[float, float]]]:
    """Return the points of the curves of a colour."""
    ElementTree.fromstring(svg)
    found = re.findall(rf'<path d="M([^"]*)" stroke="var\(--{colour}\)" stroke-width="[12]', svg)
    return [[tuple(map(float, each.split())) for each in path.split("L")] for path in found]


def test_a_plot_is_an_svg_with_one_curve() -> None:
    (points,) = curves(history(3, 2, 1).svg())
    assert len(points) == 3
    assert points[0][0] < points[1][0] < points[2][0]
    assert points[0][1] < points[1][1] < points[2][1]  # downwards is greater


def test_a_gap_divides_a_curve_and_a_lone_value_is_a_dot() -> None:
    svg = history(3, 2, NAN, 4, math.inf, 1, 0).svg()
    assert [len(each) for each in curves(svg)] == [2, 2]
    assert 'stroke-width="4.0"' in svg


def test_a_logarithmic_axis() -> None:
    svg = history(1000, 100, 10, 0, 1).svg(log=True)
    first, *_ = curves(svg)
    steps = [b[1] - a[1] for a, b in pairwise(first)]
    assert steps[0] == pytest.approx(steps[1], abs=0.2)
    assert ">100</text>" in svg
    assert "(log)" in svg
    assert "no positive value" in history(-1.0, 0.0).svg(log=True)


def test_smoothing() -> None:
    assert smoothed([1.0, 3.0], 0.5) == [1.0, pytest.approx(7 / 3)]
    assert smoothed([2.0, NAN, 2.0], 0.9)[2] == pytest.approx(2.0)
    svg = history(1, 5, 2).svg(smooth=0.9)
    assert 'opacity="0.3"' in svg
    assert len(curves(svg)) == 2


def test_train_and_val_share_a_plot_and_so_do_runs() -> None:
    made = History()
    for run in ("a", "b"):
        made.add(train_loss=1.0, val_loss=2.0, accuracy=0.5, run=run)
    svg = made.svg()
    assert ">loss</text>" in svg
    assert ">accuracy</text>" in svg
    assert ">train_loss a</text>" in svg
    assert ">val_loss" not in made.svg("accuracy")
    assert "accuracy b" not in made.svg(runs="a")


def test_many_points_stay_small() -> None:
    made = history(*np.random.default_rng(0).random(50_000))
    assert len(made.svg()) < 100_000


def test_names_are_escaped_and_odd_numbers_do_not_break_a_plot() -> None:
    made = History("<script>alert(1)</script>")
    made.add({'"><img src=x>': 1.0, "b\n": 2.0})
    svg = made.svg()
    assert "<script" not in svg
    assert "<img" not in svg
    ElementTree.fromstring(svg)
    for values in ((1e300, -1e300), (5e-324, 0.0), (1.0, 1.0 + 1e-15), (NAN,), (1e-9, 2e-9)):
        ElementTree.fromstring(history(*values).svg())
        assert history(*values).png(scale=1)
    assert "nothing was recorded" in History().svg()


def test_ticks_are_written_shortly() -> None:
    assert number(0.30000000000000004, 0.1) == "0.3"
    assert number(1e-7, 1e-8) == "1.0e-7"
    assert number(2_000_000.0, 1_000_000.0) == "2e6"
    assert number(1500.0, 500.0) == "1500"


def test_a_png_shows_the_same() -> None:
    made = history(1, 0, title="Title")
    light, dark = pixels(made.png(scale=1)), pixels(made.png(scale=1, dark=True))
    assert light.shape == dark.shape == (290, 760, 3)
    assert light[0, 0].tolist() == [255, 255, 255]
    assert dark[0, 0].tolist() == [20, 23, 27]
    blue = (np.abs(light.astype(int) - [37, 99, 168]).sum(2) < 30).nonzero()
    assert blue[0].size > 500  # the curve, from the upper left to the lower right
    assert np.corrcoef(*blue)[0, 1] > 0.9
    assert pixels(made.png()).shape == (580, 1520, 3)


def test_lines_and_letters_of_pixels() -> None:
    canvas = Canvas(10, 10, (255, 255, 255))
    canvas.line([(0, 5), (10, 5)], (0, 0, 0), width=2)
    assert canvas.pixels[4:6, 2:8].max() == 0
    assert canvas.pixels[2].min() == 255
    canvas.line([(-50, -50), (-40, -40)], (0, 0, 0))  # outside
    canvas.line([], (0, 0, 0))
    canvas.text(0, 9, "aé", 9, (255, 0, 0))
    assert (canvas.pixels[..., 1] < 100).any()
    assert strokes_of("é") == strokes_of("中")
    letters = [chr(code) for code in range(33, 127)]
    shapes = {letter: strokes_of(letter) for letter in letters}
    assert len(set(shapes.values())) == len(letters)
    assert all(0 <= x <= 4 and 0 <= y <= 8 for s in shapes.values() for p in s for x, y in p)
    assert pixels(png_bytes(np.arange(12, dtype=np.uint8).reshape(2, 2, 3))).ravel().tolist() == [
        *range(12)
    ]


# --- files -------------------------------------------------------------------------------------


def test_files(tmp_path) -> None:
    made = History("T")
    made.add(loss=0.5)
    made.add(loss=NAN, accuracy=1.0, step=1.5)
    made.add(loss=1e-30, run="é,")
    for ending in ("json", "csv"):
        again = History.load(made.save(tmp_path / f"new/h.{ending}"))
        assert repr(again._series) == repr(made._series)
    assert made.csv().splitlines() == [
        "run,step,loss,accuracy",
        ",0,0.5,",
        ",1.5,nan,1.0",
        '"é,",0,1e-30,',
    ]
    assert History.load(tmp_path / "new/h.json").title == "T"
    assert made.save(tmp_path / "h.png", log=True).read_bytes().startswith(b"\x89PNG")
    assert made.save(tmp_path / "h.svg", smooth=0.5).read_text().startswith("<svg")
    with pytest.raises(ValueError, match="must end in"):
        made.save(tmp_path / "h.gif")
    with pytest.raises(TypeError, match="no option 'log'"):
        made.save(tmp_path / "h.csv", log=True)
    assert repr(pickle.loads(pickle.dumps(made))._series) == repr(made._series)


# --- live --------------------------------------------------------------------------------------


def test_live_in_a_notebook(monkeypatch) -> None:
    shown: list = []

    class Handle:
        def update(self, data, raw) -> None:
            shown.append(("update", data))

    def display(data, raw, display_id):
        shown.append(("display", data))
        return Handle()

    shell = types.SimpleNamespace(kernel=1)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    made = history(2, 1, live=True, every=0)
    assert [each for each, _ in shown] == ["display", "update"]
    assert set(shown[1][1]) == {"text/plain", "image/svg+xml"}
    made._every = 1000
    made.add(loss=0.5)
    assert len(shown) == 2  # not at every value


def test_live_on_a_terminal(monkeypatch, capsys) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    history(2, 1, live=True, every=0)
    assert screen.getvalue().endswith("\r\x1b[2Kloss █▁ 1")
    history(2, 1).show()
    assert capsys.readouterr().out.startswith("loss  █▁")
