"""Kernels that make their arrays on the device: copies of functions, in which `np` means it.

A kernel that was given arrays on the device runs as a copy whose global names are looked up once,
through `stand_in`: `np.empty` makes room on the device, an operator is its kernel, and functions of
the library are copies, too.  The functions themselves stay as they are and cost nothing.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays.foreign import two_devices
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.native import native
from taper.autograd.detours import original_of
from taper.gpu import state
from taper.gpu.array import CUDA, CudaArray, empty, empty_strided, to_device
from taper.gpu.dispatch import lent

_ROOMS = (
    "taper.arrays.",
    "taper.ops.",
    "taper.sampling.",
    "taper.opdef.operands",
    "taper.autograd.transforms",
)


def _isinstance(value: Any, kinds: Any) -> bool:
    """As `isinstance`, where `ndarray` means the device: the processor's arrays are some, too."""
    if isinstance(value, kinds):
        return True
    return isinstance(value, np.ndarray) and issubclass(CudaArray, kinds)


class _NumPy:
    """NumPy as kernels on the device see it: arrays that it makes are there."""

    ndarray = CudaArray

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        setattr(self, name, found)
        return found


def _shape(given: Any) -> tuple[int, ...]:
    if isinstance(given, int | np.integer):
        return (int(given),)
    return tuple([int(each) for each in given])


def _ordered(shape: tuple[int, ...], dtype: Any, order: str) -> Any:
    dtype = np.dtype(float if dtype is None else dtype)
    if order == "F" and len(shape) > 1:
        strides, step = [], dtype.itemsize
        for length in shape:
            strides.append(step)
            step *= length
        return empty_strided(shape, strides, dtype)
    return empty(shape, dtype)


