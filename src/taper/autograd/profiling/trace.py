"""A profile as a file: events in the trace format of chrome://tracing and Perfetto.

Owns: the format, and that a file is either complete or absent.  Knows of an event only the
attributes that it writes.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import tempfile
from collections.abc import Iterable
from typing import Any


def chrome_events(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Return what is written for each event; arrows lead from operators to their nodes."""
    process = os.getpid()
    written: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "python"}}
    ]
    forward: dict[tuple[int, int], dict[str, Any]] = {}  # an operator, by the key that its node has
    arrows: list[dict[str, Any]] = []
    for event in events:
        times = event.time_range
        place = {"pid": process, "tid": event.thread, "ts": times.start}
        what = "user_annotation" if event.is_user_annotation else "cpu_op"
        written.append(
            {"ph": "X", "cat": what, "name": event.trace_name or event.name}
            | place
            | {"dur": times.elapsed_us(), "args": _details(event)}
        )
        if event.sequence_nr < 0:
            continue
        if not event.fwd_thread:  # the innermost of nested operators makes the node
            forward[event.thread, event.sequence_nr] = place
        elif event.scope == 1 and (event.fwd_thread, event.sequence_nr) in forward:
            origin = forward.pop((event.fwd_thread, event.sequence_nr))
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": len(arrows) // 2 + 1}
            arrows += [{"ph": "s"} | arrow | origin, {"ph": "f", "bp": "e"} | arrow | place]
    return written + arrows


def _details(event: Any) -> dict[str, Any]:
    details: dict[str, Any] = {"External id": event.id}
    if event.sequence_nr >= 0:
        details |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread or 0}
    if event.input_shapes:
        details["Input Dims"] = event.input_shapes
    if event.flops:
        details["Flops"] = event.flops
    if event.cpu_memory_usage:
        details["Bytes"] = event.cpu_memory_usage
    if event.stack:
        details["Call stack"] = ";".join(event.stack)
    return details


def chrome_trace(
    events: Iterable[Any], start_ns: int, trace_id: str, metadata: dict[str, Any]
) -> dict[str, Any]:
    """Return a whole trace with its own description; times count from its start.

    Counted from 1970, as `start_ns` is, times in microseconds would be rounded to 0.25.
    """
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": trace_id,
        **metadata,
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": start_ns,
        "traceEvents": chrome_events(events),
    }


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Save as JSON, compressed if the name ends in `.gz`."""
    write_text(path, json.dumps(content))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Save a text under a name all at once, so that nobody finds half a file there."""
    path = os.path.abspath(path)
    content = text.encode()
    if path.endswith(".gz"):
        content = gzip.compress(content)
    handle, unfinished = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".profile-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _umask() -> int:
    """Return the permissions that new files do not get; the only way to read it is to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
