"""The `taper` command: what can be done from a terminal.

Owns: which commands there are, exit codes, what an interrupt looks like.  A command's module is
imported when the command runs, so that `taper --help` stays instant.

Exit codes: 0 success, 1 the command ran and failed, 2 the command line was wrong, 130 interrupted;
`run`, `graph` and `step` return the program's own.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from taper import version

# Each reads its own arguments, `--help` among them.
COMMANDS = {
    "run": ("taper.commands.run", "run a program for PyTorch, with taper as torch"),
    "graph": ("taper.commands.graph", "run a program and draw its last autograd graph"),
    "step": ("taper.commands.step", "step through a program's backward passes"),
    "new": ("taper.commands.new", "write a small training project"),
    "demo": ("taper.commands.demo", "see autograd at work, step by step"),
    "bench": ("taper.commands.bench", "measure the speed of this installation"),
    "info": ("taper.commands.info", "what this installation is made of"),
}

INTERRUPTED = 130  # what shells report for a process that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: this process's) and return its exit code."""
    line = sys.argv[1:] if argv is None else list(argv)
    if not line:
        _parser().print_help()
        return 0
    if line[0] not in COMMANDS:
        _refuse(line)
    try:
        # late: a command loads its own module only
        code = int(importlib.import_module(COMMANDS[line[0]][0]).main(line[1:]))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) went away, which is not our failure.  Point stdout at
        # nothing, or the interpreter complains again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    """Return what reads a line that names no command, and prints the commands there are."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="taper",
        usage="taper [-h] [--version] COMMAND ...",
        description="PyTorch's autograd and training loop on NumPy arrays.\n\n"
        f"commands (`taper COMMAND --help` tells more):\n{commands}",
        epilog="exit codes: 0 worked, 1 failed, 2 wrong command line, 130 interrupted;\n"
        "run, graph and step: that of the program",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"taper {version.taper}")
    return parser


def _refuse(line: list[str]) -> NoReturn:
    """Print help, the version, or what is wrong with a line that names no command."""
    parser = _parser()
    parser.parse_known_args(line)
    parser.error(f"unknown command {line[0]!r}")


if __name__ == "__main__":
    sys.exit(main())
