"""`taper.autograd.forward_ad`: forward-mode differentiation with dual tensors.

>>> import taper
>>> import taper.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(taper.tensor([2.0]), taper.tensor([1.0]))
...     print(fwAD.unpack_dual(x * x).tangent)
tensor([4.])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from taper.autograd.state import DUAL, local
from taper.autograd.tangents import set_tangent
from taper.autograd.tangents import tangent as tangent_of
from taper.tensor import Tensor, wrap

_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level; tangents exist only inside one."""
    global _current_level
    state = local.state
    if state.dual_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    state.dual_level += 1
    state.mode |= DUAL
    _current_level = state.dual_level
    return state.dual_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; the tangents made in it vanish."""
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
    state.dual_generation += 1
    _current_level = state.dual_level


class dual_level:
    """A block in which duals exist."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor on the same memory as `tensor` that carries `tangent`.

    >>> import taper
    >>> import taper.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.make_dual(taper.tensor([2.0]), taper.tensor([1.0]))
    tensor([2.], tangent=tensor([1.]))
    """
    open_level = local.state.dual_level
    if open_level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if not (each.is_floating_point() or each.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {each.dtype}"
            )
    if level is not None and level != open_level:
        raise RuntimeError("Invalid level given to _make_dual")
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor._array.shape)} while "
            f"the given forward gradient is of size {list(tangent._array.shape)}."
        )
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level"
            f"{open_level} is not supported."
        )
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            f"same level {open_level} is not supported."
        )
    dual = _alias(tensor)
    if tangent._array.strides != tensor._array.strides and tensor._array.size:
        array = np.empty_like(tensor._array, dtype=tangent._array.dtype)
        array[...] = tangent._array
        carried = wrap(array) if not tangent.requires_grad else tangent.clone()
    else:
        carried = tangent
    set_tangent(dual, carried)
    return dual


def _alias(tensor: Tensor) -> Tensor:
    """A view of the whole tensor that shares its history."""
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        return tensor.view_as(tensor)
    finally:
        state.mode = mode


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal (a view without tangent) and the tangent, None if there is none.

    >>> import taper
    >>> import taper.autograd.forward_ad as fwAD
    >>> fwAD.unpack_dual(taper.tensor([2.0])).tangent is None
    True
    """
    open_level = local.state.dual_level
    if open_level < 0:
        return UnpackedDualTensor(tensor, None)
    if level is not None and level != open_level:
        raise RuntimeError("Invalid level given to _fw_primal")
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    found = tangent_of(tensor)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_alias(tensor), found)


def _is_fwd_grad_enabled() -> bool:
    return bool(local.state.mode & DUAL) or local.state.dual_level < 0


class _set_fwd_grad_enabled:
    """Switch the propagation of tangents on or off for a block."""

    def __init__(self, mode: bool) -> None:
        self.before = local.state.mode & DUAL
        self._set(DUAL if mode and local.state.dual_level >= 0 else 0)

    def _set(self, bits: int) -> None:
        state = local.state
        state.mode = (state.mode & ~DUAL) | bits

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        self._set(self.before)
