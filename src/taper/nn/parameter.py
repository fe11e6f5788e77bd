"""Parameter and Buffer: the tensors that a Module registers when they are assigned to it.

There are forms of both without a shape, for modules that learn it from their first input. Knows
Tensor and how a leaf requires a gradient; not Module.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from taper.autograd.conjugate import class_showing, look_at, memory_of
from taper.autograd.overrides import _disabled_torch_function_impl, silent
from taper.autograd.tensor_api import set_leaf_flag
from taper.autograd.transforms import mark_made
from taper.autograd.views import version_counter
from taper.ops.creation.filled import empty
from taper.size import Size
from taper.tensor import Tensor, wrap

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]

_REFUSAL = "Only Tensors of floating point and complex dtype can require gradients"


class _ParameterMeta(type):
    """Count a Tensor of another class as a Parameter when `_is_param` marks it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """Mark a tensor as a parameter, which a Module lists when it is assigned as an attribute.

    A Parameter shares the memory of `data` and is always a leaf; operators on it return Tensors.

    Args:
        data: the tensor; None means an empty one.
        requires_grad: whether gradients are collected in `.grad`.

    Example:
        >>> import taper
        >>> taper.nn.Parameter(taper.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if data.__class__ is Tensor or data.__class__ is Parameter or isinstance(data, cls):
            return leaf_on(cls, data, requires_grad)
        marked = data.detach().requires_grad_(requires_grad)
        if type(marked) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires "
                "that detach() returns an instance of the same type, but return type "
                f"{type(marked).__name__} was found instead. To use the type as a Parameter, "
                "please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        marked._is_param = True
        return marked

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copy the values; gradient and attributes stay behind."""
        known = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = self.__class__(self.data.clone(), self.requires_grad)
        return known

    def __copy__(self) -> Any:
        copied = leaf_on(self.__class__, self, self.requires_grad)
        copied.__dict__.update(self.__dict__)
        return copied

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        arguments: tuple[Any, ...] = (self.data, self.requires_grad, OrderedDict())
        if self.__dict__:
            return _rebuild_parameter_with_state, (*arguments, dict(self.__dict__))
        return _rebuild_parameter, arguments


silent.add(Parameter)


def leaf_on(cls: type[Tensor], data: Tensor, requires_grad: bool) -> Any:
    """Make a leaf of class `cls` on the memory and the version counter of `data`."""
    leaf = object.__new__(class_showing(cls, data._change))
    look_at(leaf, memory_of(data))
    leaf._requires_grad = False
    leaf._grad_fn = None
    leaf._output_nr = 0
    leaf._counter = version_counter(data)
    leaf._view = None
    leaf._autograd_meta = None
    if requires_grad:
        set_leaf_flag(leaf, True, _REFUSAL)
    mark_made(leaf)
    return leaf


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    parameter: Parameter = Parameter(data, requires_grad)
    return parameter


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Parameter:
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    parameter.__dict__.update(state)
    return parameter


class _BufferMeta(type):
    """Count a plain Tensor as a Buffer when it is marked as one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """Mark a tensor as a buffer, which a Module registers when it is assigned as an attribute.

    The result is a plain Tensor on the memory of `data`.

    Args:
        data: the tensor; None means an empty one.
        persistent: whether the buffer is part of `state_dict`.

    Example:
        >>> import taper
        >>> taper.nn.Buffer(taper.ones(2), persistent=False).persistent
        False
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = empty(0)
        marked = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


# --- without a shape yet ---------------------------------------------------------------------

# The slot that holds a tensor's elements; UninitializedTensorMixin hides it.
_ARRAY: Any = Tensor.__dict__["_array"]


