"""Lists of tensors sorted for the `_foreach_` functions, as optimizers of libraries ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.device import device as Device
from taper.tensor import Tensor

__all__ = [
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]:
    """Sort the places of parallel lists by device and dtype of the tensors in the first list.

    Args:
        tensorlistlist: lists of equal length; the first one has no None.
        with_indices: also return which places they were.

    >>> import taper
    >>> from taper.utils._foreach_utils import _group_tensors_by_device_and_dtype
    >>> found = _group_tensors_by_device_and_dtype([[taper.ones(1), taper.ones(2)]])
    >>> list(found)
    [(device(type='cpu'), torch.float32)]
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]] = {}
    for place, tensor in enumerate(tensorlistlist[0]):
        if tensor is None:
            raise RuntimeError("the tensors of the first list must not be None")
        lists, places = groups.setdefault(
            (tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], [])
        )
        for sorted_list, given in zip(lists, tensorlistlist, strict=True):
            sorted_list.append(given[place])
        if with_indices:
            places.append(place)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the devices on which PyTorch prefers the `_foreach_` functions."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the devices with optimizers that take one step over all parameters."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _has_foreach_support(tensors: Sequence[Tensor | None], device: Device) -> bool:
    """Return whether the `_foreach_` functions take these tensors."""
    return all(each is None or type(each).__name__ in ("Tensor", "Parameter") for each in tensors)


def _device_has_foreach_support(device: Device) -> bool:
    """Return whether the `_foreach_` functions work on a device."""
    return device.type in {*_get_foreach_kernels_supported_devices(), "cpu"}
