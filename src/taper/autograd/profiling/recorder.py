"""Recording: what a thread does while a profiler is on, as a list of records in start order.

Owns: the one recorder of a thread, which all profilers on it share, and how calls reach it.
Operators of the table come through `interception`; nodes of a backward pass from the engine, which
asks `state.recorder` once for each pass.  Composite functions are plain functions that their
callers hold by name, so while a thread records they take `detours` through the recorder; other
threads pass it unrecorded.  Without a profiler there is no cost.

A formula runs on arrays (D5), so what it calls is part of its node's event; under
`create_graph=True` it runs on Tensors and its operators are seen.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from types import CodeType, FunctionType
from typing import Any

from numpy import may_share_memory, ndarray

from taper.autograd import detours, interception
from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.custom_forward import apply_function
from taper.autograd.disturbances import new_lock, to_the_end
from taper.autograd.engine import GraphTask, evaluate
from taper.autograd.interception import Call
from taper.autograd.node import Node
from taper.autograd.profiler_util import BACKWARD_SCOPE, USER_SCOPE
from taper.autograd.profiling.names import composite_name, operator_name
from taper.autograd.provenance import is_internal, line_of
from taper.autograd.state import NO_GRAD, State, local
from taper.opdef import Op, composite_watchers, composites, methods, named_composites
from taper.tensor import Tensor


class Record:
    """Something that happened: what, and from when to when in nanoseconds."""

    end = 0  # as long as it lasts
    forward_thread = 0  # for a node: the number of the thread of its operator
    shapes: Sequence[Any] = ()
    plain: Sequence[Any] = ()  # the other arguments that counting operations needs
    stack: Sequence[str] = ()
    memory = 0

    def __init__(self, name: str, scope: int = 0, sequence: int = -1) -> None:
        self.name = name
        self.scope = scope
        self.sequence = sequence
        self.start = perf_counter_ns()


class Options:
    """What a profiler wants to know beyond names and times."""

    def __init__(self, shapes: bool, memory: bool, stack: bool) -> None:
        self.shapes = shapes
        self.memory = memory
        self.stack = stack


class Recorder:
    """The records of one thread; the recorder itself is the interceptor."""

    runs_passes = False  # the engine does, and shows each node

    def __init__(self, state: State) -> None:
        self.state = state
        self.thread = thread_number()
        self.records: list[Record] = []
        self.profilers: list[Options] = []
        self.shapes = self.memory = self.stack = False

    def _agree(self) -> None:
        """Record whatever any of the profilers wants."""
        self.shapes = any(each.shapes for each in self.profilers)
        self.memory = any(each.memory for each in self.profilers)
        self.stack = any(each.stack for each in self.profilers)

    # --- what is seen ------------------------------------------------------------------------

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        record = self._open(operator_name(call.op, call.kind), call.arguments)
        try:
            result = run()
        finally:
            record.end = perf_counter_ns()
        if self.memory and call.kind == "plain":
            record.memory = allocated(result, call.arguments)
        return result

    def run_composite(
        self, name: str, function: Any, run: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a composite function through `run`, recorded."""
        record = self._open(name, _in_order(function, args, kwargs) if self.shapes else args)
        if not _follows_grad_mode(name, args, kwargs):
            record.sequence = -1
        position = len(self.records)
        try:
            result = run(*args, **kwargs)
        finally:
            record.end = perf_counter_ns()
        if self.memory:  # memory that no operator inside it allocated is its own
            inside = sum([each.memory for each in self.records[position:]])
            record.memory = max(allocated(result, (*args, *kwargs.values())) - inside, 0)
        return result

    def run_custom(
        self, function: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call the forward of a custom function, recorded."""
        record = self._open(cls.__name__, [each for each in args if isinstance(each, Tensor)])
        try:
            return function(cls, args, kwargs)
        finally:
            record.end = perf_counter_ns()

    def _open(self, name: str, arguments: Sequence[Any]) -> Record:
        """Return a record with all that the profilers want; the collecting is not timed."""
        state = self.state
        record = Record(name, 0, -1 if state.mode & NO_GRAD else state.sequence)
        self.records.append(record)
        if self.shapes:
            record.shapes = [
                list(each._array.shape) if isinstance(each, Tensor) else [] for each in arguments
            ]
            if name == "aten::conv2d":
                record.plain = [*arguments[3:6], *(1, 0, 1)[max(len(arguments) - 3, 0) :]]
        if self.stack:
            record.stack = user_stack()
        record.start = perf_counter_ns()
        return record

    def evaluate(self, node: Node, grads: list[Any], task: GraphTask) -> Sequence[Any] | None:
        """What the engine does for one node: hooks, the node itself."""
        name = f"autograd::engine::evaluate_function: {node.name()}"
        record = self._node_record(name, node, 0)
        try:
            return evaluate(node, grads, task)
        finally:
            record.end = perf_counter_ns()

    def run_node(self, node: Node, grads: list[Any], tensors: bool) -> Sequence[Any]:
        """Run a node; the engine calls this between the hooks."""
        record = self._node_record(node.name(), node, BACKWARD_SCOPE)
        if self.shapes:
            record.shapes = [[] if each is None else list(each.shape) for each in grads]
        try:
            results = node._run_tensors(grads) if tensors else node._run(grads)
        finally:
            record.end = perf_counter_ns()
        if self.memory and not tensors:
            fresh = {id(each): each for each in results if _is_fresh(each, grads)}
            record.memory = sum(each.nbytes for each in fresh.values())
        return results

    def _node_record(self, name: str, node: Node, scope: int) -> Record:
        made = not isinstance(node, AccumulateGrad)  # which belongs to no operator
        record = Record(name, scope, node._sequence if made else -1)
        if made:
            # Sequence numbers are counted for each thread, but a node does not know its thread.
            record.forward_thread = self.thread
            if self.stack and node._code is not None:
                line = line_of(node._code, node._offset)
                record.stack = [_frame_text(node._code, line)]
        self.records.append(record)
        return record

    def begin(self, name: str, shapes: Sequence[Any] = ()) -> Record:
        """Open a user's block; it ends when its `end` is set."""
        record = Record(name, USER_SCOPE)
        record.shapes = shapes if self.shapes else ()
        if self.stack:
            record.stack = user_stack()
        self.records.append(record)
        return record

    def run_block(self, name: str, function: Callable[[], Any]) -> Any:
        """Call a function of the library, such as an optimizer's step, as a block."""
        record = self.begin(name)
        try:
            return function()
        finally:
            record.end = perf_counter_ns()


def _follows_grad_mode(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a function may record: it takes tensors, and not only as a pattern."""
    if name.endswith("_like") or name.startswith("aten::new_"):
        return False
    given = (*args[:1], *kwargs.values())
    first = [each[0] if isinstance(each, (tuple, list)) and each else each for each in given]
    return any([isinstance(each, Tensor) for each in first])


def _in_order(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
    """Return the arguments in declaration order, up to the last one that is given and not None."""
    if not kwargs:
        return args
    code = detours.original_of(function).__code__
    names = code.co_varnames[len(args) : code.co_argcount + code.co_kwonlyargcount]
    last = max([nr + 1 for nr, name in enumerate(names) if kwargs.get(name) is not None], default=0)
    return [*args, *(kwargs.get(name) for name in names[:last])]


def _is_fresh(result: Any, grads: list[Any]) -> bool:
    return (
        isinstance(result, ndarray)
        and result.base is None
        and not any(result is each for each in grads)
    )


def allocated(result: Any, arguments: Sequence[Any]) -> int:
    """Return the bytes of results that are new: neither arguments nor views of them."""
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    given = [each._array for each in arguments if isinstance(each, Tensor)]
    return sum(
        each._array.nbytes
        for each in outputs
        if isinstance(each, Tensor)
        and each._view is None
        and not any(may_share_memory(each._array, other) for other in given)
    )


def user_stack() -> list[str]:
    """Return the lines that are running now outside the package, the innermost first."""
    lines = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_internal(code.co_filename):
            lines.append(_frame_text(code, frame.f_lineno))
        frame = frame.f_back
    return lines


def _frame_text(code: CodeType, line: int) -> str:
    return f"{code.co_filename}({line}): {code.co_name}"


# --- threads ---------------------------------------------------------------------------------

_numbers = itertools.count(1)


class _Thread(threading.local):
    number = 0


_thread = _Thread()


def thread_number() -> int:
    """Return the number of this thread, in the order in which threads were first profiled."""
    if not _thread.number:
        _thread.number = next(_numbers)
    return _thread.number


# --- switching on and off --------------------------------------------------------------------

_lock = new_lock()
_recording: set[Recorder] = set()  # those of the threads that record
_detoured = False  # whether a function is, or may be, on a detour
_handlers: dict[Any, detours.Handler] = {}  # of composite functions
_known = 0  # how many functions of the table have a handler


def start(options: Options) -> Recorder:
    """Record on this thread for one more profiler; all profilers on it share the recorder."""
    state = local.state
    recorder: Recorder | None = state.recorder
    try:
        if recorder is None:
            recorder = Recorder(state)
            _watch_composites(recorder)
            interception.push(recorder)
            state.recorder = recorder
        recorder.profilers.append(options)
        recorder._agree()
    except BaseException:  # Ctrl-C, above all
        if recorder is not None:
            to_the_end(functools.partial(_let_go, recorder, options))
        raise
    return recorder


def stop(recorder: Recorder, options: Options) -> None:
    """Stop recording for a profiler; the last one ends the recording."""
    if recorder.state is not local.state:
        raise RuntimeError("A profiler must be stopped on the thread on which it was started.")
    to_the_end(functools.partial(_let_go, recorder, options))


def _let_go(recorder: Recorder, options: Options) -> None:
    """Do the work of `stop`; may be called again after an interruption."""
    if options in recorder.profilers:
        recorder.profilers.remove(options)
        recorder._agree()
    if not recorder.profilers:
        interception.pop(recorder)
        if recorder.state.recorder is recorder:
            recorder.state.recorder = None
        _leave_composites(recorder)


def _watch_composites(recorder: Recorder) -> None:
    global _known, _detoured
    with _lock:
        _recording.add(recorder)
        if _detoured:
            return
        _detoured = True
        count = len(named_composites)
        if _known != count:
            _handlers[apply_function] = _observing(None, apply_function)
            for table in (named_composites, composites.items(), methods.items()):
                for name, function in list(table):
                    _watch(name, function)
            _known = count
        detours.lead_through("profiler", _handlers)
        composite_watchers.append(_watch_at_once)


def _leave_composites(recorder: Recorder) -> None:
    global _detoured
    with _lock:
        _recording.discard(recorder)
        if _recording or not _detoured:
            return
        if _watch_at_once in composite_watchers:
            composite_watchers.remove(_watch_at_once)
        detours.leave("profiler")
        _detoured = False


def _watch(name: str, function: Any) -> None:
    shown = composite_name(name)
    operator = isinstance(getattr(function, "__wrapped__", None), Op)
    if shown is not None and isinstance(function, FunctionType) and not operator:
        _handlers.setdefault(function, _observing(shown, function))


def _watch_at_once(name: str, function: Any) -> None:
    _watch(name, function)
    if function in _handlers:
        detours.lead_through("profiler", {function: _handlers[function]})


def _observing(name: str | None, function: Any) -> detours.Handler:
    """Return the handler of a function; without a name it is for custom functions."""

    def observe(run: Any, /, *args: Any, **kwargs: Any) -> Any:
        recorder = local.state.recorder
        if recorder is None or (args and args[0].__class__ is ndarray):
            return run(*args, **kwargs)
        if name is None:
            return recorder.run_custom(run, *args, **kwargs)
        return recorder.run_composite(name, function, run, args, kwargs)

    return observe
