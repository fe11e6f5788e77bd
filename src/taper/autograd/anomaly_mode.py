"""Anomaly mode: find the operation that made a NaN, or the node in which a backward pass failed.

Beyond PyTorch, the mode looks at the forward pass too: the first operation that makes a NaN or an
infinity out of finite inputs raises, with the user's line and the ranges of its inputs.

PyTorch formats the whole stack at every operation.  Here an operation under anomaly mode only keeps
the code objects and offsets of its stack (in `node.metadata`, as PyTorch does); the text is written
when an error happens.  The switches are process-wide (§R8).
"""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Sequence
from math import isfinite
from types import FrameType
from typing import Any

import numpy as np
from numpy import vdot

from taper.arrays.native import native
from taper.autograd.callers import origin
from taper.autograd.node import Node, Place
from taper.autograd.provenance import describe, is_internal, line_of, user_frame
from taper.autograd.state import ANOMALY, local, set_bit_everywhere
from taper.tensor import Tensor, array_of
from taper.userwarning import warn_user

__all__ = ["detect_anomaly", "set_detect_anomaly"]

enabled = False
check_nan = True

TRACEBACK = "traceback_"  # the keys that PyTorch uses in `node.metadata`
PARENT = "parent_"


def switch(on: bool, check: bool = True) -> None:
    """Set the mode for all threads.

    >>> import taper
    >>> taper.set_anomaly_enabled(True)
    >>> taper.is_anomaly_enabled()
    True
    >>> taper.set_anomaly_enabled(False)
    """
    for position, (name, value) in enumerate((("enabled", on), ("check_nan", check)), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, "
                f"not {type(value).__name__}"
            )
    global enabled, check_nan
    enabled, check_nan = on, check
    set_bit_everywhere(ANOMALY, on)


def remember(node: Node) -> None:
    """Keep the stack that recorded `node`, and the node whose backward did so, if any (§N4)."""
    metadata = node.metadata
    if TRACEBACK not in metadata:
        metadata[TRACEBACK] = _stack(sys._getframe(1))
        if local.state.current_node is not None:
            metadata[PARENT] = local.state.current_node


def _stack(frame: FrameType | None) -> list[Place]:
    """Return the places of all frames from the user's innermost one outwards, without ours."""
    if frame is not None:
        frame = user_frame(frame)
    places: list[Place] = []
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return places


def _formatted(places: Sequence[Place]) -> str:
    lines = []
    for code, offset in reversed(places):
        if code is None:
            continue
        line = line_of(code, offset)
        lines.append(f'  File "{code.co_filename}", line {line}, in {code.co_name}\n')
        text = linecache.getline(code.co_filename, line).strip()
        if text:
            lines.append(f"    {text}\n")
    return "".join(lines)


