"""`taper.library`: operators of users, `custom_op`, as functions that run eagerly.

A custom operator is its Python function; `register_autograd` gives it a derivative and
`register_fake` what it makes of meta tensors.  `Library` and `define` declare operators by a schema
and take their functions later.  PyTorch's own operators cannot be given other functions.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

from taper import ops
from taper.autograd import interception
from taper.autograd.function import Function
from taper.autograd.grad_mode import no_grad
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.ops.identity import OpOverload, OpOverloadPacket
from taper.ops.signatures import signature_of_schema
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
]

_known: dict[str, CustomOpDef] = {}
_fakes: dict[str, Callable[..., Any]] = {}  # may be registered before the operator
# PyTorch's dispatch keys: where a function sees tensors below autograd, or does it all itself.
_BELOW = frozenset({"CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"})
_WHOLE = frozenset({"CompositeImplicitAutograd", "Autograd", "AutogradCPU"})


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

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any] | None,
        mutates_args: Any,
        signature: inspect.Signature | None = None,
    ) -> None:
        namespace, separator, short = name.partition("::")
        if not separator:
            raise ValueError(f"custom_op: the name must be 'namespace::name', but is {name!r}")
        self._namespace, self._name, self._qualname = namespace, short, name
        self._init_fn = fn
        self._whole: Callable[..., Any] | None = None
        self._mutates = mutates_args
        self._signature = signature or _annotated_signature(fn)
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
        tensors = [each for each in leaves if isinstance(each, Tensor)]
        if self._qualname in _fakes and any(each.is_meta for each in tensors):
            return _fakes[self._qualname](*bound.args, **bound.kwargs)
        if self._whole is not None:
            return self._whole(*bound.args, **bound.kwargs)
        if self._init_fn is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the 'CPU' backend."
            )
        wanted = not local.state.mode & NO_GRAD and any(requires_grad(each) for each in tensors)
        if not wanted or bound.kwargs or self._mutates not in ((), [], set()):
            return self._init_fn(*bound.args, **bound.kwargs)
        return self._function.apply(*bound.args)

    def _make_function(self) -> type[Function]:
        custom = self

        def forward(ctx: Any, *inputs: Any) -> Any:
            with no_grad():
                result = custom._init_fn(*inputs)  # type: ignore[misc]
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
        """Set what the operator makes of meta tensors: results with a form and no elements."""
        _fakes[self._qualname] = fn
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
        return _shown_in_ops(CustomOpDef(name, function, mutates_args))

    return make if fn is None else make(fn)


def _annotated_signature(fn: Any) -> inspect.Signature:
    signature = inspect.signature(fn)
    for each in signature.parameters.values():
        if each.annotation is inspect.Parameter.empty:
            raise ValueError(
                f"infer_schema(func): Parameter {each.name} must have a type annotation. Got "
                f"func with signature {signature})"
            )
    return signature


def _shown_in_ops(made: CustomOpDef) -> CustomOpDef:
    """Put an operator where `torch.ops.<namespace>.<name>` and its name find it."""
    namespace = vars(ops).setdefault(made._namespace, SimpleNamespace())
    if isinstance(namespace, SimpleNamespace):
        setattr(namespace, made._name, made)
    _known[made._qualname] = made
    return made


def _operator(op: Any, function: str) -> CustomOpDef:
    """Return the operator that a caller means: itself, or its name."""
    if isinstance(op, _CustomOverload):
        return op._operator
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


class Library:
    """Declare operators of a namespace by their schemas, and give them functions.

    Args:
        ns: the namespace; those of PyTorch's own operators are refused.
        kind: "DEF", "FRAGMENT" or "IMPL"; all may declare and implement.
        dispatch_key: for which functions `impl` takes them if it is not told.

    >>> import taper
    >>> library = taper.library.Library("example", "FRAGMENT")
    >>> library.define("shifted(Tensor x, float by=1.0) -> Tensor")
    'shifted'
    >>> library.impl("shifted", lambda x, by=1.0: x + by, "CompositeImplicitAutograd")
    >>> taper.ops.example.shifted(taper.zeros(2), 3.0)
    tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported library kind: ", kind)
        if ns in ("aten", "prim", "prims"):
            raise NotImplementedError(
                f"torch.library.Library({ns!r}): functions of PyTorch's own operators cannot be "
                "replaced; a TorchDispatchMode sees them."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator, as in "name(Tensor x, int n=1) -> Tensor"; return its name."""
        short, signature, mutates = signature_of_schema(schema)
        name = f"{self.ns}::{short}"
        if name in _known:
            raise RuntimeError(f"Tried to register an operator ({name}) that is already there.")
        _shown_in_ops(CustomOpDef(name, None, mutates, signature))
        self._defined.append(name)
        return short

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any
    ) -> None:
        """Give an operator its function for a dispatch key; those of other devices are unused."""
        name = op_name if isinstance(op_name, str) else op_name._qualname
        name = name if "::" in name else f"{self.ns}::{name}"
        _implement(name, fn, dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")

    def _destroy(self) -> None:
        """Forget the operators that were declared here."""
        for name in self._defined:
            known = _known.pop(name)
            _fakes.pop(name, None)
            vars(vars(ops)[known._namespace]).pop(known._name, None)
        self._defined.clear()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Give a `Library` whose operators are forgotten at the end of the block."""
    made = Library(*args, **kwargs)
    try:
        yield made
    finally:
        made._destroy()


def _implement(name: str, fn: Callable[..., Any], key: str) -> None:
    known = _operator(name, "impl")
    if key in _WHOLE:
        known._whole = fn
    elif key in _BELOW:
        known._init_fn = fn
    elif key == "Meta":
        _fakes[name] = fn


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Declare an operator by its schema.

    Args:
        qualname: "namespace::name".
        schema: PyTorch's signature as text, without the name: "(Tensor x) -> Tensor".

    >>> import taper
    >>> taper.library.define("example::halved", "(Tensor x) -> Tensor")
    >>> taper.library.impl("example::halved", "cpu", lambda x: x / 2)
    >>> taper.ops.example.halved(taper.ones(1))
    tensor([0.5000])
    """
    namespace, _, short = qualname.partition("::")
    (lib or Library(namespace, "FRAGMENT")).define(short + schema, tags=tags)


def impl(
    qualname: str, types: Any, func: Callable[..., Any] | None = None, *, lib: Any = None
) -> Any:
    """Give an operator that `define` declared its function.

    Args:
        qualname: "namespace::name".
        types: devices, "default", or PyTorch's dispatch keys.
        func: the function; without it a decorator is returned.

    >>> import taper
    >>> taper.library.define("example::thirded", "(Tensor x) -> Tensor")
    >>> taper.library.impl("example::thirded", "cpu", lambda x: x / 3)
    >>> taper.ops.example.thirded(taper.full((1,), 6.0))
    tensor([2.])
    """
    names = {"cpu": "CPU", "default": "CompositeExplicitAutograd", "meta": "Meta"}

    def register(function: Callable[..., Any]) -> None:
        for each in (types,) if isinstance(types, str) else types:
            _implement(qualname, function, names.get(each, each))

    return register if func is None else register(func)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Set what an operator makes of meta tensors.

    Args:
        op: the operator, or its name; it may be declared later.
        func: takes the operator's arguments; without it a decorator is returned.

    >>> import taper
    >>> @taper.library.custom_op("example::rows", mutates_args=())
    ... def rows(x: taper.Tensor) -> taper.Tensor:
    ...     return taper.from_numpy(x.numpy().sum(1))
    >>> _ = taper.library.register_fake("example::rows", lambda x: x.new_empty(x.shape[:1]))
    >>> rows(taper.empty(2, 3, device="meta")).shape
    torch.Size([2])
    """
    name = op if isinstance(op, str) else _operator(op, "register_fake")._qualname

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _fakes[name] = function
        return function

    return register if func is None else register(func)


def opcheck(op: Any, args: tuple[Any, ...], kwargs: Any = None, **options: Any) -> dict[str, Any]:
    """Test on an example whether an operator keeps what it declares; say what came of each test.

    Args:
        op: an operator of `custom_op`, `Library` or `define`.
        args, kwargs: what it is called with.
        test_utils: a test or several; all by default.
        raise_exception: raise at the first failure (the default), or put errors into the result.

    >>> import taper
    >>> @taper.library.custom_op("example::copy", mutates_args=())
    ... def copy(x: taper.Tensor) -> taper.Tensor:
    ...     return x.clone()
    >>> taper.library.opcheck(copy, (taper.ones(1),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    # late: only those who write operators check them
    from taper.testing.operator_checks import run

    return run(_operator(op, "opcheck"), _fakes, args, kwargs or {}, **options)
