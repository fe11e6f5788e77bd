"""The context of a custom function, which is its node (§G13).

Whatever the user stores on the context lives exactly as long as the graph.  All names without an
underscore are the user's, except those that PyTorch's context has; a user's `ctx.name = ...` must
not disturb the engine.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, ClassVar

import numpy as np

from taper.autograd.callers import running_module
from taper.autograd.node import FREED, LIVE, InputMetadata, Node, NodeExtra, Place
from taper.autograd.saved import SavedValue, freed_error, handle
from taper.autograd.state import local
from taper.autograd.views import run_unrecorded
from taper.device import device
from taper.dtypes import FROM_NUMPY, float32
from taper.tensor import Tensor, wrap

Metadata = tuple[tuple[int, ...], Any]

ONLY_ONCE = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)


class FunctionCtx:
    """The first argument of `forward` and `backward` of a custom function, which joins them."""

    to_save: Any = None
    saved_for_forward: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None
    materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for `backward`, which reads them from `ctx.saved_tensors`.

        Call it at most once, in `forward` or `setup_context`, with inputs and outputs; reading
        raises if one of them was written in place since.  Other values may be stored as attributes
        of `ctx`.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for `jvp`, which reads them from `ctx.saved_tensors`."""
        for tensor in tensors:
            if not (tensor is None or isinstance(tensor, Tensor)):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare inputs that `forward` writes in place; `forward` must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: taper tracks shared memory anyway."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether undefined gradients reach `backward` as zeros (the default) or as None."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but "
                "expected (bool)"
            )
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function."""

    _forward_cls: ClassVar[Any]
    _saves = True
    _passes_undefined = False
    _takes_real_part = False

    # Whether outputs without a gradient give zeros to `backward`, or None (§F8).
    _materialize_non_diff_grads = True
    # Whether the output is a view of the only input, made by taper's own views: then writing it in
    # place is allowed (§F12).
    _is_pure_view = False

    # Defaults in the class: an instance sets only what it needs, so making one takes a third of the
    # time.
    _edges: tuple[Node | None, ...] = ()
    _edge_nrs: tuple[int, ...] = ()
    _status = LIVE
    _shape: tuple[int, ...] = ()
    _dtype: Any = None
    _code: CodeType | None = None
    _offset = 0
    _extra: NodeExtra | None = None
    _outputs: Sequence[Metadata | None] = ()  # of the forward; None for an output that is no tensor
    _without_grad: frozenset[int] = frozenset()  # numbers of non-differentiable outputs
    _kept_values: tuple[SavedValue, ...] | None = ()  # None once handed over (§F19)
    _is_tensor: tuple[bool, ...] = ()  # which arguments of `forward` are tensors
    _in_jvp = False
    needs_input_grad: tuple[bool, ...] | None = None

    def __init__(self) -> None:
        state = local.state
        self._sequence = state.sequence
        state.sequence += 1
        module = running_module()
        self._module = None if module is None else weakref.ref(module)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    @property
    def _output_count(self) -> int:  # type: ignore[override]
        return max(len(self._outputs), 1)

    def _output_metadata(self, nr: int) -> Metadata:
        metadata = self._outputs[nr] if self._outputs else None
        return metadata if metadata is not None else ((), None)

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple(
            InputMetadata([], float32, device("cpu"))  # what PyTorch shows for other outputs
            if metadata is None or nr in self._without_grad
            else InputMetadata(list(metadata[0]), FROM_NUMPY[metadata[1]], device("cpu"))
            for nr, metadata in enumerate(self._outputs)
        )

    def _saves_output(self, nr: int) -> bool:
        return any(each.is_output and each.output_nr == nr for each in self._kept_values or ())

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """Read what `save_for_backward` saved (in `jvp`: what `save_for_forward` saved)."""
        if self._in_jvp:
            return tuple(self.saved_for_forward or ())
        if self._kept_values is None:
            raise RuntimeError(ONLY_ONCE)
        if self._status == FREED:
            raise freed_error(self)
        values = tuple(value.unpack(self) for value in self._kept_values)
        if self._forward_cls.clear_saved_tensors_on_access:
            for value in self._kept_values:
                value.release()
            self._kept_values = None
        return values

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self._status == FREED:
            raise freed_error(self)
        return tuple(handle(self, value) for value in self._kept_values or ())

    def _release(self, place: Place) -> None:
        if self._kept_values is not None:
            for value in self._kept_values:
                value.release()
            self._kept_values = ()
        self._status = FREED
        self._freed_at = place

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        given = [None if grad is None else wrap(grad) for grad in grads]
        if self._forward_cls.boxed_grads_call:
            grads[:] = [None] * len(grads)
        return run_unrecorded(self, given)

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        given = [self._materialized(nr, grad) for nr, grad in enumerate(grads)]
        if self._forward_cls.boxed_grads_call:
            grads[:] = [None] * len(grads)  # the user holds the only references
        results = self._call_backward(given)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def apply(self, *grads: Any) -> Any:
        """Run the user's `backward` alone."""
        given = list(grads)
        del grads  # a boxed call holds the only references (§F18)
        return self._call_backward(given)

    def apply_boxed(self, grads: list[Any]) -> Any:
        """Run the user's `backward` on one list of gradients."""
        return backward_function(self._forward_cls)(self, grads)

    def apply_jvp(self, *tangents: Any) -> Any:
        """Run the user's `jvp` alone."""
        return self._forward_cls.jvp(self, *tangents)

    def _call_backward(self, given: list[Any]) -> Any:
        function = backward_function(self._forward_cls)
        if self._forward_cls.boxed_grads_call:
            return function(self, given)
        return function(self, *given)

    def _materialized(self, nr: int, grad: Any) -> Any:
        """Return a gradient for `backward`: zeros for an undefined one, or None (§F9)."""
        if grad is not None or not self.materialize_grads or not self._outputs:
            return grad
        metadata = self._outputs[nr]
        if metadata is None or (nr in self._without_grad and not self._materialize_non_diff_grads):
            return None
        return wrap(np.zeros(*metadata))

    def _checked(self, results: Sequence[Any]) -> list[Any]:
        """Return one gradient for each tensor argument, after PyTorch's checks (§F3)."""
        expected = len(self._is_tensor)
        while len(results) > expected and results[-1] is None:
            results = results[:-1]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self._class_name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)})"
            )
        grads = []
        for position, (is_tensor, grad) in enumerate(zip(self._is_tensor, results, strict=True), 1):
            if is_tensor:
                if grad is not None and not isinstance(grad, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
                grads.append(grad)
            elif grad is not None:
                raise RuntimeError(
                    f"function {self._class_name()} returned a gradient different than None at "
                    f"position {position}, but the corresponding forward input was not a Variable"
                )
        return grads


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """Return the gradients of the arguments, given those of the outputs."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function "
        "to use it with backward mode AD."
    )


def backward_function(cls: Any) -> Callable[..., Any]:
    """Return the `backward` of a Function, or its `vjp`, which is another name for it."""
    backward, vjp = cls.backward, cls.vjp
    if backward is not no_backward and vjp is not no_backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    chosen: Callable[..., Any] = backward if vjp is no_backward else vjp
    return chosen
