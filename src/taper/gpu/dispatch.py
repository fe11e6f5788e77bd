"""NumPy's functions of arrays on the device.

Three ways, the first that knows the function: a way of our own (views, copies, writes), CuPy on the
same memory, and at last NumPy on copies in the processor's memory, which `fallbacks` counts.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from taper.gpu import array as arrays
from taper.gpu import state
from taper.gpu.array import CudaArray, empty, empty_strided, strided, to_device, to_host

# How often each function of NumPy had to run on the processor.
fallbacks: collections.Counter[str] = collections.Counter()
uploads: collections.Counter[str] = collections.Counter()

_OWN: dict[Any, Any] = {}


def function(called: Any, args: Any, options: Any) -> Any:
    """Run one of NumPy's functions that are no ufuncs."""
    own = _OWN.get(called)
    if own is not None:
        found = own(*args, **options)
        if found is not NotImplemented:
            return found
    theirs = state.runtime.function(called.__module__, called.__name__)
    if theirs is not None and not _holds_objects(args):
        try:
            return lent(called.__name__, theirs, args, options)
        except _REFUSED:
            pass
    return on_host(called, args, options)


# What CuPy raises for arguments that it does not take.
_REFUSED = (TypeError, NotImplementedError, AttributeError)


def _holds_objects(args: Any) -> bool:
    return any([isinstance(each, np.ndarray) and each.dtype.kind not in "biufcV" for each in args])


def lent(name: str, theirs: Any, args: Any, options: Any) -> Any:
    """Call a function of CuPy's on our arrays; half types that it lacks are computed wider."""
    runtime = state.runtime
    low = _unknown_dtype(args, options)
    if low is not None:
        args, options = _wider(args), _wider(options)
    result = theirs(*_lend(args, name), **_lend(options, name))
    result = runtime.adopt_all(result)
    return result if low is None else _narrower(result, low)


