"""Fitting a gradient to its edge: every gradient passes here, and is changed nowhere else.

A gradient has the shape and dtype of what it is the gradient of: it is summed over the dimensions
that broadcasting has added, and cast (§E18).  Knows nodes and leaves; not the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.elements import Conjugated, Zeros, cast
from taper.arrays.foreign import as_array, is_foreign
from taper.arrays.layouts import ELEMENTWISE, laid_out
from taper.arrays.reduction import column_sums, sum_array
from taper.arrays.strides import row_major
from taper.autograd.accumulate import AccumulateGrad, former_metadata
from taper.autograd.meta import UNSET
from taper.autograd.node import Node
from taper.tensor import Tensor, array_of, outline_of


def fit_all(node: Node, results: Sequence[Any]) -> list[Any]:
    """What a node returned, each gradient fitted to where it goes."""
    return [
        grad if grad is None or following is None else fit(grad, following, nr, node, position)
        for position, (grad, following, nr) in enumerate(
            zip(results, node._edges, node._edge_nrs, strict=True)
        )
    ]


def lay_out_sum(total: np.ndarray, present: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Lay a sum of two gradients out as the first that was received, as PyTorch does."""
    steps = present.strides
    if steps == total.strides or 0 in steps:
        return total
    found: np.ndarray = ELEMENTWISE(total, (present, grad))
    return found


def fit(grad: Any, target: Any, nr: int, source: Node, position: int) -> Any:
    """The result `position` of a node as the output `nr` of what its edge leads to takes it."""
    shape, dtype = _expected(target, nr, source)
    if grad.__class__ is np.ndarray and grad.dtype is dtype:
        if grad.shape == shape:
            return grad
        if grad.ndim == 2 and grad.shape[1:] == shape:
            return column_sums(grad)  # of a bias, in most cases
    if is_foreign(grad):
        if grad.shape == shape and dtype is not None and grad.dtype.kind != "c":
            return grad if grad.dtype is dtype else grad.astype(dtype)
        if grad.dtype is dtype and grad.ndim == 2 and grad.shape[1:] == shape:
            if grad.place.has_elements:
                return column_sums(grad)
    array = outline_of(grad) if isinstance(grad, Tensor) else as_array(grad)
    if isinstance(grad, Conjugated) and array.shape == shape and array.dtype is dtype:
        return grad if _keeps_conjugate(target) else array
    if array.shape != shape:
        leaf = target.variable if isinstance(target, AccumulateGrad) else target
        if leaf is not target and leaf._autograd_meta.former is not None:
            shape = former_metadata(leaf, source._sequence)[0]
        if not expands_to(shape, array.shape):
            if isinstance(leaf, Tensor) and not _takes_gradients(leaf):
                return None  # it may have changed since in any way
            raise RuntimeError(
                f"Function {source._class_name()} returned an invalid gradient at index {position} "
                f"- got {list(array.shape)} but expected shape compatible with {list(shape)}"
            )
        grad = grad.sum_to_size(shape) if isinstance(grad, Tensor) else sum_to(array, shape)
    elif not isinstance(grad, Tensor):
        grad = array.view(Zeros) if _keeps_zeros(grad, target) else array
    return grad if dtype is None or array.dtype == dtype else _cast(grad, dtype, source)


# Nodes that only multiply, move or pass on what they receive: PyTorch's zeros go through them.
_PASS_ZEROS = frozenset(
    f"{name}Backward{nr}"
    for names, nr in (
        ("Add Addcmul Sub Mul Div Pow Log Log2 Log10 Exp Lgamma Sinh Cosh Sqrt Var Dot", 0),
        ("Sum Mean", 0),
        ("Sum Mean", 1),
        ("T Transpose Permute View Unsqueeze Cat Stack Clone", 0),
        ("Pow Lerp", 1),
    )
    for name in names.split()
)


def _keeps_zeros(grad: Any, target: Any) -> bool:
    """Whether zeros that stay zeros meet a node that nobody watches and that passes them on."""
    return (
        isinstance(grad, Zeros)
        and isinstance(target, Node)
        and target._extra is None
        and target._class_name() in _PASS_ZEROS
    )


_PASS_CONJUGATES = frozenset(f"{name}Backward0" for name in ("Conj", "Permute", "T", "Transpose"))


def _keeps_conjugate(target: Any) -> bool:
    """Whether a gradient that is still to be conjugated meets a leaf, or a node that is a view."""
    if isinstance(target, AccumulateGrad | Tensor):
        return True
    return target._extra is None and target._class_name() in _PASS_CONJUGATES


def fit_array(grad: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """What `fit` makes of an array for an edge that takes `shape` and `dtype`."""
    if grad.dtype is dtype and grad.ndim == 2 and grad.shape[1:] == shape:
        return column_sums(grad)
    array = as_array(grad)
    if array.shape != shape:
        array = sum_to(array, shape)
    if array.dtype == dtype:
        return array
    return cast(array.real if array.dtype.kind == "c" and dtype.kind != "c" else array, dtype)


def _expected(target: Any, nr: int, source: Node) -> tuple[tuple[int, ...], Any]:
    if isinstance(target, Tensor):
        return _expected_by(target, source)
    found: tuple[tuple[int, ...], Any] = target._output_metadata(nr)
    return found


def expected_at(node: Node, position: int) -> tuple[tuple[int, ...], Any] | None:
    """Shape and dtype of what an edge of a node takes; None for an edge that leads nowhere."""
    following = node._edges[position]
    if following is None:
        return None
    return _expected(following, node._edge_nrs[position], node)


def _expected_by(leaf: Any, source: Node) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of a leaf as the sender saw it; a dtype of None is any."""
    if leaf._autograd_meta is None:
        array = outline_of(leaf)
        return array.shape, array.dtype
    shape, dtype = former_metadata(leaf, source._sequence)
    if leaf._autograd_meta.grad_dtype is not UNSET:
        dtype = leaf._accumulator()._dtype
    return shape, dtype


def _cast(grad: Any, dtype: Any, source: Node) -> Any:
    """A gradient in another dtype; of a complex one for a real input the real part."""
    array = array_of(grad)
    if array.dtype.kind == "c" and dtype.kind != "c":
        if not source._takes_real_part:
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                "grad_is_complex) to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)"
            )
        # A copy, since others may have the complex gradient; with the strides of PyTorch's view.
        grad = grad.real if isinstance(grad, Tensor) else array.copy("K").real
        if grad.dtype == dtype:
            return grad
    return grad.to(dtypes.FROM_NUMPY[dtype]) if isinstance(grad, Tensor) else cast(grad, dtype)


def _takes_gradients(leaf: Tensor) -> bool:
    return bool(leaf._requires_grad if leaf._view is None else leaf._view.requires_grad)


def expands_to(shape: Sequence[int], wide: Sequence[int]) -> bool:
    if len(shape) > len(wide):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(wide), strict=False))


def sum_to(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sum away what broadcasting has added, so that the result has `shape`; half in float32."""
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + dim
        for dim, length in enumerate(shape)
        if length == 1 and array.shape[lead + dim] != 1
    )
    total = as_array(sum_array(array, axes, True, array.dtype)).reshape(shape)
    return total if total.__class__ is not np.ndarray else laid_out(total, row_major(total.shape))
