"""Singular values: `linalg.svd`, `svdvals`, and what is made of them: `pinv`, `matrix_rank`.

Owns: the operators `_linalg_svd` and `linalg_pinv`. Signs and phases of singular vectors are those
of NumPy's LAPACK; another build of LAPACK may choose others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.arrays.foreign import has_elements
from taper.arrays.reduction import scalar_type
from taper.autograd.state import NO_GRAD, local
from taper.autograd.transforms import whole
from taper.autograd.views import requires_grad
from taper.factory import finish
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import (
    LinAlgError,
    check_floating,
    check_kernel,
    check_matrices,
    check_tensors,
    write_out,
)
from taper.ops.linalg.matrices import (
    columns,
    constant,
    diagonal_matrix,
    diagonal_of,
    joined,
    mh,
    product,
    real_of,
    rows,
    scaled_columns,
    scaled_rows,
    skew,
    symmetric,
    without_diagonal,
)
from taper.ops.shape.ones import unsqueeze
from taper.tensor import Tensor, array_of, is_complex, wrap

# --- svd -------------------------------------------------------------------------------------


@op(
    label="linalg_svd",
    outputs=("U", "S", "Vh"),
    returns=return_types.linalg_svd,
    saved_sizes={"S": (-1,)},
    public=False,
    method=False,
)
def _linalg_svd(A: Array, full_matrices: bool = False, compute_uv: bool = True) -> Array:
    """Compute U, S and V^H of A = U diag(S) V^H; without `compute_uv` U and V^H are empty."""
    check_matrices("linalg.svd", A)
    check_floating("linalg.svd", A)
    check_kernel("linalg_svd_cpu", A, empty=False)
    try:
        found: Any = _svd_of_arrays(A, full_matrices, compute_uv)
    except np.linalg.LinAlgError:
        raise _no_convergence(A) from None
    if compute_uv:
        return lapack.by_columns(found[0]), found[1], lapack.by_columns(found[2])
    return lapack.zeros(A, (0,)), found, lapack.zeros(A, (0,))


def _svd_of_arrays(A: ndarray, full: bool, vectors: bool) -> Any:
    if A.size:
        if not vectors:
            return np.linalg.svd(A, full, False)
        return tuple(np.linalg.svd(A, full))
    *lead, height, width = A.shape
    size = min(height, width)
    S = lapack.zeros(A, (*lead, size), A.real.dtype)
    if not vectors:
        return S
    wide, tall = (height, width) if full else (size, size)
    U = lapack.identity((*lead, height, wide), A.dtype, A)
    return U, S, lapack.identity((*lead, tall, width), A.dtype, A)


def _no_convergence(A: ndarray) -> LinAlgError:
    """Make the error for the first matrix without singular values."""
    flat = A.reshape(-1, *A.shape[-2:])
    bad = [not np.isfinite(each).all() for each in flat]
    where = f"(Batch element {bad.index(True) if True in bad else 0}): " if A.ndim > 2 else ""
    reason = (
        "contained non-finite values."
        if True in bad
        else "is ill-conditioned or has too many repeated singular values (error code: "
        f"{min(A.shape[-2:]) - 1})."
    )
    return LinAlgError(
        f"linalg.svd: {where}The algorithm failed to converge because the input matrix {reason}"
    )


@derivative(_linalg_svd, wrt="A")
def svd_grad(U, S, Vh, S_shape, full_matrices, grad_U=None, grad_S=None, grad_Vh=None):
    size = S_shape[-1]
    U, Vh = columns(U, None, size), rows(Vh, None, size)
    if grad_U is None and grad_Vh is None:
        return None if grad_S is None else product(scaled_columns(U, grad_S), Vh)
    grad_U = None if grad_U is None else columns(grad_U, None, size)
    grad_Vh = None if grad_Vh is None else rows(grad_Vh, None, size)
    return _svd_grad_of_vectors(U, S, Vh, grad_U, grad_S, grad_Vh)


def _svd_grad_of_vectors(U: Any, S: Any, Vh: Any, grad_U: Any, grad_S: Any, grad_Vh: Any) -> Any:
    inner_u = None if grad_U is None else product(mh(U), grad_U)
    inner_v = None if grad_Vh is None else product(Vh, mh(grad_Vh))
    if is_complex(U):
        _check_phase(inner_u, inner_v)
    gaps = _gaps_of_squares(S)
    inner = None
    if inner_u is not None:
        inner = scaled_columns(skew(inner_u) / gaps, S)
    if inner_v is not None:
        part = scaled_rows(skew(inner_v) / gaps, S)
        inner = part if inner is None else inner + part
    if is_complex(U) and inner_u is not None:
        # What remains of the phase: the imaginary part of the diagonal.
        turn = diagonal_of(skew(inner_u)) / (S + S)
        inner = inner + diagonal_matrix(turn)
    if grad_S is not None:
        inner = inner + diagonal_matrix(grad_S)
    result = product(U, inner, Vh)
    if grad_U is not None and U.shape[-2] > S.shape[-1]:
        outside = scaled_columns(grad_U - product(U, inner_u), 1 / S)
        result = result + product(outside, Vh)
    if grad_Vh is not None and Vh.shape[-1] > S.shape[-1]:
        outside = scaled_rows(grad_Vh - product(mh(inner_v), Vh), 1 / S)
        result = result + product(U, outside)
    return result


def _gaps_of_squares(S: Any) -> Any:
    """Compute s_j^2 - s_i^2 at place (i, j) as a product, with 1 on the diagonal."""
    one, other = unsqueeze(S, -2), unsqueeze(S, -1)
    gaps = (one - other) * (one + other)
    return gaps + constant(np.eye(S.shape[-1], dtype=array_of(S).dtype), S)


def _check_phase(inner_u: Any, inner_v: Any) -> None:
    turns = [
        0.0 if each is None else diagonal_of(array_of(each)).imag for each in (inner_u, inner_v)
    ]
    if not np.allclose(turns[0], -np.asarray(turns[1]), 1e-2, 1e-2):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this phase term, "
            "making it ill-defined."
        )


@tangent_of(_linalg_svd)
def svd_tangent(A_t, U, S, Vh):
    size = S.shape[-1]
    thin_u, thin_vh = columns(U, None, size), rows(Vh, None, size)
    moved = product(mh(thin_u), A_t, mh(thin_vh))
    of_values = real_of(diagonal_of(moved))
    off = without_diagonal(moved)
    gaps = _gaps_of_squares(S)
    turn_u = symmetric(scaled_columns(off, S)) / gaps
    turn_v = symmetric(scaled_rows(off, S)) / gaps
    if is_complex(U):
        phase = (diagonal_of(moved) - of_values) / (S + S)
        turn_u = turn_u + diagonal_matrix(phase)
        turn_v = turn_v - diagonal_matrix(phase)
    of_u = product(thin_u, turn_u)
    of_vh = -product(turn_v, thin_vh)
    if U.shape[-2] > size:
        away = product(A_t, mh(thin_vh))
        of_u = of_u + scaled_columns(away - product(thin_u, mh(thin_u), away), 1 / S)
    if Vh.shape[-1] > size:
        away = product(mh(thin_u), A_t)
        of_vh = of_vh + scaled_rows(away - product(away, mh(thin_vh), thin_vh), 1 / S)
    if U.shape[-1] > size:
        rest = columns(U, size, None)
        of_u = joined([of_u, -product(thin_u, mh(of_u), rest)], -1)
    if Vh.shape[-2] > size:
        rest = rows(Vh, size, None)
        of_vh = joined([of_vh, -product(rest, mh(of_vh), thin_vh)], -2)
    return of_u, of_values, of_vh


def _refuse_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


def linalg_svd(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None
) -> Any:
    """Factor A = U diag(S) V^H, the singular values in descending order.

    >>> import taper
    >>> taper.linalg.svd(taper.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_tensors("linalg_svd", A=A)
    _refuse_driver(driver)
    if out is not None:
        return write_out(
            "_linalg_svd", _linalg_svd, (A, full_matrices), out, return_types.linalg_svd
        )
    return _linalg_svd(A, full_matrices, True)


def singular_values(A: Tensor) -> Any:
    """Compute the singular values; the vectors only if a gradient needs them."""
    wanted = not local.state.mode & NO_GRAD and requires_grad(A)
    return _linalg_svd(A, False, wanted or local.state.mode > 1)[1]


def linalg_svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Any:
    """Compute the singular values of each matrix, in descending order.

    >>> import taper
    >>> taper.linalg.svdvals(taper.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    check_tensors("linalg_svdvals", A=A)
    _refuse_driver(driver)
    if out is not None:
        return write_out("_linalg_svd", singular_values, (A,), out)
    return singular_values(A)


@composite()
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """Factor A = U diag(S) V^H; `linalg.svd` is the name to use.

    >>> import taper
    >>> taper.svd(taper.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_tensors("svd", input=input)
    if input.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.dim()} "
            "dimensions instead"
        )
    if out is not None:
        if not isinstance(out, (tuple, list)):
            name = type(out).__name__
            raise TypeError(f"svd(): argument 'out' must be tuple of Tensors, not {name}")
        return write_out(
            "_linalg_svd", _older_svd, (input, some, compute_uv), out, return_types.svd
        )
    return _older_svd(input, some, compute_uv)


