"""Watching a forward pass: which operators ran, on which tensors, on whose line.

Owns: `Trace`, the record of one pass.  A tensor is a number (`Ref`), given when it is first seen,
so that traces of the same program with other sizes have the same numbers.  Knows no ONNX.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from taper import dtypes
from taper.autograd.grad_mode import no_grad
from taper.autograd.interception import Call, intercepting
from taper.autograd.provenance import describe, here
from taper.nn.modules.module import Module
from taper.onnx.errors import OnnxExporterError
from taper.opdef import registry
from taper.random import fork_rng, manual_seed
from taper.tensor import Tensor, storage_of
from taper.utils._pytree import tree_leaves


class Ref(NamedTuple):
    """A tensor of a trace, by its number."""

    number: int


class Step(NamedTuple):
    """One call of an operator: `views` holds for each output the argument whose memory it has."""

    op: Any
    label: str
    writes: bool
    arguments: tuple[Any, ...]
    outputs: tuple[Ref, ...]
    views: tuple[Ref | None, ...]
    where: tuple[CodeType, int]
    scope: str


class ConstantsNeededError(Exception):
    """Constants must be recorded, too: a write that depends on inputs goes into them."""


class Trace:
    """What a forward pass did; `constants` are tensors that came from no operator on an input."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.shapes: list[tuple[int, ...]] = []
        self.dtypes: list[dtypes.dtype] = []
        self.inputs: list[Ref] = []
        self.states: dict[int, str] = {}
        self.constants: dict[int, np.ndarray] = {}
        self.overwritten: set[int] = set()  # constants of which no element is left in the end
        self.seen_at: dict[int, tuple[CodeType, int]] = {}
        self.outputs: list[Ref] = []


