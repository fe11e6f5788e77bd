"""What NumPy's universal functions give of meta arrays: shapes, dtypes and layouts.

The dtype is what the function itself gives of arrays without elements.  Must not know Tensor.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from taper.arrays import strides as geometry
from taper.arrays.foreign import ARRAYS, is_foreign, meta

_TINY = {int: 0, float: 0.0, complex: 0j, bool: False}


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what `ufunc.method(*inputs, **options)` would be like."""
    out = options.pop("out", None)
    if method == "at":
        return None
    if method == "__call__":
        made = _called(ufunc, inputs, options)
    elif method == "reduce":
        made = _reduced(ufunc, *inputs, **options)
    elif method == "accumulate":
        made = meta.fresh(inputs[0].shape, _reduced_dtype(ufunc, inputs[0], options.get("dtype")))
    elif method == "outer":
        wide = inputs[0][(..., *(None,) * np.ndim(inputs[1]))]
        made = _called(ufunc, (wide, inputs[1]), options)
    else:
        return meta.no_data()
    return made if out is None else _into(out, made)


def _into(out: tuple[Any, ...], made: Any) -> Any:
    several = made if isinstance(made, tuple) else (made,)
    given = out if isinstance(out, tuple) else (out,)
    for target, result in zip(given, several, strict=True):
        if target is not None and not is_foreign(target):
            meta.no_data()
        if target is not None:
            target[...] = result
    found = tuple([b if a is None else a for a, b in zip(given, several, strict=True)])
    return found if isinstance(made, tuple) else found[0]


def _called(ufunc: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    wanted = options.get("dtype")
    kinds = [_kind_of(each) for each in inputs]
    dtypes = _dtypes(ufunc, tuple(kinds), None if wanted is None else np.dtype(wanted))
    if ufunc.signature is not None:
        shape = _generalised_shape(ufunc, [np.shape(each) for each in inputs], options)
        return meta.fresh(shape, dtypes[0])
    arrays = [each for each in inputs if isinstance(each, ARRAYS)]
    where = options.get("where", True)
    shapes = [each.shape for each in arrays] + [np.shape(where)]
    shape = np.broadcast_shapes(*shapes)
    steps = joint_strides(shape, arrays)
    made = [
        meta.MetaArray(shape, [each * dtype.itemsize for each in steps], dtype) for dtype in dtypes
    ]
    return made[0] if ufunc.nout == 1 else tuple(made)


def joint_strides(shape: tuple[int, ...], arrays: list[Any]) -> tuple[int, ...]:
    """Return the strides of an element-wise result, counted in elements."""
    if all(each.shape == shape and meta.in_rows(each) for each in arrays):
        return geometry.row_major(shape)
    several = []
    for each in arrays:
        new = len(shape) - each.ndim
        pairs = zip(each.strides, each.shape, shape[new:], strict=True)
        several.append(
            (0,) * new
            + tuple([0 if a != b else abs(step) // each.itemsize for step, a, b in pairs])
        )
    return geometry.ordered_strides(shape, several)


def _kind_of(value: Any) -> Any:
    """Return the dtype of an array, and the type of a Python number, which is weak."""
    return value.dtype if hasattr(value, "dtype") else type(value)


@functools.lru_cache(maxsize=1024)
def _dtypes(ufunc: Any, kinds: tuple[Any, ...], wanted: Any) -> list[np.dtype[Any]]:
    tiny = [_TINY[each] if isinstance(each, type) else np.empty((0, 1, 1), each) for each in kinds]
    with np.errstate(all="ignore"):
        found = ufunc(*tiny) if wanted is None else ufunc(*tiny, dtype=wanted)
    return [each.dtype for each in (found if isinstance(found, tuple) else (found,))]


def _generalised_shape(ufunc: Any, shapes: list[Any], options: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of a function of matrices or vectors, by its signature."""
    if options.get("axes") is not None or options.get("axis") is not None:
        return tuple(meta.no_data())
    left, right = ufunc.signature.replace(" ", "").split("->")
    lengths: dict[str, int] = {}
    loops = []
    missing = set()
    for core, shape in zip(re.findall(r"\(([^)]*)\)", left), shapes, strict=True):
        names = core.split(",") if core else []
        if len(shape) < len(names):  # a vector in the place of a matrix
            missing |= {each for each in names if each.endswith("?")}
            names = [each for each in names if not each.endswith("?")]
        if len(shape) < len(names):
            raise ValueError(f"{ufunc.__name__}: input operand does not have enough dimensions")
        for name, length in zip(names, shape[len(shape) - len(names) :], strict=True):
            if lengths.setdefault(name, length) != length:
                raise ValueError(f"{ufunc.__name__}: mismatch in core dimension {name}")
        loops.append(shape[: len(shape) - len(names)])
    core = re.findall(r"\(([^)]*)\)", right)[0]
    result = [lengths[each] for each in core.split(",") if each and each not in missing]
    return (*np.broadcast_shapes(*loops), *result)


def _reduced_dtype(ufunc: Any, array: Any, wanted: Any) -> np.dtype[Any]:
    if wanted is not None:
        return np.dtype(wanted)
    one = np.zeros(1, array.dtype)
    found: np.dtype[Any] = np.asarray(ufunc.reduce(one)).dtype
    return found


def _reduced(
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, **_: Any
) -> Any:
    kept = False if keepdims in (None, np._NoValue) else bool(keepdims)
    return meta.fresh(reduced_shape(array.shape, axis, kept), _reduced_dtype(ufunc, array, dtype))


def reduced_shape(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """Return a shape without the dimensions `axis`, or with length 1 there."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = set()
    for each in axes:
        if not -len(shape) <= each < len(shape):
            raise np.exceptions.AxisError(each, len(shape))
        gone.add(each % len(shape))
    pairs = enumerate(shape)
    return tuple([1 if dim in gone else n for dim, n in pairs if keepdims or dim not in gone])
