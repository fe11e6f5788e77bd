"""The one thread-local state object (D10): what every operation asks before it runs.

Owns: grad mode and the other modes as one bit field, the sequence counter, saved-tensor hooks,
the running graph task.  Imports only the native module.

`local.state` costs one thread-local read; all else is a plain attribute of the object behind it.
An operation runs its fast path while `mode` is at most NO_GRAD; any other bit sends it to
`opdef.writes.run_in_mode`, which does what the mode asks for before and after the same fast path.
"""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from taper.arrays.native import keep_memory

NO_GRAD = 1
INFERENCE = 2  # always together with NO_GRAD
DUAL = 4  # a forward-mode level is open
SAVED_HOOKS = 8  # saved_tensors_hooks are active
INTERCEPT = 16  # an interceptor sees each call first
ANOMALY = 32  # keep the stack of every recorded operation

PACKAGE = __name__.split(".")[0]
# Classes of the package are under the second name where `taper.compat` is installed.
CLASS_PATHS = (f"{PACKAGE}.", "torch.")


# Modes that hold for all threads, including future ones.
_common_bits = 0
_states: weakref.WeakSet[State] = weakref.WeakSet()


class State:
    """What one thread knows about how operations run."""

    __slots__ = (
        "__weakref__",
        "autocast",
        "autocast_settings",
        "current_node",
        "cut",
        "dual_carriers",
        "dual_enabled",
        "dual_generation",
        "dual_level",
        "dual_vmaps",
        "earlier_pass",
        "grad_layout",
        "graph_task",
        "hooks_disabled",
        "interceptors",
        "last_pass",
        "mode",
        "module",
        "multithreading",
        "recorder",
        "saved_hooks",
        "sequence",
        "tape",
        "transforms",
        "user_code",
        "view_replay",
    )

    def __init__(self) -> None:
        self.mode = _common_bits
        self.sequence = 0
        self.user_code: CodeType | None = None  # the code object seen last, known not to be taper's
        self.saved_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
        self.hooks_disabled: str | None = None
        self.interceptors: tuple[Callable[..., Any], ...] = ()
        self.recorder: Any = None  # of the profiler, while one is on
        # How many nodes there were when the last pass began, and the one before: see `viz.leaks`.
        self.last_pass: int | None = None
        self.earlier_pass: int | None = None
        self.tape: Any = None  # of `viz.debug_backward`, while one records
        self.transforms: tuple[Any, ...] = ()  # of `func`, the open ones
        self.autocast: Any = None  # while autocast is on: the dtype that `amp` computes products in
        self.autocast_settings: Any = None  # what `amp` knows of this thread
        self.current_node: Any = None
        self.module: Any = None  # the one whose forward runs; the native module has its own
        self.cut: Any = False  # the block in which histories end, see `cuts`
        self.graph_task: Any = None
        self.dual_level = -1
        self.dual_carriers: Any = ()  # the records that hold a tangent of the open level
        self.dual_enabled = True  # what `_set_fwd_grad_enabled` has set
        # Of `func`, the ones that were open when the level was opened.
        self.dual_vmaps: tuple[Any, ...] = ()
        # The number of the level: a tangent of an earlier one has vanished.
        self.dual_generation = 0
        self.multithreading = True
        self.view_replay = False
        self.grad_layout = True  # a fresh `.grad` has the strides of its leaf (§E17)


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = State()
        _states.add(self.state)
        quiet_floating_point_errors()
        keep_memory()


def _report_error(kind: str, flag: int) -> None:
    """Stay silent about our own operations; warn about the user's NumPy code as NumPy does."""
    frame = sys._getframe(1)
    module = frame.f_globals.get("__name__", "")
    if module != PACKAGE and not module.startswith(PACKAGE + "."):
        warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)


def quiet_floating_point_errors() -> None:
    """Let 1/0 be inf without a warning in taper, as in PyTorch, and leave users' NumPy code alone.

    NumPy's error state is per thread, and `np.errstate` around each operation costs 0.4 us.  So
    NumPy is told once per thread to call `_report_error`, which looks at who computes; a state that
    the user has changed is left alone.
    """
    usual = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    if np.geterr() == usual:
        np.seterrcall(_report_error)
        np.seterr(divide="call", over="call", invalid="call")


local = _Local()


def set_bit_everywhere(bit: int, on: bool) -> None:
    """Switch a mode for all threads."""
    global _common_bits
    _common_bits = _common_bits | bit if on else _common_bits & ~bit
    for state in list(_states):
        state.mode = state.mode | bit if on else state.mode & ~bit
