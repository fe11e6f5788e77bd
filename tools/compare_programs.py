"""Runs random programs on taper and on PyTorch, and compares everything visible after each step.

    .venv-oracle/bin/python tools/compare_programs.py --seed 7 --count 1000

A program is 5 to 25 lines of Python that both libraries run, one after the other, with the same
seed.  For each difference the shortest program that shows it is printed, as "ours / theirs".
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from both_libraries import (
    BOUNDS,
    DOUBLE,
    Difference,
    Outcome,
    array_of,
    attempt,
    differences,
    flag,
    is_tensor,
    outcome_differences,
)
from program_steps import PRELUDE, Steps, names_of

import taper

NUMBER = re.compile(r"[-+\s]|\d+\.?\d*(e[-+]\d+)?")
# Listed in CHANGELOG.md: NumPy gives views of tensors without elements no strides.
LISTED = {"layout of empty"}
# Errors after which a program is not compared further: PyTorch's answer to an empty batch of the
# FFT, taper's to dtypes that it does not have.
UNSUPPORTED = ("MKL FFT error", "complex32")
WRONG = {"value", "gradient", "dtype", "shape"}


def unlisted(found: Iterator[Difference]) -> list[Difference]:
    return [each for each in found if each[0] not in LISTED]


class Library:
    """A program's run on one library."""

    def __init__(self, package: Any, seed: int) -> None:
        self.space: dict[str, Any] = {"torch": package, "__name__": "program"}
        exec(PRELUDE, self.space)
        package.manual_seed(seed)

    def step(self, line: str) -> Outcome:
        self.space.pop("result", None)
        code = compile(line, "<program>", "exec")
        return attempt(lambda: exec(code, self.space))


