"""Custom functions: `Function` with `forward`, `backward` and `apply`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.context import BackwardCFunction, FunctionCtx, no_backward
from taper.autograd.custom_forward import apply_function, no_setup_context
from taper.autograd.probes import Error
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad, set_history
from taper.tensor import Tensor, wrap

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionMeta(type):
    """Gives every Function its node class, `<Name>Backward`."""

    _backward_cls: Any

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        members = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), members)
        super().__init__(name, bases, attributes)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """A differentiable operation written by the user.

    Subclass it with static methods and call `apply`.  `forward(ctx, *args)` computes the result
    from any arguments; `backward(ctx, *grads)` gets one gradient for each output and returns one
    for each argument of `forward`, None for what has none.  `ctx` carries tensors from one to the
    other: `ctx.save_for_backward(*tensors)` in `forward`, `ctx.saved_tensors` in `backward`.  If
    `setup_context(ctx, inputs, output)` is defined, `forward` gets no context.  `jvp` is the rule
    of forward mode, `vmap` that of `taper.func.vmap`.

    >>> import taper
    >>> class Double(taper.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> Double.apply(taper.ones(2, requires_grad=True))
    tensor([2., 2.], grad_fn=<DoubleBackward>)
    """

    generate_vmap_rule = False
    # `backward(ctx, grads)` gets one list, which it may clear to free gradients early (§F18).
    boxed_grads_call = False
    # The first reading of `saved_tensors` hands over the only references to them (§F19).
    clear_saved_tensors_on_access = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )
        self._node = type(self)._backward_cls()

    def __getattr__(self, name: str) -> Any:
        if name == "_node":
            raise AttributeError(name)
        if not hasattr(self._node, name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        # An instance shows the attributes of a node that is never run.
        return getattr(self._node, name)

    def name(self) -> str:
        """Return the name of the class."""
        return type(self).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; gets the context first, unless `setup_context` is defined."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    setup_context = staticmethod(no_setup_context)
    backward = staticmethod(no_backward)
    vjp = staticmethod(no_backward)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Return the batched outputs and their batch dimensions: the rule for `func.vmap`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function on any arguments and record it, so that `backward` finds it."""
        transforms = local.state.transforms
        if transforms:
            return transforms[-1].apply_function(cls, args, kwargs)
        return apply_function(cls, args, kwargs)


class InplaceFunction(Function):
    """Kept for programs that subclass it; `inplace` is given at construction."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Kept for programs that subclass it; PyTorch cannot run such a class any more either.

    >>> import taper
    >>> issubclass(taper.autograd.function.NestedIOFunction, taper.autograd.Function)
    True
    """

    def forward_extended(self, *input: Any) -> Any:
        """Compute what a subclass computes."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """Compute its gradient."""
        raise NotImplementedError


_ContextMethodMixin = FunctionCtx  # the old name


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose result must not be differentiated again; a second derivative raises.

    >>> import taper
    >>> from taper.autograd.function import once_differentiable
    >>> class Square(taper.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return grad * 2 * ctx.saved_tensors[0]
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        state = local.state
        mode = state.mode
        state.mode = mode | NO_GRAD
        try:
            outputs = fn(ctx, *args)
        finally:
            state.mode = mode
        tracked = any(isinstance(each, Tensor) and requires_grad(each) for each in args)
        if mode & NO_GRAD or not tracked:
            return outputs
        if isinstance(outputs, tuple):
            return _refusing(outputs)
        return _refusing((outputs,))[0]

    return wrapper


def _refusing(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Put the outputs on a node that raises when it runs, and that leads to unknown leaves."""
    results = tuple([None if each is None else each.detach() for each in outputs])
    nothing = wrap(np.empty(0))
    leaves = [nothing if each is None else each.detach().requires_grad_() for each in outputs]
    text = "trying to differentiate twice a function that was marked with @once_differentiable"
    node = Error(text, leaves, leaves)
    for nr, result in enumerate(results):
        if result is not None:
            set_history(result, node, nr)
    return results
