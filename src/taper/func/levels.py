"""Levels: the open transforms of a thread, and the tensors that belong to them.

Owns: the stack of levels, how a tensor enters a differentiating level and how a result leaves it.
One graph serves all levels.  A tensor enters through a `Gateway`, a node of the level that leads on
to the tensor's own history.  So the gradient with respect to the tensor can be asked for at any
time, and goes on to outer levels.  A result that depends on nothing outside leaves without history.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from taper.autograd import forward_ad
from taper.autograd.builtin import BuiltinNode
from taper.autograd.custom_forward import apply_function, no_setup_context
from taper.autograd.interception import Call, pop, push
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.node import LIVE, Node
from taper.autograd.state import INFERENCE, INTERCEPT, NO_GRAD, local
from taper.autograd.tangents import set_tangent, tangent
from taper.autograd.views import alias, gradient_edge, requires_grad, set_history
from taper.func.batching import bare, innermost, levels_of, rewrap
from taper.tensor import Tensor, wrap

NO_SAVED_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)
NO_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
    "...), it must override the setup_context staticmethod. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)

_numbers = itertools.count(1)


class Status:
    """Whether a level is open; objects that outlive the level refer to this instead of it."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = False


class Level:
    """One open transform; as an interceptor it sees every operator call while it is open."""

    is_vmap = False
    tracks_gradients = False
    size = 0  # of the batch

    def __init__(self) -> None:
        self.number = next(_numbers)  # grows: what is made inside has this number or a larger one
        self.depth = 0  # as error texts count it
        self.status = Status()

    def __enter__(self) -> Any:
        state = local.state
        self.outer_mode = state.mode
        state.transforms = (*state.transforms, self)
        self.depth = len(state.transforms)
        self.status.open = True
        push(self)
        return self

    def __exit__(self, *exception: object) -> None:
        pop(self)
        state = local.state
        state.transforms = tuple(each for each in state.transforms if each is not self)
        self.status.open = False
        kept = NO_GRAD | INFERENCE
        state.mode = state.mode & ~kept | self.outer_mode & kept

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        raise NotImplementedError

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the block from this level and from those inside it."""
        state = local.state
        transforms, interceptors = state.transforms, state.interceptors
        state.transforms = transforms[: transforms.index(self)]
        if self in interceptors:
            _intercept(interceptors[: interceptors.index(self)])
        try:
            yield
        finally:
            state.transforms = transforms
            _intercept(interceptors)

    def call(
        self, label: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """Run a function that works on arrays, as the levels around this one require."""
        with self.hidden():
            transforms = local.state.transforms
            if transforms:
                return transforms[-1].call(label, function, args, kwargs)
            return function(*args, **kwargs)

    def head(self, tensor: Tensor) -> str:
        """Return how the text of a tensor of this level begins; nothing for other tensors."""
        return ""

    def apply_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `cls.apply` of a custom function."""
        if cls.setup_context is no_setup_context:
            raise RuntimeError(NO_CONTEXT)
        with self.hidden():
            transforms = local.state.transforms
            if transforms:
                return transforms[-1].apply_function(cls, args, kwargs)
            return apply_function(cls, args, kwargs)


def _intercept(interceptors: tuple[Any, ...]) -> None:
    state = local.state
    state.interceptors = interceptors
    state.mode = state.mode | INTERCEPT if interceptors else state.mode & ~INTERCEPT


def open_vmaps() -> list[Any]:
    """Return the open `vmap` levels, the outermost first."""
    return [each for each in local.state.transforms if each.is_vmap]


