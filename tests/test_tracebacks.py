"""Tracebacks: what a user sees of an error that nobody catches, and what the error itself says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

import taper
from taper import nn
from taper.autograd import tracebacks
from taper.autograd.provenance import describe, here

WRONG_CONVOLUTION = """\
import taper
from taper import nn
{more}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(16, 8, 3))

    def forward(self, x):
        return self.features(x)


{run}
"""
MESSAGE = (
    "RuntimeError: Given groups=1, weight of size [8, 16, 3, 3], expected input[2, 8, 6, 6] to "
    "have 16 channels, but got 8 channels instead\nIn module features.2 Conv2d\n"
)
CALL = "Net()(taper.ones(2, 3, 8, 8))"


def shown(tmp_path, run=CALL, more="", **environment):
    """Return what a program that fails writes to stderr."""
    script = tmp_path / "program.py"
    script.write_text(WRONG_CONVOLUTION.format(run=run, more=more))
    settings = {**os.environ, "TAPER_FULL_TRACEBACK": "0", **environment}
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=settings, check=False
    )
    return ran.stderr


def files(text):
    return [line.split('"')[1] for line in text.splitlines() if line.startswith('  File "')]


def test_frames_inside_taper_are_folded(tmp_path):
    text = shown(tmp_path)
    assert {Path(each).name for each in files(text)} == {"program.py"}
    assert len(files(text)) == 2
    assert text.startswith("(")
    assert "frames inside taper not shown; TAPER_FULL_TRACEBACK=1 shows all)\n" in text
    assert text.endswith(MESSAGE)


def test_a_switch_shows_all_frames(tmp_path):
    text = shown(tmp_path, TAPER_FULL_TRACEBACK="1")
    assert text.startswith("Traceback (most recent call last):\n")
    assert len(files(text)) > 8
    assert text.endswith(MESSAGE)


def test_frames_are_folded_in_threads_and_in_the_errors_that_led_to_one(tmp_path):
    run = f"""
def work():
    try:
        {CALL}
    except RuntimeError as error:
        raise KeyError("outer") from error
import threading
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    text = shown(tmp_path, run)
    ours = os.path.dirname(taper.__file__)
    assert "Exception in thread" in text
    assert MESSAGE in text
    assert "KeyError: 'outer'" in text
    assert not [each for each in files(text) if each.startswith(ours)]


def test_hooks_of_others_are_left_alone(tmp_path):
    more = "import sys\nsys.excepthook = lambda *error: print('mine', error[0].__name__)"
    run = f"print('mine', file=sys.stderr)\n{CALL}"
    assert shown(tmp_path, run, more) == "mine\n"


def test_an_error_from_outside_is_shown_as_ever(tmp_path):
    text = shown(tmp_path, "raise ValueError('own')")
    assert text.startswith("Traceback")
    assert text.endswith("ValueError: own\n")


def failure():
    try:
        nn.Linear(3, 3)(taper.ones(2, 4))
    except RuntimeError as error:
        return error


def test_the_error_keeps_its_whole_traceback(monkeypatch):
    monkeypatch.delenv("TAPER_FULL_TRACEBACK", raising=False)
    error = failure()
    whole = error.__traceback__
    with tracebacks.folding(error) as count:
        assert count >= 2
        assert error.__traceback__.tb_next is None
    assert error.__traceback__ is whole


def test_a_traceback_inside_taper_alone_stays():
    trace = failure().__traceback__.tb_next
    assert tracebacks.folded(trace) == (None, 0)


class Formatter:
    """Stands for what IPython formats tracebacks with."""

    def structured_traceback(self, etype, evalue=None, etb=None, tb_offset=None):
        lines = []
        while etb is not None:
            lines.append(etb.tb_frame.f_code.co_name)
            etb = etb.tb_next
        return [*lines, str(evalue)]


def test_notebooks_show_folded_tracebacks(monkeypatch):
    monkeypatch.delenv("TAPER_FULL_TRACEBACK", raising=False)
    shell = types.SimpleNamespace(InteractiveTB=Formatter())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    before = sys.excepthook, threading.excepthook
    monkeypatch.setattr(sys, "excepthook", print)
    monkeypatch.setattr(threading, "excepthook", print)
    tracebacks.install()
    tracebacks.install()  # once is enough
    assert (sys.excepthook, threading.excepthook) == (print, print) != before
    error = failure()
    lines = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__, 1)
    assert lines[0].endswith("inside taper not shown; TAPER_FULL_TRACEBACK=1 shows all)")
    assert lines[1:] == ["failure", str(error)]
    monkeypatch.setenv("TAPER_FULL_TRACEBACK", "1")
    lines = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    assert len(lines) > 3