class Program:
    """The same lines on both libraries, until the first difference."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.ours, self.theirs = Library(taper, seed), Library(torch, seed)
        self.lines: list[str] = []
        self.found: list[Difference] = []
        self.over = False
        self.first: dict[int, tuple[Any, Any]] = {}

    def step(self, line: str) -> None:
        self.lines.append(line)
        overlaps = self.reads_what_it_writes(line)
        theirs, ours = self.theirs.step(line), self.ours.step(line)
        self.found = unlisted(outcome_differences(ours, theirs))
        if any(text in f"{ours.error} {theirs.error}" for text in UNSUPPORTED) or (
            self.looks_at_bits_of_nan(line)
            or self.is_singular(line)
            or self.is_leftover(line)
            or self.sorts_equal_elements(line)
            or self.is_gelu_of_infinity(line)
        ):
            self.found, self.over = [], True
        elif overlaps and theirs.error is None and ours.error is None:
            self.found, self.over = [], True
        elif not self.found:
            self.found = unlisted(self.all_seen(line))
            if theirs.error is not None and (self.found or not same_random_numbers()):
                # A failed call changes nothing in taper; PyTorch may have written or drawn a part.
                self.found, self.over = [], True
        if not self.found and not self.over:
            self.synchronise()
            self.found = list(self.texts(line))

    def looks_at_bits_of_nan(self, line: str) -> bool:
        """Whether a line looks at the sign of NaN, which is the processor's, or MKL's."""
        return any(text in line for text in (".view(torch.", "copysign", "signbit")) and any(
            np.isnan(array_of(each)).any()
            for each in self.read_by(line)
            if each.dtype.is_floating_point
        )

    def sorts_equal_elements(self, line: str) -> bool:
        """Whether a line sorts many elements of which some are equal, or picks the largest of them.

        PyTorch says that their order is open; it depends on the vectors of the processor.
        """
        if "stable=True" in line or not re.search(r"sort\(|topk\(", line):
            return False
        least = 1 if "topk(" in line else 16
        return any(
            each.numel() > least and np.unique(array_of(each)).size < each.numel()
            for each in self.read_by(line)
        )

    def is_gelu_of_infinity(self, line: str) -> bool:
        """Whether a line takes gelu of infinity: nan or infinity by size and strides in PyTorch."""
        return "gelu" in line and any(np.isinf(array_of(each)).any() for each in self.read_by(line))

    def is_singular(self, line: str) -> bool:
        """Whether a line inverts a matrix whose smallest singular values are rounding errors."""
        if not any(text in line for text in ("inv", "linalg.cond", "lstsq", "det(", "qr(")):
            return False
        for each in self.read_by(line):
            if each.dim() > 1 and each.numel() and (each.is_floating_point() or each.is_complex()):
                array = array_of(each)
                if ".m" in line:  # of a matrix and its transpose
                    array = array @ array.swapaxes(-1, -2)
                if not np.isfinite(array).all():
                    continue
                values = np.linalg.svd(array, compute_uv=False)
                epsilon = 1e-14 if each.element_size() // (1 + each.is_complex()) == 8 else 1e-5
                if (values[..., -1] < epsilon * values[..., 0]).any():
                    return True
        return False

    def is_leftover(self, line: str) -> bool:
        """Whether a line looks behind the elements of a sum of losses.

        PyTorch computes some losses in the memory of their sum, and leaves what is there: for most
        that is uninitialised memory.
        """
        if "as_strided" not in line:
            return False
        names = names_of(self.theirs.space, is_tensor)
        return any(
            len({bytes_of(each.space.get(name)) for each in (self.ours, self.theirs)}) > 1
            for name in names
            if re.search(rf"\b{name}\.as_strided", line)
            and self.theirs.space[name].untyped_storage().nbytes()
            > self.theirs.space[name].element_size()
            and self.theirs.space[name].numel() == 1
        )

    def reads_what_it_writes(self, line: str) -> bool:
        """Whether a line reads elements where it writes others.

        PyTorch refuses most of that.  Where it does not, the order of its loops decides.
        """
        match = re.search(r"out=(t\d+)\)|^(?:with .*: )?(t\d+) [+*]= t\d+$", line)
        target = self.theirs.space.get(match[1] or match[2]) if match else None
        return is_tensor(target) and any(overlap(target, each) for each in self.read_by(line))

    def read_by(self, line: str) -> list[Any]:
        """Return PyTorch's tensors that a line names."""
        names = names_of(self.theirs.space, is_tensor)
        return [self.theirs.space[each] for each in names if re.search(rf"\b{each}\b", line)]

    def factor(self, line: str) -> float:
        """Return the factor of bounds: where float32 comes from half precision, that is rounded."""
        halves = {"torch.float16", "torch.bfloat16"}
        return 800.0 if halves & {str(each.dtype) for each in self.read_by(line)} else 10.0

    def double(self, line: str) -> float:
        """Return the bound of float64: where it comes from float32 too, that is what is rounded."""
        kinds = {str(each.dtype) for each in self.read_by(line)}
        single = kinds & {"torch.float32", "torch.complex64"} or (
            ".exp()" in line and any("int" in each or "bool" in each for each in kinds)
        )
        mixed = single and kinds & {
            "torch.float64",
            "torch.complex128",
        }
        return BOUNDS["float32"] if mixed else DOUBLE

    def all_seen(self, line: str) -> Iterator[Difference]:
        mine, expected = self.ours.space, self.theirs.space
        if mine.get("result") is not None or expected.get("result") is not None:
            found, wanted = mine.get("result"), expected.get("result")
            options = {"factor": self.factor(line), "double": self.double(line)}
            yield from differences(found, wanted, **options)
        names = names_of(expected, lambda each: True)
        if names != names_of(mine, lambda each: True):
            yield "names", "another set of names"
            return
        for name in names:
            double = self.double(line) if name in line else DOUBLE
            for kind, text in self.tensor_seen(mine[name], expected[name], double):
                yield kind, f"{name}: {text}"
        yield from (
            (f"log {kind}", text) for kind, text in differences(mine["log"], expected["log"])
        )

    def tensor_seen(self, ours: Any, theirs: Any, double: float) -> Iterator[Difference]:
        """Yield everything visible of a variable, and of its gradient."""
        yield from differences(ours, theirs, factor=10.0, double=double)
        if not is_tensor(theirs) or not is_tensor(ours):
            return
        versions = [new_version(each, self.first) for each in (ours, theirs)]
        yield from (("version", text) for _, text in differences(*versions))
        yield from (("view", text) for _, text in differences(ours._is_view(), theirs._is_view()))
        grads = [flag(each, "grad") for each in (ours, theirs)]
        for kind, text in differences(*grads, factor=10.0):
            yield ("gradient" if kind == "value" else f"grad {kind}"), text

    def texts(self, line: str) -> Iterator[Difference]:
        """Compare the `repr` of the tensors of a line; digits of a gradient may be rounding."""
        for name in names_of(self.theirs.space, is_tensor):
            if name in line:
                mine, expected = (repr(each.space[name]) for each in (self.ours, self.theirs))
                if mine != expected and NUMBER.sub("", mine) != NUMBER.sub("", expected):
                    yield "repr", f"{name}: {mine} / {expected}"

    def synchronise(self) -> None:
        """Copy PyTorch's rounding, so that no later step of a program depends on it."""
        for name in names_of(self.theirs.space, is_tensor):
            ours, theirs = self.ours.space.get(name), self.theirs.space[name]
            if not is_tensor(ours) or ours.shape != theirs.shape or ours.is_conj() or ours.is_neg():
                continue
            if ours.dtype.is_floating_point or ours.dtype.is_complex:
                array, mine, expected = ours._array, array_of(ours), array_of(theirs)
                # Another view may read the bits of a NaN, which a copy would change.
                other = (mine != expected) & ~(np.isnan(mine) & np.isnan(expected))
                if array.flags.writeable and other.any():
                    np.copyto(array, expected, "unsafe", where=other)


