"""Element types: the dtype objects, how they promote, their limits and their names in messages.

Owns the fifteen dtypes that operators compute with, floats of 8 bits, which are stored and cast,
names of dtypes without any array, the default floating point dtype and PyTorch's promotion rules,
which are not NumPy's.  Knows NumPy arrays and Python numbers; must not know Tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

import ml_dtypes
import numpy as np

# Checked here, since all other modules import this one.
if int(np.__version__.partition(".")[0]) < 2:
    raise ImportError(f"taper needs NumPy 2 or newer, and this is NumPy {np.__version__}")

BOOL, INTEGER, FLOATING, COMPLEX = range(4)
"""The categories in the order in which promotion prefers them; see ``dtype.category``."""


class _Immutable:
    """Attributes are set once, by the module itself."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        kind = type(self).__name__
        if hasattr(self, name):
            raise AttributeError(f"attribute '{name}' of 'torch.{kind}' objects is not writable")
        raise AttributeError(f"'torch.{kind}' object has no attribute '{name}'")


class dtype(_Immutable):
    """The type of a tensor's elements; there is one object for each type, compared with ``is``.

    >>> import taper
    >>> taper.float32, taper.float32.itemsize, taper.float32.is_floating_point
    (torch.float32, 4, True)
    """

    __slots__ = (
        "abbr",
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
        "scalar_type",
    )

    abbr: str
    category: int
    is_complex: bool
    is_floating_point: bool
    is_signed: bool
    itemsize: int
    name: str
    numpy: np.dtype[Any]
    scalar_type: str

    def __new__(cls) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __getattr__(self, name: str) -> Any:
        # Only the names without arrays lack one of the slots, `numpy`.
        if name == "numpy":
            raise NotImplementedError(
                f"{self!r} is a name only: use int8, float16, bfloat16, complex64 or a float8 dtype"
            )
        raise AttributeError(f"'torch.dtype' object has no attribute {name!r}")

    def to_real(self) -> dtype:
        """Return the dtype of the real part.

        >>> import taper
        >>> taper.complex128.to_real()
        torch.float64
        """
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype whose parts have this dtype.

        >>> import taper
        >>> taper.float64.to_complex()
        torch.complex128
        """
        found = _COMPLEX.get(self)
        if found is not None:
            return found
        if self is float16:
            raise NotImplementedError(
                "complex32 has no arrays: convert the float16 operand to float32 first"
            )
        raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_type}")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        # A string tells pickle and copy that this is a global of the module, found by name.
        return "bool_" if self.category == BOOL else self.name


DTYPES: dict[str, dtype] = {}
"""Every dtype under its name and its aliases, as in the ``torch`` namespace."""

FROM_NUMPY: dict[np.dtype[Any], dtype] = {}
"""The dtype of an array's elements: ``FROM_NUMPY[array.dtype]``."""


def _register(name: str, abbr: str, scalar_type: str, *aliases: str) -> dtype:
    numpy_type = np.dtype(getattr(ml_dtypes, name, name))
    kind = "f" if hasattr(ml_dtypes, name) else numpy_type.kind
    made = _made(name, abbr, scalar_type, kind, numpy_type.itemsize, numpy=numpy_type)
    FROM_NUMPY[numpy_type] = made
    for alias in aliases:
        DTYPES[alias] = made
    return made


def _made(
    name: str, abbr: str, scalar_type: str, kind: str, itemsize: int, **numpy: np.dtype[Any]
) -> dtype:
    values = {
        "abbr": abbr,
        "category": {"b": BOOL, "u": INTEGER, "i": INTEGER, "f": FLOATING, "c": COMPLEX}[kind],
        "is_complex": kind == "c",
        "is_floating_point": kind == "f",
        "is_signed": kind in "ifc" and name != "float8_e8m0fnu",
        "itemsize": itemsize,
        "name": name,
        "scalar_type": scalar_type,
        **numpy,
    }
    made: dtype = object.__new__(dtype)
    for attribute, value in values.items():
        object.__setattr__(made, attribute, value)
    DTYPES[name] = made
    return made


