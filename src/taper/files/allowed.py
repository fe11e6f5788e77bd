"""The names that a checkpoint may use, and what happens when it calls them.

`Allowed.find` gives the object of a name, `Allowed.call` the result of calling it.  For names of
plain data that is a function that checks its arguments, never the real one; for what the user
allowed (`safe_globals`) it is the object itself, except NumPy's, whose arguments are checked too.
"""

from __future__ import annotations

import codecs
import importlib
import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from taper import dtypes
from taper.device import (
    device,
    jagged,
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from taper.files import module_classes, numpy_values, plain_classes, rebuild
from taper.files.refusals import BLOCKED_MODULES, failed, never_executes, unsupported_global
from taper.files.safe_globals import allowed_names
from taper.nn.parameter import Parameter
from taper.ops.creation.legacy import TENSOR_TYPES
from taper.pickling import _rebuild_meta_tensor_no_storage
from taper.size import Size
from taper.storage import LEGACY, TypedStorage, UntypedStorage
from taper.tensor import Tensor

_LAYOUTS = {
    repr(each): each
    for each in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged)
}

Call = Callable[..., Any]
"""What stands for calling a name: a function of the pickle reader and of the arguments."""


def _get_layout(reader: Any, name: Any) -> layout:
    if type(name) is not str or name not in _LAYOUTS:
        raise failed(f"{_shown(name)} is no layout")
    return _LAYOUTS[name]


def _encode(reader: Any, text: Any, encoding: Any) -> bytes:
    # pickle writes bytes this way.  Other codecs may compress, or be the user's own.
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise failed("only text in latin1 may be encoded")
    reader.charge(len(text))
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise failed("only text in latin1 may be encoded") from None


def _bytearray(reader: Any, data: Any = b"", encoding: Any = None) -> bytearray:
    if encoding is not None:
        data = _encode(reader, data, encoding)
    if type(data) is not bytes:
        raise failed(f"a bytearray is made of bytes, not of {type(data)}")
    reader.charge(len(data))
    return bytearray(data)


def _complex(reader: Any, real: Any, imag: Any) -> complex:
    if type(real) not in (int, float) or type(imag) not in (int, float):
        raise failed("a complex number is made of two numbers")
    try:
        return complex(real, imag)
    except OverflowError:
        raise failed("a complex number is made of two numbers of usual size") from None


def _set(reader: Any, items: Any = ()) -> set[Any]:
    if type(items) not in (list, tuple):
        raise failed(f"a set is made of a list, not of {type(items)}")
    reader.charge(len(items))
    for each in items:
        reader.check_key(each)
    made: set[Any] = reader.insertions.into_set(items)
    return made


def _counter(reader: Any, counts: Any = None) -> Counter[Any]:
    made: Counter[Any] = Counter()
    if counts is not None:
        if type(counts) is not dict:
            raise failed(f"a Counter is made of a dict, not of {type(counts)}")
        reader.charge(len(counts))
        dict.update(made, counts)
    return made


def _ordered_dict(reader: Any, pairs: Any = ()) -> OrderedDict[Any, Any]:
    if type(pairs) not in (list, tuple):
        raise failed(f"an OrderedDict is made of a list of pairs, not of {type(pairs)}")
    reader.charge(len(pairs))
    made: OrderedDict[Any, Any] = OrderedDict()
    for pair in pairs:
        if type(pair) not in (list, tuple) or len(pair) != 2:
            raise failed("an OrderedDict is made of a list of pairs")
        reader.check_key(pair[0])
    reader.insertions.into_dict(made, [key for key, _ in pairs], [value for _, value in pairs])
    return made


def _size(reader: Any, lengths: Any = ()) -> Size:
    count = len(lengths) if isinstance(lengths, (list, tuple)) else 0
    reader.charge(count)
    return Size(rebuild.integers(lengths, "the lengths of a Size", most=count))


