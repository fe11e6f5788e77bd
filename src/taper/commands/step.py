"""`taper step`: walk through a program's backward passes in the terminal, forwards and backwards.

Owns: the commands of the stepper and what they print.  The program runs first, to its end, with a
tape on; the stepper then reads the tape, so that going back costs nothing.
"""

from __future__ import annotations

import argparse
import cmd
import linecache
import sys
from collections.abc import Sequence
from typing import Any

from taper.commands.program import add_program, check_program, start
from taper.viz.summaries import Summary, number
from taper.viz.tape import Step, Tape, debug_backward

MOST_STEPS = 10_000
AROUND = 2  # source lines shown before and after the user's
WIDTH = 30  # of the longest bar of a histogram

HELP = """\
next [N]    go on by one step, or by N           (n)
back [N]    go back by one step, or by N         (b)
go N        go to step N; first, last            (g)
into        the arithmetic of this step, and all its gradients  (i)
where       the line of your program, and its module            (w)
print WHAT  the numbers of a gradient: in, out, in 1, out 0     (p)
find TEXT   go on to the next step whose name, module or line has TEXT  (f)
nan         go to the first step that sends a NaN
list        the steps around this one            (l)
quit        leave                                (q)
An empty line repeats `next` or `back`."""

_SHORT = {"n": "next", "b": "back", "g": "go", "i": "into", "w": "where", "p": "print"}
_SHORT |= {"f": "find", "l": "list", "q": "quit", "h": "help", "?": "help", "EOF": "quit"}


