"""Products of two matrices, vectors or batches of them.

Owns: `mm`, `mv`, `dot`, `vdot`, `bmm`, `outer`, and `matmul`, which is made of them as in PyTorch.
What adds to a product is in `addmm`, sums over named indices are in `einsum`.

Two matrices of floats are multiplied by the native module: 0.2 us for 5x5, and large ones on the
pool of threads.  NumPy's `ndarray.dot` takes 0.5 us there, `numpy.dot` 1.0, `numpy.matmul` 1.4; so
all others are multiplied with the method.

Long because: the products call one another, and each has its formulas beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, cast, in_float32
from taper.arrays.layouts import ELEMENTWISE, ROW_MAJOR, settled
from taper.arrays.native import native
from taper.autograd.views import requires_grad
from taper.dtypes import C_NAMES, no_kernel
from taper.opdef import MULTILINEAR, Array, composite, derivative, op, tangent_of
from taper.opdef.operands import broadcast_clash
from taper.opdef.writes import compute_into
from taper.ops.shape.ones import expand_to, reshape, transpose, unsafe_view, unsqueeze
from taper.tensor import Tensor

# `dtype.char` of the elements: what BLAS knows, half precision, and PyTorch's integers.
_BLAS, _HALF, _INTEGERS = "fdFD", "eE", "bBhilq"


def product(left: ndarray, right: ndarray, kernel: str = "addmm_impl_cpu_") -> Any:
    """Compute `left.dot(right)` for one dtype: half precision in single, integers wrap.

    `kernel` is what PyTorch's error for other dtypes names.
    """
    found = two_matrices(left, right)
    if found is not None:
        return found
    char = left.dtype.char
    if char in _BLAS or char in _INTEGERS:
        if left.size == 1 or right.size == 1:  # there `dot` calls 0 times infinity zero
            return np.matmul(left, right)
        return left.dot(right)
    if char in _HALF:
        return cast(cast(left, FLOAT32).dot(cast(right, FLOAT32)), left.dtype)
    if left.ndim == 1 or (left.size and right.size and left.shape[-1] == right.shape[0]):
        raise no_kernel(kernel, dtypes.FROM_NUMPY[left.dtype])
    return left.dot(right)  # nothing to multiply, or sizes that clash


def _no_product(*_: Any) -> None:
    """Stand for the native product where there is none."""


# A function of two matrices and, if need be, of a vector that is added to each row.
two_matrices: Callable[..., Any] = native.product if native is not None else _no_product
_matrix_by_vector: Any = native.matrix_by_vector if native is not None else _no_product

_SMALL_MATRICES = 400  # PyTorch has a kernel of its own for stacks up to this size


def batched_product(left: ndarray, right: ndarray, kernel: str = "bmm") -> ndarray:
    """Multiply the matrices of two stacks, pair by pair."""
    if len(left) == 1:  # NumPy's product of stacks takes 1 us more
        found = two_matrices(left[0], right[0])
        if found is not None:
            return found.reshape(1, *found.shape)  # with strides of a contiguous stack
    char = left.dtype.char
    if char in _BLAS:
        return np.matmul(_for_blas(left), _for_blas(right))
    if char in _HALF:
        return cast(np.matmul(*in_float32(left, right)), left.dtype)
    if char in _INTEGERS or not (left.size and right.size):
        return np.matmul(left, right)
    work = left.shape[-2] * right.shape[-2] * right.shape[-1]
    if kernel == "bmm" and work >= _SMALL_MATRICES:
        kernel = "addmm_impl_cpu_"
    raise no_kernel(kernel, dtypes.FROM_NUMPY[left.dtype])


def _for_blas(stack: ndarray) -> ndarray:
    """Copy a stack whose rows and columns are in pieces, which NumPy multiplies without BLAS."""
    itemsize = stack.itemsize
    if stack.strides[-1] == itemsize or stack.strides[-2] == itemsize:
        return stack
    return np.ascontiguousarray(stack)


def adjoint(matrix: Any) -> Any:
    """Return the conjugate transpose of a matrix or of each matrix of a stack."""
    if type(matrix) is ndarray:
        turned = matrix.T if matrix.ndim == 2 else matrix.swapaxes(1, 2)
        return turned.conj() if matrix.dtype.kind == "c" else turned
    turned = matrix.t() if matrix.ndim == 2 else transpose(matrix, 1, 2)
    return turned.conj() if matrix.dtype.is_complex else turned


def conjugate(value: Any) -> Any:
    """Conjugate an array, Tensor or number; real ones stay as they are."""
    if isinstance(value, Tensor):
        return value.conj() if value.dtype.is_complex else value
    return value if type(value) in (int, float, bool) else value.conjugate()


def same_dtype(out: ndarray, result: ndarray) -> None:
    """Refuse an `out=` of another dtype: products are not converted."""
    if out.dtype != result.dtype:
        wanted, given = (C_NAMES[dtypes.FROM_NUMPY[each.dtype]] for each in (result, out))
        raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {given} instead")


def scalar_name(array: ndarray) -> str:
    return dtypes.scalar_type_name(dtypes.FROM_NUMPY[array.dtype])


# --- two matrices ----------------------------------------------------------------------------


@op(out=same_dtype, tangent=MULTILINEAR)
def mm(self: Array, mat2: Array) -> Array:
    """Multiply two matrices; nothing broadcasts.

    result[i, j] = Σₖ input[i, k] · mat2[k, j]

    Args:
        input: left matrix.
        mat2: right matrix.
        out: tensor that receives the result.

    Shape: (n, k) and (k, m) give (n, m).

    Example:
        >>> import taper
        >>> taper.mm(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([[1., 0.], [1., 1.]]))
        tensor([[3., 2.],
                [7., 4.]])
    """
    if self.ndim != 2 or mat2.ndim != 2 or self.dtype is not mat2.dtype:
        _check_mm(self, mat2)
    try:
        return product(self, mat2)
    except ValueError:
        raise sizes_clash(self, mat2) from None


def _check_mm(self: ndarray, mat2: ndarray) -> None:
    for name, matrix in (("self", self), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise sizes_clash(self, mat2)
    if self.dtype != mat2.dtype:
        names = [C_NAMES[dtypes.FROM_NUMPY[each.dtype]] for each in (self, mat2)]
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}"
        )


def sizes_clash(mat1: ndarray, mat2: ndarray) -> RuntimeError:
    (rows, inner), (other, columns) = mat1.shape, mat2.shape
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{columns})"
    )


def mm_like(left: Any, right: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Compute `left @ right` in the memory layout of the matrix whose gradient it is.

    A transposed weight has column-major strides; a gradient in the same layout becomes, after the
    transposition is undone, the weight's `.grad` without a copy.
    """
    if type(left) is not ndarray:
        return mm(left, right)
    if _is_by_columns(left, shape, strides):
        return product(right.T, left.T).T
    return product(left, right)