def each_tensor(result: Any) -> Iterator[Tensor]:
    """Yield the tensors that an operator has returned."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, tuple | list):
        yield from (each for each in result if isinstance(each, Tensor))


# --- levels that differentiate ---------------------------------------------------------------


class DifferentiatingLevel(Level):
    """A level of `grad`, `vjp` or `jvp`: tensors from outside may not be written in it."""

    def __init__(self) -> None:
        super().__init__()
        self.originals: dict[int, tuple[Tensor, Tensor]] = {}  # by id: what entered, and as what

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        if call.kind == "inplace":
            self.check_write(call)
        result = run()
        if call.op.view and not self.made(call.arguments[0]):
            return result  # a view of a tensor from outside counts as outside
        number = self.number
        if result.__class__ is Tensor:
            result.__dict__["_made_in"] = number
        else:
            for each in each_tensor(result):
                each.__dict__["_made_in"] = number
        return result

    def call(
        self, label: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        if label in WRITES and args and not self.made(args[0]):
            raise captured_error(label)
        result = super().call(label, function, args, kwargs)
        for each in each_tensor(result):
            each.__dict__["_made_in"] = self.number
        return result

    def apply_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = super().apply_function(cls, args, kwargs)
        for each in each_tensor(result):
            each.__dict__["_made_in"] = self.number
        return result

    def head(self, tensor: Tensor) -> str:
        return f"GradTrackingTensor(lvl={self.depth}" if self.made(tensor) else ""

    def made(self, tensor: Any) -> bool:
        """Return whether a tensor was made in this level, or has entered it."""
        return not isinstance(tensor, Tensor) or tensor.__dict__.get("_made_in", 0) >= self.number

    def check_write(self, call: Call) -> None:
        """Raise for a write to a tensor from outside."""
        if not self.made(call.arguments[0]):
            name = written_name(call.op)
            by_tensor = name == "fill_" and isinstance(call.arguments[-1], Tensor)
            raise captured_error(name, ".Tensor" if by_tensor else None)

    def enters_as(self, tensor: Tensor, inside: Tensor) -> Tensor:
        """Remember that `inside` stands for `tensor`."""
        inside.__dict__["_made_in"] = self.number
        self.originals[id(inside)] = (tensor, inside)
        return inside

    def leave(self, tensor: Any) -> Any:
        """Return a result as the outside sees it."""
        if not isinstance(tensor, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(tensor)}")
        known = self.originals.get(id(tensor))
        if known is not None:
            return known[0]
        return released(unmarked(tensor), self.outer_mode)


def unmarked(tensor: Any) -> Any:
    """Return a tensor that leaves the outermost transform, without the mark of its level."""
    if not local.state.transforms and isinstance(tensor, Tensor):
        tensor.__dict__.pop("_made_in", None)
    return tensor


def released(tensor: Tensor, mode: int) -> Tensor:
    """Return a result in the mode of the outside: without history if it is not needed there."""
    inner = innermost(tensor)
    if not requires_grad(inner) or inner._grad_fn is None:
        return tensor
    if not mode & NO_GRAD and depends_on_outside(inner):
        return tensor
    return rewrap(_carried(inner, alias(inner)), levels_of(tensor))


def _carried(source: Tensor, copy: Tensor) -> Tensor:
    """Return the copy with the tangent of its source."""
    found = tangent(source)
    if found is not None:
        set_tangent(copy, found)
    return copy


def made_by_differentiation(tensor: Tensor) -> bool:
    """Return whether the innermost level differentiates and has made a tensor."""
    top = local.state.transforms[-1]
    return isinstance(top, DifferentiatingLevel) and top.made(tensor)


# Functions that write, seen as a whole.
WRITES = frozenset(
    "normal_ uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_".split()
)

# Overloads that PyTorch's message names; it names others without one.
_OVERLOADS = {
    "Tensor": "add_ sub_ mul_ div_ eq_ ne_ lt_ le_ gt_ ge_ remainder_ fmod_ floor_divide_ "
    "bitwise_and_ bitwise_or_ bitwise_xor_".split(),
    "Scalar": ["pow_", "fill_", "masked_fill_"],
}


def written_name(op: Any) -> str:
    """Return PyTorch's name of the in-place twin of an operator."""
    name: str = op.label.rstrip("_")
    for ending in ("_tensor", "_value", "_scalar"):
        name = name.removesuffix(ending)
    return f"{name}_"


def captured_error(name: str, overload: str | None = None) -> RuntimeError:
    """Return the error of a write to a tensor that the function did not make itself."""
    if overload is None:
        overload = next((f".{kind}" for kind, names in _OVERLOADS.items() if name in names), "")
    return RuntimeError(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
        f"in-place operation (aten::{name}{overload}) that would mutate a captured Tensor. This is "
        "not supported; please rewrite the function being transformed to explicitly accept the "
        "mutated Tensor(s) as inputs."
    )


