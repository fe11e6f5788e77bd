"""Questions about the memory of a tensor that few programs ask, and what loads into a module.

const_data_ptr, dim_order, is_set_to, storage_type, is_distributed, module_load, index.
"""

from __future__ import annotations

from typing import Any

from taper.arrays.strides import owner_of
from taper.device import channels_last, channels_last_3d, contiguous_format, memory_format
from taper.factory import is_integer, refuse
from taper.opdef import composite
from taper.storage import LEGACY, LegacyStorage
from taper.tensor import Tensor, element_strides, storage_offset

_NOT_UNIQUE = "The tensor does not have unique dim order"


@composite(public=False)
def const_data_ptr(self: Tensor) -> int:
    """Return the address of the first element, for reading.

    >>> import taper
    >>> x = taper.ones(2)
    >>> x.const_data_ptr() == x.data_ptr()
    True
    """
    return self.data_ptr()


@composite(public=False)
def storage_type(self: Tensor) -> LegacyStorage:
    """Return the class of the tensor's storage.

    >>> import taper
    >>> taper.ones(2).storage_type() is taper.FloatStorage
    True
    """
    return LEGACY[f"{self.dtype.scalar_type}Storage"]


@composite(public=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Tell whether two tensors are the same view of the same memory.

    >>> import taper
    >>> x = taper.ones(2)
    >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
    (True, False)
    """
    if not isinstance(tensor, Tensor):
        refuse("is_set_to", "tensor", 1, "Tensor", tensor)
    mine, other = self._array, tensor._array
    return (
        owner_of(mine) is owner_of(other)
        and storage_offset(mine) == storage_offset(other)
        and mine.shape == other.shape
        and mine.strides == other.strides
    )


@composite()
def is_distributed(input: Tensor) -> bool:
    """Return False: every tensor is in this process.

    >>> import taper
    >>> taper.is_distributed(taper.ones(2))
    False
    """
    if not isinstance(input, Tensor):
        refuse("is_distributed", "input", 1, "Tensor", input)
    return False


# --- dim_order -------------------------------------------------------------------------------


@composite(public=False)
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """List the dimensions from the outermost in memory to the innermost.

    `ambiguity_check` refuses an order that lengths of 1 or repeated strides leave open; a list of
    memory formats refuses a tensor that fits several of them, or none.

    >>> import taper
    >>> taper.ones(2, 3).t().dim_order()
    (1, 0)
    """
    formats = isinstance(ambiguity_check, list)
    if formats:
        good = all(isinstance(each, memory_format) for each in ambiguity_check)
    else:
        good = isinstance(ambiguity_check, bool)
    if not good:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = element_strides(self._array)
    if ambiguity_check and _is_ambiguous(self, strides, ambiguity_check):
        raise RuntimeError(_NOT_UNIQUE + _other_formats(strides))
    return _sorted_dims(strides)


def _sorted_dims(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Order dimensions by falling stride; a stride of 0 says nothing, so its dimension stays."""
    order: list[int] = []
    for dim, step in enumerate(strides):
        place = len(order)
        while place and step and 0 < strides[order[place - 1]] < step:
            place -= 1
        order.insert(place, dim)
    return tuple(order)


def _other_formats(strides: tuple[int, ...]) -> str:
    if 0 in strides:
        return "."
    return ", or cannot map to exact one of the given memory formats."


def _is_ambiguous(tensor: Tensor, strides: tuple[int, ...], check: Any) -> bool:
    if 0 in strides:
        return True
    unique = len(set(strides)) == len(strides) and 1 not in tensor.shape
    if unique or check is True:
        return not unique
    return sum(_fits(tensor, each) for each in check) != 1


def _fits(tensor: Tensor, wanted: memory_format) -> bool:
    ranks = {channels_last: 4, channels_last_3d: 5}
    if wanted in ranks and tensor.dim() != ranks[wanted]:
        return False
    known = (contiguous_format, channels_last, channels_last_3d)
    return wanted in known and bool(tensor.is_contiguous(memory_format=wanted))


# --- module_load, index ----------------------------------------------------------------------


@composite(public=False)
def module_load(self: Tensor, other: Any, assign: bool = False) -> Tensor:
    """Return what `load_state_dict` replaces `self` by: itself with the values of `other`.

    With `assign` it is `other`.

    >>> import taper
    >>> taper.zeros(2).module_load(taper.ones(2))
    tensor([1., 1.])
    """
    if assign:
        return other.detach() if isinstance(other, Tensor) else other
    return self.copy_(other).detach()


@composite(public=False)
def index(self: Tensor, positions: Any, dims: Any) -> Tensor:
    """Index the tensor in some dimensions: `index((0, 2), (i, j))` is `self[i, :, j]`.

    >>> import taper
    >>> taper.arange(6).view(2, 3).index(1, 2)
    tensor([2, 5])
    """
    several = isinstance(positions, (tuple, list))
    places = positions if several else (positions,)
    chosen = dims if several and isinstance(dims, (tuple, list)) else (dims,)
    wanted: list[Any] = [slice(None)] * self.dim()
    for place, each in zip(places, chosen, strict=True):
        if not (is_integer(each) or isinstance(each, (slice, Tensor))):
            raise NotImplementedError(
                "first-class dimensions are not provided: index with integers, slices and tensors"
            )
        if not is_integer(place) or not -self.dim() <= place < self.dim():
            raise IndexError(f"Dimension out of range for {self.dim()} dimensions: {place}")
        wanted[place] = each
    return self[tuple(wanted)]
