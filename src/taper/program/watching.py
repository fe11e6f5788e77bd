"""Watching: what the user's own code reads and does while a function is recorded.

Owns: two questions.  What may the code have read that is no tensor: `Surroundings` are the globals,
closures, attributes and containers that the function can reach, with the values they have; a
program holds while they have these, and a function that changes them by itself is not replayed.
And what has it called: `Watcher` sees every call that leaves the user's code for something that
is neither taper nor known to be pure, such as `print`, `time.time` or `random.random`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import gc
import os
import sys
import sysconfig
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from taper.autograd.provenance import is_internal
from taper.device import device
from taper.dtypes import dtype
from taper.nn.modules.module import Module
from taper.program.form import Place
from taper.tensor import Tensor

# More places to look at than this make a function too large to watch.
LIMIT = 20_000
_LARGE = 1 << 14  # bytes of an array that are not compared at every call

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), dtype, device)
_PURE_MODULES = frozenset(
    {None, "builtins", "math", "cmath", "_operator", "itertools", "_functools", "_collections",
     "_collections_abc", "_abc", "_thread", "_contextvars", "_weakref", "numpy", "typing"}
)  # fmt: skip
_IMPURE_BUILTINS = frozenset(
    {"print", "input", "open", "exec", "eval", "next", "breakpoint", "globals", "locals"}
)
_ENVIRONMENT = type(os.environ).__getitem__.__code__
_PURE_OWNERS = (list, tuple, dict, set, frozenset, str, bytes, int, float, bool, complex, type,
                range, slice, types.ModuleType, types.MappingProxyType, type(None))  # fmt: skip
# What Python itself keeps in a class.
_OF_CLASSES = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__"})
_OF_PYTHON = (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType)
# Functions in C that do not look at a number they are given.
_BLIND = frozenset({"__new__", "isinstance", "len", "hasattr"})
_LIBRARY = os.path.realpath(sysconfig.get_paths()["stdlib"]) + os.sep
_NUMPY = os.path.dirname(os.path.realpath(np.__file__)) + os.sep

Code = tuple[types.CodeType, dict[str, Any]]


class Watcher:
    """See which code of the user's runs, and what it calls, through `sys.setprofile`."""

    def __init__(self) -> None:
        self.codes: dict[types.CodeType, dict[str, Any]] = {}
        self._imports: set[types.CodeType] = set()
        # Code of taper's, met before; by identity, since the hash of code is that of all its parts.
        self._internal: dict[int, types.CodeType] = {}
        self.effect: tuple[str, Place] | None = None
        self.reads = False  # whether the code has got a number that it must not look at
        self.is_on = False

    def __enter__(self) -> Watcher:
        # What the garbage collector finalizes meanwhile would be taken for the function's doing.
        self._collects = gc.isenabled()
        gc.disable()
        self.is_on = True
        sys.setprofile(self.see)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_on = False
        sys.setprofile(None)
        if self._collects:
            gc.enable()

    def see(self, frame: types.FrameType, event: str, argument: Any) -> None:
        """Take note of a call, as the function of `sys.setprofile`."""
        code = frame.f_code
        if id(code) in self._internal:
            return
        if is_internal(code.co_filename):
            self._internal[id(code)] = code
        elif event == "call":
            if code is _ENVIRONMENT and not is_internal(_caller(frame).f_code.co_filename):
                self._note("os.environ is read", _caller(frame))
            if code in self.codes or _in_library(code):
                return
            by = frame.f_back.f_code if frame.f_back is not None else code
            if by in self._imports or by.co_filename.startswith("<frozen importlib"):
                self._imports.add(code)  # what Python does to import is not the function's
                return
            module = str(frame.f_globals.get("__name__"))
            if not module.startswith(("taper.", "namedtuple_", "_distutils_hack")):
                self.codes[code] = frame.f_globals
        elif event == "c_call" and self.effect is None:
            caller: Any = frame  # who has called Python's own code, if it is that
            while caller is not None and (
                _in_library(caller.f_code) or caller.f_code in self._imports
            ):
                caller = caller.f_back
            if caller is None or is_internal(caller.f_code.co_filename):
                return
            looked = self.reads and argument.__name__ not in _BLIND and caller is frame
            if looked or not _is_pure(argument, frame):
                self._note(
                    f"{getattr(argument, '__qualname__', repr(argument))}() is called", frame
                )

    def _note(self, effect: str, frame: types.FrameType) -> None:
        if self.effect is None:
            self.effect = effect, (frame.f_code, frame.f_lasti)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Let nobody see what the library itself does: a fifth of the time of a recording."""
    watching = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watching)


@contextlib.contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """See what the user's code does in the middle of what is not watched."""
    watching = sys.getprofile()
    if watcher is not None and watcher.is_on:
        sys.setprofile(watcher.see)
    try:
        yield
    finally:
        sys.setprofile(watching)


