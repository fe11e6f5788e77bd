"""`taper.autograd.profiler`: which operators ran, how often and how long.

Owns: `profile` and `record_function`.  `profiling.recorder` decides what is seen, and how;
`profiler_util` has events and what can be asked of them.

    with profile() as p:
        loss = model(x).sum()
        loss.backward()
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

PyTorch also shows what an operator calls (`aten::empty` in `aten::mul`).  Here an operator is one
NumPy computation, so there is nothing below it.  What the formula of a node computes is part of the
node's event, unless the pass has `create_graph=True`.
"""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from time import perf_counter_ns
from typing import Any, NoReturn

from taper.autograd.profiler_util import (
    USER_SCOPE,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
)
from taper.autograd.profiling import recorder as profiler_recorder
from taper.autograd.profiling.names import flops_of
from taper.autograd.profiling.recorder import Options, Record, Recorder
from taper.autograd.profiling.steps import EnforceUnique, KinetoStepTracker, MemRecordsAcc
from taper.autograd.profiling.trace import chrome_trace, write_json
from taper.autograd.state import local
from taper.userwarning import warn_user

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "profile",
    "record_function",
]

_ids = itertools.count(1)

# `torch.profiler` marks the steps of a program with these names; lists and sums show them as one
# kind.
STEP = "ProfilerStep#"


class profile:
    """Record everything that is computed on this thread during the block.

    Afterwards `function_events` lists what happened in the order of its start, and printing the
    profiler shows it as a table.  Profilers may be nested: each sees everything.

    Args:
        enabled: if False, record nothing.
        record_shapes: keep the shapes of inputs.
        with_flops: count the floating-point operations of products and convolutions.
        profile_memory: count the bytes of new results, but not what is freed.
        with_stack: keep the user's lines.
        acc_events: keep the events of earlier uses of the same object.
        custom_trace_id_callback: returns the id of the trace.

    The other arguments (devices, `use_kineto`, `with_modules`, ...) change nothing, as in PyTorch
    on the CPU without TorchScript.

    Differs: `with_stack` gives the events their stacks, and adds no events for Python's functions.

    >>> import taper
    >>> x = taper.ones(2, requires_grad=True)
    >>> with taper.autograd.profiler.profile() as p:
    ...     y = x.exp().sum()
    ...     y.backward()
    >>> [event.name for event in p.function_events][:4]
    ['aten::exp', 'aten::sum', 'autograd::engine::evaluate_function: SumBackward0', 'SumBackward0']
    >>> p.key_averages()[0].count
    1
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled = enabled
        self.entered = False
        if not enabled:
            return
        if use_cuda:
            warn_user(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = "
                "'cuda'`` instead.",
                FutureWarning,
            )
        _refuse_device("cuda" if use_cuda else use_device)
        if not use_cpu:
            raise AssertionError(
                "No activities specified for the profiler"
                if use_kineto
                else "Device-only events supported only with Kineto (use_kineto=True)"
            )
        _refuse_options(experimental_config, activity_filters)
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.acc_events = acc_events
        self.trace_id = ""
        self._make_trace_id = custom_trace_id_callback or _random_trace_id
        self._options = Options(self.record_shapes, profile_memory, with_stack)
        self._recorder: Recorder | None = None
        self._parts: list[list[Record]] = []  # what was recorded before the last pause
        self._first = 0  # position of the first record after it
        self._start_ns = 0
        self._events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        try:
            self._start()
        except BaseException:  # Ctrl-C, above all: `__exit__` will not run
            self._pause()
            raise
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        try:
            if self.enabled:
                self._stop()
        except KeyboardInterrupt:
            self._pause()
            raise

    def _start(self) -> None:
        self.entered = True
        self.trace_id = self._make_trace_id()
        if not (self.acc_events and self._events):  # else the clock continues
            self._start_ns = perf_counter_ns()
        self._resume()

    def _stop(self) -> None:
        if self._recorder is not None:
            self._pause()
        elif not self._parts:
            return
        events = self._made_events(perf_counter_ns())
        if self.acc_events and self._events is not None:
            events[:0] = self._events
        self._events = events
        self._parts = []

    def _resume(self) -> None:
        self._recorder = profiler_recorder.start(self._options)
        self._first = len(self._recorder.records)

    def _pause(self) -> None:
        recorder = self._recorder
        if recorder is not None:
            profiler_recorder.stop(recorder, self._options)
            self._parts.append(recorder.records[self._first :])
            self._recorder = None

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[Any]) -> None:
        """Stop or resume recording while the block goes on."""
        if enabled and self._recorder is None:
            self._resume()
        elif not enabled:
            self._pause()

    def _made_events(self, now: int) -> EventList:
        thread = profiler_recorder.thread_number()
        made = [
            self._made_event(record, thread, now)
            for record in itertools.chain.from_iterable(self._parts)
        ]
        events = EventList(made, profile_memory=self.profile_memory, with_flops=self.with_flops)
        events._populate_cpu_children()
        if self.profile_memory:
            # What is inside comes first, so that it has only its own time so far.
            for event in reversed(made):
                event.cpu_memory_usage += sum(each.cpu_memory_usage for each in event.cpu_children)
        events._finish_tree()
        return events

    def _made_event(self, record: Record, thread: int, now: int) -> FunctionEvent:
        step = record.name.startswith(STEP)
        flops = flops_of(record.name, record.shapes, record.plain) if self.with_flops else 0
        return FunctionEvent(
            next(_ids),
            STEP[:-1] + "*" if step else record.name,
            thread,
            (record.start - self._start_ns) / 1000,
            ((record.end or now) - self._start_ns) / 1000,
            overload_name="",
            fwd_thread=record.forward_thread,
            input_shapes=list(record.shapes) if self.record_shapes else [],
            stack=list(record.stack) if self.with_stack else [],
            scope=record.scope,
            cpu_memory_usage=record.memory if self.profile_memory else 0,
            sequence_nr=record.sequence,
            flops=flops,
            trace_name=record.name,
            concrete_inputs=[],
            kwinputs={},
            is_user_annotation=record.scope == USER_SCOPE,
        )

    # --- what was recorded -------------------------------------------------------------------

    @property
    def function_events(self) -> EventList:
        """List what happened, in the order of its start; empty until the block has ended."""
        return EventList() if self._events is None else self._events

    def __repr__(self) -> str:
        unfinished = not self.enabled or self._events is None
        return "<unfinished torch.autograd.profile>" if unfinished else repr(self._events)

    def __str__(self) -> str:
        return self.table() if self.enabled else repr(self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """Return the events as a table; see `EventList.table`."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return one sum for each name, and for each shape or stack if these are asked for."""
        if self._events is None:
            return EventList()
        return self._events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> Any:
        """The time that was spent inside events, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(
        self,
        path: str,
        metadata: dict[str, Any] | None = None,
        use_python_export: bool = False,
    ) -> None:
        """Save what happened for chrome://tracing or Perfetto; `.gz` in `path` compresses it."""
        # The clock of the records has an origin of its own.
        origin = time.time_ns() - perf_counter_ns()
        start = self._start_ns + origin
        trace = chrome_trace(self.function_events, start, self.trace_id, metadata or {})
        write_json(path, trace | {"traceName": os.fspath(path)})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Save the stacks, each with what `metric` counts, in the format of flame graph tools."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