def left_gradient(grad: Any, right: Any, shape: Any, strides: Any) -> Any:
    """Compute `grad @ rightᴴ`, the gradient of a left factor, in the layout of that."""
    if type(grad) is ndarray or not _is_by_columns(grad, shape, strides):
        return mm_like(grad, adjoint(right), shape, strides)
    return mm(conjugate(right), grad.t()).t()


def right_gradient(left: Any, grad: Any, shape: Any, strides: Any) -> Any:
    """Compute `leftᴴ @ grad`, the gradient of a right factor, in the layout of that."""
    if type(grad) is ndarray or not _is_by_columns(grad, shape, strides):
        return mm_like(adjoint(left), grad, shape, strides)
    return mm(grad.t(), conjugate(left)).t()


def _is_by_columns(grad: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    return strides[0] == grad.itemsize and strides[1] == grad.itemsize * shape[0]


@derivative(mm, wrt="self")
def mm_self(grad, mat2, self_shape, self_strides):
    return left_gradient(grad, mat2, self_shape, self_strides)


@derivative(mm, wrt="mat2")
def mm_mat2(grad, self, mat2_shape, mat2_strides):
    return right_gradient(self, grad, mat2_shape, mat2_strides)


# --- a matrix and a vector, two vectors ------------------------------------------------------


@op(out=same_dtype, tangent=MULTILINEAR)
def mv(self: Array, vec: Array) -> Array:
    """Multiply a matrix and a vector.

    result[i] = Σₖ input[i, k] · vec[k]

    Args:
        input: the matrix.
        vec: the vector.
        out: tensor that receives the result.

    Shape: (n, k) and (k,) give (n,).

    Example:
        >>> import taper
        >>> taper.mv(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([1., 1.]))
        tensor([3., 7.])
    """
    if (found := _matrix_by_vector(self, vec)) is not None:
        return found
    if self.ndim != 2 or vec.ndim != 1 or self.dtype is not vec.dtype:
        if not self.ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        check_mv(self, vec, self.shape[:1], vec)
    try:
        return product(self, vec, "addmv_impl_cpu")
    except ValueError:
        raise mv_sizes_clash(self, vec, self.shape[:1]) from None


def check_mv(mat: ndarray, vec: ndarray, added: tuple[int, ...], like: ndarray) -> None:
    """Check the arguments of `mv` and `addmv`; `added` and `like` describe the summand."""
    if mat.ndim != 2 or vec.ndim != 1 or len(added) > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(added)}, {mat.ndim}, {vec.ndim}"
        )
    if mat.shape[1] != vec.shape[0] or math.prod(added) not in (1, mat.shape[0]):
        raise mv_sizes_clash(mat, vec, added)
    if not mat.dtype == vec.dtype == like.dtype:
        names = [scalar_name(each) for each in (like, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and "
            f"{names[2]}"
        )


def mv_sizes_clash(mat: ndarray, vec: ndarray, added: tuple[int, ...]) -> RuntimeError:
    rows, columns = mat.shape
    length = added[0] if added else 1
    return RuntimeError(
        f"size mismatch, got input ({length}), mat ({rows}x{columns}), vec ({vec.shape[0]})"
    )


_multiply = settled(np.multiply, ELEMENTWISE)


@derivative(mv, wrt="self")
def mv_self(grad, vec):
    if grad.__class__ is ndarray and vec.dtype.kind == "f":
        return _multiply(grad.reshape(-1, 1), vec)  # the same as below, 2 us faster
    return unsqueeze(grad, 1) * conjugate(vec)


@derivative(mv, wrt="vec")
def mv_vec(grad, self):
    return mv(adjoint(self), grad)


def _same_dtype_as_vectors(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"result dtype {scalar_name(out)} does not match input dtype {scalar_name(result)}"
        )


@op(out=_same_dtype_as_vectors, tangent=MULTILINEAR)
def dot(self: Array, tensor: Array) -> Array:
    """Sum the products of the elements of two vectors.

    >>> import taper
    >>> taper.dot(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
    tensor(11.)
    """
    _check_dot(self, tensor)
    return product(self, tensor, "dot")


def _check_dot(self: ndarray, tensor: ndarray) -> None:
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    if self.dtype != tensor.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{scalar_name(self)} and {scalar_name(tensor)}"
        )
    if self.size != tensor.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.size}] and src [{tensor.size}] to "
            f"have the same number of elements, but got {self.size} and {tensor.size} elements "
            "respectively"
        )


