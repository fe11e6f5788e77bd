"""Programs of linear algebra that both packages run: the arguments and what is computed of them.

A program is a function of the package and of tensors.  Its result does not depend on signs and
phases of vectors, which differ between builds of LAPACK, and it makes its matrices Hermitian,
triangular or well-conditioned itself, so that its derivative exists in every direction.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """`shapes` of the inputs, whether complex ones are tried, and which derivatives exist.

    `differs` names what PyTorch gets wrong: "tangent" or "gradient".
    """

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    complex: bool = True
    second: bool = True
    forward: bool = True
    differs: str = ""


def inputs_of(program: Program, complex_: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(len(program.name) + sum(map(sum, program.shapes)))
    arrays = [rng.standard_normal(shape) for shape in program.shapes]
    if complex_:
        arrays = [each + 1j * rng.standard_normal(each.shape) for each in arrays]
    return arrays


def hermitian(A: Any) -> Any:
    return A + A.mH


def positive(torch: Any, A: Any) -> Any:
    return A @ A.mH + torch.eye(A.shape[-1], dtype=A.dtype)


def shifted(torch: Any, A: Any, by: float = 3.0) -> Any:
    """Return matrices away from singular ones."""
    return A + by * torch.eye(A.shape[-1], dtype=A.dtype)


def factor(torch: Any, A: Any) -> Any:
    """Return a lower triangle with a real diagonal that is not zero."""
    diagonal = (A * torch.eye(A.shape[-1], dtype=A.dtype)).abs()
    return A.tril(-1) + diagonal + torch.eye(A.shape[-1], dtype=A.dtype)


def projectors(V: Any) -> Any:
    """Return v v^H of each column: the part of a vector that does not depend on its phase."""
    columns = V.mT
    return columns.unsqueeze(-1) * columns.conj().unsqueeze(-2)


def quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that PyTorch calls deprecated, without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def _svd(torch, A, full=True):
    U, S, Vh = torch.linalg.svd(A, full_matrices=full)
    size = S.shape[-1]
    U, Vh = U[..., :size], Vh[..., :size, :]
    pairs = U.mT.unsqueeze(-1) * Vh.unsqueeze(-2)  # u v^H of each singular value
    return S, projectors(U), projectors(Vh.mH), pairs


def _eigh(torch, A, **options):
    values, vectors = torch.linalg.eigh(hermitian(A), **options)
    return values, projectors(vectors)


def _by_size(torch, values):
    """Return eigenvalues in an order that both builds agree on."""
    order = (values.real + 10 * values.imag).detach().argsort(-1)
    return torch.gather(values, -1, order)


def _eig(torch, A):
    values, vectors = torch.linalg.eig(A)
    order = (values.real + 10 * values.imag).detach().argsort(-1)
    whole = projectors(vectors)
    index = order[..., None, None].expand(whole.shape)
    return _by_size(torch, values), torch.gather(whole, -3, index)


def _qr(torch, A, mode="reduced"):
    Q, R = torch.linalg.qr(A, mode)
    size = min(Q.shape[-1], R.shape[-1])
    phases = R[..., :size, :size].diagonal(0, -2, -1)
    phases = phases / phases.abs()
    return Q[..., :size] * phases.unsqueeze(-2), R[..., :size, :] / phases.unsqueeze(-1)


def _slogdet(torch, A):
    sign, logarithm = torch.linalg.slogdet(A)
    return (sign, logarithm) if sign.is_complex() else logarithm


def _lu(torch, A):
    _, L, U = torch.linalg.lu(A)
    return L, U


def _lu_solve(torch, A, B, **options):
    pivots = torch.linalg.lu_factor(shifted(torch, A.detach())).pivots
    return torch.linalg.lu_solve(shifted(torch, A), pivots, B, **options)


def _lu_unpack(torch, A):
    pivots = torch.linalg.lu_factor(A.detach()).pivots
    _, L, U = torch.lu_unpack(A, pivots)
    return L, U


def _reflectors(torch, A):
    """Return vectors and scales of reflectors, far from where they lose their inverse."""
    return A.tril(-1), 0.3 + 0.1 * A[..., 0, :]


def _householder(torch, A):
    return torch.linalg.householder_product(*_reflectors(torch, A))


def _ormqr(torch, A, C, **options):
    return torch.ormqr(*_reflectors(torch, A), C, **options)


def _triangular_solve(torch, B, A, upper, transpose):
    A = A.triu() if upper else A.tril()  # PyTorch's forward mode sees the other triangle, too
    options = {"upper": upper, "transpose": transpose}
    found = quiet(torch.triangular_solve, B, shifted(torch, A), **options)
    return found.solution, found.cloned_coefficient


def _lstsq(torch, A, B, driver="gelsy"):
    found = torch.linalg.lstsq(A, B, driver=driver)
    return (found.solution, found.residuals) if driver != "gelsy" else found.solution


def _lobpcg(torch, A):
    symmetric = A + A.mT + torch.diag(torch.arange(9.0, dtype=A.dtype) ** 2)
    start = torch.eye(9, dtype=A.dtype)[:, 5:7] + 0.1
    values, vectors = torch.lobpcg(symmetric, k=2, X=start, tol=1e-13, niter=500)
    return values, projectors(vectors)


def program(name: str, *shapes: tuple[int, ...], **claims: Any) -> Any:
    """Declare a program."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(name, function, shapes, **claims))
        return function

    return declare


