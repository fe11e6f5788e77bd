"""Scripts: the calls of the library that a function makes, each with its part of a program.

Owns: what is written down of a function whose own code has to run again (it prints, adds numbers
up, reads arrays; see `following`): a list of events.  An event is a call that the function makes
itself, of an operator, of a function such as `cross_entropy`, of `backward`; it knows its arguments
and the instructions that stand for it.  Everything else happens again at each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from taper.autograd.backward import backward, grad
from taper.autograd.context import BackwardCFunction
from taper.autograd.engine import GraphTask
from taper.autograd.interception import Call
from taper.autograd.meta import VersionCounter
from taper.autograd.node import Node
from taper.autograd.state import INTERCEPT, State, local
from taper.nn import functional
from taper.opdef import named_composites
from taper.opdef.writes import run_inplace
from taper.ops.creation import data
from taper.program import calls
from taper.program.form import Instruction, Place, Value
from taper.program.recording import Recorder, variables_of
from taper.program.replays import let_go_of_leaves
from taper.tensor import Tensor, storage_of

# Functions after which NumPy, or others, may write the memory of a tensor.
_SHARING = frozenset(
    "numpy __array__ data_ptr storage untyped_storage __dlpack__ from_numpy frombuffer".split()
)


class Ref:
    """A tensor among arguments or results: the number of an object."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Shown:
    """A node as `repr` needs it."""

    def __init__(self, node: Node) -> None:
        self.text = node.name()

    def name(self) -> str:
        return self.text


class Object:
    """A tensor that the function has used: what it was like, and who knows it.

    It is "made" by an event, "given" (an argument, or made by the function in another way; another
    call has another one of this kind) or "external" (the same tensor at each call).
    """

    __slots__ = ("array", "consumed", "flag", "node", "origin", "shown", "tensor", "value",
                 "version")  # fmt: skip

    def __init__(self, origin: str, value: Value, tensor: Tensor) -> None:
        self.origin, self.value = origin, value
        self.tensor: Any = tensor
        self.array: Any = tensor._array
        self.flag = bool(tensor.requires_grad)
        self.node: Any = None
        self.shown: Any = None
        self.version = 0
        self.consumed: int | None = None  # the event that has used up its history

    def holds(self, tensor: Any) -> bool:
        """Whether a tensor from elsewhere is still what it was in the recording."""
        if self.origin != "external":
            return True
        if tensor._requires_grad is not self.flag and bool(tensor.requires_grad) is not self.flag:
            return False
        array = tensor._array
        if array is not self.array:
            if not self.is_like(array):
                return False
            self.array = array
        return True

    def is_like(self, array: Any) -> bool:
        """Whether an array lies as the recorded one did."""
        value = self.value
        return (
            type(array) is np.ndarray
            and array.shape == value.shape
            and array.dtype == value.dtype
            and array.strides == value.strides
        )

    def settle(self, consumed: dict[Node, int]) -> None:
        """Keep what is left of the tensor at the end of the recording."""
        tensor = self.tensor
        self.node = tensor._grad_fn
        self.consumed = None if self.node is None else consumed.get(self.node)
        self.shown = Shown(self.node) if self.node is not None else None
        counter = tensor._counter
        self.version = counter.value if isinstance(counter, VersionCounter) else 0
        if self.origin != "external":
            self.tensor = self.array = None
        if self.consumed is None:
            self.node = None  # it would keep what the graph saved


