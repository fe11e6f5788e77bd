"""Live memory over a training step: a curve, and who owns the memory at the peak.

Owns: the watching.  Every tensor that an operator makes, every gradient of a backward pass and what
an optimizer keeps is registered with its birth, and a weak reference tells of its death.  What
kernels use for a moment is not seen.  The picture is drawn by `timeline_picture`.
"""

from __future__ import annotations

import gc
import html
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy import ndarray

from taper.autograd import interception
from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.callers import described, running_module
from taper.autograd.provenance import here, line_of, place_name
from taper.autograd.state import local
from taper.nn.parameter import Parameter
from taper.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from taper.tensor import Tensor
from taper.viz.memory import size
from taper.viz.reading import owner_of, saved_values
from taper.viz.tape import names_of_callers
from taper.viz.timeline_picture import draw

__all__ = ["MemoryEvent", "MemoryTimeline", "Owner", "memory_timeline"]

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 60
LISTED = 12


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One moment of a step: what ran (`label`), in which `phase`, and the `live` bytes after it.

    >>> import taper
    >>> taper.viz.memory_timeline(lambda: taper.ones(10).exp()).events[1].label
    'exp'
    """

    label: str
    phase: str
    live: int


@dataclass(frozen=True, slots=True)
class Owner:
    """Memory that lived at the peak: its `kind` (activation, parameter, ...), where it was made.

    >>> import taper
    >>> timeline = taper.viz.memory_timeline(lambda: taper.ones(1000, 1000).exp())
    >>> 4000000 in [owner.bytes for owner in timeline.owners]
    True
    """

    kind: str
    what: str
    module: str
    line: str
    tensors: int
    bytes: int


class MemoryTimeline:
    """Live bytes over a step, as `memory_timeline` saw them; a notebook shows the curve.

    Attributes:
        events: the moments, in order; the first is before the step.
        peak: the most bytes that lived at once.
        peak_event: the index of that moment.
        owners: what lived then, by kind, module and line, the largest first.

    >>> import taper
    >>> timeline = taper.viz.memory_timeline(lambda: (taper.ones(1000) * 2).sum())
    >>> [event.label for event in timeline.events]
    ['before', 'mul', 'sum', 'after']
    """

    def __init__(self, events: list[MemoryEvent], owners: list[Owner], peak_event: int) -> None:
        self.events = events
        self.owners = owners
        self.peak_event = peak_event
        self.peak = events[peak_event].live

    def svg(self) -> str:
        """Return the curve and the owners of the peak as the text of an SVG file."""
        return draw(self)

    def save(self, path: str) -> None:
        """Write the SVG picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg())

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f'{self.svg()}<pre style="white-space: pre-wrap">{html.escape(str(self))}</pre>'

    def __str__(self) -> str:
        event = self.events[self.peak_event]
        lines = [
            f"{self._sparkline()}  {len(self.events)} moments",
            f"The peak is {size(self.peak)}, in {event.phase} at {event.label}; then lived",
        ]
        for each in self.owners[:LISTED]:
            count = "" if each.tensors == 1 else f" ({each.tensors} tensors)"
            where = " at ".join(part for part in (each.module, each.line) if part)
            text = f"{size(each.bytes):>10}  {each.kind}{count}  {each.what}  {where}"
            lines.append(text.rstrip())
        rest = self.owners[LISTED:]
        if rest:
            lines.append(
                f"{size(sum(each.bytes for each in rest)):>10}  in {len(rest)} more places"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _sparkline(self) -> str:
        count = min(WIDTH, len(self.events))
        marks = []
        for place in range(count):
            start = place * len(self.events) // count
            end = max((place + 1) * len(self.events) // count, start + 1)
            live = max(each.live for each in self.events[start:end])
            marks.append(BARS[min(int(live / max(self.peak, 1) * len(BARS)), len(BARS) - 1)])
        return "".join(marks)


class _Piece:
    """Memory that was seen: where it came from, and from when to when it lived."""

    __slots__ = ("born", "bytes", "died", "kind", "line", "module", "ref", "what")

    def __init__(self, kind: str, what: str, count: int, born: int, line: Any, module: Any) -> None:
        self.kind = kind
        self.what = what
        self.bytes = count
        self.born = born
        self.died: int | None = None
        self.line = line
        self.module = module
        self.ref: Any = None


class _Watch:
    """Sees operators as an interceptor, nodes as a tape, optimizers through their hooks."""

    def __init__(self) -> None:
        self.state = local.state
        self.inner = self.state.tape
        self.names = names_of_callers()
        self.events: list[MemoryEvent] = []
        self.pieces: list[_Piece] = []
        self.known: dict[int, _Piece] = {}
        self.live = 0
        self.phase = "forward"

    # --- registering --------------------------------------------------------------------------

    def add(self, array: Any, kind: str, what: str, line: Any = None, module: Any = None) -> None:
        """Register the memory of an array, unless it is known."""
        owner = owner_of(array)
        known = self.known.get(id(owner))
        if known is not None and known.ref() is owner:
            if known.kind == "gradient" and kind == "gradient of":
                known.kind, known.what = kind, what  # it became a leaf's
            return
        piece = _Piece(kind, what, owner.nbytes, len(self.events), line, module)

        def forget(_: Any) -> None:
            if piece.died is None:
                piece.died = len(self.events)
                self.live -= piece.bytes

        piece.ref = weakref.ref(owner, forget)
        self.known[id(owner)] = piece
        self.pieces.append(piece)
        self.live += piece.bytes

    def mark(self, label: str) -> None:
        """Note how much lives now."""
        self.events.append(MemoryEvent(label, self.phase, self.live))

    def add_everything(self) -> None:
        """Register what was there before the step."""
        for each in gc.get_objects():
            array = getattr(each, "_array", None) if isinstance(each, Tensor) else None
            if array is not None:  # a DTensor has none of its own
                kind = "parameter" if isinstance(each, Parameter) else "from before"
                self.add(array, kind, self.names.get(id(each), ""))

    # --- seeing -------------------------------------------------------------------------------

    def __call__(self, call: Any, run: Callable[[], Any]) -> Any:
        result = run()
        module = running_module()
        reference = None if module is None else weakref.ref(module)
        line, name = here(), call.name
        kind = "activation" if self.state.current_node is None else "gradient"
        for each in result if isinstance(result, tuple | list) else (result,):
            if isinstance(each, Tensor):
                self.add(each._array, kind, name, line, reference)
                if each._grad_fn is not None:
                    for what, _, value in saved_values(each._grad_fn):
                        array = value._array if isinstance(value, Tensor) else value
                        if isinstance(array, ndarray):
                            self.add(array, "saved", f"{what} of {name}", line, reference)
        self.mark(name)
        return result

    def recording(self, task: Any, evaluate: Any) -> Any:
        """Return what the engine calls for each node of a pass."""
        if self.inner is not None:
            evaluate = self.inner.recording(task, evaluate)

        def watch(node: Any, grads: list[Any], task: Any) -> Sequence[Any] | None:
            before, self.phase = self.phase, "backward"
            results: Sequence[Any] | None = evaluate(node, grads, task)
            name = node._class_name().rpartition("::")[2]
            line = None if node._code is None else (node._code, node._offset)
            module = getattr(node, "_module", None)
            for each in results or ():
                array = each._array if isinstance(each, Tensor) else each
                if isinstance(array, ndarray):
                    self.add(array, "gradient", name, line, module)
            if isinstance(node, AccumulateGrad) and node.variable._autograd_meta.grad is not None:
                leaf = self.names.get(id(node.variable), "a leaf")
                self.add(node.variable._autograd_meta.grad._array, "gradient of", leaf)
            self.mark(name)
            self.phase = before
            return results

        return watch

    def after_optimizer(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """Register what an optimizer keeps."""
        before, self.phase = self.phase, "optimizer"
        for parameter, state in list(optimizer.state.items()):
            for name, value in state.items():
                if isinstance(value, Tensor):
                    leaf = self.names.get(id(parameter), "a parameter")
                    self.add(value._array, "optimizer", f"{name} of {leaf}")
        self.mark(type(optimizer).__name__)
        self.phase = before

    # --- the result ---------------------------------------------------------------------------

    def timeline(self) -> MemoryTimeline:
        """Return what was seen."""
        peak = max(range(len(self.events)), key=lambda place: self.events[place].live)
        groups: dict[tuple[str, str, str, str], list[int]] = {}
        for each in self.pieces:
            if each.born <= peak and (each.died is None or each.died > peak):
                module = None if each.module is None else each.module()
                line = "" if each.line is None else _place(each.line)
                what = "" if each.kind == "parameter" else each.what
                key = each.kind, what, "" if module is None else described(module), line
                row = groups.setdefault(key, [0, 0])
                row[0] += 1
                row[1] += each.bytes
        owners = [Owner(*key, *row) for key, row in groups.items() if row[1]]
        return MemoryTimeline(self.events, sorted(owners, key=lambda each: -each.bytes), peak)


def _place(record: Any) -> str:
    return place_name(record[0].co_filename, line_of(*record))


def memory_timeline(step: Callable[[], Any]) -> MemoryTimeline:
    """Run a training step once and watch how much memory its tensors take.

    Args:
        step: a function without arguments: forward, backward, the optimizer's step.

    Returns: a `MemoryTimeline`: `print` shows the peak and its owners, a notebook the curve,
        `save(path)` writes the SVG picture.

    What kernels use for a moment inside an operator is not counted.

    >>> import taper
    >>> from taper import viz
    >>> w = taper.ones(1000, requires_grad=True)
    >>> timeline = viz.memory_timeline(lambda: (w * 2).exp().sum().backward())
    >>> [event.label for event in timeline.events][1:5]
    ['mul', 'exp', 'sum', 'SumBackward0']
    """
    if not callable(step):
        raise TypeError(
            f"memory_timeline: expected a function without arguments, got {type(step).__name__}"
        )
    watch = _Watch()
    state = watch.state
    watch.add_everything()
    watch.mark("before")
    handle = register_optimizer_step_post_hook(watch.after_optimizer)
    interception.push(watch)
    state.tape = watch
    try:
        result = step()
    finally:
        state.tape = watch.inner
        interception.pop(watch)
        handle.remove()
    del result
    watch.phase = watch.events[-1].phase
    watch.mark("after")
    return watch.timeline()
