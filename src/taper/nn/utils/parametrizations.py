"""Parametrizations that everybody uses: weight norm, spectral norm, orthogonal matrices."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from taper import dtypes
from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.nn.utils import parametrize
from taper.nn.utils.spectral_norm import TRANSPOSED
from taper.ops.creation.filled import eye, zeros_like
from taper.ops.elementwise.arithmetic import add
from taper.ops.elementwise.compare import allclose
from taper.ops.linalg.matmul import mv, vdot
from taper.ops.linalg.products import linalg_matrix_exp as matrix_exp
from taper.ops.linalg.qr import geqrf
from taper.ops.linalg.qr import linalg_householder_product as householder_product
from taper.ops.linalg.solve import linalg_solve as solve
from taper.ops.norm.weight import norm_except_dim
from taper.ops.norm.weight import weight_norm as normed_weight
from taper.ops.random.draws import randn
from taper.ops.shape.join import cat
from taper.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _tensor_of(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


# --- orthogonal matrices ---------------------------------------------------------------------


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    """Tell whether the columns are orthonormal, up to rounding."""
    rows, columns = Q.size(-2), Q.size(-1)
    identity = eye(columns, dtype=Q.dtype)
    if eps is None:
        eps = 10.0 * rows * float(dtypes.finfo(Q.dtype).eps)
    return allclose(Q.mH @ Q, identity, atol=eps)


def _make_orthogonal(A: Tensor) -> Tensor:
    """Return the Q of the QR decomposition in which R has a positive diagonal."""
    factors, tau = geqrf(A)
    Q = householder_product(factors, tau)
    return Q * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Map all matrices to orthogonal ones; wide matrices are transposed before and after.

    With `use_trivialization` a result is `base @ map(X)`; an assignment chooses `base` anew.
    """

    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Any:
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        if self.orthogonal_map == _OrthMaps.householder:
            Q = self._reflected(X)
        else:
            Q = self._rotated(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _rotated(self, X: Tensor) -> Any:
        """Return a function of the skew-symmetric matrix that the lower triangle of X gives."""
        rows, columns = X.size(-2), X.size(-1)
        X = X.tril()
        if rows != columns:
            rest = X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)
            X = cat([X, rest], dim=-1)
        skew = X - X.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            Q = matrix_exp(skew)
        else:
            identity = eye(rows, dtype=skew.dtype)
            Q = solve(add(identity, skew, alpha=-0.5), add(identity, skew, alpha=0.5))
        return Q if rows == columns else Q[..., :columns]

    def _reflected(self, X: Tensor) -> Any:
        """Return the product of the reflections below the diagonal of X, which holds signs."""
        below = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
        Q = householder_product(below, tau)
        return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        wide = Q.size(-2) < Q.size(-1)
        if wide:
            Q = Q.mT
        if hasattr(self, "base"):
            X = self._rebased(Q)
        elif self.orthogonal_map == _OrthMaps.householder:
            X, tau = geqrf(Q)
            signs = X.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            # LAPACK leaves out a reflection that has nothing to do; `forward` does reflect.
            signs[tau == 0.0] *= -1
        else:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        return X.mT if wide else X

    def _rebased(self, Q: Tensor) -> Tensor:
        """Take Q, made square and orthogonal, as the base; return the X that gives the identity.

        Every map takes minus the identity to the identity.
        """
        rows, columns = Q.size(-2), Q.size(-1)
        if rows == columns:
            base = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            shape = (*Q.size()[:-2], rows, rows - columns)
            base = _make_orthogonal(cat([Q, randn(shape, dtype=Q.dtype)], dim=-1))
        self.base = base
        minus_identity = zeros_like(Q)
        minus_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return minus_identity


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix orthogonal: its columns, or its rows if there are fewer of them.

        matrix_exp: Q = exp(A); cayley: Q = (I - A/2)⁻¹ (I + A/2), both of A = L - Lᵀ, L = tril(X)
        householder: Q is a product of Householder reflections

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; None means the first for square
            and complex matrices, else the last.
        use_trivialization: whether a fixed orthogonal matrix stands before the map.

    Example:
        >>> import taper
        >>> from taper import nn
        >>> weight = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)).weight
        >>> taper.allclose(weight.T @ weight, taper.eye(3), atol=1e-5)
        True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# --- weight norm -----------------------------------------------------------------------------


class _WeightNorm(Module):
    """Compute a tensor from its direction and its lengths along one dimension, or one length."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return normed_weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the length and the direction of a parameter apart.

        w = g v / ‖v‖

    A state that was written with the older `nn.utils.weight_norm` can be loaded.

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        dim: the dimension whose indices each have a length; None means one length for all.

    Example:
        >>> from taper import nn
        >>> list(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).state_dict())
        ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


# --- spectral norm ---------------------------------------------------------------------------


class _SpectralNorm(Module):
    """Divide a tensor by its largest singular value, estimated with the vectors `_u` and `_v`."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            rows, columns = matrix.size()
            u = matrix.new_empty(rows).normal_(0, 1)
            v = matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            others = [each for each in range(weight.dim()) if each != self.dim]
            weight = weight.permute(self.dim, *others)
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        """Improve the estimate of the singular vectors, in place."""
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(mv(weight_mat, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(mv(weight_mat.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next call writes into the buffers, and the graph keeps what it saw.
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a parameter by its largest singular value, or a vector by its norm.

        W_used = W / s, s = uᵀ W v, with u and v from power iterations

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        n_power_iterations: by how many steps each computation in training mode improves u and v.
        eps: against division by 0 when u and v are normalised.
        dim: the dimension that holds the rows of the matrix; None means 1 for transposed
            convolutions, else 0.

    Example:
        >>> import taper
        >>> from taper import nn
        >>> generator = taper.manual_seed(0)
        >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=20)
        >>> taper.allclose(taper.linalg.matrix_norm(layer.weight, 2), taper.tensor(1.0))
        True
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)