def kinds_of(kind: type) -> set[type]:
    """A class and all its subclasses."""
    found = {kind}
    below: list[type] = type.__subclasses__(kind)
    for each in below:
        found |= kinds_of(each)
    return found


def _caller(frame: types.FrameType) -> types.FrameType:
    """Who has called Python's own code."""
    while _in_library(frame.f_code) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_pure(function: Any, frame: types.FrameType) -> bool:
    """Whether a function in C does nothing but return something made of its arguments."""
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None)
    name = function.__name__
    if module == "builtins" and name in _IMPURE_BUILTINS:
        return name == "next" and _in_library(frame.f_code)
    if isinstance(owner, Tensor | np.ndarray | np.generic | Module):
        return True
    if isinstance(owner, type):
        kinds = [each for each in owner.__mro__ if name in vars(each)]
        return bool(kinds) and kinds[0].__module__ in _PURE_MODULES
    if owner is not None and not isinstance(owner, _PURE_OWNERS):
        return _in_library(frame.f_code) and type(owner).__module__ in _PURE_MODULES
    if module == "sys":
        return not name.startswith("set")
    return module in _PURE_MODULES


@functools.cache
def _is_library(filename: str) -> bool:
    """Whether a file belongs to Python or NumPy."""
    if filename.startswith("<frozen"):
        return True
    path = os.path.realpath(filename)
    return path.startswith(_NUMPY) or (path.startswith(_LIBRARY) and "site-packages" not in path)


def _in_library(code: types.CodeType) -> bool:
    return _is_library(code.co_filename)


