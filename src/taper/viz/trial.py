"""Running a model to look at it, and leaving it and the world around it as they were.

Owns the trial run: what each call of a module took and gave, its multiply-adds, its time forward
and backward, the bytes that it saves.  Modules are watched through a `forward` of their own for the
time of the run, so hooks stay as they are.  Buffers are copies meanwhile; attributes, modes and the
random numbers are put back, also after an error.
"""

from __future__ import annotations

import contextlib
import copy
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from time import perf_counter
from typing import Any

import numpy as np

from taper.autograd.backward import grad
from taper.autograd.grad_mode import enable_grad
from taper.autograd.interception import Call, intercepting
from taper.autograd.state import local
from taper.nn.modules.module import Module
from taper.nn.parameter import is_lazy
from taper.random import fork_rng
from taper.tensor import Tensor
from taper.utils._pytree import tree_leaves
from taper.viz.multiply_adds import multiply_adds
from taper.viz.reading import owner_of, saved_values
from taper.viz.tape import walk

__all__ = ["Run", "all_runs", "run_model"]

_REPEATS = 3
_ENOUGH = 0.3  # seconds of a pass above which once is enough


class Run:
    """One call of a module: `calls` are those that it made itself."""

    def __init__(self, module: Module, caller: Run | None) -> None:
        self.module = module
        self.caller = caller
        self.calls: list[Run] = []
        self.inputs: list[tuple[int, ...]] = []  # shapes
        self.outputs: list[tuple[int, ...]] = []
        self.output_bytes = 0
        self.multiply_adds = 0  # of the calls inside, too
        self.saved_bytes = 0
        self.forward: float | None = None  # seconds, the least of some runs
        self.backward: float | None = None
        self.watching = 0.0  # seconds that watching the calls inside took
        self.first, self.last = 0, 0  # the nodes that it recorded, by sequence
        if caller is not None:
            caller.calls.append(self)

    def add(self, count: int) -> None:
        """Count multiply-adds here and in the calls around."""
        around: Run | None = self
        while around is not None:
            around.multiply_adds += count
            around = around.caller


def run_model(
    model: Module, args: Any, kwargs: dict[str, Any], training: bool | None, timed: bool
) -> Run:
    """Call a model and return what happened; the model is left as it was.

    Args:
        model, args, kwargs: the call.
        training: the mode for the time of the run; None keeps that of each module.
        timed: measure times, with a backward pass where one is possible.

    Raises RuntimeError with the name of the module in which the call failed.
    """
    if any(is_lazy(each) for each in (*model.parameters(), *model.buffers())):
        model = copy.deepcopy(model)  # a run gives lazy parameters their shapes for good
    with _unchanged(model), enable_grad():
        for module in model.modules():
            module.__dict__["training"] = module.training if training is None else training
        watch = _Watch(model)
        _count(watch, model, args, kwargs)
        if timed:
            _measure(watch, model, args, kwargs)
    return watch.roots[0]


@contextlib.contextmanager
def _unchanged(model: Module) -> Iterator[None]:
    """Put back attributes, buffers, parameters and random numbers at the end."""
    before = [(each, dict(each.__dict__), _tables(each)) for each in model.modules()]
    state = local.state
    marks = state.last_pass, state.earlier_pass
    numbers, arrays = random.getstate(), np.random.get_state()
    copies: dict[int, Tensor] = {}
    try:
        with fork_rng():
            for module, _, _ in before:
                for name, each in module._buffers.items():
                    if each is not None:
                        copies.setdefault(id(each), each.detach().clone())
                        module._buffers[name] = copies[id(each)]
            yield
    finally:
        for module, attributes, tables in before:
            module.__dict__.clear()
            module.__dict__.update(attributes)
            for name, entries in tables.items():
                module.__dict__[name].clear()
                module.__dict__[name].update(entries)
        random.setstate(numbers)
        np.random.set_state(arrays)
        state.last_pass, state.earlier_pass = marks


def _tables(module: Module) -> dict[str, dict[str, Any]]:
    return {name: dict(getattr(module, name)) for name in ("_buffers", "_parameters", "_modules")}


