"""A list of events as a table: which columns there are, how wide, and how numbers are written.

Owns: the text.  Knows of an event only the attributes that it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

_NUMBER_WIDTH = 12
_GAP = "  "
_FLOPS_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
_SECOND, _MILLISECOND = 1_000_000.0, 1_000.0


def _format_time(time_us: float) -> str:
    """Return a time with its unit.

    >>> _format_time(12), _format_time(1500), _format_time(2_500_000)
    ('12.000us', '1.500ms', '2.500s')
    """
    if time_us >= _SECOND:
        return f"{time_us / _SECOND:.3f}s"
    if time_us >= _MILLISECOND:
        return f"{time_us / _MILLISECOND:.3f}ms"
    return f"{time_us:.3f}us"


def _format_time_in(unit: str | None) -> Callable[[float], str]:
    """Return the function that writes times: all in one unit, or each in its own."""
    sizes = {"s": _SECOND, "ms": _MILLISECOND, "us": 1.0}
    if unit not in sizes:
        return _format_time
    return lambda time_us: f"{time_us / sizes[unit]:.3f}{unit}"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """Return a part of the total in percent.

    >>> _format_time_share(1, 8), _format_time_share(0, 0)
    ('12.50%', 'NaN')
    """
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: float) -> str:
    """Return a size with its unit.

    >>> _format_memory(1000), _format_memory(1536), _format_memory(-(2**21))
    ('1000 B', '1.50 KB', '-2.00 MB')
    """
    for size, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if abs(nbytes) >= size:
            return f"{nbytes * 1.0 / size:.2f} {unit}"
    return f"{nbytes} B"


class _Column(NamedTuple):
    title: str
    width: int
    text: Callable[[Any], str]
    left: bool = False

    def cell(self, text: str) -> str:
        return (text.ljust(self.width) if self.left else text.rjust(self.width)) + _GAP


def build_table(
    events: Sequence[Any],
    sort_by: str | None,
    header: str | None,
    row_limit: int,
    most: tuple[int | None, int | None, int | None],
    with_flops: bool,
    profile_memory: bool,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """Return the table; `most` limits the width of the columns of names, shapes and stacks."""
    if not events:
        return ""
    if sort_by is not None:
        attribute = sort_by.replace("cuda", "device")
        events = sorted(events, key=lambda each: getattr(each, attribute), reverse=True)
    total = sum(event.self_cpu_time_total for event in events)
    time = _format_time_in(time_unit)
    columns = list(_columns(events, total, most, with_flops, profile_memory, time))
    source = next((column for column in columns if column.left), None)
    dashes = "".join("-" * column.width + _GAP for column in columns)
    lines = []
    for line in (header, _TOP_LEVEL if top_level_events_only else None):
        if line is not None:
            lines += ["=" * (len(dashes) - len(_GAP)), line]
    lines += [dashes, "".join(column.cell(column.title) for column in columns), dashes]
    shown = [each for each in events if not (top_level_events_only and each.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        lines.append("".join(column.cell(column.text(event)) for column in columns))
        if source is not None:
            lines += _further_stack_lines(event, columns, source.width)
    return "\n".join([*lines, dashes, f"Self CPU time total: {time(total)}", ""])


_TOP_LEVEL = "This report only display top-level ops statistics"


def _columns(
    events: Sequence[Any],
    total: float,
    most: tuple[int | None, int | None, int | None],
    with_flops: bool,
    profile_memory: bool,
    time: Callable[[float], str],
) -> Iterator[_Column]:
    def number(title: str, text: Callable[[Any], str]) -> _Column:
        return _Column(title, _NUMBER_WIDTH, text)

    width = _fitting([event.key for event in events], most[0])
    yield _Column("Name", width, lambda each: _shortened(each.key, most[0]))
    if any(event.overload_name for event in events):
        yield _Column("Overload Name", width, lambda each: _shortened(each.overload_name, most[0]))
    yield number("Self CPU %", lambda each: _format_time_share(each.self_cpu_time_total, total))
    yield number("Self CPU", lambda each: time(each.self_cpu_time_total))
    yield number("CPU total %", lambda each: _total_share(each, total))
    yield number("CPU total", lambda each: time(each.cpu_time_total))
    yield number("CPU time avg", lambda each: time(each.cpu_time))
    if profile_memory:
        yield number("CPU Mem", lambda each: _format_memory(each.cpu_memory_usage))
        yield number("Self CPU Mem", lambda each: _format_memory(each.self_cpu_memory_usage))
    yield number("# of Calls", lambda each: str(each.count))
    if any(event.input_shapes for event in events):
        width = _fitting([str(event.input_shapes) for event in events], most[1])
        yield _Column("Input Shapes", width, lambda each: str(each.input_shapes)[:width])
    if any(event.stack for event in events):
        wide = _fitting([line for event in events for line in _stack(event)], most[2])
        yield _Column("Source Location", wide, lambda each: _stack_line(each, 0, wide), left=True)
    counts = [event.flops for event in events if (event.flops or 0) > 0]
    if with_flops and counts:
        unit = min(max(int(math.log10(min(counts)) // 3), 0), len(_FLOPS_UNITS) - 1)
        yield number(f"Total {_FLOPS_UNITS[unit]}", lambda each: _flops(each, 1000.0**unit))


def _total_share(event: Any, total: float) -> str:
    return "0" if event.is_async else _format_time_share(event.cpu_time_total, total)


def _flops(event: Any, unit: float) -> str:
    return f"{event.flops / unit:8.3f}" if (event.flops or 0) > 0 else "--"


def _fitting(texts: Sequence[str], most: int | None) -> int:
    """Return the width that fits all entries, up to the most that is allowed."""
    width = max([len(text) for text in texts], default=0) + 4
    return width if most is None else min(width, most)


def _shortened(text: str | None, most: int | None) -> str:
    text = text or ""
    if most is not None and len(text) >= most - 3:
        return text[: most - 3] + "..."
    return text


def _stack(event: Any) -> list[str]:
    return list(event.stack or ())


def _stack_line(event: Any, nr: int, width: int) -> str:
    """Return a line of the stack; a long one keeps its end, which tells more than the folder."""
    line = event.stack[nr] if nr < len(_stack(event)) else ""
    return f"...{line[3 - width :]}" if len(line) > width else line


def _further_stack_lines(event: Any, columns: Sequence[_Column], width: int) -> Iterator[str]:
    """Return the other lines of a stack, each below the first, and an empty one."""
    for nr in range(1, max(len(_stack(event)), 1) + 1):
        text = _stack_line(event, nr, width)
        yield "".join(column.cell(text if column.left else "") for column in columns)