@derivative(dot, wrt="self")
def dot_self(grad, tensor):
    return grad * conjugate(tensor)


@derivative(dot, wrt="tensor")
def dot_tensor(grad, self):
    return grad * conjugate(self)


@op(out=_same_dtype_as_vectors)
def vdot(self: Array, other: Array) -> Array:
    """Multiply two vectors as `dot` does, with the first one conjugated.

    >>> import taper
    >>> taper.vdot(taper.tensor([1j, 2.]), taper.tensor([1j, 1.]))
    tensor(3.+0.j)
    """
    _check_dot(self, other)
    return product(self.conj() if self.dtype.kind == "c" else self, other, "dot")


@derivative(vdot, wrt="self")
def vdot_self(grad, other):
    return conjugate(grad) * other


@derivative(vdot, wrt="other")
def vdot_other(grad, self):
    return grad * self


@tangent_of(vdot)
def vdot_tangent(self, other, self_t, other_t):
    terms = [] if self_t is None else [vdot(self_t, other)]
    terms += [] if other_t is None else [vdot(self, other_t)]
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


# --- stacks of matrices ----------------------------------------------------------------------


@op(out=same_dtype, tangent=MULTILINEAR, layout=ROW_MAJOR)
def bmm(self: Array, mat2: Array) -> Array:
    """Multiply the matrices of two stacks, pair by pair; nothing broadcasts.

    result[b] = input[b] @ mat2[b]

    Args:
        input: stack of left matrices.
        mat2: stack of right matrices.
        out: tensor that receives the result.

    Shape: (b, n, k) and (b, k, m) give (b, n, m).

    Example:
        >>> import taper
        >>> taper.bmm(taper.ones(2, 1, 3), taper.ones(2, 3, 1))
        tensor([[[3.]],
        <BLANKLINE>
                [[3.]]])
    """
    check_bmm(self, mat2)
    return batched_product(self, mat2)


