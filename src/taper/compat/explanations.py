"""Why a name of PyTorch's is missing, and what to use instead.

Imported and read only when a program asks for something that is missing.  `tools/proxy_names.py`
writes `names.txt` from the lists behind docs/coverage.md.
"""

from __future__ import annotations

import difflib
import functools
import importlib.resources
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

from taper.compat.left_out import sentence

PYTORCH = "PyTorch 2.13"

# What to use instead of a subject that is left out; the subjects are those of names.txt.
INSTEAD = {
    "sparse": "use `to_dense()`",
    "quantized": "use float16 or bfloat16 tensors",
    "small numbers": "use int8, float16, bfloat16 or complex64",
    "nested": "pad to one length with `torch.nn.utils.rnn.pad_sequence`",
    "other devices and their libraries": "the function without that prefix runs on the CPU",
    "symbolic shapes": "use integers and tensors",
    "TorchScript and PyTorch's C++ parts": "call the Python function or module itself",
    "data pipes": "use `torch.utils.data.Dataset` and `IterableDataset`",
    "removed": "use its successor in `torch.linalg`",
}


class Entry(NamedTuple):
    """A public name of PyTorch: its rank, if it has one, and the subject that leaves it out."""

    rank: int | None
    subject: str | None


# The search for similar names takes 0.7 ms, and programs ask again.
@functools.lru_cache(maxsize=256)
def no_attribute(module: ModuleType, public: str, name: str) -> str:
    """Return what follows `module 'torch' has no attribute 'name'`."""
    facts = _left_out(f"{public}.{name}") or _facts(public, name)
    return ". ".join(["", *facts, *_nearest(module, public, name)])


def no_module(fullname: str) -> str:
    """Return the text of the error of `import torch.foo`."""
    facts = _left_out(fullname) or ["taper does not have this module"]
    return ". ".join([f"No module named {fullname!r}", *facts])


def _left_out(fullname: str) -> list[str] | None:
    why = sentence(fullname)
    return None if why is None else [why]


def _facts(public: str, name: str) -> Iterator[str]:
    area = known_names().get(public)
    if area is None:
        yield "taper does not have it"
        return
    entry = area.get(name)
    if entry is None:
        yield f"It is no public name of {PYTORCH} either"
        return
    rank = f"; rank {entry.rank} in {public}" if entry.rank else f"; without rank in {public}"
    if entry.subject is None:
        yield f"{PYTORCH} has it, taper does not have it yet{rank}, see docs/coverage.md"
        return
    yield f"taper leaves it out on purpose ({entry.subject}){rank}, see docs/coverage.md"
    yield f"Instead: {INSTEAD[entry.subject.partition(':')[0]]}"


def _nearest(module: ModuleType, public: str, name: str) -> Iterator[str]:
    area = known_names().get(public)
    there = [each for each in dir(module) if not each.startswith("_") and each != name]
    candidates = there if area is None else [each for each in there if each in area]
    near = difflib.get_close_matches(name, candidates, n=3, cutoff=0.7)
    if near:
        yield "Nearest: " + ", ".join(f"{public}.{each}" for each in near)


@functools.cache
def known_names() -> dict[str, dict[str, Entry]]:
    """Return the public names of PyTorch by area, from names.txt."""
    lines = importlib.resources.files(__package__).joinpath("names.txt").read_text().splitlines()
    subjects: dict[str, str] = {}
    areas: dict[str, dict[str, Entry]] = {}
    members: dict[str, Entry] = {}
    for line in lines:
        if line.startswith("@"):
            key, _, text = line[1:].partition(" ")
            subjects[key] = text
        elif line.startswith("["):
            members = areas.setdefault(line.strip("[]"), {})
        elif not line.startswith("#"):
            for word in line.split():
                name, rank, key = (*word.split(":"), "", "")[:3]
                members[name] = Entry(int(rank) if rank else None, subjects.get(key))
    return areas