class Gateway(BuiltinNode):
    """Where a tensor enters a level: its gradient there, and the way on to the outside."""

    __slots__ = ("status",)

    def __init__(self, level: Level, tensor: Tensor, connected: bool) -> None:
        node, nr = gradient_edge(tensor) if connected else (None, 0)
        self._edges, self._edge_nrs = (node,), (nr,)
        state = local.state
        self._sequence = state.sequence
        state.sequence += 1
        self._status = LIVE
        self._shape, self._dtype = tensor._array.shape, tensor._array.dtype
        self._code, self._offset = None, 0
        self._extra = None
        self.status = level.status

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return grads

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        return grads


def depends_on_outside(tensor: Tensor) -> bool:
    """Return whether a tensor leads to a leaf that no closed level made."""
    first = gradient_edge(tensor)[0]
    seen: set[Any] = {first}
    waiting = [first]
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        if hasattr(node, "variable") or (isinstance(node, Gateway) and node.status.open):
            return True
        for following in node._edges:
            if following is not None and not isinstance(following, Node):
                return True  # a leaf instead of its AccumulateGrad
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return False


class GradLevel(DifferentiatingLevel):
    """A level of reverse mode."""

    tracks_gradients = True

    def __init__(self, vmaps: Sequence[Any] = ()) -> None:
        super().__init__()
        self.vmaps = list(vmaps)  # their batches are dimensions of what is differentiated
        self.gateways: list[Gateway] = []
        self.leaves: list[Tensor] = []

    def __enter__(self) -> Any:
        state = local.state
        if state.saved_hooks:
            raise RuntimeError(NO_SAVED_HOOKS)
        self.hooks_disabled = state.hooks_disabled
        super().__enter__()
        state.hooks_disabled = NO_SAVED_HOOKS
        state.mode &= ~(NO_GRAD | INFERENCE)
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        local.state.hooks_disabled = self.hooks_disabled

    def enter(self, tensor: Any, differentiable: bool) -> Any:
        """Return a tensor as the function sees it, with or without gradients by it.

        A differentiated tensor gets a place of its own in every batch; otherwise its gradient would
        be the sum over the batch.
        """
        if not isinstance(tensor, Tensor):
            if differentiable:
                raise ValueError(
                    f"Thing passed to transform API must be Tensor, got {type(tensor)}"
                )
            return tensor
        levels = self.vmaps if differentiable else levels_of(tensor)
        whole = bare(tensor, levels)
        if differentiable and not (whole.is_floating_point() or whole.is_complex()):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        inside = wrap(whole._array) if whole._counter is INFERENCE_COUNTER else alias(whole)
        _carried(whole, inside)
        connected = not self.outer_mode & NO_GRAD and requires_grad(whole)
        if differentiable or connected:
            gateway = Gateway(self, whole, connected)
            set_history(inside, gateway)
            if differentiable:
                self.gateways.append(gateway)
                self.leaves.append(inside)
        return self.enters_as(tensor, rewrap(inside, levels))

    def enter_zeros(self, like: Tensor) -> Tensor:
        """Return zeros of a tensor's shape, by which the function can be differentiated."""
        inside = wrap(np.zeros(like._array.shape, like._array.dtype))
        self.gateways.append(Gateway(self, inside, False))
        set_history(inside, self.gateways[-1])
        return inside

    def check_write(self, call: Call) -> None:
        super().check_write(call)
        if local.state.mode & NO_GRAD:
            return
        target = innermost(call.arguments[0])
        base = target._view.base if target._view is not None else None
        if any(each is target for each in self.leaves):
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        if base is not None and any(each is base for each in self.leaves):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )


class JvpLevel(DifferentiatingLevel):
    """A level of forward mode, of which only one can be open."""

    def __enter__(self) -> Any:
        super().__enter__()
        local.state.mode &= ~INFERENCE
        self.enabled = forward_ad._set_fwd_grad_enabled(True)
        forward_ad.enter_dual_level()
        local.state.dual_vmaps = tuple(open_vmaps())
        return self

    def __exit__(self, *exception: object) -> None:
        local.state.dual_vmaps = ()
        forward_ad.exit_dual_level()
        self.enabled.__exit__()
        super().__exit__(*exception)
