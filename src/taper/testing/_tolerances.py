"""How much results may differ: what the caller asks for, else what the dtype allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from taper.dtypes import dtype
from taper.testing._messages import Path, at_path

# Relative and absolute tolerance by dtype; other dtypes are compared exactly.
DEFAULTS = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
DEFAULTS_OF_OLD = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


@dataclass(frozen=True)
class Options:
    """The keyword arguments of `assert_close` that concern every pair."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def shown(self, pair: Any, fields: str, options: str, path: Path) -> str:
        """Return a pair with its own fields and some of these options, one a line."""
        lines = [f"id={path}"]
        lines += [f"{name}={getattr(pair, name)!s}" for name in fields.split()]
        lines += [f"{name}={getattr(self, name)}" for name in options.split()]
        body = "".join(f"    {line},\n" for line in lines)
        return f"{type(pair).__name__}(\n{body})"


def tolerances(options: Options, of: Iterable[dtype], path: Path) -> tuple[float, float]:
    """Return relative and absolute tolerance: the caller's, or the widest of the dtypes."""
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    if options.rtol is not None or options.atol is not None:
        lacking = "rtol" if options.rtol is None else "atol"
        text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {lacking}."
        raise ValueError(at_path(text, path))
    return _widest(DEFAULTS, of)


def tolerances_of_old(*of: dtype) -> tuple[float, float]:
    """Return the defaults of `assert_allclose`."""
    return _widest(DEFAULTS_OF_OLD, of)


def _widest(table: dict[str, tuple[float, float]], of: Iterable[dtype]) -> tuple[float, float]:
    known = [table.get(each.name, (0.0, 0.0)) for each in of]
    return max(rtol for rtol, _ in known), max(atol for _, atol in known)
