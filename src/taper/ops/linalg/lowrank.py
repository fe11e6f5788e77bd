"""Parts of large decompositions: `svd_lowrank`, `pca_lowrank`, `lobpcg`.

Owns: the randomised range finder, and a few eigenpairs by the locally optimal block method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.autograd.views import requires_grad
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import missing_tangent
from taper.ops.linalg.eigen import _linalg_eigh
from taper.ops.linalg.matrices import (
    diagonal_matrix,
    mh,
    mt,
    pairwise_differences,
    product,
    without_diagonal,
)
from taper.ops.linalg.qr import qr_factors
from taper.ops.linalg.svd import linalg_svd
from taper.ops.random.draws import randn
from taper.ops.reduction.sums import mean
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.reshape import expand_to
from taper.tensor import Tensor, array_of

# --- singular values of a sketch -------------------------------------------------------------


def _times(A: Tensor, M: Tensor | None, X: Tensor) -> Any:
    """Compute (A - M) X."""
    return product(A, X) if M is None else product(A, X) - product(M, X)


def _range_of(A: Tensor, q: int, niter: int, M: Tensor | None) -> Any:
    """Find an orthonormal basis of A's image of random vectors, refined by powers of A A^H."""
    exact = A.dtype.category > dtypes.INTEGER and A.dtype is not dtypes.bfloat16
    kind = A.dtype if exact else dtypes.float32  # PyTorch refuses the product of these two
    start = randn(A.shape[-1], q, dtype=kind, device=A.device)
    turned, turned_m = mh(A), None if M is None else mh(M)
    basis = qr_factors(_times(A, M, start)).Q
    for _ in range(niter):
        basis = qr_factors(_times(turned, turned_m, basis)).Q
        basis = qr_factors(_times(A, M, basis)).Q
    return basis


@composite(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Any, Any, Any]:
    """Approximate A - M by U diag(S) V^H of rank `q`, found with random vectors.

    >>> import taper
    >>> A = taper.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> taper.svd_lowrank(A, q=2)[1].round()
    tensor([2., 1.])
    """
    height, width = A.shape[-2:]
    if M is not None:
        M = expand_to(M, tuple(A.shape))
    turn = height < width
    if turn:
        A, M = mh(A), None if M is None else mh(M)
    basis = _range_of(A, 6 if q is None else q, 2 if niter is None else niter, M)
    small = product(mh(basis), A)
    if M is not None:
        small = small - product(mh(basis), M)
    U, S, Vh = linalg_svd(small, False)
    U, V = product(basis, U), mh(Vh)
    return (V, S, U) if turn else (U, S, V)


@composite(method=False)
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Any, Any, Any]:
    """Find the principal directions of the rows of A: columns of V, with U and S.

    >>> import taper
    >>> taper.pca_lowrank(taper.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1].round(decimals=3)
    tensor([1.4140])
    """
    height, width = A.shape[-2:]
    if q is None:
        q = min(6, height, width)
    elif not 0 <= q <= min(height, width):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(height, width)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - mean(A, (-2,), True)
    return svd_lowrank(A, q, niter, None)


# --- lobpcg ----------------------------------------------------------------------------------


def _orthonormal(vectors: ndarray, B: ndarray | None) -> ndarray:
    """Make a basis orthonormal with respect to B; drop dependent vectors."""
    for _ in range(2):
        inner = vectors.T @ (vectors if B is None else B @ vectors)
        scale = np.sqrt(np.maximum(np.diagonal(inner), 0))
        scale = np.where(scale > 0, scale, 1)
        sizes, turns = np.linalg.eigh(inner / scale / scale[:, None])
        kept = sizes > np.finfo(vectors.dtype).eps * 10 * max(sizes[-1], 0)
        vectors = (vectors / scale) @ (turns[:, kept] / np.sqrt(sizes[kept]))
    return vectors


def _best(A: ndarray, basis: ndarray, count: int, largest: bool) -> tuple[ndarray, ndarray]:
    """Find the extreme eigenvalues of A on the span of a basis, and their vectors' coordinates."""
    values, turns = np.linalg.eigh(basis.T @ A @ basis)
    order = np.argsort(-values if largest else values)[:count]
    return values[order], turns[:, order]


def _few_pairs(
    A: ndarray,
    B: ndarray | None,
    X: ndarray,
    preconditioner: ndarray | None,
    count: int,
    niter: int,
    tol: float,
    largest: bool,
) -> tuple[ndarray, ndarray]:
    """Find eigenpairs by steps in the span of the vectors, their residuals, and the last steps."""
    width = X.shape[1]
    basis = _orthonormal(X, B)
    values, turns = _best(A, basis, width, largest)
    vectors, directions = basis @ turns, np.empty((len(A), 0), A.dtype)
    size_a = np.linalg.norm(A @ X) / max(np.linalg.norm(X), np.finfo(A.dtype).tiny)
    size_b = 1.0 if B is None else np.linalg.norm(B @ X) / np.linalg.norm(X)
    for _ in range(niter):
        residual = A @ vectors - (vectors if B is None else B @ vectors) * values
        lengths = np.linalg.norm(vectors, axis=0) * (size_a + np.abs(values) * size_b)
        if (np.linalg.norm(residual, axis=0)[:count] < tol * lengths[:count]).all():
            break
        steps = residual if preconditioner is None else preconditioner @ residual
        basis = _orthonormal(np.concatenate([vectors, steps, directions], 1), B)
        values, turns = _best(A, basis, width, largest)
        found = basis @ turns
        inner = vectors.T @ (found if B is None else B @ found)
        vectors, directions = found, found - vectors @ inner
    return values[:count], vectors[:, :count]


