"""Products with something added: `addmm`, `addmv`, `addbmm`, `baddbmm`, `addr`.

All compute `beta * self + alpha * product`, and add in one pass over the product. With a `beta` of
0 `self` is not read: nan in it does not spread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import cast, in_float32
from taper.arrays.layouts import FIRST
from taper.arrays.memory import resized
from taper.arrays.reduction import is_expandable
from taper.arrays.strides import existing_dim, row_major, wrap_dim
from taper.autograd.state import local
from taper.autograd.views import bump_version, check_inplace, rebase_history, wants_grad
from taper.dtypes import C_NAMES, no_kernel
from taper.opdef import SAME, Array, derivative, inplace_as_function, methods, op, tangent_of
from taper.ops.elementwise.number import scaled as exactly_scaled
from taper.ops.linalg.matmul import (
    adjoint,
    batched_product,
    bmm,
    check_bmm,
    check_mv,
    conjugate,
    left_gradient,
    mm,
    mv,
    not_tensors,
    product,
    right_gradient,
    same_dtype,
    scalar_name,
    sizes_clash,
    two_matrices,
)
from taper.ops.shape.ones import expand, expand_to, unsqueeze
from taper.tensor import Tensor

_HALF = "eE"  # dtype.char of float16 and bfloat16


def scaled(value: Any, factor: Any) -> Any:
    """Multiply a gradient or tangent by a factor; nothing is computed for a factor of 1."""
    if isinstance(factor, Tensor):
        factor = factor.item()
    return value if factor == 1 else exactly_scaled(value, conjugate(factor))


def factor_for(array: ndarray, factor: Any) -> Any:
    """Convert `beta` or `alpha` to a number of the array's kind: integers drop the fraction."""
    if isinstance(factor, Tensor):
        factor = factor.item()
    kind = array.dtype.kind
    if isinstance(factor, complex) and kind != "c":
        if factor.imag:
            name = C_NAMES[dtypes.FROM_NUMPY[array.dtype]]
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        factor = factor.real
    return int(factor) if kind in "iu" else factor


def added(fresh: ndarray, self: ndarray, beta: Any, alpha: Any) -> ndarray:
    """Compute `beta * self + alpha * fresh` in the memory of the fresh product."""
    if fresh.dtype.char == "?":
        return _added_to_nothing(fresh, self, beta)
    if alpha != 1:
        fresh *= factor_for(fresh, alpha)
    if beta == 0:
        expand_to(self, fresh.shape)
        return fresh
    addend = self if beta == 1 else self * factor_for(fresh, beta)
    try:
        fresh += addend
    except ValueError:
        expand_to(self, fresh.shape)
        raise
    return fresh


def _added_to_nothing(fresh: ndarray, self: ndarray, beta: Any) -> ndarray:
    """Compute `beta * self` for bool, whose products exist only where nothing is multiplied."""
    addend = expand_to(self, fresh.shape)
    if beta != 0 and fresh.size:
        if type(beta) is not bool:
            name = {float: "Float", complex: "ComplexFloat"}.get(type(beta), "Long")
            raise RuntimeError(f"result type {name} can't be cast to the desired output type Bool")
        fresh |= addend
    return fresh


def in_single(kernel: Any, *arrays: ndarray, beta: Any, alpha: Any) -> ndarray:
    """Run a kernel on half precision arrays in single precision, and round once."""
    return cast(kernel(*in_float32(*arrays), beta=beta, alpha=alpha), arrays[0].dtype)


# --- addmm -----------------------------------------------------------------------------------


@op(out=same_dtype, inplace=True)
def addmm(self: Array, mat1: Array, mat2: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """Compute `beta * input + alpha * (mat1 @ mat2)`.

    >>> import taper
    >>> taper.addmm(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3, 2))
    tensor([[4., 5.],
            [4., 5.]])
    """
    dtype = mat2.dtype
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.dtype is not dtype or self.dtype is not dtype:
        _check_addmm(self, mat1, mat2)
    if dtype.char in _HALF:
        return in_single(addmm.op.kernel, self, mat1, mat2, beta=beta, alpha=alpha)
    if beta == 1 == alpha and self.ndim == 1:
        found: Array | None = two_matrices(mat1, mat2, self)
        if found is not None:
            return found
    try:
        fresh = product(mat1, mat2)
    except ValueError:
        raise sizes_clash(mat1, mat2) from None
    return added(fresh, self, beta, alpha)


def _check_addmm(self: ndarray, mat1: ndarray, mat2: ndarray) -> None:
    for name, matrix in (("self", self), ("mat1", mat1)):
        if matrix.dtype != mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {scalar_name(matrix)} and "
                f"{scalar_name(mat2)}"
            )
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix.ndim}-D tensor")