class Event:
    """One call: what is called, with what, and how many instructions there are after it."""

    def __init__(self, function: Any, kind: str, mode: int, place: Place) -> None:
        self.function = function  # an operator is the Op
        self.kind = kind  # of operators: that of the Call
        self.arguments: Any = None  # None: not compared
        self.row: list[tuple[int, Any]] | None = None  # the same, if no structure is in them
        self.names: tuple[str, ...] = ()  # of keywords
        self.mode = mode
        self.place = place
        self.results: Any = None
        self.end = 0
        self.is_real = False  # it is made again as it was, on tensors that have memory
        self.is_pass = False
        self.commits = False  # it has effects, and so cannot wait
        self.draws = False
        self.written: list[int] = []  # objects that were not made by events
        self.touched: list[int] = []  # objects that were made, in memory that it writes
        self.leaves: list[Tensor] = []  # whose gradients arrive

    def set_arguments(self, arguments: Any) -> None:
        """Note the arguments; `row` is for those that can be compared one by one."""
        self.arguments = arguments
        row = arguments
        if not self.kind:
            args, kwargs = arguments
            row, self.names = (*args, *kwargs.values()), tuple(kwargs)
        if not any(isinstance(each, tuple | list | dict) for each in row):
            self.row = [
                (each.number, None) if isinstance(each, Ref) else (-1, each) for each in row
            ]

    def has_names(self, arguments: Any) -> bool:
        """Whether a call has given its arguments as the recorded one."""
        if self.kind:
            return True
        args, kwargs = arguments
        return len(args) + len(self.names) == len(self.row or ()) and (
            not (kwargs or self.names) or tuple(kwargs) == self.names
        )

    def call(self, arguments: Any) -> Any:
        """Make the call."""
        if self.kind == "inplace":
            return run_inplace(self.function, arguments)
        if self.kind:
            return self.function.call(self.function.function, arguments)
        args, kwargs = arguments
        return self.function(*args, **kwargs)

    def agrees(self, other: Event) -> bool:
        """Whether two recordings have made the same call at the same place."""
        return (
            self.function is other.function
            and self.kind == other.kind
            and self.mode == other.mode
            and self.end == other.end
            and self.is_real == other.is_real
            and are_alike(self.arguments, other.arguments)
            and are_alike(self.results, other.results)
        )