bool_ = _register("bool", "b8", "Bool")
uint8 = _register("uint8", "u8", "Byte")
uint16 = _register("uint16", "u16", "UInt16")
uint32 = _register("uint32", "u32", "UInt32")
uint64 = _register("uint64", "u64", "UInt64")
int8 = _register("int8", "i8", "Char")
int16 = short = _register("int16", "i16", "Short", "short")
int32 = int_ = _register("int32", "i32", "Int", "int")
int64 = long = _register("int64", "i64", "Long", "long")
float16 = half = _register("float16", "f16", "Half", "half")
bfloat16 = _register("bfloat16", "bf16", "BFloat16")
float32 = float_ = _register("float32", "f32", "Float", "float")
float64 = double = _register("float64", "f64", "Double", "double")
complex64 = cfloat = _register("complex64", "c64", "ComplexFloat", "cfloat")
complex128 = cdouble = _register("complex128", "c128", "ComplexDouble", "cdouble")

COMPUTED = tuple(FROM_NUMPY.values())
"""The dtypes that operators compute with."""

# Stored, cast and compared; PyTorch promotes them to nothing else.
FLOAT8 = tuple(
    _register(f"float8_{name}", f"f8{name}", f"Float8_{name}")
    for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
)

# Names that programs compare with and no tensor has.
for _name, _scalar, _kind, _size in (
    ("complex32", "ComplexHalf", "c", 4),
    ("quint8", "QUInt8", "u", 1),
    ("qint8", "QInt8", "i", 1),
    ("qint32", "QInt32", "i", 4),
    ("quint4x2", "QUInt4x2", "u", 1),
    ("quint2x4", "QUInt2x4", "u", 1),
    ("float4_e2m1fn_x2", "Float4_e2m1fn_x2", "f", 1),
    *((f"bits{each}", f"Bits{each}", "u", 1) for each in ("1x8", "2x4", "4x2", "8")),
    ("bits16", "Bits16", "u", 2),
    *((f"int{bits}", f"Int{bits}", "i", 1) for bits in range(1, 8)),
    *((f"uint{bits}", f"UInt{bits}", "u", 1) for bits in range(1, 8)),
):
    _made(_name, _name, _scalar, _kind, _size)
DTYPES["chalf"] = DTYPES["complex32"]
globals().update({each.name: each for each in DTYPES.values() if each not in COMPUTED})

_REAL = {complex64: float32, complex128: float64}
_COMPLEX = {
    bfloat16: complex64,
    float32: complex64,
    float64: complex128,
    complex64: complex64,
    complex128: complex128,
}
_FROM_PYTHON: dict[type, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}


def as_dtype(value: Any, function: str, argument: str, position: int = 0) -> dtype:
    """Return the dtype that a caller named: a dtype, or one of bool, int, float and complex.

    `function`, `argument` and `position` (0 for a keyword) are for the error.
    """
    if type(value) is dtype:
        return value
    if isinstance(value, type) and value in _FROM_PYTHON:
        return _FROM_PYTHON[value]
    where = f" (position {position})" if position else ""
    raise TypeError(
        f"{function}(): argument '{argument}'{where} must be torch.dtype, "
        f"not {type(value).__name__}"
    )


