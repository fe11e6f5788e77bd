"""Stepping through backward: a tape of what each node of a pass received and returned.

Owns: the record of a step, when a pass stops in the user's debugger, and how a tape is switched on.
The engine asks `state.tape` once for each pass; without a tape that is all that a pass pays.
"""

from __future__ import annotations

import json
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from types import CodeType
from typing import Any

from numpy import ndarray

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.callers import described
from taper.autograd.engine import GraphTask
from taper.autograd.fitting import fit_all
from taper.autograd.interception import Call, pop, push
from taper.autograd.node import Node
from taper.autograd.provenance import describe, is_internal, line_of, variables_of
from taper.autograd.state import local
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.viz.arithmetic import MOST, Written
from taper.viz.breakpoints import Break, stop
from taper.viz.reading import owner_of, saved_values
from taper.viz.summaries import Summary

__all__ = ["Step", "Tape", "debug_backward"]

Evaluate = Callable[[Node, list[Any], GraphTask], Sequence[Any] | None]
LIMIT = 100_000


class Step:
    """One node's run in a backward pass.

    Attributes:
        node: the id of the node or leaf in `viz.graph` of what the pass started from.
        order: its place on the tape, from 0.
        name: PyTorch's name of the node, such as `MulBackward0`.
        inputs: a `Summary` of each gradient that arrived, None where there was none.
        outputs: the same of each gradient that the node sent on.
        seconds: how long the node took, with its hooks.
        forward: how long the operation itself had taken; 0.0 if that was not recorded.
        freed: bytes of saved tensors that it gave back.
        run: the number of the pass, from 0.
        error: what the node raised, as text; None if it worked.

    >>> import taper
    >>> x = taper.tensor(2.0, requires_grad=True)
    >>> with taper.viz.debug_backward() as tape:
    ...     (x * 5).backward()
    >>> step = tape[0]
    >>> step.name, step.arithmetic, step.outputs[0].values
    ('MulBackward0', 'grad of self = grad * other = 1 * 5 = 5', 5.0)
    """

    __slots__ = (
        "_module",
        "_place",
        "_written",
        "error",
        "forward",
        "freed",
        "inputs",
        "leaf",
        "name",
        "node",
        "order",
        "outputs",
        "run",
        "seconds",
    )

    def __init__(self, node: Node, number: int, order: int, run: int) -> None:
        self.node = number
        self.order = order
        self.name = node._class_name().rpartition("::")[2]
        self.inputs: tuple[Summary | None, ...] = ()
        self.outputs: tuple[Summary | None, ...] = ()
        self.seconds = 0.0
        self.forward = 0.0
        self.freed = 0
        self.run = run
        self.error: str | None = None
        self.leaf = ""
        self._module = getattr(node, "_module", None)
        self._place = None if node._code is None else (node._code, node._offset)
        self._written: Written | None = None

    @property
    def line(self) -> str:
        """The user's line that recorded the node, as `file.py:12 in train: loss = a * b`."""
        return "" if self._place is None else describe(self._place)

    @property
    def source(self) -> tuple[CodeType, int] | None:
        """Where the node was recorded, as code object and line number; None for a leaf."""
        return None if self._place is None else (self._place[0], line_of(*self._place))

    @property
    def module(self) -> str:
        """The module whose forward recorded the node, as `blocks.4.norm LayerNorm`."""
        module = None if self._module is None else self._module()
        return "" if module is None else described(module)

    @property
    def arithmetic(self) -> str | None:
        """What the node computed, written out with its numbers; None if they are too many."""
        return None if self._written is None else self._written.text(self.inputs, self.outputs)

    def to_json(self) -> dict[str, Any]:
        """Return the step as a dict of texts, numbers and lists."""
        return {
            "node": self.node,
            "order": self.order,
            "name": self.name,
            "inputs": [None if each is None else each.to_json() for each in self.inputs],
            "outputs": [None if each is None else each.to_json() for each in self.outputs],
            "seconds": self.seconds,
            "forward": self.forward,
            "freed": self.freed,
            "arithmetic": self.arithmetic,
            "pass": self.run,
            "line": self.line,
            "leaf": self.leaf,
            "error": self.error,
        }

    def __str__(self) -> str:
        name = f"{self.name} {self.leaf}".rstrip()
        arrived = ", ".join(_text(each) for each in self.inputs)
        sent = ", ".join(_text(each) for each in self.outputs)
        return f"{self.order:>4} {name}  {arrived} -> {self.error or sent or '.grad'}"

    def __repr__(self) -> str:
        return f"<Step {self}>"


def _text(summary: Summary | None) -> str:
    return "none" if summary is None else str(summary)


