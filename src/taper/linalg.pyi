"""The types of `taper.linalg`.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import return_types as _return_types
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.ops.linalg.checks import LinAlgError as LinAlgError
from taper.random import Generator
from taper.size import Size as _Size
from taper.tensor import Tensor
from typing_extensions import TypeIs
import numpy as _np

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

def cholesky(input: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """Factor positive-definite matrices as A = L L^H; return L or its adjoint.

    >>> import taper
    >>> taper.linalg.cholesky(taper.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
def cholesky_ex(input: Tensor, *, upper: _bool = False, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.linalg_cholesky_ex:
    """Factor as `linalg.cholesky`, and report in `info` what is not positive-definite.

    >>> import taper
    >>> taper.linalg.cholesky_ex(taper.tensor([[1.0, 0.0], [0.0, -1.0]])).info
    tensor(2, dtype=torch.int32)
    """
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the condition number: the norm of a matrix times that of its inverse.

    >>> import taper
    >>> taper.linalg.cond(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """Compute the cross product of vectors of length 3 along a dimension.

    >>> import taper
    >>> taper.linalg.cross(taper.tensor([1, 0, 0]), taper.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the determinant of each square matrix.

    >>> import taper
    >>> taper.linalg.det(taper.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """View the diagonal of the last two dimensions.

    >>> import taper
    >>> taper.linalg.diagonal(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
def eig(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.linalg_eig:
    """Compute eigenvalues and eigenvectors (of length 1) of square matrices; always complex.

    >>> import taper
    >>> taper.linalg.eig(taper.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
def eigh(input: Tensor, UPLO: str = 'L', *, out: Sequence[Tensor] | None = None) -> _return_types.linalg_eigh:
    """Compute eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Only one triangle of each matrix is read.

    >>> import taper
    >>> taper.linalg.eigh(taper.tensor([[0.0, 1.0], [1.0, 0.0]])).eigenvalues
    tensor([-1.,  1.])
    """
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the eigenvalues of square matrices; always complex.

    >>> import taper
    >>> taper.linalg.eigvals(taper.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
def eigvalsh(input: Tensor, UPLO: str = 'L', *, out: Tensor | None = None) -> Tensor:
    """Compute the eigenvalues of Hermitian matrices, ascending.

    >>> import taper
    >>> taper.linalg.eigvalsh(taper.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([-1.,  1.])
    """
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute Q from what `geqrf` returns: the first columns of the product of the reflectors.

    >>> import taper
    >>> A = taper.tensor([[3.0], [4.0]])
    >>> taper.linalg.householder_product(*taper.geqrf(A)).abs()
    tensor([[0.6000],
            [0.8000]])
    """
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Invert each square matrix.

    >>> import taper
    >>> taper.linalg.inv(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.linalg_inv_ex:
    """Invert as `linalg.inv`, but report singular matrices in `info` instead of raising.

    >>> import taper
    >>> taper.linalg.inv_ex(taper.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
def ldl_factor(input: Tensor, *, hermitian: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.linalg_ldl_factor:
    """Factor matrices as A = L D L^T (or L D L^H): both in one matrix, and LAPACK's pivots.

    >>> import taper
    >>> taper.linalg.ldl_factor(taper.tensor([[2.0, 2.0], [2.0, 3.0]])).LD
    tensor([[2., 0.],
            [1., 1.]])
    """
def ldl_factor_ex(input: Tensor, *, hermitian: _bool = False, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.linalg_ldl_factor_ex:
    """Factor matrices as A = L D L^T (or L D L^H): both in one matrix, LAPACK's pivots, `info`.

    >>> import taper
    >>> taper.linalg.ldl_factor_ex(taper.tensor([[2.0, 0.0], [0.0, 3.0]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """Solve A X = B with what `linalg.ldl_factor` returns.

    >>> import taper
    >>> factors = taper.linalg.ldl_factor(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> taper.linalg.ldl_solve(*factors, taper.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = None, *, driver: str | None = None, out: Sequence[Tensor] | None = None) -> _return_types.linalg_lstsq:
    """Find X with the least sum of squares of A X - B.

    `driver` is "gelsy", "gels" (faster, for full rank), "gelsd" or "gelss" (by singular values,
    which are returned); `rcond` is the relative size below which singular values count as zero.

    >>> import taper
    >>> A = taper.tensor([[1.0], [1.0]])
    >>> taper.linalg.lstsq(A, taper.tensor([[1.0], [3.0]])).solution.round()
    tensor([[2.]])
    """
def lu(A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None) -> _return_types.linalg_lu:
    """Factor A = P L U: a permutation, a lower and an upper triangle.

    >>> import taper
    >>> taper.linalg.lu(taper.tensor([[1.0, 2.0], [4.0, 0.0]])).L
    tensor([[1.0000, 0.0000],
            [0.2500, 1.0000]])
    """
def lu_factor(A: Tensor, *, pivot: _bool = True, out: Sequence[Tensor] | None = None) -> _return_types.linalg_lu_factor:
    """Factor A = P L U for `linalg.lu_solve`: both factors in one matrix, and LAPACK's pivots.

    >>> import taper
    >>> taper.linalg.lu_factor(taper.tensor([[1.0, 2.0], [4.0, 0.0]])).LU
    tensor([[4.0000, 0.0000],
            [0.2500, 2.0000]])
    """
def lu_factor_ex(A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.linalg_lu_factor_ex:
    """Factor A = P L U: both factors in one matrix, LAPACK's pivots, `info` (where U has a zero).

    >>> import taper
    >>> taper.linalg.lu_factor_ex(taper.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=torch.int32)
    """
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False, out: Tensor | None = None) -> Tensor:
    """Solve A X = B, or X A = B without `left`, with what `linalg.lu_factor` returns.

    >>> import taper
    >>> factors = taper.linalg.lu_factor(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> taper.linalg.lu_solve(*factors, taper.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply matrices: another name of `matmul`.

    >>> import taper
    >>> taper.linalg.matmul(taper.ones(2), taper.ones(2))
    tensor(2.)
    """
def matrix_exp(input: Tensor) -> Tensor:
    """Compute the exponential of each square matrix.

    >>> import taper
    >>> taper.linalg.matrix_exp(taper.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
def matrix_norm(input: Tensor, ord: _float | str | None = 'fro', dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Compute a norm of each matrix: "fro", "nuc", or of order 1, 2, inf or their negatives.

    >>> import taper
    >>> taper.linalg.matrix_norm(taper.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Raise each square matrix to the power n; negative powers are those of the inverse.

    >>> import taper
    >>> taper.linalg.matrix_power(taper.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
def matrix_rank(input: Tensor, tol: Tensor | _float | None = None, hermitian: _bool = False, *, atol: Tensor | _float | None = None, rtol: Tensor | _float | None = None, out: Tensor | None = None) -> Tensor:
    """Count the singular values (eigenvalues if Hermitian) above the tolerance.

    `tol` is an older name of `atol`, without relative tolerance.

    >>> import taper
    >>> taper.linalg.matrix_rank(taper.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors.

    >>> import taper
    >>> taper.linalg.multi_dot([taper.ones(2, 3), taper.ones(3, 4), taper.ones(4)])
    tensor([12., 12.])
    """
def norm(input: Tensor, ord: _float | str | None = None, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Compute the norm of a vector or, with two dimensions and an `ord`, of a matrix.

    >>> import taper
    >>> taper.linalg.norm(taper.tensor([[3.0, 0.0], [0.0, 4.0]]), ord=2)
    tensor(4.)
    """
def pinv(input: Tensor, rcond: Tensor | _float | None = None, hermitian: _bool = False, *, atol: Tensor | _float | None = None, rtol: Tensor | _float | None = None, out: Tensor | None = None) -> Tensor:
    """Compute the pseudo-inverse of Moore and Penrose; values below the tolerance count as zero.

    `rcond` is an older name of `rtol`.

    >>> import taper
    >>> taper.linalg.pinv(taper.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
def qr(A: Tensor, mode: str = 'reduced', *, out: Sequence[Tensor] | None = None) -> _return_types.linalg_qr:
    """Factor A = Q R: orthonormal columns times an upper triangle.

    >>> import taper
    >>> taper.linalg.qr(taper.tensor([[3.0], [4.0]])).R.abs()
    tensor([[5.]])
    """
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_types.linalg_slogdet:
    """Compute the sign of each determinant and the logarithm of its absolute value.

    >>> import taper
    >>> taper.linalg.slogdet(taper.tensor([[0.0, 1.0], [1.0, 0.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """Solve A X = B or, without `left`, X A = B. B may be a vector.

    >>> import taper
    >>> taper.linalg.solve(taper.tensor([[2.0, 0.0], [0.0, 4.0]]), taper.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: Sequence[Tensor] | None = None) -> _return_types.linalg_solve_ex:
    """Solve as `linalg.solve`, but report singular matrices in `info` instead of raising.

    >>> import taper
    >>> taper.linalg.solve_ex(taper.zeros(2, 2), taper.ones(2)).info
    tensor(1, dtype=torch.int32)
    """
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool | None = None, left: _bool = True, unitriangular: _bool = False, out: Tensor | None = None) -> Tensor:
    """Solve A X = B or, without `left`, X A = B, reading only a triangle of A, the input.

    >>> import taper
    >>> A = taper.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> taper.linalg.solve_triangular(A, taper.tensor([[3.0], [4.0]]), upper=True)
    tensor([[1.],
            [1.]])
    """
def svd(A: Tensor, full_matrices: _bool = True, *, driver: str | None = None, out: Sequence[Tensor] | None = None) -> _return_types.linalg_svd:
    """Factor A = U diag(S) V^H, the singular values in descending order.

    >>> import taper
    >>> taper.linalg.svd(taper.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """Compute the singular values of each matrix, in descending order.

    >>> import taper
    >>> taper.linalg.svdvals(taper.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
def tensorinv(input: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """Invert the linear map that `tensordot` over the last dimensions is.

    The first `ind` dimensions are the rows of the matrix, the others its columns.

    >>> import taper
    >>> taper.linalg.tensorinv(taper.eye(4).reshape(4, 2, 2), ind=1).shape
    torch.Size([2, 2, 4])
    """
def tensorsolve(input: Tensor, other: Tensor, dims: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """Solve `tensordot(A, X, X.ndim)` = B; `dims` of A are moved to its end first.

    >>> import taper
    >>> taper.linalg.tensorsolve(2 * taper.eye(4).reshape(2, 2, 4), taper.ones(2, 2))
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
def vander(x: Tensor, *, N: _int | None = None) -> Tensor:
    """Compute the powers 0 to N - 1 of each element, in a new last dimension.

    >>> import taper
    >>> taper.linalg.vander(taper.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """Sum conj(x) y along a dimension.

    >>> import taper
    >>> taper.linalg.vecdot(taper.tensor([[1.0, 2.0], [0.0, 1.0]]), taper.tensor([1.0, 1.0]))
    tensor([3., 1.])
    """
def vector_norm(x: Tensor, ord: _float = 2, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
    """Compute the norm of order `ord` of all elements, or along dimensions.

    >>> import taper
    >>> taper.linalg.vector_norm(taper.tensor([3.0, -4.0]))
    tensor(5.)
    """
