"""What the operator templates share: the rows, and turning a Sample into a call."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import opcases
from op_case import Dtype, Fixed, OpCase, Sample
from taper.opdef import composites
from taper.ops import load_all

load_all()


def all_cases() -> list[OpCase]:
    """Return every row of every family."""
    found: list[OpCase] = []
    for each in pkgutil.iter_modules(opcases.__path__):
        found.extend(importlib.import_module(f"opcases.{each.name}").CASES)
    return found + in_place_functions(found)


def in_place_functions(rows: list[OpCase]) -> list[OpCase]:
    """Return the rows of functions such as `exp_`, made of the rows of their twins."""
    present = {case.name for case in rows}
    return [
        OpCase(case.inplace, case.samples, differentiable=False, random=case.random)
        for case in rows
        if case.inplace in composites and case.inplace not in present
    ]


CASES = all_cases()


def case_id(case: OpCase) -> str:
    return case.name


def samples_of(case: OpCase) -> list[Sample]:
    """Return the calls of a row, the same in every run."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    return list(case.samples(rng))


def resolve(package: Any, name: str) -> Callable[..., Any]:
    """Return the function behind a dotted name; `Tensor.view` is called with the tensor first."""
    target = package
    for part in name.split("."):
        target = getattr(target, part)
    return target


class Call:
    """A sample as a call of one package: tensors from arrays, leaves noted."""

    def __init__(
        self,
        package: Any,
        case: OpCase,
        sample: Sample,
        dtype: str = "float64",
        requires_grad: bool = False,
        transform: Callable[[np.ndarray], np.ndarray] = lambda array: array,
    ) -> None:
        self.package = package
        self.function = resolve(package, case.name)
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.transform = transform
        self.leaves: list[Any] = []
        self.tensors: list[Any] = []
        self.args = [self._convert(each) for each in sample.args]
        self.kwargs = {name: self._convert(each) for name, each in sample.kwargs.items()}

    def _convert(self, value: Any) -> Any:
        if isinstance(value, Fixed):
            return self._tensor(value.array.astype(_real_name(self.dtype)))
        if isinstance(value, Dtype):
            return getattr(self.package, value.name)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, list | tuple) and any(
            isinstance(each, np.ndarray | Fixed | Dtype | list | tuple) for each in value
        ):
            return type(value)(self._convert(each) for each in value)
        return value

    def _array(self, value: np.ndarray) -> Any:
        if value.dtype.kind not in "fc":
            return self._tensor(value)
        array = value
        if "complex" in self.dtype and value.dtype.kind == "f":
            array = value + 1j * np.roll(value, 1) * 0.5
        if self.dtype == "bool":
            array = value > 0
        if array.dtype.kind == "c" and "complex" not in self.dtype:
            tensor = self._tensor(array.astype("complex64" if self.dtype == "float32" else complex))
        elif self.dtype in ("bfloat16", "float16"):
            tensor = self._tensor(array.astype(np.float32)).to(getattr(self.package, self.dtype))
        else:
            tensor = self._tensor(np.asarray(array).astype(self.dtype))
        if self.requires_grad and ("float" in self.dtype or "complex" in self.dtype):
            tensor.requires_grad_()
            self.leaves.append(tensor)
        return tensor

    def _tensor(self, array: np.ndarray) -> Any:
        tensor = self.package.from_numpy(np.array(self.transform(array), copy=True, order="K"))
        self.tensors.append(tensor)
        return tensor

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def _real_name(dtype: str) -> str:
    names = {"complex64": "float32", "complex128": "float64"}
    return names.get(dtype, dtype if dtype in ("float32", "float64") else "float32")


def outputs_of(result: Any) -> list[Any]:
    """Return the tensors in a result, in order."""
    if isinstance(result, list | tuple):
        return [tensor for each in result for tensor in outputs_of(each)]
    return [result] if hasattr(result, "grad_fn") else []


def as_numpy(tensor: Any) -> np.ndarray:
    """Return the values of a tensor of either package."""
    tensor = tensor.detach().resolve_conj()
    if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
        tensor = tensor.float()
    return np.array(tensor.numpy(force=True))
