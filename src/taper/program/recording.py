"""Recording: a call of a function, run eagerly and written down as a program (D15).

Owns: which array is which value, and what is written for a call that is seen.  Operators arrive
through `interception`, backward passes and optimizers through `state.recorder`, functions that make
or read arrays themselves through `detours`.  An array that none of them made, and that no tensor
from before the call holds, ends the recording: what is not understood is never replayed.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from taper.arrays.foreign import ForeignArray
from taper.autograd import detours, interception
from taper.autograd.engine import GraphTask, evaluate
from taper.autograd.interception import Call
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.node import Node
from taper.autograd.provenance import user_frame
from taper.autograd.state import State, local
from taper.gpu import state
from taper.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from taper.optim.rule_optimizer import RuleOptimizer
from taper.program import calls, passes
from taper.program.form import Instruction, Place, Program, Value
from taper.program.reads import Read, is_true, number
from taper.program.standins import is_stand_in
from taper.program.watching import kinds_of, unwatched
from taper.random import default_generator
from taper.sampling.generator import Generator
from taper.tensor import Tensor, storage_of
from taper.utils._pytree import tree_leaves

# Kinds of instructions that may be left out if nobody reads what they return.
_PURE = ("op", "formula", "fit", "add")


class Recorder:
    """Write down what one thread does; the recorder itself is the interceptor."""

    runs_passes = True

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.program = Program()
        self.refusal: tuple[str, Place] | None = None  # why there is no program
        self.watcher: Any = None  # of the user's code, if somebody watches
        self.surroundings: Any = None  # what the user's code can reach
        self.reads: list[Any] = []  # numbers that the user's code has got
        self.reads_are_plain = False  # whether they are ordinary, and end the recording
        self._grads_read: dict[int, Tensor] = {}  # tensors whose `.grad` was looked at
        self._values: dict[int, Value] = {}  # by the identity of their arrays
        self._memories: dict[int, Value] = {}  # by the identity of the arrays that own memory
        # An array that is freed is forgotten, since another may get its identity.
        self._alive: dict[int, Any] = {}
        kinds = kinds_of(Tensor)  # looked up by identity: half the time of `isinstance`
        existing = [
            each for each in gc.get_objects() if type(each) in kinds and not is_stand_in(each)
        ]
        # Whatever is used and not among these was made by the call itself.
        self._existing = {id(each): weakref.ref(each) for each in existing}
        grads = [
            (id(each), each._autograd_meta.grad)
            for each in existing
            if getattr(each, "_autograd_meta", None) is not None
            and each._autograd_meta.grad is not None
        ]
        self._with_grads = {number for number, _ in grads}
        self._old_grads = {id(grad) for _, grad in grads}
        for nr, tensor in enumerate(inputs):
            self.program.inputs.append(self._new(tensor._array, "input", index=nr, tensor=tensor))

    # --- values ------------------------------------------------------------------------------

    def _new(self, array: np.ndarray, origin: str, **more: Any) -> Value:
        """Make the value of an array that was not seen before."""
        owner = storage_of(array)
        base = self._memories.get(id(owner))
        value = Value(
            len(self.program.values), array.shape, array.strides, array.dtype, origin, **more
        )
        if base is None:
            self._memories[id(owner)] = value
            self._watch(owner)
        else:
            value.base = base.memory
        value.offset = _bytes_from_start(array, owner)
        if array.__class__ is not np.ndarray and isinstance(array, ForeignArray):
            self.program.is_on_device |= array.device.type == "cuda"
        self.program.values.append(value)
        self._values[id(array)] = value
        self._watch(array)
        return value

    def _watch(self, array: np.ndarray) -> None:
        """Forget an array when it is freed."""
        number, tables = id(array), (self._values, self._memories)
        if number not in self._alive:
            forget = functools.partial(_forget, self._alive, tables, number)
            self._alive[number] = weakref.ref(array, forget)

    def end(self) -> None:
        """Watch no array any more."""
        self._alive.clear()

    def _was_there(self, tensor: Tensor) -> bool:
        """Whether a tensor is from before the call."""
        found = self._existing.get(id(tensor))
        return found is not None and found() is tensor

    def value_of(self, tensor: Tensor) -> Value | None:
        """The value of a tensor that is used; None if nobody knows where it comes from."""
        array = getattr(tensor, "_array", None)
        if array is None or tensor._change is not None:
            return self.give_up("a conjugate or negative view is used")
        value = self._values.get(id(array))
        if value is not None:
            return value
        if not self._was_there(tensor):
            return self.give_up("a tensor is used that no operator has made")
        if id(tensor) in self._old_grads:
            return self.give_up("a gradient from before the call is used")
        value = self._new(array, "external", tensor=tensor)
        self.program.externals.append(value)
        return value

    def constant(self, array: np.ndarray) -> Value:
        """The value of an array that never changes."""
        value = self._values.get(id(array))
        if value is None:
            value = self._new(array, "constant")
            value.array = array.copy()
        return value

    def made(self, array: Any) -> Value | None:
        """The value of a result, which may be an argument or a view of one."""
        if array is None:
            return None
        return self._values.get(id(array)) or self._new(array, "made")

    def seed(self, array: np.ndarray, index: int) -> Value:
        """The value of a gradient that a backward begins with."""
        return self._new(array, "seed", index=index)

    def find(self, array: np.ndarray) -> Value | None:
        """The value of an array that was seen before."""
        return self._values.get(id(array))

    def references(self, structure: Any) -> Any:
        """The arguments of a call with values in the place of tensors and known arrays."""
        if isinstance(structure, Tensor):
            return self.value_of(structure)
        if isinstance(structure, np.ndarray):
            value = self._values.get(id(structure))
            if value is None and not structure.ndim:
                return self.constant(structure)  # a number in the form of an array
            return value or self.give_up("an array is used that no operator has made")
        if structure.__class__ is list:
            return [self.references(each) for each in structure]
        if isinstance(structure, tuple | list):
            return tuple([self.references(each) for each in structure])
        if structure.__class__ is dict:
            return {name: self.references(each) for name, each in structure.items()}
        return structure

    def leaf_of(self, tensor: Tensor) -> Tensor | None:
        """The leaf from before the call whose gradient a tensor is."""
        for each in self.program.instructions:
            leaf = each.of if each.kind == "accumulate" else None
            if (
                isinstance(leaf, Tensor)
                and leaf._autograd_meta is not None
                and leaf._autograd_meta.grad is tensor
            ):
                return leaf
        return None

    def watches(self, tensor: Tensor) -> bool:
        """Whether the guards know what hooks a tensor has, and what these read."""
        return self.surroundings is not None and self.surroundings.knows(tensor)

    def grads_read(self) -> list[tuple[Tensor, bool]]:
        """The tensors whose `.grad` was looked at, and whether they had one before the call."""
        return [(each, nr in self._with_grads) for nr, each in self._grads_read.items()]

    def give_up(self, reason: str, place: Place | None = None) -> Any:
        """End the recording; the call itself goes on eagerly."""
        if self.refusal is None:
            self.refusal = reason, place or self.place()
        return None

    def place(self) -> Place:
        """The user's line that is running."""
        frame = user_frame(sys._getframe(1))
        return frame.f_code, frame.f_lasti

    def emit(
        self,
        kind: str,
        name: str,
        run: Callable[..., Any],
        arguments: Sequence[Any],
        outputs: Sequence[Value | None],
        *,
        place: Place | None = None,
        of: Any = None,
        writes: tuple[Value, ...] = (),
        pure: bool = True,
    ) -> None:
        """Write an instruction down."""
        if self.refusal is not None:
            return
        made = Instruction(kind, name, run, tuple(arguments), tuple(outputs), (None, 0), of)
        made.place = place or self.place()
        made.writes = writes
        made.pure = pure and kind in _PURE
        if made.pure and all(each is None or each in made.operands() for each in outputs):
            return  # an operator that returns its argument
        self.program.instructions.append(made)

    # --- operators ---------------------------------------------------------------------------

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        """An operator of the table."""
        with unwatched():
            return self._note_call(call, run)

    def _note_call(self, call: Call, run: Callable[[], Any]) -> Any:
        if self.refusal is None:
            if call.op.name in calls.BY_DATA:
                self.give_up(f"the shape of what {call.name} returns depends on data")
            elif call.kind == "out":
                self.give_up(f"{call.name}(out=...) is used")
            elif call.kind == "plain" and _picks_by_mask(call):
                self.give_up("the shape of what a mask selects depends on data")
        if self.refusal is not None:
            return run()
        arguments = self.references(call.arguments)
        if self.refusal is not None:
            return run()
        before = storage_of(call.arguments[0]._array) if call.kind == "inplace" else None
        stamp = default_generator.stamp
        with self.suspended():  # what the kernel calls is part of the operator
            result = run()
        if call.kind == "inplace":
            self._note_write(call, arguments, before)
        else:  # one that has drawn random numbers runs even if nobody reads the result
            drawn = default_generator.stamp != stamp or _is_given_a_generator(call)
            self._note_operator(call, arguments, result, drawn)
        return result

    def _note_operator(
        self, call: Call, arguments: tuple[Any, ...], result: Any, drawn: bool
    ) -> None:
        outputs = []
        for each in result if isinstance(result, tuple | list) else (result,):
            if not isinstance(each, Tensor) or each._change is not None:
                self.give_up(f"{call.name} returns what is no ordinary tensor")
                return
            if each._counter is INFERENCE_COUNTER:
                self.give_up("inference mode is on")
                return
            outputs.append(self.made(each._array))
        run, of = calls.operator_call(call.op), call.op
        if isinstance(result, tuple | list) and len(outputs) == 1:
            run, of = calls.only_result(run), None
        self.emit("op", call.name, run, arguments, outputs, of=of, pure=not drawn)

    def _note_write(self, call: Call, arguments: tuple[Any, ...], before: Any) -> None:
        target: Tensor = call.arguments[0]
        if storage_of(target._array) is not before or self.find(target._array) is None:
            self.give_up(f"{call.name} gives a tensor other memory")
            return
        value, place = arguments[0], self.place()
        if value.memory.origin == "input":
            self.give_up(f"{call.name} writes into an argument")
        run = calls.write_call(call.op, _outliving(target, value), place)
        self.emit("write", call.name, run, arguments, [value], of=call.op, writes=(value,))

    def watched(self) -> calls.Special:
        """The functions beside the operators that are seen: (way, name) by function."""
        return calls.special_functions()

    def meet(self, node: Node) -> None:
        """A node that a pass is about to run: its hooks may be such as no program has."""
        extra, leaf = node._extra, getattr(node, "variable", None)
        if extra is not None and (extra.retained or extra.pre_hooks or extra.post_hooks):
            reason = f"{node.name()} has hooks, or a gradient is retained"
            self.give_up(reason, (node._code, node._offset))
        if leaf is not None and leaf._autograd_meta.hooks and not self.watches(leaf):
            self.give_up("a leaf has hooks that no variable of the function leads to")

    def about_to_write(self, tensor: Tensor) -> None:
        """A write that no operator makes (see `interception`)."""
        self.give_up("a tensor is written by a function that is no operator")

    # --- backward passes ------------------------------------------------------------------------

    def run_pass(self, task: GraphTask, state: State) -> None:
        """A backward pass."""
        with unwatched():
            passes.run_pass(self, task, state)

    evaluate = staticmethod(evaluate)

    @staticmethod
    def run_node(node: Node, grads: list[Any], tensors: bool) -> Sequence[Any]:
        """A node in a pass that is not written down."""
        return node._run_tensors(grads) if tensors else node._run(grads)

    # --- functions beside the table ------------------------------------------------------------

    def see(
        self, function: Any, way: str, name: str, run: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """A function of `calls.special_functions`."""
        if self.refusal is not None:
            return run(*args, **kwargs)
        handler: Callable[..., Any] = getattr(self, f"_see_{way}")
        return handler(function, name, run, args, kwargs)

    def _see_read(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        if (
            name == "item"
            and not self.reads_are_plain
            and (value := self.value_of(args[0])) is not None
        ):
            found = number(run(*args, **kwargs), value, self)
            if found is not None:
                if self.watcher is not None:
                    self.watcher.reads = True
                return found
        if name in ("__bool__", "is_nonzero") and (value := self.value_of(args[0])) is not None:
            outcome = run(*args, **kwargs)
            self.branch(name, is_true, [value], outcome)
            return outcome
        if name == "retain_grad" and args[0].is_leaf and args[0].requires_grad:
            return run(*args, **kwargs)  # a leaf does so anyway
        self.give_up(f"{name}: a value is read into Python, or a tensor changes its nature")
        return run(*args, **kwargs)

    def branch(
        self, name: str, test: Callable[..., Any], values: Sequence[Value], outcome: Any
    ) -> None:
        """Python has looked at numbers, and will do another thing if `test` says another."""
        self.emit("branch", name, test, values, (), of=outcome)

    def _see_look(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        if self._was_there(tensor):
            self._grads_read[id(tensor)] = tensor
            if any(each.tensor is tensor for each in self.program.inputs):
                self.give_up("the gradient of an argument is read")
        return run(*args, **kwargs)

    def _see_hook(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        if self._was_there(args[0]):
            self.give_up(f"{name}: a tensor from before the call gets a hook")
        return run(*args, **kwargs)

    def _see_grad(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        tensor, grad = args
        value = None if grad is None else self.value_of(grad)
        if any(each.tensor is tensor or each is value for each in self.program.inputs):
            self.give_up("the gradient of an argument is set, or an argument becomes a gradient")
        if value is None or value.origin == "external":
            return self._see_effect(function, name, run, args, kwargs)
        with self.suspended():
            run(*args, **kwargs)
        call = functools.partial(calls.set_grad, function, tensor)
        self.emit("accumulate", name, call, (value,), [value])

    def _see_make(
        self, function: Any, name: str, run: Any, args: Any, kwargs: Any, pure: bool = True
    ) -> Any:
        arguments = self.references((args, kwargs))
        if name == "one_hot" and (args[1] if len(args) > 1 else kwargs.get("num_classes", -1)) < 0:
            self.give_up("one_hot without num_classes looks at the data")
        with self.suspended():
            result = run(*args, **kwargs)
        if kwargs.get("out") is not None or not isinstance(result, Tensor):
            self.give_up(f"{name}(out=...) is used")
        elif result._requires_grad or result._counter is INFERENCE_COUNTER:
            self.give_up(f"{name} makes a tensor that requires a gradient")
        elif self.refusal is None and self.find(result._array) is None:
            outputs = [self.made(result._array)]
            self.emit("op", name, calls.maker_call(function), arguments, outputs, pure=pure)
        return result

    def _see_draw(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        return self._see_make(function, name, run, args, kwargs, pure=False)

    def _see_write(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        arguments = self.references((args, kwargs))
        with self.suspended():
            result = run(*args, **kwargs)
        if self.refusal is None:
            value = arguments[0][0]
            call = calls.writer_call(function, _outliving(args[0], value), self.place())
            self.emit("write", name, call, arguments, [value], writes=(value,))
        return result

    def _see_turn(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        arguments = self.references((args, kwargs))
        with self.suspended():
            result = run(*args, **kwargs)
        if self.refusal is None:
            if arguments[0][0].memory.origin != "made":
                self.give_up(f"{name} changes a tensor from before the call")
            outputs = [self.made(result._array)]
            self.emit("op", name, calls.maker_call(function), arguments, outputs)
        return result

    def _see_fill(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        with self.suspended():  # one way of filling may use another
            result = run(*args, **kwargs)
        if self.find(args[0]) is None:
            call = calls.draw_call(function, args[0], args[1:], kwargs)
            self.emit("op", name, call, (), [self.made(result)], pure=False)
        return result

    def _see_follow(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        arguments = self.references(args)
        result = run(*args, **kwargs)
        if self.refusal is None:
            written = arguments[0], arguments[1]
            self.emit("write", name, calls.follow_call, arguments, written, writes=written)
        return result

    def _see_effect(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, Read) or self._is_of_this_call(each):
                self.give_up(f"{name} is given something that the function has made")
        # What serves once, as `model.parameters()` does, must serve again.
        given = tuple([list(each) if hasattr(each, "__next__") else each for each in args])
        return self.run_block(name, functools.partial(function, *given, **kwargs), run, given)

    def run_block(
        self, name: str, function: Callable[..., Any], run: Any = None, given: Any = ()
    ) -> Any:
        """A call that only Python can make: a step of an optimizer, `zero_grad`, a scheduler."""
        found = variables_of(function)
        if found.get("args") or found.get("kwargs"):
            return self._run_step_with_closure(name, function, found)
        with self.suspended():
            result = function() if run is None else run(*given, **function.keywords)  # type: ignore[attr-defined]
        if self.refusal is None:
            outputs = [self.made(result._array)] if isinstance(result, Tensor) else []
            call = (lambda: _array_or_none(function())) if outputs else function
            self.emit("python", name, call, (), outputs, of=_owner(function), pure=False)
        return result

    def _run_step_with_closure(
        self, name: str, function: Callable[..., Any], found: dict[str, Any]
    ) -> Any:
        """A step of an optimizer that is given a closure: where it begins with that, both."""
        optimizer, closure = found["self"], (*found["args"], *found["kwargs"].values())[0]
        begins = isinstance(optimizer, RuleOptimizer) and type(optimizer).step is RuleOptimizer.step
        if self.refusal is not None or not begins or _has_step_hooks(optimizer):
            self.give_up(f"{name} is given arguments")
            return function()
        loss = optimizer._evaluated(closure)
        optimizer.step()
        return loss

    def _is_of_this_call(self, thing: Any) -> bool:
        """Whether an object is a tensor that the function has made, or an argument of it."""
        if not isinstance(thing, Tensor):
            return False
        return not self._was_there(thing) or any(
            each.tensor is thing for each in self.program.inputs
        )

    # --- being there -------------------------------------------------------------------------

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """See what this thread does during the block."""
        state = local.state
        handlers: dict[Any, Any] = {
            function: functools.partial(_through, function, way, name)
            for function, (way, name) in _with_copies(self.watched()).items()
        }
        detours.lead_through("capture", handlers)
        state.recorder = self
        interception.push(self)
        try:
            yield
        finally:
            interception.pop(self)
            state.recorder = None
            detours.leave("capture")

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """See nothing during the block."""
        state = local.state
        seen, before = any(each is self for each in state.interceptors), state.recorder
        if seen:
            interception.pop(self)
        state.recorder = None
        try:
            with unwatched():
                yield
        finally:
            if seen:
                interception.push(self)
            state.recorder = before


def _forget(alive: dict[int, Any], tables: Any, number: int, _: object) -> None:
    alive.pop(number, None)
    for table in tables:
        table.pop(number, None)


def _with_copies(functions: calls.Special) -> calls.Special:
    """The same with the copies of the functions that run on a GPU."""
    if state.runtime is None:
        return functions
    from taper.gpu import world  # late: for programs with a GPU

    copies = {world.copy_of(each): way for each, way in functions.items()}
    return functions | {each: way for each, way in copies.items() if each is not None}


def _through(function: Any, way: str, name: str, run: Any, *args: Any, **kwargs: Any) -> Any:
    """The detour of a special function: to the recorder of this thread, if it has one."""
    recorder = local.state.recorder
    if not isinstance(recorder, Recorder):
        return run(*args, **kwargs)
    return recorder.see(function, way, name, run, args, kwargs)


def _is_given_a_generator(call: Call) -> bool:
    return any(isinstance(each, Generator) for each in call.arguments)


def _picks_by_mask(call: Call) -> bool:
    """Whether an operator is given boolean tensors as indices."""
    for param, value in zip(call.op.params, call.arguments, strict=True):
        if param.kind == "indices" and any(
            each is not None and each._array.dtype.kind in "bu" for each in value
        ):
            return True
    return False


def _bytes_from_start(array: Any, owner: Any) -> int:
    if isinstance(array, ForeignArray):
        return array.offset
    if array is owner:
        return 0
    # In a third of the time of `ctypes.data`.
    one, other = (each.__array_interface__["data"][0] for each in (array, owner))
    distance: int = one - other
    return distance


def _outliving(tensor: Tensor, value: Value) -> Tensor | None:
    """The tensor whose writes are counted: one that the program did not make."""
    return tensor if value.memory.origin in ("input", "external") else None


def _owner(function: Any) -> Any:
    """The object that a bound or partial call belongs to."""
    if isinstance(function, functools.partial):
        return function.args[0] if function.args else None
    return variables_of(function).get("self")


def variables_of(function: Any) -> dict[str, Any]:
    """What a function defined in another knows of that one's variables."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return {}
    return {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}


def _has_step_hooks(optimizer: Any) -> bool:
    return bool(
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or _global_optimizer_pre_hooks
        or _global_optimizer_post_hooks
    )


def _array_or_none(result: Any) -> Any:
    return result._array if isinstance(result, Tensor) else None
