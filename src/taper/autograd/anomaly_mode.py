"""Anomaly mode: which operation made the NaN, or the node, that a backward pass stumbles over.

PyTorch formats the whole stack at every operation.  Here an operation under anomaly mode only
keeps the code objects and offsets of its stack (in `node.metadata`, as there), and the text is
written when an error happens.  The switches are process-wide (R8).
"""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from taper.autograd.node import Node, Place
from taper.autograd.provenance import describe, line_of, user_frame
from taper.autograd.state import ANOMALY, local, set_bit_everywhere
from taper.tensor import Tensor
from taper.userwarning import warn_user

enabled = False
check_nan = True

TRACEBACK = "traceback_"  # the keys that PyTorch uses in `node.metadata`
PARENT = "parent_"


def switch(on: bool, check: bool) -> None:
    """Set the mode for all threads."""
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
    """Keep the stack that recorded `node`, and the node whose backward did, if one did (N4)."""
    metadata = node.metadata
    if TRACEBACK not in metadata:
        metadata[TRACEBACK] = _stack(sys._getframe(1))
        if local.state.current_node is not None:
            metadata[PARENT] = local.state.current_node


def _stack(frame: FrameType | None) -> list[Place]:
    """The places of all frames from the user's innermost one outwards."""
    if frame is not None:
        frame = user_frame(frame)
    places: list[Place] = []
    while frame is not None:
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


def report(node: Node) -> None:
    """Warn where a failing node comes from, and the nodes whose backward made it (N3, N4)."""
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
            place = "" if node._code is None else f"\nIt was recorded at {_place(node)}"
            _say(
                f"{lead} No forward pass information available. Enable detect anomaly during "
                "forward pass for more information.",
                place,
            )
        parent = metadata.get(PARENT)
        if parent is None:
            return
        lead = f"\n\nPrevious calculation was induced by {parent._class_name()}."
        node = parent


def _place(node: Node) -> str:
    return describe((node._code, node._offset)) if node._code is not None else "an unknown line"


def _say(text: str, rest: str) -> None:
    try:
        warn_user(text + rest)
    except Warning:  # warnings are errors: the error that is on its way must win (N5)
        sys.stderr.write(text + rest + "\n")


def refuse_nan(node: Node, results: Sequence[Any]) -> None:
    """Raise if a gradient that `node` computed has a NaN (N2)."""
    for position, grad in enumerate(results):
        array = grad._array if isinstance(grad, Tensor) else grad
        if array is not None and np.isnan(array).any():
            raise RuntimeError(
                f"Function '{node._class_name()}' returned nan values in its {position}th output."
            )


class set_detect_anomaly:
    """Switch anomaly mode on or off: at once, or for a block.

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
    """A block in which a backward pass checks for NaN and errors say which forward line it was."""

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
    """Whether anomaly mode is on.

    >>> import taper
    >>> taper.is_anomaly_enabled()
    False
    """
    return enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode checks gradients for NaN.

    >>> import taper
    >>> taper.is_anomaly_check_nan_enabled()
    True
    """
    return check_nan
