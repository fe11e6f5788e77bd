"""Has taper become slower?  Its ratios to PyTorch against those of a stored baseline.

A ratio is the best median of several rounds.  Rows that look worse are measured again before they
count: what another process did to one round goes away, what a change did stays.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rows import environment
from run import chosen, compare

BASELINE = Path(__file__).with_name("baseline.json")
WORSE = 1.15  # times the stored ratio
SECTIONS = ("models", "overhead")  # the quick rows of these tables
AGAIN = 3  # more rounds for what looks worse

Ratios = dict[str, float]  # by "table: row"


def measure(rounds: int, names: set[str] | None = None) -> Ratios:
    """Return the best median of each row, or of the named ones only."""
    best: Ratios = {}
    for section in SECTIONS:
        workloads = {
            index: workload
            for index, workload in chosen(section, quick=True).items()
            if workload.limit is None and (names is None or f"{section}: {workload.name}" in names)
        }
        for _ in range(rounds if workloads else 0):
            for row in compare(("taper", "torch"), section, workloads, 1, 3, 0.05):
                name = f"{section}: {row.name}"
                if row.ratio is not None:
                    best[name] = min(row.ratio, best.get(name, row.ratio))
    return best


def worse(stored: Mapping[str, float], found: Mapping[str, float]) -> dict[str, str]:
    """Return the rows that got worse and how, those of the baseline that no longer run too."""
    lines = {}
    for name, before in stored.items():
        now = found.get(name)
        if now is None:
            lines[name] = f"{before:.2f} -> did not run"
        elif now > WORSE * before:
            lines[name] = f"{before:.2f} -> {now:.2f}, {now / before - 1:+.0%}"
    return lines


def checked(stored: Mapping[str, float], rounds: int) -> dict[str, str]:
    """Return what is worse than stored, and stays so when it is measured again."""
    found = measure(rounds)
    for name in sorted(set(found) - set(stored)):
        print(f"not in the baseline: {name} {found[name]:.2f}")
    lines = worse(stored, found)
    for _ in range(AGAIN):
        if not lines:
            break
        for name, ratio in measure(1, set(lines)).items():
            found[name] = min(ratio, found.get(name, ratio))
        lines = worse(stored, found)
    return lines


def differences(stored: Mapping[str, Any]) -> list[str]:
    """Return how this machine differs from that of the baseline, the load left out."""
    return [
        f"{name}: {stored.get(name)} in the baseline, {value} here"
        for name, value in environment().items()
        if name != "load" and stored.get(name) != value
    ]


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description="Compare taper's ratios to PyTorch with those of the baseline.",
        epilog="exit code: 0, 1 if a ratio got 15 %% worse, 2 if there is no baseline",
    )
    options.add_argument("--write", action="store_true", help="write the baseline anew")
    options.add_argument("--baseline", type=Path, default=BASELINE, help="the file that is read")
    options.add_argument(
        "--rounds", type=int, default=3, help="rounds of fresh processes (default: 3)"
    )
    arguments = options.parse_args(argv)
    if arguments.write:
        made = {"environment": environment(), "ratios": measure(arguments.rounds)}
        arguments.baseline.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        print(f"{len(made['ratios'])} ratios in {arguments.baseline}")
        return 0
    if not arguments.baseline.exists():
        print(f"there is no {arguments.baseline}: `make bench-baseline` writes it")
        return 2
    stored = json.loads(arguments.baseline.read_text(encoding="utf-8"))
    for line in differences(stored["environment"]):
        print(f"another machine, so ratios may differ: {line}")
    lines = checked(stored["ratios"], arguments.rounds)
    for name, line in lines.items():
        print(f"WORSE  {name}: {line}")
    print(f"{len(stored['ratios'])} ratios, {len(lines)} more than 15 % worse than the baseline")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
