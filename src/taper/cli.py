"""The `taper` command: what can be done from a terminal.

Owns: parsing of the command line, exit codes, what an interrupt looks like.  Knows of the package
only the entry points it starts; a command's module is imported when the command runs, so that
`taper --help` stays instant.

Exit codes: 0 it worked, 1 it ran and failed, 2 the command line was wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Sequence

import numpy as np

DISTRIBUTION = "tapergrad"
EXTRAS = {"cli": "rich", "files": "safetensors", "vision": "PIL", "cuda": "cupy", "mpi": "mpi4py"}

INTERRUPTED = 130  # what shells report for a process that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: this process's) and return its exit code."""
    arguments, rest = _parse(sys.argv[1:] if argv is None else list(argv))
    run: Callable[[list[str]], int] = arguments.run
    try:
        code = run(rest)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) went away: not our failure.  Point stdout at nothing, or the
        # interpreter complains once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="taper",
        description="PyTorch's autograd and training loop on NumPy arrays.",
        epilog="exit codes: 0 worked, 1 failed, 2 wrong command line, 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"taper {_version(DISTRIBUTION)}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    # The demo reads its own arguments, `taper demo --help` among them.
    demo = commands.add_parser("demo", add_help=False, help="see autograd at work, step by step")
    demo.set_defaults(run=_demo, takes_rest=True)
    info = commands.add_parser(
        "info",
        help="what this installation is made of",
        description="Print the versions and settings that a problem report should contain.",
    )
    info.set_defaults(run=_info, takes_rest=False)
    arguments, rest = parser.parse_known_args(argv)
    if rest and not arguments.takes_rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments, rest


def _demo(argv: list[str]) -> int:
    return int(importlib.import_module("taper.demo").main(argv))


def _info(argv: list[str]) -> int:
    for name, value in _facts().items():
        print(f"{name:<12}{value}")
    return 0


def _facts() -> dict[str, str]:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    extras = [name for name, module in EXTRAS.items() if importlib.util.find_spec(module)]
    return {
        "taper": f"{_version(DISTRIBUTION)} in {os.path.dirname(os.path.abspath(__file__))}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "NumPy": f"{np.__version__}, BLAS: {blas.get('name')} {blas.get('version')}",
        "ml_dtypes": _version("ml_dtypes"),
        "extras": ", ".join(extras) or "none",
    }


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
