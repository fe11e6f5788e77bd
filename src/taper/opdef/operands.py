"""Operands: what an operator's arguments become before its kernel sees them, or why they cannot.

Owns: promotion of mixed dtypes, Python numbers as arrays, low precision, and the errors of bad
arguments and shapes.  Knows the table, not its compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from taper import dtypes, opdef
from taper.arrays.elements import FLOAT32, LOW_PRECISION, cast
from taper.arrays.foreign import ARRAYS, ForeignArray, is_array
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.scalars import type_name
from taper.arrays.strides import broadcast_clash, copied_with, in_rows, preserved_strides, wrap_dim
from taper.autograd import detours, overrides
from taper.autograd.meta import INFERENCE_SAVED
from taper.autograd.provenance import is_internal
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import gradient_edge, wants_grad
from taper.factory import no_memory
from taper.opdef import FLOAT, Op, files_of_declarations
from taper.tensor import Tensor, array_of, element_strides, wrap

NUMBERS = frozenset({int, float, bool, complex})
_ARRAYS_AND_SCALARS: tuple[Any, ...] = (*ARRAYS, np.generic)

# 0-d float32 arrays of the Python numbers in use: NumPy takes 0.5 us longer for a Python number.
# Kept by type, since 1, 1.0, True and 1+0j are one key but not one operand; bool and complex stay
# empty.
SCALARS32: dict[type, dict[Any, np.ndarray]] = {int: {}, float: {}, bool: {}, complex: {}}
_SCALARS_LIMIT = 4096


# --- dtypes ----------------------------------------------------------------------------------


def scalar_array(number: Any, dtype: np.dtype) -> np.ndarray:
    """Return a Python number as a 0-d array; integers wrap around as in PyTorch."""
    kind = number.__class__
    if kind is int and not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert")
    if dtype is FLOAT32 and (kind is int or kind is float):
        cache = SCALARS32[kind]
        known = cache.get(number)
        if known is not None:
            return known
        array = np.array(number, dtype)
        # 0.0 and -0.0 are the same key, and nan equals no key.
        if (number or kind is int) and number == number and len(cache) < _SCALARS_LIMIT:
            array.flags.writeable = False
            cache[number] = array
        return array
    try:
        return np.array(number, dtype)
    except OverflowError:
        return np.array(int(number) & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(dtype)


def prepare(op: Op, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands in the kernel's dtype; with `upcast` also the dtype to return to."""
    low = None
    free = op.unpromoted
    operands = [
        value for value, skip in zip(values, free, strict=True) if value is not None and not skip
    ]
    first = operands[0]
    if op.promote is None or len(operands) == 1:
        target = dtypes.FROM_NUMPY[first.dtype]
    else:
        target = dtypes.result_type(operands)
    if op.promote == FLOAT and target.category < dtypes.FLOATING:
        target = dtypes.default.float
    if op.check is not None:
        op.check(target, operands)
    dtype = target.numpy
    if op.upcast and dtype in LOW_PRECISION and (op.upcast is True or _is_exact(values[1], dtype)):
        low = dtype
        dtype = FLOAT32
    converted = []
    for value, skip in zip(values, free, strict=True):
        if value is None or skip:
            converted.append(value)
        elif value.__class__ in NUMBERS:
            converted.append(scalar_array(value, dtype))
        elif value.dtype is dtype or (op.promote is None and low is None):
            converted.append(value)
        elif low is not None and value.dtype is not low and value.ndim:
            # PyTorch computes with the common dtype's values, which may be infinite or rounded.
            converted.append(_in_dtype(cast(value, low), dtype))
        else:
            converted.append(_in_dtype(value, dtype))
    if op.change_complex is not None and dtype.kind == "c":
        op.change_complex(converted)
    return (*converted, low) if op.upcast else tuple(converted)


