"""The program that `taper run` and `taper graph` start: its command line, and starting it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from taper import compat
from taper.compat.script import run_module, run_script


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add `(SCRIPT | -m MODULE) [ARGS ...]`, which ends the options of the command itself."""
    parser.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE",
        help="run a module, as `python -m` does; what follows is its own",
    )
    parser.add_argument(
        "script",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT ...",
        help="the program, as for `python`; what follows is its own",
    )


def check_program(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse a command line without a program."""
    if not (options.module or options.script):
        parser.error("name a SCRIPT or -m MODULE")
    if not options.module and not os.path.exists(options.script[0]):
        parser.error(f"can't open file {os.path.abspath(options.script[0])!r}: no such file")


def start(module: Sequence[str] | None, script: Sequence[str]) -> int:
    """Run the program with taper as torch; return its exit code."""
    compat.install()
    if module:
        return run_module(module[0], list(module[1:]))
    return run_script(script[0], list(script[1:]))