@op(
    name="lobpcg_pairs",
    label="lobpcg",
    node="LOBPCGAutogradFunctionBackward",
    outputs=("D", "V"),
    public=False,
    method=False,
)
def eigenpairs(
    A: Array,
    B: Array | None,
    X: Array,
    iK: Array | None,
    k: int,
    niter: int,
    tol: float,
    largest: bool,
) -> Array:
    """Find a few extreme eigenvalues and eigenvectors of symmetric matrices."""
    values = np.empty((*A.shape[:-2], k), A.dtype)
    vectors = np.empty((*A.shape[:-1], k), A.dtype)
    for index in np.ndindex(A.shape[:-2]):
        given = [None if each is None else each[index] for each in (B, iK)]
        start = X[index] if X.ndim > 2 else X
        values[index], vectors[index] = _few_pairs(
            A[index], given[0], start, given[1], k, niter, tol, largest
        )
    return values, vectors


@derivative(eigenpairs, wrt=("A", "B"))
def eigenpairs_all(A, B, D, V, grad_D=None, grad_V=None):
    if B is not None and not _is_identity(B):
        raise ValueError("lobpcg.backward does not support backward with B != I yet.")
    inner = None
    if grad_V is not None:
        inner = without_diagonal(product(mt(V), grad_V) / pairwise_differences(D))
    if grad_D is not None:
        part = diagonal_matrix(grad_D)
        inner = part if inner is None else inner + part
    if inner is None:
        return None, None
    result = product(V, inner, mt(V))
    if grad_V is not None:
        result = result + product(_through_the_others(A, D, V, grad_V), mt(V))
    return result, None


def _is_identity(B: Any) -> bool:
    array = array_of(B)
    return bool((array == np.eye(array.shape[-1])).all())


def _through_the_others(A: Any, D: Any, V: Any, grad: Any) -> Any:
    """Compute what a gradient reaches through the eigenvectors that were not computed.

    That is (d_j - A)^-1 on the complement of V, by the eigenvectors of A there.
    """
    outside = grad - product(V, mt(V), grad)
    values, vectors = _linalg_eigh(A, "L", True)
    gaps = unsqueeze(D, -2) - unsqueeze(values, -1)
    small = (gaps if not isinstance(gaps, Tensor) else gaps.detach()) ** 2
    scale = (D if not isinstance(D, Tensor) else D.detach()) ** 2
    # Directions within V have no part in `outside`: their gaps are replaced, not divided by.
    tiny = 1e-8 * unsqueeze(scale, -2)
    coordinates = product(mt(vectors), outside)
    weights = gaps / (gaps * gaps + (small < tiny) * 1e30)
    found = product(vectors, coordinates * weights)
    return found - product(V, mt(V), found)


@tangent_of(eigenpairs)
def eigenpairs_tangent(A_t, B_t):
    raise missing_tangent("LOBPCGAutogradFunction")


def _check_few(A: Tensor, count: int) -> None:
    size = A.shape[-2]
    if A.shape[-1] != size:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if size < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller "
            f"than 3 x the number of requested eigenpairs (={count})"
        )


@composite(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Any, Any]:
    """Find the k largest (or smallest) eigenvalues of A x = d B x, and their vectors.

    `X` is where the search begins, `iK` a preconditioner.

    Differs from PyTorch: there is one method; `tracker` and the parameters of `ortho` are not used.

    >>> import taper
    >>> A = taper.diag(taper.tensor([1.0, 2.0, 3.0, 4.0]))
    >>> taper.lobpcg(A, k=1)[0].round()
    tensor([4.])
    """
    if A.dim() < 2:
        raise IndexError("tuple index out of range")  # as in PyTorch
    size, count = A.shape[-2], 1 if k is None else k
    _check_few(A, count)
    if tol is None:
        tol = float(np.finfo(np.float32 if A.dtype.itemsize == 4 else np.float64).eps) ** 0.5
    if X is None:
        X = randn(*A.shape[:-2], size, count if n is None else n, dtype=A.dtype)
    if requires_grad(A) or (B is not None and requires_grad(B)):
        A = (A + mt(A)) / 2
        B = None if B is None else (B + mt(B)) / 2
    steps = 1000 if niter is None else niter
    top = True if largest is None else largest
    return tuple(eigenpairs(A, B, X, iK, count, steps, float(tol), top))
