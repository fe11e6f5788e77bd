"""Arrays that are no ndarrays: what a tensor on another device than the CPU has in its place.

Owns: what such an array must offer, and which object answers for a type of device.  Nothing here
is on the path of an operation on ndarrays: who asks has seen that `type(x) is ndarray` fails.
Knows devices; must not know Tensor.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from taper.arrays.native import native
from taper.device import ASKED, CPU, PROVIDED, device
from taper.gpu import state


class ForeignArray(NDArrayOperatorsMixin):
    """The base of arrays that are no ndarrays.

    It has what ndarrays have: `dtype` (a NumPy one), `shape`, `strides` (bytes), `ndim`, `size`,
    `itemsize`, `nbytes`, `flags`, `base`, `T`, `real`, `imag`, indexing, and the methods that
    kernels call (`astype`, `copy`, `reshape`, `transpose`, `view`, `fill`, `sum` ...).  NumPy's
    functions reach it through `__array_ufunc__` and `__array_function__`, its operators through
    those; `__array__` raises, so that no kernel takes it for memory of the CPU.
    """

    __slots__ = ()

    __array_ufunc__: Any
    __array_function__: Any

    # What no ndarray has:
    device: device
    place: Place
    address: int  # of the first element, on the device; 0 if there is none
    offset: int  # bytes from the start of its storage to its first element
    storage: Any  # what views of the same memory have in common: an object with `nbytes`

    def strided(
        self, shape: Any, strides: Any, offset: int = 0, dtype: np.dtype[Any] | None = None
    ) -> Any:
        """Return a view that starts `offset` bytes after the first element; strides are bytes."""
        raise NotImplementedError

    def item(self, *place: Any) -> Any:
        return self.place.to_ndarray(self).item(*place)

    def tolist(self) -> Any:
        return self.place.to_ndarray(self).tolist()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(not_numpy(self))


def not_numpy(array: ForeignArray) -> str:
    """Return PyTorch's words for an array that NumPy cannot look at."""
    return (
        f"can't convert {array.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
        "tensor to host memory first."
    )


class Place:
    """What a type of device answers; one object for each type, in `PLACES`."""

    __slots__ = ()

    has_elements = True  # else nothing that writes in place needs to be done

    def empty(self, shape: Any, strides: Any, dtype: np.dtype[Any], where: device) -> Any:
        """Return a new array whose elements are anything; `strides` count elements."""
        raise NotImplementedError

    def filled(self, shape: Any, number: Any, dtype: np.dtype[Any], where: device) -> Any:
        """Return a new row-major array of one number."""
        raise NotImplementedError

    def from_ndarray(self, array: np.ndarray, where: device) -> Any:
        """Return a copy of an array of the CPU, laid out as it is."""
        raise NotImplementedError

    def to_ndarray(self, array: Any) -> np.ndarray:
        """Return a copy on the CPU, laid out as the array is, or refuse."""
        raise NotImplementedError

    def on_storage(
        self, storage: Any, dtype: np.dtype[Any], offset: int, shape: Any, strides: Any
    ) -> Any:
        """Return an array on an existing storage; `offset` and `strides` count elements."""
        raise NotImplementedError

    def refuse_mixture(self, arrays: list[Any]) -> None:
        """Raise if arrays that one operator is given are on several devices."""
        found = {str(device_of(each)): None for each in arrays if is_foreign(each) or each.ndim}
        if len(found) > 1:
            raise two_devices(*list(found)[:2])

    def written(self, name: str, arguments: Any) -> Any:
        """Return what does the in-place form of an operator at once, or None.

        None, too, if something about the arguments may be wrong, or tensors have room in common.
        """
        return None

    def drawn(self, function: Any, out: Any, *arguments: Any) -> Any:
        """Fill an array with random numbers as `function` would, which fills ndarrays."""
        memory = np.empty_like(self.to_ndarray(out))
        out[...] = self.from_ndarray(function(memory, *arguments), out.device)
        return out

    def rescued(self, op: Any, arguments: Any, error: Exception) -> Any:
        """Return what an operator gives whose kernel failed on an array of the place, or raise."""
        raise error

    def rescued_gradient(self, shape: Any, dtype: Any, error: Exception) -> Any:
        """Return a gradient of a form, whose formula failed on an array of the place, or raise."""
        raise error


def two_devices(one: str, other: str) -> RuntimeError:
    """Return the error of an operator that is given tensors on two devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{one} and {other}!"
    )


PLACES: dict[str, Any] = {"meta": "taper.arrays.foreign.meta_place", "cuda": "taper.gpu.place"}
"""The object of each type of device; or the module whose `PLACE` it is, until somebody asks."""


def place_of(where: device) -> Place:
    """Return the object that answers for a device of another type than the CPU."""
    found = PLACES[where.type]
    if isinstance(found, str):
        # late: most programs ask for no other device
        found = PLACES[where.type] = importlib.import_module(found).PLACE
    place: Place = found
    return place


PROVIDED.update(PLACES)
ASKED["cuda"] = state.asked

ARRAYS: tuple[Any, ...] = (np.ndarray, ForeignArray)
"""For `isinstance`: whatever kernels and formulas may be given as an array."""


def is_foreign(value: Any) -> bool:
    """Return whether a value is an array that is no ndarray."""
    return isinstance(value, ForeignArray)


def has_elements(array: Any) -> bool:
    """Return whether an array has elements, which all but meta arrays have."""
    return type(array) is np.ndarray or not is_foreign(array) or array.place.has_elements


def refuse_without_elements(array: Any, name: str) -> None:
    """Raise if an operator that reads elements is given an array that has none."""
    if not has_elements(array):
        raise NotImplementedError(no_kernel(name))


def no_kernel(name: str) -> str:
    """Return PyTorch's words for an operator that the meta device does not have."""
    return (
        f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake "
        "impl or Meta kernel registered. You may have run into this message while using an "
        "operator with PT2 compilation APIs (torch.compile/torch.export); in order to use this "
        "operator with those APIs you'll need to add a fake impl. Please see the following for "
        "next steps:  "
        "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
    )


def is_array(value: Any) -> bool:
    """Return whether a value is an array of any device."""
    return isinstance(value, ARRAYS)


def device_of(array: Any) -> device:
    """Return where an array is: on the CPU, unless it says otherwise."""
    return array.device if isinstance(array, ForeignArray) else CPU


def on_host(array: Any) -> Any:
    """Return an array of any device as an ndarray of the CPU's."""
    return array.place.to_ndarray(array) if isinstance(array, ForeignArray) else array


def as_array(value: Any) -> Any:
    """Return a foreign array as it is, and anything else as an ndarray."""
    return value if isinstance(value, ForeignArray) else np.asarray(value)


if native is not None:
    native.know_foreign(ForeignArray)
