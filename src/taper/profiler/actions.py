"""What a profiler does in a step, what it can record, and what it may do with a finished cycle.

Owns: schedules, activities, the handler that saves traces.  Knows of a profiler only that it can
export its trace.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

from taper.userwarning import warn_user


class ProfilerAction(Enum):
    """What happens in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last step of a cycle: `on_trace_ready` is called after it
    DEVICE_STOPPED = 4


class ProfilerActivity(Enum):
    """What can be recorded: here only what the CPU does."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """Return what can be recorded on this machine.

    >>> import taper
    >>> taper.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Return a schedule of cycles: steps without recording, warm-up steps, and recorded steps.

    Args:
        wait: the steps without recording in each cycle.
        warmup: the steps before recording.
        active: the recorded steps.
        repeat: the number of cycles; 0 for no end.
        skip_first: the steps before the first cycle.
        skip_first_wait: other than 0, the first cycle does not wait.

    Returns: a function from the number of a step to its ProfilerAction.

    >>> import taper
    >>> action = taper.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [action(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn_user("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        number, position = divmod(step, cycle)
        if (repeat and number >= repeat) or position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        last = position == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """Return a function for `on_trace_ready` that saves each trace in a folder for TensorBoard.

    Args:
        dir_name: the folder.
        worker_name: the first part of the files' names; by default from the host and the process.
        use_gzip: compress the files.

    >>> import os, tempfile, taper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save = taper.profiler.tensorboard_trace_handler(folder, "worker")
    ...     with taper.profiler.profile(on_trace_ready=save):
    ...         y = taper.ones(2).exp()
    ...     os.listdir(folder)[0].startswith("worker.")
    True
    """

    def save(profiler: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        profiler.export_chrome_trace(os.path.join(dir_name, name + (".gz" if use_gzip else "")))

    return save
