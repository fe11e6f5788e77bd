"""The operator table on cuda against the CPU: values, dtypes, strides and gradients of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import taper
from op_templates import CASES, Call, outputs_of, samples_of

TOLERANCE = {"float32": 2e-4, "float64": 1e-8, "float16": 2e-2, "bfloat16": 5e-2}


class OnDevice(Call):
    """The same call with all tensors on the device."""

    def _tensor(self, array: np.ndarray) -> Any:
        tensor = super()._tensor(array).to("cuda")
        self.tensors[-1] = tensor
        return tensor


def problems_of(case: Any, dtype: str = "float32", gradients: bool = True) -> list[str]:
    """What differs between the two devices in the calls of a row."""
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for nr, sample in enumerate(samples_of(case)):
            if not Call(taper, case, sample, dtype).tensors:
                continue
            try:
                here = _outcome(Call, case, sample, dtype, gradients)
            except Exception:  # what the CPU refuses is no row for the device
                continue
            try:
                there = _outcome(OnDevice, case, sample, dtype, gradients)
            except Exception as error:
                found.append(f"{nr}: {type(error).__name__}: {str(error)[:150]}")
                continue
            found += [f"{nr}: {text}" for text in _differences(here, there, TOLERANCE[dtype])]
    return found


def _outcome(kind: Any, case: Any, sample: Any, dtype: str, gradients: bool) -> Any:
    wants = gradients and case.differentiable
    call = kind(taper, case, sample, dtype, requires_grad=wants)
    results = outputs_of(call())
    grads = []
    if wants:
        roots = [each for each in results if each.requires_grad and each.numel()]
        if roots:
            total = sum(
                [
                    (each * each.conj()).real.sum() if each.is_complex() else (each * each).sum()
                    for each in roots
                ]
            )
            grads = list(taper.autograd.grad(total, call.leaves, allow_unused=True))
    return results, grads


def _differences(here: Any, there: Any, tolerance: float) -> list[str]:
    if len(here[0]) != len(there[0]):
        return ["another number of results"]
    found = []
    for name, ours, theirs in (("result", here[0], there[0]), ("gradient", here[1], there[1])):
        for nr, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            text = _difference(one, other, tolerance)
            if text:
                found.append(f"{name} {nr}: {text}")
    return found


def _difference(one: Any, other: Any, tolerance: float) -> str:
    if (one is None) != (other is None):
        return "only one device has it"
    if one is None:
        return ""
    if other.device.type != "cuda":
        return f"on {other.device}"
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{other.dtype} {tuple(other.shape)}, not {one.dtype} {tuple(one.shape)}"
    if one.stride() != other.stride() and one.numel() > 1:
        return f"strides {other.stride()}, not {one.stride()}"
    mine, his = _values(one), _values(other.cpu())
    if mine.dtype.kind in "biu":
        return "" if np.array_equal(mine, his) else "other values"
    if np.allclose(mine, his, tolerance, tolerance, equal_nan=True):
        return ""
    return f"other values, by {np.nanmax(np.abs(mine - his)):.2g}"


def _values(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype in (taper.bfloat16, taper.float16):
        tensor = tensor.float()
    return np.array(tensor.numpy())


ROWS = [case for case in CASES if not case.random]