PROGRAMS: list[Program] = []
SQUARE, STACK, TALL, WIDE = (3, 3), (2, 3, 3), (4, 3), (3, 4)

for _shape in (SQUARE, STACK):
    _label = "x".join(map(str, _shape))
    for _name, _function in {
        "det": lambda torch, A: torch.linalg.det(A),
        "slogdet": _slogdet,
        "logdet": lambda torch, A: torch.logdet(positive(torch, A)),
        "inv": lambda torch, A: torch.linalg.inv(shifted(torch, A)),
        "cholesky": lambda torch, A: torch.linalg.cholesky(positive(torch, A)),
        "cholesky upper": lambda torch, A: torch.linalg.cholesky(positive(torch, A), upper=True),
        "eigh": _eigh,
        "eigh U": lambda torch, A: _eigh(torch, A, UPLO="U"),
        "eigvalsh": lambda torch, A: torch.linalg.eigvalsh(hermitian(A)),
        "eig": _eig,
        "eigvals": lambda torch, A: _by_size(torch, torch.linalg.eigvals(A)),
        "svd": _svd,
        "svdvals": lambda torch, A: torch.linalg.svdvals(A),
        "qr": _qr,
        "qr complete": lambda torch, A: _qr(torch, A, "complete"),
        "lu": _lu,
        "lu_factor": lambda torch, A: torch.linalg.lu_factor(A).LU,
        "lu_unpack": _lu_unpack,
        "pinv": lambda torch, A: torch.linalg.pinv(A),
        "pinv hermitian": lambda torch, A: torch.linalg.pinv(hermitian(A), hermitian=True),
        "matrix_exp": lambda torch, A: torch.linalg.matrix_exp(A),
        "matrix_power 5": lambda torch, A: torch.linalg.matrix_power(A, 5),
        "matrix_power -2": lambda torch, A: torch.linalg.matrix_power(shifted(torch, A), -2),
        "matrix_norm nuc": lambda torch, A: torch.linalg.matrix_norm(A, "nuc"),
        "cond": lambda torch, A: torch.linalg.cond(A),
        "householder_product": _householder,
    }.items():
        program(f"{_name} {_label}", _shape)(_function)
    program(f"cholesky_inverse {_label}", _shape, differs="tangent")(
        lambda torch, A: torch.cholesky_inverse(factor(torch, A))
    )
    program(f"cholesky_inverse upper {_label}", _shape, differs="tangent")(
        lambda torch, A: torch.cholesky_inverse(factor(torch, A).mH, upper=True)
    )
    program(f"cond 1 {_label}", _shape, differs="gradient")(
        lambda torch, A: torch.linalg.cond(A, 1)
    )
    program(f"older cholesky {_label}", _shape, forward=False)(
        lambda torch, A: quiet(torch.cholesky, positive(torch, A))
    )

for _shape in (TALL, WIDE, (2, 4, 3), (2, 3, 4)):
    _label = "x".join(map(str, _shape))
    for _name, _function in {
        "svd": _svd,
        "svd reduced": lambda torch, A: _svd(torch, A, False),
        "svdvals": lambda torch, A: torch.linalg.svdvals(A),
        "qr": _qr,
        "lu": _lu,
        "lu_factor": lambda torch, A: torch.linalg.lu_factor(A).LU,
        "lu_unpack": _lu_unpack,
        "pinv": lambda torch, A: torch.linalg.pinv(A),
        "matrix_norm 2": lambda torch, A: torch.linalg.matrix_norm(A, 2, keepdim=True),
        "norm -2": lambda torch, A: torch.linalg.norm(A, -2, dim=(-2, -1)),
    }.items():
        program(f"{_name} {_label}", _shape)(_function)
program("qr complete 3x4", WIDE)(lambda torch, A: _qr(torch, A, "complete"))
program("householder_product 4x3", TALL)(_householder)