class Surroundings:
    """The places that a function can read, each with what was in it."""

    def __init__(self, codes: dict[types.CodeType, dict[str, Any]], *roots: Any) -> None:
        self.entries: list[tuple[Any, Any, Any]] = []  # a mapping, a key, what was there
        self.cells: list[tuple[Any, Any]] = []
        self.sequences: list[tuple[Any, tuple[Any, ...]]] = []
        self.functions: list[tuple[Any, Any, Any, Any]] = []  # with code and default arguments
        self.arrays: list[tuple[np.ndarray, bytes]] = []  # of NumPy's
        self._names = {name for code in codes for each in codes_in(code) for name in each.co_names}
        self.tensors: dict[int, Tensor] = {}  # by identity
        self.refusal: str | None = None
        self._drawn = _numpy_draws()
        self._seen: set[int] = set()
        self._kept: list[Any] = []
        waiting = list(roots)
        for code, names in codes.items():
            waiting.extend(self._globals(code, names))
        while waiting and self.refusal is None:
            waiting.extend(self._look(waiting.pop()))
            if len(self.entries) > LIMIT:
                self.refusal = "the function can reach too many objects"

    def _look(self, thing: Any) -> Iterator[Any]:
        """Note what is in an object, and yield what to look at next."""
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        self._kept.append(thing)
        if isinstance(thing, Tensor):
            yield from self._tensor(thing)
        elif isinstance(thing, types.MethodType):
            yield thing.__self__
            yield thing.__func__
        elif isinstance(thing, types.FunctionType):
            yield from self._function(thing)
        elif isinstance(thing, functools.partial):
            yield thing.func
            yield from (thing.args, thing.keywords)
        elif isinstance(thing, Module):
            yield from self._module(thing)
        elif isinstance(thing, list | tuple | set | collections.deque):
            self.sequences.append((thing, tuple(thing)))
            yield from thing
        elif isinstance(thing, dict):
            yield from self._mapping(thing)
        elif hasattr(thing, "__next__") and not isinstance(thing, type):
            self.refusal = f"the function can reach an iterator, {type(thing).__name__}"
        elif isinstance(thing, np.random.Generator | np.random.RandomState):
            self.refusal = "the function can reach a random generator of NumPy's"
        elif isinstance(thing, np.ndarray):
            self._array(thing)
        elif isinstance(thing, threading.local):
            self.refusal = "the function can reach values of a thread"
        elif isinstance(thing, type):
            yield from self._class(thing)
        elif not isinstance(thing, types.ModuleType):
            yield from self._object(thing)

    def _object(self, thing: Any) -> Iterator[Any]:
        """An object of a class of the user's, or what the user's code names of another."""
        attributes = getattr(thing, "__dict__", {})
        if isinstance(thing, types.SimpleNamespace | argparse.Namespace):
            yield from self._mapping(attributes)
        elif _is_users(type(thing)):
            yield type(thing)
            yield from self._mapping(attributes)
            if any(vars(each).get("__slots__") for each in type(thing).__mro__):
                self.refusal = "the function can reach an object with __slots__"
        elif isinstance(attributes, dict):
            for name in self._names & attributes.keys():
                self.entries.append((attributes, name, attributes[name]))
                yield attributes[name]

    def _array(self, array: np.ndarray) -> None:
        if array.nbytes > _LARGE or array.dtype.hasobject:
            self.refusal = "the function can reach a large array of NumPy's"
        else:
            self.arrays.append((array, array.tobytes()))

    def _tensor(self, tensor: Tensor) -> Iterator[Any]:
        """A tensor with its hooks; what code may know of it without an operator is guarded."""
        if getattr(tensor, "_array", None) is None:
            return
        self.tensors[id(tensor)] = tensor
        if vars(tensor):
            yield from self._mapping(vars(tensor))
        meta = tensor._autograd_meta
        if meta is not None:
            yield from (meta.hooks or {}).values()
            yield from (meta.post_accumulate_hooks or {}).values()

    def has_seen(self, thing: Any) -> bool:
        """Whether an object is among what the function can reach."""
        return id(thing) in self._seen

    def knows(self, tensor: Tensor) -> bool:
        """Whether a tensor is among what the function can reach."""
        return id(tensor) in self.tensors

    def _mapping(self, mapping: Any) -> Iterator[Any]:
        self.entries.extend([(mapping, key, value) for key, value in mapping.items()])
        self.sequences.append((mapping, tuple(mapping)))
        yield from mapping.values()

    def _class(self, cls: type) -> Iterator[Any]:
        """The attributes of a class of the user's, and its methods."""
        for each in cls.__mro__:
            if not _is_users(each):
                continue
            self.sequences.append((vars(each), tuple(vars(each))))
            for name, value in vars(each).items():
                if name not in _OF_CLASSES and not isinstance(value, _OF_PYTHON):
                    self.entries.append((vars(each), name, value))
                    yield getattr(value, "__func__", getattr(value, "fget", value))

    def _module(self, module: Module) -> Iterator[Any]:
        self.sequences.append((vars(module), tuple(vars(module))))
        for name, value in vars(module).items():
            self.entries.append((vars(module), name, value))
            if isinstance(value, dict):
                yield from self._mapping(value)
            else:
                yield value
        if _is_users(type(module)):
            yield type(module).forward
            yield type(module)

    def _function(self, function: Any) -> Iterator[Any]:
        if is_internal(function.__code__.co_filename) or _in_library(function.__code__):
            return
        for cell in function.__closure__ or ():
            try:
                self.cells.append((cell, cell.cell_contents))
            except ValueError:
                continue
            yield cell.cell_contents
        defaults = function.__defaults__, function.__kwdefaults__
        self.functions.append((function, function.__code__, *defaults))
        yield from function.__defaults__ or ()
        if function.__kwdefaults__:
            yield from self._mapping(function.__kwdefaults__)
        yield from self._globals(function.__code__, function.__globals__)

    def _globals(self, code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
        """The globals that a code object names, and what it names of modules of the user's."""
        if _in_library(code):
            return
        for each in codes_in(code):
            for name in each.co_names:
                if name not in names:
                    continue
                value = names[name]
                self.entries.append((names, name, value))
                yield value
                if isinstance(value, types.ModuleType) and _is_users(value):
                    members = vars(value)
                    for member in each.co_names:
                        if member in members:
                            self.entries.append((members, member, members[member]))
                            yield members[member]

    def has_drawn(self) -> bool:
        """Whether NumPy's common generator was used since."""
        return bool(self._drawn != _numpy_draws())

    def changed(self) -> str | None:
        """The name of something that is not what it was; None if all is."""
        for mapping, key, value in self.entries:
            found = mapping.get(key, _GONE)
            if found is not value and not same(found, value):
                return str(key)
        for cell, value in self.cells:
            try:
                found = cell.cell_contents
            except ValueError:
                found = _GONE
            if found is not value and not same(found, value):
                return "a variable of an enclosing function"
        for function, *parts in self.functions:
            now = [function.__code__, function.__defaults__, function.__kwdefaults__]
            if any(one is not other for one, other in zip(parts, now, strict=True)):
                return str(function.__name__)
        for array, content in self.arrays:
            if array.nbytes != len(content) or array.tobytes() != content:
                return "an array of NumPy's"
        for sequence, values in self.sequences:
            items = tuple(sequence)
            if len(items) != len(values) or not all(map(_is_same, items, values)):
                return f"a {type(sequence).__name__}"
        return None


class Arrays(Surroundings):
    """The same walk, for one question: can the function reach arrays of NumPy's?"""

    _found: str | None = None

    @property
    def refusal(self) -> str | None:
        return self._found

    @refusal.setter
    def refusal(self, reason: str | None) -> None:
        if reason is not None and ("NumPy" in reason or "too many" in reason):
            self._found = reason

    def found(self) -> str | None:
        """What was found."""
        return "the function can reach an array of NumPy's" if self.arrays else self._found


_GONE = object()


def _numpy_draws() -> Any:
    """How far NumPy's common generator is: its functions are not seen by a profile."""
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2:]


def _is_same(found: Any, value: Any) -> bool:
    return found is value or same(found, value)


def same(found: Any, value: Any) -> bool:
    """Whether two plain values are equal in every respect: 1 is not 1.0, nor -0.0 0.0."""
    if found.__class__ is not value.__class__ or not isinstance(value, PLAIN):
        return False
    return bool(found == value) and (value.__class__ is not float or repr(found) == repr(value))


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes_in(each)


def _is_users(kind: Any) -> bool:
    """Whether a class or module is neither taper's nor Python's nor NumPy's."""
    module = getattr(kind, "__module__", None) if isinstance(kind, type) else kind.__name__
    head = str(module).partition(".")[0]
    if head in ("taper", "torch", "numpy", "builtins", "torchvision", "functools", "ml_dtypes"):
        return False
    source = getattr(sys.modules.get(str(module)), "__file__", None)
    return source is None or not _is_library(source)
