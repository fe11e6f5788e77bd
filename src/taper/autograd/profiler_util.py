"""What a profile is made of: events, their tree, their averages.

Owns: `FunctionEvent`, `FunctionEventAvg`, `EventList` and how times and sizes are written.  Knows
nothing of how events are recorded; `profiling.table` shows a list as a table, and `profiling.trace`
saves it as a trace.  Times are in microseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass
from enum import Enum
from typing import Any, NamedTuple

from taper.autograd.profiling.table import (
    _format_memory,
    _format_time,
    _format_time_share,
    build_table,
)
from taper.autograd.profiling.trace import chrome_events, write_json, write_text

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "StringTable",
    "_format_memory",
    "_format_time",
    "_format_time_share",
]

DeviceType = Enum(
    "DeviceType",
    "CPU CUDA MKLDNN OPENGL OPENCL IDEEP HIP FPGA MAIA XLA Vulkan Metal XPU MPS Meta HPU VE Lazy "
    "IPU MTIA PrivateUse1",
    start=0,
    module=__name__,
)

BACKWARD_SCOPE = 1  # `scope` of the events of nodes
USER_SCOPE = 7  # `scope` of the events of `record_function`

# What `export_stacks` may weigh the stacks by.  There is no device, so all but the first are zero.
_STACK_METRICS = [
    "self_cpu_time_total",
    "self_cuda_time_total",
    "self_xpu_time_total",
    "self_privateuse1_time_total",
]
# A frame is a word in a line of such a file, and `;` separates frames.
_AS_A_WORD = str.maketrans(" ;\t\n", "____")


class Interval:
    """From when to when something lasted, in microseconds.

    >>> Interval(3, 10).elapsed_us()
    7
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Return the length of the interval."""
        return self.end - self.start


class Kernel(NamedTuple):
    """Work that an event started on a device; there is none on the CPU."""

    name: str
    device: int
    duration: float


class StringTable(defaultdict[str, str]):
    """Names as they are shown; here every name is shown unchanged.

    >>> StringTable()["aten::mul"]
    'aten::mul'
    """

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class FormattedTimesMixin:
    """Averages over calls, and times as text."""

    count: int
    cpu_time_total: Any
    device_time_total: Any
    self_cpu_time_total: Any
    self_device_time_total: Any

    @property
    def cpu_time(self) -> float:
        """The time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return _format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return _format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return _format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return _format_time(self.self_device_time_total)


