"""Sizes that vary: what the traces of one program with different sizes have in common.

Owns: `Varying`, `Program` and the merging of traces into it.  Knows no ONNX.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from taper.autograd.provenance import describe
from taper.onnx.errors import OnnxExporterError
from taper.onnx.tracing import Ref, Step, Trace


class Varying(NamedTuple):
    """A number that differs between the traces."""

    values: tuple[int, ...]


class Term(NamedTuple):
    """`factor` times the product of the named sizes, plus `rest`."""

    names: tuple[str, ...]
    factor: int
    rest: int


Size = int | Varying


def term_of(varying: Varying, sizes: dict[str, tuple[int, ...]]) -> Term | None:
    """Return how a number follows from the dynamic sizes; None if in no simple way.

    >>> term_of(Varying((7, 11, 13)), {"batch": (3, 5, 6)})
    Term(names=('batch',), factor=2, rest=1)
    """
    for count in (1, 2):
        for names in itertools.combinations(sizes, count):
            products = [int(np.prod(each)) for each in zip(*(sizes[n] for n in names), strict=True)]
            step, found = products[1] - products[0], varying.values[1] - varying.values[0]
            if not step or found % step:
                continue
            factor = found // step
            rest = varying.values[0] - factor * products[0]
            fits = (factor * p + rest == v for p, v in zip(products, varying.values, strict=True))
            if factor and (count == 1 or not rest) and all(fits):
                return Term(names, factor, rest)
    return None


class Program:
    """The steps of a forward pass for all sizes; numbers that differ are `Varying`."""

    def __init__(self, traces: list[Trace], sizes: dict[str, tuple[int, ...]]) -> None:
        first = traces[0]
        self.sizes = sizes
        for other in traces[1:]:
            _check_same(first, other)
        self.steps = [_merged_steps(each) for each in zip(*(t.steps for t in traces), strict=True)]
        shapes = zip(*(t.shapes for t in traces), strict=True)
        self.shapes: list[tuple[Size, ...]] = [merged(each) for each in shapes]
        self.dtypes, self.inputs, self.outputs = first.dtypes, first.inputs, first.outputs
        self.states, self.seen_at = first.states, first.seen_at
        self.constants = {nr: [t.constants[nr] for t in traces] for nr in first.constants}
        for nr in first.overwritten:  # what `empty` found in memory
            if pattern_of(self.constants[nr]) is None:
                self.constants[nr] = [np.zeros_like(each) for each in self.constants[nr]]

    @property
    def has_odd_constants(self) -> bool:
        """Return whether constants depend on sizes in another way than zeros or a range."""
        return any(pattern_of(arrays) is None for arrays in self.constants.values())


def pattern_of(arrays: list[np.ndarray]) -> str | None:
    """Return what constants of several traces share: "same", "uniform", "range" or nothing."""
    first = arrays[0]
    if all(_equal(first, each) for each in arrays[1:]):
        return "same"
    if any(each.size == 0 or each.ndim != first.ndim for each in arrays):
        return None
    if all(_equal(each.flat[0], each) for each in arrays) and (
        all(_equal(each.flat[0], first.flat[0]) for each in arrays)
        or (first.size == 1 and first.dtype.kind == "i")
    ):
        return "uniform"
    if first.ndim == 1 and all(each.size > 1 for each in arrays):
        start, step = first[0], first[1] - first[0]
        expected = (np.arange(each.size) * step + start for each in arrays)
        if all(map(np.array_equal, arrays, expected)):
            return "range"
    return None


def _equal(one: Any, other: np.ndarray) -> bool:
    if np.ndim(one) and np.shape(one) != other.shape:
        return False
    return bool(np.all((one == other) | ((one != one) & (other != other))))


def merged(values: tuple[Any, ...]) -> Any:
    """Return an argument of all traces as one."""
    first = values[0]
    if isinstance(first, tuple) and not isinstance(first, Ref):
        return tuple(merged(each) for each in zip(*values, strict=True))
    if all(type(each) is type(first) and (each is first or each == first) for each in values):
        return first
    if all(isinstance(each, int) for each in values):
        return Varying(tuple(values))
    if all(isinstance(each, float) and each != each for each in values):
        return first
    raise _DifferentError


class _DifferentError(Exception):
    """A plain argument differs and is no integer."""


def _merged_steps(steps: tuple[Step, ...]) -> Step:
    first = steps[0]
    try:
        return first._replace(arguments=merged(tuple(each.arguments for each in steps)))
    except (_DifferentError, ValueError):
        raise OnnxExporterError(
            f"{first.label} gets an argument that depends on the input in a way the export cannot "
            "follow: a number computed in Python from a size or from the values of a tensor. "
            "Compute it with tensors, or leave the size out of dynamic_axes. "
            f"It was called at {describe(first.where)}"
        ) from None


def _check_same(first: Trace, other: Trace) -> None:
    for ours, theirs in zip(first.steps, other.steps, strict=False):
        if ours[:3] != theirs[:3] or ours[4:6] != theirs[4:6]:
            raise OnnxExporterError(
                "the model calls other operators for another input: an `if` or a loop depends on "
                "a size or on the values of a tensor, and an ONNX graph has no branches. "
                f"The runs differ from {describe(ours.where)} on"
            )
    if len(first.steps) != len(other.steps) or len(first.shapes) != len(other.shapes):
        raise OnnxExporterError(
            f"the model calls {len(first.steps)} operators for one input and {len(other.steps)} "
            "for another: a loop depends on a size or on the values of a tensor. Leave the size "
            "out of dynamic_axes"
        )
