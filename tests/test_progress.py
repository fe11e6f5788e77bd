"""`viz.progress`: bars on a terminal and in a notebook, lines elsewhere, and what they cost."""

from __future__ import annotations

import io
import sys
import time
import types

import numpy as np
import pytest

import taper
from taper.utils import _progress as module
from taper.viz import progress

pytestmark = pytest.mark.taper_only


class Terminal(io.StringIO):
    """A screen: `lines` is what a person sees, as far as the bars' few codes go."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        rows, row = [""], 0
        text = self.getvalue()
        while text:
            if text.startswith("\x1b[2K"):
                rows[row], text = "", text[4:]
            elif text.startswith("\x1b[A"):
                row, text = row - 1, text[3:]
                assert row >= 0
            elif text[0] == "\n":
                row, text = row + 1, text[1:]
                rows += [""] * (row + 1 - len(rows))
            elif text[0] == "\r":
                text = text[1:]
            else:
                rows[row], text = rows[row] + text[0], text[1:]
        return rows


@pytest.fixture
def screen(monkeypatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_bar_on_a_terminal(screen) -> None:
    bar = progress(range(4), "epochs", file=screen, mininterval=0)
    seen = []
    for each in bar:
        seen.append(each)
        if each == 2:
            (line,) = screen.lines()
            assert line.startswith("epochs:  50% |████")
            assert "2/4 [00:00" in line
            assert len(line) < 80
    assert seen == [0, 1, 2, 3]
    line, after = screen.lines()
    assert line.startswith("epochs: 100% |")
    assert "4/4" in line
    assert after == ""


def test_a_bar_in_a_bar_has_its_own_line_and_goes(screen) -> None:
    for outer in progress(range(2), "epoch", file=screen, mininterval=0):
        for inner in progress(range(3), "batch", file=screen, mininterval=0):
            if outer == 1 and inner == 2:
                first, second = screen.lines()
                assert first.startswith("epoch:  50%")
                assert second.startswith("batch:  67%")
    lines = screen.lines()
    assert lines[0].startswith("epoch: 100%")
    assert lines[1:] == [""]
    assert module.progress._open == []


def test_a_bar_that_does_not_stay(screen) -> None:
    assert list(progress([1, 2], "short", file=screen, leave=False, mininterval=0)) == [1, 2]
    assert screen.lines() == [""]


def test_without_an_end_there_is_a_count(screen) -> None:
    with progress(desc="reading", unit="B", file=screen, mininterval=0) as bar:
        bar.update(1500)
        (line,) = screen.lines()
        assert line.startswith("reading: 1,500 [00:00, ")
        assert line.endswith("B/s]")
        with pytest.raises(TypeError, match="not known"):
            len(bar)


def test_rate_and_time_left(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    bar = progress(total=100, file=io.StringIO())
    clock[0] = 10.0
    bar.update(20)
    assert str(bar) == " 20% 20/100 [00:10<00:40, 2it/s]"
    clock[0] = 4000.0
    assert str(progress(total=9, file=io.StringIO())) == "  0% 0/9 [00:00]"
    assert str(bar).startswith(" 20% 20/100 [1:06:40<")


def test_a_slow_loop_shows_seconds_for_each_step() -> None:
    assert module._speed(0.25, "it") == "4.00s/it"
    assert module._speed(12.34, "it") == "12.3it/s"
    assert module._speed(123_456, "it") == "123,456it/s"


def test_description_and_values(screen) -> None:
    with progress(total=2, file=screen, mininterval=0) as bar:
        bar.set_description("train\ning")
        bar.set_postfix(loss=0.123456, best="yes\x1b[31m")
        bar.refresh()
        line = screen.lines()[0]
        assert line.startswith("train ing:   0% |")
        assert "loss=0.1235, best=yes [31m" in line


def test_a_narrow_terminal_cuts_the_line(screen, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    list(progress(range(3), "a long description", file=screen, mininterval=0))
    assert all(len(line) < 24 for line in screen.lines())


def test_a_terminal_without_blocks(screen) -> None:
    screen.encoding = "ascii"
    list(progress(range(2), file=screen, mininterval=0))
    assert "|####" in screen.lines()[0]


def test_lines_above_the_bar(screen, capsys) -> None:
    with progress(total=2, file=screen, mininterval=0) as bar:
        bar.update()
        bar.write("a line")
    assert capsys.readouterr().out == "a line\n"


def test_files_get_a_line_now_and_then(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    out = io.StringIO()
    for _ in progress(range(100), "reading", file=out):
        clock[0] += 0.25
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("reading:  4")
    assert lines[-1].startswith("reading: 100% 100/100 [00:25")


def test_short_work_leaves_a_log_empty() -> None:
    out = io.StringIO()
    assert list(progress(range(5), file=out)) == [0, 1, 2, 3, 4]
    assert out.getvalue() == ""


def test_nothing_is_shown_before_the_delay_or_if_it_is_off(screen, monkeypatch) -> None:
    list(progress(range(5), file=screen, mininterval=0, delay=100))
    list(progress(range(5), file=screen, mininterval=0, disable=True))
    monkeypatch.setenv("TAPER_PROGRESS", "0")
    list(progress(range(5), file=screen, mininterval=0))
    assert screen.getvalue() == ""


def test_a_loop_that_is_left_closes_its_bar(screen) -> None:
    for each in progress(range(10), file=screen, mininterval=0):
        if each == 3:
            break
    assert module.progress._open == []
    with pytest.raises(KeyError):
        for each in progress(range(10), file=screen, mininterval=0):
            raise KeyError(each)
    assert module.progress._open == []


def test_a_closed_file_does_not_stop_the_work() -> None:
    out = Terminal()
    out.close()
    out.isatty = lambda: True
    assert list(progress(range(3), file=out, mininterval=0)) == [0, 1, 2]


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="expected something to iterate over, got int"):
        progress(3)
    with pytest.raises(TypeError, match="call update"):
        list(progress(total=3, file=io.StringIO()))


class Handle:
    def __init__(self, shown: list) -> None:
        self.shown = shown

    def update(self, data, raw) -> None:
        self.shown.append(data)


def test_a_notebook_updates_one_output(monkeypatch) -> None:
    shown: list = []

    def display(data, raw, display_id):
        shown.append(data)
        return Handle(shown)

    ipython = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    list(progress(range(2), "<b>", mininterval=0))
    assert len(shown) == 3
    assert shown[-1]["text/plain"].startswith("<b>: 100% 2/2")
    assert "&lt;b&gt;" in shown[-1]["text/html"]
    assert 'value="1.0000"' in shown[-1]["text/html"]


def test_a_step_costs_little() -> None:
    count = 200_000

    def seconds(items) -> float:
        start = time.process_time()
        for _ in items:
            pass
        return time.process_time() - start

    plain = min(seconds(range(count)) for _ in range(3))
    shown = min(seconds(progress(range(count), file=io.StringIO())) for _ in range(3))
    assert shown - plain < 1e-6 * count


def test_slow_gradients_show_how_far_they_are(monkeypatch) -> None:
    seen = []

    def watched(items, desc, total=None, **options):
        seen.append((desc, total, options["delay"]))
        return items

    monkeypatch.setattr(module, "progress", watched)
    x = taper.tensor(np.ones(3), requires_grad=True)
    assert taper.autograd.gradcheck(lambda x: x.exp(), (x,))
    assert set(seen) == {("numerical gradient", 3, 2), ("analytical gradient", 3, 2)}
