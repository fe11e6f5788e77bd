"""How two libraries are compared: equal inputs, what can be observed of a call, differences.

`mirror` makes taper's twin of anything of PyTorch's; `attempt` runs a call and keeps its result or
error and its warnings; `differences` says in which observable things two results differ.  Nothing
here knows which operators or programs are compared.
"""

from __future__ import annotations

import dataclasses
import re
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import taper

BOUNDS = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "complex64": 2e-5}
# Two units in the last place: both libraries round half precision at the same steps, and one that
# falls to the other side may be rounded again.  Wider bounds have hidden errors.
UNITS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
POSITION = re.compile(r" \(position \d+\)")
Difference = tuple[str, str]  # the kind ("value", "stride", ...) and what each library says


class NoTwinError(Exception):
    """taper has no such tensor or name: of another device, sparse, of 65 dims, of complex32."""


def twin_of_tensor(theirs: torch.Tensor, memo: dict[Any, Any] | None = None) -> taper.Tensor:
    """Copy the storage, and lay the same strided (conjugate, negative) view over the copy.

    Tensors of one storage and dtype share one copy of it, which `memo` remembers.
    """
    if theirs.device.type != "cpu" or theirs.layout != torch.strided or theirs.dim() > 64:
        raise NoTwinError
    twin_of_name(theirs.dtype)
    flags = (theirs.is_conj(), theirs.is_neg())
    plain = theirs.detach()
    plain = plain.conj() if flags[0] else plain
    plain = torch._neg_view(plain) if flags[1] else plain
    memo = {} if memo is None else memo
    place = (plain.untyped_storage().data_ptr(), plain.dtype)
    if place not in memo or not place[0]:
        storage = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage()).clone()
        if plain.dtype == torch.bfloat16:
            ours = taper.from_numpy(storage.view(torch.int16).numpy()).view(taper.bfloat16)
        else:
            ours = taper.from_numpy(storage.numpy())
        memo[place] = ours
    ours = memo[place]
    with taper.no_grad():
        ours = ours.as_strided(plain.shape, plain.stride(), plain.storage_offset())
        ours = ours.conj() if flags[0] else ours
        ours = taper._neg_view(ours) if flags[1] else ours
    return ours.detach().requires_grad_(theirs.requires_grad and not is_hidden_view(theirs))


def is_hidden_view(tensor: Any) -> bool:
    """Return whether it is a view of a leaf made under no_grad: using it gives it a history."""
    return tensor.is_leaf and tensor._base is not None and tensor._base.requires_grad


def twin_of_name(value: Any) -> Any:
    """Return taper's dtype, layout or memory format."""
    try:
        return getattr(taper, str(value).removeprefix("torch."))
    except (AttributeError, NotImplementedError) as error:
        raise NoTwinError from error


def at_path(root: Any, path: str) -> Any:
    """Return the object at a dotted path, or None if taper has no such name."""
    for name in path.split("."):
        try:
            root = getattr(root, name, None)
        except NotImplementedError:
            return None
    return root


def rebound(function: Any, **others: Any) -> Any:
    """Return a Python function again, with `torch` bound to taper, and other names as given."""
    names = {**function.__globals__, "torch": taper, "F": taper.nn.functional, **others}
    cells = tuple(types.CellType(mirror(each.cell_contents)) for each in function.__closure__ or ())
    code, defaults = function.__code__, mirror(function.__defaults__)
    again = types.FunctionType(code, names, function.__name__, defaults, cells or None)
    again.__kwdefaults__ = mirror(function.__kwdefaults__)
    return again


