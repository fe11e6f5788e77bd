"""RuleOptimizer: what the optimizers with an element-wise rule share, which is all but the rule.

A subclass says which rule, which coefficients and which states. Here is the loop over groups and
parameters: it makes states, runs the rule over packs, single parameters or Tensors, and keeps
scalars such as `step`. There is one way of computing: `foreach` and `fused` are accepted and
change nothing but what PyTorch refuses for them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, overload

import numpy as np

from taper.arrays.foreign import is_foreign
from taper.autograd.grad_mode import set_grad_enabled
from taper.autograd.interception import announce_write, are_formulas_seen
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.provenance import user_frame
from taper.autograd.state import INTERCEPT, local
from taper.autograd.views import check_inplace
from taper.device import strided
from taper.ops.elementwise.complexes import view_as_real
from taper.optim.optimizer import Loss, Optimizer, ParamsT, _get_scalar_dtype
from taper.optim.packs import Alone, Pack, has_packable, run_length, unite
from taper.optim.seen import step_for
from taper.optim.seen import update as update_shown
from taper.optim.update import (
    Numbers,
    Place,
    Rule,
    computed_in,
    differentiable_number,
    new_state,
    run_recorded,
)
from taper.tensor import Tensor

_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone"]


class RuleOptimizer(Optimizer):
    """Update each parameter by an element-wise rule: a base, not for users."""

    # Set by subclasses: the rule, its coefficients, and the states of one number.
    _rule: ClassVar[Rule]
    _numbers: ClassVar[type[Numbers]]
    _scalars: ClassVar[tuple[str, ...]] = ("step",)
    _differentiable_scalars: ClassVar[tuple[str, ...]] = ()
    # Returns the options that the coefficients of a rule without scalars come from.
    _read_options: ClassVar[Any] = None
    # Options that groups saved by old versions lack.
    _late_options: ClassVar[tuple[tuple[str, Any], ...]] = ()
    # What PyTorch wants on a GPU for `capturable`, and whether it adds "xla" to the devices it
    # names: without and with `foreach`.
    _capturable: ClassVar[tuple[tuple[str, bool], tuple[str, bool]]] = (
        ("params and state_steps", True),
        ("params and state_steps", False),
    )
    # Whether the coefficients depend on the states of one number in more than arithmetic.
    _looks_at_numbers: ClassVar[bool] = False
    _foreach_differentiable: ClassVar[bool] = False
    # Whether PyTorch views complex numbers as pairs; those of a conjugate are none.
    _takes_pairs: ClassVar[bool] = True
    _step_refusal: ClassVar[str] = (
        "a leaf Variable that requires grad is being used in an in-place operation."
    )

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self._runs: dict[Tensor, Pack | Alone] = {}  # of earlier steps, by their first parameter
        self._last_numbers: dict[Any, tuple[Any, Numbers]] = {}
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            self._step_supports_amp_scaling = True
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._runs = {}
        self._last_numbers = {}
        for group in self.param_groups:
            for name, value in self._late_options:
                group.setdefault(name, value)
            for param in group["params"]:
                values = self.state.get(param) or {}
                for name in self._scalars if values else ():
                    if not isinstance(values[name], Tensor):  # old versions kept numbers
                        values[name] = scalar_state(values[name])

    # --- states: a subclass says which, and from where they start ------------------------------

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        """Return the first values of the states of one number."""
        return (0.0,)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return the states that are like the parameter, with first values, in PyTorch's order."""
        raise NotImplementedError

    def _has_state(self, param: Tensor, names: tuple[str, ...]) -> bool:
        return bool(self.state.get(param))

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> None:
        state: dict[str, Any] = self.state[param]
        on_device = group.get("capturable") and is_foreign(param._array)
        for name, value in zip(self._scalars, self._first_scalars(group), strict=True):
            if on_device:
                dtype = _get_scalar_dtype().numpy
                state[name] = _capturable().scalar_on_device(value, dtype)
            else:
                state[name] = scalar_state(value)
        for name, value in self._arrays(group).items():
            state[name] = array_state(param, value)

    def _scalars_of(self, param: Tensor) -> tuple[float, ...]:
        if not self._scalars:
            return ()
        state = self.state[param]
        return tuple([state[name]._array.item() for name in self._scalars])

    # --- the loop ------------------------------------------------------------------------------

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; return what `closure` returns."""
        loss = self._evaluated(closure)
        frame = user_frame(sys._getframe(1))
        place = frame.f_code, frame.f_lasti
        groups = [(group, self._ready(group)) for group in self.param_groups]
        if "found_inf" in self.__dict__ or "grad_scale" in self.__dict__:
            groups = [(group, self._unscaled(group, ready)) for group, ready in groups]
        for group, ready in groups:
            if ready and (group["foreach"] or group.get("capturable")):
                self._check_ways(group, self._can_capture(ready))
        for group, ready in groups:
            if group["differentiable"]:
                with set_grad_enabled(self.defaults["differentiable"]):
                    self._update_recorded(group, ready)
            elif ready:
                seen = local.state.interceptors and are_formulas_seen(local.state)
                shown = step_for(self, group) if seen else None
                if shown is not None:
                    update_shown(self, group, ready, shown)
                elif group.get("capturable") and self._scalars and is_foreign(ready[0]._array):
                    _capturable().update(self, group, ready, place)
                else:
                    self._update(group, ready, place)
        return loss

    # What a step does with a sparse gradient, and what PyTorch calls the optimizer that refuses it.
    _sparse_step: ClassVar[Any] = None
    _sparse_refusal: ClassVar[str] = ""

    def _ready(self, group: dict[str, Any]) -> list[Tensor]:
        """Return the parameters with dense gradients; those with sparse ones are updated here."""
        if self._sparse_step is None:
            return ready_parameters(group, self._sparse_refusal or type(self).__name__)
        sparse: list[Tensor] = []
        ready = ready_parameters(group, "", sparse)
        for param in sparse:
            if not self._has_state(param, tuple(self._arrays(group))) and self._scalars:
                self._new_state(param, group)
            type(self)._sparse_step(param, self.state[param], group)
        return ready

    def _unscaled(self, group: dict[str, Any], ready: list[Tensor]) -> list[Tensor]:
        """Return the parameters to update by what a GradScaler has set; a fused step unscales."""
        if not group.get("fused"):
            return ready
        found: Any = getattr(self, "found_inf", None)
        scale: Any = getattr(self, "grad_scale", None)
        if found is not None and float(found):
            for param in ready if self._scalars else ():
                if not self._has_state(param, ()):
                    self._new_state(param, group)
            return []
        for param in ready if scale is not None else ():
            grad: Any = param.grad
            wide = computed_in(grad._array.dtype)
            grad._array[...] = grad._array.astype(wide, copy=False) / wide.type(scale.item())
        return ready

    def _can_capture(self, ready: list[Tensor]) -> bool:
        """Tell whether parameters, and the numbers among their states, are on a GPU."""
        states = [self.state[each]["step"] for each in ready if "step" in self.state.get(each, ())]
        return all([each.is_cuda for each in (*ready, *states)])

    def _check_ways(self, group: dict[str, Any], can_capture: bool) -> None:
        """Refuse the ways of running that PyTorch refuses where the parameters are."""
        foreach = group["foreach"]
        if foreach and group["differentiable"] and not self._foreach_differentiable:
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("capturable") and not group.get("fused") and not can_capture:
            subject, xla = self._capturable[bool(foreach)]
            devices = [*_CAPTURABLE_DEVICES, "xla"] if xla else _CAPTURABLE_DEVICES
            raise AssertionError(
                f"If capturable=True, {subject} must be on supported devices: {devices}."
            )

    def _update(self, group: dict[str, Any], ready: list[Tensor], place: Place) -> None:
        rule, names = type(self)._rule, tuple(self._arrays(group))
        numbers: Numbers | None = None
        known: Any = None  # what the coefficients are for
        position = 0
        while position < len(ready):
            run: Pack | Alone | None = self._runs.get(ready[position])
            first, scalars = False, None
            if run is not None and run.holds(ready, position, self.state, names):
                scalars = run.common_scalars()
            if run is None or scalars is None:
                run, scalars, first = self._next_run(group, ready, position, names)
            if numbers is None or known != (run.dtype, first, scalars):
                numbers = self._numbers_for(group, scalars, run.dtype)
                numbers.first = first
                known = run.dtype, first, scalars
            run.update(rule, numbers, place)
            position += len(run.params)

    def _numbers_for(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype
    ) -> Numbers:
        """Return the coefficients of a step: the last ones if they do not change (2 us less)."""
        read = self._read_options
        plain = group["lr"].__class__ is float and group.get("weight_decay").__class__ is not Tensor
        if read is None or not plain:
            return self._numbers(group, scalars, computed_in(dtype))
        options = read(group)
        known = self._last_numbers.get(dtype)
        if known is not None and known[0] == options:
            return known[1]
        numbers = self._numbers(group, scalars, computed_in(dtype))
        self._last_numbers[dtype] = options, numbers
        return numbers

    def _next_run(
        self, group: dict[str, Any], ready: list[Tensor], position: int, names: tuple[str, ...]
    ) -> tuple[Pack | Alone, tuple[float, ...], bool]:
        """Return the parameters from `position` on that go together, as a new pack or alone.

        The result tells also their scalars, and whether their states were made just now.
        """
        param = ready[position]
        computed_in(param._array.dtype)  # refuses integers before states are made
        if self._takes_pairs and param.is_conj():
            view_as_real(param)  # which refuses it
        first = not self._has_state(param, names)
        scalars = None if first else self._scalars_of(param)
        params = [param]
        if first or not names or has_packable(self.state[param], names, param):
            for other in ready[position + 1 : position + run_length(ready, position)]:
                if not self._goes_with(other, names, first, scalars):
                    break
                params.append(other)
        if first:
            for each in params:
                self._new_state(each, group)
        states = [self.state[each] for each in params] if names or self._scalars else []
        if first and len(params) > 1:
            for name in (*self._scalars, *names):
                unite([state[name] for state in states])
        for each in params:
            self._runs.pop(each, None)
        scalars = self._scalars_of(param)
        if len(params) == 1:
            run: Pack | Alone = Alone(params, states, names, self._scalars, len(ready))
        else:
            run = Pack(params, states, names, self._scalars)
        self._runs[param] = run
        return run, scalars, first

    def _goes_with(self, param: Tensor, names: tuple[str, ...], first: bool, scalars: Any) -> bool:
        """Tell whether a parameter may be in a pack whose states are new, or have these scalars."""
        if first or not self._has_state(param, names):
            return first and not self._has_state(param, names)
        return self._scalars_of(param) == scalars and (
            not names or has_packable(self.state[param], names, param)
        )

    def _update_recorded(self, group: dict[str, Any], ready: list[Tensor]) -> None:
        names = tuple(self._arrays(group))
        for param in ready:
            first = not self._has_state(param, names)
            if first:
                self._new_state(param, group)
            state = self.state[param] if names or self._scalars else {}
            if self._scalars and state["step"].requires_grad:
                raise RuntimeError(self._step_refusal)
            scalars = [state[name] for name in self._scalars]
            numbers = self._numbers(group, self._recorded_scalars(scalars), None)
            numbers.first = first
            keep_recorded(scalars, numbers.after)
            values = [param, param.grad, *[state[name] for name in names]]
            if param.is_complex():
                values = [view_as_real(each) for each in values]
            run_recorded(type(self)._rule, numbers, *values)
            keep_plain(scalars, numbers.after)

    @classmethod
    def _recorded_scalars(cls, scalars: Sequence[Tensor]) -> tuple[Any, ...]:
        """Return the states of one number; one to differentiate the rule by stays a Tensor."""
        return tuple(
            differentiable_number(each) if name in cls._differentiable_scalars else each.item()
            for name, each in zip(cls._scalars, scalars, strict=True)
        )


def _capturable() -> Any:
    """Load what keeps the numbers of states on a GPU."""
    return importlib.import_module("taper.optim.capturable")  # late: for programs with a GPU


def keep_recorded(scalars: Sequence[Tensor], values: Sequence[Any]) -> None:
    """Set the states of one number that have a history; a leaf refuses."""
    for each, value in zip(scalars, values, strict=True):
        if isinstance(value, Tensor):
            each.copy_(value)


def keep_plain(scalars: Sequence[Tensor], values: Sequence[Any]) -> list[Tensor]:
    """Set the states of one number that have none, and return them."""
    written = []
    for each, value in zip(scalars, values, strict=True):
        if not isinstance(value, Tensor):
            each._array.fill(value)
            written.append(each)
    return written


def ready_parameters(
    group: dict[str, Any], owner: str = "", sparse: list[Tensor] | None = None
) -> list[Tensor]:
    """Return a group's parameters that have a gradient; refuse those that may not be written.

    Those with a sparse gradient go to the list `sparse`; without one they are refused, too.
    """
    ready = []
    for param in group["params"]:
        meta = param._autograd_meta
        if meta is not None and meta.grad is not None:
            if meta.grad.__class__ is not Tensor and meta.grad.layout is not strided:
                if sparse is None:
                    more = ", please consider SparseAdam instead" if owner == "Adam" else ""
                    raise RuntimeError(f"{owner} does not support sparse gradients{more}")
                sparse.append(param)
                continue
            if param._counter is INFERENCE_COUNTER:
                check_inplace(param, False, local.state)
            ready.append(param)
    if local.state.mode & INTERCEPT:
        for param in ready:
            announce_write(param)
    return ready


def scalar_state(value: float) -> Tensor:
    """Make a state of one number: float32, or float64 if that is the default dtype."""
    return new_state(np.array(value, _get_scalar_dtype().numpy))


def array_state(param: Tensor, value: float) -> Tensor:
    """Make a state like the parameter, filled with a number; if complex, in both parts."""
    array = param._array
    if not value:
        return new_state(np.zeros_like(array))
    return new_state(
        np.full_like(array, complex(value, value) if array.dtype.kind == "c" else value)
    )