def check_bmm(batch1: ndarray, batch2: ndarray) -> None:
    if batch1.ndim != 3 or batch2.ndim != 3:
        name = "batch2" if batch1.ndim == 3 else "batch1"
        raise RuntimeError(f"{name} must be a 3D tensor")
    count, _, inner = batch1.shape
    if batch2.shape[:2] != (count, inner):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {inner}] "
            f"but got: [{batch2.shape[0]}, {batch2.shape[1]}]."
        )
    if batch1.dtype != batch2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(batch1)} but found {scalar_name(batch2)}"
        )


@derivative(bmm, wrt="self")
def bmm_self(grad, mat2):
    return bmm(grad, adjoint(mat2))


@derivative(bmm, wrt="mat2")
def bmm_mat2(grad, self):
    return bmm(adjoint(self), grad)


# --- matmul ----------------------------------------------------------------------------------


@composite()
def matmul(input: Any, other: Any, *, out: Tensor | None = None) -> Any:
    """Multiply matrices, vectors or stacks of matrices.

    Two vectors give their dot product, a matrix and a vector a vector. With more than two
    dimensions
    the last two are the matrices and those before them broadcast.

    Args:
        input: left factor, with at least one dimension.
        other: right factor, with at least one dimension.
        out: tensor that receives the result.

    Shape: (*, n, k) and (*, k, m) give (*, n, m). A vector counts as (1, k) on the left and (k, 1)
        on the right, and the added dimension is dropped from the result.

    Example:
        >>> import taper
        >>> taper.matmul(taper.ones(5, 2, 3), taper.ones(3)).shape
        torch.Size([5, 2])
    """
    if out is not None:
        _refuse_numbers(input, other)
        return product_into("matmul", matmul, (input, other), out)
    try:
        left, right = input._array.ndim, other._array.ndim
    except AttributeError:
        if type(input) is ndarray:
            return np.matmul(input, other)
        for each in (input, other):  # a tensor whose array is elsewhere
            if isinstance(each, Tensor) and hasattr(each, "_run_function"):
                return each._run_function("matmul", {"input": input, "other": other})
        raise not_tensors("matmul", input=input, other=other) from None
    if left == 2 and right == 2:
        return mm(input, other)
    if left == 2 and right == 1:
        return mv(input, other)
    if left == 1 and right == 1:
        return dot(input, other)
    if left == 1 and right == 2:
        return mm(unsqueeze(input, 0), other).squeeze_(0)
    _refuse_numbers(input, other)
    return _matmul_of_stacks(input, other)


def _refuse_numbers(left: Any, right: Any) -> None:
    """Raise for a tensor without dimensions."""
    ndims = [each._array.ndim for each in (left, right) if isinstance(each, Tensor)]
    if 0 in ndims:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {ndims[0]}D and "
            f"{ndims[-1]}D"
        )


def product_into(
    function: str, compute: Callable[..., Tensor], arguments: tuple[Any, ...], out: Any
) -> Tensor:
    """Write a product into `out=`: a vector times a matrix is a matrix of one row."""
    written: Tensor
    ndims = [each.ndim for each in arguments[:2] if isinstance(each, Tensor)]
    as_row = ndims == [1, 2]

    def checked(*given: Any) -> Tensor:
        left, right = (each._array for each in given[:2])
        if ndims == [1, 1] and out._array.dtype != left.dtype:
            raise RuntimeError(
                f"result dtype {scalar_name(out._array)} does not match input dtype "
                f"{scalar_name(left)}"
            )
        if ndims[0] and ndims[1] == 2 and left.shape[-1] == right.shape[0]:
            same_dtype(out._array, left)
        return unsqueeze(compute(*given), 0) if as_row else compute(*given)

    written = compute_into(function, checked, arguments, out, same_dtype)
    return written.squeeze_(0) if as_row else written


def not_tensors(function: str, **arguments: Any) -> TypeError:
    """Make the error for an argument that should be a Tensor and is not."""
    for position, (name, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            return TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, "
                f"not {type(value).__name__}"
            )
    return TypeError(f"{function}(): the arguments do not fit")


