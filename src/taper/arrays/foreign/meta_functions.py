"""What NumPy's other functions give of meta arrays.

A function without a rule is run by NumPy on small memory of that form, and its values forgotten.
Must not know Tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays.foreign import is_foreign, meta
from taper.arrays.foreign import meta_ufuncs as ufuncs
from taper.arrays.foreign.meta import MetaArray, fresh, fresh_like, no_data

RULES: dict[Any, Callable[..., Any]] = {}

_NOTHING: Any = np._NoValue


def apply(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what `function(*args, **kwargs)` would be like."""
    rule = RULES.get(function)
    if rule is not None:
        return rule(*args, **kwargs)
    if function in _VALUES:
        return no_data()
    given = {name: meta.stand_in(value) for name, value in kwargs.items()}
    return meta.forgotten(function(*[meta.stand_in(each) for each in args], **given))


_VALUES = {
    np.nonzero,
    np.flatnonzero,
    np.argwhere,
    np.array_equal,
    np.allclose,
    np.unique,
    np.bincount,
    np.extract,
    np.compress,
}
"""Functions whose results depend on elements in shape or in control."""


def _rule(*functions: Any) -> Callable[[Any], Any]:
    def remember(rule: Any) -> Any:
        RULES.update(dict.fromkeys(functions, rule))
        return rule

    return remember


# --- form ------------------------------------------------------------------------------------

RULES[np.shape] = lambda a: a.shape
RULES[np.ndim] = lambda a: a.ndim
RULES[np.size] = lambda a, axis=None: a.size if axis is None else a.shape[axis]
RULES[np.may_share_memory] = RULES[np.shares_memory] = lambda a, b, **_: (
    is_foreign(a) and is_foreign(b) and a.storage is b.storage
)


@_rule(np.result_type)
def _result_type(*given: Any) -> Any:
    return np.result_type(*[getattr(each, "dtype", each) for each in given])


def _view(function: Any) -> None:
    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        return a.seen(lambda ghost: function(ghost, *args, **kwargs))

    RULES[function] = rule


for _function in (
    np.broadcast_to,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.moveaxis,
    np.rollaxis,
    np.squeeze,
    np.swapaxes,
    np.transpose,
    np.linalg.diagonal,
    np.linalg.matrix_transpose,
    np.matrix_transpose,
):
    _view(_function)


@_rule(np.reshape)
def _reshape(a: Any, shape: Any, order: str = "C", **_: Any) -> Any:
    return a.reshape(shape, order=order)


RULES[np.ravel] = lambda a, order="C": a.ravel(order)
RULES[np.real] = lambda val: val.real
RULES[np.imag] = lambda val: val.imag


@_rule(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, **_: Any) -> Any:
    shape = np.broadcast_shapes(*[np.shape(each) for each in args])
    return tuple([np.broadcast_to(each, shape) for each in args])


# --- copies ----------------------------------------------------------------------------------


@_rule(np.empty_like, np.zeros_like, np.ones_like)
def _like(a: Any, dtype: Any = None, order: str = "K", subok: Any = True, shape: Any = None) -> Any:
    which = a.dtype if dtype is None else np.dtype(dtype)
    if shape is None:
        return fresh_like(a, which, order)
    return fresh((shape,) if isinstance(shape, int) else shape, which)


@_rule(np.full_like)
def _full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", **more: Any) -> Any:
    return _like(a, dtype, order, **more)


RULES[np.copy] = lambda a, order="K", subok=False: fresh_like(a, a.dtype, order)
RULES[np.astype] = lambda x, dtype, /, *, copy=True, device=None: x.astype(dtype, copy=copy)


