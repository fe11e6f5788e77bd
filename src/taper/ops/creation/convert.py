"""Tensors as Python values, NumPy arrays and text: the methods that leave the world of tensors.

Also what a tensor can be asked about itself: its category, its storage, where it lies.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from taper import dtypes
from taper.arrays.foreign import ForeignArray, not_numpy
from taper.arrays.memory import adopt
from taper.arrays.scalars import element, stored
from taper.arrays.strides import overlaps
from taper.autograd.conjugate import NEGATIVE
from taper.autograd.state import NO_GRAD, PACKAGE, local
from taper.autograd.tangents import tangent
from taper.autograd.transforms import shown
from taper.autograd.views import requires_grad
from taper.factory import number, refuse, tensor_argument
from taper.gpu.state import device_count, is_pinned_array, start
from taper.opdef import composite
from taper.printing import format_scalar, tensor_repr
from taper.storage import (
    TypedStorage,
    UntypedStorage,
    is_shared,
    shared_copy,
    storage_of,
    typed_storage_of,
)
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_once

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# --- Python numbers --------------------------------------------------------------------------


@composite(public=False)
def item(input: Tensor) -> bool | int | float:
    """Return the only element as a Python number.

    Returns: a bool, int, float or complex; a tensor with more or fewer elements is an error.

    Example:
        >>> import taper
        >>> taper.tensor([[2.5]]).item()
        2.5
    """
    array = input._array
    if array.size != 1:
        raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
    return array.item()


@composite(public=False)
def tolist(input: Tensor) -> list[Any]:
    """Return the elements as nested lists of Python numbers.

    Returns: a list for each dimension; a plain number for a 0-d tensor.

    Example:
        >>> import taper
        >>> taper.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
    """
    return input._array.tolist()


def _only_element(tensor: Tensor) -> Any:
    array = tensor._array
    if array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return array.item()


def _warn_if_cut(tensor: Tensor) -> None:
    if tensor._requires_grad and not local.state.mode & NO_GRAD and requires_grad(tensor):
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first."
        )


@composite(public=False, name="__float__")
def to_float(self: Tensor) -> float:
    value = _only_element(self)
    _warn_if_cut(self)
    if type(value) is complex:
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    return float(value)


@composite(public=False, name="__complex__")
def to_complex(self: Tensor) -> complex:
    value = _only_element(self)
    _warn_if_cut(self)
    return complex(value)


@composite(public=False, name="__int__")
def to_int(self: Tensor) -> int:
    value = _only_element(self)
    if type(value) is complex:
        if value.imag:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        value = value.real
    if type(value) is int and value >= 2**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(value)


@composite(public=False, name="__index__")
def to_index(self: Tensor) -> int:
    array = self._array
    if array.size != 1 or array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(array.item())


@composite(public=False, name="__bool__")
def to_bool(self: Tensor) -> bool:
    array = self._array
    if array.size != 1:
        many = "no values" if array.size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(array.item())


@composite(name="is_nonzero")
def is_nonzero(input: Tensor) -> bool:
    """Tell whether the only element is not zero.

    >>> import taper
    >>> taper.is_nonzero(taper.tensor([0.0]))
    False
    """
    tensor_argument("is_nonzero", "input", input)
    return to_bool(input)


@composite(public=False, name="__contains__")
def contains(self: Tensor, value: Any) -> bool:
    if not isinstance(value, (Tensor, bool, int, float, complex, np.number)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(value)}."
        )
    equal: Any = self == value
    return bool(equal.any())


@composite(public=False, name="__reversed__")
def backwards(self: Tensor) -> Tensor:
    return self.flip(0) if self._array.ndim else self


# --- NumPy -----------------------------------------------------------------------------------


@composite(public=False)
def numpy(input: Tensor, *, force: bool = False) -> np.ndarray:
    """Return the elements as a NumPy array that shares the tensor's memory.

    Args:
        force: also accept a tensor that requires a gradient; its history is left behind.

    Returns: an array of the same shape and dtype; bfloat16, which NumPy lacks, is an error.

    Example:
        >>> import taper
        >>> taper.tensor([1, 2]).numpy()
        array([1, 2])
    """
    if not force and input._requires_grad and requires_grad(input):
        if not local.state.mode & NO_GRAD:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
    if not force and input._change is not None:
        which = ("negative", "neg") if input._change is NEGATIVE else ("conjugate", "conj")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {which[0]} bit set. Use "
            f"tensor.resolve_{which[1]}().numpy() instead."
        )
    array = input._array
    if isinstance(array, ForeignArray):
        if not force:
            raise TypeError(not_numpy(array))
        array = array.place.to_ndarray(array)
    if array.dtype is dtypes.bfloat16.numpy:
        raise TypeError("Got unsupported ScalarType BFloat16")
    # A new object: the user may give an array another shape in place.
    return array.view()


@composite(public=False, name="__array__")
def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = numpy(self)
    if copy is False and dtype is not None and np.dtype(dtype) != array.dtype:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if dtype is not None:
        return array.astype(dtype, copy=bool(copy))
    return array.copy() if copy else array


@composite(public=False, name="__array_wrap__")
def wrap_array(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    # In PyTorch, NumPy's comparisons give bytes.
    array = np.asarray(array)
    return wrap(adopt(array.astype(np.uint8) if array.dtype.kind == "b" else array))


# --- text ------------------------------------------------------------------------------------


def _node_name(tensor: Tensor) -> str | None:
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return "Invalid"  # a view whose history cannot be made again (§V12)
    if node is None:
        return None
    name = type(node).__name__
    return node.name().rpartition("::")[2] if name == "CppFunction" else name


@composite(public=False, name="__repr__")
def representation(self: Tensor, *, tensor_contents: str | None = None) -> str:
    if local.state.transforms:
        return shown(self, lambda each, history: _text(each, tensor_contents, history))
    return _text(self, tensor_contents, True)


def _text(self: Tensor, tensor_contents: str | None, history: bool) -> str:
    name = _node_name(self) if history else None
    kind = self.__class__
    # A Parameter is announced in a line of its own and then shown as a tensor.
    ours = kind is Tensor or kind.__module__.startswith((f"{PACKAGE}.nn.", "torch.nn."))
    found = tangent(self) if history else None
    array = self._array
    if isinstance(array, ForeignArray) and not self.is_meta:
        array = array.place.to_ndarray(array)
    return tensor_repr(
        array,
        requires_grad=history and name is None and requires_grad(self),
        grad_fn_name=name,
        tangent=None if found is None else f"{found}",
        name="tensor" if ours else kind.__name__,
        contents=tensor_contents,
        device=self.device,
    )


@composite(public=False, name="__format__")
def formatted(self: Tensor, format_spec: str) -> str:
    if self._array.ndim == 0 and self.__class__ is Tensor and not self.is_meta:  # conjugates, too
        return format_scalar(self._array, format_spec)
    return object.__format__(self, format_spec)


_HIDDEN = frozenset({"volatile", "__cuda_array_interface__"})


@composite(public=False, name="__dir__")
def names(self: Tensor) -> list[str]:
    return sorted({*object.__dir__(self)} - _HIDDEN)


# --- element by element in Python ------------------------------------------------------------


def _write_each(
    function: str, target: Tensor, others: tuple[Any, ...], callable: Callable[..., Any]
) -> Tensor:
    _refuse_history(function, target, *others)
    array, which = target._array, target.dtype
    arrays = [_expanded(each._array, array.shape) for each in others]
    if overlaps(array.shape, array.strides):  # what is written is read again
        for place in np.ndindex(array.shape):
            values = [each[place].item() for each in (array, *arrays)]
            array[place] = stored(element(callable(*values), which), which)
        return target
    flat = [each.ravel().tolist() for each in (array, *arrays)]
    results = [element(callable(*values), which) for values in zip(*flat, strict=True)]
    array[...] = stored(results, which).reshape(array.shape)
    return target


def _expanded(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise _cannot_expand(array.shape, shape) from None


def _cannot_expand(shape: tuple[int, ...], wanted: tuple[int, ...]) -> RuntimeError:
    for dim in reversed(range(len(wanted))):
        own = dim - len(wanted) + len(shape)
        if own >= 0 and shape[own] not in (1, wanted[dim]):
            return RuntimeError(
                f"The expanded size of the tensor ({wanted[dim]}) must match the existing size "
                f"({shape[own]}) at non-singleton dimension {dim}.  Target sizes: {list(wanted)}."
                f"  Tensor sizes: {list(shape)}"
            )
    return RuntimeError(
        f"The number of sizes provided ({len(wanted)}) must be greater or equal to the number of "
        f"dimensions in the tensor ({len(shape)})"
    )


def _refuse_history(function: str, *tensors: Tensor) -> None:
    if any(map(requires_grad, tensors)):
        raise RuntimeError(
            f"Can't call {function}() on Variable that requires grad. Use "
            f"var.detach().{function}() instead."
        )


def _same_type(function: str, name: str, position: int, target: Tensor, other: Any) -> None:
    if not isinstance(other, Tensor):
        refuse(function, name, position, "Tensor", other)
    _refuse_history(function, target, other)
    if other.dtype is not target.dtype:
        raise TypeError(
            f"{function}: expected {dtypes.type_name(target.dtype)} for '{name}' (got "
            f"{dtypes.type_name(other.dtype)})"
        )


@composite(public=False)
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a Python function returns for it; slow.

    >>> import taper
    >>> taper.tensor([1, 2]).apply_(lambda value: value * 10)
    tensor([10, 20])
    """
    return _write_each("apply_", input, (), callable)