class _Watch:
    """Sees the calls of a model's modules, in as many runs of it as there are."""

    def __init__(self, model: Module) -> None:
        self.roots: list[Run] = []
        self.running: Run | None = None
        self.timed = False  # the first run counts and compiles operators: its times mean nothing
        self.failed: Run | None = None
        self.names = {id(module): name for name, module in model.named_modules()}
        for module in model.modules():
            module.__dict__["forward"] = self._watched(module, module.forward)

    def _watched(self, module: Module, forward: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            entered = perf_counter()
            run = Run(module, self.running)
            if run.caller is None:
                self.roots.append(run)
            self.running = run
            run.inputs = shapes((args, kwargs))
            run.first = local.state.sequence
            start = end = perf_counter()
            try:
                result = forward(*args, **kwargs)
                end = perf_counter()
            except Exception:
                self.failed = self.failed or run
                raise
            finally:
                run.last = local.state.sequence
                self.running = run.caller
            if self.timed:
                run.forward = end - start - run.watching
            else:
                run.outputs = shapes(result)
                run.output_bytes = sum(each.nbytes for each in _tensors(result))
            if run.caller is not None:
                run.caller.watching += start - entered + perf_counter() - end + run.watching
            return result

        return watched

    def see_operator(self, call: Call, run: Callable[[], Any]) -> Any:
        """Count an operator for the module that calls it."""
        result = run()
        if self.running is not None:
            self.running.add(multiply_adds(call, result))
        return result

    def described(self) -> str:
        """Return the module that failed as `'blocks.4.norm' (LayerNorm)`, and what it was given."""
        if self.failed is None:
            return "the model"
        module = self.failed.module
        path = self.names.get(id(module), "")
        name = f"{path!r} ({type(module).__name__})" if path else type(module).__name__
        given = ", ".join(str(list(each)) for each in self.failed.inputs[:8])
        return f"{name}, given {given or 'no tensor'}"


def _call(watch: _Watch, model: Module, args: Any, kwargs: dict[str, Any]) -> Any:
    try:
        return model(*args, **kwargs)
    except Exception as error:
        raise RuntimeError(
            f"summary: the forward pass failed in {watch.described()}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _count(watch: _Watch, model: Module, args: Any, kwargs: dict[str, Any]) -> None:
    with intercepting(watch.see_operator):
        result = _call(watch, model, args, kwargs)
    if not watch.roots:  # its class calls something else than `forward`
        raise RuntimeError(f"summary: a call of {type(model).__name__} does not run its forward")
    roots = [each.grad_fn for each in _tensors(result) if each.grad_fn is not None]
    if not roots:
        return
    nodes, _ = walk(roots)
    seen = {id(owner_of(each._array)) for each in model.parameters()}
    bytes_of = []
    for node in nodes:
        saved = [value for _, _, value in saved_values(node)]
        arrays = [each._array if isinstance(each, Tensor) else each for each in saved]
        owners = [owner_of(each) for each in arrays if isinstance(each, np.ndarray)]
        bytes_of.append(sum(each.nbytes for each in owners if not _known(seen, id(each))))
    _spread(watch.roots[0], [node._sequence for node in nodes], bytes_of, "saved_bytes")


def _known(seen: set[int], key: int) -> bool:
    known = key in seen
    seen.add(key)
    return known


def _spread(root: Run, sequences: list[int], amounts: list[Any], name: str) -> None:
    """Give each call the sum of the amounts of the nodes that were recorded during it."""
    sums = [0, *accumulate(amounts)]
    for run in all_runs(root):
        first, last = bisect_left(sequences, run.first), bisect_left(sequences, run.last)
        setattr(run, name, sums[last] - sums[first])


def all_runs(root: Run) -> Iterator[Run]:
    """Yield a call and all inside it, in order."""
    stack = [root]
    while stack:
        run = stack.pop()
        yield run
        stack.extend(reversed(run.calls))


# --- times -----------------------------------------------------------------------------------


class _Clock:
    """Stands where a tape does and notes how long each node takes."""

    def __init__(self) -> None:
        self.seconds: list[tuple[int, float]] = []

    def recording(self, task: Any, evaluate: Callable[..., Any]) -> Callable[..., Any]:
        """Return what the engine calls for each node."""

        def timed(node: Any, grads: Any, task: Any) -> Any:
            start = perf_counter()
            try:
                return evaluate(node, grads, task)
            finally:
                self.seconds.append((node._sequence, perf_counter() - start))

        return timed


def _measure(watch: _Watch, model: Module, args: Any, kwargs: dict[str, Any]) -> None:
    """Run again without counting, some times, and keep the least times."""
    kept = list(all_runs(watch.roots[0]))
    watch.timed = True
    start = perf_counter()
    for _ in range(_REPEATS):
        del watch.roots[1:]
        result = _call(watch, model, args, kwargs)
        found = list(all_runs(watch.roots[-1]))
        if len(found) != len(kept):  # it does not do the same every time
            found = found[: len(kept)] + kept[len(found) :]
        _time_backward(result, model, watch.roots[-1])
        for run, again in zip(kept, found, strict=True):
            run.forward = _least(run.forward, again.forward)
            run.backward = _least(run.backward, again.backward)
        if perf_counter() - start > _ENOUGH:
            break


def _least(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)


def _time_backward(result: Any, model: Module, root: Run) -> None:
    outputs = [each for each in _tensors(result) if each.requires_grad]
    wanted = [each for each in model.parameters() if each.requires_grad]
    if not (outputs and wanted):
        return
    clock, state = _Clock(), local.state
    before, state.tape = state.tape, clock
    try:
        grad(outputs, wanted, [each.detach() for each in outputs], allow_unused=True)
    finally:
        state.tape = before
    clock.seconds.sort()
    times = [each for _, each in clock.seconds]
    _spread(root, [each for each, _ in clock.seconds], times, "backward")


# --- shapes ----------------------------------------------------------------------------------


def _tensors(value: Any) -> list[Tensor]:
    return [each for each in tree_leaves(value) if isinstance(each, Tensor)]


def shapes(value: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the tensors in nested lists, tuples and dicts, in order."""
    return [tuple(each.shape) for each in _tensors(value)]
