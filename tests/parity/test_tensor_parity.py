"""Making, asking and converting tensors: each expression gives the same in both packages.

`tensor_expressions.txt` holds an expression in each line, after statements that end in `;;`.  The
tests compare values, dtypes, shapes, strides, flags, errors with their text, and warnings.
"""

from __future__ import annotations

import array
import copy
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import taper

EXPRESSIONS = [
    line
    for line in Path(__file__).with_name("tensor_expressions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# Given once in a process, perhaps in another test.
ONCE = (
    "Converting a tensor with requires_grad=True",
    "Creating a tensor from a list of numpy",
    "The given NumPy array is not writable",
    "The given buffer is not writable",
    "TypedStorage is deprecated",
    "torch.asarray: unspecified requires_grad",
)


def described(package, value):
    """Return a result as text."""
    if isinstance(value, package.Tensor):
        place = f"{tuple(value.shape)} {value.stride()} {value.storage_offset()}"
        return f"{value!r} {value.dtype} {place} {value.requires_grad} {value.is_leaf}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} {[described(package, each) for each in value]}"
    if isinstance(value, np.ndarray):
        return f"{value!r} {value.dtype} {value.strides}"
    return f"{type(value).__name__} {value!r}"


def outcome(package, line):
    """Return what an expression gives in a package: result or error, and the warnings."""
    names = {"torch": package, "np": np, "copy": copy, "pickle": pickle, "array": array}
    names.update(nan=float("nan"), inf=float("inf"))
    *statements, expression = line.split(";;")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for statement in statements:
                exec(statement, names)
            text = described(package, eval(expression, names))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    texts = [f"{each.category.__name__}: {each.message}" for each in caught]
    texts = [each for each in texts if not any(once in each for once in ONCE)]
    whole = re.sub(r" ?\(Triggered internally at .*?\)", "", " ~ ".join([text, *texts]))
    return re.sub(r"0x[0-9a-f]+", "0x", whole).replace("taper.", "torch.").rstrip()


@pytest.mark.parametrize("line", EXPRESSIONS)
def test_expression(line):
    assert outcome(taper, line) == outcome(torch, line)


DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_to_pytorch_and_back_shares_memory(dtype, versioned):
    ours = taper.arange(6).reshape(2, 3).to(getattr(taper, dtype)).t()
    capsule = ours.__dlpack__(max_version=(1, 0) if versioned else None)
    theirs = torch.from_dlpack(capsule)
    assert str(theirs.dtype) == str(ours.dtype)
    assert theirs.stride() == ours.stride()
    theirs[0, 1] = 1
    assert ours[0, 1].item() == 1
    capsule = theirs.__dlpack__(max_version=(1, 0) if versioned else None)
    back = taper.from_dlpack(capsule)
    assert repr(back) == repr(theirs)
    back.fill_(1)
    assert bool((theirs == 1).all())


def test_memory_of_pytorch_outlives_its_tensor():
    ours = taper.from_dlpack(torch.full((1000,), 3.0))
    for _ in range(10):
        torch.zeros(1000)
    assert ours.sum().item() == 3000


def test_memory_of_ours_outlives_our_tensor():
    theirs = torch.from_dlpack(taper.full((1000,), 3.0))
    for _ in range(10):
        taper.zeros(1000)
    assert theirs.sum().item() == 3000


def test_numpy_hands_on_between_the_packages():
    ours = taper.zeros(2, 3)
    theirs = torch.from_numpy(ours.numpy())
    theirs[1, 2] = 5
    assert ours[1, 2].item() == 5


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "bfloat16"])
def test_linspace_is_equal_to_the_last_bit(dtype):
    rng = np.random.default_rng(0)
    for _ in range(50):
        start, end = rng.uniform(-50, 50, 2).tolist()
        steps = int(rng.integers(0, 40))
        ours = taper.linspace(start, end, steps, dtype=getattr(taper, dtype)).double()
        theirs = torch.linspace(start, end, steps, dtype=getattr(torch, dtype)).double()
        assert ours.tolist() == theirs.tolist()