def bytes_of(tensor: Any) -> int:
    return int(tensor.untyped_storage().nbytes()) if is_tensor(tensor) else 0


def overlap(target: Any, source: Any) -> bool:
    """Whether two tensors have memory in common, but not each element its own."""
    pair = (target, source)
    if any(isinstance(flag(each, "data_ptr"), str) for each in pair):
        return False
    forms = [(each.data_ptr(), each.shape, each.stride()) for each in pair]
    return forms[0] != forms[1] and not bytes_under(target).isdisjoint(bytes_under(source))


def bytes_under(tensor: Any) -> set[int]:
    """Return the addresses of all bytes of a tensor's elements."""
    places = np.indices(tensor.shape).reshape(tensor.dim(), tensor.numel())
    starts = np.array(tensor.stride(), np.int64) @ places * tensor.element_size()
    addresses = starts[:, None] + np.arange(tensor.element_size()) + tensor.data_ptr()
    return set(addresses.ravel().tolist())


def same_random_numbers() -> bool:
    """Whether the generators of both libraries have drawn equally much."""
    return bool((torch.get_rng_state().numpy() == taper.get_rng_state().numpy()).all())


def new_version(tensor: Any, first: dict[int, tuple[Any, Any]]) -> Any:
    """Return how often a tensor was written since it was first seen.

    Its version at that time shows how PyTorch computes a result, not what the result is.
    """
    version = flag(tensor, "_version")
    _, before = first.setdefault(id(tensor), (tensor, version))
    return version - before if isinstance(version, int) and isinstance(before, int) else version


def shortest(seed: int, lines: list[str], kinds: set[str]) -> tuple[list[str], list[Difference]]:
    """Return the program without the lines that the difference does not need."""
    kept, found = lines, None
    for number in reversed(range(len(lines))):
        fewer = [line for line in kept if line is not lines[number]]
        program = replay(seed, fewer)
        if program.found and {kind for kind, _ in program.found} & kinds:
            kept, found = program.lines, program.found
    return kept, found or replay(seed, kept).found or [("once", "only the first time")]


def replay(seed: int, lines: list[str]) -> Program:
    program = Program(seed)
    for line in lines:
        program.step(line)
        if program.found or program.over:
            break
    return program


def random_program(seed: int, only: str) -> Program:
    program, draw = Program(seed), random.Random(seed)
    steps = Steps(draw, program.theirs.space, only)
    for _ in range(draw.randint(5, 25)):
        program.step(steps.line())
        if program.found or program.over:
            break
    return program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--only", default="", help="groups of steps, as view,write")
    options = parser.parse_args()
    # Those of a step are caught there; looking at results causes others.
    warnings.simplefilter("ignore")
    for package in (torch, taper):
        package.set_warn_always(True)
        package.func.jacfwd(package.sin)(package.ones(1))  # PyTorch warns of its own code, once
    kinds: collections.Counter[str] = collections.Counter()
    shown: collections.Counter[tuple[str, str]] = collections.Counter()
    failed, wrong, steps, begun = 0, 0, 0, time.monotonic()
    for number in range(options.count):
        seed = options.seed + number
        program = random_program(seed, options.only)
        steps += len(program.lines)
        if program.found:
            failed += 1
            first = program.found[0][0]
            kinds[first] += 1
            wrong += bool({kind for kind, _ in program.found} & WRONG)
            lines, found = shortest(seed, program.lines, {first})
            key = (first, lines[-1].split("=")[-1])
            shown[key] += 1
            if shown[key] == 1:
                print(f"\n# seed {seed}", *lines, *(f"  {k}: {t}" for k, t in found[:3]), sep="\n")
        if number % 100 == 99:
            print(f"{number + 1} programs, {failed} differ", file=sys.stderr, flush=True)
    print("\nprograms  first difference")
    for kind, count in kinds.most_common():
        print(f"{count:8}  {kind}")
    share = 100 * (1 - failed / options.count)
    print(f"{share:.2f} % of {options.count} programs ({steps} steps) agree in everything; {wrong} "
          f"with a wrong value or gradient; {time.monotonic() - begun:.0f} s")  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
