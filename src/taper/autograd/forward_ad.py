"""`taper.autograd.forward_ad`: forward-mode differentiation with dual tensors.

>>> import taper
>>> import taper.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(taper.tensor([2.0]), taper.tensor([1.0]))
...     print(fwAD.unpack_dual(x * x).tangent)
tensor([4.])
"""

from __future__ import annotations

from typing import Any, NamedTuple

from taper.arrays.scalars import type_name
from taper.autograd.duals import (
    are_visible,
    check_size,
    close_level,
    dual_of,
    laid_out,
    open_level,
    primal_of,
    set_tangent,
)
from taper.autograd.duals import tangent as tangent_of
from taper.autograd.grad_mode import decorated
from taper.autograd.state import DUAL, INFERENCE, local
from taper.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns.

    >>> import taper
    >>> from taper.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     forward_ad.unpack_dual(forward_ad.make_dual(taper.tensor(3.0), taper.tensor(1.0)))
    UnpackedDualTensor(primal=tensor(3.), tangent=tensor(1.))
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level and return its number; tangents exist only inside a level.

    >>> import taper
    >>> from taper.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(taper.tensor(3.0), taper.tensor(1.0))
    >>> forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    state = local.state
    if state.dual_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    state.dual_level += 1
    if state.dual_enabled:
        state.mode |= DUAL
    open_level()
    _current_level = state.dual_level
    return state.dual_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; its tangents vanish.

    >>> import taper
    >>> from taper.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> x = forward_ad.make_dual(taper.tensor(3.0), taper.tensor(1.0))
    >>> forward_ad.exit_dual_level()
    >>> x
    tensor(3.)
    """
    global _current_level
    state = local.state
    if state.dual_level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != state.dual_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported."
        )
    state.dual_level -= 1
    state.mode &= ~DUAL
    close_level()
    _current_level = state.dual_level


class dual_level:
    """Open a level for a block or a decorated function; duals exist only inside one.

    >>> import taper
    >>> import taper.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level() as level:
    ...     level
    0
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def __call__(self, function: Any) -> Any:
        return decorated(dual_level, function)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a tensor on the memory of `tensor` that carries `tangent`.

    Args:
        tensor: the primal, of a floating-point or complex dtype.
        tangent: the direction to differentiate along, with the shape and dtype of `tensor`.
        level: the level to make the dual in; by default the open one.

    >>> import taper
    >>> import taper.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.make_dual(taper.tensor([2.0]), taper.tensor([1.0]))
    tensor([2.], tangent=tensor([1.]))
    """
    current = local.state.dual_level
    if current < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if not (each.is_floating_point() or each.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {each.dtype}"
            )
    if level is not None and level != current:
        raise RuntimeError("Invalid level given to _make_dual")
    dual = dual_of(tensor)
    check_size(tensor, tangent)
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level"
            f"{current} is not supported."
        )
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            f"same level {current} is not supported."
        )
    if are_visible():
        set_tangent(dual, laid_out(tangent, tensor))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Split a dual into its primal and its tangent.

    Args:
        tensor: a dual, or any other tensor.
        level: the level of the tangent; by default the open one.

    Returns: a named tuple: `primal`, a view of the tensor without tangent, and `tangent`, None if
    there is none.

    >>> import taper
    >>> import taper.autograd.forward_ad as fwAD
    >>> fwAD.unpack_dual(taper.tensor([2.0])).tangent is None
    True
    """
    current = local.state.dual_level
    if current < 0 or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if level is not None and level != current:
        raise RuntimeError("Invalid level given to _fw_primal")
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type_name(tensor)}"
        )
    return UnpackedDualTensor(primal_of(tensor), tangent_of(tensor))


def _is_fwd_grad_enabled() -> bool:
    """Return whether tangents are propagated; never in inference mode (§D11, §D12)."""
    return local.state.dual_enabled and not local.state.mode & INFERENCE


class _set_fwd_grad_enabled:
    """Switch the propagation of tangents on or off, at once or for a block."""

    def __init__(self, mode: bool) -> None:
        self.before = local.state.dual_enabled
        self._set(bool(mode))

    def _set(self, enabled: bool) -> None:
        state = local.state
        state.dual_enabled = enabled
        state.mode &= ~DUAL
        if enabled and state.dual_level >= 0:
            state.mode |= DUAL

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        self._set(self.before)