def mirror(value: Any, memo: dict[Any, Any] | None = None) -> Any:
    """Return taper's twin of a value; a tensor that occurs twice is one tensor in the twin too."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = twin_of_tensor(value, memo)
        return memo[id(value)]
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return twin_of_name(value)
    if isinstance(value, torch.device):
        return taper.device(str(value))
    if isinstance(value, torch.Size):
        return taper.Size(value)
    if isinstance(value, dict):
        return {key: mirror(each, memo) for key, each in value.items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(mirror(each, memo) for each in value)
    if isinstance(value, slice):
        return slice(*(mirror(each, memo) for each in (value.start, value.stop, value.step)))
    if isinstance(value, types.FunctionType) and value.__module__.startswith("torch."):
        path = f"{value.__module__}.{value.__qualname__}".removeprefix("torch.")
        return at_path(taper, path) or rebound(value)
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("torch."):
        names = [each.name for each in dataclasses.fields(value) if each.init]
        given = {name: mirror(getattr(value, name), memo) for name in names}
        return at_path(taper.nn.modules.linear_cross_entropy, type(value).__name__)(**given)
    if isinstance(value, torch.nn.Module):
        return at_path(taper.nn, type(value).__name__)()
    return value


@dataclass
class Outcome:
    """What one call gave: a result or an error, and its warnings."""

    result: Any = None
    error: Exception | None = None
    warnings: list[str] = field(default_factory=list)


def attempt(call: Callable[[], Any]) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = Outcome(call())
        except Exception as error:
            outcome = Outcome(error=error)
    outcome.warnings = [first_line(each.message) for each in caught]
    return outcome


def first_line(message: object) -> str:
    """Return the first line of a text, without the C++ place where PyTorch raised or warned."""
    lines = str(message).strip().splitlines() or [""]
    line = lines[0].split(" (Triggered")[0].split(" Exception raised from")[0].strip()
    return line.replace("-nan", "nan")  # the sign of a NaN depends on the processor


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor | taper.Tensor)


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [each for part in value for each in tensors_in(part)]
    return [value] if is_tensor(value) else []


def array_of(tensor: Any) -> np.ndarray:
    # A copy, since PyTorch refuses to resize memory that it has once lent to NumPy.
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    tensor = tensor.resolve_conj().resolve_neg().clone()
    half = str(tensor.dtype) in ("torch.bfloat16", "torch.float16")
    return np.asarray((tensor.float() if half else tensor).numpy(force=True))


DOUBLE = 1e-9  # the bound of float64, int64 and what else has none in BOUNDS


def far(
    ours: Any, theirs: Any, factor: float = 1.0, own_scale: bool = False, double: float = DOUBLE
) -> str:
    """Return where two tensors of one shape differ by more than rounding, or an empty text.

    The bound is relative to the largest element; with `own_scale` to each element by itself.
    `double` is that of float64.
    """
    mine, expected = array_of(ours), array_of(theirs)
    if expected.dtype.kind in "biu":
        bad = mine != expected
    else:
        name = str(theirs.dtype).removeprefix("torch.")
        size = np.abs(np.where(np.isfinite(expected), expected, 0))
        largest = float(size.max(initial=0))
        if name in UNITS and not own_scale:
            room = UNITS[name] * (size + 0.25 * largest)
        else:
            bound = factor * BOUNDS.get(name, double)
            room = bound * (size + (0.05 if own_scale else max(1.0, largest)))
        bad = ~(distance(mine, expected) <= room)
    if not bad.any():
        return ""
    place = tuple(int(each[0]) for each in np.nonzero(bad)) if bad.ndim else ()
    return f"at {list(place)}: {mine[place]} / {expected[place]} ({int(bad.sum())} of {bad.size})"


def distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return |one - other|, where equal infinities and two NaN are at distance 0."""
    with np.errstate(all="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        return np.where(same, 0.0, np.abs(one - other))


def no_farther(ours: Any, theirs: Any, exact: Any, factor: float) -> bool:
    """Return whether ours are near to values of higher precision, at least as near as theirs."""
    pairs = zip(tensors_in(ours), tensors_in(theirs), tensors_in(exact), strict=True)
    # Over all gradients: values that cancel out in one are as large as in the others.
    values = [array_of(each) for each in tensors_in(exact)]
    size = max([np.abs(np.where(np.isfinite(v), v, 0)).max(initial=0) for v in values], default=0)
    size = max(size, 1.0)
    for mine, expected, reference in pairs:
        true = array_of(reference)
        error = distance(array_of(mine), true).max(initial=0)
        bound = 4 * factor * BOUNDS.get(str(expected.dtype).removeprefix("torch."), 1e-9) * size
        noise = min(bound, BOUNDS["float32"] * size) / 4
        theirs_off = distance(array_of(expected), true).max(initial=0)
        nearer = min(theirs_off, 50 * bound)  # for ill-conditioned values
        if not error <= max(noise, nearer, min(bound, 1.5 * theirs_off)):
            return False
    return True


FLAGS = ("requires_grad", "is_leaf", "is_conj", "is_neg", "is_inference", "node")


def flag(tensor: Any, name: str) -> Any:
    """Return a property of a tensor, or what asking for it raises."""
    try:
        if name == "node":
            return type(tensor.grad_fn).__name__
        value = getattr(tensor, name)
        return value() if callable(value) else value
    except Exception as error:
        return f"{type(error).__name__}: {first_line(error)}"


def tensor_differences(
    ours: Any,
    theirs: Any,
    own_scale: bool = False,
    values: bool = True,
    factor: float = 1.0,
    double: float = DOUBLE,
) -> Iterator[Difference]:
    """Yield all differences of two tensors, worst first."""
    for name in ("dtype", "shape"):
        mine, expected = getattr(ours, name), getattr(theirs, name)
        if str(mine).replace("taper", "torch") != str(expected):
            yield name, f"{mine} / {expected}"
            return
    if values and (where := far(ours, theirs, factor, own_scale, double)):
        yield "value", where
    if str(theirs.layout) != "torch.strided":
        if str(ours.layout) != str(theirs.layout):
            yield "layout", f"{ours.layout} / {theirs.layout}"
        return
    layouts = [(each.stride(), each.storage_offset()) for each in (ours, theirs)]
    if layouts[0] != layouts[1]:
        real = [i for i, size in enumerate(theirs.shape) if size > 1]
        same = layouts[0][1] == layouts[1][1] and all(
            ours.stride(i) == theirs.stride(i) for i in real
        )
        kind = "layout of empty" if not theirs.numel() else "stride of size 1" if same else "stride"
        yield kind, f"{tuple(theirs.shape)}: {layouts[0]} / {layouts[1]}"
    for name in FLAGS:
        if flag(ours, name) != flag(theirs, name):
            yield name, f"{flag(ours, name)} / {flag(theirs, name)}"


def differences(ours: Any, theirs: Any, **options: Any) -> Iterator[Difference]:
    """Yield all differences of two results: tensors, numbers, and collections of them."""
    if is_tensor(ours) and is_tensor(theirs):
        yield from tensor_differences(ours, theirs, **options)
    elif isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
        if type(ours).__name__ != type(theirs).__name__ or len(ours) != len(theirs):
            yield (
                "type",
                f"{type(ours).__name__} {len(ours)} / {type(theirs).__name__} {len(theirs)}",
            )
        for mine, expected in zip(ours, theirs, strict=False):
            yield from differences(mine, expected, **options)
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        if list(ours) != list(theirs):
            yield "type", f"keys {list(ours)} / {list(theirs)}"
        for key in ours.keys() & theirs.keys():
            yield from differences(ours[key], theirs[key], **options)
    elif isinstance(theirs, float | complex) and isinstance(ours, float | complex):
        if not np.isclose(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True):
            yield "value", f"{ours} / {theirs}"
    elif ADDRESS.sub("", str(ours).replace("taper", "torch")) != ADDRESS.sub("", str(theirs)):
        yield "value", f"{ours!r} / {theirs!r}"


def outcome_differences(ours: Outcome, theirs: Outcome, **options: Any) -> Iterator[Difference]:
    """Yield all differences of two outcomes, with the errors and the warnings."""
    if ours.error is not None or theirs.error is not None:
        mine, expected = (
            "result" if each is None else f"{type(each).__name__}: {first_line(each)}"
            for each in (ours.error, theirs.error)
        )
        # taper's methods are its functions, and count the tensor itself as the first argument.
        mine = mine.replace("taper.", "torch.").replace("module 'taper'", "module 'torch'")
        plain = [POSITION.sub("", each) for each in (mine, expected)]
        if not plain[0].startswith(plain[1]):  # autograd's errors add the user's line
            kind = (
                "raises" if theirs.error is None else "accepts" if ours.error is None else "error"
            )
            yield kind, f"{mine} / {expected}"
    else:
        yield from differences(ours.result, theirs.result, **options)
    if ours.warnings != theirs.warnings:
        yield "warning", f"{ours.warnings} / {theirs.warnings}"