@derivative(addmm, wrt="self")
def addmm_self(grad, beta):
    return scaled(grad, beta)


@derivative(addmm, wrt="mat1")
def addmm_mat1(grad, mat2, mat1_shape, mat1_strides, alpha):
    return scaled(left_gradient(grad, mat2, mat1_shape, mat1_strides), alpha)


@derivative(addmm, wrt="mat2")
def addmm_mat2(grad, mat1, mat2_shape, mat2_strides, alpha):
    return scaled(right_gradient(mat1, grad, mat2_shape, mat2_strides), alpha)


def total(terms: list[Any]) -> Any:
    """Add up tangents, of which some may be missing."""
    present = [term for term in terms if term is not None]
    result = present[0]
    for term in present[1:]:
        result = result + term
    return result


def _tangent(multiply: Any, self_t: Any, beta: Any, alpha: Any, *pairs: tuple[Any, Any]) -> Any:
    """Compute the tangent of an affine operator; `pairs` are factors and tangents."""
    terms = [None if self_t is None else self_t * beta]
    for left, right in pairs:
        if left is not None and right is not None:
            terms.append(multiply(left, right) * alpha)
    return total(terms)


@tangent_of(addmm)
def addmm_tangent(mat1, mat2, self_t, mat1_t, mat2_t, beta, alpha):
    return _tangent(mm, self_t, beta, alpha, (mat1_t, mat2), (mat1, mat2_t))


# --- addmv -----------------------------------------------------------------------------------