def _matmul_of_stacks(input: Tensor, other: Tensor) -> Tensor:
    """Multiply stacks as PyTorch: a stack times one matrix is one tall product, else `bmm`."""
    left, right = input._array, other._array
    if left.ndim == 3 and right.ndim == 3:
        if right.shape[0] == 1 != left.shape[0] and requires_grad(other):
            return _folded(input, other.squeeze(0))
        if left.shape[0] == 1 != right.shape[0] and requires_grad(input):
            return _folded_right(input.squeeze(0), other)
    elif right.ndim <= 2 and (requires_grad(other) or _folds(left)):
        return _folded(input, other)
    elif left.ndim <= 2 and (requires_grad(input) or (left.ndim == 1 and _turned_folds(right))):
        return _folded_right(input, other)
    return _by_bmm(input, other)


def _folds(stack: ndarray) -> bool:
    """Tell from the strides whether the leading dimensions are one dimension without a copy."""
    return not stack.size or all(
        stack.strides[dim] == stack.strides[dim + 1] * stack.shape[dim + 1]
        for dim in range(stack.ndim - 2)
    )


def _turned_folds(stack: ndarray) -> bool:
    return stack.size > 0 and _folds(stack.swapaxes(-2, -1))


def _folded(stack: Tensor, other: Tensor) -> Tensor:
    """Multiply a stack of matrices with a matrix or vector, as one product."""
    *lead, inner = stack._array.shape
    tall = reshape(stack, (math.prod(lead), inner))
    if other._array.ndim == 1:
        return unsafe_view(mv(tall, other), tuple(lead))
    return unsafe_view(mm(tall, other), (*lead, other._array.shape[1]))


def _folded_right(input: Tensor, stack: Tensor) -> Tensor:
    """Multiply a matrix or vector with a stack of matrices, by way of the transposed product."""
    turned = transpose(stack, -2, -1)
    if input._array.ndim == 1:
        return _folded(turned, input)
    return transpose(_folded(turned, input.t()), -2, -1).contiguous()


def _by_bmm(input: Tensor, other: Tensor) -> Tensor:
    if input._array.ndim == 1:
        rows, left = (), unsqueeze(input, 0)
    else:
        rows, left = input._array.shape[-2:-1], input
    if other._array.ndim == 1:
        columns, right = (), unsqueeze(other, 1)
    else:
        columns, right = other._array.shape[-1:], other
    batches = left._array.shape[:-2], right._array.shape[:-2]
    clash = broadcast_clash(batches)
    if clash is not None:
        raise clash
    batch = np.broadcast_shapes(*batches)
    stacks = [
        reshape(expand_to(each, batch + shape), (math.prod(batch), *shape))
        for each, shape in ((left, left._array.shape[-2:]), (right, right._array.shape[-2:]))
    ]
    return unsafe_view(bmm(*stacks), batch + rows + columns)


@composite(name="__matmul__", public=False)
def matmul_operator(self: Tensor, other: Any) -> Any:
    try:
        # The first branch of `matmul`, for the call less: 0.1 us of 1.7 for two matrices of 8x8.
        if other._array.ndim == 2 and self._array.ndim == 2:
            return mm(self, other)
    except AttributeError:
        return NotImplemented
    return matmul(self, other)


@composite(name="__rmatmul__", public=False)
def reflected_matmul(self: Tensor, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


# --- outer products --------------------------------------------------------------------------


@composite(quick="outer_product(local.state, input, vec2, out)")
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Any:
    """Multiply each element of one vector with each element of another.

    result[i, j] = input[i] · vec2[j]

    Args:
        input: first vector.
        vec2: second vector.
        out: tensor that receives the result.

    Shape: (n,) and (m,) give (n, m).

    Example:
        >>> import taper
        >>> taper.outer(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    if out is not None:
        return compute_into("mul", outer, (input, vec2), out)
    for name, vector in (("self", input), ("vec2", vec2)):
        if not isinstance(vector, Tensor):
            raise not_tensors("outer", input=input, vec2=vec2)
        if vector._array.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {vector._array.ndim}-D"
            )
    return reshape(input, (input._array.size, 1)) * vec2


@composite()
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Any:
    """Multiply each element of one vector with each of another: another name of `outer`.

    >>> import taper
    >>> taper.ger(taper.tensor([1., 2.]), taper.tensor([3.]))
    tensor([[3.],
            [6.]])
    """
    return outer(input, vec2, out=out)
