"""`taper run`: run a program that says `import torch`, without PyTorch, in one process or many."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from taper.commands.program import add_program, check_program, start


def main(argv: Sequence[str]) -> int:
    """Run the program; return its exit code."""
    if argv and argv[0].startswith("--") and argv[0] != "--help":
        # late: most programs are one process
        from taper.distributed import run

        return run.main(argv)
    parser = argparse.ArgumentParser(
        prog="taper run",
        usage="taper run [-h] (SCRIPT | -m MODULE) [ARGS ...]\n"
        "       taper run --nproc-per-node N [OPTIONS] SCRIPT [ARGS ...]",
        description="Run a program for PyTorch with taper: `import torch`, `torchvision` and "
        "`torchviz` give taper's modules, in the program and in what it imports, whether PyTorch "
        "is installed or not. The program sees the arguments after its name, as under `python`.",
        epilog="With --nproc-per-node the program runs in several processes; the options are "
        "torchrun's, see `taper run --nproc-per-node 2 --help`. exit code: the program's own; 2 if "
        "there is no such program, 130 if interrupted. "
        "Example: taper run train.py --epochs 3",
        allow_abbrev=False,
    )
    add_program(parser)
    options = parser.parse_args(argv)
    check_program(parser, options)
    return start(options.module, options.script)
