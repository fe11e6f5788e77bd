"""Linear algebra: derivatives against differences, what is saved, what is refused and how."""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper
from linalg_programs import PROGRAMS, inputs_of
from op_templates import CASES
from taper import linalg
from taper.autograd import gradcheck, gradgradcheck

NAMES = """
LinAlgError cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh
householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex
lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve
solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm
"""


def test_the_names_are_those_of_pytorch():
    assert linalg.__all__ == NAMES.split()
    assert all(hasattr(linalg, name) for name in linalg.__all__)


def test_every_function_has_a_row():
    rows = {case.name for case in CASES}
    assert {f"linalg.{name}" for name in NAMES.split()[1:]} <= rows


# --- derivatives -----------------------------------------------------------------------------

BOTH = [(each, kind) for each in PROGRAMS for kind in (False, True) if each.complex or not kind]


def program_id(value):
    return getattr(value, "name", "complex" if value else "real")


def leaves(program, complex_):
    return [taper.from_numpy(each).requires_grad_() for each in inputs_of(program, complex_)]


def function_of(program):
    return lambda *given: program.function(taper, *given)


@pytest.mark.parametrize(("program", "complex_"), BOTH, ids=program_id)
def test_gradients_agree_with_differences(program, complex_):
    assert gradcheck(function_of(program), leaves(program, complex_), fast_mode=True)


@pytest.mark.parametrize(
    ("program", "complex_"), [each for each in BOTH if each[0].second], ids=program_id
)
def test_second_gradients_agree_with_differences(program, complex_):
    assert gradgradcheck(function_of(program), leaves(program, complex_), fast_mode=True)


@pytest.mark.parametrize(
    ("program", "complex_"), [each for each in BOTH if each[0].forward], ids=program_id
)
def test_forward_mode_agrees_with_differences(program, complex_):
    assert gradcheck(
        function_of(program),
        leaves(program, complex_),
        fast_mode=True,
        check_forward_ad=True,
        check_backward_ad=False,
    )


def matrix(rows, **options):
    return taper.tensor(rows, dtype=taper.float64, **options)


SINGULAR = [[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 7.0]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_of_det_is_exact_where_it_is_zero(create_graph):
    A = matrix([[1.0, 1.0], [1.0, 1.0]], requires_grad=True)
    (grad,) = taper.autograd.grad(linalg.det(A), A, create_graph=create_graph)
    np.testing.assert_allclose(grad.detach().numpy(), [[1, -1], [-1, 1]], atol=1e-12)
    zero = matrix(np.zeros((3, 3)), requires_grad=True)
    (grad,) = taper.autograd.grad(linalg.det(zero), zero, create_graph=create_graph)
    assert not grad.detach().any()


def test_the_sign_of_a_real_determinant_has_no_gradient():
    A = matrix([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    sign, logarithm = linalg.slogdet(A)
    assert taper.autograd.grad(sign, A, allow_unused=True, retain_graph=True) == (None,)
    (grad,) = taper.autograd.grad(logarithm, A)
    np.testing.assert_allclose(grad.numpy(), np.linalg.inv(A.detach().numpy()).T)


def test_the_gradient_of_eigh_is_hermitian():
    A = matrix([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 4.0]], requires_grad=True)
    (linalg.eigh(A).eigenvectors[0] ** 2)[0].backward()
    np.testing.assert_allclose(A.grad.numpy(), A.grad.numpy().T)


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (lambda A: linalg.svd(A).U.real.sum(), "depends on this phase term, making it"),
        (lambda A: linalg.eigh(A @ A.mH).eigenvectors.real.sum(), "linalg_eigh_backward: The eig"),
        (lambda A: linalg.eig(A).eigenvectors.real.sum(), "linalg_eig_backward: The eigenvectors"),
    ],
)
def test_a_loss_that_depends_on_phases_is_refused(loss, text):
    rng = np.random.default_rng(1)
    A = taper.from_numpy(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)))
    A.requires_grad_()
    with pytest.raises(RuntimeError, match=text.replace("(", r"\(")):
        loss(A).backward()


