"""Arguments by name: whatever PyTorch takes under a name, taper takes, too.

Every row of the operators is called as function, as method and in place, with its arguments given
by their names in taper, and with NumPy's names for dimensions.  taper may take more: it does not
know which overload an argument belongs to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import taper
from op_case import OpCase, Sample
from op_templates import CASES, Call, case_id, resolve, samples_of
from taper.opdef.numpy_names import NAMES

NO_NAME = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def forms(case: OpCase) -> Iterator[tuple[str, int]]:
    """Yield the names of the functions of a row, and where the arguments with a name start."""
    last = case.name.rpartition(".")[2]
    if case.name.startswith("Tensor."):
        yield case.name, 1
        return
    yield case.name, 0
    for method in (last, f"{last}_"):
        both = [getattr(each.Tensor, method, None) for each in (torch, taper)]
        if case.name == last and all(map(callable, both)):
            yield f"Tensor.{method}", 1


def takes(
    package: Any, case: OpCase, sample: Sample, name: str, start: int, names: dict[int, str]
) -> bool:
    """Return whether a call works with the arguments from `start` on under these names."""
    call = Call(package, case, sample, "float32")
    named = {names[position]: value for position, value in enumerate(call.args[start:], start)}
    try:
        resolve(package, name)(*call.args[:start], **named, **call.kwargs)
    except Exception:
        return False
    return True


def names_of(function: Callable[..., Any], sample: Sample) -> dict[int, str]:
    """Return the names of the positional arguments of a sample."""
    parameters = list(inspect.signature(function).parameters.values())
    given = parameters[: len(sample.args)]
    if len(given) < len(sample.args) or any(each.kind in NO_NAME for each in given):
        return {}
    return {position: each.name for position, each in enumerate(given)}


def calls(case: OpCase) -> Iterator[tuple[str, int, Sample, dict[int, str]]]:
    """Yield the function, the first argument that is given by name, the sample, the names."""
    for name, first in forms(case):
        for sample in samples_of(case)[:4]:
            names = names_of(resolve(taper, name), sample)
            for start in range(first, len(names)):
                yield name, start, sample, names


def refused(case: OpCase, rename: dict[str, str]) -> list[tuple[str, list[str]]]:
    found = []
    for name, start, sample, names in calls(case):
        keywords = {rename.get(each, each): value for each, value in sample.kwargs.items()}
        other = Sample(sample.args, keywords)
        called = {position: rename.get(each, each) for position, each in names.items()}
        arguments = (case, other, name, start, called)
        if takes(torch, *arguments) and not takes(taper, *arguments):
            found.append((name, list(called.values())[start:]))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_arguments_by_name(case):
    assert refused(case, {}) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_dimensions_under_names_of_numpy(case):
    assert refused(case, NAMES) == []