def _new(filled: Any) -> Callable[..., Any]:
    def make(shape: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
        made = _ordered(_shape(shape), dtype, order)
        if filled is not None:
            made.fill(filled)
        return made

    return make


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    dtype = np.asanyarray(fill_value).dtype if dtype is None else dtype
    made = _ordered(_shape(shape), dtype, order)
    made[...] = fill_value
    return made


def _as_array(value: Any, dtype: Any = None, order: Any = None, copy: Any = None, **_: Any) -> Any:
    """What arrays are made of: one on the device, unless it is a single number."""
    if value.__class__ is CudaArray:
        made = value if dtype is None else value.astype(dtype, copy=False)
        if order == "C" and not made.flags.c_contiguous:
            return made.copy()
        return made.copy("K") if copy and made is value else made
    if isinstance(value, list | tuple) and any([each.__class__ is CudaArray for each in value]):
        made = np.stack([_as_array(each) for each in value])
        return made if dtype is None else made.astype(dtype, copy=False)
    made = np.array(value, dtype)
    return to_device(made) if made.ndim else made


def _array(value: Any, dtype: Any = None, copy: Any = True, order: Any = "K", **_: Any) -> Any:
    return _as_array(value, dtype, order, copy)


def _row_by_row(value: Any, dtype: Any = None, **_: Any) -> Any:
    made = _as_array(value, dtype)
    if not made.ndim:
        return made.reshape(1)
    return made if made.flags.c_contiguous else made.copy()


def _repeat(array: Any, repeats: Any, axis: Any = None) -> Any:
    """As `np.repeat`, which looks for the device in its first argument only."""
    if repeats.__class__ is CudaArray:
        repeats = repeats.tolist()
    return np.repeat(array, repeats, axis)


def _lent(name: str) -> Callable[..., Any]:
    def make(*args: Any, **options: Any) -> Any:
        options.pop("like", None)
        return lent(name, state.runtime.function("numpy", name), args, options)

    return make


def _uploaded(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def make(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        return tuple(map(to_device, found)) if isinstance(found, tuple) else to_device(found)

    return make


def _numpy() -> _NumPy:
    space: Any = _NumPy()
    space.empty, space.zeros, space.ones, space.full = _new(None), _new(0), _new(1), _full
    space.array, space.asarray, space.asanyarray = _array, _as_array, _as_array
    space.ascontiguousarray, space.repeat = _row_by_row, _repeat
    space.arange, space.eye, space.linspace = _lent("arange"), _lent("eye"), _lent("linspace")
    for name in ("tri", "indices", "triu_indices", "tril_indices", "identity", "fromiter"):
        setattr(space, name, _uploaded(name))
    return space


NUMPY = _numpy()
_worlds: dict[int, dict[str, Any]] = {}
_copies: dict[Any, Any] = {}

# Functions that are computed otherwise on the device, by what they stand for; and kernels of
# operators by the operators' names (see `ops`).
meanings: dict[Any, Any] = {}

# Functions of rooms above, by module and name: what makes of their copies what stands for them.
helpers: dict[tuple[str, str], Callable[[Any], Any]] = {}


def _is_ours(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    if module.startswith("torch"):  # under `taper run` classes have PyTorch's paths
        module = "taper" + module.removeprefix("torch")
    return module.startswith(_ROOMS)


def stand_in(value: Any) -> Any:
    """Return what stands for a global name on the device."""
    if value is np:
        return NUMPY
    if value is np.ndarray:
        return CudaArray
    if value is native and native is not None:
        return None
    try:
        meaning = meanings.get(value)
    except TypeError:  # not hashable
        return _container(value)
    if meaning is not None:
        return meaning
    kind = value.__class__
    if kind is types.FunctionType:
        entry = getattr(value, "op", None)
        if entry is not None:
            return _operator(entry)
        helper = helpers.get((value.__module__, value.__name__))
        if helper is not None:
            return helper(on_device(value))
        return on_device(value) if _is_ours(value) else value
    if kind is functools.partial:
        func = stand_in(value.func)
        if func is value.func:
            return value
        return functools.partial(func, *map(stand_in, value.args), **value.keywords)
    if kind is types.ModuleType and value.__name__.startswith(_ROOMS):
        return _Module(value)
    if isinstance(value, type) and _is_ours(value):
        return _class(value)
    return _container(value) if kind in (tuple, frozenset) else value


def _container(value: Any) -> Any:
    """Return a table of functions with their stand-ins; any other as it is."""
    kind = value.__class__
    if kind is dict:
        if all([isinstance(each, np.ndarray) for each in value.values()]):
            # What is kept there must not meet arrays of the processor's.
            return {key: to_device(each) if each.ndim else each for key, each in value.items()}
        made = {key: stand_in(each) for key, each in value.items()}
        return made if any([made[key] is not value[key] for key in value]) else value
    if kind is list or kind is tuple:
        parts = [stand_in(each) for each in value]
        same = all([one is other for one, other in zip(parts, value, strict=True)])
        return value if same else kind(parts)
    return value


def _class(kind: Any) -> Any:
    """Return a copy of a class of the library whose methods are copies, too."""
    found = _copies.get(kind)
    if found is not None:
        return found
    if issubclass(kind, Exception | np.ndarray | tuple) or kind.__class__ is not type:
        return kind
    members: dict[str, Any] = {}
    slots = vars(kind).get("__slots__", ())
    for name, value in vars(kind).items():
        if name in ("__dict__", "__weakref__") or name in slots:
            continue
        members[name] = value
    bases = tuple([_class(base) if _is_ours(base) else base for base in kind.__bases__])
    copy = _copies[kind] = type(kind.__name__, bases, members)
    for name, value in members.items():
        if isinstance(value, types.FunctionType):
            setattr(copy, name, on_device(value))
        elif isinstance(value, staticmethod | classmethod):
            setattr(copy, name, type(value)(on_device(value.__func__)))
        elif isinstance(value, property) and value.fget is not None:
            setattr(copy, name, property(on_device(value.fget)))
        elif isinstance(value, functools.cached_property):
            made = functools.cached_property(on_device(value.func))
            made.__set_name__(copy, name)
            setattr(copy, name, made)
    return copy


class _Module:
    """A module of the library whose names have stand-ins."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = stand_in(getattr(self._module, name))
        setattr(self, name, found)
        return found


class _DeviceOp:
    """An operator as functions on the device ask for it."""

    def __init__(self, entry: Any) -> None:
        self._entry = entry

    def __getattr__(self, name: str) -> Any:
        if name in ("kernel", "forward"):
            return kernel_of(self._entry)
        return getattr(self._entry, name)


def _operator(entry: Any) -> Callable[..., Any]:
    """An operator as formulas call it: its kernel on arrays, itself on tensors."""
    found = _copies.get(entry)
    if found is not None:
        return found
    function = entry.function

    kernel: Any = None

    def call(*args: Any, **options: Any) -> Any:
        nonlocal kernel
        if not is_there(args) and not (options and is_there(options.values())):
            return function(*args, **options)
        if kernel is None:
            kernel = kernel_of(entry)
        options = {("self" if name == "input" else name): each for name, each in options.items()}
        return entry.call(kernel, entry.arguments(args, options))

    call.op = _DeviceOp(entry)  # type: ignore[attr-defined]
    call.__name__ = function.__name__
    _copies[entry] = call
    return call


_kernels: dict[Any, Any] = {}

# What takes arrays from one device to another: results are where they are.
_ACROSS = frozenset(["_to_device", "to_device_self"])


def kernel_of(entry: Any) -> Callable[..., Any]:
    """The kernel of an operator for arrays on the device; results are laid out as the rule says."""
    found = _kernels.get(entry)
    if found is None and entry.name in _ACROSS:
        found = _kernels[entry] = entry.kernel
    if found is None:
        plain = _plain_kernel(entry)
        rule = None if entry.layout is None else on_device(entry.layout)
        own: Any = meanings.get(entry.name)

        def otherwise(*args: Any, **options: Any) -> Any:
            result = plain(*args, **options)
            if result.__class__ is not CudaArray:
                result = _there(result)
            return result if rule is None else rule(result, (*args, *options.values()))

        def first(*args: Any, **options: Any) -> Any:
            result = own(*args, **options)
            return otherwise(*args, **options) if result is NotImplemented else result

        found = _kernels[entry] = otherwise if own is None else first
    return found


def formula_of(function: Any) -> Callable[..., Any]:
    """A formula for arrays on the device."""
    if not isinstance(function, types.FunctionType) or function.__name__ in _ACROSS:
        return function  # a ufunc, with or without a layout
    own = meanings.get(function.__name__)
    copy = on_device(function)
    if own is None:

        def plain(*args: Any, **options: Any) -> Any:
            result = copy(*args, **options)
            return result if result.__class__ is CudaArray else _there(result)

        return plain

    def call(*args: Any, **options: Any) -> Any:
        result = own(*args, **options)
        return _there(copy(*args, **options)) if result is NotImplemented else result

    return call


def _plain_kernel(entry: Any) -> Callable[..., Any]:
    kernel = entry.kernel
    return on_device(kernel) if isinstance(kernel, types.FunctionType) else kernel


def _there(result: Any) -> Any:
    """Results of a kernel, all on the device."""
    if result.__class__ is CudaArray:
        return result
    if isinstance(result, tuple | list):
        return type(result)([_there(each) for each in result])
    return to_device(result) if isinstance(result, np.ndarray | np.generic) else result


def on_device(function: Any) -> Any:
    """Return a copy of a Python function whose global names mean the device."""
    function = original_of(function)
    copy = _copies.get(function)
    if copy is None:
        real = function.__globals__
        world = _worlds.get(id(real))
        if world is None:
            world = _worlds[id(real)] = {
                "__builtins__": real.get("__builtins__", __builtins__),
                "__name__": real.get("__name__"),
                "isinstance": _isinstance,
            }
        closure = function.__closure__ and tuple(map(_cell, function.__closure__))
        copy = types.FunctionType(
            function.__code__, world, function.__name__, function.__defaults__, closure
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__dict__.update(function.__dict__)
        _copies[function] = copy
        _fill(world, real, function.__code__)
    return copy


def copy_of(function: Any) -> Any:
    """Return the copy of a function, or None if nobody has needed one."""
    return _copies.get(function) or _copies.get(original_of(function))


def _cell(cell: Any) -> Any:
    """A variable of an outer function: functions in it have stand-ins, too."""
    try:
        value = cell.cell_contents
    except ValueError:  # empty
        return cell
    other = stand_in(value)
    return cell if other is value else types.CellType(other)


def _fill(world: dict[str, Any], real: dict[str, Any], code: types.CodeType) -> None:
    for name in code.co_names:
        if name in real and name not in world:
            world[name] = None  # a function may name itself
            world[name] = stand_in(real[name])
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            _fill(world, real, each)


def is_there(args: Any) -> bool:
    """Whether one of a kernel's arguments is on the device."""
    for each in args:
        kind = each.__class__
        if kind is CudaArray:
            return True
        if (kind is list or kind is tuple) and is_there(each):
            return True
    return False


# Parameters that may be on the processor, whatever the others are.
_ANYWHERE = ("lengths", "offsets", "batch_sizes")
_INDEXING = ("index", "index_put")  # and the indices of these operators


def _is_mixed(args: Any) -> bool:
    """Whether one of a kernel's arguments is an array of the processor's, and no single number."""
    for each in args:
        kind = each.__class__
        if kind is np.ndarray:
            if each.ndim:
                return True
        elif (kind is list or kind is tuple) and _is_mixed(each):
            return True
    return False


def _refuse_mixture(entry: Any, args: Any, options: Any) -> None:
    """Raise if a kernel was given arrays of both: it would read addresses of the device."""
    given = {**dict(zip([each.name for each in entry.params], args, strict=False)), **options}
    free = (*_ANYWHERE, "indices") if entry.name in _INDEXING else _ANYWHERE
    bound = [value for name, value in given.items() if name not in free]
    first = args[0] if args else None
    number = first.__class__ is np.ndarray and entry.layout is not ELEMENTWISE
    if number or not is_there(bound):
        raise two_devices("cpu", str(CUDA))
    if _is_mixed(bound):
        several = [each if isinstance(each, list | tuple) else (each,) for each in given.values()]
        arrays = [each for values in several for each in values if isinstance(each, np.ndarray)]
        CudaArray.place.refuse_mixture(arrays)


def refuse_writing(operator: str, target: Any, others: dict[str, Any]) -> None:
    """Raise if tensors of another device are to be written into one, but as single numbers."""
    free = ("indices",) if operator in _INDEXING else ()
    there = target._array.__class__ is CudaArray
    for name, value in others.items():
        if there and name in free:
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            array = getattr(each, "_array", None)
            if array is not None and array.ndim and (array.__class__ is CudaArray) is not there:
                raise two_devices(str(target.device), str(each.device))


def checked_write(run: Any, entry: Any, arguments: Any, *rest: Any) -> Any:
    """Write in place (`run_inplace`), unless the tensors are on two devices."""
    if entry.name != "copy":
        names = [each.name for each in entry.params]
        refuse_writing(entry.name, arguments[0], dict(zip(names[1:], arguments[1:], strict=False)))
    return run(entry, arguments, *rest)


def _checked_index_write(copy: Any) -> Any:
    def write(target: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
        refuse_writing("index_put", target, {"indices": indices, "values": values})
        return copy(target, indices, values, accumulate)

    return write


helpers["taper.ops.index.advanced", "write_index"] = _checked_index_write


def dispatching(host: Any, device: Callable[[], Any], entry: Any = None) -> Any:
    """Return a function that runs in the device's way if an argument is there.

    `entry` is the operator whose kernel it is, if it is one: then no other argument may be on the
    processor.
    """
    there: Any = None
    alike = entry is None or entry.name in _ACROSS

    def call(*args: Any, **options: Any) -> Any:
        nonlocal there
        if (
            (args and args[0].__class__ is CudaArray)
            or is_there(args)
            or (options and is_there(options.values()))
        ):
            if there is None:
                there = device()
            if not alike and (args[0].__class__ is not CudaArray or _is_mixed(args)):
                _refuse_mixture(entry, args, options)
            return there(*args, **options)
        return host(*args, **options)

    call.host = host  # type: ignore[attr-defined]
    return call


# --- functions of tensors ------------------------------------------------------------------------

_MAKERS = frozenset(
    "empty zeros ones full array asarray asanyarray ascontiguousarray arange eye linspace "
    "fromiter repeat tri indices".split()
)
_makes: dict[Any, bool] = {}


def makes_arrays(function: Any) -> bool:
    """Whether a function, or one that it calls, makes arrays, which must be on the device."""
    known = _makes.get(function)
    if known is None:
        _makes[function] = False
        code, real = function.__code__, function.__globals__
        known = _code_makes(code, real)
        _makes[function] = known
    return known


def _code_makes(code: types.CodeType, real: dict[str, Any]) -> bool:
    names = set(code.co_names)
    if "np" in names and names & _MAKERS:
        return True
    for name in names:
        value: Any = real.get(name)
        if value.__class__ is types.ModuleType and value.__name__.startswith(_ROOMS):
            return True  # who knows which of its functions
        if value.__class__ is types.FunctionType and _is_ours(value):
            while isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
                value = value.__dict__["__wrapped__"]
            if getattr(value, "op", None) is None and makes_arrays(original_of(value)):
                return True
        elif isinstance(value, type) and _is_ours(value) and not issubclass(value, Exception):
            methods = [
                each for each in vars(value).values() if isinstance(each, types.FunctionType)
            ]
            if any([makes_arrays(each) for each in methods]):
                return True
    return any(
        [_code_makes(each, real) for each in code.co_consts if isinstance(each, types.CodeType)]
    )


def rerouted(function: Any, is_meant: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    """Return a handler that runs a function as its copy, if its arguments are meant."""
    there: list[Any] = []

    def handler(run: Any, *args: Any, **options: Any) -> Any:
        if not is_meant(args, options):
            return run(*args, **options)
        if not there:
            there.append(meanings.get(function) or on_device(original_of(function)))
        return there[0](*args, **options)

    return handler