_NO_STACK = (
    "No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)


def report(node: Node) -> None:
    """Warn where a failing node was recorded, and by the backward of which nodes (§N3, §N4)."""
    lead = f"Error detected in {node._class_name()}."
    while True:
        metadata = node.metadata
        if TRACEBACK in metadata:
            _say(
                f"{lead} Traceback of forward call that caused the error:\n"
                if lead.startswith("Error")
                else f"{lead} Traceback of forward call that induced the previous calculation:\n",
                _formatted(metadata[TRACEBACK]),
            )
        else:
            known = "" if node._code is None else f"\nIt was recorded {origin(node)}"
            _say(f"{lead} {_NO_STACK}", known)
        parent = metadata.get(PARENT)
        if parent is None:
            return
        lead = f"\n\nPrevious calculation was induced by {parent._class_name()}."
        node = parent


def _say(text: str, rest: str) -> None:
    try:
        warn_user(text + rest)
    except Warning:  # warnings may be errors: the error that is already on its way must win (§N5)
        sys.stderr.write(text + rest + "\n")


def is_finite(array: np.ndarray) -> bool:
    """Return whether no element is a NaN or an infinity."""
    if native is not None and (found := native.all_finite(array)) is not None:
        return bool(found)
    if array.dtype.kind not in "fc":
        return not _is_low(array.dtype) or is_finite(array.astype(np.float32))
    if isfinite(vdot(array, array).real):  # one call of BLAS; a sum that overflows says nothing
        return True
    return bool(np.isfinite(array).all())


def _is_low(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "V"  # bfloat16, which is ml_dtypes' and has no NumPy kind of its own


def watches_forward() -> bool:
    """Return whether forward operations are checked; those of a backward pass are left to (§N2)."""
    return check_nan and local.state.current_node is None


def refuse_forward(op: Any, arguments: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raise if an operator or custom Function made a NaN or an infinity out of finite inputs."""
    for output in outputs:
        if not isinstance(output, Tensor) or is_finite(output._array):
            continue
        if _all_finite(arguments):
            raise RuntimeError(_bad_forward(op, output._array, ranges(op, arguments)))


def refuse_written(op: Any, target: Tensor, before: str | None) -> None:
    """Raise likewise for a write in place; `before` are the ranges of its inputs until then."""
    if before is not None and not is_finite(target._array):
        raise RuntimeError(_bad_forward(op, target._array, before))


def finite_ranges(op: Any, arguments: Sequence[Any]) -> str | None:
    """Return the ranges of the inputs of a write that is about to run; None if not all finite."""
    return ranges(op, arguments) if _all_finite(arguments) else None


def _all_finite(arguments: Sequence[Any]) -> bool:
    for each in arguments:
        if isinstance(each, Tensor):
            if not is_finite(each._array):
                return False
        elif isinstance(each, (float, complex)):
            if not isfinite(abs(each)):
                return False
        elif isinstance(each, (tuple, list)) and not _all_finite(each):
            return False
    return True


def _bad_forward(op: Any, array: np.ndarray, inputs: str) -> str:
    what = "nan" if np.isnan(array).any() else "infinite"
    name = op.__name__ if isinstance(op, type) else (op.label or op.name).lstrip("_")
    frame = user_frame(sys._getframe(1))
    place = describe((frame.f_code, frame.f_lasti))
    return f"{name}() made {what} values out of finite inputs at {place}{inputs}"


def ranges(op: Any, arguments: Sequence[Any]) -> str:
    """Return a line for each input of a call: its shape and the least and greatest value."""
    if isinstance(op, type):
        names = [f"input {position}" for position in range(len(arguments))]
    else:
        names = [param.public_name for param in op.params]
    lines = []
    for name, value in zip(names, arguments, strict=False):
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Tensor):
                lines.append(f"\n  {name}: {_range(each)}")
            elif isinstance(each, (int, float, complex)):
                lines.append(f"\n  {name}: {each}")
    return "".join(lines)


def _range(tensor: Tensor) -> str:
    array = tensor._array
    text = f"shape {list(array.shape)}, {tensor.dtype}"
    if not array.size:
        return text
    if array.dtype.kind == "c":
        return f"{text}, magnitudes from {np.abs(array).min():g} to {np.abs(array).max():g}"
    return f"{text}, values from {float(array.min()):g} to {float(array.max()):g}"


def refuse_nan(node: Node, results: Sequence[Any]) -> None:
    """Raise if a gradient that `node` computed has a NaN (§N2)."""
    for position, grad in enumerate(results):
        array = array_of(grad)
        if array is not None and not is_finite(array) and np.isnan(array).any():
            raise RuntimeError(
                f"Function '{node._class_name()}' returned nan values in its {position}th output."
                + (f"\nIt was recorded {origin(node)}" if node._code is not None else "")
            )


class set_detect_anomaly:
    """Switch anomaly mode on or off: at once, or for a block.

    Args:
        mode: whether the mode is on.
        check_nan: whether gradients are checked for NaN while the mode is on.

    >>> import taper
    >>> with taper.autograd.set_detect_anomaly(True):
    ...     taper.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        switch(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        switch(*self._before)


class detect_anomaly:
    """Check every backward pass in the block for NaN, and name the forward line in its errors.

    Forward operations are checked too: the first one that makes a NaN or an infinity raises.

    Args:
        check_nan: whether values are checked; if False, only errors are explained.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> x = taper.zeros(1, requires_grad=True)
    >>> with taper.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    It was recorded at ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._before = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        switch(True, self._check_nan)

    def __exit__(self, *exception: object) -> None:
        switch(*self._before)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on.

    >>> import taper
    >>> taper.is_anomaly_enabled()
    False
    """
    return enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode checks gradients for NaN.

    >>> import taper
    >>> taper.is_anomaly_check_nan_enabled()
    True
    """
    return check_nan