def test_repeated_eigenvalues_have_a_gradient_and_their_vectors_none():
    A = taper.eye(3, dtype=taper.float64).requires_grad_()
    values, vectors = linalg.eigh(A)
    (grad,) = taper.autograd.grad(values.sum(), A, retain_graph=True)
    np.testing.assert_array_equal(grad.numpy(), np.eye(3))
    (grad,) = taper.autograd.grad(vectors.sum(), A)
    assert grad.isnan().any()


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("r", "depends on Q, which is not computed when mode='r'"),
        ("complete", "not differentiable when mode='complete' and nrows > ncols"),
    ],
)
def test_qr_without_what_its_derivative_needs(mode, text):
    A = taper.ones(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=text):
        linalg.qr(A, mode).R.sum().backward()


def test_what_has_no_derivative_says_so():
    A = taper.eye(3).requires_grad_()
    with pytest.raises(NotImplementedError, match="the derivative for 'geqrf' is not implemented"):
        taper.geqrf(A).a.sum().backward()
    factors = linalg.ldl_factor(A)
    assert type(factors.LD.grad_fn).__name__ == "NotImplemented"
    with pytest.raises(RuntimeError, match="aten::linalg_ldl_factor_ex is not implemented"):
        factors.LD.sum().backward()
    with pytest.raises(RuntimeError, match="aten::linalg_ldl_solve is not implemented"):
        linalg.ldl_solve(*linalg.ldl_factor(taper.eye(3)), A).sum().backward()
    distances = taper.cdist(A, A + 1)
    (grad,) = taper.autograd.grad(distances.sum(), A, create_graph=True)
    with pytest.raises(NotImplementedError, match="'_cdist_backward' is not implemented"):
        grad.sum().backward()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda A: taper.geqrf(A), "with geqrf that"),
        (lambda A: taper.cdist(A, A), "with _cdist_forward that"),
        (lambda A: linalg.ldl_factor(A), "with aten::linalg_ldl_factor_ex that does not support"),
    ],
)
def test_what_has_no_forward_rule_says_so(function, name):
    forward_ad = taper.autograd.forward_ad
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=name):
        function(forward_ad.make_dual(taper.eye(3), taper.ones(3, 3)))


# --- what is saved ---------------------------------------------------------------------------


def test_det_keeps_the_factors_of_the_transpose_of_a_matrix_that_lies_by_rows():
    A = matrix([[1.0, 2.0], [4.0, 3.0]], requires_grad=True)
    by_rows = linalg.det(A).grad_fn
    assert by_rows._saved_LU.tolist() == linalg.lu_factor(A.detach().mT).LU.tolist()
    by_columns = linalg.det(A.detach().mT.contiguous().mT.requires_grad_()).grad_fn
    assert by_columns._saved_LU.tolist() == [[4.0, 3.0], [0.25, 1.25]]
    assert by_columns._saved_pivots.tolist() == [2, 2]