def _older_svd(input: Tensor, some: bool, compute_uv: bool) -> Any:
    if compute_uv:
        U, S, Vh = _linalg_svd(input, not some, True)
        return return_types.svd((U, S, mh(Vh)))
    S = singular_values(input)
    *lead, height, width = input.shape
    U = input.new_zeros((*lead, height, height))
    V = input.new_zeros((*lead, width, width))
    return return_types.svd((U, S, wrap(lapack.by_columns(V._array))))


# --- pinv and matrix_rank --------------------------------------------------------------------


def _tolerance(values: ndarray, matrices: ndarray, atol: Any, rtol: Any) -> Any:
    """Compute the size below which values count as zero; the last dimension is kept."""
    if rtol is None:
        largest_size = max(matrices.shape[-2:])
        default = np.finfo(matrices.dtype).eps * largest_size
        rtol = default if atol is None else np.where(np.asarray(atol) > 0, 0.0, default)
    atol = np.asarray(0.0 if atol is None else atol)
    largest = values.max(-1, initial=0) if values.shape[-1] else np.zeros(values.shape[:-1])
    return np.maximum(atol, np.asarray(rtol) * largest)[..., None]


@op(name="linalg_pinv", label="linalg_pinv", public=False, method=False)
def pseudo_inverse(
    self: Array, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Array:
    """Compute the pseudo-inverse by singular values or, if Hermitian, by eigenvalues."""
    if self.ndim < 2 or self.dtype.char not in "fdFD":
        raise RuntimeError(
            f"linalg.pinv({scalar_type(self.dtype)}{{{list(self.shape)}}}): expected a tensor with "
            "2 or more dimensions of float, double, cfloat or cdouble types"
        )
    if not self.size:
        return lapack.zeros(self, (*self.shape[:-2], self.shape[-1], self.shape[-2]))
    if hermitian:
        if self.shape[-1] != self.shape[-2]:
            raise RuntimeError(
                "linalg.eigh: A must be batches of square matrices, but they are "
                f"{self.shape[-2]} by {self.shape[-1]} matrices"
            )
        values, U = np.linalg.eigh(self)
        sizes, Vh = np.abs(values), lapack.adjoint(U)
    else:
        U, values, Vh = _linalg_svd.op.kernel(self, False, True)
        sizes = values
    kept = sizes > _tolerance(sizes, self, atol, rtol)
    inverted = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(self.real.dtype)
    found = lapack.adjoint(Vh) @ (inverted[..., None] * lapack.adjoint(U))
    return np.ascontiguousarray(found).astype(self.dtype, copy=False)


@derivative(pseudo_inverse, wrt="self")
def pinv_self(grad, result, self):
    return pinv_gradient(grad, result, self)


def pinv_gradient(grad: Any, inverse: Any, matrix: Any) -> Any:
    """Compute the gradient by Golub and Pereyra's formula, for matrices of constant rank."""
    turned, back = mh(inverse), mh(grad)
    direct = -product(turned, grad, turned)
    left = product(back, inverse, turned)
    left = left - product(matrix, inverse, left)
    right = product(turned, inverse, back)
    right = right - product(right, inverse, matrix)
    return direct + left + right


@tangent_of(pseudo_inverse)
def pinv_tangent(self, result, self_t):
    turned = mh(self_t)
    direct = -product(result, self_t, result)
    left = product(result, mh(result), turned)
    left = left - product(left, self, result)
    right = product(turned, mh(result), result)
    return direct + left + right - product(result, self, right)


def _plain(function: str, name: str, value: Any) -> Any:
    """Convert a tolerance, a number or a Tensor, to an array."""
    if isinstance(value, Tensor):
        if value.dtype.is_complex:
            raise RuntimeError(
                f"torch.linalg.{function}: {name} tensor of complex type is not supported. Got "
                f"{value.dtype.scalar_type}"
            )
        return value._array
    return value


_TOLERANCES = (
    "(Tensor input, *, Tensor atol = None, Tensor rtol = None, bool hermitian = False, Tensor out "
    "= None)",
    "(Tensor input, *, float atol = None, float rtol = None, bool hermitian = False, Tensor out = "
    "None)",
)


def linalg_pinv(
    input: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Any:
    """Compute the pseudo-inverse of Moore and Penrose; values below the tolerance count as zero.

    `rcond` is an older name of `rtol`.

    >>> import taper
    >>> taper.linalg.pinv(taper.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    if not isinstance(input, Tensor):
        raise _no_overload("linalg_pinv", "rcond", input)
    if rcond is not None:
        atol, rtol = 0.0, rcond
    atol, rtol = _plain("pinv", "atol", atol), _plain("pinv", "rtol", rtol)
    if out is not None:
        arguments = (input, atol, rtol, hermitian)
        return write_out("linalg_pinv", pseudo_inverse, arguments, out, None, None)
    return pseudo_inverse(input, atol, rtol, hermitian)


def _no_overload(function: str, older: str, given: Any) -> TypeError:
    listed = [
        *_TOLERANCES,
        *(
            f"(Tensor input, {kind} {older}, bool hermitian = False, *, Tensor out = None)"
            for kind in ("Tensor", "float")
        ),
    ]
    lines = "".join(f" * {each}\n" for each in listed)
    return TypeError(
        f"{function}() received an invalid combination of arguments - got "
        f"({type(given).__name__}), but expected one of:\n{lines}"
    )


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Any:
    """Compute the pseudo-inverse as `linalg.pinv` does, with a fixed relative tolerance.

    >>> import taper
    >>> taper.pinverse(taper.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    check_tensors("pinverse", input=input)
    return linalg_pinv(input, rcond)


def linalg_matrix_rank(
    input: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Any:
    """Count the singular values (eigenvalues if Hermitian) above the tolerance.

    `tol` is an older name of `atol`, without relative tolerance.

    >>> import taper
    >>> taper.linalg.matrix_rank(taper.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    if not isinstance(input, Tensor):
        raise _no_overload("linalg_matrix_rank", "tol", input)
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = _plain("matrix_rank", "atol", atol), _plain("matrix_rank", "rtol", rtol)
    if out is not None:
        arguments = (input, atol, rtol, hermitian)
        return write_out(None, _rank, arguments, out, None, _check_castable)
    return _rank(input, atol, rtol, hermitian)


def _check_castable(out: ndarray, result: ndarray) -> None:
    if out.dtype.kind == "b":
        raise RuntimeError(
            "torch.linalg.matrix_rank: Expected result to be safely castable from Long dtype, but "
            "got result with dtype Bool"
        )


@whole("matrix_rank")
def _rank(input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    array = input._array
    check_matrices("torch.linalg.matrix_rank", array, "input")
    if array.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double")
    if not array.size or not has_elements(array):
        return finish(np.zeros(array.shape[:-2], np.int64), where=input.device)
    values = (
        _eigenvalue_sizes(array) if hermitian else _linalg_svd.op.kernel(array, False, False)[1]
    )
    above = values > _tolerance(values, array, atol, rtol)
    return finish(np.asarray(np.count_nonzero(above, axis=-1)).astype(np.int64))


def _eigenvalue_sizes(array: ndarray) -> ndarray:
    if array.shape[-1] != array.shape[-2]:
        raise RuntimeError(
            "linalg.eigh: A must be batches of square matrices, but they are "
            f"{array.shape[-2]} by {array.shape[-1]} matrices"
        )
    return np.abs(np.linalg.eigvalsh(array))
