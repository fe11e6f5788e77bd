"""Calls of functions that are no operators of the table, as `__torch_dispatch__` is told of them.

Owns: for each such function which overload of PyTorch's a call is, and with which arguments.
"""

from __future__ import annotations

from typing import Any

from taper.device import device, strided
from taper.tensor import Tensor

_CPU = device("cpu")


def _options(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return keywords as PyTorch passes them on: what was given, the device, no pinned memory."""
    found = {name: given[name] for name in names if given.get(name) not in (None, strided)}
    last = {"memory_format": found.pop("memory_format")} if "memory_format" in found else {}
    return {**found, "pin_memory": False, **last}


def _made_options(given: dict[str, Any]) -> dict[str, Any]:
    found = {**given, "device": given.get("device") or _CPU}
    return _options(found, "dtype", "layout", "device")


def _sizes(given: tuple[Any, ...]) -> list[int]:
    return (
        list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)
    )


def _of_sizes(overload: str) -> Any:
    def show(args: Any, given: dict[str, Any]) -> Any:
        size = given.get("size")
        sizes = _sizes(args) if size is None else list(size)
        return overload, (sizes,), _made_options(given)

    return show


def _of_numbers(overload: str) -> Any:
    def show(args: Any, given: dict[str, Any]) -> Any:
        shown = [list(each) if isinstance(each, tuple) else each for each in args]
        return overload, tuple(each for each in shown if each is not None), _made_options(given)

    return show


def _arange(args: Any, given: dict[str, Any]) -> Any:
    names = ("default", "default", "start", "start_step")
    args = tuple(each for each in args if each is not None)
    return _of_numbers(f"arange.{names[len(args)]}")(args, given)


def _randint(args: Any, given: dict[str, Any]) -> Any:
    return _of_numbers("randint.default" if len(args) == 2 else "randint.low")(args, given)


def _like(overload: str) -> Any:
    def show(args: Any, given: dict[str, Any]) -> Any:
        return overload, args, _options(given, "dtype", "layout", "device", "memory_format")

    return show


def _new(overload: str) -> Any:
    def show(args: Any, given: dict[str, Any]) -> Any:
        args = (args[0], _sizes(args[1:]))
        return overload, args, _options(given, "dtype", "layout", "device")

    return show


def _plainly(overload: str) -> Any:
    return lambda args, given: (overload, args, given)


def _new_full(args: Any, given: dict[str, Any]) -> Any:
    if len(args) < 3:
        return None
    options = _options(given, "dtype", "layout", "device")
    return "new_full.default", (args[0], list(args[1]), args[2]), options


def _randint_like(args: Any, given: dict[str, Any]) -> Any:
    name = "randint_like.default" if len(args) == 2 else "randint_like.low_dtype"
    return _like(name)(args, given)


def _window(name: str) -> Any:
    def show(args: Any, given: dict[str, Any]) -> Any:
        form = "default" if len(args) == 1 else "periodic"
        return _of_numbers(f"{name}.{form}")(args, given)

    return show


def _normal(args: Any, given: dict[str, Any]) -> Any:
    if len(args) < 3 or any(isinstance(each, Tensor) for each in args):
        return None
    return _of_numbers("normal.float_float")(args, given)


def _isin(args: Any, given: dict[str, Any]) -> Any:
    if len(args) != 2:
        return None
    kinds = ["Tensor" if isinstance(each, Tensor) else "Scalar" for each in args]
    return f"isin.{'_'.join(kinds)}", args, given


def _resize(args: Any, given: dict[str, Any]) -> Any:
    return "resize_.default", (args[0], _sizes(args[1:])), given


def _set(args: Any, given: dict[str, Any]) -> Any:
    forms = {1: "default", 2: "source_Tensor"}
    form = forms.get(len(args))
    if form is None or given or not isinstance(args[1 if len(args) > 1 else 0], Tensor):
        return None
    return f"set_.{form}", args, given


def _fill(name: str, **usual: float) -> Any:
    """Describe a fill with random numbers, without the parameters that are as usual."""

    def show(args: Any, given: dict[str, Any]) -> Any:
        rest = list(usual)[len(args) - 1 :]
        values = [*args[1:], *[given.get(each, usual[each]) for each in rest]]
        while values and values[-1] == list(usual.values())[len(values) - 1]:
            values.pop()
        named = {"generator": given["generator"]} if given.get("generator") is not None else {}
        return f"{name}.default", (args[0], *map(float, values)), named

    return show


def _squeeze(args: Any, given: dict[str, Any]) -> Any:
    form = "default" if len(args) == 1 else "dim" if isinstance(args[1], int) else "dims"
    return f"squeeze_.{form}", args, given


# Name of the function -> function of its arguments; None where the operators in it are shown.
SHOWN: dict[str, Any] = {
    **{name: _of_sizes(f"{name}.default") for name in ("zeros", "ones", "rand", "randn")},
    "empty": _of_sizes("empty.memory_format"),
    **{
        name: _of_numbers(f"{name}.default")
        for name in ("eye", "full", "linspace", "logspace", "randperm", "scalar_tensor")
    },
    "arange": _arange,
    "randint": _randint,
    **{
        f"{name}_like": _like(f"{name}_like.default")
        for name in ("zeros", "ones", "empty", "full", "rand", "randn")
    },
    **{f"new_{name}": _new(f"new_{name}.default") for name in ("zeros", "ones", "empty")},
    "new_full": _new_full,
    "randint_like": _randint_like,
    "normal": _normal,
    "isin": _isin,
    "cauchy_": _fill("cauchy_", median=0, sigma=1),
    "exponential_": _fill("exponential_", lambd=1),
    "log_normal_": _fill("log_normal_", mean=1, std=2),
    "normal_": _fill("normal_", mean=0, std=1),
    "uniform_": _fill("uniform_", **{"from": 0, "to": 1}),
    "resize_": _resize,
    "set_": _set,
    "squeeze_": _squeeze,
    **{
        name: _of_numbers(f"{name}.default")
        for name in ("empty_strided", "tril_indices", "triu_indices")
    },
    **{
        f"{name}_window": _window(f"{name}_window")
        for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
    },
    **{name: _plainly(f"{name}.default") for name in ("t_", "transpose_", "unsqueeze_")},
    "detach": _plainly("detach.default"),
    "allclose": _plainly("allclose.default"),
    "equal": _plainly("equal.default"),
}
