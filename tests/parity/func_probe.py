"""What the comparisons of `func` and `vmap` with PyTorch share."""

from __future__ import annotations

import warnings

import pytest
import torch as real_torch

import taper
import taper.func
import taper.nn


def seen(value):
    """Return what can be seen of a value, in the same form for both libraries."""
    if isinstance(value, (real_torch.Tensor, taper.Tensor)):
        return {
            "values": value.detach().flatten().tolist(),
            "shape": list(value.shape),
            "dtype": str(value.dtype),
            "requires_grad": value.requires_grad,
        }
    if isinstance(value, dict):
        return [type(value).__name__, *((key, seen(each)) for key, each in value.items())]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(seen(each) for each in value)]
    return value


def observed(program, torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            return seen(program(torch))
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace("taper", "torch")


def close(one, other, bound=1e-5):
    """Compare up to rounding, which is that of the largest of the numbers of a tensor."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        bound = 1e-5 * max([1.0, *[abs(each) for each in other if isinstance(each, float)]])
        return len(one) == len(other) and all(
            close(ours, theirs, bound) for ours, theirs in zip(one, other, strict=True)
        )
    if isinstance(one, (float, complex)) and isinstance(other, (float, complex)):
        return one == pytest.approx(other, rel=1e-4, abs=bound, nan_ok=True)
    return one == other


def check(program):
    found, expected = observed(program, taper), observed(program, real_torch)
    assert close(found, expected), f"\n{found}\n{expected}"


X = [0.5, 1.25, 2.0]
V = [1.0, -2.0, 0.5]


def tensors(torch):
    return torch.tensor(X), torch.tensor(V)


def batch(torch):
    return torch.tensor([[0.5, 1.25, 2.0], [-0.3, 0.7, 1.1], [1.9, 0.1, -0.8], [0.2, 0.4, 0.6]])