def _random_trace_id() -> str:
    return uuid.uuid4().hex.upper()


def _refuse_device(name: str | None) -> None:
    if name in ("cuda", "xpu", "mtia", "hpu"):
        warn_user(f"{name.upper()} is not available, disabling {name.upper()} profiling")
    elif name is not None:
        warn_user(f"The {name} is not a valid device option.")


def _refuse_options(experimental_config: Any, activity_filters: Any) -> None:
    if experimental_config is not None:
        raise NotImplementedError(
            "taper's profiler has no experimental options; with_stack=True records stacks by itself"
        )
    if activity_filters:
        raise NotImplementedError(
            "taper's profiler records all events; select from function_events instead"
        )


class record_function(ContextDecorator):
    """Show a block, or a decorated function, in profiles under a name of the user's.

    Without a profiler it costs next to nothing.

    Args:
        name: the name of the event.
        args: a text that the event keeps beside its name.

    >>> import taper
    >>> from taper.autograd.profiler import profile, record_function
    >>> with profile() as p:
    ...     with record_function("forward"):
    ...         y = taper.ones(2).exp()
    >>> [(event.name, event.cpu_parent and event.cpu_parent.name) for event in p.function_events]
    [('forward', None), ('aten::ones', 'forward'), ('aten::exp', 'forward')]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._open: list[Record | None] = []  # several, if a decorated function calls itself

    def __enter__(self) -> record_function:
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for "
                f"argument 'name' but instead found type '{type(self.name).__name__}'."
            )
        recorder = local.state.recorder
        shapes: list[Any] = [] if self.args is None else [[]]
        self._open.append(None if recorder is None else recorder.begin(self.name, shapes))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if not self._open:
            raise AssertionError("Expected record to be set")
        record = self._open.pop()
        if record is not None:
            record.end = perf_counter_ns()


class _OtherTracer:
    """The base of tracers for other programs, which taper does not feed."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        if self.enabled:
            raise NotImplementedError(
                f"taper does not feed the tracer behind {type(self).__name__}; use "
                "profile() and export_chrome_trace() instead"
            )

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        """Do nothing: nothing was begun."""


class emit_nvtx(_OtherTracer):
    """Refused when it is entered: marks for NVIDIA's tracer, which taper does not have."""


class emit_itt(_OtherTracer):
    """Refused when it is entered: marks for Intel's tracer, which taper does not have."""


def load_nvprof(path: str) -> NoReturn:
    """Refused: taper does not read traces of NVIDIA's profiler; it runs on the CPU only."""
    raise NotImplementedError(
        "taper does not read traces of nvprof; use profile() and export_chrome_trace() instead"
    )
