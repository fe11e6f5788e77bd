"""Rows of the operator tests, captured: each is replayed with other data than it was recorded with.

As a program it compares all of them: `captured_operators.py [--exact]`.  That finds functions which
look at data, or draw random numbers, where no recording sees it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import taper
from op_case import OpCase, Sample
from op_templates import CASES, Call, samples_of
from taper.utils._pytree import tree_leaves

CALLS = 4  # eager, recorded, and two replays


def shuffled(seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that puts the elements of an array in another order."""
    generator = np.random.default_rng(seed)
    return lambda array: generator.permutation(array.ravel()).reshape(array.shape)


def outcome(call: Call, function: Callable[..., Any], seed: int) -> list[Any]:
    """Results, gradients and the state of the generator; or the error."""
    taper.manual_seed(seed)
    try:
        result = tree_leaves(function(*call.args, **call.kwargs))
        live = [
            each
            for each in result
            if isinstance(each, taper.Tensor) and each.requires_grad and not each.is_complex()
        ]
        if live:
            taper.autograd.backward([each.sum() for each in live])
        return [*result, *[each.grad for each in call.leaves], taper.get_rng_state()]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def agree(found: Any, expected: Any, exact: bool) -> bool:
    """Whether two results are the same, or nearly so."""
    if not isinstance(expected, taper.Tensor):
        return type(found) is type(expected) and (found == expected or found != found)
    if not isinstance(found, taper.Tensor) or found.dtype is not expected.dtype:
        return False
    one, other = (each.detach().resolve_conj().resolve_neg() for each in (found, expected))
    if expected.dtype in (taper.bfloat16, taper.float16):
        one, other = one.float(), other.float()
    if exact or not (expected.is_floating_point() or expected.is_complex()):
        return one.shape == other.shape and np.array_equal(
            one.numpy(), other.numpy(), equal_nan=other.numpy().dtype.kind in "fc"
        )
    size = max(1.0, float(np.nan_to_num(np.abs(other.numpy())).max(initial=0)))
    return one.shape == other.shape and np.allclose(
        one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5 * size, equal_nan=True
    )


def differs(case: OpCase, sample: Sample, requires_grad: bool, exact: bool) -> str:
    """Compare captured calls with eager ones; returns what differs."""
    given = Call(taper, case, sample, "float32", requires_grad)
    captured = taper.capture(lambda *args, **kwargs: given.function(*args, **kwargs), exact=exact)
    for number in range(CALLS):
        made = [
            Call(taper, case, sample, "float32", requires_grad, shuffled(number)) for _ in range(2)
        ]
        expected = outcome(made[0], given.function, number)
        found = outcome(made[1], captured, number)
        same = [agree(one, other, exact) for one, other in zip(found, expected, strict=False)]
        if len(found) != len(expected) or not all(same):
            return f"call {number}: {found} and not {expected}"
    return ""


def main() -> int:
    """Compare all rows; says which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong = count = 0
    for case in CASES:
        for sample in samples_of(case)[:3]:
            for requires_grad in (False, True) if case.differentiable else (False,):
                count += 1
                found = differs(case, sample, requires_grad, options.exact)
                if found:
                    wrong += 1
                    print(f"{case.name}: {found[:300]}")
    print(f"{count} functions, {wrong} differ")
    return 1 if wrong else 0


def some(share: int) -> list[OpCase]:
    """One row in `share`, the same in every run."""
    return [case for case in CASES if zlib.crc32(case.name.encode()) % share == 0]


if __name__ == "__main__":
    sys.exit(main())