def test_cells_have_the_names_that_ipython_gives_them(monkeypatch):
    compiler = types.SimpleNamespace(format_code_name=lambda name: ("Cell", "In[3]"))
    shell = types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert describe(here()).startswith("Cell In[3], line ")
    compiler.format_code_name = lambda name: None  # a file
    assert describe(here()).startswith(__file__)


class Block(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.layers = nn.ModuleList([nn.Identity(), body])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.mark.parametrize(
    ("module", "note"),
    [
        (Block(nn.Linear(3, 3)), "In module layers.1 Linear"),
        (nn.Sequential(Block(nn.LayerNorm(3))), "In module 0.layers.1 LayerNorm"),
        (nn.Linear(3, 3), "In module Linear"),
    ],
)
def test_an_error_of_an_operator_names_the_module(module, note):
    with pytest.raises(RuntimeError) as caught:
        module(taper.ones(2, 4))
    assert caught.value.__notes__ == [note]


def test_a_module_outside_its_caller_is_named_by_its_class():
    other = nn.Linear(3, 3)

    class Caller(nn.Module):
        def forward(self, x):
            return other(x)

    with pytest.raises(RuntimeError) as caught:
        nn.Sequential(Caller())(taper.ones(2, 4))
    assert caught.value.__notes__ == ["In module Linear"]


def test_errors_of_users_are_left_alone():
    class Own(nn.Module):
        def forward(self, x):
            raise ValueError("own")

    with pytest.raises(ValueError, match="own") as caught:
        nn.Sequential(Own())(1)
    assert not hasattr(caught.value, "__notes__")


def test_a_nan_in_backward_is_an_error_that_names_the_line():
    x = taper.zeros(1, requires_grad=True)
    with taper.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="SqrtBackward0"):
        y = x.sqrt() * 0  # the line
        with pytest.raises(RuntimeError) as caught:
            y.backward()
    first, second = str(caught.value).split("\n")
    assert first == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert second.startswith("It was recorded at ")
    assert second.endswith(": y = x.sqrt() * 0  # the line")


def in_place(*modules):
    model = Block(nn.Sequential(*modules))
    with pytest.raises(RuntimeError) as caught:
        model(taper.ones(2, 3)).sum().backward()
    return str(caught.value).split("\n")[1:]


def test_a_write_in_place_names_both_modules():
    saved, written = in_place(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
    assert saved.startswith("It was saved by SigmoidBackward0 in layers.1.1 Sigmoid at ")
    assert saved.endswith("in forward: x = layer(x)")
    assert written == "and overwritten by ReluBackward0 in layers.1.2 ReLU at the same line"


def test_a_nan_in_backward_names_the_module():
    class Root(nn.Module):
        def forward(self, x):
            return x.sqrt() * 0

    model = nn.Sequential(nn.Linear(3, 3, bias=False), Root())
    with taper.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="SqrtBackward0"):
        with pytest.raises(RuntimeError, match="It was recorded in 1 Root at .*: return x.sqrt"):
            model(taper.zeros(2, 3)).sum().backward()


OVERWRITTEN = """\
y = taper.ones(2, requires_grad=True).exp()
z = y * y
y.data_ptr(); y.detach().add_(1)
z.sum().backward()
"""


def test_the_hint_to_anomaly_mode_is_not_shown_where_the_line_follows(tmp_path):
    text = shown(tmp_path, run=OVERWRITTEN)
    assert "Hint: enable anomaly detection" not in text
    assert "expected version 0 instead.\nIt was saved by MulBackward0 at " in text
    text = shown(tmp_path, run=OVERWRITTEN, TAPER_FULL_TRACEBACK="1")
    assert "Hint: enable anomaly detection" in text


def test_the_error_itself_keeps_the_text_of_pytorch():
    y = taper.ones(2, requires_grad=True).exp()
    z = y * y
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="Hint: enable anomaly detection") as caught:
        z.sum().backward()
    with tracebacks.folding(caught.value):
        assert "Hint" not in str(caught.value)
    assert "Hint" in str(caught.value)