def of_array(array: np.ndarray[Any, Any]) -> dtype:
    """Return the dtype of an array's elements, with the errors of ``torch.from_numpy``.

    Differs: an array of ``ml_dtypes.bfloat16`` is accepted.
    """
    found = FROM_NUMPY.get(array.dtype)
    if found is not None:
        return found
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    element = array.dtype.type
    raise TypeError(
        f"can't convert np.ndarray of type {element.__module__}.{element.__name__}. "
        "The only supported types are: float64, float32, float16, complex64, complex128, "
        "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


# The default floating point dtype.


class _Default(_Immutable):
    """The dtype that Python floats become; ``complex`` is that of Python complex numbers."""

    __slots__ = ("float", "float_numpy")

    float: dtype
    float_numpy: np.dtype[Any]

    @property
    def complex(self) -> dtype:
        return self.float.to_complex()


default = _Default()
object.__setattr__(default, "float", float32)
object.__setattr__(default, "float_numpy", float32.numpy)


def get_default_dtype() -> dtype:
    """Return the floating point dtype of tensors made from Python floats.

    >>> import taper
    >>> taper.get_default_dtype()
    torch.float32
    """
    return default.float


def set_default_dtype(d: dtype) -> None:
    """Make `d` the floating point dtype of tensors made from Python floats.

    >>> import taper
    >>> taper.set_default_dtype(taper.float64)
    >>> taper.get_default_dtype()
    torch.float64
    >>> taper.set_default_dtype(taper.float32)
    """
    if type(d) is not dtype:
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    object.__setattr__(default, "float", d)
    object.__setattr__(default, "float_numpy", d.numpy)


# Promotion.


def _promoted(first: dtype, second: dtype) -> dtype | None:
    """Return an entry of the table of `promote_types`; None if PyTorch has no answer."""
    if first is second:
        return first
    low, high = sorted((first, second), key=operator.attrgetter("category", "itemsize"))
    wide_unsigned = (uint16, uint32, uint64)
    if low in wide_unsigned or high in wide_unsigned:
        return high if high.is_floating_point else None
    if high.is_complex:
        return complex128 if low is float64 else high
    if high.category == INTEGER and uint8 in (low, high) and int8 in (low, high):
        return int16
    if {low, high} == {float16, bfloat16}:
        return float32
    return high


_PROMOTED: dict[tuple[dtype, dtype], dtype] = {}
for _first in COMPUTED:
    for _second in COMPUTED:
        _found = _promoted(_first, _second)
        if _found is not None:
            _PROMOTED[_first, _second] = _found


def _promote(first: dtype, second: dtype) -> dtype:
    found = _PROMOTED.get((first, second))
    if found is None and first is second:
        return first
    if found is None and (first in FLOAT8 or second in FLOAT8):
        raise RuntimeError(
            "Promotion for Float8 Types is not supported, attempted to promote "
            f"{first.scalar_type} and {second.scalar_type}"
        )
    if found is None:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {first.scalar_type} and {second.scalar_type}"
        )
    return found


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Find the smallest dtype that holds the values of both, by PyTorch's table.

    >>> import taper
    >>> taper.promote_types(taper.int64, taper.float16)
    torch.float16
    """
    return _promote(
        as_dtype(type1, "promote_types", "type1", 1), as_dtype(type2, "promote_types", "type2", 2)
    )


def can_cast(from_: dtype, to: dtype) -> bool:
    """Tell whether values of `from_` can be written into `to`, of no lower category.

    >>> import taper
    >>> taper.can_cast(taper.float64, taper.float16), taper.can_cast(taper.float16, taper.int64)
    (True, False)
    """
    source, target = as_dtype(from_, "can_cast", "from_", 1), as_dtype(to, "can_cast", "to", 2)
    return source.category <= target.category


def number_category(number: object) -> int:
    """Return the category of a Python or NumPy number.

    NumPy's numbers count as Python's do; ``numpy.bool`` is a float, as PyTorch takes it.
    """
    known = _FROM_PYTHON.get(type(number))
    if known is not None:
        return known.category
    if isinstance(number, (int, np.integer)):
        return INTEGER
    if isinstance(number, (complex, np.complexfloating)):
        return COMPLEX
    if isinstance(number, (float, np.floating, np.bool_)) or type(number) is ml_dtypes.bfloat16:
        return FLOATING
    raise TypeError(f"expected a number or an array, got {type(number).__name__}")


def result_category(operands: Iterable[Any]) -> int:
    """Return the highest category among arrays and numbers, which decides what ``div`` computes."""
    return max(
        FROM_NUMPY[operand.dtype].category if _is_array(operand) else number_category(operand)
        for operand in operands
    )


def _is_array(operand: object) -> bool:
    """Return whether it is an array, also one that is no ndarray; NumPy's scalars are numbers."""
    return isinstance(operand, np.ndarray) or hasattr(operand, "__array_function__")


def _number_dtype(number: object) -> dtype:
    category = number_category(number)
    if category == FLOATING:
        return default.float
    if category == INTEGER:
        return int64
    return default.complex if category == COMPLEX else bool_


def _outranked(strong: dtype | None, weak: dtype | None) -> dtype | None:
    """Return the dtype of operands of two ranks; the weak one counts by its category only."""
    if strong is None or weak is None:
        return strong or weak
    if weak.category <= strong.category:
        return _promote(strong, weak) if strong is bool_ else strong
    if strong.is_floating_point:
        return strong.to_complex()
    return _promote(strong, weak) if weak.category < FLOATING else weak


