"""The options that every program of the benchmarks has."""

from __future__ import annotations

import argparse
from pathlib import Path

from rows import RESULTS


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with --quick, --save and --check."""
    made = argparse.ArgumentParser(
        description=description, epilog="exit code: 0, or with --check 1 if a bar is missed"
    )
    made.add_argument("--quick", action="store_true", help="few repetitions: a short look")
    made.add_argument(
        "--save",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=RESULTS,
        help=f"keep the rows in FILE, too (without a name: benchmarks/{RESULTS.name})",
    )
    made.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    return made
