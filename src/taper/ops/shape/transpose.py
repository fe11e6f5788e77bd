"""Views with the dimensions in another order: transpose, permute, movedim, T, mT, H, mH."""

from __future__ import annotations

from typing import Any

from numpy.exceptions import AxisError

from taper.arrays.strides import Shape, wrap_dim
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.ops.shape.reshape import alias, missing, sizes
from taper.tensor import Tensor
from taper.userwarning import warn_once

# --- order of the dimensions -----------------------------------------------------------------


@op(view=True, tangent=LINEAR)
def transpose(self: Array, dim0: int, dim1: int) -> Array:
    """Exchange two dimensions.

    Args:
        input: a tensor.
        dim0: first dimension.
        dim1: second dimension.

    Shape: `input` with the lengths `dim0` and `dim1` exchanged; the result is a view.

    Example:
        >>> import taper
        >>> taper.transpose(taper.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([[1, 3],
                [2, 4]])
    """
    try:
        return self.swapaxes(dim0, dim1)
    except (AxisError, OverflowError):
        ndim = self.ndim
        first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
        return self.swapaxes(first, second) if ndim else self


@derivative(transpose, wrt="self")
def transpose_self(grad: Array, dim0: int, dim1: int) -> Array:
    return transpose(grad, dim0, dim1)


@composite()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Exchange two dimensions: NumPy's name of `transpose`.

    >>> import taper
    >>> taper.swapaxes(taper.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@composite()
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions: another name of `transpose`.

    >>> import taper
    >>> taper.swapdims(taper.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, dim0, dim1)


@op(view=True, tangent=LINEAR)
def t(self: Array) -> Array:
    """Transpose a matrix; vectors and 0-d tensors stay as they are.

    Args:
        input: a tensor with at most two dimensions.

    Shape: (n, m) gives (m, n); the result is a view.

    Example:
        >>> import taper
        >>> taper.t(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


@derivative(t, wrt="self")
def t_self(grad: Array) -> Array:
    return t(grad)


@op(name="permute", view=True, tangent=LINEAR, public=False, method=False)
def permute_dims(self: Array, dims: Shape) -> Array:
    """Put the dimensions into another order."""
    try:
        return self.transpose(dims)
    except ValueError:
        ndim = self.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired ordering of dimensions i.e. input.dim() = "
            f"{ndim} is not equal to len(dims) = {len(dims)}"
        )
    for dim in dims:
        wrap_dim(dim, ndim)
    raise RuntimeError("permute(): duplicate dims are not allowed.")


@derivative(permute_dims, wrt="self")
def permute_self(grad: Array, dims: Shape) -> Array:
    back = [0] * len(dims)
    for position, dim in enumerate(dims):
        back[dim] = position
    return permute_dims(grad, tuple(back))


@composite(quick="permuted(input, local.state, getframe(1), F_permute, order) if order else None")
def permute(input: Any, *order: Any, dims: Any = None) -> Any:
    """Put the dimensions into another order.

    Args:
        input: a tensor.
        order: numbers of the dimensions in their new order, one by one or as one tuple.
        dims: the order, as a keyword.

    Shape: length i of the result is length `dims[i]` of `input`; the result is a view.

    Example:
        >>> import taper
        >>> taper.permute(taper.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    if not order:
        if dims is None:
            raise missing("permute", "dims")
        order = (dims,)
    return permute_dims(input, sizes("permute", "dims", order))


@composite()
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move the dimensions `source` to the places `destination`; the others stay in order.

    >>> import taper
    >>> taper.movedim(taper.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    sources = sizes("movedim", "source", (source,))
    targets = sizes("movedim", "destination", (destination,))
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should "
            f"contain the same number of dims as destination ({list(targets)} dims)"
        )
    ndim = input._array.ndim
    wrapped = [wrap_dim(dim, ndim) for dim in sources]
    places = [wrap_dim(dim, ndim) for dim in targets]
    for name, found, given in (("source", wrapped, sources), ("destination", places, targets)):
        if len(set(found)) != len(found):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if ndim == 0:
        return alias(input)
    order = [dim for dim in range(ndim) if dim not in wrapped]
    for place, dim in sorted(zip(places, wrapped, strict=True)):
        order.insert(place, dim)
    return permute_dims(input, tuple(order))


@composite()
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions: NumPy's name of `movedim`.

    >>> import taper
    >>> taper.moveaxis(taper.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return movedim(input, source, destination)


# --- T, mT, H, mH ----------------------------------------------------------------------------


_MATRIX = (1, 0)
_NO_MATRIX = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
    "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
    "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
    "tensor."
)
_SCALAR = "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."


def _reversed_dims(self: Tensor) -> Tensor:
    """Reverse the order of the dimensions; transpose a matrix."""
    ndim = self._array.ndim
    if ndim != 2:
        warn_once(_NO_MATRIX if ndim else _SCALAR)
    return permute_dims(self, _MATRIX if ndim == 2 else tuple(range(ndim - 1, -1, -1)))


def _of_matrices(self: Tensor, name: str) -> Tensor:
    """Transpose the last two dimensions; `name` is for errors."""
    ndim = self._array.ndim
    if ndim == 1:
        raise RuntimeError(
            f"tensor{name} is only supported on matrices or batches of matrices. Got {ndim}-D "
            "tensor."
        )
    return transpose(self, -2, -1)


def _matrix_transpose(self: Tensor) -> Tensor:
    """Transpose a matrix or a batch of matrices."""
    if self._array.ndim == 0:
        _warn_0d(".mT", "This function is the identity in these cases.")
        return self
    return _of_matrices(self, ".mT")


def _matrix_adjoint(self: Tensor, name: str = ".mH") -> Tensor:
    """Conjugate and transpose a matrix or a batch of matrices; `name` is for errors."""
    if self._array.ndim == 0:
        _warn_0d(name, "Consider using x.conj().")
        return _conjugated(self)
    return _conjugated(_of_matrices(self, name))


def _hermitian(self: Tensor) -> Tensor:
    """Conjugate and transpose a matrix."""
    ndim = self._array.ndim
    if ndim == 0:
        _warn_0d(".H", "Consider using x.conj().")
        return _conjugated(self)
    if ndim != 2:
        more = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{more}"
        )
    return _conjugated(transpose(self, -2, -1))


def _warn_0d(name: str, advice: str) -> None:
    shown = f"Tensor{name}" if name != ".adjoint()" else "adjoint()"
    warn_once(f"{shown} is deprecated on 0-D tensors. {advice}")


def _conjugated(tensor: Tensor) -> Tensor:
    return tensor.conj() if tensor._array.dtype.kind == "c" else tensor


@composite()
def adjoint(input: Tensor) -> Tensor:
    """Conjugate and transpose a matrix or a batch of matrices.

    >>> import taper
    >>> taper.adjoint(taper.zeros(2, 3)).shape
    torch.Size([3, 2])
    """
    return _matrix_adjoint(input, ".adjoint()")


for _name, _getter in {
    "T": _reversed_dims,
    "mT": _matrix_transpose,
    "H": _hermitian,
    "mH": _matrix_adjoint,
}.items():
    setattr(Tensor, _name, property(_getter))
