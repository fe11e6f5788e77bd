"""`taper.library`: operators of users, `custom_op`, as functions that run eagerly.

A custom operator is its Python function; `register_autograd` gives it a derivative.  What only
captured programs need (fake tensors, dispatch) is accepted and unused; what would need PyTorch's
dispatcher says what to use instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NoReturn

from taper import ops
from taper.autograd import interception
from taper.autograd.function import Function
from taper.autograd.grad_mode import no_grad
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.ops.identity import OpOverload, OpOverloadPacket
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "register_autograd",
    "register_fake",
    "register_kernel",
]

_known: dict[str, CustomOpDef] = {}


class _CustomOverload(OpOverload):
    """`torch.ops.<namespace>.<name>.default`, as modes are told of it."""

    def __init__(self, operator: CustomOpDef) -> None:
        super().__init__(OpOverloadPacket(operator._namespace, operator._name), "default")
        self._operator = operator

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.performed(self, args, kwargs)
        return self._operator(*args, **kwargs) if result is None else result


class CustomOpDef:
    """An operator of a user's; call it, and give it a derivative with `register_autograd`.

    >>> import taper
    >>> def half(x: taper.Tensor) -> taper.Tensor:
    ...     return x / 2
    >>> operator = taper.library.custom_op("example::half", half, mutates_args=())
    >>> type(operator).__name__, operator(taper.ones(2))
    ('CustomOpDef', tensor([0.5000, 0.5000]))
    """

    def __init__(self, name: str, fn: Callable[..., Any], mutates_args: Any) -> None:
        namespace, separator, short = name.partition("::")
        if not separator:
            raise ValueError(f"custom_op: the name must be 'namespace::name', but is {name!r}")
        self._namespace, self._name, self._qualname = namespace, short, name
        self._init_fn = fn
        self._mutates = mutates_args
        self._signature = inspect.signature(fn)
        for each in self._signature.parameters.values():
            if each.annotation is inspect.Parameter.empty:
                raise ValueError(
                    f"infer_schema(func): Parameter {each.name} must have a type annotation. Got "
                    f"func with signature {self._signature})"
                )
        self.default = _CustomOverload(self)
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._function = self._make_function()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function; it is recorded as one node if a gradient is wanted."""
        stack = local.state.interceptors
        if stack and hasattr(stack[-1], "answer"):
            return self._shown(stack, args, kwargs)
        return self._run(args, kwargs)

    def _shown(self, stack: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let the innermost mode, or the classes of the tensors, do the work."""
        state = local.state
        interception._set(state, stack[:-1])
        try:
            return stack[-1].answer(self.default, args, kwargs, lambda: self(*args, **kwargs))
        finally:
            interception._set(state, stack)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves = tree_flatten((bound.args, bound.kwargs))[0]
        wanted = not local.state.mode & NO_GRAD and any(
            isinstance(each, Tensor) and requires_grad(each) for each in leaves
        )
        if not wanted or bound.kwargs or self._mutates not in ((), [], set()):
            return self._init_fn(*bound.args, **bound.kwargs)
        return self._function.apply(*bound.args)

    def _make_function(self) -> type[Function]:
        custom = self

        def forward(ctx: Any, *inputs: Any) -> Any:
            with no_grad():
                result = custom._init_fn(*inputs)
            if custom._setup is not None:
                custom._setup(ctx=ctx, inputs=inputs, output=result)
            return result

        def backward(ctx: Any, *grads: Any) -> Any:
            if custom._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {custom._namespace}.{custom._name}.default but no "
                    "autograd formula was registered. Please use register_autograd to add one."
                )
            return custom._backward(ctx, *grads)

        name = f"GeneratedBackwardFor_{self._namespace}_{self._name}_default"
        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(name, (Function,), members)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Set the derivative: `backward(ctx, *grads)`, after `setup_context(ctx, inputs, output)`.

        >>> import taper
        >>> @taper.library.custom_op("example::twice", mutates_args=())
        ... def twice(x: taper.Tensor) -> taper.Tensor:
        ...     return x * 2
        >>> twice.register_autograd(lambda ctx, grad: grad * 2)
        >>> x = taper.ones(1, requires_grad=True)
        >>> twice(x).backward()
        >>> x.grad
        tensor([2.])
        """
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Accept what only a captured program needs, without using it."""
        return fn

    def register_kernel(
        self, device_types: Any, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Set the function for the CPU; those for other devices are accepted and unused."""
        kinds = (
            (device_types,) if isinstance(device_types, str) or not device_types else device_types
        )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if any(each in (None, "cpu") for each in kinds):
                self._init_fn = function
            return function

        return register if fn is None else register(fn)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> NoReturn:
        """Refuse: `vmap` sees the operators that the function calls."""
        raise NotImplementedError(
            "rules for vmap cannot be registered: vmap sees the operators that the function calls"
        )

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a function whose parameters are annotated.

    Args:
        name: "namespace::name".
        fn: the function; without it a decorator is returned.
        mutates_args: the names of the arguments that the function writes.
        device_types: accepted; all tensors are on the CPU.
        schema: PyTorch's signature as text, instead of the annotations.

    >>> import taper
    >>> @taper.library.custom_op("example::half", mutates_args=())
    ... def half(x: taper.Tensor) -> taper.Tensor:
    ...     return x / 2
    >>> half(taper.ones(2))
    tensor([0.5000, 0.5000])
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        made = CustomOpDef(name, function, mutates_args)
        namespace = vars(ops).setdefault(made._namespace, SimpleNamespace())
        if isinstance(namespace, SimpleNamespace):  # `torch.ops.<namespace>.<name>`
            setattr(namespace, made._name, made)
        _known[name] = made
        return made

    return make if fn is None else make(fn)


def _operator(op: Any, function: str) -> CustomOpDef:
    """Return the operator that a caller means: itself, or its name."""
    found = op if isinstance(op, CustomOpDef) else _known.get(op)
    if found is None:
        raise RuntimeError(f"torch.library.{function}: there is no operator {op!r} of custom_op")
    return found


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """Set the derivative of an operator of `custom_op`.

    Args:
        op: the operator, or its name.
        backward: takes the context and the gradients of the outputs.
        setup_context: takes the context, the inputs and the output, and saves what is needed.

    >>> import taper
    >>> @taper.library.custom_op("example::thrice", mutates_args=())
    ... def thrice(x: taper.Tensor) -> taper.Tensor:
    ...     return x * 3
    >>> taper.library.register_autograd("example::thrice", lambda ctx, grad: grad * 3)
    >>> x = taper.ones(1, requires_grad=True)
    >>> thrice(x).backward()
    >>> x.grad
    tensor([3.])
    """
    _operator(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


def register_kernel(
    op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Set the function of an operator of `custom_op` for the CPU; others are unused.

    >>> import taper
    >>> @taper.library.custom_op("example::same", mutates_args=())
    ... def same(x: taper.Tensor) -> taper.Tensor:
    ...     return x.clone()
    >>> _ = taper.library.register_kernel("example::same", "cpu", lambda x: x + 1)
    >>> same(taper.zeros(1))
    tensor([1.])
    """
    return _operator(op, "register_kernel").register_kernel(device_types, func)


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.library.{name} is for PyTorch's dispatcher: use torch.library.custom_op, or "
        "torch.autograd.Function."
    )


class Library:
    """Refused: operators are declared with `custom_op`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("Library")


def define(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: operators are declared with `custom_op`."""
    _refuse("define")


def impl(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: operators are declared with `custom_op`."""
    _refuse("impl")


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Accept what only a captured program needs, without using it.

    >>> import taper
    >>> taper.library.register_fake("example::half", len) is len
    True
    """
    return (lambda function: function) if func is None else func