class ForwardClock:
    """An interceptor that notes how long the operation of each recorded node takes."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}  # by the sequence number of the node

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        """Perform an operator and note its time for the nodes that it records."""
        state = local.state
        first = state.sequence
        start = perf_counter()
        result = run()
        seconds = perf_counter() - start
        for sequence in range(first, state.sequence):
            self.seconds[sequence] = seconds / (state.sequence - first)
        return result


class Tape:
    """What happened in backward passes, step by step: see `debug_backward`.

    A tape is a sequence of `Step`; `print(tape)` shows one line for each.  It keeps numbers only,
    so it does not keep a graph alive.

    >>> import taper
    >>> from taper import viz
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> with viz.debug_backward() as tape:
    ...     (x * x).backward()
    >>> print(tape)
       0 MulBackward0  1 -> 3, 3
       1 AccumulateGrad x  6 -> .grad
    >>> tape[0].arithmetic.splitlines()
    ['grad of self = grad * other = 1 * 3 = 3', 'grad of other = grad * self = 1 * 3 = 3']
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.steps: list[Step] = []
        self.dropped = 0  # steps beyond the limit
        self.passes = 0
        self._limit = limit
        self._breaks: list[Break] = []
        self._known: dict[int, tuple[Any, Summary]] = {}
        self.clock: ForwardClock | None = None

    # --- reading it ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, order: int) -> Step:
        return self.steps[order]

    def to_json(self) -> dict[str, Any]:
        """Return the tape as dicts, lists, texts and numbers, for other programs.

        >>> import taper
        >>> x = taper.ones(2, requires_grad=True)
        >>> with taper.viz.debug_backward() as tape:
        ...     x.sum().backward()
        >>> [(step["name"], step["outputs"]) for step in tape.to_json()["steps"]][1]
        ('AccumulateGrad', [])
        """
        return {"steps": [step.to_json() for step in self.steps], "dropped": self.dropped}

    def json(self, indent: int | None = None) -> str:
        """Return the text of `to_json()`."""
        return json.dumps(self.to_json(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        lines = [str(step) for step in self.steps]
        if self.dropped:
            lines.append(f"     and {self.dropped} more steps, beyond the limit of the tape")
        return "\n".join(lines) or "an empty tape: no backward pass has run"

    def __repr__(self) -> str:
        return f"<Tape of {len(self.steps)} steps in {self.passes} passes>"

    # --- stopping -----------------------------------------------------------------------------

    def break_on(
        self, node: int | str | Node | None = None, *, nan: bool = False, norm: float | None = None
    ) -> None:
        """Stop in the debugger when a node has run and before its gradients go on.

        The debugger is `breakpoint()`'s, so `PYTHONBREAKPOINT` and `sys.breakpointhook` choose it.
        There `step` is the record, `node` the node, `arrived` and `sent` its gradients.

        Args:
            node: only at this node: its id in `viz.graph`, its name, the path of its module, or a
                `grad_fn`.
            nan: only if a gradient that it sends has a NaN.
            norm: only if a gradient that it sends has a greater norm; with `nan`, if either holds.

        >>> import sys, taper
        >>> seen = []
        >>> sys.breakpointhook = lambda: seen.append("stopped")
        >>> x = taper.tensor(0.0, requires_grad=True)
        >>> with taper.viz.debug_backward() as tape:
        ...     tape.break_on(nan=True)
        ...     (x.sqrt() * 0).backward()
        stopped at step 1, SqrtBackward0: it sends a NaN
        ...
        >>> seen  # at the leaf that the NaN reaches, too
        ['stopped', 'stopped']
        >>> sys.breakpointhook = sys.__breakpointhook__
        """
        self._breaks.append(Break(node, nan, norm))

    # --- recording ----------------------------------------------------------------------------

    def recording(self, task: GraphTask, evaluate: Evaluate) -> Evaluate:
        """Return what the engine calls for each node of a pass that begins."""
        run = self.passes
        self.passes += 1
        _, numbers = walk([node for node, _, _ in task.roots])
        names = names_of_callers()
        if task.outer is None:
            self._known.clear()  # a gradient of an earlier pass may have been written since

        def record(node: Node, grads: list[Any], task: GraphTask) -> Sequence[Any] | None:
            if len(self.steps) >= self._limit:
                self.dropped += 1
                return evaluate(node, grads, task)
            end = node.variable if isinstance(node, AccumulateGrad) else node
            step = Step(node, numbers.get(id(end), -1), len(self.steps), run)
            step.leaf = names.get(id(end), "")
            if self.clock is not None:
                step.forward = self.clock.seconds.get(node._sequence, 0.0)
            self.steps.append(step)
            return self._record(step, evaluate, node, grads, task)

        return record

    def _record(
        self, step: Step, evaluate: Evaluate, node: Node, grads: list[Any], task: GraphTask
    ) -> Sequence[Any] | None:
        kept = _kept(node)
        if all([each is None or each.size <= MOST for each in map(_array, grads)]):
            step._written = Written(node, grads, kept)
        memory = _memory(kept)
        del kept  # or it would not be freed
        start = perf_counter()
        try:
            results = evaluate(node, grads, task)
        except Exception as error:
            step.error = f"{type(error).__name__}: {error}".split("\n")[0]
            raise
        finally:
            step.seconds = perf_counter() - start
            step.inputs = tuple([self._summary(each) for each in grads])
        if results is not None:
            returned, results = results, fit_all(node, results)  # what is seen is what arrives
            step.outputs = tuple([self._summary(each) for each in results])
            if step._written is not None:
                step._written.note_sums(returned, results)
            del returned  # a gradient that nobody else holds becomes `.grad` itself
        step.freed = sum([size for ref, size in memory if ref() is None])
        for each in self._breaks:
            reason = each.reason(step, node)
            if reason:
                stop(step, node, grads, results, reason)
                break
        return results

    def _summary(self, gradient: Any) -> Summary | None:
        """Sum up a gradient; one that arrives as it was sent is known already."""
        if gradient is None:
            return None
        array = _array(gradient)
        known = self._known.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        summary = Summary(gradient)
        self._known[id(array)] = weakref.ref(array), summary
        return summary


def _array(gradient: Any) -> Any:
    return gradient._array if isinstance(gradient, Tensor) else gradient


def _kept(node: Node) -> list[tuple[str, Any]]:
    """Return the arrays that a node keeps, by name."""
    kept = [(name, _array(value)) for name, _, value in saved_values(node)]
    return [(name, array) for name, array in kept if isinstance(array, ndarray)]


def _memory(kept: list[tuple[str, Any]]) -> list[tuple[Any, int]]:
    """Return weak references to the memory of arrays, each once, with the sizes."""
    owners = {id(owner): owner for owner in [owner_of(array) for _, array in kept]}
    return [(weakref.ref(owner), owner.nbytes) for owner in owners.values()]


def walk(roots: list[Any]) -> tuple[list[Any], dict[int, int]]:
    """Return the nodes of a graph in the order of recording, and the ids that `viz.graph` gives.

    The ids are those of nodes and leaves, by `id()`.
    """
    seen: dict[int, Any] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and not isinstance(node, AccumulateGrad) and id(node) not in seen:
            seen[id(node)] = node
            stack.extend(node._edges)
    nodes = sorted(seen.values(), key=lambda node: node._sequence)
    numbers = {id(node): place for place, node in enumerate(nodes)}
    for node in [*nodes, *roots]:
        for end in (node, *node._edges):
            leaf = end.variable if isinstance(end, AccumulateGrad) else end
            if isinstance(leaf, Tensor):
                numbers.setdefault(id(leaf), len(numbers))
    return nodes, numbers


def names_of_callers() -> dict[int, str]:
    """Return names of tensors and parameters in the functions that are running, by `id()`."""
    named: dict[int, str] = {}
    seen: set[int] = set()
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            variables = variables_of(frame)
            _add_names(variables, named)
            _add_names(getattr(variables.get("self"), "__dict__", {}), named)
            if id(frame.f_globals) not in seen:
                seen.add(id(frame.f_globals))
                _add_names(frame.f_globals, named)
        frame = frame.f_back
    return named


def _add_names(scope: Mapping[str, Any], named: dict[int, str]) -> None:
    values = list(scope.items())
    for name, value in values:
        if isinstance(value, Tensor) and name.isidentifier() and not name.startswith("_"):
            named.setdefault(id(value), name)
    for _, value in values:
        if isinstance(value, Module):
            for path, parameter in value.named_parameters():
                named.setdefault(id(parameter), path)


class debug_backward:
    """Record every backward pass in a block on a tape, node by node.

    Args:
        limit: the number of steps that the tape takes; further ones are counted.
        forward: measure the operations of the block, too: each step knows how long the operation
            had taken that recorded its node, and the page's hot path counts both.

    >>> import taper
    >>> from taper import viz
    >>> x = taper.tensor([1.0, 2.0], requires_grad=True)
    >>> with viz.debug_backward() as tape:
    ...     (x * x).sum().backward()
    >>> [step.name for step in tape]
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    >>> tape[1].outputs[0].values
    [1.0, 2.0]
    >>> with viz.debug_backward(forward=True) as tape:
    ...     (x * x).sum().backward()
    >>> tape[1].forward > 0
    True
    """

    def __init__(self, limit: int = LIMIT, *, forward: bool = False) -> None:
        if not isinstance(limit, int) or limit < 1:
            raise ValueError(f"debug_backward: limit must be a positive int, got {limit!r}")
        self._tape = Tape(limit)
        self._tape.clock = ForwardClock() if forward else None
        self._before: list[Any] = []

    def __enter__(self) -> Tape:
        state = local.state
        self._before.append((state, state.tape))
        state.tape = self._tape
        if self._tape.clock is not None:
            push(self._tape.clock)
        return self._tape

    def __exit__(self, *exception: object) -> None:
        state, before = self._before.pop()
        state.tape = before
        if self._tape.clock is not None:
            pop(self._tape.clock)
        self._tape._known.clear()
