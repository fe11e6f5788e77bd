"""NumPy's ufuncs of arrays on the device: kernels of our own first, then CuPy's, then NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.gpu import array as arrays
from taper.gpu import state
from taper.gpu.array import CudaArray, address, root_block, to_host
from taper.gpu.dispatch import _REFUSED, assign, lent, on_host

# Reductions of CuPy's by the ufunc that they repeat.
_REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
_RUNNING = {np.add: "cumsum", np.multiply: "cumprod"}


def ufunc(called: Any, method: str, inputs: Any, options: Any) -> Any:
    """Run a ufunc, or one of its methods."""
    if method == "__call__":
        if not options:
            found = state.runtime.elementwise(called, inputs, None)
            if found is not NotImplemented:
                return found
        return _call(called, inputs, options)
    return _METHODS[method](called, *inputs, **options)


def _call(called: Any, inputs: Any, options: Any) -> Any:
    out = options.pop("out", None)
    where = options.pop("where", True)
    options.pop("casting", None)
    options.pop("subok", None)
    if out is None and where is True and not options:
        return _computed(called, inputs, options)
    if called.nout > 1:
        results = _computed(called, inputs, options)
        for target, result in zip(out or (), results, strict=False):
            if target is not None:
                assign(target, result)
        return (
            results
            if out is None
            else tuple(
                [
                    result if target is None else target
                    for target, result in zip(out, results, strict=True)
                ]
            )
        )
    target = out[0] if out is not None else None
    if target is not None and where is True and target.__class__ is CudaArray:
        if not options and not _overlaps(target, inputs):
            found = state.runtime.elementwise(called, inputs, target)
            if found is not NotImplemented:
                return found
    result = _computed(called, inputs, options)
    if target is None:
        return result
    assign(target, result if where is True else np.where(where, result, target))
    return target


def _overlaps(target: Any, inputs: Any) -> bool:
    """Whether an input has some of the target's elements in other places."""
    for each in inputs:
        if each.__class__ is CudaArray and root_block(each) is root_block(target):
            same = each.strides == target.strides and each.shape == target.shape
            if not (same and address(each) == address(target)) and np.may_share_memory(
                each, target
            ):
                return True
    return False


def _computed(called: Any, inputs: Any, options: Any) -> Any:
    theirs = state.runtime.function("numpy", called.__name__)
    own = _OWN.get(called)
    if own is not None:
        return own(*inputs)
    if theirs is not None:
        try:
            return lent(called.__name__, theirs, inputs, options)
        except _REFUSED:
            pass
    return on_host(called, inputs, options)


def _vector_product(one: Any, other: Any) -> Any:
    return np.matmul(np.conjugate(one)[..., None, :], other[..., :, None])[..., 0, 0]


_OWN = {np.vecdot: _vector_product}


# --- the methods of ufuncs -----------------------------------------------------------------------


def reduce(
    called: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Reduce along dimensions."""
    if array.__class__ is not CudaArray:
        array = arrays.to_device(array)
    result = NotImplemented
    if where is True and (initial is None or array.size):
        result = state.runtime.reduction(called, array, axis, dtype, keepdims)
    if result is NotImplemented:
        result = _reduced(called, array, axis, dtype, keepdims, initial, where)
    elif initial is not None:
        result = called(result, np.asarray(initial, result.dtype))
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    assign(target, result)
    return target


def _reduced(
    called: Any, array: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    name = _REDUCTIONS.get(called)
    options = {"axis": axis, "keepdims": keepdims}
    if where is not True:
        neutral = called.identity if initial is None else initial
        if neutral is None:
            name = None
        else:
            array = np.where(where, array, np.asarray(neutral, array.dtype))
    if dtype is not None and called in (np.add, np.multiply):
        options["dtype"] = dtype
    elif dtype is not None:
        array = array.astype(dtype)
    if name is not None and (array.size or called.identity is not None):
        theirs = state.runtime.function("numpy", name)
        try:
            result = lent(name, theirs, (array,), options)
            return result if initial is None else called(result, np.asarray(initial, result.dtype))
        except _REFUSED:
            pass
    rest = {} if initial is None else {"initial": initial}
    if dtype is not None:
        rest["dtype"] = dtype
    if where is not True:
        rest["where"] = where
    return on_host(called.reduce, (array,), {"axis": axis, "keepdims": keepdims, **rest})


def accumulate(called: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """Reduce along a dimension, with all results on the way."""
    name = _RUNNING.get(called)
    result = NotImplemented
    if name is not None:
        theirs = state.runtime.function("numpy", name)
        result = lent(name, theirs, (array,), {"axis": axis, "dtype": dtype or array.dtype})
    else:
        result = on_host(called.accumulate, (array,), {"axis": axis, "dtype": dtype})
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    assign(target, result)
    return target


def at(called: Any, array: Any, key: Any, *values: Any) -> None:
    """Combine elements with values in place; an element may be named several times."""
    if array.__class__ is not CudaArray:
        called.at(array, *[_host(each) for each in (key, *values)])
        return
    values = tuple([_in(each, array.dtype) for each in values])
    theirs = state.runtime.scatter(called)
    if theirs is not None and state.runtime.knows(array.dtype):
        try:
            lent(f"{called.__name__}.at", theirs, (array, key, *values), {})
            return
        except _REFUSED:
            pass
    whole = to_host(array)
    on_host(lambda where, *what: called.at(whole, where, *what), (key, *values), {})
    assign(array, whole)


def _in(value: Any, dtype: Any) -> Any:
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype != dtype else value


def _host(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_host(each) for each in value])
    return to_host(value)


def outer(called: Any, one: Any, other: Any, **options: Any) -> Any:
    """Combine each element of one with each of the other."""
    return called(one.reshape(one.shape + (1,) * np.ndim(other)), other, **options)


def reduceat(called: Any, array: Any, places: Any, **options: Any) -> Any:
    """Reduce pieces."""
    return on_host(called.reduceat, (array, places), options)


_METHODS: dict[str, Any] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "at": at,
    "outer": outer,
    "reduceat": reduceat,
}

arrays._ways["ufunc"] = ufunc
