"""Scaling of the loss, so that small float16 gradients do not vanish.

Owns: `GradScaler`, and the two functions on tensors that it is made of.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from taper import cuda, dtypes
from taper.autograd.views import bump_version
from taper.device import device
from taper.ops.creation.filled import full
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["OptState", "GradScaler"]

if TYPE_CHECKING:
    from taper.optim import Optimizer

_CPU = device("cpu")
_KERNEL = "_amp_foreach_non_finite_check_and_unscale_cpu"
_HALF = (dtypes.float16, dtypes.bfloat16)
_NO_SCALE = (
    "Attempted {} but _scale is None.  This may indicate your script did not use "
    "scaler.scale(loss or outputs) earlier in the iteration."
)
_BAD_SCALE = (
    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
    "requires_grad=False."
)
_PASSES_ITSELF = (
    "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In "
    "the near future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the "
    "passed optimizer and let the optimizer use them directly."
)


# --- on tensors ------------------------------------------------------------------------------


def _check_number(name: str, tensor: Tensor) -> None:
    if tensor.numel() != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype is not dtypes.float32:
        raise RuntimeError(f"{name} must be a float tensor.")


def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply tensors by `inv_scale` in place; `found_inf` becomes 1 if a value is not finite.

    >>> import taper
    >>> grads, found = [taper.tensor([2.0, 4.0])], taper.zeros(1)
    >>> taper._amp_foreach_non_finite_check_and_unscale_(grads, found, taper.tensor(0.5))
    >>> grads, found
    ([tensor([1., 2.])], tensor([0.]))
    """
    if not self:
        return
    _check_number("inv_scale", inv_scale)
    _check_number("found_inf", found_inf)
    for each in self:
        if not each.dtype.is_floating_point:
            raise NotImplementedError(
                f"\"{_KERNEL}\" not implemented for '{each.dtype.scalar_type}'"
            )
    factor = inv_scale._array.reshape(())
    for each in self:
        array = each._array
        # A value is checked before it is scaled, in float32 at least.
        wide = array.astype(np.float32) if each.dtype in _HALF else array
        if not np.isfinite(wide).all():
            found_inf._array[...] = 1
            bump_version(found_inf)
        if factor != 1:
            array[...] = wide * wide.dtype.type(factor)
        bump_version(each)


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Shrink a scale if something was infinite, else let it grow every `growth_interval` calls.

    >>> import taper
    >>> scale, tracker = taper.tensor(4.0), taper.tensor(0, dtype=taper.int32)
    >>> taper._amp_update_scale_(scale, tracker, taper.ones(1), 2.0, 0.5, 2000)
    tensor(2.)
    """
    if growth_tracker.dtype is not dtypes.int32:
        raise RuntimeError("growth_tracker must be an int tensor.")
    if self.dtype is not dtypes.float32:
        raise RuntimeError("current_scale must be a float tensor.")
    if found_inf.dtype is not dtypes.float32:
        raise RuntimeError("found_inf must be a float tensor.")
    scale, successes = self._array, growth_tracker._array
    if found_inf._array.item():
        scale[...] = scale * scale_backoff_factor
        successes[...] = 0
    elif successes.item() + 1 == growth_interval:
        grown = np.float32(scale.item() * scale_growth_factor)
        if np.isfinite(grown):
            scale[...] = grown
        successes[...] = 0
    else:
        successes[...] = successes + 1
    bump_version(self)
    bump_version(growth_tracker)
    return self


# --- the scaler ------------------------------------------------------------------------------


class OptState(Enum):
    """What was done with the gradients of an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scale the loss up and the gradients down, and skip steps whose gradients are not finite.

    For each step call `scaler.scale(loss).backward()`, `scaler.step(optimizer)` and
    `scaler.update()`.

    Args:
        device: the type of device.
        init_scale: the first scale.
        growth_factor: the scale grows by it after `growth_interval` steps in a row that were not
            skipped.
        backoff_factor: the scale shrinks by it after a skipped step.
        growth_interval: the number of steps.
        enabled: if False, `scale` returns the loss unchanged and `step` only steps.

    >>> import taper
    >>> weight = taper.ones(2, requires_grad=True)
    >>> optimizer = taper.optim.SGD([weight], lr=0.5)
    >>> scaler = taper.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([1024., 1024.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not cuda.is_available():
            warn_user(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None  # made by the first `scale`
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[Any, dict[str, Any]] = defaultdict(
            _refresh_per_optimizer_state
        )

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(_NO_SCALE.format(funcname))
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = full((), self._init_scale, dtype=dtypes.float32)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32)

    @overload
    def scale(self, outputs: Tensor) -> Tensor: ...
    @overload
    def scale(self, outputs: list[Tensor]) -> list[Tensor]: ...
    @overload
    def scale(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]: ...
    @overload
    def scale(self, outputs: Iterable[Tensor]) -> Iterable[Tensor]: ...
    def scale(self, outputs: Any) -> Any:
        """Return a loss, or an iterable of losses, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._check_scale_growth_tracker("scale")[0]
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    # --- gradients ---------------------------------------------------------------------------

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Divide all gradients by the scale; return by device whether one was not finite."""
        grads = [
            param.grad
            for group in optimizer.param_groups
            for param in group["params"]
            if param.grad is not None
        ]
        if not allow_fp16 and any([grad.dtype is dtypes.float16 for grad in grads]):
            raise ValueError("Attempting to unscale FP16 gradients.")
        if not grads:
            return {}
        found = found_inf.clone()
        _amp_foreach_non_finite_check_and_unscale_(grads, found, inv_scale)
        return {_CPU: found}

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, to inspect or clip them."""
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[optimizer]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, inverse, full((), 0.0, dtype=dtypes.float32), False
        )
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(
        self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        found = optimizer_state["found_inf_per_device"].values()
        return None if sum(each.item() for each in found) else optimizer.step(*args, **kwargs)

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Call `optimizer.step` on the unscaled gradients, unless one of them is not finite.

        Gradients that `unscale_` has not divided yet are divided first.

        Args:
            optimizer: the optimizer; further arguments go to its `step`.

        Returns: what `optimizer.step` returns, or None if the step was skipped.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[optimizer]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_unscales(optimizer, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_unscales(
        self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """Return the step of an optimizer that divides its gradients itself (`fused=True`)."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn_user(_PASSES_ITSELF, FutureWarning)
            return optimizer.step(*args, **dict(kwargs, grad_scaler=self))
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale: Any = self._scale
        own = getattr(optimizer, "grad_scale", None)
        if state["stage"] is OptState.UNSCALED:
            scale = own
        elif own is not None:
            scale = scale * own
        optimizer.grad_scale = scale
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        """Check whether all gradients are finite, and leave them unchanged."""
        one, zero = (full((), value, dtype=dtypes.float32) for value in (1.0, 0.0))
        found = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[optimizer]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Optimizer) -> Any:
        return self._per_optimizer_states[optimizer]["found_inf_per_device"]

    # --- the scale ---------------------------------------------------------------------------

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale to what the steps since the last update have found.

        Args:
            new_scale: set the scale to this number or tensor instead.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            found = [
                each
                for state in self._per_optimizer_states.values()
                for each in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            _amp_update_scale_(
                scale,
                tracker,
                sum(found[1:], found[0]),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _set_scale(self, scale: Tensor, new_scale: Any) -> None:
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
            return
        if new_scale.device.type != self._device or new_scale.numel() != 1:
            raise AssertionError(_BAD_SCALE)
        if new_scale.requires_grad is not False:
            raise AssertionError(_BAD_SCALE)
        scale.copy_(new_scale)

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale as a number; 1 if the scaler is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps in a row after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps in a row after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Return whether the scaler does anything."""
        return self._enabled

    # --- keeping it --------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return all numbers of the scaler, empty if it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            # The next `scale` makes the tensors again.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
