"""Eigenvalues: `linalg.eig` and `linalg.eigh` with their variants without vectors.

Owns: the two operators. Signs and phases of eigenvectors are those of NumPy's LAPACK; another build
of LAPACK may choose others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.arrays.reduction import scalar_type
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.opdef import Array, derivative, op, tangent_of
from taper.ops.elementwise.complexes import conj
from taper.ops.linalg.checks import (
    LinAlgError,
    check_kernel,
    check_square,
    check_tensors,
    write_out,
)
from taper.ops.linalg.matrices import (
    diagonal_matrix,
    diagonal_of,
    mh,
    pairwise_differences,
    product,
    real_of,
    scaled_columns,
    skew,
    to_dtype,
    without_diagonal,
)
from taper.ops.linalg.solve import solved
from taper.tensor import Tensor, array_of, is_complex


def _wants_vectors(A: Tensor) -> bool:
    """Tell whether a gradient needs the vectors; under other modes they are always computed."""
    mode = local.state.mode
    return mode > 1 or (not mode & NO_GRAD and requires_grad(A))


def _check_phase(name: str, inner: Any) -> None:
    turns = diagonal_of(array_of(inner)).imag
    if turns.size and not np.allclose(turns, 0, 1e-2, 1e-2):
        raise RuntimeError(
            f"{name}: The eigenvectors in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this quantity, so it is "
            "ill-defined."
        )


# --- eigh ------------------------------------------------------------------------------------


@op(
    label="linalg_eigh",
    outputs=("eigenvalues", "eigenvectors"),
    returns=return_types.linalg_eigh,
    public=False,
    method=False,
)
def _linalg_eigh(A: Array, UPLO: str = "L", compute_v: bool = True) -> Array:
    """Compute eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    check_square("linalg.eigh", A)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", A, empty=False)
    if not A.size:
        vectors = A.copy() if compute_v else lapack.zeros(A, (0,))
        return lapack.zeros(A, A.shape[:-1], A.real.dtype), vectors
    _check_finite(A, 1 if compute_v else 2)
    triangle: Any = UPLO.upper()
    try:
        if not compute_v:
            return np.linalg.eigvalsh(A, triangle), lapack.zeros(A, (0,))
        values, vectors = np.linalg.eigh(A, triangle)
    except np.linalg.LinAlgError:
        raise _not_converged(A, np.zeros(A.shape[:-2], bool), 1) from None
    return values, lapack.by_columns(vectors)


def _check_finite(A: ndarray, missing: int) -> None:
    bad = ~np.isfinite(A).all((-2, -1))
    if bad.any():
        raise _not_converged(A, bad, missing)


def _not_converged(A: ndarray, bad: ndarray, missing: int) -> LinAlgError:
    first = int(np.flatnonzero(bad)[0]) if bad.any() else 0
    where = f"(Batch element {first}): " if A.ndim > 2 else ""
    return LinAlgError(
        f"linalg.eigh: {where}The algorithm failed to converge because the input matrix is "
        "ill-conditioned or has too many repeated eigenvalues (error code: "
        f"{max(A.shape[-1] - missing, 1)})."
    )


@derivative(_linalg_eigh, wrt="A")
def eigh_grad(eigenvalues, eigenvectors, grad_eigenvalues=None, grad_eigenvectors=None):
    turned = mh(eigenvectors)
    if grad_eigenvectors is None:
        if grad_eigenvalues is None:
            return None
        return product(scaled_columns(eigenvectors, grad_eigenvalues), turned)
    inner = product(turned, grad_eigenvectors)
    if is_complex(inner):
        _check_phase("linalg_eigh_backward", inner)
    # Half of the skew part makes the gradient Hermitian, as the matrix is.
    inner = without_diagonal(skew(inner) * 0.5 / pairwise_differences(eigenvalues))
    if grad_eigenvalues is not None:
        inner = inner + diagonal_matrix(grad_eigenvalues)
    return product(eigenvectors, inner, turned)


@tangent_of(_linalg_eigh)
def eigh_tangent(A_t, eigenvalues, eigenvectors):
    moved = product(mh(eigenvectors), A_t, eigenvectors)
    turn = without_diagonal(moved / pairwise_differences(eigenvalues))
    return real_of(diagonal_of(moved)), product(eigenvectors, turn)


def _check_uplo(function: str, UPLO: Any) -> None:
    if not isinstance(UPLO, str):
        raise TypeError(f"{function}(): argument 'UPLO' must be str, not {type(UPLO).__name__}")