@_rule(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not is_foreign(dst):
        no_data()
    dst[...] = src


@_rule(np.put_along_axis, np.fill_diagonal, np.putmask, np.place)
def _written(*args: Any, **kwargs: Any) -> None:
    if not is_foreign(args[0]):
        no_data()


@_rule(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, dtype: Any = None, **_: Any) -> Any:
    arrays = list(arrays)
    which = np.result_type(*[each.dtype for each in arrays]) if dtype is None else np.dtype(dtype)
    if axis is None:
        made = fresh((sum([each.size for each in arrays]),), which)
    else:
        shape = list(arrays[0].shape)
        for each in arrays[1:]:
            others = [dim for dim in range(len(shape)) if dim != axis % len(shape)]
            if any(each.shape[dim] != shape[dim] for dim in others):
                raise ValueError("all the input array dimensions must match exactly")
        shape[axis] = sum([each.shape[axis] for each in arrays])
        made = fresh(shape, which)
    return made if out is None else ufuncs.apply(np.positive, "__call__", (made,), {"out": out})


@_rule(np.stack)
def _stack(arrays: Any, axis: int = 0, **options: Any) -> Any:
    ndim = arrays[0].ndim + 1
    place = (*(slice(None),) * (axis % ndim), None)
    return _concatenate([each[place] for each in arrays], axis, **options)


@_rule(np.tril, np.triu, np.roll, np.nan_to_num, np.round, np.around, np.fft.fftshift)
def _same(a: Any, *args: Any, **kwargs: Any) -> Any:
    return fresh_like(a, a.dtype)


@_rule(np.sort, np.partition)
def _sort(a: Any, *args: Any, **kwargs: Any) -> Any:
    return fresh_like(a, a.dtype)


@_rule(np.argsort, np.argpartition)
def _argsort(a: Any, *args: Any, **kwargs: Any) -> Any:
    return fresh_like(a, np.dtype(np.intp))


@_rule(np.repeat)
def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = a.ravel(), 0
    shape = list(a.shape)
    if is_foreign(repeats):
        no_data()
    times = np.asarray(repeats)
    shape[axis] = shape[axis] * int(times.flat[0]) if times.size == 1 else int(times.sum())
    return fresh(shape, a.dtype)


@_rule(np.tile)
def _tile(A: Any, reps: Any) -> Any:
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    ndim = max(A.ndim, len(times))
    shape = (1,) * (ndim - A.ndim) + A.shape
    times = (1,) * (ndim - len(times)) + times
    return fresh([a * b for a, b in zip(shape, times, strict=True)], A.dtype)


@_rule(np.pad)
def _pad(array: Any, pad_width: Any, *args: Any, **kwargs: Any) -> Any:
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    return fresh([n + a + b for n, (a, b) in zip(array.shape, widths, strict=True)], array.dtype)


# --- picking ---------------------------------------------------------------------------------


@_rule(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return no_data()
    which = np.where(np.zeros(0, bool), _tiny(x), _tiny(y)).dtype
    arrays = [each for each in (condition, x, y) if hasattr(each, "strides")]
    shape = np.broadcast_shapes(*[np.shape(each) for each in (condition, x, y)])
    steps = ufuncs.joint_strides(shape, [each for each in arrays if each.ndim])
    return MetaArray(shape, [each * which.itemsize for each in steps], which)


def _tiny(value: Any) -> Any:
    """Return an array without elements of the dtype; Python numbers stay, since they are weak."""
    return np.empty(0, value.dtype) if hasattr(value, "dtype") else value


@_rule(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    bounds = [options.get("min", a_min), options.get("max", a_max)]
    made = a
    for bound in bounds:
        if bound is not None and bound is not _NOTHING:
            made = ufuncs.apply(np.maximum, "__call__", (made, bound), {})
    return made if out is None else ufuncs.apply(np.positive, "__call__", (made,), {"out": out})


@_rule(np.take)
def _take(a: Any, indices: Any, axis: Any = None, **_: Any) -> Any:
    if axis is None:
        return fresh(np.shape(indices), a.dtype)
    axis %= a.ndim
    return fresh((*a.shape[:axis], *np.shape(indices), *a.shape[axis + 1 :]), a.dtype)


@_rule(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return fresh(indices.shape, arr.dtype)
    shapes = [list(each.shape) for each in (arr, indices)]
    length = indices.shape[axis]
    for each in shapes:
        each[axis] = 1
    shape = list(np.broadcast_shapes(*[tuple(each) for each in shapes]))
    shape[axis] = length
    return fresh(shape, arr.dtype)


@_rule(np.searchsorted)
def _searchsorted(a: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
    return fresh(np.shape(v), np.intp)


@_rule(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, **_: Any) -> Any:
    shape = list(a.shape)
    shape[axis] = max(shape[axis] - n, 0)
    return fresh(shape, a.dtype)


# --- reductions ------------------------------------------------------------------------------


def _reduction(function: Any, ufunc: Any) -> None:
    def rule(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        **_: Any,
    ) -> Any:
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return ufuncs.apply(ufunc, "reduce", (a,), options | ({"out": out} if out else {}))

    RULES[function] = rule


_reduction(np.sum, np.add)
_reduction(np.prod, np.multiply)


@_rule(np.max, np.min, np.amax, np.amin)
def _extremum(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
    return fresh(_shape_without(a, axis, keepdims), a.dtype)


@_rule(np.any, np.all)
def _truth(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
    return fresh(_shape_without(a, axis, keepdims), bool)


@_rule(np.argmax, np.argmin)
def _place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return fresh(_shape_without(a, axis, keepdims), np.intp)


@_rule(np.count_nonzero)
def _count(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return no_data() if axis is None else fresh(_shape_without(a, axis, keepdims), np.intp)


@_rule(np.mean, np.var, np.std)
def _moment(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    **_: Any,
) -> Any:
    if isinstance(ddof, bool):  # the fourth argument of `mean`
        keepdims = ddof
    which = dtype or np.mean(np.zeros(1, a.dtype)).dtype
    return fresh(_shape_without(a, axis, keepdims), which)


@_rule(np.cumsum, np.cumprod)
def _running(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    which = dtype or np.cumsum(np.zeros(1, a.dtype)).dtype
    made = fresh((a.size,) if axis is None else a.shape, which)
    return made if out is None else out


def _shape_without(a: Any, axis: Any, keepdims: Any) -> tuple[int, ...]:
    kept = False if keepdims is _NOTHING else bool(keepdims)
    return ufuncs.reduced_shape(a.shape, axis, kept)


# --- products and matrices -------------------------------------------------------------------


@_rule(np.dot)
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    which = np.result_type(a.dtype, b.dtype)
    if not a.ndim or not b.ndim:
        return a * b
    return fresh((*a.shape[:-1], *b.shape[:-2], *b.shape[-1:] * (b.ndim > 1)), which)


RULES[np.vdot] = lambda a, b, /: fresh((), np.result_type(a.dtype, b.dtype))
RULES[np.outer] = lambda a, b, out=None: fresh((a.size, b.size), np.result_type(a.dtype, b.dtype))


@_rule(np.einsum)
def _einsum(*operands: Any, out: Any = None, **_: Any) -> Any:
    left, _, right = operands[0].replace(" ", "").partition("->")
    arrays = operands[1:]
    if "." in left:
        return no_data()
    lengths: dict[str, int] = {}
    for names, array in zip(left.split(","), arrays, strict=True):
        for name, length in zip(names, array.shape, strict=True):
            lengths[name] = max(length, lengths.get(name, 1))
    return fresh([lengths[name] for name in right], np.result_type(*[a.dtype for a in arrays]))


def _floating(dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype) if np.dtype(dtype).kind in "fc" else np.dtype(np.float64)


@_rule(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[: -1 if b.ndim == 1 else -2])
    return fresh((*batch, *b.shape[-1 if b.ndim == 1 else -2 :]), np.result_type(a.dtype, b.dtype))


@_rule(np.linalg.inv, np.linalg.cholesky)
def _square(a: Any, **_: Any) -> Any:
    return fresh(a.shape, _floating(a.dtype))


@_rule(np.linalg.det)
def _det(a: Any) -> Any:
    return fresh(a.shape[:-2], _floating(a.dtype))


RULES[np.array_repr] = RULES[np.array_str] = lambda a, *_, **__: repr(a)
RULES[np.trace] = lambda a, offset=0, axis1=0, axis2=1, **_: a.diagonal(offset, axis1, axis2).sum(
    axis=-1
)
RULES[np.linalg.norm] = lambda x, ord=None, axis=None, keepdims=False: fresh(
    _shape_without(x, axis, keepdims), np.zeros(0, x.dtype).real.dtype
)
