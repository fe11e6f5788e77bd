"""Parameter and Buffer: the tensors that a Module registers when they are assigned to it.

Knows Tensor and how a leaf requires a gradient; not Module.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from taper.autograd.tensor_api import set_leaf_flag
from taper.autograd.transforms import mark_made
from taper.autograd.views import version_counter
from taper.ops.creation import empty
from taper.tensor import Tensor

_REFUSAL = "Only Tensors of floating point and complex dtype can require gradients"


class _ParameterMeta(type):
    """A Tensor of another class counts as a Parameter when it is marked by `_is_param`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a Module lists among its parameters; results of operators on it are Tensors.

    It shares the memory of `data` and is always a leaf.

    >>> import taper
    >>> taper.nn.Parameter(taper.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter or isinstance(data, cls):
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
        """A copy of the values; gradient and attributes stay behind."""
        known = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return known

    def __copy__(self) -> Any:
        copied = leaf_on(type(self), self, self.requires_grad)
        copied.__dict__.update(self.__dict__)
        return copied

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        arguments: tuple[Any, ...] = (self.data, self.requires_grad, OrderedDict())
        if self.__dict__:
            return _rebuild_parameter_with_state, (*arguments, dict(self.__dict__))
        return _rebuild_parameter, arguments


def leaf_on(cls: type[Tensor], data: Tensor, requires_grad: bool) -> Any:
    """A leaf of class `cls` on the memory and the version counter of `data`."""
    leaf = object.__new__(cls)
    leaf._array = data._array
    leaf._requires_grad = False
    leaf._grad_fn = None
    leaf._output_nr = 0
    leaf._counter = version_counter(data)
    leaf._view = None
    leaf._meta = None
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
    """A Buffer is a plain Tensor that is marked as one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a Module registers as a buffer when it is assigned as an attribute.

    Making one returns a plain Tensor on the memory of `data`, marked so that Module knows it.

    >>> import taper
    >>> taper.nn.Buffer(taper.ones(2), persistent=False).persistent
    False
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        marked = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked
