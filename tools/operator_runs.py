"""taper's function for each of PyTorch's, and a call of one with its first and second gradients."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from both_libraries import (
    Outcome,
    at_path,
    attempt,
    is_hidden_view,
    is_tensor,
    mirror,
    rebound,
    tensors_in,
)

import taper


def seeded(package: Any) -> Callable[..., Any]:
    """Return what the samples of random operators call with a fixed seed."""

    def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        package.manual_seed(42)
        return function(*args, **kwargs)

    return call


def twin_of_function(function: Any, path: str) -> Callable[..., Any] | None:
    """Return taper's function for one of PyTorch's; None if taper has no such name."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing"):
        return rebound(function, wrapper_set_seed=seeded(taper))
    found = at_path(taper, path)
    return found if callable(found) else at_path(taper.Tensor, path)


def twin_of_method(function: Any) -> Callable[..., Any] | None:
    if isinstance(function, functools.partial):
        inner = mirror(function.func)
        return functools.partial(inner, *mirror(function.args), **mirror(function.keywords))
    return at_path(taper.Tensor, function.__name__) or twin_of_function(function, "no such name")


def twin_of_operator(op: Any) -> Callable[..., Any] | None:
    names = (op.name, op.name.removesuffix(".default"))
    offered = any(
        at_path(root, n) for root in (taper, taper.Tensor) for n in (*names, f"{op.name}_")
    )
    return twin_of_function(op.op, op.name) if offered else None


def on_clone(function: Any) -> Callable[..., Any]:
    """Return an in-place function on a copy of its first argument, which may be a leaf."""
    return lambda first, *args, **kwargs: function(first.clone(), *args, **kwargs)


class Run:
    """A call on one library: its outcome, then that of its gradients and of theirs."""

    def __init__(self, package: Any, function: Any, sample: Sample, process: Any) -> None:
        self.package, self.leaves = package, sample.leaves()

        def call() -> Any:
            package.manual_seed(42)
            result = function(sample.input, *sample.args, **sample.kwargs)
            return process(result) if process else result

        self.levels = [attempt(call)]

    def outputs(self) -> list[Any]:
        return [each for each in tensors_in(self.levels[-1].result) if each.requires_grad]

    def follow(self, other: Run, level: int) -> bool:
        """Go from a level to its gradients on both; return False if there are none."""
        runs = {id(self): self, id(other): other}.values()
        shapes = [[tuple(each.shape) for each in run.outputs()] for run in runs]
        if level == 2 or not shapes[0] or shapes[0] != shapes[-1] or not self.leaves:
            return False
        if level and other.outputs()[0].dtype != torch.float64:
            return False
        starts = [start_of(each) for each in other.outputs()]
        for run in runs:
            run.levels.append(run.gradient(starts if run.package is torch else mirror(starts)))
        return True

    def gradient(self, starts: list[Any]) -> Outcome:
        options = {"allow_unused": True, "create_graph": starts[0].dtype.itemsize == 8}
        inputs = (self.outputs(), self.leaves, starts)
        return attempt(lambda: self.package.autograd.grad(*inputs, **options))


class Sample:
    """The arguments of a call, as PyTorch's samples have them."""

    def __init__(self, first: Any, args: Any, kwargs: Any) -> None:
        self.input, self.args, self.kwargs = first, args, kwargs

    def leaves(self) -> list[Any]:
        given = tensors_in((self.input, self.args, self.kwargs))
        wanted = [each for each in dict.fromkeys(given) if each.requires_grad and each.is_leaf]
        return [each for each in wanted if not is_hidden_view(each)]

    def precise(self) -> Sample:
        """Return the sample in double precision."""

        def widen(value: Any) -> Any:
            if isinstance(value, list | tuple) and type(value) in (list, tuple):
                return type(value)(map(widen, value))
            if not is_tensor(value) or not (value.is_floating_point() or value.is_complex()):
                return value
            wide = value.detach().to(torch.complex128 if value.is_complex() else torch.float64)
            return wide.requires_grad_(value.requires_grad)

        kwargs = {key: widen(value) for key, value in self.kwargs.items()}
        return Sample(widen(self.input), widen(self.args), kwargs)


def start_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the gradient that a pass begins with: random, with few bits for every dtype."""
    parts = np.random.default_rng(5).integers(-32, 33, (2, *tensor.shape)) / 16
    array = parts[0] + 1j * parts[1] if tensor.is_complex() else parts[0]
    return torch.as_tensor(np.asarray(array)).to(tensor.dtype)
