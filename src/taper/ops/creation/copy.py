"""Copies (clone, contiguous), conversions (to, float, ...) and writes (copy_, fill_, zero_).

Long because: users read the reference of each function here.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import cast
from taper.arrays.foreign import device_of, has_elements, is_foreign, place_of
from taper.arrays.layouts import FIRST, suggested_format
from taper.arrays.scalars import filler
from taper.arrays.strides import (
    LARGE,
    copied_in_rows,
    copied_natively,
    empty_with,
    format_strides,
    has_format,
    in_rows,
    preserved_strides,
    refuse_overlap,
)
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import bump_version, check_inplace, requires_grad, wants_grad
from taper.device import CPU, contiguous_format, preserve_format, strided, usable
from taper.factory import check_memory_format, refuse
from taper.gpu.state import unwaited
from taper.opdef import LINEAR, Array, composite, derivative, methods, op, tangent_of
from taper.opdef.operands import NUMBERS, broadcast_clash, invalid_combination
from taper.opdef.out_rules import refuse_shared_memory
from taper.opdef.writes import run_inplace
from taper.tensor import Tensor, element_strides, wrap
from taper.userwarning import warn_once

# --- clone and contiguous --------------------------------------------------------------------


def copied(array: ndarray, dtype: np.dtype[Any], memory_format: Any = None) -> ndarray:
    """Copy in the given dtype; None and `preserve_format` keep the layout where it is dense."""
    if memory_format is contiguous_format or (memory_format is None and in_rows(array)):
        return converted(array, dtype)
    if memory_format is None or memory_format is preserve_format:
        strides = preserved_strides(array.shape, element_strides(array))
    else:
        strides = format_strides(array.shape, memory_format._name)
    result = empty_with(array.shape, strides, dtype, array)
    write(result, array)
    return result


def converted(array: ndarray, dtype: np.dtype[Any]) -> ndarray:
    """Copy row-major in another dtype."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        discard_imaginary(array)
        array = array.real
    if array.dtype is dtype:
        return copied_in_rows(array)
    return cast(array, dtype) if in_rows(array) else array.astype(dtype, order="C")


def write(target: ndarray, values: ndarray) -> None:
    """Put values of any dtype into an array."""
    lossy = values.dtype.kind == "c" and target.dtype.kind not in "cb"
    if lossy:
        values = values.real
    if is_foreign(target) is not is_foreign(values):
        values = moved(values, device_of(target))
    if not copied_natively(target, values):
        np.copyto(target, values, casting="unsafe")
    if lossy:  # not before the shapes are known to fit
        discard_imaginary(target)


def discard_imaginary(values: ndarray) -> None:
    if values.size:
        warn_once("Casting complex values to real discards the imaginary part")


@op(tangent=LINEAR)
def clone(self: Array, *, memory_format: Any = None) -> Array:
    """Copy a tensor into memory of its own; the copy is recorded by autograd.

    Args:
        input: a tensor.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.clone(taper.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    if memory_format is None:
        if self.size < LARGE and in_rows(self):
            return self.copy()
    else:
        check_memory_format("clone", memory_format)
    return copied(self, self.dtype, memory_format)


@derivative(clone, wrt="self")
def clone_self(grad: Array) -> Array:
    return grad


@composite(public=False)
def contiguous(input: Any, memory_format: Any = contiguous_format) -> Any:
    """Arrange the elements in memory in the order of their indices.

    Args:
        memory_format: order of the dimensions in memory, row-major by default.

    Returns: the tensor itself if it lies so already, else a copy.

    Example:
        >>> import taper
        >>> taper.tensor([[1, 2], [3, 4]]).t().contiguous().stride()
        (2, 1)
    """
    if input._change is not None:  # the array does not say where its elements lie
        return input if input.is_contiguous() else clone(input, memory_format=memory_format)
    if memory_format is contiguous_format:
        if input._array.flags.c_contiguous:
            return input
    elif memory_format is preserve_format:
        if input._array.flags.c_contiguous:
            return input
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if memory_format is None:
        refuse("contiguous", "memory_format", 0, "torch.memory_format", None)
    check_memory_format("contiguous", memory_format)
    if has_format(input._array, memory_format._name):
        return input
    return clone(input, memory_format=memory_format)


@composite(public=False)
def is_contiguous(input: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Tell whether the elements lie in memory in the order of their indices, without gaps.

    Args:
        memory_format: order of the dimensions in memory, row-major by default.

    Returns: True or False.

    Example:
        >>> import taper
        >>> taper.zeros(2, 3).t().is_contiguous()
        False
    """
    if memory_format is contiguous_format:
        return input._array.flags.c_contiguous
    if memory_format is None:
        refuse("is_contiguous", "memory_format", 0, "torch.memory_format", None)
    check_memory_format("is_contiguous", memory_format)
    return has_format(input._array, memory_format._name)