def _device(reader: Any, kind: Any, index: Any = None) -> device:
    if type(kind) is not str or len(kind) > 100 or not (index is None or type(index) is int):
        raise failed("a device is made of a name and an index")
    return device(kind, index)


def _tensor(reader: Any, storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    return rebuild.tensor(storage, offset, size, stride)


def _tensor_v2(reader: Any, *arguments: Any) -> Tensor:
    if not 6 <= len(arguments) <= 7:
        raise failed(f"_rebuild_tensor_v2() takes 6 or 7 arguments, not {len(arguments)}")
    if len(arguments) == 7 and arguments[6] is not None:
        reader.charge(arguments[0].nbytes() if isinstance(arguments[0], TypedStorage) else 0)
        if (
            type(arguments[6]) is dict
            and arguments[6].get("neg") is True
            and not reader.storages.are_filled
        ):
            raise NotImplementedError(
                "negative views in files of the old format are not provided: save them computed, "
                "with resolve_neg()"
            )
    return rebuild.tensor(*arguments)


def _tensor_v3(reader: Any, *arguments: Any) -> Tensor:
    if not 7 <= len(arguments) <= 8 or type(arguments[6]) is not dtypes.dtype:
        raise failed("_rebuild_tensor_v3() takes seven arguments, the last of them a dtype")
    if not isinstance(arguments[0], TypedStorage):
        raise failed(f"a tensor must lie on a storage, but got {type(arguments[0])}")
    if arguments[6] is dtypes.bool_ and arguments[0].dtype is not dtypes.bool_:
        # Storages of bool are checked when they are read; PyTorch never writes this.
        raise failed("a tensor of bool must lie on a storage of bool")
    return rebuild.tensor(*arguments[:6], *arguments[7:], dtype=arguments[6])


def _meta_tensor(reader: Any, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    if type(dtype) is not dtypes.dtype or type(requires_grad) is not bool:
        raise failed("a meta tensor is made of a dtype, a shape, strides and requires_grad")
    shape, strides = rebuild.integers(size, "sizes"), rebuild.integers(stride, "strides")
    if len(shape) != len(strides) or min((*shape, *strides), default=0) < 0:
        raise failed("the shape and strides of a meta tensor do not fit")
    return _rebuild_meta_tensor_no_storage(dtype, shape, strides, requires_grad)


def _parameter(reader: Any, data: Any, requires_grad: Any, hooks: Any) -> Parameter:
    return rebuild.parameter(data, requires_grad, hooks)


def _parameter_with_state(
    reader: Any, data: Any, requires_grad: Any, hooks: Any, state: Any
) -> Parameter:
    _charge_state(reader, state)
    return rebuild.parameter(data, requires_grad, hooks, state)


def _charge_state(reader: Any, state: Any) -> None:
    """Count the attributes that are set: a file may use one dict of them again and again."""
    for part in state if type(state) is tuple and len(state) == 2 else (state,):
        reader.charge(len(part) if isinstance(part, dict) else 0)


def _from_type(reader: Any, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    if kind is not Tensor and kind is not Parameter and not reader.allowed.by_user(kind):
        raise failed(f"a tensor cannot be rebuilt as {_shown(kind)}")
    if not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise failed(f"{_shown(kind)} is no class of tensors")
    _charge_state(reader, state)
    return rebuild.of_type(reader.allowed.call(reader, function, arguments), kind, state)


def _sparse(reader: Any, kind: Any, parts: Any) -> Tensor:
    """Make a sparse tensor; the indices of a file are checked, like PyTorch's."""
    count = 1 if kind is sparse_coo else 2
    if kind not in _LAYOUTS.values() or kind in (strided, jagged) or type(parts) is not tuple:
        raise failed("a sparse tensor is made of a layout and a tuple of parts")
    if not count + 2 <= len(parts) <= count + 3:
        raise failed(f"a sparse tensor has {count + 2} parts, not {len(parts)}")
    for each in parts[: count + 1]:
        if type(each) is not Tensor:
            raise failed("the parts of a sparse tensor are dense tensors")
    if type(parts[count + 1]) is not Size:
        raise failed("a sparse tensor has a shape")
    # late: few files hold sparse tensors
    loaded: Tensor = importlib.import_module("taper.ops.sparse.loading").loaded(
        kind, parts, reader.storages.are_filled
    )
    return loaded


def _not_provided(what: str) -> Call:
    def refuse(reader: Any, *arguments: Any) -> Any:
        raise NotImplementedError(f"{what} are not provided: save the dense tensor instead")

    return refuse


_BUILTIN: dict[str, tuple[Any, Call]] = {
    "_codecs.encode": (codecs.encode, _encode),
    "builtins.bytearray": (bytearray, _bytearray),
    "builtins.complex": (complex, _complex),
    "builtins.set": (set, _set),
    "collections.Counter": (Counter, _counter),
    "collections.OrderedDict": (OrderedDict, _ordered_dict),
    "torch.Size": (Size, _size),
    "torch.device": (device, _device),
}

_FUNCTIONS: dict[str, Call] = {
    "torch.serialization._get_layout": _get_layout,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor_v2,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_qtensor": _not_provided("quantized tensors"),
    "torch._utils._rebuild_nested_tensor": _not_provided("nested tensors"),
    "torch._utils._rebuild_meta_tensor_no_storage": _meta_tensor,
    "torch._utils._rebuild_wrapper_subclass": _not_provided("wrapper subclasses of Tensor"),
    "torch._utils._rebuild_device_tensor_from_numpy": _not_provided("tensors of other devices"),
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _not_provided(
        "tensors of other devices"
    ),
}

_VALUES: dict[str, Any] = {
    "torch.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    **{f"torch.{each.name}": each for each in dtypes.FROM_NUMPY.values()},
    **{f"torch.{name}": kind for name, kind in LEGACY.items()},
    **{f"torch.cuda.{name}": kind for name, kind in LEGACY.items()},
    **{f"torch.{name}": kind for name, kind in TENSOR_TYPES.items()},
}

_GLOBALS = {
    **_VALUES,
    **_FUNCTIONS,
    **{name: value for name, (value, _) in _BUILTIN.items()},
}
_CALLS: dict[Any, Call] = {
    **{call: call for call in _FUNCTIONS.values()},
    **{value: call for value, call in _BUILTIN.values()},
}

# PyTorch allows these names of element types and tensors that taper does not have.
_UNPROVIDED = re.compile(
    r"torch\.(?:float4_\w+|bits\d\w*|qu?int\w+|Q\w+Storage|complex32|u?int[1-7]|"
    r"(?:cuda\.)?sparse\.\w+Tensor|cuda\.\w+(?:Tensor|Storage)|per_(?:tensor|channel)_\w+)"
)


def _constraint(name: str) -> Any:
    """Return a class of constraints: its objects hold numbers, and none of them runs code."""
    # late: most files name none
    from taper.distributions import constraints

    path, _, last = name.rpartition(".")
    kind = getattr(constraints, last, None) if path == "torch.distributions.constraints" else None
    return kind if isinstance(kind, type) and issubclass(kind, constraints.Constraint) else None


class Allowed:
    """What one load may name: plain data, and `names` or what the user allowed when it began.

    Without `weights_only` also classes of plain data of the standard library and of NumPy, the
    modules of `nn`, and the constraints of `distributions`.
    """

    def __init__(self, weights_only: bool = True, names: dict[str, Any] | None = None) -> None:
        self._user = dict(allowed_names() if names is None else names)
        self._weights_only = weights_only
        self._plain_calls: dict[Any, Call] = {}
        if not weights_only:
            theirs = {id(each) for each in self._user.values()}
            self._plain_calls = {
                kind: call for kind, call in plain_classes.CALLS.items() if id(kind) not in theirs
            }
            self._user = {**plain_classes.NAMES, **self._user}
        self._user_ids = {id(each) for each in self._user.values()}

    def find(self, name: str) -> Any:
        """Return the object of a dotted name; the user cannot allow names of the system."""
        if name.rpartition(".")[0] in BLOCKED_MODULES:
            raise unsupported_global(name)
        if name in _GLOBALS:
            return _GLOBALS[name]
        if name in self._user:
            return self._user[name]
        if not self._weights_only and name in module_classes.names():
            return module_classes.names()[name]
        if _UNPROVIDED.fullmatch(name):
            raise NotImplementedError(
                f"{name} is not provided: convert the tensor to a dtype and layout of taper "
                "before saving it"
            )
        if self._weights_only:
            raise unsupported_global(name)
        kind = _constraint(name)
        if kind is None:
            raise never_executes(name)
        self._user[name] = kind
        self._user_ids.add(id(kind))
        return kind

    def knows(self, name: str) -> bool:
        """Return whether a file may use a dotted name."""
        return name in _GLOBALS or name in self._user

    def by_user(self, value: Any) -> bool:
        """Return whether the user allowed this very object."""
        return id(value) in self._user_ids

    def call(self, reader: Any, function: Any, arguments: Any) -> Any:
        """Do what stands for `function(*arguments)`."""
        if type(arguments) is not tuple:
            raise failed(f"arguments must be a tuple, but got {type(arguments)}")
        call = self._call_for(function)
        if call is None:
            return function(*arguments)
        return _made(function, call, reader, arguments)

    def _call_for(self, function: Any) -> Call | None:
        """Return what stands for calling `function`; None if the user allowed the call itself."""
        # Only these have a cheap hash: a nested tuple of the file may not.
        if isinstance(function, (type, FunctionType, BuiltinFunctionType)):
            call = _CALLS.get(function)
            if call is None and self.by_user(function):
                call = numpy_values.CALLS.get(function) or self._plain_calls.get(function)
            if call is not None:
                return call
        is_array = isinstance(function, type) and numpy_values.is_ours(function)
        if is_array or not self.by_user(function):
            raise failed(f"Trying to call reduce for unrecognized function {_shown(function)}")
        return None

    def new(self, reader: Any, kind: Any, arguments: Any) -> Any:
        """Do what stands for `kind.__new__(kind, *arguments)`."""
        if type(arguments) is not tuple:
            raise failed(f"arguments must be a tuple, but got {type(arguments)}")
        if kind is OrderedDict and not arguments:
            return OrderedDict()
        if isinstance(kind, type) and self.by_user(kind) and not numpy_values.is_ours(kind):
            call = self._plain_calls.get(kind)
            if call is not None:
                return _made(kind, call, reader, arguments)
            return kind.__new__(kind, *arguments)
        if not self._weights_only and module_classes.makes(kind):
            return module_classes.new(kind, arguments)
        raise failed(f"Trying to create new object for unrecognized class {_shown(kind)}")

    def build(self, reader: Any, instance: Any, state: Any) -> None:
        """Do what stands for setting the state of an object."""
        kind = type(instance)
        _charge_state(reader, state)
        if kind is OrderedDict:
            rebuild.set_attributes(instance, state)
        elif numpy_values.sets_state_of(instance, self.by_user):
            numpy_values.set_state(reader, instance, state)
        elif self.by_user(kind):
            if hasattr(instance, "__setstate__"):
                instance.__setstate__(state)
            else:
                rebuild.set_attributes(instance, state)
        elif not self._weights_only and module_classes.makes(kind):
            module_classes.set_state(instance, state, self.by_user)
        else:
            raise failed(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {kind}"
            )


def _made(function: Any, call: Call, reader: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the result of `call` for arguments that may be anything."""
    try:
        return call(reader, *arguments)
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise failed(f"{function.__name__}: {str(error)[:200]}") from None


def _shown(value: Any) -> str:
    """Return a short text about a value of the file, which may be large."""
    return repr(value) if isinstance(value, (int, type, FunctionType)) else str(type(value))