class Stepper(cmd.Cmd):
    """Reads commands, and shows the tape from one step to the next."""

    prompt = "(step) "

    def __init__(self, tape: Tape, stdin: Any = None, stdout: Any = None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = self.stdin is sys.stdin and sys.stdin.isatty()
        self.tape = tape
        self.place = 0

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self.tape[self.place]

    def say(self, text: str) -> None:
        """Print to the user."""
        self.stdout.write(text + "\n")

    def preloop(self) -> None:
        """Say what there is, and show the first step."""
        passes = "1 backward pass" if self.tape.passes == 1 else f"{self.tape.passes} passes"
        self.say(f"{len(self.tape)} steps of {passes}. `help` lists the commands.")
        if self.tape.dropped:
            self.say(f"{self.tape.dropped} later steps were not kept (see --steps).")
        self.show()

    def show(self) -> None:
        """Print the present step in one line, with its line of the program."""
        step = self.step
        if self.tape.passes > 1 and (self.place == 0 or self.tape[self.place - 1].run != step.run):
            self.say(f"--- pass {step.run} ---")
        self.say(str(step))
        if step.line:
            within = f"in {step.module} " if step.module else ""
            self.say(f"     {within}at {step.line}")

    # --- moving -------------------------------------------------------------------------------

    def move(self, distance: int) -> None:
        """Go so many steps, as far as there are any."""
        place = min(max(self.place + distance, 0), len(self.tape) - 1)
        if place == self.place and distance:
            self.say("This is the last step." if distance > 0 else "This is the first step.")
            return
        self.place = place
        self.show()

    def do_next(self, text: str) -> None:
        """Go on."""
        if (count := self.count(text, 1)) is not None:
            self.move(count)

    def do_back(self, text: str) -> None:
        """Go back."""
        if (count := self.count(text, 1)) is not None:
            self.move(-count)

    def do_go(self, text: str) -> None:
        """Go to a step."""
        known = {"first": 0, "last": len(self.tape) - 1}
        place = known[text] if text in known else self.count(text, None)
        if place is None:
            return
        if not 0 <= place < len(self.tape):
            self.say(f"There is no step {place}: they go from 0 to {len(self.tape) - 1}.")
            return
        self.place = place
        self.show()

    def count(self, text: str, usual: int | None) -> int | None:
        """Return the number that a command was given; None, after saying so, if it is none."""
        if not text and usual is not None:
            return usual
        if not text.isascii() or not text.isdigit():
            self.say(f"Expected a number, not {text!r}." if text else "Say which step: go 3.")
            return None
        return int(text)

    def do_find(self, text: str) -> None:
        """Go on to a step with a text."""
        after = [*self.tape.steps[self.place + 1 :], *self.tape.steps[: self.place + 1]]
        for step in after if text else ():
            if text in f"{step.name} {step.leaf} {step.module} {step.line}":
                self.place = step.order
                self.show()
                return
        self.say(f"No step has {text!r}." if text else "Say what to look for: find Relu.")

    def do_nan(self, text: str) -> None:
        """Go to the first step that sends a NaN."""
        for step in self.tape:
            if any(each is not None and each.nan for each in (*step.outputs, *step.inputs)):
                self.place = step.order
                self.show()
                return
        self.say("No gradient on the tape has a NaN.")

    # --- looking ------------------------------------------------------------------------------

    def do_list(self, text: str) -> None:
        """List the steps around."""
        for place in range(max(self.place - 5, 0), min(self.place + 6, len(self.tape))):
            self.say(f"{'->' if place == self.place else '  '}{self.tape[place]}")

    def do_into(self, text: str) -> None:
        """Show the arithmetic and the gradients."""
        step = self.step
        self.say(step.arithmetic or "The numbers are too many to write the arithmetic out.")
        for name, summaries in (("in", step.inputs), ("out", step.outputs)):
            for place, summary in enumerate(summaries):
                self.say(f"  {name} {place}: {_line(summary)}")
        self.say(f"  {step.seconds * 1e6:.1f} us, {step.freed} bytes freed")

    def do_where(self, text: str) -> None:
        """Show the line of the program."""
        step = self.step
        if step.source is None:
            leaf = f" of {step.leaf}" if step.leaf else ""
            self.say(f"A leaf: here the gradient{leaf} is added to `.grad`.")
            return
        if step.module:
            self.say(f"in module {step.module}")
        self.say(step.line)
        code, number = step.source
        for line in range(max(number - AROUND, 1), number + AROUND + 1):
            source = linecache.getline(code.co_filename, line).rstrip()
            if source:
                self.say(f"{'->' if line == number else '  '} {line:>4}  {source}")

    def do_print(self, text: str) -> None:
        """Print the numbers of a gradient."""
        words = text.split() or ["out"]
        sides = {"in": self.step.inputs, "out": self.step.outputs or self.step.inputs}
        if words[0] not in sides or not all(each.isdigit() for each in words[1:]):
            self.say("Say which gradient: print in, print out, print out 1.")
            return
        summaries = sides[words[0]]
        places = [int(each) for each in words[1:]] or range(len(summaries))
        for place in places:
            if place >= len(summaries):
                self.say(f"There is no {words[0]} {place}: there are {len(summaries)}.")
                continue
            self.say(f"{words[0]} {place}: {_line(summaries[place])}")
            if summaries[place] is not None:
                self.say(_numbers(summaries[place]))

    # --- the rest -----------------------------------------------------------------------------

    def do_help(self, arg: str) -> None:
        """List the commands."""
        self.say(HELP)

    def do_quit(self, text: str) -> bool:
        """Leave."""
        return True

    def parseline(self, line: str) -> tuple[str | None, str | None, str]:
        """Let a command have a short name."""
        first, _, rest = line.strip().partition(" ")
        return super().parseline(f"{_SHORT.get(first, first)} {rest.strip()}".strip())

    def emptyline(self) -> bool:
        """Move again as last time."""
        return self.onecmd("back" if self.lastcmd.split()[:1] in (["b"], ["back"]) else "next")

    def default(self, line: str) -> None:
        """Say that there is no such command."""
        self.say(f"There is no command {line.split()[0]!r}; `help` lists them.")


def _line(summary: Summary | None) -> str:
    if summary is None:
        return "no gradient"
    text = (
        f"{summary.dtype} {list(summary.shape)}, from {number(summary.min)} to "
        f"{number(summary.max)}, mean {number(summary.mean)}, norm {number(summary.norm)}"
    )
    return f"{text}, {summary.nan} NaN" if summary.nan else text


def _numbers(summary: Any) -> str:
    """Return the values of a small gradient, else a histogram."""
    if summary.values is not None:
        return str(summary.array)
    counts = summary.histogram
    step = (summary.max - summary.min) / len(counts)
    most = max(*counts, 1)
    lines = [
        f"{number(summary.min + place * step):>11} {'#' * round(WIDTH * count / most)} {count}"
        for place, count in enumerate(counts)
    ]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run the program, then the stepper; return the program's exit code."""
    parser = argparse.ArgumentParser(
        prog="taper step",
        usage="taper step [-h] [--steps N] (SCRIPT | -m MODULE) [ARGS ...]",
        description="Run a program as `taper run` does, record its backward passes, and step "
        "through them: what each node received and sent, its arithmetic, and the line of the "
        "program that recorded it.",
        epilog="exit code: the program's own; 1 if it ran no backward pass. "
        "Example: taper step train.py --epochs 1",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--steps", type=int, default=MOST_STEPS, metavar="N", help="keep the first N steps (10000)"
    )
    add_program(parser)
    options = parser.parse_args(argv)
    check_program(parser, options)
    if options.steps < 1:
        parser.error("--steps must be positive")
    code, ended = 0, None
    with debug_backward(limit=options.steps) as tape:
        try:
            code = start(options.module, options.script)
        except SystemExit as error:
            ended = error
    sys.stdout.flush()
    if not len(tape):
        print("taper step: the program ran no backward pass", file=sys.stderr)
        code = code or 1
    else:
        Stepper(tape).cmdloop()
    if ended is not None:
        raise ended
    return code
