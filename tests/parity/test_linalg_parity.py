"""Linear algebra against PyTorch: values, graphs, gradients of both orders, tangents, errors."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
import torch

import taper
from linalg_programs import PROGRAMS, inputs_of

CASES = [
    (each, dtype)
    for each in PROGRAMS
    for dtype in ("float64", "complex128", "float32", "complex64")
    if each.complex or "float" in dtype
]
DOUBLE = [(each, dtype) for each, dtype in CASES if dtype in ("float64", "complex128")]
TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "float32": 2e-3, "complex64": 2e-3}


def case_id(value):
    return getattr(value, "name", value)


def tensors(package, arrays, dtype):
    kind = getattr(package, dtype)
    return [package.from_numpy(each.copy()).to(kind).requires_grad_() for each in arrays]


def outputs(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def run(program, dtype):
    """Return inputs and outputs of both packages."""
    arrays = inputs_of(program, "complex" in dtype)
    found = []
    for package in (taper, torch):
        given = tensors(package, arrays, dtype)
        found.append((given, outputs(program.function(package, *given))))
    return found


def numpy_of(tensor):
    return tensor.detach().resolve_conj().numpy()


def same(ours, theirs, dtype, factor=1.0):
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    bound = TOLERANCE[dtype] * factor
    expected = numpy_of(theirs)
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(numpy_of(ours), expected, rtol=bound, atol=bound * scale)


def cotangents(results):
    rng = np.random.default_rng(5)
    found = []
    for each in results:
        array = np.asarray(rng.standard_normal(tuple(each.shape)))
        if each.dtype.is_complex:
            array = np.asarray(array + 1j * rng.standard_normal(array.shape))
        found.append(array)
    return found


def gradients(package, given, results, arrays, create_graph=False):
    starts = [
        package.from_numpy(array).to(each.dtype)
        for array, each in zip(arrays, results, strict=True)
    ]
    return package.autograd.grad(results, given, starts, create_graph=create_graph)


@pytest.mark.parametrize(("program", "dtype"), CASES, ids=case_id)
def test_values_and_gradients(program, dtype):
    (our_inputs, ours), (their_inputs, theirs) = run(program, dtype)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        same(one, other, dtype)
    if program.differs == "gradient":
        return
    arrays = cotangents(theirs)
    found = gradients(taper, our_inputs, ours, arrays)
    expected = gradients(torch, their_inputs, theirs, arrays)
    for one, other in zip(found, expected, strict=True):
        same(one, other, dtype, 10)


@pytest.mark.parametrize(("program", "dtype"), DOUBLE, ids=case_id)
def test_graphs_are_equal(program, dtype):
    (_, ours), (_, theirs) = run(program, dtype)
    for one, other in zip(ours, theirs, strict=True):
        assert_same_graph(one.grad_fn, other.grad_fn)


def assert_same_graph(ours, theirs):
    pairs, seen = [(ours, theirs)], set()
    while pairs:
        one, other = pairs.pop()
        if other is None or one is None:
            assert one is None and other is None, f"{one} against {other}"
            continue
        if id(other) in seen:
            continue
        seen.add(id(other))
        assert type(one).__name__ == type(other).__name__
        saved = [{n for n in dir(each) if n.startswith("_saved_")} for each in (one, other)]
        if type(other).__name__.startswith("Linalg"):
            assert saved[0] == saved[1], type(other).__name__
        assert saved[1] <= saved[0], type(other).__name__
        assert len(one.next_functions) == len(other.next_functions), type(other).__name__
        for (a, i), (b, j) in zip(one.next_functions, other.next_functions, strict=True):
            assert b is None or i == j
            pairs.append((a, b))


@pytest.mark.parametrize(
    ("program", "dtype"),
    [each for each in DOUBLE if each[0].second and each[0].differs != "gradient"],
    ids=case_id,
)
def test_second_gradients(program, dtype):
    found = []
    for package, (given, results) in zip((taper, torch), run(program, dtype), strict=True):
        first = gradients(package, given, results, cotangents(results), create_graph=True)
        total = sum((each * each.conj()).real.sum() for each in first)
        if not total.requires_grad:
            found.append(None)
            continue
        second = package.autograd.grad(total, given, allow_unused=True)
        found.append([None if each is None else each for each in second])
    assert (found[0] is None) == (found[1] is None)
    for one, other in zip(found[0] or (), found[1] or (), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            same(one, other, dtype, 100)


@pytest.mark.parametrize(
    ("program", "dtype"),
    [each for each in DOUBLE if each[0].forward and not each[0].differs],
    ids=case_id,
)
def test_tangents(program, dtype):
    arrays = inputs_of(program, "complex" in dtype)
    directions = [np.roll(each, 1) for each in arrays]
    found = []
    for package in (taper, torch):
        forward_ad = package.autograd.forward_ad
        with warnings.catch_warnings(), forward_ad.dual_level():
            warnings.simplefilter("ignore")
            given = [
                forward_ad.make_dual(package.from_numpy(a.copy()), package.from_numpy(d.copy()))
                for a, d in zip(arrays, directions, strict=True)
            ]
            results = outputs(program.function(package, *given))
            found.append([forward_ad.unpack_dual(each).tangent for each in results])
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            same(one, other, dtype, 10)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["linalg.cholesky", "cholesky_inverse"])
def test_complex_cholesky_gradient_of_any_matrix(name, upper):
    """This includes the parts of the gradient that no Hermitian change of the matrix reaches."""
    rng = np.random.default_rng(3)
    matrix, weight = rng.normal(size=(2, 2, 3, 3)) + 1j * rng.normal(size=(2, 2, 3, 3))
    if name == "linalg.cholesky":
        matrix = matrix @ matrix.conj().swapaxes(1, 2) + np.eye(3)
    found = []
    for package in (taper, torch):
        A = package.tensor(matrix, requires_grad=True)
        result = operator.attrgetter(name)(package)(A, upper=upper)
        result.backward(package.tensor(weight))
        found.append((result.detach().numpy(), A.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