@composite(public=False)
def map_(input: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a Python function returns for it and its partner; slow.

    >>> import taper
    >>> taper.tensor([1, 2]).map_(taper.tensor([3, 4]), max)
    tensor([3, 4])
    """
    _same_type("map_", "other", 1, input, other)
    return _write_each("map_", input, (other,), callable)


@composite(public=False)
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by what a Python function returns for it and two partners; slow.

    >>> import taper
    >>> taper.tensor([1]).map2_(taper.tensor([3]), taper.tensor([4]), max)
    tensor([4])
    """
    _same_type("map2_", "x", 1, input, x)
    _same_type("map2_", "y", 2, input, y)
    return _write_each("map2_", input, (x, y), callable)


# --- storages --------------------------------------------------------------------------------


@composite(public=False)
def untyped_storage(input: Tensor) -> UntypedStorage:
    """Return the memory that the tensor and its views look at, as bytes.

    >>> import taper
    >>> taper.zeros(4)[2:].untyped_storage().nbytes()
    16
    """
    return storage_of(input)


@composite(public=False)
def storage(input: Tensor) -> TypedStorage:
    """Return the memory that the tensor and its views look at, as elements; deprecated."""
    return typed_storage_of(input)


@composite(public=False, name="is_shared")
def is_shared_memory(input: Tensor) -> bool:
    """Tell whether other processes see the same memory, or can be shown it.

    >>> import taper
    >>> taper.ones(2).is_shared()
    False
    """
    return is_shared(input._array)


@composite(public=False)
def share_memory_(input: Tensor) -> Tensor:
    """Move the elements into memory that other processes can see.

    Processes that are forked from now on see it, and those that get the tensor as an argument or
    through a queue of multiprocessing.

    Differs from PyTorch: views and other tensors made before stay on the old memory.

    >>> import taper
    >>> taper.ones(2).share_memory_().is_shared()
    True
    """
    if isinstance(input._array, ForeignArray):
        raise RuntimeError("_share_fd_: only available on CPU")
    if not is_shared(input._array):
        input._array = shared_copy(input._array)
    # late: multiprocessing loads with the first tensor that is shared
    importlib.import_module("taper.multiprocessing.pickling").register(type(input))
    return input


@composite(public=False)
def is_pinned(input: Tensor, device: Any = None) -> bool:
    """Tell whether the elements are in memory that a GPU can copy from by itself.

    >>> import taper
    >>> taper.ones(2).is_pinned()
    False
    """
    return type(input._array) is np.ndarray and is_pinned_array(input._array)


@composite(public=False)
def pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Copy into memory that a GPU can copy from by itself.

    Args:
        device: the accelerator.

    Returns: a tensor on the CPU; without a GPU PyTorch's error.

    Example:
        >>> import taper
        >>> taper.ones(2).pin_memory()  # doctest: +SKIP
        tensor([1., 1.])
    """
    if isinstance(input._array, ForeignArray):
        kind = f"{input.device.type.capitalize()}{input.dtype.scalar_type}"
        raise RuntimeError(f"cannot pin '{kind}Type' only dense CPU tensors can be pinned")
    if not device_count():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if is_pinned(input):
        return input
    return wrap(start().pinned(input._array))


# --- questions -------------------------------------------------------------------------------


@composite(method=False)
def is_tensor(obj: object, /) -> TypeIs[Tensor]:
    """Tell whether an object is a Tensor.

    Args:
        obj: any object.

    Returns: True or False.

    Example:
        >>> import taper
        >>> taper.is_tensor(taper.ones(2)), taper.is_tensor([1.0])
        (True, False)
    """
    return isinstance(obj, Tensor)


@composite(method=False)
def is_storage(obj: Any, /) -> bool:
    """Tell whether an object is a storage.

    >>> import taper
    >>> taper.is_storage(taper.ones(2).untyped_storage())
    True
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))


