"""One program on two packages: what it returns or raises, its graph, what is saved, gradients.

A program is a function `program(torch, make)` of a package and a maker of tensors, which makes
equal ones for both: `make(2, 3)` is a leaf that requires a gradient, `make.data(...)` a tensor of
given values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import taper

Program = Callable[[Any, "Maker"], Any]


class Maker:
    """Makes the tensors of one run, from the same random numbers in every run."""

    def __init__(self, package: Any, dtype: str = "float64") -> None:
        self.package = package
        self.dtype = dtype
        self.rng = np.random.default_rng(11)
        self.leaves: list[Any] = []

    def __call__(self, *shape: int, dtype: str | None = None, grad: bool = True) -> Any:
        dtype = dtype or self.dtype
        array = np.asarray(self.rng.standard_normal(shape))
        if dtype.startswith("complex"):
            array = np.asarray(array + 1j * self.rng.standard_normal(shape))
        tensor = self.package.from_numpy(array).to(getattr(self.package, dtype))
        if grad:
            tensor.requires_grad_()
            self.leaves.append(tensor)
        return tensor

    def data(self, values: Any, dtype: str | None = None) -> Any:
        kind = None if dtype is None else getattr(self.package, dtype)
        return self.package.tensor(values, dtype=kind)


class Outcome:
    """The result of a program on one package."""

    def __init__(self, package: Any, program: Program, dtype: str) -> None:
        self.package = package
        package.manual_seed(17)
        self.make = Maker(package, dtype)
        self.error: Exception | None = None
        self.outputs: list[Any] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.result = program(package, self.make)
                self.outputs = tensors_in(self.result)
            except Exception as error:
                self.error = error
        texts = [str(each.message).split(" (Triggered")[0] for each in caught]
        # What PyTorch says of itself while it loads its parts is not part of the behaviour.
        self.warnings = [each for each in texts if not each.startswith("`torch.jit.")]

    def gradients(self) -> list[Any]:
        rng = np.random.default_rng(5)
        outputs = [each for each in self.outputs if each.requires_grad]
        starts = []
        for each in outputs:
            array = np.asarray(rng.standard_normal(tuple(each.shape)))
            starts.append(self.package.from_numpy(array).to(each.dtype))
        return list(
            self.package.autograd.grad(outputs, self.make.leaves, starts, allow_unused=True)
        )


def tensors_in(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [each for part in result for each in tensors_in(part)]
    return [result] if hasattr(result, "grad_fn") else []


def array_of(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
        tensor = tensor.float()
    return np.array(tensor.numpy())


BOUNDS = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}


def assert_same_tensor(ours: Any, theirs: Any, what: str = "", factor: float = 1.0) -> None:
    assert str(ours.dtype) == str(theirs.dtype), what
    assert tuple(ours.shape) == tuple(theirs.shape), what
    expected = array_of(theirs)
    bound = factor * BOUNDS.get(str(theirs.dtype)[6:], 1e-9)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0)))
    np.testing.assert_allclose(
        array_of(ours), expected, rtol=bound, atol=bound * scale, equal_nan=True, err_msg=what
    )


def assert_same_error(ours: Exception | None, theirs: Exception | None) -> None:
    assert (ours is None) == (theirs is None), f"{ours!r} against {theirs!r}"
    if theirs is not None:
        assert type(ours).__name__ == type(theirs).__name__, f"{ours!r} against {theirs!r}"
        first = str(theirs).split("\n")[0].split(" Exception raised from")[0]
        assert str(ours).split("\n")[0] == first, f"{ours} against {theirs}"


def saved_of(node: Any) -> dict[str, Any]:
    names = [name for name in dir(node) if name.startswith("_saved_")]
    return {name: getattr(node, name) for name in names}


def assert_same_saved(ours: Any, theirs: Any) -> None:
    found, expected = saved_of(ours), saved_of(theirs)
    name = type(theirs).__name__
    assert sorted(found) == sorted(expected), name
    for key, value in expected.items():
        mine = found[key]
        if hasattr(value, "grad_fn"):
            assert_same_tensor(mine, value, f"{name}.{key}")
        elif type(value).__name__ == "dtype":
            assert str(mine) == str(value), f"{name}.{key}"
        elif not isinstance(value, list | tuple) or not tensors_in(value):
            assert mine == value, f"{name}.{key}: {mine} against {value}"


def assert_same_graph(ours: Any, theirs: Any, saved: bool = True) -> None:
    pairs, seen = [(ours, theirs)], set()
    while pairs:
        one, other = pairs.pop()
        if one is None or other is None:
            assert one is None and other is None, f"{one} against {other}"
            continue
        if id(other) in seen:
            continue
        seen.add(id(other))
        assert type(one).__name__ == type(other).__name__
        if saved:
            assert_same_saved(one, other)
        assert len(one.next_functions) == len(other.next_functions), type(other).__name__
        for (a, i), (b, j) in zip(one.next_functions, other.next_functions, strict=True):
            assert b is None or i == j
            pairs.append((a, b))


def assert_same(
    torch: Any,
    program: Program,
    dtype: str = "float64",
    graph: bool = True,
    saved: bool = True,
    strides: bool = False,
    factor: float = 1.0,
) -> None:
    """Assert that the program gives on taper what it gives on PyTorch, which is passed in."""
    ours, theirs = Outcome(taper, program, dtype), Outcome(torch, program, dtype)
    assert_same_error(ours.error, theirs.error)
    if theirs.error is not None:
        return
    assert ours.warnings == theirs.warnings, f"{ours.warnings} against {theirs.warnings}"
    if not theirs.outputs:
        assert ours.result == theirs.result or repr(ours.result) == repr(theirs.result)
        return
    assert len(ours.outputs) == len(theirs.outputs)
    for one, other in zip(ours.outputs, theirs.outputs, strict=True):
        assert_same_tensor(one, other, "result", factor)
        assert one.requires_grad == other.requires_grad
        if strides and other.numel():
            assert one.stride() == other.stride()
        if graph:
            assert_same_graph(one.grad_fn, other.grad_fn, saved)
    if not any(each.requires_grad for each in theirs.outputs):
        return
    for number, (one, other) in enumerate(zip(ours.gradients(), theirs.gradients(), strict=True)):
        assert (one is None) == (other is None), f"gradient {number}: {one} against {other}"
        if other is not None:
            assert_same_tensor(one, other, f"gradient {number}", 10 * factor)
