"""A program of checks that two processes run with torch or with taper as the package.

`python PROGRAM PACKAGE FOLDER` writes what each rank saw into FOLDER/RANK.json.
"""

from __future__ import annotations

import collections
import datetime
import importlib
import json
import os
import sys
import warnings
from pathlib import Path

PACKAGE, FOLDER = sys.argv[1:3]
p = importlib.import_module(PACKAGE)
dist = importlib.import_module(f"{PACKAGE}.distributed")
nn = p.nn


def part(name):
    """A module of the package."""
    return importlib.import_module(f"{PACKAGE}.{name}")


def say(line):
    """Print a line in one piece: several ranks write to the same place."""
    os.write(1, f"{line}\n".encode())


class Pairs(dict):
    """An OrderedDict as it shows itself before Python 3.12, and in what PyTorch answered."""

    def __repr__(self):
        return f"OrderedDict({list(self.items())!r})"


def with_pairs(value):
    """Replace every OrderedDict."""
    if isinstance(value, collections.OrderedDict):
        return Pairs(value)
    if type(value) is dict:
        return {key: with_pairs(each) for key, each in value.items()}
    return type(value)(map(with_pairs, value)) if type(value) in (list, tuple) else value


def outcome(check):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(with_pairs(check()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(checks):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    rank = dist.get_rank()
    seen = {name: outcome(check) for name, check in checks(rank)}
    Path(FOLDER, f"{rank}.json").write_text(json.dumps(seen, indent=0))
    dist.destroy_process_group()
    # PyTorch aborts now and then as it takes its threads down; what it answered is written.
    if PACKAGE == "torch":
        os._exit(0)


def mlp(seed=0):
    """A small net, the same in every process."""
    p.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))


def batch(step, rank=None):
    """A batch of eight rows, or the part of it that a rank has."""
    generator = p.Generator().manual_seed(step)
    x, y = p.randn(8, 3, generator=generator), p.randn(8, 2, generator=generator)
    return (x, y) if rank is None else (x[rank * 4 : rank * 4 + 4], y[rank * 4 : rank * 4 + 4])