def are_alike(one: Any, two: Any) -> bool:
    """Whether two structures of arguments are the same."""
    if one.__class__ is not two.__class__:
        return False
    if isinstance(one, Ref):
        return bool(one.number == two.number)
    if isinstance(one, tuple | list):
        return len(one) == len(two) and all(map(are_alike, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(are_alike(one[key], two[key]) for key in one)
    return one is two or bool(repr(one) == repr(two))


class Script(Recorder):
    """Write down the events of one call of a function."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        super().__init__(())
        self._arguments = {id(each) for each in inputs}
        self.events: list[Event] = []
        self.objects: list[Object] = []
        self.blocks: set[Any] = set()  # functions with effects, which are called as they are
        self._numbers: dict[int, int] = {}  # by the identity of tensors
        self._consumed: dict[Node, int] = {}
        self._kept: list[Any] = []  # nothing is freed whose identity counts
        self._shared: set[int] = set()  # memory that others may write, by identity
        self._depth = self._seen = 0

    # --- objects ---------------------------------------------------------------------------------

    def value_of(self, tensor: Tensor) -> Value | None:
        """The value of a tensor that an instruction uses."""
        number = self._numbers.get(id(tensor))
        if number is not None:
            return self.objects[number].value
        value = self.find(tensor._array) if getattr(tensor, "_array", None) is not None else None
        if value is None:
            self.give_up("a tensor is used inside of a function that was not given to it")
        return value

    def _numbered(self, tensor: Tensor) -> int:
        """The number of a tensor that is an argument of an event."""
        if self._shared and id(storage_of(tensor._array)) in self._shared:
            self._meets_shared = True
        number = self._numbers.get(id(tensor))
        if number is not None:
            return number
        array = getattr(tensor, "_array", None)
        if array is None or tensor._change is not None or type(array).__name__ != "ndarray":
            self.give_up("a tensor is used that is no ordinary one")
            return -1
        if tensor.requires_grad:
            if id(tensor) in self._arguments or not self._was_there(tensor):
                self.give_up("a tensor with a history of its own is used")
            if tensor._grad_fn is not None or tensor._view is not None:
                self.give_up("a tensor with a history of its own is used")
            value = self.find(array) or self._new(array, "external", tensor=tensor)
            self.program.externals.append(value)
            return self._add("external", value, tensor)
        value = self.find(array) or self._new(array, "input", index=len(self.program.inputs))
        self.program.inputs.append(value)
        return self._add("given", value, tensor)

    def _add(self, origin: str, value: Value, tensor: Tensor) -> int:
        number = self._numbers[id(tensor)] = len(self.objects)
        self.objects.append(Object(origin, value, tensor))
        return number

    def _template(self, structure: Any) -> Any:
        if isinstance(structure, Tensor):
            return Ref(self._numbered(structure))
        if isinstance(structure, list | tuple):
            made = [self._template(each) for each in structure]
            return tuple(made) if isinstance(structure, tuple) else made
        if isinstance(structure, dict):
            return {key: self._template(each) for key, each in structure.items()}
        if type(structure).__name__ == "ndarray":
            self.give_up("an array of NumPy's is an argument")
        return structure

    # --- events ----------------------------------------------------------------------------------

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        """An operator of the table."""
        self._seen += 1
        if self._depth or self.refusal is not None:
            return super().__call__(call, run)
        if call.kind == "inplace" and not self._is_made(call.arguments[0]):
            with self.suspended():
                return run()
        record = functools.partial(super().__call__, call, run)
        return self._event(call.op, call.kind, call.arguments, record)

    def _is_made(self, tensor: Any) -> bool:
        number = self._numbers.get(id(tensor))
        return number is not None and self.objects[number].origin == "made"

    def watched(self) -> dict[Any, tuple[str, str]]:
        """The functions that are seen: those of any recording, and all that call operators."""
        makers = {data.from_numpy: ("make", "from_numpy")}
        return dict.fromkeys(callers(), ("call", "")) | makers | super().watched()

    def see(
        self, function: Any, way: str, name: str, run: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """A function of the library."""
        if self.refusal is not None:
            return run(*args, **kwargs)
        if self._depth:
            if way == "call":
                return run(*args, **kwargs)
            return super().see(function, way, name, run, args, kwargs)
        if way in ("effect", "write", "turn", "fill", "follow"):
            self.blocks.add(function)
            with self.suspended():
                return run(*args, **kwargs)
        if way in ("read", "look", "make", "draw", "hook", "grad"):
            result = self._question(function, run, args, kwargs)
            if name in _SHARING:
                self._share([each for each in (*args, result) if isinstance(each, Tensor)])
            return result
        return self._event(function, "", (args, kwargs), functools.partial(run, *args, **kwargs))

    def _share(self, tensors: Sequence[Tensor]) -> None:
        for each in tensors:
            memory = storage_of(each._array)
            self._shared.add(id(memory))
            self._kept.append(memory)

    def _see_read(self, function: Any, name: str, run: Any, args: Any, kwargs: Any) -> Any:
        """A number that a function of the library reads: the function is called as it is."""
        self.give_up(f"{name}: a value is read")
        return run(*args, **kwargs)

    def _question(self, function: Any, run: Any, args: Any, kwargs: Any) -> Any:
        """A function that is called again at each call: it reads numbers, or makes a tensor."""
        seen, before = self._seen, len(self.program.instructions)
        event = Event(function, "", local.state.mode & ~INTERCEPT, self.place())
        self._depth += 1
        try:
            result = run(*args, **kwargs)
        finally:
            self._depth -= 1
        if self._seen != seen:
            self._become_real(event, before, result)
        return result

    def _event(self, function: Any, kind: str, arguments: Any, run: Callable[[], Any]) -> Any:
        state = local.state
        event = Event(function, kind, state.mode & ~INTERCEPT, self.place())
        before, seen = len(self.program.instructions), self._seen
        count = len(self.objects), len(self.program.inputs), len(self.program.externals)
        self._meets_shared = False
        event.set_arguments(self._template(arguments))
        event.commits = self._meets_shared  # whoever knows the memory may write it
        if self.refusal is not None:
            return run()
        if state.autocast is not None:
            self.give_up("autocast is on")
        self._depth += 1
        try:
            result = run()
        finally:
            self._depth -= 1
        if event.is_pass or self._ran_pass(event, before):
            if self.refusal is None:
                self._finish(event, result, before)
        elif self.refusal is not None or not self._is_lazy(result, before):
            self._become_real(event, before, result)
        elif self._seen == seen and len(self.program.instructions) == before:
            if not self._returns_arguments(result):
                self._forget(count)
                return result  # a question about a shape
            if _name(event).endswith("_"):
                self.give_up(f"{_name(event)} changes a tensor", event.place)
            self._finish(event, result, before)
        else:
            self._finish(event, result, before)
        return result

    def _forget(self, count: tuple[int, int, int]) -> None:
        """Take back the numbers of objects that no event has."""
        for each in self.objects[count[0] :]:
            del self._numbers[id(each.tensor)]
            self._kept.append(each.tensor)
        del self.objects[count[0] :]

    def _ran_pass(self, event: Event, before: int) -> bool:
        event.is_pass = self._passed
        self._passed = False
        return event.is_pass

    _passed = _meets_shared = False

    def run_pass(self, task: GraphTask, state: State) -> None:
        """A backward pass, which is part of an event."""
        if not self._depth:
            self.give_up("a backward pass that no function of the library has begun")
        self._passed = True
        super().run_pass(task, state)
        if not task.keep_graph:
            for node in task.reached:
                self._consumed.setdefault(node, len(self.events))

    def meet(self, node: Node) -> None:
        """A node of a pass: what the user has written has to run again, and does not here."""
        extra = node._extra
        hooks = extra is not None and (
            extra.tensor_hooks or extra.retained or extra.pre_hooks or extra.post_hooks
        )
        leaf = getattr(node, "variable", None)
        meta = None if leaf is None else leaf._autograd_meta
        if meta is not None:
            hooks = hooks or meta.hooks or meta.post_accumulate_hooks
        if hooks or isinstance(node, BackwardCFunction):
            self.give_up(f"{node.name()} has hooks, or is a custom Function")

    def _returns_arguments(self, result: Any) -> bool:
        tensors = list(_tensors_in(result))
        return bool(tensors) and all(id(each) in self._numbers for each in tensors)

    def _is_lazy(self, result: Any, before: int) -> bool:
        """Whether the results may be left open until somebody reads them."""
        tensors = list(_tensors_in(result))
        made = self.program.instructions[before:]
        if any(each.kind in ("python", "branch") for each in made):
            return False
        if not all(map(self._may_write, made)):
            return False
        if not _is_row(result):
            return not made and not tensors
        for each in tensors:
            value = self.find(each._array)
            if value is None and id(each) not in self._numbers:
                return not made
            if id(each) not in self._numbers and value is not None and not each.requires_grad:
                if value.memory.origin != "made":
                    return False  # a view of what is there anyway
        return True

    @staticmethod
    def _may_write(instruction: Instruction) -> bool:
        """Whether an instruction writes into what it may: running values are written by place."""
        return instruction.name == "batch_norm" or all(
            each.memory.origin != "input" for each in instruction.writes
        )

    def _become_real(self, event: Event, before: int, result: Any) -> None:
        """Let an event be made anew at each call, since no program stands for it."""
        self.refusal = None
        del self.program.instructions[before:]
        event.is_real = True
        event.arguments = event.row = None
        for each in _tensors_in(result):
            if id(each) in self._numbers:
                continue
            if each.requires_grad:
                self.give_up(f"{_name(event)} has a history, and no program", event.place)
            self._values.pop(id(each._array), None)
            value = self._new(each._array, "input", index=len(self.program.inputs))
            self.program.inputs.append(value)
            self._add("given", value, each)
        if not _is_row(result) and any(True for _ in _tensors_in(result)):
            self.give_up(f"{_name(event)} returns tensors in a structure", event.place)
        event.results = self._template(result) if _is_row(result) else None
        event.end = before
        self.events.append(event)

    def _finish(self, event: Event, result: Any, before: int) -> None:
        """Note what an event has returned and done."""
        for each in _tensors_in(result):
            if id(each) not in self._numbers:
                value = self.find(each._array)
                if value is None:
                    self.give_up(f"{_name(event)} returns a tensor that no operator has made")
                    return
                self._add("made", value, each)
        event.results = self._template(result) if _is_row(result) else None
        event.end = len(self.program.instructions)
        for made in self.program.instructions[before:]:
            if made.kind == "accumulate" and isinstance(made.of, Tensor):
                event.leaves.append(made.of)
            event.draws = event.draws or (made.kind == "op" and not made.pure)
            places = {id(value.memory) for value in made.writes if value.memory.origin == "made"}
            event.touched += [
                nr for nr, thing in enumerate(self.objects) if id(thing.value.memory) in places
            ]
            if not all(self.objects[nr].flag for nr in event.touched):
                # What is read before and after such a write cannot be told apart afterwards.
                self.give_up(f"{made.name} writes into a tensor without a history", event.place)
            written = {id(value) for value in made.writes if value.memory.origin != "made"}
            found = [nr for nr, thing in enumerate(self.objects) if id(thing.value) in written]
            if len(found) < len(written):
                self.give_up(f"{made.name} writes into a view of an argument", event.place)
            event.written += found
        event.commits |= bool(event.is_pass or event.draws or event.written)
        self.events.append(event)

    def run_block(
        self, name: str, function: Callable[..., Any], run: Any = None, given: Any = ()
    ) -> Any:
        """A step of an optimizer, `zero_grad`: they happen again at each call."""
        if self._depth or self.refusal is not None:
            return super().run_block(name, function, run, given)
        if given_to_step(function)[1]:
            return self._run_step_with_closure(name, function, variables_of(function))
        with self.suspended():
            return function()

    def about_to_write(self, tensor: Tensor) -> None:
        """A write that no operator makes: it happens again at each call."""
        if self._depth:
            super().about_to_write(tensor)

    def is_open(self, tensor: Tensor) -> bool:
        """Whether a tensor has a history that no pass has used up."""
        node = tensor._grad_fn
        return node is not None and self._is_made(tensor) and node not in self._consumed

    def settle(self) -> None:
        """End the recording: objects forget their tensors."""
        for each in self.objects:
            each.settle(self._consumed)
            if each.node is not None:
                let_go_of_leaves(each.node)
        self.end()
        self._values, self._memories, self._kept, self._existing = {}, {}, [], {}
        self._numbers, self._consumed = {}, {}


def given_to_step(function: Any) -> tuple[Any, bool]:
    """The optimizer of a step, and whether the step is given something, such as a closure."""
    found = variables_of(function)
    return found.get("self"), bool(found.get("args") or found.get("kwargs"))


def _name(event: Event) -> str:
    function = event.function
    return str(function.name if event.kind else function.__name__)


def _is_row(result: Any) -> bool:
    """Whether a result is a tensor, or a plain row of them."""
    if isinstance(result, Tensor) or result is None:
        return True
    return result.__class__ in (tuple, list) and all(isinstance(each, Tensor) for each in result)


def _tensors_in(result: Any) -> Iterator[Tensor]:
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, tuple | list):
        for each in result:
            yield from _tensors_in(each)
    elif isinstance(result, dict):
        yield from _tensors_in(list(result.values()))


@functools.cache
def callers() -> frozenset[Any]:
    """The functions of the library that call operators, as users call them."""
    found = [function for _, function in named_composites]
    found += [*vars(functional).values(), *vars(Tensor).values()]
    found += [backward, grad]
    special = calls.special_functions()
    return frozenset(
        each
        for each in found
        if hasattr(each, "__code__")
        and not hasattr(each, "op")
        and each not in special
        and str(getattr(each, "__module__", "")).startswith("taper.")
        and not each.__name__.startswith("_Tensor__")
    )