def test_saved_values_of_nodes():
    A = matrix([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    node = linalg.svd(A, full_matrices=False).S.grad_fn
    assert (node._saved_full_matrices, node._saved_S_sym_argsize_minus_1) == (False, 2)
    node = linalg.solve(A, A).grad_fn
    assert node._saved_left is True and node._saved_A is A
    assert linalg.qr(A).Q.grad_fn._saved_mode == "reduced"
    assert linalg.cholesky(A, upper=True).grad_fn._saved_upper is True


def test_singular_values_are_computed_alone_where_no_gradient_is_wanted():
    A = taper.ones(3, 3)
    assert linalg.svdvals(A).grad_fn is None
    node = linalg.svdvals(A.requires_grad_()).grad_fn
    assert tuple(node._saved_U.shape) == (3, 3)


# --- values ----------------------------------------------------------------------------------


def test_the_pivot_is_the_first_of_the_largest():
    A = matrix([[1.0, 0.0, 1.0], [-2.0, 1.0, 0.0], [2.0, 5.0, 1.0]])
    assert linalg.lu_factor(A).pivots.tolist() == [2, 3, 3]
    # |re| + |im|, which LAPACK compares
    A = taper.tensor([[3.0 + 0j, 1], [2.2 + 2.2j, 1]], dtype=taper.complex128)
    assert linalg.lu_factor(A).pivots.tolist() == [2, 2]


@pytest.mark.parametrize("shape", [(100, 100), (130, 70), (70, 130), (3, 90, 90)])
def test_large_lu_factors_give_the_matrix_back(shape):
    A = np.random.default_rng(2).standard_normal(shape)
    P, L, U = linalg.lu(taper.from_numpy(A))
    np.testing.assert_allclose((P @ L @ U).numpy(), A, atol=1e-11)
    assert float(L.abs().max()) == 1.0


def test_zeros_on_the_diagonal_lead_to_infinities():
    A = matrix([[1.0, 5.0, 6.0], [0.0, 0.0, 7.0], [0.0, 0.0, 2.0]])
    found = linalg.solve_triangular(A, taper.ones(3, 1, dtype=taper.float64), upper=True)
    assert found.flatten().tolist() == [math.inf, -math.inf, 0.5]
    assert linalg.inv_ex(matrix(SINGULAR)).info == 3
    assert (
        not linalg.solve_ex(matrix(SINGULAR), taper.ones(3, dtype=taper.float64))[0]
        .isfinite()
        .all()
    )


def test_cholesky_ex_leaves_what_lapack_leaves():
    A = matrix([[4.0, 2.0, 3.0], [2.0, 1.0, 6.0], [3.0, 6.0, 7.0]])
    factor, info = linalg.cholesky_ex(A)
    assert info == 2
    assert factor.tolist() == [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.5, 6.0, 7.0]]


def test_errors_are_of_a_type_of_their_own():
    assert issubclass(linalg.LinAlgError, RuntimeError)
    with pytest.raises(linalg.LinAlgError, match="The diagonal element 3 is zero"):
        linalg.inv(matrix(SINGULAR))
    with pytest.raises(linalg.LinAlgError, match=r"linalg.svd: \(Batch element 1\): The algorithm"):
        linalg.svd(taper.stack([taper.eye(2), taper.full((2, 2), math.nan)]))
    with pytest.raises(linalg.LinAlgError, match="linalg.eigh: The algorithm failed to converge"):
        linalg.eigh(taper.full((2, 2), math.nan))


def test_results_are_named():
    found = linalg.slogdet(taper.eye(2))
    text = "torch.return_types.linalg_slogdet(\nsign=tensor(1.),\nlogabsdet=tensor(0.))"
    assert repr(found) == text
    assert linalg.eigh(taper.eye(2)).eigenvectors.shape == (2, 2)
    out = taper.empty(2), taper.empty(2, 2)
    written = linalg.eigh(taper.eye(2), out=out)
    assert type(written).__name__ == "linalg_eigh_out" and written.eigenvalues is out[0]


def test_results_lie_by_columns():
    A = taper.eye(3) + 1
    assert linalg.inv(A).stride() == (1, 3)
    assert linalg.svd(taper.ones(2, 4, 3)).U.stride() == (16, 1, 4)
    assert linalg.lstsq(taper.ones(4, 1), taper.ones(4, 2)).solution.stride() == (1, 4)
    assert linalg.pinv(A).stride() == linalg.matrix_exp(A).stride() == (3, 1)


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_least_squares_of_a_lost_rank_are_the_shortest(driver):
    A, b = np.ones((4, 3)), np.arange(8.0).reshape(4, 2)
    found = linalg.lstsq(taper.from_numpy(A), taper.from_numpy(b), driver=driver)
    assert found.rank == 1 and found.residuals.numel() == 0
    np.testing.assert_allclose(found.solution.numpy(), np.linalg.pinv(A) @ b)


def test_the_rank_that_gelsy_cuts():
    """The columns taken first are the longest; what is cut is not the smallest value."""
    A = np.diag([5.0, 2.0, 0.1])
    A[0, 2] = 0.5
    b = np.array([1.0, 1.0, 1.0])
    found = linalg.lstsq(taper.from_numpy(A), taper.from_numpy(b), rcond=0.1)
    assert found.rank == 2
    kept = A[:2]
    np.testing.assert_allclose(found.solution.numpy(), np.linalg.pinv(kept) @ b[:2])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_the_exponential_of_matrices_of_all_sizes(scale):
    rng = np.random.default_rng(3)
    symmetric = rng.standard_normal((2, 4, 4)) * scale
    symmetric = symmetric + symmetric.swapaxes(-1, -2)
    values, vectors = np.linalg.eigh(symmetric)
    expected = vectors * np.exp(values)[..., None, :] @ vectors.swapaxes(-1, -2)
    found = linalg.matrix_exp(taper.from_numpy(symmetric)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_ldl_with_blocks_of_two():
    A = matrix([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    LD, pivots = linalg.ldl_factor(A)
    assert pivots.tolist() == [-3, -3, 3]
    b = taper.arange(6.0, dtype=taper.float64).reshape(3, 2)
    np.testing.assert_allclose((A @ linalg.ldl_solve(LD, pivots, b)).numpy(), b.numpy(), atol=1e-12)


# --- parts of decompositions -----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (2, 8, 7)])
def test_a_sketch_finds_the_rank(shape):
    rng = np.random.default_rng(4)
    A = rng.standard_normal((*shape[:-1], 3)) @ rng.standard_normal((*shape[:-2], 3, shape[-1]))
    taper.manual_seed(0)
    U, S, V = taper.svd_lowrank(taper.from_numpy(A), q=4)
    np.testing.assert_allclose((U * S.unsqueeze(-2) @ V.mT).numpy(), A, atol=1e-9)
    U, S, V = taper.pca_lowrank(taper.from_numpy(A), q=4)
    centred = A - A.mean(-2, keepdims=True)
    np.testing.assert_allclose((U * S.unsqueeze(-2) @ V.mT).numpy(), centred, atol=1e-9)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_a_few_eigenpairs(largest, lead):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((*lead, 12, 12))
    A = A @ A.swapaxes(-1, -2)
    taper.manual_seed(0)
    values, vectors = taper.lobpcg(taper.from_numpy(A), k=3, largest=largest, tol=1e-10)
    expected = np.linalg.eigvalsh(A)
    expected = expected[..., :-4:-1] if largest else expected[..., :3]
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-6)
    left, right = A @ vectors.numpy(), vectors.numpy() * values.numpy()[..., None, :]
    np.testing.assert_allclose(left, right, atol=1e-5)


def test_eigenpairs_with_another_inner_product():
    rng = np.random.default_rng(6)
    A, B = (rng.standard_normal((9, 9)) for _ in range(2))
    A, B = A + A.T, B @ B.T + np.eye(9)
    taper.manual_seed(0)
    values, vectors = taper.lobpcg(taper.from_numpy(A), 2, taper.from_numpy(B), tol=1e-10)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(B, A)).real)[::-1][:2]
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-6)
    inner = vectors.numpy().T @ B @ vectors.numpy()
    np.testing.assert_allclose(inner, np.eye(2), atol=1e-8)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda A: taper.cholesky(A), "torch.cholesky is deprecated"),
        (lambda A: taper.lu(A), "torch.lu is deprecated"),
        (lambda A: taper.qr(A), "torch.qr is deprecated"),
        (lambda A: taper.triangular_solve(A, A), "torch.triangular_solve is deprecated"),
        (lambda A: taper.nuclear_norm(A), "at::nuclear_norm is deprecated"),
    ],
)
def test_older_names_warn(call, text):
    taper.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=text):
            call(taper.eye(2))
    finally:
        taper.set_warn_always(False)


def test_found_w30_gelsy_exchanges_columns():
    """W30: PyTorch gives 0.23973 and 0.24023 at random, depending on its uninitialised pivots."""
    a, b = taper.tensor([[1.0, 2], [3, 4], [5, 6.1]]), taper.tensor([[1.0], [2], [3]])
    found = taper.linalg.lstsq(a, b, driver="gelsy", rcond=0.5)
    assert found.solution.flatten().tolist() == pytest.approx([0.239728, 0.308199], abs=1e-5)
    assert found.rank.item() == 1