for _lead in ((), (2,)):
    _label = f"{len(_lead)} batch"
    for _left in (True, False):
        _right = (*_lead, 3, 2) if _left else (*_lead, 2, 3)
        _side = f"{_label} {'left' if _left else 'right'}"
        program(f"solve {_side}", (*_lead, 3, 3), _right)(
            lambda torch, A, B, left=_left: torch.linalg.solve(shifted(torch, A), B, left=left)
        )
        for _flag in (True, False):
            program(f"solve_triangular {_side} {_flag}", (*_lead, 3, 3), _right)(
                lambda torch, A, B, left=_left, upper=_flag: torch.linalg.solve_triangular(
                    shifted(torch, A), B, upper=upper, left=left
                )
            )
            program(f"solve_triangular unit {_side} {_flag}", (*_lead, 3, 3), _right)(
                lambda torch, A, B, left=_left, upper=_flag: torch.linalg.solve_triangular(
                    A, B, upper=upper, left=left, unitriangular=True
                )
            )
            program(f"lu_solve {_side} {_flag}", (*_lead, 3, 3), _right)(
                lambda torch, A, B, left=_left, adjoint=_flag: _lu_solve(
                    torch, A, B, left=left, adjoint=adjoint
                )
            )
            _other = (*_lead, 4, 2) if _left else (*_lead, 2, 4)
            program(f"ormqr {_side} {_flag}", (*_lead, 4, 3), _other, forward=False)(
                lambda torch, A, C, left=_left, flag=_flag: _ormqr(
                    torch, A, C, left=left, transpose=flag
                )
            )
    for _upper in (True, False):
        for _turned in (True, False):
            program(
                f"triangular_solve {_label} {_upper} {_turned}",
                (*_lead, 3, 2),
                (*_lead, 3, 3),
                differs="tangent" if _turned else "",
            )(
                lambda torch, B, A, upper=_upper, turned=_turned: _triangular_solve(
                    torch, B, A, upper=upper, transpose=turned
                )
            )
    program(f"cholesky_solve {_label}", (*_lead, 3, 2), (*_lead, 3, 3))(
        lambda torch, B, A: torch.cholesky_solve(B, factor(torch, A))
    )
    program(f"cholesky_solve upper {_label}", (*_lead, 3, 2), (*_lead, 3, 3))(
        lambda torch, B, A: torch.cholesky_solve(B, factor(torch, A).mH, upper=True)
    )
    for _driver in ("gelsy", "gels", "gelsd", "gelss"):
        program(f"lstsq {_driver} tall {_label}", (*_lead, 4, 3), (*_lead, 4, 2))(
            lambda torch, A, B, driver=_driver: _lstsq(torch, A, B, driver)
        )
    program(f"lstsq wide {_label}", (*_lead, 3, 4), (*_lead, 3, 2))(_lstsq)
    program(f"lstsq vector {_label}", (*_lead, 4, 3), (*_lead, 4))(_lstsq)

program("solve vector", (3, 3), (3,))(lambda torch, A, B: torch.linalg.solve(shifted(torch, A), B))
program("solve vectors", (2, 3, 3), (2, 3))(
    lambda torch, A, B: torch.linalg.solve(shifted(torch, A), B)
)
program("solve broadcast", (2, 1, 3, 3), (4, 3, 2))(
    lambda torch, A, B: torch.linalg.solve(shifted(torch, A), B)
)
program("tensorsolve", (2, 3, 6), (2, 3))(lambda torch, A, B: torch.linalg.tensorsolve(A, B))
program("tensorinv", (4, 2, 2))(lambda torch, A: torch.linalg.tensorinv(A, 1))
program("multi_dot", (3,), (3, 4), (4, 2), (2,))(
    lambda torch, *given: torch.linalg.multi_dot(given)
)
program("vecdot", (2, 3), (2, 3))(lambda torch, x, y: torch.linalg.vecdot(x, y, dim=0))
program("vander", (3,))(lambda torch, x: torch.linalg.vander(x, N=4))
program("cov", (3, 5))(lambda torch, x: torch.cov(x))
program("corrcoef", (3, 5), second=False)(lambda torch, x: 0.5 * torch.corrcoef(x))
program("renorm", (3, 4))(lambda torch, x: torch.renorm(x, 2, 0, 1.0))
program("renorm 3", (3, 4), complex=False)(lambda torch, x: torch.renorm(x, 3, 1, 1.5))
program("norm nuc", (3, 4))(lambda torch, x: torch.norm(x, "nuc"))
for _order in (1, 2, 3, 0.5, float("inf")):
    program(f"cdist {_order}", (2, 4, 3), (2, 5, 3), complex=False, second=False, forward=False)(
        lambda torch, x, y, order=_order: torch.cdist(x, y, order)
    )
program("cdist by product", (4, 3), (5, 3), complex=False, forward=False)(
    lambda torch, x, y: torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist")
)
program("lobpcg", (9, 9), complex=False, forward=False, second=False)(_lobpcg)
