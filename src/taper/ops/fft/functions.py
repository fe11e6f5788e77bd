"""Discrete Fourier transforms in one and several dimensions: the functions of `fft`.

Owns: arguments, dtypes and sizes; what is computed is one or two of `transforms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy import ndarray

from taper import dtypes
from taper.arrays.reduction import scalar_type
from taper.arrays.strides import wrap_dim
from taper.factory import integer, is_integer, refuse
from taper.opdef import composite
from taper.opdef.writes import compute_into
from taper.ops.fft.transforms import Dims, fft_c2c, fft_c2r, fft_r2c
from taper.ops.image.padding import constant_pad_nd
from taper.ops.shape.parts import slice_dim
from taper.tensor import Tensor

Out: TypeAlias = Tensor | None

_NORMS = {"backward": 0, "ortho": 1, "forward": 2}
# The last two dimensions, for the functions of two.
_PLANE = (-2, -1)
_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


# --- arguments -------------------------------------------------------------------------------


def _normalization(norm: str | None, forward: bool) -> int:
    """Return what is divided by: 0 nothing, 1 the root of the number of points, 2 that number."""
    number = _NORMS.get("backward" if norm is None else norm)
    if number is None:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return number if forward else 2 - number


def _checked(function: str, input: Any, norm: Any) -> Tensor:
    """Convert the input of a transform of one dimension to a dtype that can be transformed."""
    _check_types(function, input, norm)
    return _promoted(input)


def _check_types(function: str, input: Any, norm: Any) -> None:
    if not isinstance(input, Tensor):
        refuse(f"fft_{function}", "input", 1, "Tensor", input)
    if norm is not None and not isinstance(norm, str):
        refuse(f"fft_{function}", "norm", 0, "str", norm)


def _promoted(input: Tensor) -> Tensor:
    """Convert to a dtype that can be transformed."""
    kind = input.dtype
    if kind.is_floating_point and kind not in _COMPLEX:
        raise RuntimeError(f"Unsupported dtype {kind.scalar_type}")
    if not (kind.is_floating_point or kind.is_complex):
        input = input.to(dtypes.default.float)
    return input


def _complex(input: Tensor) -> Tensor:
    kind = input.dtype
    return input if kind.is_complex else input.to(_COMPLEX[kind])


def _refuse_complex(text: str, input: Tensor) -> None:
    if input.dtype.is_complex:
        raise RuntimeError(f"{text} {input.dtype.scalar_type}")


def _points(count: int) -> int:
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")
    return count


def _line(function: str, input: Tensor, n: Any, dim: Any) -> tuple[Any, int]:
    """Return the length asked for, or None, and the dimension counted from the front."""
    length = None if n is None else integer(f"fft_{function}", "n", 2, n)
    number = integer(f"fft_{function}", "dim", 3, dim)
    if not input.dim():
        raise IndexError(f"Dimension specified as {number} but tensor has no dimensions")
    return length, wrap_dim(number, input.dim())


def _resized(input: Tensor, sizes: list[int], dims: Dims) -> Tensor:
    """Cut the input, or fill it with zeros, to these sizes."""
    ndim = input.dim()
    padding = [0] * (2 * ndim)
    for size, dim in zip(sizes, dims, strict=True):
        length = input.shape[dim]
        if length > size:
            input = slice_dim(input, dim, 0, size)
        elif length < size:
            padding[2 * (ndim - dim) - 1] = size - length
    return constant_pad_nd(input, tuple(padding)) if any(padding) else input


def integers(function: str, name: str, position: int, value: Any) -> Dims:
    """Return several integers; one stands for a tuple of itself."""
    if is_integer(value):
        return (int(value),)
    if not isinstance(value, (tuple, list)) or not all(map(is_integer, value)):
        refuse(function, name, position, "tuple of ints", value)
    return tuple(map(int, value))


def _shape(function: str, input: Tensor, s: Any, dim: Any) -> tuple[list[int], Dims]:
    """Return the sizes and dimensions of a transform of several."""
    ndim = input.dim()
    name = f"fft_{function}"
    dims = None
    if dim is not None:
        given = integers(name, "dim", 0, dim)
        if given and not ndim:
            raise IndexError(f"Dimension specified as {given[0]} but tensor has no dimensions")
        dims = tuple([wrap_dim(each, ndim) for each in given])
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        dims = tuple(range(ndim)) if dims is None else dims
        return [input.shape[each] for each in dims], dims
    sizes = list(integers(name, "s", 2, s))
    if dims is None:
        if len(sizes) > ndim:
            raise RuntimeError(
                f"Got shape with {len(sizes)} values but input tensor only has {ndim} dimensions."
            )
        dims = tuple(range(ndim - len(sizes), ndim))
    elif len(sizes) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return [
        input.shape[each] if size == -1 else size for size, each in zip(sizes, dims, strict=True)
    ], dims


def _half(sizes: list[int]) -> list[int]:
    """Return the sizes with the last one that of a half."""
    return [*sizes[:-1], sizes[-1] // 2 + 1]


def _whole_shape(function: str, input: Tensor, s: Any, dim: Any) -> tuple[list[int], Dims]:
    """Return sizes where the input is half of what is transformed, in its last dimension."""
    sizes, dims = _shape(function, input, s, dim)
    if not dims:
        raise RuntimeError(f"{function} must transform at least one axis")
    if s is None or _last(s) == -1:
        sizes[-1] = 2 * (input.shape[dims[-1]] - 1)
    for size in sizes:
        _points(size)
    return sizes, dims


def _last(s: Any) -> Any:
    return s[-1] if isinstance(s, (tuple, list)) else s


def _into(
    label: str,
    wanted: str,
    function: Callable[..., Tensor],
    arguments: tuple[Any, ...],
    out: Any,
    check: Callable[[ndarray, ndarray], None] | None = None,
) -> Tensor:
    """Write into `out=`, which must be complex or floating as the result; precision may differ.

    `wanted` is the function's name and what its result is; `label` the operator at the end.
    """
    name, kind = wanted.split(" ", 1)
    if not isinstance(out, Tensor):
        refuse(f"fft_{name}", "out", 0, "Tensor", out)
    fits = out.dtype.is_complex if kind == "complex" else out.dtype.is_floating_point
    if not fits:
        raise RuntimeError(
            f"{name} expects a {kind} output tensor, but got {out.dtype.scalar_type}"
        )

    def row_major(*given: Any) -> Tensor:
        return function(*given).contiguous()

    # An `out` that is resized becomes row-major, unless a conjugate is written into it.
    return compute_into(label, function if check else row_major, arguments, out, check)


def _same_precision(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type(out.dtype)} but expected {scalar_type(result.dtype)}"
        )


# --- one dimension ---------------------------------------------------------------------------


def _complex_line(
    function: str, input: Any, n: Any, dim: Any, norm: Any, forward: bool, out: Any
) -> Tensor:
    if out is not None:
        label = "_fft_c2c" if getattr(input, "is_complex", bool)() else "_fft_r2c"
        arguments = (function, input, n, dim, norm, forward, None)
        check = None if forward or label == "_fft_c2c" else _same_precision
        return _into(label, f"{function} complex", _complex_line, arguments, out, check)
    input = _checked(function, input, norm)
    length, number = _line(function, input, n, dim)
    size = _points(input.shape[number] if length is None else length)
    normalization = _normalization(norm, forward)
    input = _resized(input, [size], (number,))
    if input.dtype.is_complex:
        return fft_c2c(input, (number,), normalization, forward)
    found = fft_r2c(input, (number,), normalization, False)
    return found if forward else found.conj()


def _half_line(
    function: str, input: Any, n: Any, dim: Any, norm: Any, forward: bool, out: Any
) -> Tensor:
    """Transform a real input to the half that decides the other."""
    if out is not None:
        arguments = (function, input, n, dim, norm, forward, None)
        check = None if forward else _same_precision
        return _into("_fft_r2c", f"{function} complex", _half_line, arguments, out, check)
    input = _checked(function, input, norm)
    _refuse_complex(f"{function} expects a real input tensor, but got", input)
    length, number = _line(function, input, n, dim)
    size = _points(input.shape[number] if length is None else length)
    normalization = _normalization(norm, forward)
    input = _resized(input, [size], (number,))
    found = fft_r2c(input, (number,), normalization, True)
    return found if forward else found.conj()


def _real_line(
    function: str, input: Any, n: Any, dim: Any, norm: Any, forward: bool, out: Any
) -> Tensor:
    """Transform a half that decides the other to real numbers."""
    if out is not None:
        arguments = (function, input, n, dim, norm, forward, None)
        return _into("_fft_c2r", f"{function} floating point", _real_line, arguments, out)
    input = _complex(_checked(function, input, norm))
    length, number = _line(function, input, n, dim)
    size = _points(2 * (input.shape[number] - 1) if length is None else length)
    normalization = _normalization(norm, forward)
    input = _resized(input, [size // 2 + 1], (number,))
    if forward:
        input = input.conj()
    return fft_c2r(input, (number,), normalization, size)


@composite(method=False, public=False, numpy_names=True)
def fft_fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Compute the discrete Fourier transform along a dimension of `n` points.

    The input is cut or filled with zeros to `n`. `norm` says which direction divides by the number
    of points: "forward", "backward", or "ortho" for both, by its root.

    >>> import taper
    >>> taper.fft.fft(taper.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j])
    """
    return _complex_line("fft", input, n, dim, norm, True, out)