def _lend(value: Any, name: str) -> Any:
    kind = value.__class__
    if kind is CudaArray:
        return state.runtime.lend(value)
    if kind is tuple or kind is list:
        return kind([_lend(each, name) for each in value])
    if kind is dict:
        return {key: _lend(each, name) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        if not value.ndim:
            return value[()]
        uploads[name] += 1
        return state.runtime.lend(to_device(value))
    return value


def _unknown_dtype(*values: Any) -> Any:
    """The dtype that CuPy does not know among all arrays, or None."""
    known = state.runtime.knows
    for value in values:
        kind = value.__class__
        if kind is CudaArray or isinstance(value, np.ndarray | np.generic):
            if not known(value.dtype):
                return value.dtype
        elif kind is tuple or kind is list:
            found = _unknown_dtype(*value)
            if found is not None:
                return found
        elif kind is dict:
            found = _unknown_dtype(*value.values())
            if found is not None:
                return found
        elif isinstance(value, np.dtype) and not known(value):
            return value
    return None


_FLOAT32 = np.dtype(np.float32)


def _wider(value: Any) -> Any:
    kind = value.__class__
    if isinstance(value, np.ndarray | np.generic):
        return value if state.runtime.knows(value.dtype) else value.astype(_FLOAT32)
    if kind is tuple or kind is list:
        return kind([_wider(each) for each in value])
    if kind is dict:
        return {key: _wider(each) for key, each in value.items()}
    if isinstance(value, np.dtype) and not state.runtime.knows(value):
        return _FLOAT32
    return value


def _narrower(value: Any, low: np.dtype) -> Any:
    if isinstance(value, tuple | list):
        return type(value)([_narrower(each, low) for each in value])
    if isinstance(value, np.ndarray) and value.dtype == _FLOAT32:
        return value.astype(low)
    return value


def on_host(called: Any, args: Any, options: Any, name: str = "") -> Any:
    """Run a function on copies in the processor's memory, and bring the results back."""
    fallbacks[name or getattr(called, "__name__", str(called))] += 1
    out = options.pop("out", None) if "out" in options else None
    result = _raised(called(*_fetch(args), **_fetch(options)))
    if out is not None:
        out = out[0] if isinstance(out, tuple) else out
        assign(out, result)
        return out
    return result


def _fetch(value: Any) -> Any:
    kind = value.__class__
    if kind is CudaArray:
        return to_host(value)
    if kind is tuple or kind is list:
        return kind([_fetch(each) for each in value])
    if kind is dict:
        return {key: _fetch(each) for key, each in value.items()}
    return value


def _raised(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return to_device(value)
    if isinstance(value, tuple):
        made = [_raised(each) for each in value]
        return value._make(made) if hasattr(value, "_make") else tuple(made)
    if isinstance(value, list):
        return [_raised(each) for each in value]
    return value


# --- writing and copying -----------------------------------------------------------------------


def assign(target: Any, value: Any) -> None:
    """Write a value into all elements, as `target[...] = value` does."""
    if target.__class__ is not CudaArray:
        if _lies_as(target, value):
            state.runtime.copy_out(target, value)
        else:
            target[...] = to_host(value)
        return
    runtime = state.runtime
    if value.__class__ is not CudaArray:
        if isinstance(value, np.ndarray) and value.ndim:
            value = to_device(value)
        elif not isinstance(value, bool | int | float | complex | np.generic):
            value = np.asarray(value)
            if value.ndim:
                value = to_device(value)
    if target.size:
        runtime.assign(target, value)


def _lies_as(target: np.ndarray, value: Any) -> bool:
    """Whether an array on the device can be copied to the processor as it lies."""
    return (
        value.__class__ is CudaArray
        and target.dtype is value.dtype
        and target.shape == value.shape
        and target.strides == value.strides
        and target.flags.forc
        and target.flags.writeable
        and target.size > 0
    )


def copy(array: Any, order: str = "C") -> Any:
    """A copy that lies row by row, or for "K" in the order of the array."""
    made = _dense_like(array, array.dtype, order)
    if made.size:
        state.runtime.assign(made, array)
    return made


def astype(array: Any, dtype: np.dtype, order: str = "K") -> Any:
    """A copy in another dtype."""
    kernels = state.runtime.kernels
    if kernels is not None:
        flags = array.flags
        if flags.c_contiguous:
            found = kernels.cast(array, dtype)
            if found is not None:
                return found
        elif order == "K" and flags.f_contiguous:
            return astype(array.T, dtype).T
    made = _dense_like(array, dtype, order)
    if made.size:
        state.runtime.assign(made, array)
    return made


def _dense_like(array: Any, dtype: np.dtype, order: str = "K", shape: Any = None) -> Any:
    """New room for an array's elements, in NumPy's order for `order`."""
    if shape is None and order in ("K", "A") and not array.flags.c_contiguous:
        return empty_strided(array.shape, _kept_order(array, dtype.itemsize), dtype)
    if order == "F":
        shape = array.shape if shape is None else shape
        strides, step = [], dtype.itemsize
        for length in shape:
            strides.append(step)
            step *= length
        return empty_strided(shape, strides, dtype)
    return empty(array.shape if shape is None else shape, dtype)


def _kept_order(array: Any, itemsize: int) -> list[int]:
    """Dense strides in the order of the array's, as NumPy's "K" gives them."""
    order = sorted(range(array.ndim), key=lambda dim: (-abs(array.strides[dim]), dim))
    strides = [0] * array.ndim
    step = itemsize
    for dim in reversed(order):
        strides[dim] = step
        step *= array.shape[dim]
    return strides


def upload(array: Any) -> Any:
    """A copy on the device, laid out alike where that is dense, of an array of the processor's."""
    if array.flags.c_contiguous or not array.size:
        made = empty(array.shape, array.dtype)
    else:
        made = _dense_like(array, array.dtype)
        array = np.array(array, order="K", copy=True)
    if made.size:
        state.runtime.copy_in(made, array)
    return made


def download(array: Any) -> Any:
    """A copy in the processor's memory."""
    if not array.flags.forc and array.size:
        array = copy(array, "K")
    if not state.patience.waits and array.flags.c_contiguous:
        made: Any = state.runtime.pinned_empty(array.shape, array.dtype)
    else:
        made = np.ndarray(array.shape, array.dtype, strides=None)
    if not array.flags.c_contiguous and array.size:
        dense = np.empty(array.size, array.dtype)
        made = np.ndarray(array.shape, array.dtype, dense, 0, array.strides)
    if array.size:
        state.runtime.copy_out(made, array)
    return made


def getitem(array: Any, key: Any) -> Any:
    """Elements that indices or a mask pick."""
    key = tuple([_as_index(each) for each in key])
    try:
        return lent("getitem", lambda one, where: one[where], (array, key), {})
    except (*_REFUSED, IndexError):
        return on_host(lambda one, where: one[where], (array, key), {})


def setitem(array: Any, key: Any, value: Any) -> None:
    """Write where indices or a mask say."""
    key = key if key.__class__ is tuple else (key,)
    key = tuple([_as_index(each) for each in key])
    if isinstance(value, np.ndarray) and value.dtype != array.dtype:
        value = value.astype(array.dtype)
    if not state.runtime.knows(array.dtype):
        whole = to_host(array)
        whole[_fetch(key)] = _fetch(value)
        assign(array, whole)
        return

    def write(one: Any, where: Any, what: Any) -> None:
        one[where] = what

    lent("setitem", write, (array, key, value), {})


def _as_index(each: Any) -> Any:
    if each.__class__ is range or (each.__class__ is list and not each):
        return np.asarray(each, np.intp)
    return np.asarray(each) if each.__class__ is list else each


# --- functions of our own ----------------------------------------------------------------------


def own(*functions: Any) -> Any:
    """Let a function of ours stand for functions of NumPy's."""

    def put(ours: Any) -> Any:
        for each in functions:
            _OWN[each] = ours
        return ours

    return put


def _as_written(called: Any) -> None:
    """NumPy's Python text of a function, which uses methods alone, serves as it is."""
    _OWN[called] = called._implementation


for _each in (
    np.reshape,
    np.transpose,
    np.swapaxes,
    np.moveaxis,
    np.rollaxis,
    np.expand_dims,
    np.squeeze,
    np.ravel,
    np.flip,
    np.split,
    np.array_split,
    np.shape,
    np.ndim,
    np.size,
    np.real,
    np.imag,
    np.diagonal,
    np.rot90,
    np.iscomplexobj,
    np.isrealobj,
):
    _as_written(_each)


def _plain(value: Any) -> Any:
    """An array of the same form for questions about places alone."""
    return np.ndarray.view(value, np.ndarray) if value.__class__ is CudaArray else value


def _of_places(called: Any) -> Any:
    return lambda *args, **options: called(*map(_plain, args), **options)


for _question in (
    np.shares_memory,
    np.may_share_memory,
    np.result_type,
    np.can_cast,
    np.min_scalar_type,
):
    _OWN[_question] = _of_places(_question)


@own(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    form = np.broadcast_to(_plain(array), shape)
    return strided(array, shape, form.strides)


@own(np.broadcast_arrays)
def broadcast_arrays(*given: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*[np.shape(each) for each in given])
    return tuple([np.broadcast_to(each, shape) for each in given])


@own(np.lib.stride_tricks.as_strided)
def as_strided(x: Any, shape: Any = None, strides: Any = None, **_: Any) -> Any:
    return strided(
        x, x.shape if shape is None else shape, x.strides if strides is None else strides
    )


@own(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, **_: Any) -> Any:
    form = np.lib.stride_tricks.sliding_window_view(_plain(x), window_shape, axis)
    return strided(x, form.shape, form.strides)


def _like(value: Any) -> Any:
    def make(array: Any, *given: Any, **options: Any) -> Any:
        given_value, given = (given[0], given[1:]) if value is None else (value, given)
        options = dict(zip(("dtype", "order", "subok", "shape"), given, strict=False), **options)
        dtype, shape = options.get("dtype"), options.get("shape")
        order = options.get("order", "K")
        kind = array.dtype if dtype is None else np.dtype(dtype)
        if shape is not None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
        made = _dense_like(array, kind, order, shape)
        if given_value is not Ellipsis:
            assign(made, given_value)
        return made

    return make


_OWN[np.empty_like] = _like(Ellipsis)
_OWN[np.zeros_like] = _like(0)
_OWN[np.ones_like] = _like(1)
_OWN[np.full_like] = _like(None)


@own(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if where is not True:
        src = np.where(where, src, dst)
    assign(dst, src)


@own(np.where)
def where(condition: Any, *values: Any) -> Any:
    kernels = state.runtime.kernels
    if kernels is None or len(values) != 2:
        return NotImplemented
    return kernels.select(condition, *values)


@own(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None or a.ndim > 2 or b.ndim > 2 or not (a.ndim and b.ndim):
        return NotImplemented
    return np.matmul(
        a if a.__class__ is CudaArray else to_device(a),
        b if b.__class__ is CudaArray else to_device(b),
    )


@own(np.copy)
def copy_function(a: Any, order: str = "K", subok: bool = False) -> Any:
    return copy(a, order)


@own(np.concatenate)
def concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """One copy for each array: CuPy sends a table of addresses to the device first."""
    parts = list(arrays)
    if out is not None or axis is None or not parts:
        return NotImplemented
    if any([each.__class__ is not CudaArray for each in parts]) or not parts[0].ndim:
        return NotImplemented
    axis %= parts[0].ndim
    shapes = {(each.shape[:axis], each.shape[axis + 1 :]) for each in parts}
    if len(shapes) > 1:
        return NotImplemented
    ((before, after),) = shapes
    if dtype is None:
        kinds = {each.dtype for each in parts}
        dtype = kinds.pop() if len(kinds) == 1 else np.result_type(*kinds)
    made = empty((*before, sum([each.shape[axis] for each in parts]), *after), np.dtype(dtype))
    place: list[Any] = [slice(None)] * made.ndim
    start = 0
    for each in parts:
        place[axis] = slice(start, start + each.shape[axis])
        start += each.shape[axis]
        if each.size:
            assign(made[tuple(place)], each)
    return made


@own(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, **options: Any) -> Any:
    """The same along a new dimension."""
    parts = list(arrays)
    if out is not None or options or any([each.__class__ is not CudaArray for each in parts]):
        return NotImplemented
    return concatenate([np.expand_dims(each, axis) for each in parts], axis)


@own(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    where = []
    for dim, length in enumerate(indices.shape):
        form = [1] * indices.ndim
        form[dim] = -1
        where.append(indices if dim == axis % indices.ndim else np.arange(length).reshape(form))
    setitem(arr, tuple(where), values)


def _chosen(value: Any, usual: Any) -> Any:
    return usual if value is np._NoValue else value


def _reduction(ufunc: Any, *names: str) -> Any:
    """A reduction by the ufunc that it repeats; `names` are its arguments after the array."""

    def run(a: Any, *args: Any, **options: Any) -> Any:
        given = dict(zip(names, args, strict=False), **options)
        wanted = {
            "axis": given.get("axis"),
            "keepdims": bool(_chosen(given.get("keepdims", False), False)),
            "initial": _chosen(given.get("initial"), None),
            "where": _chosen(given.get("where", True), True),
        }
        if given.get("dtype") is not None:
            wanted["dtype"] = given["dtype"]
        if given.get("out") is not None:
            wanted["out"] = given["out"]
        return arrays.run_ufunc(ufunc, "reduce", (a,), wanted)

    return run


_OF_SUMS = ("axis", "dtype", "out", "keepdims", "initial", "where")
_OF_EXTREMES = ("axis", "out", "keepdims", "initial", "where")
_OWN[np.sum] = _reduction(np.add, *_OF_SUMS)
_OWN[np.prod] = _reduction(np.multiply, *_OF_SUMS)
_OWN[np.max] = _reduction(np.maximum, *_OF_EXTREMES)
_OWN[np.min] = _reduction(np.minimum, *_OF_EXTREMES)


@own(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """As NumPy's, where CuPy takes no `mode`: what lies outside is not noticed."""
    theirs = state.runtime.function("numpy", "take")
    if out is not None or theirs is None:
        return NotImplemented
    if mode == "clip":
        length = a.size if axis is None else a.shape[axis]
        indices = np.clip(indices, 0, length - 1)
    return lent("take", theirs, (a, indices, axis), {})


@own(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """As NumPy's: CuPy's takes stacks of the same shape only, and solutions may lie otherwise."""
    if b.ndim == 1:
        return np.linalg.solve(a, b[:, None])[..., 0]
    if a.shape[:-2] == b.shape[:-2] and a.size and b.size:
        theirs = state.runtime.function("numpy.linalg", "solve")
        found = lent("solve", theirs, (a, b), {})
        return found if found.flags.c_contiguous else copy(found)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*lead, *a.shape[-2:])).copy()
    b = np.broadcast_to(b, (*lead, *b.shape[-2:])).copy()
    if not a.size or not b.size:
        return empty(b.shape, b.dtype)
    return np.linalg.solve(a, b)


@own(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """As NumPy's: a Python integer for the whole array, which waits for the device."""
    if axis is None and not keepdims:
        return int(np.add.reduce(np.not_equal(a, 0), axis=None, dtype=np.int64))
    options: Any = {"axis": axis, "dtype": np.int64, "keepdims": keepdims}
    return np.add.reduce(np.not_equal(a, 0), **options)


@own(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return bool(np.array_equal(to_host(a1), to_host(a2), equal_nan))


arrays._ways.update(
    function=function,
    getitem=getitem,
    setitem=setitem,
    assign=assign,
    copy=copy,
    astype=astype,
    upload=upload,
    download=download,
)
