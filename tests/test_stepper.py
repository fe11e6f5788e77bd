"""`taper step`: the terminal stepper, through a pipe and by hand."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

import taper
from taper import nn, viz
from taper.commands import cli
from taper.commands.step import Stepper

PROGRAM = """\
import torch

x = torch.tensor(3.0, requires_grad=True)
y = torch.tensor(-2.0, requires_grad=True)
loss = x * y  # the product
loss.backward()
print("done", *__import__("sys").argv[1:])
{end}
"""


def run(tmp_path, commands, *arguments, program=PROGRAM, end=""):
    script = tmp_path / "program.py"
    script.write_text(program.format(end=end))
    return subprocess.run(
        [sys.executable, "-m", "taper", "step", *arguments, str(script), "--more"],
        input=commands,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_is_stepped_through_a_pipe(tmp_path):
    ran = run(tmp_path, "where\ninto\nnext\nback\nprint out 1\nquit\nnext\n")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[:3] == [
        "done --more",
        "3 steps of 1 backward pass. `help` lists the commands.",
        "   0 MulBackward0  1 -> -2, 3",
    ]
    assert "->    5  loss = x * y  # the product" in lines
    assert "      4  y = torch.tensor(-2.0, requires_grad=True)" in lines
    assert "(step) grad of self = grad * other = 1 * (-2) = -2" in lines
    assert "(step)    1 AccumulateGrad x  -2 -> .grad" in lines
    assert lines[-3:] == [
        *["(step) out 1: float32 [], from 3 to 3, mean 3, norm 3", "3.0", "(step) "]
    ]


@pytest.mark.parametrize(
    ("end", "code"),
    [("raise SystemExit(7)", 7), ("1 / 0", 1), ("", 0)],
    ids=["exit", "error", "ok"],
)
def test_the_exit_code_is_the_programs(tmp_path, end, code):
    ran = run(tmp_path, "", end=end)
    assert ran.returncode == code
    assert "3 steps of 1 backward pass" in ran.stdout
    assert ("ZeroDivisionError" in ran.stderr) is (code == 1)


def test_a_program_without_a_backward_pass(tmp_path):
    ran = run(tmp_path, "", program="import torch\n")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "taper step: the program ran no backward pass\n"


def test_wrong_command_lines(capsys):
    for line, said in (([], "name a SCRIPT"), (["--steps", "0", __file__], "must be positive")):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["step", *line])
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err


@pytest.fixture(scope="module")
def tape():
    taper.manual_seed(0)
    model = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 2))
    with viz.debug_backward() as found:
        for _ in range(2):
            model(taper.randn(20, 30)).square().mean().backward()
    found.model = model  # steps know their module weakly
    return found


def said(tape, *commands):
    """Return the lines that the stepper prints for some commands, after its greeting."""
    output = io.StringIO()
    stepper = Stepper(tape, io.StringIO("".join(f"{each}\n" for each in commands)), output)
    stepper.prompt = ""
    stepper.cmdloop()
    return output.getvalue().splitlines()[4 if tape.passes > 1 else 3 :]


def test_moving(tape):
    last = len(tape) - 1
    assert said(tape, "back") == ["This is the first step."]
    assert said(tape, "go last", "n")[-1] == "This is the last step."
    assert said(tape, "n 2")[0].split()[:2] == ["2", "AddmmBackward0"]
    steps = [line.split()[0] for line in said(tape, "n", "", "", "b", "") if line[:4].strip()]
    assert steps == ["1", "2", "3", "2", "1"]
    assert said(tape, f"go {last + 1}") == [
        f"There is no step {last + 1}: they go from 0 to {last}."
    ]
    assert said(tape, "go", "go x") == ["Say which step: go 3.", "Expected a number, not 'x'."]
    assert said(tape, f"go {tape.steps[11].order}")[0] == "--- pass 1 ---"


def test_finding(tape):
    assert said(tape, "find Relu")[0].split()[1] == "ReluBackward0"
    assert said(tape, "f 0 Linear")[1].startswith("     in 0 Linear at ")
    assert said(tape, "find nothing", "find", "nan") == [
        "No step has 'nothing'.",
        "Say what to look for: find Relu.",
        "No gradient on the tape has a NaN.",
    ]
    x = taper.tensor(0.0, requires_grad=True)
    with viz.debug_backward() as bad:
        (x.sqrt() * 0).backward()
    assert said(bad, "nan")[-2:][0].endswith("SqrtBackward0  0 -> nan")


def test_looking(tape):
    lines = said(tape, "go 7", "print out 2", "list", "where")
    assert lines[2].startswith("out 2: float32 [30, 40], from ")
    assert sum(int(line.split()[-1]) for line in lines[3:19]) == 1024  # a histogram
    assert "->   7 AddmmBackward0" in lines[24]
    assert "in module 0 Linear" in lines
    assert said(tape, "p out 9", "p sideways", "xyz") == [
        "There is no out 9: there are 1.",
        "Say which gradient: print in, print out, print out 1.",
        "There is no command 'xyz'; `help` lists them.",
    ]
    assert said(tape, "go 7", "into")[2] == (
        "The numbers are too many to write the arithmetic out."
    )
    assert said(tape, "find 0.bias", "where")[-1] == (
        "A leaf: here the gradient of 0.bias is added to `.grad`."
    )
    assert said(tape, "help")[0].startswith("next [N] ")


def test_steps_beyond_the_limit_are_mentioned(tmp_path):
    ran = run(tmp_path, "", "--steps", "1")
    assert "2 later steps were not kept (see --steps)." in ran.stdout
