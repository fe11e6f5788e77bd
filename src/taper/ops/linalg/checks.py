"""What linear algebra refuses, in PyTorch's words: shapes, dtypes, singular matrices; and `out=`.

Owns: `LinAlgError` and the checks that several families share. Knows arrays and Tensors, but no
operator of linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import LOW_PRECISION
from taper.arrays.foreign import has_elements
from taper.arrays.reduction import no_forward_mode, scalar_type
from taper.autograd.interception import seen_made
from taper.autograd.transforms import whole
from taper.dtypes import no_kernel
from taper.opdef.writes import compute_into
from taper.ops.linalg.matmul import not_tensors, same_dtype
from taper.tensor import Tensor, array_of


class _LinAlgError(RuntimeError):
    """Says that a matrix cannot be factored or inverted, or a system not be solved."""


LinAlgError = _LinAlgError
LinAlgError.__module__ = "taper"

SOLVABLE = "fdFD"  # `dtype.char` of what LAPACK knows


# --- arguments -------------------------------------------------------------------------------


def check_tensors(function: str, **arguments: Any) -> None:
    """Raise PyTorch's TypeError if one of the arguments is no Tensor."""
    for value in arguments.values():
        if not isinstance(value, Tensor):
            raise not_tensors(function, **arguments)


def check_square(name: str, matrices: ndarray, argument: str = "A") -> None:
    """Refuse fewer than two dimensions, and matrices that are not square."""
    check_matrices(name, matrices, argument)
    rows, columns = matrices.shape[-2:]
    if rows != columns:
        lead = f"{name}: " if name else ""
        raise RuntimeError(
            f"{lead}A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_matrices(name: str, matrices: ndarray, argument: str = "A") -> None:
    """Refuse fewer than two dimensions."""
    if matrices.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_floating(name: str, matrices: ndarray, low: bool = True) -> None:
    """Refuse dtypes that are neither floating point nor complex; without `low` also 16 bits."""
    if matrices.dtype.kind not in "fcV":
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type(matrices.dtype)}"
        )
    if not low and matrices.dtype in LOW_PRECISION:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {scalar_type(matrices.dtype)}"
        )


def check_kernel(kernel: str, matrices: ndarray, empty: bool = True) -> None:
    """Raise the error of a missing kernel for dtypes that LAPACK does not know.

    Without `empty`, matrices without elements pass: PyTorch does not reach the kernel then.
    """
    if matrices.dtype.char not in SOLVABLE and (empty or matrices.size):
        raise no_kernel(kernel, matrices.dtype)


def check_equation(name: str, A: ndarray, B: ndarray, left: bool) -> None:
    """Refuse shapes for which A X = B, or X A = B, makes no sense."""
    check_square(name, A)
    check_matrices(name, B, "B")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        sizes = [f"{each.shape[-2]}x{each.shape[-1]}" for each in (A, B)]
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({sizes[0]} and "
            f"{sizes[1]})"
        )


def common_batch(A: ndarray, B: ndarray) -> tuple[int, ...]:
    """Broadcast the batch dimensions of two stacks of matrices."""
    one, other = A.shape[:-2], B.shape[:-2]
    lead = max(len(one), len(other))
    wide = [(1,) * (lead - len(each)) + each for each in (one, other)]
    for dim in reversed(range(lead)):
        sizes = wide[0][dim], wide[1][dim]
        if sizes[0] != sizes[1] and 1 not in sizes:
            raise RuntimeError(
                f"The size of tensor a ({sizes[1]}) must match the size of tensor b ({sizes[0]}) "
                f"at non-singleton dimension {dim}"
            )
    return tuple([b if a == 1 else a for a, b in zip(*wide, strict=True)])


# --- failures --------------------------------------------------------------------------------


@whole("check_info")
def check_info(name: str, info: Any, text: Callable[[int], str], error: Any = LinAlgError) -> None:
    """Raise for the first matrix of a stack whose `info` is not 0."""
    codes = array_of(info)
    if isinstance(info, Tensor):
        options = {"is_matrix": not codes.ndim}
        seen_made("_linalg_check_errors", (info, name), options, None)
    if not has_elements(codes):
        return
    failed = np.flatnonzero(codes)
    if failed.size:
        number = int(failed[0])
        where = f"(Batch element {number}): " if codes.ndim else ""
        raise error(f"{name}: {where}{text(int(codes.reshape(-1)[number]))}")


def singular(code: int) -> str:
    return (
        f"The diagonal element {code} is zero, the inversion could not be completed because the "
        "input matrix is singular."
    )


def not_positive_definite(code: int) -> str:
    return (
        "The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {code} is not positive-definite)."
    )


def unsolvable(code: int) -> str:
    return "The solver failed because the input matrix is singular."


def no_derivative(name: str) -> RuntimeError:
    """Make the error of differentiating what PyTorch has no formula for, with the node's name."""
    return RuntimeError(f"derivative for aten::{name} is not implemented")


def no_formula(name: str) -> NotImplementedError:
    """Make the error of an operator whose derivative PyTorch declares as missing."""
    return NotImplementedError(f"the derivative for '{name}' is not implemented.")


missing_tangent = no_forward_mode


# --- out= ------------------------------------------------------------------------------------


def write_out(
    label: str | None,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    out: Any,
    returns: Any = None,
    check: Callable[[ndarray, ndarray], None] | None = same_dtype,
) -> Any:
    """Write the results of a composite function into `out=`; `returns` wraps several."""
    if returns is None:
        return compute_into(label, function, arguments, out, check)
    if not isinstance(out, (tuple, list)):
        raise TypeError(
            f"{(label or '').lstrip('_')}(): argument 'out' must be tuple of Tensors, not "
            f"{type(out).__name__}"
        )

    def as_tuple(*given: Any) -> tuple[Any, ...]:
        return tuple(function(*given))

    compute_into(label, as_tuple, arguments, tuple(out), check)
    return returns.out_type(out)