@composite(method=False, public=False, numpy_names=True)
def fft_ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Undo `fft`.

    >>> import taper
    >>> taper.fft.ifft(taper.tensor([3.0 + 0j, -1.0]))
    tensor([1.+0.j, 2.+0.j])
    """
    return _complex_line("ifft", input, n, dim, norm, False, out)


@composite(method=False, public=False, numpy_names=True)
def fft_rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform real numbers, leaving out the half that is the conjugate of the other.

    >>> import taper
    >>> taper.fft.rfft(taper.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _half_line("rfft", input, n, dim, norm, True, out)


@composite(method=False, public=False, numpy_names=True)
def fft_irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Undo `rfft`; `n` is the number of points of the result.

    >>> import taper
    >>> taper.fft.irfft(taper.tensor([10.0 + 0j, -2 + 2j, -2]))
    tensor([1., 2., 3., 4.])
    """
    return _real_line("irfft", input, n, dim, norm, False, out)


@composite(method=False, public=False, numpy_names=True)
def fft_hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform a signal whose second half, conjugate to the first, is missing, to real numbers.

    >>> import taper
    >>> taper.fft.hfft(taper.tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    return _real_line("hfft", input, n, dim, norm, True, out)


@composite(method=False, public=False, numpy_names=True)
def fft_ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Undo `hfft`.

    >>> import taper
    >>> taper.fft.ihfft(taper.tensor([8.0, -2.0, 0.0, -2.0])).real
    tensor([1., 2., 3.])
    """
    return _half_line("ihfft", input, n, dim, norm, False, out)


# --- several dimensions ----------------------------------------------------------------------


def _complex_block(
    function: str, input: Any, s: Any, dim: Any, norm: Any, forward: bool, out: Any
) -> Tensor:
    if out is not None:
        arguments = (function, input, s, dim, norm, forward, None)
        return _into("_fft_c2c", "fftn complex", _complex_block, arguments, out)
    _check_types(function, input, norm)
    sizes, dims = _shape(function, input, s, dim)
    for size in sizes:
        _points(size)
    input = _complex(_promoted(input))
    normalization = _normalization(norm, forward)
    return fft_c2c(_resized(input, sizes, dims), dims, normalization, forward)


def _rfft_block(function: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Tensor:
    if out is not None:
        arguments = (function, input, s, dim, norm, None)
        return _into("_fft_r2c", "rfftn complex", _rfft_block, arguments, out)
    _check_types(function, input, norm)
    _refuse_complex("rfftn expects a real-valued input tensor, but got", input)
    sizes, dims = _shape(function, input, s, dim)
    for size in sizes:
        _points(size)
    if not dims:
        raise RuntimeError("rfftn must transform at least one axis")
    return fft_r2c(_resized(_promoted(input), sizes, dims), dims, _normalization(norm, True), True)


def _irfft_block(function: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Tensor:
    if out is not None:
        arguments = (function, input, s, dim, norm, None)
        return _into("_fft_c2r", "irfftn floating point", _irfft_block, arguments, out)
    _check_types(function, input, norm)
    sizes, dims = _whole_shape("irfftn", input, s, dim)
    input = _promoted(input)
    input = _resized(_complex(input), _half(sizes), dims)
    return fft_c2r(input, dims, _normalization(norm, False), sizes[-1])


def _hfft_block(function: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Tensor:
    if out is not None:
        arguments = (function, input, s, dim, norm, None)
        return _into("_fft_c2r", "hfftn floating point", _hfft_block, arguments, out)
    _check_types(function, input, norm)
    sizes, dims = _whole_shape("hfftn", input, s, dim)
    input = _promoted(input)
    normalization = _normalization(norm, True)
    input = _resized(_complex(input), _half(sizes), dims)
    if len(dims) > 1:
        input = fft_c2c(input, dims[:-1], normalization, True)
    return fft_c2r(input.conj(), dims[-1:], normalization, sizes[-1])


def _ihfft_block(function: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Tensor:
    if out is not None:
        arguments = (function, input, s, dim, norm, None)
        return _into("_fft_c2c", "ihfftn complex", _ihfft_block, arguments, out)
    _check_types(function, input, norm)
    sizes, dims = _shape(function, input, s, dim)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    for size in sizes:
        _points(size)
    input = _promoted(input)
    normalization = _normalization(norm, False)
    _refuse_complex("Only supports floating-point dtypes, but found:", input)
    found = fft_r2c(_resized(input, sizes, dims), dims[-1:], normalization, True)
    if len(dims) == 1:
        return found.conj()
    return fft_c2c(found.conj_physical(), dims[:-1], normalization, False)


@composite(method=False, public=False, numpy_names=True)
def fft_fftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform several dimensions: `dim`, or the last of them if `s` is given, or all.

    >>> import taper
    >>> taper.fft.fftn(taper.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _complex_block("fftn", input, s, dim, norm, True, out)


@composite(method=False, public=False, numpy_names=True)
def fft_ifftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Undo `fftn`.

    >>> import taper
    >>> taper.fft.ifftn(taper.ones(2, 2))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _complex_block("ifftn", input, s, dim, norm, False, out)


@composite(method=False, public=False, numpy_names=True)
def fft_rfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform real numbers in several dimensions; half of the last one is left out.

    >>> import taper
    >>> taper.fft.rfftn(taper.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return _rfft_block("rfftn", input, s, dim, norm, out)


@composite(method=False, public=False, numpy_names=True)
def fft_irfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Undo `rfftn`; `s` are the sizes of the result.

    >>> import taper
    >>> taper.fft.irfftn(taper.ones(2, 3, dtype=taper.complex64)).shape
    torch.Size([2, 4])
    """
    return _irfft_block("irfftn", input, s, dim, norm, out)


@composite(method=False, public=False, numpy_names=True)
def fft_hfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform as `hfft` in several dimensions; in the last one half is missing.

    >>> import taper
    >>> taper.fft.hfftn(taper.ones(2, 3)).shape
    torch.Size([2, 4])
    """
    return _hfft_block("hfftn", input, s, dim, norm, out)


@composite(method=False, public=False, numpy_names=True)
def fft_ihfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Undo `hfftn`.

    >>> import taper
    >>> taper.fft.ihfftn(taper.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return _ihfft_block("ihfftn", input, s, dim, norm, out)


# --- two dimensions --------------------------------------------------------------------------


def _plane(function: str, dim: Any) -> Any:
    if dim is None:
        refuse(f"fft_{function}", "dim", 0, "tuple of ints", dim)
    return dim


@composite(method=False, public=False, numpy_names=True)
def fft_fft2(
    input: Tensor, s: Any = None, dim: Any = _PLANE, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform the last two dimensions as `fftn`.

    >>> import taper
    >>> taper.fft.fft2(taper.ones(2, 2)).abs()
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _complex_block("fft2", input, s, _plane("fft2", dim), norm, True, out)


@composite(method=False, public=False, numpy_names=True)
def fft_ifft2(
    input: Tensor, s: Any = None, dim: Any = _PLANE, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform the last two dimensions as `ifftn`.

    >>> import taper
    >>> taper.fft.ifft2(taper.ones(2, 2)).abs()
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _complex_block("ifft2", input, s, _plane("ifft2", dim), norm, False, out)


@composite(method=False, public=False, numpy_names=True)
def fft_rfft2(
    input: Tensor, s: Any = None, dim: Any = _PLANE, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform the last two dimensions as `rfftn`.

    >>> import taper
    >>> taper.fft.rfft2(taper.ones(3, 2, 4)).shape
    torch.Size([3, 2, 3])
    """
    return _rfft_block("rfft2", input, s, _plane("rfft2", dim), norm, out)


@composite(method=False, public=False, numpy_names=True)
def fft_irfft2(
    input: Tensor, s: Any = None, dim: Any = _PLANE, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform the last two dimensions as `irfftn`.

    >>> import taper
    >>> taper.fft.irfft2(taper.ones(3, 2, 3)).shape
    torch.Size([3, 2, 4])
    """
    return _irfft_block("irfft2", input, s, _plane("irfft2", dim), norm, out)


@composite(method=False, public=False, numpy_names=True)
def fft_hfft2(
    input: Tensor, s: Any = None, dim: Any = _PLANE, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform the last two dimensions as `hfftn`.

    >>> import taper
    >>> taper.fft.hfft2(taper.ones(3, 2, 3)).shape
    torch.Size([3, 2, 4])
    """
    return _hfft_block("hfft2", input, s, _plane("hfft2", dim), norm, out)


@composite(method=False, public=False, numpy_names=True)
def fft_ihfft2(
    input: Tensor, s: Any = None, dim: Any = _PLANE, norm: str | None = None, *, out: Out = None
) -> Tensor:
    """Transform the last two dimensions as `ihfftn`.

    >>> import taper
    >>> taper.fft.ihfft2(taper.ones(3, 2, 4)).shape
    torch.Size([3, 2, 3])
    """
    return _ihfft_block("ihfft2", input, s, _plane("ihfft2", dim), norm, out)