class Recorder:
    """An interceptor that writes a `Trace`.

    Calculations on constants alone leave only their results, unless `constants` asks for the steps:
    if sizes vary, the results are of no use.
    """

    def __init__(self, model: Any, constants: bool, lasting: list[Tensor]) -> None:
        self.trace = Trace()
        self.lasting = {id(storage_of(each._array)) for each in lasting}
        self.with_constants = constants
        self.scopes: list[str] = []
        self.refs: dict[int, tuple[Ref, np.ndarray]] = {}  # by the id of a tensor
        self.by_memory: dict[Any, Ref] = {}
        self.storages: dict[int, np.ndarray] = {}  # memory of recorded tensors
        # Keeps objects alive, so that ids and addresses in the tables stay unique.
        self.kept: list[Any] = []
        self.state_names: dict[int, str] = {}
        self.written: dict[int, tuple[Ref, np.ndarray]] = {}  # constants, by the id of their memory
        self.originals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        if isinstance(model, Module):
            for name, tensor in (*model.named_parameters(), *model.named_buffers()):
                self.state_names.setdefault(id(tensor), name)

    # --- tensors ---

    def add(self, tensor: Tensor) -> Ref:
        """Give a tensor a number, a new one if it had one."""
        array, trace = tensor._array, self.trace
        ref = Ref(len(trace.shapes))
        trace.shapes.append(array.shape)
        trace.dtypes.append(tensor.dtype)
        self.refs[id(tensor)] = ref, array
        self.by_memory[_memory(array)] = ref
        owner = storage_of(array)
        self.storages[id(owner)] = owner
        self.kept.append((tensor, array))
        return ref

    def known(self, tensor: Tensor) -> Ref | None:
        """Return the number of a tensor, or of one with its memory and shape (`x.detach()`)."""
        ref, array = self.refs.get(id(tensor), (None, None))
        if ref is not None and array is tensor._array:
            return ref
        return self.by_memory.get(_memory(tensor._array))

    def is_recorded(self, tensor: Tensor) -> bool:
        return (
            id(tensor) in self.state_names
            or self.known(tensor) is not None
            or id(storage_of(tensor._array)) in self.storages
        )

    def ref_of(self, tensor: Tensor) -> Ref:
        found = self.known(tensor) or self.turned(tensor)
        if found is not None:
            return found
        if id(storage_of(tensor._array)) in self.storages and tensor._array.size:
            if not self.with_constants:
                raise ConstantsNeededError
            raise OnnxExporterError(
                f"a tensor of shape {list(tensor.shape)} shares its memory with one of the model's "
                "values, but no operator made it. Use operators of the library for views. "
                f"It was used at {describe(here())}"
            )
        ref = self.add(tensor)
        if id(tensor) in self.state_names:
            self.trace.states[ref.number] = self.state_names[id(tensor)]
        else:
            self.trace.constants[ref.number] = tensor._array.copy()
            owner = storage_of(tensor._array)
            self.written.setdefault(id(owner), (ref, np.zeros(owner.size, bool)))
        self.trace.seen_at[ref.number] = here()
        return ref

    def turned(self, tensor: Tensor) -> Ref | None:
        """Record a new shape that a tensor got in place (`transpose_`) without an operator."""
        ref, old = self.refs.get(id(tensor), (None, None))
        new = tensor._array
        if ref is None or old is None or old.ctypes.data != new.ctypes.data or old.size != new.size:
            return None
        before, after = (list(zip(a.shape, a.strides, strict=True)) for a in (old, new))
        if [each for each in before if each[0] != 1] == [each for each in after if each[0] != 1]:
            name, settings = "view", new.shape
        elif sorted(before) == sorted(after):
            name, settings = "permute", tuple(before.index(each) for each in after)
        else:
            return None
        made = self.add(tensor)
        scope = self.scopes[-1] if self.scopes else ""
        arguments = (ref, settings)
        step = Step(registry[name], name, False, arguments, (made,), (ref,), here(), scope)
        self.trace.steps.append(step)
        return made

    def replaced(self, value: Any) -> Any:
        """Return an argument with numbers instead of tensors."""
        if isinstance(value, Tensor):
            return self.ref_of(value)
        if isinstance(value, tuple | list):
            return tuple(map(self.replaced, value))
        return value

    # --- operators ---

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        tensors = [each for each in tree_leaves(call.arguments) if isinstance(each, Tensor)]
        if not self.with_constants and not any(map(self.is_recorded, tensors)):
            return run()
        if call.kind == "out":
            raise OnnxExporterError(
                f"`out=` of {call.name} cannot be exported: use the result of the function "
                f"instead. It was called at {describe(here())}"
            )
        if call.kind == "inplace" and not self.with_constants:
            if not self.is_recorded(call.arguments[0]):
                raise ConstantsNeededError
        arguments = self.replaced(call.arguments)
        if call.kind == "inplace":
            self.keep_original(call.arguments[0])
            self.mark_written(call.arguments[0])
        result = run()
        outputs = tuple(each for each in tree_leaves(result) if isinstance(each, Tensor))
        writes = call.kind == "inplace" and self.known(outputs[0]) == arguments[0]
        owners = {id(storage_of(each._array)): self.known(each) for each in reversed(tensors)}
        views = tuple(owners.get(id(storage_of(each._array))) for each in outputs)
        same = {id(each): self.known(each) for each in tensors}
        refs = tuple(same.get(id(each)) or self.add(each) for each in outputs)
        scope = self.scopes[-1] if self.scopes else ""
        step = Step(call.op, call.name, writes, arguments, refs, views, here(), scope)
        self.trace.steps.append(step)
        return result

    def keep_original(self, tensor: Tensor) -> None:
        """Remember the values of the model and the arguments before they are written."""
        owner = storage_of(tensor._array)
        if id(owner) in self.lasting and id(owner) not in self.originals:
            self.originals[id(owner)] = owner, owner.copy()

    def mark_written(self, tensor: Tensor) -> None:
        """Remember which elements of a constant were written: `empty` has none at first."""
        owner = storage_of(tensor._array)
        if id(owner) not in self.written or not tensor._array.size:
            return
        ref, marks = self.written[id(owner)]
        start = (tensor._array.ctypes.data - owner.ctypes.data) // owner.itemsize
        strides = [each // owner.itemsize for each in tensor._array.strides]
        as_strided(marks[start:], tensor._array.shape, strides)[...] = True
        if marks.all():
            self.trace.overwritten.add(ref.number)

    def about_to_write(self, tensor: Tensor) -> None:
        """Refuse a write that no operator makes."""
        if self.is_recorded(tensor):
            raise OnnxExporterError(
                f"a write that no operator makes cannot be exported: {describe(here())}"
            )

    def restore(self) -> None:
        """Undo what the forward pass wrote into the model and the arguments."""
        for owner, values in self.originals.values():
            np.copyto(owner, values)


def _memory(array: np.ndarray) -> Any:
    """Return what arrays that show the same memory in the same way have in common."""
    layout = array.shape, array.strides, array.dtype.str
    return (array.ctypes.data, *layout) if array.size else (id(array), *layout)


def trace(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    constants: bool = False,
    seed: int = 0,
) -> Trace:
    """Run the model once and record it; random numbers and the model's state are restored.

    >>> import taper
    >>> [step.label for step in trace(taper.nn.ReLU(), (taper.ones(2),), {}).steps]
    ['relu']
    """
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    lasting = [*tensors]
    if isinstance(model, Module):
        lasting += [*model.parameters(), *model.buffers()]
    recorder = Recorder(model, constants, lasting)
    recorder.trace.inputs = [recorder.add(each) for each in tensors]
    try:
        with fork_rng(), no_grad(), _scopes(model, recorder), intercepting(recorder):
            manual_seed(seed)  # another one for each run: a random number is no constant
            result = model(*args, **kwargs)
    finally:
        recorder.restore()
    for each in tree_leaves(result):
        if isinstance(each, Tensor):
            recorder.trace.outputs.append(recorder.ref_of(each))
        elif each is not None:
            raise OnnxExporterError(
                f"a model must return tensors to be exported, but this one returns a "
                f"{type(each).__name__} among them"
            )
    return recorder.trace


@contextlib.contextmanager
def _scopes(model: Any, recorder: Recorder) -> Iterator[None]:
    """Let modules tell the recorder when they are called, during the block."""
    handles: list[Any] = []

    def enter(path: str) -> Callable[..., None]:
        return lambda module, args: recorder.scopes.append(path)

    def leave(module: Any, args: Any, result: Any) -> None:
        recorder.scopes.pop()

    try:
        for path, module in model.named_modules() if isinstance(model, Module) else ():
            scope = "/" + path.replace(".", "/") if path else ""
            handles.append(module.register_forward_pre_hook(enter(scope)))
            handles.append(module.register_forward_hook(leave, always_call=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