@op(out=same_dtype, inplace=True)
def addmv(self: Array, mat: Array, vec: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """Compute `beta * input + alpha * (mat @ vec)`.

    >>> import taper
    >>> taper.addmv(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3), alpha=2)
    tensor([7., 8.])
    """
    check_mv(mat, vec, self.shape, self)
    if mat.dtype.char in _HALF:
        return in_single(addmv.op.kernel, self, mat, vec, beta=beta, alpha=alpha)
    return added(product(mat, vec, "addmv_impl_cpu"), self, beta, alpha)


@derivative(addmv, wrt="self")
def addmv_self(grad, beta):
    return scaled(grad, beta)


@derivative(addmv, wrt="mat")
def addmv_mat(grad, vec, alpha):
    return scaled(unsqueeze(grad, 1) * conjugate(vec), alpha)


@derivative(addmv, wrt="vec")
def addmv_vec(grad, mat, alpha):
    return scaled(mv(adjoint(mat), grad), alpha)


@tangent_of(addmv)
def addmv_tangent(mat, vec, self_t, mat_t, vec_t, beta, alpha):
    return _tangent(mv, self_t, beta, alpha, (mat_t, vec), (mat, vec_t))


# --- baddbmm, addbmm -------------------------------------------------------------------------


@op(out=same_dtype, inplace=True)
def baddbmm(self: Array, batch1: Array, batch2: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """Compute `beta * input + alpha * bmm(batch1, batch2)`.

    >>> import taper
    >>> taper.baddbmm(taper.tensor(1.), taper.ones(1, 2, 3), taper.ones(1, 3, 2))
    tensor([[[4., 4.],
             [4., 4.]]])
    """
    existing_dim(0, batch1.ndim)
    wrap_dim(1, batch1.ndim)
    existing_dim(2, batch2.ndim)
    expand_to(self, (*batch1.shape[:2], batch2.shape[2]))
    if self.dtype != batch1.dtype != batch2.dtype or self.dtype != batch2.dtype == batch1.dtype:
        names = [C_NAMES[dtypes.FROM_NUMPY[each.dtype]] for each in (self, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: "
            f"{names[2]}"
        )
    check_bmm(batch1, batch2)
    if self.dtype.char in _HALF:
        return in_single(baddbmm.op.kernel, self, batch1, batch2, beta=beta, alpha=alpha)
    return added(batched_product(batch1, batch2, "baddbmm"), self, beta, alpha)


@derivative(baddbmm, wrt="self")
def baddbmm_self(grad, beta):
    return scaled(grad, beta)


@derivative(baddbmm, wrt="batch1")
def baddbmm_batch1(grad, batch2, alpha):
    return scaled(bmm(grad, adjoint(batch2)), alpha)


@derivative(baddbmm, wrt="batch2")
def baddbmm_batch2(grad, batch1, alpha):
    return scaled(bmm(adjoint(batch1), grad), alpha)


@tangent_of(baddbmm)
def baddbmm_tangent(batch1, batch2, self_t, batch1_t, batch2_t, beta, alpha):
    return _tangent(bmm, self_t, beta, alpha, (batch1_t, batch2), (batch1, batch2_t))


@op(out=same_dtype, inplace=True, saved_sizes={"batch1": (0, 1), "batch2": (2,)})
def addbmm(self: Array, batch1: Array, batch2: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """Compute `beta * input + alpha * (the sum of bmm(batch1, batch2) over the stack)`.

    >>> import taper
    >>> taper.addbmm(taper.tensor(1.), taper.ones(5, 2, 3), taper.ones(5, 3, 2))
    tensor([[16., 16.],
            [16., 16.]])
    """
    _check_addbmm(self, batch1, batch2)
    if self.dtype.char in _HALF:
        return in_single(addbmm.op.kernel, self, batch1, batch2, beta=beta, alpha=alpha)
    count, rows, inner = batch1.shape
    if count > 1 and self.dtype.char == "?":
        beta = 1  # PyTorch adds one product after the other, from the second on with the number 1
    # The sum of products is one product of the matrices laid side by side.
    wide = batch1.transpose(1, 0, 2).reshape(rows, count * inner)
    return added(product(wide, batch2.reshape(count * inner, batch2.shape[2])), self, beta, alpha)


def _check_addbmm(self: ndarray, batch1: ndarray, batch2: ndarray) -> None:
    existing_dim(1, batch1.ndim)
    existing_dim(2, batch2.ndim)
    expand_to(self, (batch1.shape[1], batch2.shape[2]))
    for name, stack in (("batch1", batch1), ("batch2", batch2)):
        if stack.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    (count, rows, inner), (others, between, columns) = batch1.shape, batch2.shape
    if count != others:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {count} and {others}"
        )
    if inner != between:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({rows}x{inner} and {between}x{columns})"
        )
    if not self.dtype == batch1.dtype == batch2.dtype:
        _check_addmm(self, batch1[0], batch2[0])


@derivative(addbmm, wrt="self")
def addbmm_self(grad, beta):
    return scaled(grad, beta)


@derivative(addbmm, wrt="batch1")
def addbmm_batch1(grad, batch2, batch1_shape, alpha):
    stack = expand(grad, batch1_shape[:1] + tuple(grad.shape))
    return scaled(bmm(stack, adjoint(batch2)), alpha)


@derivative(addbmm, wrt="batch2")
def addbmm_batch2(grad, batch1, batch2_shape, alpha):
    stack = expand(grad, batch2_shape[:1] + tuple(grad.shape))
    return scaled(bmm(adjoint(batch1), stack), alpha)


def _sum_of_products(batch1: Any, batch2: Any) -> Any:
    return bmm(batch1, batch2).sum(0)


@tangent_of(addbmm)
def addbmm_tangent(batch1, batch2, self_t, batch1_t, batch2_t, beta, alpha):
    pairs = (batch1_t, batch2), (batch1, batch2_t)
    return _tangent(_sum_of_products, self_t, beta, alpha, *pairs)


# --- addr ------------------------------------------------------------------------------------


def _expands(common: dtypes.dtype, operands: Sequence[Any]) -> None:
    """Refuse a first tensor of another shape, with the dtype that it was given in."""
    first, *vectors = operands
    if all(each.ndim == 1 for each in vectors):
        expand_to(first, tuple(map(len, vectors)))


@op(promote=SAME, upcast=True, out=True, inplace=True, layout=FIRST, check=_expands)
def addr(self: Array, vec1: Array, vec2: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """Compute `beta * input + alpha * outer(vec1, vec2)`.

    >>> import taper
    >>> taper.addr(taper.zeros(2, 2), taper.tensor([1., 2.]), taper.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    _check_addr(vec1, vec2, beta, alpha)
    fresh = vec1[:, None] * vec2
    if self.dtype.kind != "b":
        return added(fresh, self, beta, alpha)
    addend = expand_to(self, fresh.shape)
    fresh &= bool(alpha)
    return fresh | addend if beta else fresh


def _check_addr(vec1: ndarray, vec2: ndarray, beta: Any, alpha: Any) -> None:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    kind = vec1.dtype.kind
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and kind != "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, float) and kind in "iub":
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    if kind == "u" and vec1.dtype.itemsize > 1:
        raise no_kernel("addr_cpu", dtypes.FROM_NUMPY[vec1.dtype])


@derivative(addr, wrt="self")
def addr_self(grad, beta):
    return scaled(grad, beta)


@derivative(addr, wrt="vec1")
def addr_vec1(grad, vec2, alpha):
    return scaled(mv(grad, conjugate(vec2)), alpha)


@derivative(addr, wrt="vec2")
def addr_vec2(grad, vec1, alpha):
    return scaled(mv(grad.T, conjugate(vec1)), alpha)


def _outer(vec1: Any, vec2: Any) -> Any:
    return unsqueeze(vec1, 1) * vec2


@tangent_of(addr)
def addr_tangent(vec1, vec2, self_t, vec1_t, vec2_t, beta, alpha):
    return _tangent(_outer, self_t, beta, alpha, (vec1_t, vec2), (vec1, vec2_t))


# --- in place --------------------------------------------------------------------------------


# Error texts for a target whose shape differs from the result's; the group is that shape.
_OTHER_SHAPE = r"output with shape .* doesn't match the broadcast shape (.*)"
_NO_EXPANSION = r"The expanded size .* Target sizes: (.*?)\.|expand\(.*, size=(.*?)\):"


def _sized_inplace(name: str, pattern: str) -> None:
    """Give an in-place method PyTorch's error for a result whose shape is not the target's."""
    run = methods[name]

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            return run(self, *args, **kwargs)
        except RuntimeError as error:
            found = re.match(pattern, str(error))
            if found is None:
                raise
            size = found[found.lastindex or 0]
            raise RuntimeError(
                f"Bad in-place call: input tensor size {list(self._array.shape)} and output "
                f"tensor size {size} should match"
            ) from None

    method.__name__ = method.__qualname__ = name
    method.__doc__ = run.__doc__
    methods[name] = method


def _checked_addr(
    self: Tensor, vec1: Tensor, vec2: Tensor, *more: Any, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """In-place version of `addr`."""
    if more:  # numbers before the vectors: a deprecated overload
        return _addr_inplace(self, vec1, vec2, *more)
    if not isinstance(vec1, Tensor) or not isinstance(vec2, Tensor):
        raise not_tensors("addr_", vec1=vec1, vec2=vec2)
    shape, vectors = self._array.shape, (vec1._array, vec2._array)
    fitting = (vectors[0].size, vectors[1].size)
    if len(shape) != 2 or ([each.ndim for each in vectors] == [1, 1] and shape != fitting):
        check_inplace(self, any(map(wants_grad, (vec1, vec2))), local.state)
    if len(shape) != 2:
        raise RuntimeError(f"2D tensor expected, got {len(shape)}D tensor for input")
    if [each.ndim for each in vectors] == [1, 1] and shape != fitting:
        raise RuntimeError(
            f"size mismatch, input: {list(shape)}, v1: {list(vectors[0].shape)}, v2: "
            f"{list(vectors[1].shape)}"
        )
    return _addr_inplace(self, vec1, vec2, beta=beta, alpha=alpha)


def _broadcast_addbmm(
    self: Tensor, batch1: Any, batch2: Any, *more: Any, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """In-place version of `addbmm`; a tensor that broadcasts to the result gets its shape."""
    shapes = [each._array.shape for each in (batch1, batch2) if isinstance(each, Tensor)]
    if not more and len(shapes) == 2 and len(shapes[0]) == len(shapes[1]) == 3:
        shape = (shapes[0][1], shapes[1][2])
        if self._array.shape != shape and is_expandable(self._array.shape, shape):
            return _replaced_by_addbmm(self, batch1, batch2, beta, alpha)
    return _addbmm_inplace(self, batch1, batch2, *more, beta=beta, alpha=alpha)


def _replaced_by_addbmm(self: Tensor, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Tensor:
    recorded = check_inplace(self, any(map(wants_grad, (batch1, batch2))), local.state)
    result = addbmm(self, batch1, batch2, beta=beta, alpha=alpha)
    array = result._array
    self._array, _ = resized(self._array, array.shape, row_major(array.shape))
    self._array[...] = array
    bump_version(self)
    if recorded and result._grad_fn is not None:
        rebase_history(self, result._grad_fn)
    return self


_addbmm_inplace = methods["addbmm_"]
methods["addbmm_"] = _broadcast_addbmm
_addr_inplace = methods["addr_"]
methods["addr_"] = _checked_addr
_sized_inplace("addmm_", f"{_OTHER_SHAPE}|{_NO_EXPANSION}")
for _name in ("addmv_", "baddbmm_", "addbmm_"):
    _sized_inplace(_name, _OTHER_SHAPE)
inplace_as_function("addmv_")  # PyTorch has only one of these as a function