def result_type(operands: Iterable[Any]) -> dtype:
    """Return the dtype of an operation on arrays and Python numbers.

    Arrays with dimensions decide; 0-d arrays, and below them Python numbers, count only if their
    category (bool, integer, floating, complex) is higher.
    """
    # One entry for each rank: Python numbers, 0-d arrays, arrays with dimensions.
    ranked: list[dtype | None] = [None, None, None]
    for operand in operands:
        if _is_array(operand):
            rank, found = 2 if operand.ndim else 1, FROM_NUMPY[operand.dtype]
        else:
            rank, found = 0, _number_dtype(operand)
        known = ranked[rank]
        ranked[rank] = found if known is None or known is found else _promote(known, found)
    number, zero_dim, dimensioned = ranked
    result = _outranked(dimensioned, _outranked(zero_dim, number))
    if result is None:
        raise ValueError("result_type() needs at least one operand")
    return result


# Names in messages.


def scalar_type_name(which: dtype) -> str:
    """Return PyTorch's name of a dtype in error texts: 'Float' for float32, 'Long' for int64."""
    return which.scalar_type


def type_name(which: dtype) -> str:
    """Return what ``Tensor.type()`` returns: 'torch.FloatTensor' for float32."""
    return f"torch.{which.scalar_type}Tensor"


def backend_type_name(which: dtype) -> str:
    """Return `type_name`, with the name that autograd's errors use for newer dtypes."""
    old = which.scalar_type in "Byte Char Short Int Long Half Float Double".split()
    return type_name(which) if old else f"CPU{which.scalar_type}Type"


# Limits.


_Dtype: TypeAlias = dtype  # the classes below have an attribute of the same name
_UNSET: Any = object()


class finfo(_Immutable):
    """Limits of a floating point dtype; for a complex one, of its parts.

    >>> import taper
    >>> taper.finfo(taper.float16).max
    65504.0
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    __hash__ = None  # type: ignore[assignment]

    bits: int
    dtype: str
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __init__(self, type: _Dtype = _UNSET) -> None:
        which = default.float if type is _UNSET else as_dtype(type, "finfo", "type", 1).to_real()
        if not which.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        limits: Any = ml_dtypes.finfo(which.numpy)
        object.__setattr__(self, "bits", which.itemsize * 8)
        object.__setattr__(self, "dtype", which.name)
        for name in ("eps", "max", "min", "smallest_normal", "tiny"):
            object.__setattr__(self, name, float(getattr(limits, name)))
        digits = 0 if which in FLOAT8 else limits.precision
        object.__setattr__(self, "resolution", float(f"1e-{digits}"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Immutable):
    """Limits of an integer dtype.

    >>> import taper
    >>> taper.iinfo(taper.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "dtype", "max", "min")
    __hash__ = None  # type: ignore[assignment]

    bits: int
    dtype: str
    max: int
    min: int

    def __init__(self, type: _Dtype) -> None:
        which = as_dtype(type, "iinfo", "type", 1)
        if which is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if which.category != INTEGER:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        limits = np.iinfo(which.numpy)
        object.__setattr__(self, "bits", which.itemsize * 8)
        object.__setattr__(self, "dtype", which.name)
        object.__setattr__(self, "max", int(limits.max))
        object.__setattr__(self, "min", int(limits.min))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


# The C++ names, which some of PyTorch's errors use.
C_NAMES = {
    bool_: "bool",
    uint8: "unsigned char",
    uint16: "short unsigned int",
    uint32: "unsigned int",
    uint64: "long unsigned int",
    int8: "signed char",
    int16: "short int",
    int32: "int",
    int64: "long int",
    float16: "c10::Half",
    bfloat16: "c10::BFloat16",
    float32: "float",
    float64: "double",
    complex64: "c10::complex<float>",
    complex128: "c10::complex<double>",
}


def no_kernel(kernel: str, which: dtype | np.dtype[Any]) -> NotImplementedError:
    """Return the error of PyTorch's `kernel` for a dtype that it does not support."""
    known = FROM_NUMPY[which] if isinstance(which, np.dtype) else which
    return NotImplementedError(f"\"{kernel}\" not implemented for '{known.scalar_type}'")
