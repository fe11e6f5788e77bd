"""Kernels of our own: compiled when they are first needed, then launched.

Owns: which kernel serves a call, and the launch.  CuPy keeps what is compiled on disk.
"""

from __future__ import annotations

import ctypes
import math
import struct
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime as driver

from taper.arrays.layouts import joint_strides
from taper.arrays.native import native
from taper.gpu import texts
from taper.gpu.array import CudaArray, address, empty, empty_strided, strided
from taper.gpu.texts import EXPRESSIONS, TYPES

_THREADS = 256
_MOST_FORMS = 20_000
_MANY = 1 << 16  # elements from which it pays to look how a copy is best made
_HUGE = 1 << 31  # elements that 32 bits do not count
_MOST_BLOCKS = 132 * 16
_FOLDER = Path(__file__).parent / "kernels"
_PYTHON_NUMBERS = (bool, int, float)


class Kernels:
    """The compiled kernels of a device."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self._plans: dict[Any, Any] = {}
        self._forms: dict[Any, Any] = {}
        self._reductions: dict[Any, Any] = {}
        self._named: dict[tuple[str, str, np.dtype, int], Any] = {}
        self._modules: dict[Any, tuple[Any, dict[str, Any]]] = {}

    # --- launching -------------------------------------------------------------------------------

    def launch(
        self, function: Any, blocks: int, threads: int, args: tuple[Any, ...], shared: int = 0
    ) -> None:
        """Run a kernel on the current stream: arrays, integers, NumPy's numbers, bytes."""
        error = _start(function, blocks, threads, shared, self.runtime.stream, *args)
        if error:
            raise RuntimeError(f"CUDA error: launch failed ({error})")

    @staticmethod
    def compile(text: str, name: str = "k") -> Any:
        """A kernel of a text, ready to be launched."""
        kernel = cupy.RawKernel(text, name, options=_OPTIONS)
        found = kernel.kernel
        _kept.append(found)
        return _ready(found)

    def named(self, file: str, name: str, **macros: Any) -> Any:
        """A kernel from a file of the folder `kernels`."""
        key = (file, *macros.items())
        module = self._modules.get(key)
        if module is None:
            text = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
            text = texts.PRELUDE + text + (_FOLDER / f"{file}.cu").read_text()
            module = self._modules[key] = (cupy.RawModule(code=text, options=_OPTIONS), {})
        found = module[1].get(name)
        if found is None:
            raw = module[0].get_function(name)
            if file in _WITH_MUCH_SHARED_MEMORY:
                raw.max_dynamic_shared_size_bytes = _MOST_SHARED
            kernel = raw.kernel
            _kept.append(kernel)
            found = module[1][name] = _ready(kernel)
        return found

    def of(self, file: str, name: str, dtype: np.dtype, log: int = 0) -> Any:
        """A kernel from such a file for elements of a dtype."""
        found = self._named.get((file, name, dtype, log))
        if found is None:
            stored, computed = TYPES[dtype]
            found = self.named(file, name, T=stored, C=computed, LOG=log)
            self._named[file, name, dtype, log] = found
        return found

    # --- element by element ----------------------------------------------------------------------

    def elementwise(self, called: Any, inputs: Any, out: Any) -> Any:
        """A ufunc of arrays and numbers, or NotImplemented."""
        if out is None and len(inputs) == 2 and _map_dense is not None:
            one, other = inputs
            if one.__class__ is CudaArray and other.__class__ is CudaArray:
                plan = self._plans.get((called, one.dtype, other.dtype))
                if plan is not None and plan is not NotImplemented and 0 in plan.functions:
                    found = _map_dense(plan.functions[0], CudaArray, plan.result, one, other)
                    if found is not None:
                        return found
        key: Any = [called]
        arrays = []
        for each in inputs:
            if each.__class__ is CudaArray:
                key.append(each.dtype)
                arrays.append(each)
            elif each.__class__ in _PYTHON_NUMBERS:
                key.append(each.__class__)
            elif isinstance(each, np.ndarray | np.generic) and not each.ndim:
                key += (each.dtype, True)
            else:
                return NotImplemented
        if out is not None:
            key += (None, out.dtype)
        key = tuple(key)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(called, inputs, out)
        if plan is NotImplemented:
            return plan
        if out is None and _map_dense is not None:
            dense = plan.functions.get(0)
            if dense is not None:
                found = _map_dense(dense, CudaArray, plan.result, *inputs)
                if found is not None:
                    return found
        return self._run(plan, inputs, arrays, out)

    def _plan(self, called: Any, inputs: Any, out: Any) -> Any:
        known = EXPRESSIONS.get(called)
        if known is None:
            return NotImplemented
        kinds = [
            each.__class__ if each.__class__ in _PYTHON_NUMBERS else each.dtype for each in inputs
        ]
        try:
            resolved = called.resolve_dtypes((*kinds, None))
        except TypeError:
            return NotImplemented
        computed, result = resolved[:-1], resolved[-1]
        given = [
            wanted if isinstance(kind, type) else kind  # a dtype equals the type of its numbers
            for kind, wanted in zip(kinds, computed, strict=True)
        ]
        wanted = result if out is None else out.dtype
        if any(each not in TYPES for each in (*computed, *given, wanted, result)):
            return NotImplemented
        if any(texts.dtype_kind(each) not in known[1] for each in computed):
            return NotImplemented
        return Plan(known[0], computed, given, wanted, inputs)

    def _run(self, plan: Plan, inputs: Any, arrays: list[Any], out: Any) -> Any:
        first = arrays[0] if arrays else out
        shape = first.shape
        if out is not None and out.shape != shape:
            shape = out.shape
        dense = first.flags.c_contiguous
        for each in arrays:
            if each.shape != shape or not each.flags.c_contiguous:
                dense = False
        if not dense and out is None:
            shape = np.broadcast_shapes(*[each.shape for each in arrays])
        if out is None:
            out = _result(plan.result, shape, arrays, dense)
        dense = dense and out.flags.c_contiguous
        count = out.size
        if not count:
            return out
        args = [out]
        for each, scalar, dtype in zip(inputs, plan.scalars, plan.given, strict=True):
            args.append(_number(each, dtype) if scalar else each)
        args.append(count)
        dims, packed = (0, b"") if dense else self._walk(shape, out, inputs, arrays, plan.scalars)
        form = -dims if count >= _HUGE else dims
        function = plan.functions.get(form)
        if function is None:
            function = plan.functions[form] = plan.compiled(dims, count >= _HUGE)
        if dims:
            args.append(packed)
        blocks = min((count + _THREADS - 1) // _THREADS, _MOST_BLOCKS)
        self.launch(function, blocks, _THREADS, tuple(args))
        return out

    def _walk(
        self, shape: tuple[int, ...], out: Any, inputs: Any, arrays: list[Any], scalars: Any
    ) -> tuple[int, bytes]:
        """How many dimensions operands walk through together, and these as a kernel takes them."""
        key = (shape, out.strides, *[(each.shape, each.strides, each.itemsize) for each in arrays])
        key = (key, *scalars, out.itemsize)
        found = self._forms.get(key)
        if found is None:
            if len(self._forms) > _MOST_FORMS:
                self._forms.clear()
            form = _form(shape, out, inputs, scalars)
            found = self._forms[key] = len(form), _packed(form)
        return found

    def curve(self, text: str, arrays: Any) -> Any:
        """An expression of the elements of arrays of one floating dtype, or NotImplemented."""
        dtype = arrays[0].dtype
        if dtype not in _REDUCED or any([each.dtype is not dtype for each in arrays]):
            return NotImplemented
        plan = self._plans.get((text, dtype))
        if plan is None:
            kinds = (dtype,) * len(arrays)
            plan = self._plans[text, dtype] = Plan(text, kinds, kinds, dtype, arrays)
        if _map_dense is not None and 0 in plan.functions:
            found = _map_dense(plan.functions[0], CudaArray, dtype, *arrays)
            if found is not None:
                return found
        return self._run(plan, arrays, list(arrays), None)

    def blend(self, text: str, inputs: Any, out: Any) -> Any:
        """Write an expression of arrays and numbers of one dtype into an array of it."""
        dtype = out.dtype
        plan = self._plans.get((text, dtype, "blend"))
        if plan is None:
            kinds = (dtype,) * len(inputs)
            plan = self._plans[text, dtype, "blend"] = Plan(text, kinds, kinds, dtype, inputs)
        arrays = [each for each in inputs if each.__class__ is CudaArray]
        return self._run(plan, inputs, arrays, out)

    def write(self, called: Any, target: Any, other: Any) -> bool:
        """Compute a ufunc of a dense array and one like it, or a number of its dtype, in the first.

        False if it is beyond this.
        """
        dtype, is_array = target.dtype, other.__class__ is CudaArray
        plan = self._plans.get((called, dtype, other.__class__))
        if plan is None:
            if self.elementwise(called, (target, other), target) is NotImplemented:
                return False
            number = () if is_array else (True,)
            plan = self._plans[called, dtype, dtype, *number, None, dtype]
            self._plans[called, dtype, other.__class__] = plan
            return True
        dense = plan.functions.get(0)
        if (
            _map_dense is None
            or dense is None
            or _map_dense(dense, CudaArray, target, target, other) is None
        ):
            self._run(plan, (target, other), [target, other] if is_array else [target], target)
        return True

    def assign(self, target: Any, value: Any) -> bool:
        """Write a number or an array into an array; False if the dtypes are beyond this."""
        if value.__class__ is CudaArray:
            if (
                value.dtype == target.dtype
                and value.shape == target.shape
                and value.strides == target.strides
                and target.flags.forc
            ):
                driver.memcpyAsync(
                    address(target),
                    address(value),
                    target.nbytes,
                    driver.memcpyDeviceToDevice,
                    self.runtime.stream,
                )
                return True
            if target.size >= _MANY and value.dtype == target.dtype:
                value, target = _wide(value, target)
            key: Any = ("assign", value.dtype, target.dtype)
        else:
            value = np.asarray(value)
            if value.dtype != target.dtype:
                if target.dtype not in TYPES or value.dtype.kind == "c":
                    return False
                value = value.astype(target.dtype)
            key = ("fill", target.dtype)
        if value.dtype not in TYPES or target.dtype not in TYPES:
            return False
        plan = self._plans.get(key)
        if plan is None:
            plan = Plan("a", (value.dtype,), (value.dtype,), target.dtype, (value,))
            self._plans[key] = plan
        arrays = [value] if value.__class__ is CudaArray else []
        self._run(plan, (value,), arrays, target)
        return True

    def cast(self, array: Any, dtype: np.dtype) -> Any:
        """A copy of an array that lies row by row in another dtype; None if it is beyond this."""
        plan = self._plans.get(("assign", array.dtype, dtype))
        if plan is None or _map_dense is None:
            return None
        function = plan.functions.get(0)
        return None if function is None else _map_dense(function, CudaArray, dtype, array)

    def select(self, condition: Any, one: Any, other: Any) -> Any:
        """`np.where` of arrays and numbers, or NotImplemented."""
        inputs = (condition, one, other)
        kinds = [
            each.__class__ if each.__class__ in _PYTHON_NUMBERS else getattr(each, "dtype", None)
            for each in inputs
        ]
        if None in kinds or any(
            isinstance(each, np.ndarray) and each.ndim and each.__class__ is not CudaArray
            for each in inputs
        ):
            return NotImplemented
        key = (
            "where",
            *[
                (kind, each.__class__ is CudaArray)
                for kind, each in zip(kinds, inputs, strict=True)
            ],
        )
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._select_plan(kinds, inputs)
        if plan is NotImplemented:
            return plan
        arrays = [each for each in inputs if each.__class__ is CudaArray]
        return self._run(plan, inputs, arrays, None)

    def _select_plan(self, kinds: Any, inputs: Any) -> Any:
        boolean = np.dtype(bool)
        try:
            common = np.result_type(
                *[0 if k is int else 0.0 if k is float else k for k in kinds[1:]]
            )
        except TypeError:
            return NotImplemented
        given = [kinds[0], *[common if isinstance(k, type) else k for k in kinds[1:]]]
        if isinstance(given[0], type) or any(each not in TYPES for each in (*given, common)):
            return NotImplemented
        return Plan("a ? b : c", (boolean, common, common), given, common, inputs)

    # --- reductions ------------------------------------------------------------------------------

    def reduction(self, called: Any, array: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
        """A sum, largest or smallest element along dimensions that lie together."""
        if not array.flags.c_contiguous:
            return NotImplemented
        axis = tuple(axis) if axis.__class__ is list else axis
        key = (called, array.dtype, array.shape, axis, dtype, keepdims)
        plan = self._reductions.get(key)
        if plan is None:
            if len(self._reductions) > _MOST_FORMS:
                self._reductions.clear()
            plan = self._reductions[key] = self._reduction_plan(*key)
        if plan is NotImplemented:
            return plan
        for function, blocks, threads, shape, made, numbers in plan:
            out = empty(shape, made)
            self.launch(function, blocks, threads, (out, array, *numbers))
            array = out
        return array

    def _reduction_plan(
        self, called: Any, given: Any, shape: Any, axis: Any, dtype: Any, keepdims: bool
    ) -> Any:
        """The launches of a reduction: each reads what the one before has made."""
        which = _REDUCTIONS.get(called)
        result = given if dtype is None else np.dtype(dtype)
        if which is None or given not in _REDUCED or 0 in shape:
            return NotImplemented
        if result != given and (result, given.itemsize) != (_SINGLE, 2):
            return NotImplemented
        ndim = len(shape)
        axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = sorted([each % ndim for each in axes]) if ndim else []
        if not axes or axes != list(range(axes[0], axes[0] + len(axes))):
            return NotImplemented
        sizes = [
            math.prod(each)
            for each in (shape[: axes[0]], shape[axes[0] : axes[-1] + 1], shape[axes[-1] + 1 :])
        ]
        kept = [1 if dim in axes else size for dim, size in enumerate(shape)]
        last = tuple(kept if keepdims else [s for d, s in enumerate(shape) if d not in axes])
        steps: list[Any] = []
        self._add_steps(steps, which, given, result, last, *sizes)
        return steps

    def _add_steps(
        self,
        steps: list[Any],
        which: int,
        given: Any,
        result: Any,
        shape: tuple[int, ...],
        outer: int,
        length: int,
        inner: int,
    ) -> None:
        stored, computed = TYPES[given]
        parts = _PARTS.get(given, given)

        def add(name: str, blocks: int, threads: int, shape: Any, made: Any, *numbers: int) -> None:
            macros = {"T": stored, "C": computed, "WHICH": which, "R": TYPES[made][0]}
            function = self.named("reductions", name, **macros)
            steps.append((function, blocks, threads, shape, made, numbers))

        across = (inner + 31) // 32
        if inner == 1 and outer < 64 and length >= 65536:  # few long rows: each in parts
            piece = -(-length // min(512, length // 2048))
            count = -(-length // piece)
            add("pieces", outer * count, 256, (outer, count), parts, count, piece, length)
            self._add_steps(steps, which, parts, result, shape, outer, count, 1)
        elif inner == 1 and length <= 1024:
            add("short_rows", (outer + 7) // 8, 256, shape, result, outer, length)
        elif inner == 1:
            add("rows", outer, 256, shape, result, outer, length)
        elif outer * across < 132 and length >= 1024 and length % 16 == 0:  # in pieces first
            pieces = 16 * outer
            add(
                "columns",
                pieces * across,
                1024,
                (pieces, inner),
                parts,
                pieces,
                length // 16,
                inner,
            )
            self._add_steps(steps, which, parts, result, shape, outer, 16, inner)
        else:
            add("columns", outer * across, 1024, shape, result, outer, length, inner)


_OPTIONS = ("-std=c++17",)
_WITH_MUCH_SHARED_MEMORY = ("recurrent", "attention")
_MOST_SHARED = 224 * 1024


def _prepare_launch() -> tuple[Any, Any]:
    """How kernels are made ready and launched: natively, or by CuPy."""
    if native is not None and hasattr(native, "know_launch"):
        driver_library = ctypes.CDLL("libcuda.so.1")
        native.know_launch(ctypes.cast(driver_library.cuLaunchKernel, ctypes.c_void_p).value)
        return (lambda function: function.ptr), native.launch

    def launch(
        function: Any, blocks: int, threads: int, shared: int, stream: int, *args: Any
    ) -> int:
        given = tuple([_for_cupy(each) for each in args])
        function((blocks,), (threads,), given, shared, cupy.cuda.ExternalStream(stream))
        return 0

    return (lambda function: function), launch


def _for_cupy(value: Any) -> Any:
    if value.__class__ is CudaArray:
        return address(value)
    if value.__class__ is bytes:
        return np.frombuffer(value, f"V{len(value)}")
    return value


_ready, _start = _prepare_launch()
_map_dense = getattr(native, "map_dense", None)
_kept: list[Any] = []  # a compiled kernel lives as long as CuPy's object
_REDUCTIONS = {np.add: 0, np.maximum: 1, np.minimum: 2}
_REDUCED = frozenset([np.dtype("f4"), np.dtype("f8"), np.dtype("f2"), texts.BFLOAT16])
_SINGLE = np.dtype("f4")
_PARTS = {np.dtype("f2"): np.dtype("f4"), texts.BFLOAT16: np.dtype("f4")}


class Plan:
    """A kernel for an expression and dtypes, in as many forms as operands have lain in so far."""

    __slots__ = ("computed", "expression", "functions", "given", "result", "scalars")

    def __init__(
        self, expression: str, computed: Any, given: Any, result: Any, inputs: Any
    ) -> None:
        self.expression = expression
        self.computed, self.given, self.result = computed, given, result
        self.scalars = [each.__class__ is not CudaArray for each in inputs]
        self.functions: dict[int, Any] = {}

    def compiled(self, dims: int, is_huge: bool) -> Any:
        text = texts.kernel(
            self.expression, self.computed, self.given, self.result, self.scalars, dims, is_huge
        )
        return Kernels.compile(text, texts.name_of(self.expression))


_HALF_NUMBERS = frozenset([np.dtype("f2"), texts.BFLOAT16])


def _number(value: Any, dtype: np.dtype) -> Any:
    """A number as a kernel takes it."""
    if getattr(value, "dtype", None) is not dtype:
        value = np.asarray(value).astype(dtype)
    if dtype in _HALF_NUMBERS:
        return np.asarray(value).view(np.uint16)[()]
    return value[()] if isinstance(value, np.ndarray) else value


def _wide(value: Any, target: Any) -> tuple[Any, Any]:
    """The same arrays with elements of 16 bytes, where all that is copied together is aligned."""
    if value.shape != target.shape or not value.ndim:
        return value, target
    item = value.itemsize
    size = value.shape[-1] * item
    steps = (*value.strides[:-1], *target.strides[:-1], address(value), address(target), size)
    if (
        value.strides[-1] != item
        or target.strides[-1] != item
        or any([each % 16 for each in steps])
    ):
        return value, target
    shape = (*value.shape[:-1], size // 16)
    one, other = [
        strided(each, shape, (*each.strides[:-1], 16), texts.WIDE) for each in (value, target)
    ]
    return one, other


def _result(dtype: np.dtype, shape: tuple[int, ...], arrays: list[Any], dense: bool) -> Any:
    if dense:
        return empty(shape, dtype)
    strides = joint_strides(shape, arrays)
    return empty_strided(shape, [step * dtype.itemsize for step in strides], dtype)


def _form(shape: tuple[int, ...], out: Any, inputs: Any, scalars: Any) -> list[Any]:
    """The dimensions, outermost first, of operands that walk together; neighbours are merged."""
    columns = []
    for each, scalar in zip((out, *inputs), (False, *scalars), strict=True):
        if scalar:
            columns.append([0] * len(shape))
            continue
        itemsize, lead = each.itemsize, len(shape) - each.ndim
        own = [0] * lead
        for step, length in zip(each.strides, each.shape, strict=True):
            own.append(0 if length == 1 else step // itemsize)
        columns.append(own)
    dims = [(length, steps) for length, *steps in zip(shape, *columns, strict=True) if length != 1]
    dims.sort(key=lambda each: -abs(each[1][0]))  # the result's order
    merged: list[Any] = []
    for length, steps in dims:
        if merged:
            before, outer = merged[-1]
            if all([up == step * length for up, step in zip(outer, steps, strict=True)]):
                merged[-1] = (before * length, steps)
                continue
        merged.append((length, steps))
    return merged or [(1, [0] * len(columns))]


def _packed(form: list[Any]) -> Any:
    """The dimensions as the kernel's struct: lengths as int, then steps as long long."""
    lengths = [length for length, _ in form]
    steps = [step for _, each in form for step in each]
    pad = [0] if len(lengths) % 2 else []
    return struct.pack(f"{len(lengths) + len(pad)}i{len(steps)}q", *lengths, *pad, *steps)