class UninitializedTensorMixin:
    """Stand for a tensor of known dtype and device, until `materialize` gives it a shape.

    Every operator reaches the elements through `_array`; here a property of that name, which says
    what is wrong, hides the slot. The slot holds an empty array of the right dtype.

    Example:
        >>> import taper
        >>> isinstance(taper.nn.UninitializedBuffer(), taper.nn.parameter.UninitializedTensorMixin)
        True
    """

    __slots__ = ()
    cls_to_become: Any = None
    __hash__ = object.__hash__

    @property
    def _array(self) -> Any:
        raise _used_too_early(self, sys._getframe(1).f_code.co_name)

    @_array.setter
    def _array(self, value: Any) -> None:
        _ARRAY.__set__(self, value)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a Parameter or Tensor of this shape, with arbitrary values.

        >>> import taper
        >>> weight = taper.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape
        torch.Size([2, 3])
        """
        made = empty(shape, device=device, dtype=dtype or self.data.dtype)
        self._array = made._array
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Size:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        """Refuse: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    @property
    def data(self) -> Tensor:
        """An empty tensor of the same dtype."""
        return wrap(_ARRAY.__get__(self))

    @data.setter
    def data(self, value: Any) -> None:
        self._array = _ARRAY.__get__(value)

    device = property(lambda self: self.data.device)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    nbytes = property(lambda self: self.data.nbytes)
    itemsize = property(lambda self: self.data.itemsize)

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Copy from a tensor that has no elements either."""
        self.data.copy_(other.data if is_lazy(other) else other, non_blocking)
        return self

    def __copy__(self) -> Any:
        return type(self)(self.requires_grad)  # type: ignore[call-arg, attr-defined]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    def _converted(self, result: Tensor) -> Any:
        """Return the result of a conversion of the empty tensor."""
        return result


def _used_too_early(tensor: Any, function: str) -> ValueError:
    return ValueError(
        f"Attempted to use an uninitialized parameter in <method '{function}' of "
        "'torch._C.TensorBase' objects>. This error happens when you are using a `LazyModule` or "
        f"explicitly manipulating `torch.nn.parameter.{type(tensor).__name__}` objects. When "
        "using LazyModules Call `forward` with a dummy batch to initialize the parameters before "
        "calling torch functions"
    )


def _refusal(name: str) -> Callable[..., Any]:
    """Make a method that is an error although it does not look at elements."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise _used_too_early(self, name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refuse: there are no elements yet."
    return method


def _conversion(name: str) -> Callable[..., Any]:
    """Make a method that does with the empty tensor what Tensor's method does."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        empty_tensor = self.data
        result = getattr(empty_tensor, name)(*args, **kwargs)
        if result is empty_tensor:
            return self
        return self._converted(result) if isinstance(result, Tensor) else result

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name}` of an empty tensor."
    return method


for _name in (
    *("size", "is_complex", "is_floating_point", "get_device", "to", "cpu", "cuda"),
    *("half", "float", "double", "char", "short", "int", "long"),
):
    setattr(UninitializedTensorMixin, _name, _conversion(_name))
for _name in (
    *("backward", "detach", "detach_", "register_hook", "requires_grad_", "retain_grad"),
    *("sum", "type", "untyped_storage"),
):
    setattr(UninitializedTensorMixin, _name, _refusal(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """Stand for a Parameter until `materialize` gives it a shape.

    Args:
        requires_grad: whether gradients are collected in `.grad`.
        device, dtype: where the tensor lives, and its type; None means the default.

    Example:
        >>> import taper
        >>> taper.nn.UninitializedParameter()
        <UninitializedParameter>
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        made = leaf_on(Parameter, empty(0, device=device, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        known = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return known


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """Stand for a buffer until `materialize` gives it a shape.

    Args:
        requires_grad: whether the buffer requires a gradient.
        device, dtype: where the tensor lives, and its type; None means the default.
        persistent: whether the buffer is part of `state_dict`.

    Example:
        >>> import taper
        >>> taper.nn.UninitializedBuffer()
        <UninitializedBuffer>
    """

    __torch_function__ = _disabled_torch_function_impl

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        made = leaf_on(Tensor, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        made.__class__ = cls
        return made

    def _converted(self, result: Tensor) -> Any:
        return type(self)(self.requires_grad, dtype=result.dtype)


def is_lazy(param: Any) -> bool:
    """Tell whether a parameter or buffer has no shape yet.

    Args:
        param: the tensor to look at.

    Example:
        >>> import taper
        >>> taper.nn.parameter.is_lazy(taper.nn.UninitializedParameter())
        True
    """
    return isinstance(param, UninitializedTensorMixin)