def _is_exact(value: Any, dtype: np.dtype) -> bool:
    """Return whether this is a number, or as good as one, that half precision would round."""
    return value.__class__ in NUMBERS or (value.ndim == 0 and value.dtype is not dtype)


def _in_dtype(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the array in another dtype, dense in PyTorch's order of dimensions, not NumPy's."""
    if in_rows(array) or not array.size:
        return cast(array, dtype)
    return copied_with(array, preserved_strides(array.shape, element_strides(array)), dtype)


# Files whose functions may pass arrays to operators: the library's, and those with formulas (D5).
# Handlers of detours pass on what they are given, so that their files are not among them.
array_files: dict[str, bool] = {}
_STAND_INS = (opdef.__file__, detours.__file__)


def takes_arrays(filename: str) -> bool:
    """Return whether the functions of a file may pass arrays to operators."""
    known = array_files.get(filename)
    if known is None:
        known = is_internal(filename) or filename in files_of_declarations
        if filename not in detours.handler_files:
            array_files[filename] = known
    return known


def _caller_file(frame: Any) -> str:
    """Return the file of the caller, also of a lazy function's first call and on a detour."""
    caller = frame
    while frame.f_back is not None:
        if frame.f_code.co_filename in _STAND_INS:
            caller = frame.f_back
        elif frame.f_code.co_filename not in detours.handler_files:
            break
        frame = frame.f_back
    filename: str = caller.f_code.co_filename
    return filename


def refuse_array(op: Op, arguments: tuple[Any, ...], frame: Any) -> None:
    """Raise for an array as first argument if the caller may not pass one."""
    if not takes_arrays(_caller_file(frame)):
        if op.signatures:
            raise invalid_combination(op.label, arguments, op.signatures)
        raise TypeError(
            f"{op.label}(): argument '{op.params[0].public_name}' (position 1) must be Tensor, "
            f"not {type_name(arguments[0])}"
        )


def run_low(op: Op, arguments: Sequence[Any]) -> Any:
    """Run an `upcast` kernel on a formula's half precision arrays: in float32, rounded once."""
    low = arguments[0].dtype
    if low not in LOW_PRECISION:
        return op.call(op.forward, arguments)
    given = [
        cast(each, FLOAT32)
        if isinstance(each, _ARRAYS_AND_SCALARS) and each.dtype in LOW_PRECISION
        else each
        for each in arguments
    ]
    return to_low(op.call(op.forward, given), low)


def to_low(result: Any, low: np.dtype) -> Any:
    """Round float32 results of an upcast kernel to the dtype of its inputs."""
    if isinstance(result, (tuple, list)):
        return tuple(to_low(each, low) for each in result)
    return cast(result, low) if result.dtype == FLOAT32 else result


# --- errors ----------------------------------------------------------------------------------


def refuse_saving(op: Op, arguments: Sequence[Any]) -> None:
    """Raise if a gradient would need an inference tensor; PyTorch does so before computing."""
    if local.state.mode & NO_GRAD:
        return
    values = dict(zip([param.name for param in op.params], arguments, strict=True))
    for formula in op.formulas:
        wanted = flat([values[name] for name in formula.wrt])
        if any(isinstance(each, Tensor) and wants_grad(each) for each in wanted):
            _refuse_sizes(op, values)
            saved = [values[name] for kind, name, part in formula.sources if kind == "tensor"]
            for each in flat(saved):
                if isinstance(each, Tensor) and each.is_inference():
                    raise RuntimeError(INFERENCE_SAVED)


def refuse_stale_views(arguments: Sequence[Any]) -> None:
    """Raise for a view without a valid history; PyTorch looks for it before computing."""
    if not local.state.mode & NO_GRAD:
        for each in flat(arguments):
            if isinstance(each, Tensor) and wants_grad(each):
                gradient_edge(each)


def _refuse_sizes(op: Op, values: Mapping[str, Any]) -> None:
    """Raise if the gradient needs the length of a dimension that does not exist."""
    for name, dims in op.saved_sizes.items():
        if name not in values:  # of a result, which has its dimensions
            continue
        ndim = values[name]._array.ndim
        for dim in dims:
            if not ndim:
                raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
            wrap_dim(dim, ndim)


def no_complex_gradient(op: Op) -> Exception:
    """Return the error where PyTorch has a derivative for real results only."""
    return RuntimeError(
        f"{op.label} does not support automatic differentiation for outputs with complex dtype."
    )


# What kernels raise; TypeError and AttributeError if they take a foreign array for an ndarray.
FAILURES = (RuntimeError, ValueError, IndexError, MemoryError, TypeError, AttributeError)


def finished(op: Op, result: Any, arguments: Sequence[Any]) -> Any:
    """Return what a kernel gave, no ndarray, as an array; raise if it came of several devices."""
    if isinstance(result, ForeignArray):
        refuse_mixture(op, result, arguments)
        return result
    return np.asarray(result)


# Parameters that may be on the CPU, whatever the others are.
_INDICES = ("index", "indices", "lengths", "offsets")


def refuse_mixture(op: Op, array: ForeignArray, arguments: Sequence[Any]) -> None:
    """Raise if tensors that are given beside a foreign array are on other devices."""
    kind: Any = array.__class__
    for each in arguments:
        if isinstance(each, Tensor):
            if each._array.__class__ is not kind:
                break
        elif (each.__class__ is list or each.__class__ is tuple) and each:
            if each[0].__class__ is not int:
                break
    else:
        return
    pairs = zip(op.params, arguments, strict=True)
    mixed = [each for param, each in pairs if param.name not in _INDICES]
    tensors = [each for each in flat(mixed) if isinstance(each, Tensor)]
    array.place.refuse_mixture([each._array for each in tensors])


def rescued(op: Op, arrays: Sequence[Any], error: Exception, arguments: Sequence[Any]) -> Any:
    """Return what a kernel that failed on a foreign array gives after all, or raise why not."""
    foreign = next((each for each in flat(arrays) if isinstance(each, ForeignArray)), None)
    if foreign is not None:
        refuse_mixture(op, foreign, arguments)
        rest = iter(arrays)
        given = [
            value if param.kind == "plain" else next(rest)
            for param, value in zip(op.params, arguments, strict=True)
        ]
        try:
            return foreign.place.rescued(op, given, error)
        except FAILURES as left:
            error = left
    elif isinstance(error, (TypeError, AttributeError)):
        raise _no_integer(op, arguments) or error
    raise explain(op, arrays, error, arguments) from None


def _no_integer(op: Op, arguments: Sequence[Any]) -> TypeError | None:
    """Return the error of a bool that is given as the number of a dimension, if there is one."""
    for position, (param, value) in enumerate(zip(op.params, arguments, strict=True), 1):
        if param.name == "dim" and isinstance(value, bool):
            place = f"argument 'dim' (position {position})"
            return TypeError(f"{op.label}(): {place} must be int, not bool")
    return None


def explain(op: Op, arrays: Sequence[Any], error: Exception, arguments: Sequence[Any]) -> Exception:
    """Return PyTorch's words for what NumPy refused, or for what is refused before computing."""
    refuse_stale_views(arguments)
    refuse_saving(op, arguments)
    if is_without_kernel(error) and op.layout is ELEMENTWISE:
        tensors = [each for each in flat(arguments) if isinstance(each, Tensor)]
        return broadcast_clash([each._array.shape for each in tensors]) or error
    if not isinstance(error, (ValueError, MemoryError)):
        return error
    if isinstance(error, MemoryError):
        return no_memory(error)
    if any([isinstance(each, np.ndarray) for each in arguments]):  # beside a tensor
        if any([isinstance(each, Tensor) for each in arguments]):
            return invalid_combination(op.label, arguments, op.signatures)
    shapes = [each.shape for each in arrays if is_array(each)]
    text = str(error)
    if "broadcast" in text and len(shapes) >= 2:
        clash = broadcast_clash(shapes)
        if clash is not None:
            return clash
    if "too big" in text or "too large" in text or "Maximum allowed" in text:
        return RuntimeError("Storage size calculation overflowed")
    return RuntimeError(f"{op.label}: {text}")


def is_without_kernel(error: Exception) -> bool:
    """Tell whether an operator has no kernel for a dtype, which PyTorch sees last of all."""
    return isinstance(error, NotImplementedError) and str(error).startswith('"')


def refuse_dtypes(op: Op, arguments: tuple[Any, ...]) -> None:
    """Raise for dtypes that an operator refuses; one without a kernel is refused last of all."""
    if op.check is not None and op.promote is not None:
        operands = operands_of(op, arguments)
        try:
            op.check(dtypes.result_type(operands), operands)
        except NotImplementedError as error:
            if not is_without_kernel(error):
                raise


def operands_of(op: Op, arguments: Sequence[Any]) -> list[Any]:
    """Return the arrays and numbers among the arguments."""
    return [
        array_of(value)
        for param, value in zip(op.params, arguments, strict=True)
        if param.kind in ("tensor", "operand", "optional") and value is not None
    ]


def number_of(label: str, name: str, position: int, value: Any) -> Any:
    """Return the number in a tensor without dimensions that is given as a number.

    NumPy's numbers become Python's; anything else stays, for the kernel to judge.
    """
    if isinstance(value, Tensor):
        if value._array.ndim or wants_grad(value):
            where = f" (position {position})" if position else ""
            wanted = "float" if name in ("nan", "neginf", "posinf") else "Number"
            raise TypeError(f"{label}(): argument '{name}'{where} must be {wanted}, not Tensor")
        return value._array.item()
    return python_number(value)


def bad_arguments(op: Op, arguments: tuple[Any, ...], dunder: str) -> Any:
    """Do what an operator does when an argument is neither Tensor nor number.

    If there is no Tensor at all, arrays and NumPy scalars mean that a formula calls (D5), provided
    that the call comes from a file that declares operators.  Beside a Tensor, a NumPy scalar is a
    number.  Where PyTorch takes a number for the first tensor, the number becomes a tensor.
    """
    for each in flat(arguments):
        run = getattr(each.__class__, "_run_operator", None)  # a tensor whose array is elsewhere
        if run is not None:
            return run(op, arguments)
    if overrides.notice(arguments):
        return _ask(op, arguments, dunder)
    if any(isinstance(each, _ARRAYS_AND_SCALARS) for each in flat(arguments)):
        first = arguments[0] if op.params[0].kind == "tensor" else None
        unfit = first is not None and not isinstance(first, _ARRAYS_AND_SCALARS)
        if not unfit and not any(isinstance(each, Tensor) for each in flat(arguments)):
            if takes_arrays(_caller_file(sys._getframe(2))):
                return op.call(op.forward, arguments)
    plain = tuple([python_number(each) for each in arguments])
    if any(a is not b for a, b in zip(plain, arguments, strict=True)):
        return op.call(op.function, plain)
    if dunder:
        return _not_for_operator(dunder, arguments[0])
    two_numbers = len(arguments) > 1 and arguments[1].__class__ in NUMBERS
    if op.numbers and arguments[0].__class__ in NUMBERS and not (op.signatures and two_numbers):
        return _with_number_first(op, arguments)
    if op.signatures:
        raise invalid_combination(op.label, arguments, op.signatures)
    raise _unfit(op, arguments)


def _with_number_first(op: Op, arguments: tuple[Any, ...]) -> Any:
    """Call an operator with a tensor made of the number that is its first argument."""
    others = [array_of(each) for each in arguments[1:2]]
    common = dtypes.result_type([arguments[0], *others])
    if op.promote == FLOAT and common.category < dtypes.FLOATING:
        common = dtypes.default.float
    if op.check is not None:
        op.check(common, [arguments[0], *others])
    dtype = common.numpy
    if dtype in LOW_PRECISION and others[0].ndim:
        dtype = FLOAT32  # a gradient multiplies by what is not rounded
    number = wrap(scalar_array(arguments[0], dtype))
    return op.call(op.function, (number, *arguments[1:]))


def _unfit(op: Op, arguments: tuple[Any, ...]) -> TypeError:
    """Return the error for the first argument that is no Tensor where one is needed."""
    for position, (param, value) in enumerate(zip(op.params, arguments, strict=True), 1):
        if param.kind in ("tensor", "operand", "optional", "optional_operand"):
            allowed = isinstance(value, Tensor) or (
                value.__class__ in NUMBERS and "operand" in param.kind
            )
            if not allowed and not (value is None and "optional" in param.kind):
                return TypeError(
                    f"{op.label}(): argument '{param.public_name}' (position {position}) must be "
                    f"Tensor, not {type_name(value)}"
                )
        elif param.kind == "tensors":
            refuse_sequence(op.label, param.public_name, position, value)
    return TypeError(f"{op.label}(): the arguments do not fit")


def _ask(op: Op, arguments: tuple[Any, ...], dunder: str) -> Any:
    """Call an operator again, which now asks the classes of its arguments.

    If a public function calls the operator, it is the public function that shall ask.
    """
    frame: Any = sys._getframe(2)
    while frame is not None and is_internal(frame.f_code.co_filename):
        if "refused" in frame.f_code.co_names:
            raise overrides.AskFirstError
        frame = frame.f_back
    if dunder:
        return getattr(Tensor, dunder)(*arguments[: len(op.params)])
    pairs = list(zip(op.params, arguments, strict=True))
    named = {each.name: value for each, value in pairs if each.keyword_only}
    usual = {each.name: each.default for each in op.params}
    given = [value for each, value in pairs if not each.keyword_only]
    return op.function(*given, **{k: v for k, v in named.items() if v is not usual[k]})


def _not_for_operator(dunder: str, first: Any) -> Any:
    if isinstance(first, Tensor):
        return NotImplemented
    raise TypeError(
        f"descriptor '{dunder}' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type_name(first)}' object"
    )


def invalid_combination(
    label: str,
    arguments: Sequence[Any],
    signatures: Sequence[str],
    keywords: Mapping[str, Any] = MappingProxyType({}),
) -> TypeError:
    """Return the error for arguments that fit none of a function's overloads."""
    named = [f"{name}={type_name(each)}" for name, each in keywords.items()]
    given = ", ".join([type_name(each) for each in arguments] + named)
    listed = "".join(f" * {each}\n" for each in signatures)
    return TypeError(
        f"{label}() received an invalid combination of arguments - got ({given}), but expected "
        f"one of:\n{listed}"
    )


def python_number(value: Any) -> Any:
    """Return a NumPy scalar or a number of a derived class as Python's own, others unchanged."""
    if isinstance(value, np.bool_):
        return float(value)  # PyTorch takes it for a floating point number
    if isinstance(value, np.generic):
        return value.item()
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    for kind in kinds:
        if isinstance(value, kind):
            return value if value.__class__ is kind else kind(value)
    return value


def refuse_sequence(label: str, name: str, position: int, value: Any) -> None:
    """Raise unless a value is a list or tuple of Tensors."""
    if isinstance(value, Tensor) or not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{label}(): argument '{name}' (position {position}) must be tuple of Tensors, "
            f"not {type(value).__name__}"
        )
    for index, each in enumerate(value):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument {position - 1}, "
                f"but got {type_name(each)}"
            )


def flat(arguments: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in arguments:
        found.extend(each if isinstance(each, (list, tuple)) else [each])
    return found
