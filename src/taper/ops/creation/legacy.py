"""The old constructors: `Tensor(...)`, `FloatTensor(...)`, `Tensor.new(...)`, and subclasses.

An integer argument is a size and gives uninitialised memory, a sequence is data. Inside the package
nobody calls `Tensor(...)`: `tensor.wrap` is faster, as it has no arguments to look at.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import numpy as np

from taper import dtypes
from taper.arrays.memory import adopt
from taper.arrays.scalars import type_name
from taper.arrays.strides import empty_with, integers, row_major
from taper.autograd.overrides import dispatches, watch
from taper.autograd.tensor_api import set_leaf_flag
from taper.autograd.views import alias as same_memory
from taper.autograd.views import requires_grad
from taper.device import CPU, strided
from taper.device import device as as_device
from taper.factory import NO_INTEGER_GRADIENTS, allocate, finish, is_integer
from taper.opdef import composite
from taper.ops.creation.copy import to
from taper.ops.creation.nested_data import is_sequence, read
from taper.ops.shape.reshape import alias
from taper.size import Size
from taper.storage import TypedStorage, UntypedStorage, tensor_on
from taper.tensor import Tensor
from taper.userwarning import warn_once

_T = TypeVar("_T")


def _options(which: dtypes.dtype, where: as_device) -> str:
    names = {dtypes.float32: "float", dtypes.float64: "double", dtypes.int64: "long int"}
    return (
        f"TensorOptions(dtype={names.get(which, which.name)}, device={where}, layout=Strided, "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


def _from_sequence(data: Any, which: dtypes.dtype, where: as_device) -> Tensor:
    if isinstance(data, np.ndarray):
        dtypes.of_array(data)
        if data.dtype == which.numpy:
            return finish(adopt(data), where=where)
        return finish(to(finish(adopt(data)), which)._array, where=where)
    if not isinstance(data, str) and not is_sequence(data):
        raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
    return finish(read(data, which), where=where)


def construct(
    arguments: tuple[Any, ...],
    which: dtypes.dtype | None,
    size: Any = None,
    device: Any = None,
    where: as_device = CPU,
) -> Tensor:
    """Make what the old constructors return; `which` is None for `Tensor`, which keeps dtypes."""
    if device is not None and as_device(device).type != where.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {where.type} but device type: "
            f"{as_device(device).type} was passed"
        )
    dtype = dtypes.default.float if which is None else which
    if size is not None:
        arguments = tuple(size)
    elif not arguments:
        return finish(allocate((0,), dtype.numpy, None, where))
    elif len(arguments) == 1 and not is_integer(arguments[0]):
        return _from_one(arguments[0], which, dtype, where)
    elif len(arguments) == 1 and isinstance(arguments[0], Tensor):
        return _from_one(arguments[0], which, dtype, where)
    return finish(allocate(integers("new", "size", arguments, 1), dtype.numpy, None, where))


def _from_one(
    value: Any, which: dtypes.dtype | None, dtype: dtypes.dtype, where: as_device
) -> Tensor:
    if isinstance(value, Tensor):
        if which is not None and (value.dtype is not which or value.device != where):
            raise TypeError(
                f"expected {_options(which, where)} (got {_options(value.dtype, value.device)})"
            )
        return alias(value) if value.requires_grad else same_memory(value)
    if isinstance(value, Size):
        return finish(allocate(tuple(value), dtype.numpy, None, where))
    if isinstance(value, (UntypedStorage, TypedStorage)):
        return tensor_on(value, dtype, 0, (value.nbytes() // dtype.itemsize,), (1,))
    return _from_sequence(value, dtype, where)


def _new(cls: type[Tensor], *arguments: Any, size: Any = None, device: Any = None) -> Tensor:
    """Make a tensor of data (a sequence, array or tensor) or uninitialised with given sizes.

    >>> import taper
    >>> taper.Tensor([1, 2])
    tensor([1., 2.])
    """
    made = construct(arguments, None, size, device)
    if cls is not Tensor:
        made.__class__ = cls
        watch(made)
    return made


_new.__name__ = _new.__qualname__ = "new"
Tensor.__new__ = staticmethod(_new)  # type: ignore[assignment,method-assign]


@composite(public=False)
def new(input: Tensor, *arguments: Any, size: Any = None, device: Any = None) -> Tensor:
    """Make a tensor of this tensor's dtype, by the rules of the old constructors.

    >>> import taper
    >>> taper.tensor([1]).new([2.5, 3.5])
    tensor([2, 3])
    """
    return construct(arguments, input.dtype, size, device, input.device)


# --- subclasses ------------------------------------------------------------------------------


def _check_subclass(cls: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(f"Creating a Tensor subclass from a class that does not inherit: {cls}")


@composite(public=False)
def as_subclass(input: Tensor, cls: type[_T]) -> _T:
    """Return the same tensor, with its history, as an object of a subclass.

    >>> import taper
    >>> class Marked(taper.Tensor):
    ...     pass
    >>> taper.ones(2).as_subclass(Marked)
    Marked([1., 1.])
    """
    _check_subclass(cls)
    made: Any = alias(input) if requires_grad(input) else same_memory(input)
    made.__class__ = cls
    watch(made)
    return made


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """Make a leaf of a subclass on the memory of a tensor."""
    _check_subclass(cls)
    made = same_memory(data)
    made.__class__ = cls
    watch(made)
    if require_grad:
        set_leaf_flag(made, True, NO_INTEGER_GRADIENTS)
    return made


Tensor._make_subclass = staticmethod(_make_subclass)


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: Any = None,
) -> Any:
    """Make a tensor of a shape and dtype whose class does the work of operators.

    Its elements mean nothing: what it stands for are attributes that the class gives it.
    """
    _check_subclass(cls)
    if not dispatches(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    which = dtypes.default.float if dtype is None else dtype
    shape = tuple(int(each) for each in size)
    steps = row_major(shape) if strides is None else tuple(int(each) for each in strides)
    made: Any = finish(empty_with(shape, steps, which.numpy))
    made.__class__ = cls
    watch(made)
    if requires_grad:
        set_leaf_flag(made, True, NO_INTEGER_GRADIENTS)
    return made


Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)


# --- one class for each dtype ----------------------------------------------------------------


class tensortype(type):
    """Makes tensors of one dtype: the class of `FloatTensor` and the like, which have no instances.

    `isinstance(x, FloatTensor)` asks for the dtype.

    >>> import taper
    >>> taper.LongTensor([1, 2]), isinstance(taper.ones(2), taper.DoubleTensor)
    (tensor([1, 2]), False)
    """

    dtype: dtypes.dtype
    layout = strided
    is_cuda = False
    is_sparse = False

    def __call__(cls, *arguments: Any, size: Any = None, device: Any = None) -> Any:
        return construct(arguments, cls.dtype, size, device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __getattr__(cls, name: str) -> Any:
        try:
            return getattr(Tensor, name)
        except AttributeError:
            raise AttributeError(
                f"type object 'torch.{cls.__name__}' has no attribute '{name}'"
            ) from None

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _refuse_base(cls: type) -> NoReturn:
    raise TypeError(f"type 'torch.{cls.__mro__[1].__name__}' is not an acceptable base type")


TENSOR_TYPES: dict[str, tensortype] = {}
"""`FloatTensor`, `LongTensor` ...: under their names in the `torch` namespace."""

_DOC = """Makes tensors of {which!r} as `Tensor(...)` does.

    >>> import taper
    >>> taper.{name}([1, 0]).dtype
    {which!r}
    """

for _which in dtypes.COMPUTED:
    if not _which.is_complex and _which not in (dtypes.uint16, dtypes.uint32, dtypes.uint64):
        _name = f"{_which.scalar_type}Tensor"
        _members = {
            "dtype": _which,
            "__module__": "taper",
            "__doc__": _DOC.format(which=_which, name=_name),
            "__init_subclass__": classmethod(_refuse_base),
        }
        TENSOR_TYPES[_name] = tensortype(_name, (), _members)


def set_default_tensor_type(t: Any, /) -> None:
    """Make the dtype of a class such as `DoubleTensor` the default; use `set_default_dtype`.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.set_default_tensor_type(taper.DoubleTensor)
    >>> taper.ones(1).dtype == taper.double
    True
    >>> taper.set_default_tensor_type(taper.FloatTensor)
    """
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    from_name = t.removeprefix("torch.") if isinstance(t, str) else ""
    found = TENSOR_TYPES.get(from_name, t)
    if not isinstance(found, tensortype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    dtypes.set_default_dtype(found.dtype)