# --- to --------------------------------------------------------------------------------------


@op(name="_to_copy", node="ToCopyBackward0", tangent=LINEAR, public=False, method=False)
def to_copy(self: Array, dtype: Any, memory_format: Any = None) -> Array:
    """Copy in another dtype."""
    return copied(self, dtype.numpy, memory_format)


@derivative(to_copy, wrt="self")
def to_copy_self(grad: Array) -> Array:
    return grad  # the engine casts a gradient to the dtype of its tensor


@op(name="_to_device", node="ToCopyBackward0", tangent=LINEAR, public=False, method=False)
def to_device(self: Array, where: Any, dtype: Any, memory_format: Any = None) -> Array:
    """Copy to another device."""
    if memory_format is None and self.dtype is dtype.numpy and self.flags.c_contiguous:
        return moved(self, where)
    return moved(copied(self, dtype.numpy, memory_format), where)


@derivative(to_device, wrt="self")
def to_device_self(grad, self_device):
    return move_back(grad, self_device)


def move_back(grad: Any, where: Any) -> Any:
    """Return a gradient, an array or a Tensor, on the device that its tensor came from."""
    return to(grad, where) if isinstance(grad, Tensor) else moved(grad, where)


def moved(array: Any, where: Any) -> Any:
    """Return an array on another device, by way of the CPU."""
    if is_foreign(array):
        array = array.place.to_ndarray(array)
    return array if where.type == "cpu" else place_of(where).from_ndarray(array, where)


@op(name="_to_integers", label="to", public=False, method=False)
def to_integers(self: Array, dtype: Any, memory_format: Any = None) -> Array:
    """Copy in a dtype that carries no gradient."""
    return copied(self, dtype.numpy, memory_format)


def as_type(
    tensor: Any,
    dtype: dtypes.dtype,
    copy: bool = False,
    memory_format: Any = None,
    where: Any = None,
) -> Any:
    """Convert to another dtype, layout or device; return the tensor itself if nothing changes."""
    if where is not None and where != tensor.device:
        return to_device(tensor, where, dtype, memory_format)
    if not copy and tensor._array.dtype is dtype.numpy:
        if memory_format is None or memory_format is preserve_format:
            return tensor
        if suggested_format(tensor._array) is memory_format:
            return tensor
    function = to_copy if dtype.category > dtypes.INTEGER else to_integers
    return function(tensor, dtype, memory_format)