@dataclass(eq=False, repr=False)
class FunctionEvent(FormattedTimesMixin):
    """One thing that happened: an operator, a node of a backward pass, a user's block.

    `cpu_time_total` and `cpu_memory_usage` include what happened inside the event; their twins with
    `self_` do not.

    >>> event = FunctionEvent(0, "aten::mul", thread=1, start_us=10, end_us=30)
    >>> event.append_cpu_child(FunctionEvent(1, "aten::to", 1, 12, 17))
    >>> event.cpu_time_total, event.self_cpu_time_total, event.cpu_time_str
    (20, 15, '20.000us')
    """

    id: int
    name: str
    thread: int
    start_us: InitVar[float]
    end_us: InitVar[float]
    overload_name: str | None = None
    fwd_thread: int | None = None  # for a node: the thread on which its operator ran
    input_shapes: Any = None
    stack: Any = None  # the user's lines, the innermost first
    scope: int = 0
    use_device: str | None = None
    cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    is_async: bool = False
    is_remote: bool = False
    sequence_nr: int = -1  # for an operator: the number that its node has, if it makes one
    node_id: int = -1
    device_type: Any = DeviceType.CPU
    device_index: int = 0
    device_resource_id: int | None = None
    is_legacy: bool = False
    flops: int | None = None
    trace_name: str | None = None  # for a trace that shows another name
    concrete_inputs: Any = None
    kwinputs: Any = None
    is_user_annotation: bool = False

    def __post_init__(self, start_us: float, end_us: float) -> None:
        self.time_range = Interval(start_us, end_us)
        self.count = 1
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        if self.device_resource_id is None:
            self.device_resource_id = self.thread

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add work on a device; its time is the device's, not this event's."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that happened inside this one."""
        if not isinstance(child, FunctionEvent):
            raise AssertionError("Expected child to be a FunctionEvent")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say inside which event this one happened."""
        if not isinstance(parent, FunctionEvent):
            raise AssertionError("Expected parent to be a FunctionEvent")
        self.cpu_parent = parent

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> Any:
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> Any:
        if self.is_async:
            return 0
        return self.cpu_time_total - sum(each.cpu_time_total for each in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        if self.is_async:
            return 0
        return self.cpu_memory_usage - sum(each.cpu_memory_usage for each in self.cpu_children)

    @property
    def device_time_total(self) -> Any:
        return 0

    @property
    def self_device_time_total(self) -> Any:
        return 0

    @property
    def self_device_memory_usage(self) -> int:
        return 0

    def __repr__(self) -> str:
        device = self.use_device
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[each.id for each in self.cpu_children]} "
            f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


# What an average takes from its first event, and what it sums over all.
_TAKEN = """
key node_id is_async is_remote cpu_parent cpu_children overload_name input_shapes stack scope
device_type is_legacy use_device is_user_annotation
""".split()
_SUMMED = """
cpu_time_total device_time_total self_cpu_time_total self_device_time_total cpu_memory_usage
device_memory_usage self_cpu_memory_usage self_device_memory_usage count
""".split()


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of events with one name; `cpu_time` is then the average of a call.

    >>> total = FunctionEventAvg()
    >>> total += FunctionEvent(0, "aten::mul", 1, 0, 10)
    >>> total += FunctionEvent(1, "aten::mul", 1, 20, 50)
    >>> total.key, total.count, total.cpu_time_total, total.cpu_time
    ('aten::mul', 2, 40, 20.0)
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.is_legacy = False
        self.is_user_annotation = False
        self.use_device: str | None = None
        self.device_type: Any = DeviceType.CPU
        self.cpu_time_total: Any = 0
        self.device_time_total: Any = 0
        self.self_cpu_time_total: Any = 0
        self.self_device_time_total: Any = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.flops = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or another sum, of the same name."""
        if self.key is None:
            for name in _TAKEN:
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or averages of events, in the order of their start; printed as a table.

    >>> events = EventList([FunctionEvent(0, "work", 1, 0, 10), FunctionEvent(1, "part", 1, 2, 6)])
    >>> events._build_tree()
    >>> events[0].cpu_children[0].name, events.self_cpu_time_total
    ('part', 10)
    >>> [(each.key, each.self_cpu_time_total) for each in events.key_averages()]
    [('work', 6), ('part', 4)]
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        if use_device is not None:
            raise NotImplementedError(
                "taper profiles the CPU only; make the list without use_device"
            )
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    # --- the tree ----------------------------------------------------------------------------

    def _build_tree(self) -> None:
        self._populate_cpu_children()
        self._finish_tree()

    def _finish_tree(self) -> None:
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Find what happened inside what, by the times on each thread.

        An event that overlaps another without being inside it has no parent: so do blocks that are
        left in the wrong order.
        """
        threads: dict[Any, list[FunctionEvent]] = {}
        for event in self:
            if not event.is_async and event.device_type == DeviceType.CPU:
                threads.setdefault((event.thread, event.node_id), []).append(event)
        for events in threads.values():
            events.sort(key=lambda each: (each.time_range.start, -each.time_range.end))
            around: list[FunctionEvent] = []
            for event in events:
                times = event.time_range
                while around:
                    outer = around[-1].time_range
                    if times.start < outer.end and times.end <= outer.end:
                        around[-1].append_cpu_child(event)
                        event.set_cpu_parent(around[-1])
                        break
                    around.pop()
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """Join an event and the only one inside it if they have the same name."""
        merged: set[int] = set()
        for event in self:
            outside = event.cpu_parent
            if outside is not None and outside.name == event.name:
                if len(outside.cpu_children) == 1:
                    merged.add(id(event))
                    outside.cpu_children = event.cpu_children
                    for each in event.cpu_children:
                        each.cpu_parent = outside
        self[:] = [event for event in self if id(event) not in merged]

    def _set_backward_stacktraces(self) -> None:
        """Give events that belong to a node the user's lines of the operator that made the node."""
        forward: dict[tuple[int, int | None], Any] = {}
        for event in self:
            if event.sequence_nr >= 0 and event.stack and _node_around(event) is None:
                forward.setdefault((event.sequence_nr, event.thread), event.stack)
        for event in self:
            node = _node_around(event)
            if node is not None:
                event.stack = forward.get((node.sequence_nr, node.fwd_thread), event.stack)

    # --- sums --------------------------------------------------------------------------------

    @property
    def self_cpu_time_total(self) -> Any:
        """The time that was spent inside events."""
        return sum(event.self_cpu_time_total for event in self)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None
            total.add(event)
        total.key = "Total"
        return total

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return one sum for each name, and for each shape or stack if these are asked for."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        groups: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = [event.key, event.node_id, event.device_type, event.is_user_annotation]
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_overload_name:
                key.append(event.overload_name)
            key.extend((event.stack or ())[:group_by_stack_n])
            groups[tuple(key)].add(event)
        for each in groups.values():
            each.stack = (each.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                each.input_shapes = ""
            if not group_by_overload_name:
                each.overload_name = ""
        return EventList(
            groups.values(), profile_memory=self._profile_memory, with_flops=self._with_flops
        )

    # --- out ---------------------------------------------------------------------------------

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table with one row for each; the largest `sort_by` comes first.

        Args:
            sort_by: the attribute to sort by; by default the order of the events.
            row_limit: the number of rows; -1 shows all.
            time_unit: "s", "ms" or "us", to write all times in one unit.
        """
        return build_table(
            self,
            sort_by,
            header,
            row_limit,
            (max_name_column_width, max_shapes_column_width, max_src_column_width),
            self._with_flops,
            self._profile_memory,
            top_level_events_only,
            time_unit,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Save the events for chrome://tracing or Perfetto."""
        write_json(path, chrome_events(self))

    def supported_export_stacks_metrics(self) -> list[str]:
        return list(_STACK_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Save the stacks, each with what `metric` counts, in the format of flame graph tools."""
        if metric not in _STACK_METRICS:
            raise ValueError(f"metric should be one of: {_STACK_METRICS}")
        write_text(path, "".join(self._stack_lines(metric)))

    def _stack_lines(self, metric: str) -> Iterator[str]:
        for event in self:
            value = int(event.self_cpu_time_total) if metric == _STACK_METRICS[0] else 0
            if event.stack and value > 0:
                frames = [frame.translate(_AS_A_WORD) for frame in reversed(event.stack)]
                yield f"{';'.join(frames)} {value}\n"


def _node_around(event: FunctionEvent | None) -> FunctionEvent | None:
    """Return the event of the node that an event belongs to, perhaps the event itself."""
    while event is not None and event.scope != BACKWARD_SCOPE:
        event = event.cpu_parent
    return event