def _category(function: str, input: Any) -> dtypes.dtype:
    return dtypes.FROM_NUMPY[tensor_argument(function, "input", input).dtype]


@composite()
def is_floating_point(input: Tensor) -> bool:
    """Tell whether the elements are floating point numbers.

    >>> import taper
    >>> taper.is_floating_point(taper.ones(2))
    True
    """
    return _category("is_floating_point", input).is_floating_point


@composite()
def is_complex(input: Tensor) -> bool:
    """Tell whether the elements are complex numbers.

    >>> import taper
    >>> taper.is_complex(taper.tensor([1j]))
    True
    """
    return _category("is_complex", input).is_complex


@composite()
def is_signed(input: Tensor) -> bool:
    """Tell whether the dtype has negative numbers.

    >>> import taper
    >>> taper.is_signed(taper.tensor([1], dtype=taper.uint8))
    False
    """
    return _category("is_signed", input).is_signed


@composite(method=False)
def is_inference(input: Tensor) -> bool:
    """Tell whether a tensor was made in inference mode.

    >>> import taper
    >>> taper.is_inference(taper.ones(2))
    False
    """
    tensor_argument("is_inference", "input", input)
    result: bool = input.is_inference()
    return result


@composite(method=False)
def numel(input: Tensor) -> int:
    """Count the elements.

    Args:
        input: a tensor.

    Returns: the product of all lengths, an int.

    Example:
        >>> import taper
        >>> taper.numel(taper.ones(2, 3))
        6
    """
    return tensor_argument("numel", "input", input).size