@composite(public=False)
def to(
    input: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    other: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Convert the tensor to a dtype or move it to a device.

    Called as `to(dtype)`, `to(device, dtype)` or `to(other)`.

    Args:
        args: a dtype, a device (and a dtype), or a tensor to imitate; then `non_blocking` and
            `copy`.
        device: where the result is.
        dtype: dtype of the result.
        non_blocking: do not wait for a copy between a GPU and pinned memory.
        copy: whether to copy even if nothing changes.
        other: tensor whose dtype and device are taken.
        memory_format: order of the dimensions in memory; by default that of the input.

    Returns: the tensor itself if nothing changes, else a copy that autograd records.

    Example:
        >>> import taper
        >>> taper.tensor([1.5]).to(taper.int64)
        tensor([1])
    """
    if args:
        if type(args[0]) is dtypes.dtype and len(args) == 1:
            dtype = args[0]
        else:
            found = to_arguments(args)
            device, dtype = found[0] or device, found[1] or dtype
            non_blocking, copy = found[2] or non_blocking, found[3] or copy
    if other is not None:
        device, dtype = other.device, other.dtype
    where = None if device is None else usable(device, "to")
    wanted = input.dtype if dtype is None else dtypes.as_dtype(dtype, "to", "dtype", 1)
    if non_blocking and where is not None:
        return unwaited(as_type, input, wanted, copy, memory_format, where)
    return as_type(input, wanted, copy, memory_format, where)


def to_arguments(args: tuple[Any, ...]) -> tuple[Any, Any, bool, bool]:
    """Read device, dtype, non_blocking and copy from a call `to(*args)`."""
    first: Any = args[0]
    device: Any = None
    dtype: Any = None
    if isinstance(first, Tensor):
        device, dtype, rest = first.device, first.dtype, args[1:]
    elif type(first) is dtypes.dtype or isinstance(first, type):
        dtype, rest = first, args[1:]
    else:
        device, dtype, rest = first, args[1] if len(args) > 1 else None, args[2:]
    flags = (*rest, False, False)
    if (
        len(rest) > 2
        or not all(isinstance(each, bool) for each in rest)
        or not (dtype is None or type(dtype) is dtypes.dtype or isinstance(dtype, type))
    ):
        raise refuse_to(args)
    return device, dtype, flags[0], flags[1]


_TO = tuple(
    f"({first}, bool non_blocking = False, bool copy = False, *, torch.memory_format "
    "memory_format = None)"
    for first in (
        "torch.device device = None, torch.dtype dtype = None",
        "torch.dtype dtype",
        "Tensor tensor",
    )
)


def refuse_to(args: tuple[Any, ...]) -> TypeError:
    """Make the error of `to` for arguments that fit none of its overloads."""
    names = [f"torch.{each}" for each in ("dtype", "device")]
    given = [
        next((name for name in names if name == f"torch.{type(each).__name__}"), None)
        or type(each).__name__
        for each in args
    ]
    listed = "".join(f" * {each}\n" for each in _TO)
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(given)}), but "
        f"expected one of:\n{listed}"
    )


@composite(public=False)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Convert the tensor to the dtype of another.

    Args:
        other: tensor whose dtype is taken.

    Returns: the tensor itself if it has that dtype already, else a copy.

    Example:
        >>> import taper
        >>> taper.tensor([1, 2]).type_as(taper.tensor(0.5))
        tensor([1., 2.])
    """
    if not isinstance(other, Tensor):
        refuse("type_as", "other", 1, "Tensor", other)
    return as_type(input, other.dtype)


@overload
def type_(input: Tensor) -> str: ...
@overload
def type_(
    input: Tensor, dtype: str | type | dtypes.dtype, non_blocking: bool = False
) -> Tensor: ...
@composite(public=False, name="type")
def type_(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Tell the name of the tensor's type or, given a type, convert to it.

    Args:
        dtype: a dtype, or a name such as "torch.DoubleTensor"; None asks for the name.
        non_blocking: has no effect on the CPU.

    Returns: a name as text, or the tensor in that type (itself if nothing changes).

    Example:
        >>> import taper
        >>> taper.tensor([1.0]).type()
        'torch.FloatTensor'
    """
    if dtype is None:
        name = dtypes.type_name(input.dtype)
        return name if input.is_cpu else name.replace("torch.", f"torch.{input.device.type}.", 1)
    if type(dtype) is not dtypes.dtype:
        if not isinstance(dtype, (str, type)):
            raise TypeError("dtype must be a type, str, or dtype object")
        given = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
        name = given.removeprefix("torch.")
        if dtype is Tensor or given == "torch.Tensor":
            return as_type(input, dtypes.default.float)
        for each in dtypes.COMPUTED:
            if name == f"{each.scalar_type}Tensor":
                return as_type(input, each)
        raise ValueError(f"invalid type: '{given}'")
    return as_type(input, dtype)


def _conversion(name: str, dtype: dtypes.dtype) -> None:
    """Make the method that converts to one dtype."""

    def convert(self: Tensor, *more: Any, memory_format: Any = None) -> Tensor:
        if more:
            raise TypeError(f"{name}() takes 0 positional arguments but {len(more)} was given")
        if memory_format is not None:
            check_memory_format(name, memory_format)
        if self._array.dtype is dtype.numpy and memory_format is None:
            return self
        return as_type(self, dtype, False, memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"""Convert the tensor to {dtype!r}.

    Args:
        more: no positional arguments are taken.
        memory_format: order of the dimensions in memory; by default that of the tensor.

    Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

    Example:
        >>> import taper
        >>> taper.tensor([True]).{name}().dtype
        {dtype!r}
    """
    methods[name] = convert


for _name, _dtype in {
    "float": dtypes.float32,
    "double": dtypes.float64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool_,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _conversion(_name, _dtype)


@composite(public=False)
def cpu(input: Tensor, memory_format: Any = None) -> Tensor:
    """Move the tensor to the CPU.

    Args:
        memory_format: order of the dimensions in memory; by default that of the input.

    Returns: the tensor itself if it is there already.

    Example:
        >>> import taper
        >>> taper.ones(2).cpu()
        tensor([1., 1.])
    """
    if type(input._array) is ndarray:
        return input
    return as_type(input, input.dtype, False, memory_format, CPU)


@composite(public=False)
def cuda(
    input: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Move the tensor to a GPU.

    Args:
        device: number or name of a CUDA device; by default the current one.
        non_blocking: do not wait for a copy from pinned memory.
        memory_format: order of the dimensions in memory; by default that of the input.

    Returns: the tensor itself if it is there already; without a GPU PyTorch's error.

    Example:
        >>> import taper
        >>> taper.ones(2).cuda() if taper.cuda.is_available() else taper.ones(2)  # doctest: +SKIP
        tensor([1., 1.], device='cuda:0')
    """
    name = "cuda" if device is None else f"cuda:{device}" if type(device) is int else device
    try:
        where = usable(name, "cuda")
    except AssertionError:  # there is no GPU
        if type(device) is int:
            raise RuntimeError("Cannot access accelerator device when none is available.") from None
        raise
    if where.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    if non_blocking:
        return unwaited(as_type, input, input.dtype, False, memory_format, where)
    return as_type(input, input.dtype, False, memory_format, where)


# --- writes ----------------------------------------------------------------------------------


def needs_record(target: Tensor, *others: Any) -> bool:
    """Tell whether a write must be recorded, or runs in a mode that takes the general way."""
    state = local.state
    mode = state.mode
    if mode > NO_GRAD or target._change is not None or not has_elements(target._array):
        return True
    if mode and target._counter is not INFERENCE_COUNTER:
        return False
    needed = False
    for each in others:
        if isinstance(each, Tensor) and each._requires_grad is not False and requires_grad(each):
            needed = True
    recorded = check_inplace(target, needed, state, last=False)
    return recorded or target._counter is INFERENCE_COUNTER


@op(name="copy", node="CopyBackwards", public=False, method=False, tangent=LINEAR)
def copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
    """Copy the values of `src` in the shape and dtype of `self`."""
    result = np.empty(self.shape, self.dtype)
    write_copy(result, src)
    return result


def write_copy(target: ndarray, src: ndarray) -> None:
    """Put `src`, broadcast and converted, into an array."""
    if src.ndim > target.ndim:  # NumPy drops leading dimensions of length 1
        raise _no_room(target.shape, src.shape)
    try:
        write(target, src)
    except ValueError:
        raise _no_room(target.shape, src.shape) from None


def _no_room(shape: tuple[int, ...], source: tuple[int, ...]) -> RuntimeError:
    clash = broadcast_clash([shape, source])
    if clash is not None:
        return clash
    return RuntimeError(
        f"output with shape {list(shape)} doesn't match the broadcast shape "
        f"{list(np.broadcast_shapes(shape, source))}"
    )


@derivative(copy, wrt="self")
def copy_self(grad: Array) -> Array:
    return zeros_of(grad)


@derivative(copy, wrt="src")
def copy_src(grad: Array) -> Array:
    return grad


def zeros_of(grad: Any) -> Any:
    """Make zeros like a gradient, on arrays and Tensors."""
    if isinstance(grad, Tensor):
        return wrap(np.zeros(grad._array.shape, grad._array.dtype))
    return np.zeros(grad.shape, grad.dtype)


@composite(public=False)
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of another tensor into this one.

    Args:
        other: tensor that broadcasts to this one; its values are converted to this dtype.
        non_blocking: do not wait for a copy between a GPU and pinned memory.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> taper.zeros(2, 2).copy_(taper.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
    """
    if not isinstance(other, Tensor):
        if other.__class__ not in NUMBERS:
            raise TypeError(
                f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}"
            )
        other = wrap(np.array(other))
    target = self._array
    sources = () if target.dtype.kind in "biu" else (other,)  # integers carry no gradient
    if not needs_record(self, *sources):
        _refuse_source(self, other)
        if non_blocking:
            unwaited(write_copy, target, other._array)
        else:
            write_copy(target, other._array)
        bump_version(self)
        return self

    def write_source(array: ndarray) -> None:
        _refuse_source(self, other)  # checked after what the history forbids
        write_copy(array, other._array)

    return run_inplace(copy.op, (self, other, non_blocking), write_source)


def _refuse_source(target: Tensor, source: Tensor) -> None:
    if target is not source:
        if source.__class__ is not Tensor and source.layout is not strided:
            kind = target.dtype.scalar_type, source.dtype.scalar_type
            raise RuntimeError(
                "copy_() between dense and sparse Tensors is not implemented! Found self type = "
                f"torch.{kind[0]}Tensor and src type = torch.sparse.{kind[1]}Tensor"
            )
        refuse_overlap(target._array)
        refuse_shared_memory(target, source)


def fill_with_number(self: Array, value: Any) -> Array:
    """Make an array like `self` with a number everywhere."""
    number = filler(value, dtypes.FROM_NUMPY[self.dtype])
    return np.full_like(self, number, order="C", subok=False)


def fill_with_tensor(self: Array, value: Array) -> Array:
    """Make an array like `self` with the value of a 0-d array everywhere."""
    if value.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.ndim} dimensions."
        )
    return np.full_like(self, value.astype(self.dtype), order="C", subok=False)


def _declare_fill(kernel: Any, name: str, node: str) -> Any:
    declared = op(name=name, node=node, tangent=LINEAR, public=False, method=False, layout=FIRST)(
        kernel
    )
    derivative(declared, wrt="self")(copy_self)
    return declared


_fill_number = _declare_fill(fill_with_number, "fill", "FillBackward0")
_fill_tensor = _declare_fill(fill_with_tensor, "fill_tensor", "FillBackward1")
_fill_number_ = _declare_fill(fill_with_number, "fill_", "FillBackward2")
_fill_tensor_ = _declare_fill(fill_with_tensor, "fill_tensor_", "FillBackward3")


@tangent_of(_fill_number)
@tangent_of(_fill_number_)
def fill_number_tangent(self: Any, value: Any) -> Any:
    return zeros_of(self)


@derivative(_fill_tensor, wrt="value")
@derivative(_fill_tensor_, wrt="value")
def fill_value(grad: Array) -> Array:
    return grad.sum()


def _write_apart(target: ndarray, value: ndarray) -> None:
    refuse_overlap(target)
    write(target, value)


@composite(method=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """Make a tensor of the same shape and dtype with `value` everywhere.

    >>> import taper
    >>> taper.fill(taper.tensor([1.0, 2.0]), 3)
    tensor([3., 3.])
    """
    return _fill_tensor(input, value) if isinstance(value, Tensor) else _fill_number(input, value)


@composite()
def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one value into every element, in place.

    Args:
        input: the tensor that is changed.
        value: a number or a 0-d tensor.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.fill_(taper.zeros(2), 3)
        tensor([3., 3.])
    """
    if isinstance(value, Tensor):
        if value._array.ndim:
            check_inplace(input, wants_grad(value), local.state)
            fill_with_tensor(input._array, value._array)
        if needs_record(input, value):
            return run_inplace(
                _fill_tensor_.op, (input, value), lambda to: _write_apart(to, value._array)
            )
        _write_apart(input._array, value._array)
    else:
        if value.__class__ is complex:
            check_inplace(input, False, local.state)
        elif isinstance(value, ndarray):
            raise invalid_combination("fill_", (value,), ("(Tensor value)", "(Number value)"))
        number = filler(value, input.dtype, single=input._array.size == 1)
        if needs_record(input):
            return run_inplace(_fill_number_.op, (input, value), lambda to: to.fill(number))
        input._array.fill(number)
    bump_version(input)
    return input


@op(name="zero", public=False, method=False, tangent=LINEAR, layout=FIRST)
def zero(self: Array) -> Array:
    """Make zeros of the same shape and dtype."""
    return np.zeros_like(self, order="C", subok=False)


derivative(zero, wrt="self")(copy_self)


@composite()
def zero_(input: Tensor) -> Tensor:
    """Write zero into every element, in place.

    Args:
        input: the tensor that is changed.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.zero_(taper.ones(2))
        tensor([0., 0.])
    """
    if needs_record(input):
        return run_inplace(zero.op, (input,), lambda to: to.fill(0))
    input._array.fill(0)
    bump_version(input)
    return input
