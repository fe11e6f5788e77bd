"""Every row of `opcases` against PyTorch: values, dtypes, gradients, graphs, saved, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import taper
from op_templates import CASES, Call, as_numpy, case_id, outputs_of, samples_of

ABSOLUTE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}


def attempt(call):
    """Return the result of a call, or its exception; warnings as a list of texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return call(), None, [(w.category, str(w.message)) for w in caught]
        except Exception as error:
            return None, error, []


def pair(case, sample, dtype, requires_grad=False):
    ours = Call(taper, case, sample, dtype, requires_grad)
    theirs = Call(torch, case, sample, dtype, requires_grad)
    if case.random:
        taper.manual_seed(17)
        torch.manual_seed(17)
    return ours, theirs, attempt(ours), attempt(theirs)


def assert_same(found, expected, case, dtype, what):
    assert str(found.dtype) == str(expected.dtype), what
    assert tuple(found.shape) == tuple(expected.shape), what
    relative = max(case.tolerance, {"float16": 2e-3, "bfloat16": 1.6e-2}.get(dtype, 0))
    if str(expected.dtype) in ("torch.float64", "torch.complex128"):
        relative = min(relative, 1e-7)
    np.testing.assert_allclose(
        as_numpy(found),
        as_numpy(expected),
        rtol=relative,
        atol=ABSOLUTE.get(dtype, 1e-9),
        equal_nan=True,
        err_msg=what,
    )


def assert_same_error(ours, theirs, what):
    assert (ours is None) == (theirs is None), f"{what}: {ours!r} against {theirs!r}"
    if theirs is not None:
        assert type(ours).__name__ == type(theirs).__name__, f"{what}: {ours!r} against {theirs!r}"
        assert _essence(str(theirs)) in str(ours), f"{what}: {ours} against {theirs}"


def _essence(text):
    """Return the first line of an error: what programs match on."""
    return text.split("\n")[0].split(" Exception raised from")[0]


def all_dtypes(case):
    extra = ("complex64", "complex128") if case.complex else ()
    return (*case.dtypes, *extra, *case.forward_dtypes)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_forward(case):
    for dtype in all_dtypes(case):
        for number, sample in enumerate(samples_of(case)):
            what = f"{case.name} sample {number} {dtype}"
            _, _, ours, theirs = pair(case, sample, dtype)
            assert_same_error(ours[1], theirs[1], what)
            mine, others = outputs_of(ours[0]), outputs_of(theirs[0])
            assert len(mine) == len(others), what
            for found, expected in zip(mine, others, strict=True):
                assert_same(found, expected, case, dtype, what)
                if expected.numel():
                    assert found.is_contiguous() == expected.is_contiguous(), f"{what}: layout"
            if not mine and not isinstance(theirs[0], list | tuple):
                assert ours[0] == theirs[0] or repr(ours[0]) == repr(theirs[0]), what


@pytest.mark.parametrize("case", [c for c in CASES if c.differentiable], ids=case_id)
def test_gradients(case):
    extra = ("complex64", "complex128") if case.complex else ()
    for dtype in (*case.dtypes, *extra):
        for number, sample in enumerate(samples_of(case)):
            what = f"{case.name} sample {number} {dtype}"
            ours, theirs, mine, others = pair(case, sample, dtype, requires_grad=True)
            assert_same_error(mine[1], others[1], what)
            found, expected = outputs_of(mine[0]), outputs_of(others[0])
            flags = [each.requires_grad for each in expected]
            assert [each.requires_grad for each in found] == flags, f"{what}: requires_grad"
            if not any(flags):
                continue
            for one, other in zip(found, expected, strict=True) if case.graph else ():
                assert_same_graph(one.grad_fn, other.grad_fn, what)
            _compare_grads(case, dtype, what, ours, theirs, found, expected)


def _compare_grads(case, dtype, what, ours, theirs, found, expected):
    rng = np.random.default_rng(3)
    starts = []
    for one, other in zip(found, expected, strict=True):
        if other.requires_grad:
            array = rng.standard_normal(tuple(other.shape))
            grads = [
                package.from_numpy(np.array(array)).to(getattr(package, str(other.dtype)[6:]))
                for package in (taper, torch)
            ]
            starts.append((one, other, *grads))
    a = taper.autograd.grad(
        [s[0] for s in starts], ours.leaves, [s[2] for s in starts], allow_unused=True
    )
    b = torch.autograd.grad(
        [s[1] for s in starts], theirs.leaves, [s[3] for s in starts], allow_unused=True
    )
    for position, (one, other) in enumerate(zip(a, b, strict=True)):
        assert (one is None) == (other is None), f"{what}: gradient {position} {one} {other}"
        if one is not None:
            assert_same(one, other, case, dtype, f"{what}: gradient {position}")


def assert_same_graph(ours, theirs, what):
    """The same node names in the same places, with the same saved attributes."""
    pairs = [(ours, theirs)]
    seen = set()
    while pairs:
        one, other = pairs.pop()
        if other is None or one is None:
            assert one is None and other is None, f"{what}: {one} against {other}"
            continue
        if id(other) in seen:
            continue
        seen.add(id(other))
        assert type(one).__name__ == type(other).__name__, what
        mine = [name for name in dir(one) if name.startswith("_saved_")]
        others = [name for name in dir(other) if name.startswith("_saved_")]
        assert set(others) <= set(mine), (
            f"{what}: {type(other).__name__} lacks {set(others) - set(mine)}"
        )
        next_one, next_other = one.next_functions, other.next_functions
        assert len(next_one) == len(next_other), f"{what}: edges of {type(other).__name__}"
        for (a, i), (b, j) in zip(next_one, next_other, strict=True):
            assert b is None or i == j, what
            pairs.append((a, b))


@pytest.mark.parametrize(
    ("case", "raises"),
    [(case, each) for case in CASES for each in case.errors],
    ids=lambda value: getattr(value, "name", None) or getattr(value, "text", "")[:40],
)
def test_errors(case, raises):
    ours = attempt(Call(taper, case, raises.sample))
    theirs = attempt(Call(torch, case, raises.sample))
    assert theirs[1] is not None, "PyTorch accepts this"
    assert isinstance(theirs[1], raises.error) and raises.text in str(theirs[1]), repr(theirs[1])
    assert_same_error(ours[1], theirs[1], case.name)