@composite()
def get_device(input: Tensor) -> int:
    """Return the number of the tensor's device; -1 on the CPU.

    >>> import taper
    >>> taper.get_device(taper.ones(2))
    -1
    """
    found = input.device.index
    return -1 if found is None else found


@composite()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape.

    >>> import taper
    >>> taper.is_same_size(taper.ones(2, 3), taper.ones(3, 2))
    False
    """
    first = tensor_argument("is_same_size", "input", input)
    if not isinstance(other, Tensor):
        refuse("is_same_size", "other", 2, "Tensor", other)
    return first.shape == other._array.shape


@composite(public=False)
def is_distributed(input: Tensor) -> bool:
    """Return False: a tensor lies in one process."""
    return False


# --- dtypes of operations --------------------------------------------------------------------


@composite(method=False)
def result_type(tensor: Any, other: Any) -> dtypes.dtype:
    """Find the dtype of an operation on two tensors or numbers.

    >>> import taper
    >>> taper.result_type(taper.tensor([1], dtype=taper.int8), 1.5)
    torch.float32
    """
    operands = []
    for position, value in enumerate((tensor, other), 1):
        if isinstance(value, Tensor):
            operands.append(value._array)
        else:
            operands.append(
                number("result_type", "tensor" if position == 1 else "other", position, value)
            )
    return dtypes.result_type(operands)


composite(method=False)(dtypes.promote_types)
composite(method=False)(dtypes.can_cast)


@composite(method=False)
def typename(obj: Any, /) -> str:
    """Return the name of an object's type, with PyTorch's words for tensors.

    >>> import taper
    >>> taper.typename(taper.tensor([1]))
    'torch.LongTensor'
    """
    if isinstance(obj, Tensor):
        return dtypes.type_name(obj.dtype)
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    head, *rest = module.split(".")
    if module == "builtins":
        return named.__qualname__
    if head == PACKAGE:  # only these keep their place in PyTorch's tree
        module = ".".join(["torch", *rest]) if rest and rest[0] in ("nn", "optim") else "torch"
    return f"{module}.{named.__qualname__}" if module else named.__qualname__
