"""Linear algebra, as `torch.linalg`: one list of names; the functions are in `ops/linalg`.

>>> import taper
>>> A = taper.tensor([[4.0, 2.0], [2.0, 3.0]])
>>> taper.linalg.solve(A, taper.tensor([6.0, 5.0]))
tensor([1., 1.])
"""

from taper.autograd.overrides import has_grown as _has_grown
from taper.opdef.guards import guard_all as _guard_all
from taper.ops.linalg.checks import LinAlgError
from taper.ops.linalg.cholesky import linalg_cholesky as cholesky
from taper.ops.linalg.cholesky import linalg_cholesky_ex as cholesky_ex
from taper.ops.linalg.cholesky import linalg_ldl_factor as ldl_factor
from taper.ops.linalg.cholesky import linalg_ldl_factor_ex as ldl_factor_ex
from taper.ops.linalg.cholesky import linalg_ldl_solve as ldl_solve
from taper.ops.linalg.det import linalg_det as det
from taper.ops.linalg.det import linalg_slogdet as slogdet
from taper.ops.linalg.eigen import linalg_eig as eig
from taper.ops.linalg.eigen import linalg_eigh as eigh
from taper.ops.linalg.eigen import linalg_eigvals as eigvals
from taper.ops.linalg.eigen import linalg_eigvalsh as eigvalsh
from taper.ops.linalg.lstsq import linalg_lstsq as lstsq
from taper.ops.linalg.lu import linalg_lu as lu
from taper.ops.linalg.lu import linalg_lu_factor as lu_factor
from taper.ops.linalg.lu import linalg_lu_factor_ex as lu_factor_ex
from taper.ops.linalg.lu import linalg_lu_solve as lu_solve
from taper.ops.linalg.norms import linalg_cond as cond
from taper.ops.linalg.norms import linalg_matrix_norm as matrix_norm
from taper.ops.linalg.norms import linalg_norm as norm
from taper.ops.linalg.norms import linalg_vector_norm as vector_norm
from taper.ops.linalg.products import linalg_cross as cross
from taper.ops.linalg.products import linalg_diagonal as diagonal
from taper.ops.linalg.products import linalg_matmul as matmul
from taper.ops.linalg.products import linalg_matrix_exp as matrix_exp
from taper.ops.linalg.products import linalg_matrix_power as matrix_power
from taper.ops.linalg.products import linalg_multi_dot as multi_dot
from taper.ops.linalg.products import linalg_vander as vander
from taper.ops.linalg.products import linalg_vecdot as vecdot
from taper.ops.linalg.qr import linalg_householder_product as householder_product
from taper.ops.linalg.qr import linalg_qr as qr
from taper.ops.linalg.solve import linalg_inv as inv
from taper.ops.linalg.solve import linalg_inv_ex as inv_ex
from taper.ops.linalg.solve import linalg_solve as solve
from taper.ops.linalg.solve import linalg_solve_ex as solve_ex
from taper.ops.linalg.solve import linalg_tensorinv as tensorinv
from taper.ops.linalg.solve import linalg_tensorsolve as tensorsolve
from taper.ops.linalg.svd import linalg_matrix_rank as matrix_rank
from taper.ops.linalg.svd import linalg_pinv as pinv
from taper.ops.linalg.svd import linalg_svd as svd
from taper.ops.linalg.svd import linalg_svdvals as svdvals
from taper.ops.linalg.triangular import linalg_solve_triangular as solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

_guard_all(globals())
_has_grown(globals())