def linalg_eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Compute eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Only one triangle of each matrix is read.

    >>> import taper
    >>> taper.linalg.eigh(taper.tensor([[0.0, 1.0], [1.0, 0.0]])).eigenvalues
    tensor([-1.,  1.])
    """
    check_tensors("linalg_eigh", input=input)
    _check_uplo("linalg_eigh", UPLO)
    if out is not None:
        returns = return_types.linalg_eigh
        return write_out("_linalg_eigh", _linalg_eigh, (input, UPLO, True), out, returns)
    return _linalg_eigh(input, UPLO, True)


def _eigenvalues(input: Tensor, UPLO: str) -> Any:
    return _linalg_eigh(input, UPLO, _wants_vectors(input))[0]


def linalg_eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Any:
    """Compute the eigenvalues of Hermitian matrices, ascending.

    >>> import taper
    >>> taper.linalg.eigvalsh(taper.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([-1.,  1.])
    """
    check_tensors("linalg_eigvalsh", input=input)
    _check_uplo("linalg_eigvalsh", UPLO)
    if out is not None:
        return write_out("_linalg_eigh", _eigenvalues, (input, UPLO), out)
    return _eigenvalues(input, UPLO)


# --- eig -------------------------------------------------------------------------------------


def _complex_dtype(array: ndarray) -> np.dtype:
    return np.dtype(np.complex64 if array.real.dtype.itemsize == 4 else np.complex128)


def _check_eig(name: str, A: ndarray) -> None:
    check_square(name, A)
    if A.dtype.kind not in "fcV":
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_type(A.dtype)}")
    check_kernel("linalg_eig_out_cpu", A)


@op(
    name="linalg_eig",
    outputs=("eigenvalues", "eigenvectors"),
    returns=return_types.linalg_eig,
    public=False,
    method=False,
)
def eigen_decomposition(self: Array, name: str = "linalg.eig") -> Array:
    """Compute eigenvalues and eigenvectors of square matrices, complex even for real ones."""
    _check_eig(name, self)
    dtype = _complex_dtype(self)
    if not self.size:
        return lapack.zeros(self, self.shape[:-1], dtype), self.astype(dtype)
    if not np.isfinite(self).all():
        if name == "linalg.eigvals":
            return np.full(self.shape[:-1], np.nan, dtype), np.full(self.shape, np.nan, dtype)
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    try:
        values, vectors = np.linalg.eig(self)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.eig: The algorithm failed to converge because the input matrix is "
            "ill-conditioned or has too many repeated eigenvalues (error code: "
            f"{self.shape[-1]})."
        ) from None
    return values.astype(dtype, copy=False), lapack.by_columns(vectors.astype(dtype, copy=False))


@derivative(eigen_decomposition, wrt="self")
def eig_self(eigenvalues, eigenvectors, grad_eigenvalues=None, grad_eigenvectors=None):
    turned = mh(eigenvectors)
    inner = None
    if grad_eigenvectors is not None:
        inner = product(turned, grad_eigenvectors)
        _check_phase("linalg_eig_backward", inner)
        # The eigenvectors keep the length 1.
        kept = scaled_columns(product(turned, eigenvectors), diagonal_of(inner).real)
        inner = without_diagonal((inner - kept) / conj(pairwise_differences(eigenvalues)))
    if grad_eigenvalues is not None:
        part = diagonal_matrix(grad_eigenvalues)
        inner = part if inner is None else inner + part
    return None if inner is None else solved(turned, product(inner, turned))


@tangent_of(eigen_decomposition)
def eig_tangent(self_t, eigenvalues, eigenvectors):
    tangent = to_dtype(self_t, eigenvectors._array.dtype)
    moved = solved(eigenvectors, product(tangent, eigenvectors))
    of_values = diagonal_of(moved)
    turn = without_diagonal(moved / pairwise_differences(eigenvalues))
    change = product(eigenvectors, turn)
    along = (conj(eigenvectors) * change).sum(-2).real
    return of_values, change - scaled_columns(eigenvectors, along)


def linalg_eig(input: Tensor, *, out: Any = None) -> Any:
    """Compute eigenvalues and eigenvectors (of length 1) of square matrices; always complex.

    >>> import taper
    >>> taper.linalg.eig(taper.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    check_tensors("linalg_eig", input=input)
    if out is not None:
        returns = return_types.linalg_eig
        check = _castable("eig")
        return write_out("linalg_eig", eigen_decomposition, (input,), out, returns, check)
    return eigen_decomposition(input)


def _castable(function: str) -> Any:
    def check(out: ndarray, result: ndarray) -> None:
        if out.dtype.kind != "c":
            name = "eigenvectors" if result.ndim > out.ndim else "eigenvalues"
            raise RuntimeError(
                f"torch.linalg.{function}: Expected {name} to be safely castable from "
                f"{scalar_type(result.dtype)} dtype, but got {name} with dtype "
                f"{scalar_type(out.dtype)}"
            )

    return check


def linalg_eigvals(input: Tensor, *, out: Tensor | None = None) -> Any:
    """Compute the eigenvalues of square matrices; always complex.

    >>> import taper
    >>> taper.linalg.eigvals(taper.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    check_tensors("linalg_eigvals", input=input)

    def compute(given: Tensor) -> Any:
        return eigen_decomposition(given, "linalg.eigvals")[0]

    if out is not None:
        return write_out(None, compute, (input,), out, None, _castable("eigvals"))
    return compute(input)
