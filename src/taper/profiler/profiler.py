"""`profile`: recording some of the steps of a program.

Owns: steps, cycles and what is called when a cycle ends.  One `taper.autograd.profiler.profile` for
each cycle does the recording.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from taper.autograd import profiler as recording
from taper.autograd.profiler import STEP, record_function
from taper.autograd.profiler_util import EventList
from taper.profiler.actions import ProfilerAction, ProfilerActivity, supported_activities
from taper.userwarning import warn_once, warn_user

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:
    """Record the computations of a block, all of them or the steps that a schedule names.

    With a schedule the program calls `step()` after each of its steps.

    Args:
        schedule: a function from the number of a step to its action, such as
            `taper.profiler.schedule` makes; without it everything is recorded.
        on_trace_ready: called with the profiler when a cycle has ended, or at the end of the block.
        acc_events: keep the events of earlier cycles; otherwise those of the next cycle replace
            them.

    The other options are those of `taper.autograd.profiler.profile`.

    >>> import taper
    >>> from taper.profiler import profile, schedule
    >>> def done(profiler):
    ...     print(len(profiler.events()), "events after", profiler.step_num, "steps")
    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> with profile(schedule=plan, on_trace_ready=done) as profiler:
    ...     for step in range(6):
    ...         y = taper.ones(2).exp()
    ...         profiler.step()
    6 events after 4 steps
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        wanted = set(supported_activities()) if activities is None else set(activities)
        if use_cuda is not None:
            warn_user("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
            if use_cuda:
                wanted.add(ProfilerActivity.CUDA)
        if not wanted or not all(isinstance(each, ProfilerActivity) for each in wanted):
            raise AssertionError("No valid profiler activities found")
        if execution_trace_observer is not None:
            raise NotImplementedError(
                "taper has no execution traces; use export_chrome_trace() instead"
            )
        self.activities: set[ProfilerActivity] = wanted
        self.schedule = _always if schedule is None else schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: recording.profile | None = None
        self.step_rec_fn: record_function | None = None
        self._metadata: dict[str, Any] = {}
        self._preset_metadata: dict[str, Any] = {}

    # --- steps -------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End recording, together with the present cycle."""
        self._end_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """Say that a step of the program has ended and the next begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function(f"{STEP}{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _change(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Do what lies between two steps; None comes after the last."""
        was, will = before in _RECORDING, after in _RECORDING
        saved = before is ProfilerAction.RECORD_AND_SAVE
        if after is None or after is ProfilerAction.DEVICE_STOPPED:
            saved = was
        elif (was and not will and not saved) or (
            before is ProfilerAction.WARMUP and after is ProfilerAction.NONE
        ):
            warn_user(f"Incorrect schedule: {before.name} followed by {after.name}")
        if was and (saved or not will):
            self.stop_trace()
            if saved and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        idle = saved or not (was or before is ProfilerAction.WARMUP)
        if idle and (will or after is ProfilerAction.WARMUP):
            self.prepare_trace()
        if will and (saved or not was):
            self.start_trace()

    def prepare_trace(self) -> None:
        """Prepare for a new cycle."""
        if self.profiler is not None and self.acc_events:
            return
        if self.profiler is not None:
            warn_once(
                "Warning: Profiler clears events at the end of each cycle. Only events from the "
                "current cycle will be reported. To keep events across cycles, set "
                "acc_events=True."
            )
        for each in ("CUDA", "XPU", "MTIA", "HPU"):
            if ProfilerActivity[each] in self.activities:
                warn_user(f"{each} is not available, disabling {each} profiling")
        self.profiler = recording.profile(
            use_cpu=ProfilerActivity.CPU in self.activities,
            use_kineto=True,
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules,
            experimental_config=self.experimental_config,
            acc_events=self.acc_events,
            custom_trace_id_callback=self.custom_trace_id_callback,
        )

    def start_trace(self) -> None:
        """Record from now on."""
        self._made("starting trace")._start()

    def stop_trace(self) -> None:
        """Stop recording."""
        self._made("stopping trace")._stop()

    def _made(self, purpose: str) -> recording.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def toggle_collection_dynamic(
        self, enable: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Stop or resume recording while a cycle goes on."""
        if self.profiler is not None and ProfilerActivity.CPU in activities:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # --- what was recorded -------------------------------------------------------------------

    def events(self) -> EventList:
        """Return what happened in the last cycle, in the order of its start."""
        return self._made("accessing events").function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return one sum for each name, and for each shape or stack if these are asked for."""
        return self._made("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str) -> None:
        """Save what happened for chrome://tracing or Perfetto; `.gz` in `path` compresses it."""
        metadata = self._preset_metadata | self._metadata
        self._made("exporting chrome trace").export_chrome_trace(path, metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Save the stacks, each with what `metric` counts, in the format of flame graph tools."""
        self._made("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> NoReturn:
        """Refuse: PyTorch is giving up its picture of memory over time, and taper has none."""
        raise NotImplementedError(
            "taper draws no memory timeline; use profile_memory=True and key_averages() instead"
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value that is written as JSON to the trace."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Add likewise before the profiler has started."""
        self._preset_metadata[key] = json.loads(value)

    def get_trace_id(self) -> str | None:
        """Return the name of the trace that is being recorded, None before."""
        return None if self.profiler is None else self.profiler.trace_id

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let a function name the future traces."""
        self.custom_trace_id_callback = callback


class ExecutionTraceObserver:
    """Refused: taper writes no execution traces."""

    def __init__(self) -> None:
        raise NotImplementedError(
            "taper has no execution traces; use profile() and export_chrome_trace() instead"
        )
