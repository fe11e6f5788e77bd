"""Operators and helpers that are computed otherwise on the device than by their NumPy kernels.

What stands here says in `world.meanings` what it stands for: a function of the library, or the name
of an operator or formula.  It may answer NotImplemented, then the NumPy kernel runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays import elements, memory, reduction, special_functions
from taper.gpu import state
from taper.gpu.array import CudaArray, address, empty, new_array, root_block
from taper.gpu.chains import GELU, GELU_SLOPE, LOGISTIC, RELU_SLOPE
from taper.gpu.texts import BFLOAT16, TYPES
from taper.gpu.world import helpers, meanings, on_device

FLOATS = frozenset([np.dtype("f4"), np.dtype("f8"), np.dtype("f2"), BFLOAT16])

meanings.update(
    {
        elements.masked: lambda values, mask: np.where(mask, values, values.dtype.type(0)),
        elements.select: np.where,
        elements.in_blocks: lambda function, *arrays: function(*arrays),
        reduction.total_of: lambda array: np.add.reduce(array, axis=None),
        reduction.row_sums: lambda array, axis: np.add.reduce(array, axis=axis, keepdims=True),
        reduction.column_sums: lambda array: np.add.reduce(array, axis=0),
    }
)


def _sum_of(array: Any, axes: Any, keepdims: bool, dtype: Any) -> Any:
    options: Any = {"axis": axes, "keepdims": keepdims, "dtype": dtype}
    return np.add.reduce(array, **options)


meanings[reduction.add_blocks] = _sum_of


def _all_bytes(array: Any) -> Any:
    """The whole storage of an array, as bytes."""
    block = root_block(array)
    return new_array(CudaArray, (block.nbytes,), np.dtype(np.uint8), block)


meanings[memory.all_bytes] = _all_bytes
meanings[memory.adopt] = lambda array: array


def own(name: str) -> Callable[[Any], Any]:
    """Let a function compute an operator or formula, where it can."""

    def put(function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            kernels = state.runtime.kernels
            return NotImplemented if kernels is None else function(kernels, *args, **options)

        meanings[name] = call
        return function

    return put


def _are_plain(*arrays: Any) -> bool:
    """Whether all are floating point arrays of one dtype on the device that lie row by row."""
    dtype = arrays[0].dtype
    for each in arrays:
        if each is not None and (
            each.__class__ is not CudaArray
            or each.dtype is not dtype
            or not each.flags.c_contiguous
        ):
            return False
    return dtype in FLOATS


def _threads(length: int) -> int:
    return 32 if length <= 32 else 128 if length <= 1024 else 256 if length <= 4096 else 512


# --- products ------------------------------------------------------------------------------------


def _are_factors(left: Any, right: Any) -> bool:
    return (
        state.runtime.kernels is not None
        and left.__class__ is CudaArray
        and right.__class__ is CudaArray
        and left.dtype in FLOATS
        and right.dtype is left.dtype
    )


def _product(plain: Any) -> Any:
    """`np.matmul`, which takes half types as they are, where the processor computes wider."""

    def product(left: Any, right: Any, *kernel: str) -> Any:
        if _are_factors(left, right):
            return np.matmul(left, right)
        return plain(left, right, *kernel)

    return product


helpers["taper.ops.linalg.matmul", "product"] = _product
helpers["taper.ops.linalg.matmul", "batched_product"] = _product


@own("addmm")
def addmm(kernels: Any, self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A product with something added to its rows."""
    if not _are_factors(mat1, mat2) or not beta == 1 == alpha or not mat1.size or not mat2.size:
        return NotImplemented
    if not mat1.ndim == 2 == mat2.ndim or mat1.shape[1] != len(mat2):
        return NotImplemented
    if self.__class__ is not CudaArray or self.dtype is not mat1.dtype:
        return NotImplemented
    if self.shape == mat2.shape[1:] and self.flags.c_contiguous:
        out, is_done = state.runtime.biased(mat1, mat2, self)
        if is_done:
            return out
    elif self.shape == (len(mat1), mat2.shape[1]):
        out = np.matmul(mat1, mat2)
    else:
        return NotImplemented
    found = kernels.elementwise(np.add, (out, self), out)
    return np.add(out, self, out) if found is NotImplemented else out


def _multiplied(one: Any, other: Any) -> Any:
    out = empty((one.shape[0], other.shape[1]), one.dtype)
    state.runtime.product(one, other, out)
    return out


def _is_by_columns(item: int, shape: Any, strides: Any) -> bool:
    return strides[0] == item and strides[1] == item * shape[0]


@own("addmm_mat1")
def addmm_left(
    kernels: Any, grad: Any, mat2: Any, mat1_shape: Any, mat1_strides: Any, alpha: Any
) -> Any:
    """The gradient of the left factor, in the layout of that."""
    if alpha != 1 or not _are_factors(grad, mat2) or not grad.size or not mat2.size:
        return NotImplemented
    if _is_by_columns(grad.itemsize, mat1_shape, mat1_strides):
        return _multiplied(mat2, grad.T).T
    return _multiplied(grad, mat2.T)


@own("addmm_mat2")
def addmm_right(
    kernels: Any, grad: Any, mat1: Any, mat2_shape: Any, mat2_strides: Any, alpha: Any
) -> Any:
    """The gradient of the right factor, in the layout of that."""
    if alpha != 1 or not _are_factors(grad, mat1) or not grad.size or not mat1.size:
        return NotImplemented
    if _is_by_columns(grad.itemsize, mat2_shape, mat2_strides):
        return _multiplied(grad.T, mat1).T
    return _multiplied(mat1.T, grad)


# --- views ----------------------------------------------------------------------------------------


def _reshaped(kernels: Any, array: Any, shape: Any) -> Any:
    """Another shape of an array that lies row by row, with no dimension of length 1 to think of."""
    if array.__class__ is not CudaArray or not array.flags.c_contiguous or 1 in array.shape:
        return NotImplemented
    if not shape or 1 in shape or math.prod(shape) != array.size or min(shape) < 1:
        return NotImplemented
    return np.ndarray.reshape(array, shape)


for _name in ("view", "view_self", "_unsafe_view", "unsafe_view_self"):
    own(_name)(_reshaped)


def _rejoined(kernels: Any, grad: Any, self_shape: Any, sizes: Any, dim: int) -> Any:
    """The parts of an array's gradient as one, without a copy, if they lie side by side."""
    first = grad[0]
    if any([each.__class__ is not CudaArray for each in grad]) or not first.size:
        return NotImplemented
    dim %= first.ndim
    block, strides, at = root_block(first), first.strides, address(first)
    if block.address != at or block.nbytes != math.prod(self_shape) * first.itemsize:
        return NotImplemented
    for each in grad:
        if each.strides != strides or each.dtype is not first.dtype or address(each) != at:
            return NotImplemented
        at += each.shape[dim] * strides[dim]
    whole = new_array(CudaArray, tuple(self_shape), first.dtype, block)
    return whole if whole.strides == strides else NotImplemented


for _name in ("split_self", "split_with_sizes_self"):
    own(_name)(_rejoined)


# --- rows ----------------------------------------------------------------------------------------


def _softmax(log: int, name: str) -> Callable[..., Any]:
    def run(kernels: Any, array: Any, *rest: Any, dim: int | None = None) -> Any:
        *others, dim = (*rest, dim) if dim is not None else rest
        if not _are_plain(array, *others) or not array.size or not array.ndim:
            return NotImplemented
        shape, dim = array.shape, dim % array.ndim
        inner = math.prod(shape[dim + 1 :])
        out = empty(shape, array.dtype)
        function = kernels.of("rows", name, array.dtype, log)
        args = (out, array, *others, shape[dim], inner)
        kernels.launch(function, array.size // shape[dim], _threads(shape[dim]), args)
        return out

    return run


own("softmax_dim")(_softmax(0, "softmax"))
own("log_softmax_dim")(_softmax(1, "softmax"))
own("_softmax_backward_data")(_softmax(0, "softmax_backward"))
own("_log_softmax_backward_data")(_softmax(1, "softmax_backward"))


def _to_single(log: int, name: str) -> Callable[..., Any]:
    """The same of half types with results in single precision, and back."""

    def run(kernels: Any, array: Any, *rest: Any) -> Any:
        *others, dim = rest[:2] if name == "softmax_backward" else rest[:1]
        half = rest[2] if others else array.dtype
        if half.itemsize != 2 or half not in FLOATS or not _are_plain(array, *others):
            return NotImplemented
        shape = array.shape
        if not array.size or not shape or (others and array.dtype != np.float32):
            return NotImplemented
        stored, computed = TYPES[half]
        function = kernels.named("rows", name, T=stored, C=computed, LOG=log, R="float")
        out = empty(shape, half if others else np.dtype(np.float32))
        dim %= len(shape)
        args = (out, array, *others, shape[dim], math.prod(shape[dim + 1 :]))
        kernels.launch(function, array.size // shape[dim], _threads(shape[dim]), args)
        return out

    return run


own("softmax_single")(_to_single(0, "softmax"))
own("log_softmax_single")(_to_single(1, "softmax"))
own("softmax_single_self")(_to_single(0, "softmax_backward"))
own("log_softmax_single_self")(_to_single(1, "softmax_backward"))


@own("native_layer_norm")
def layer_norm(
    kernels: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> Any:
    """Normalise rows."""
    lead = input.ndim - len(normalized_shape)
    fits = input.shape[max(lead, 0) :] == tuple(normalized_shape) and normalized_shape
    for each in (weight, bias):
        fits = fits and (each is None or each.shape == tuple(normalized_shape))
    if not fits or not _are_plain(input, weight, bias) or not input.size or input.itemsize == 2:
        return NotImplemented
    length = math.prod(normalized_shape)
    rows = input.size // length
    shape = input.shape[:lead] + (1,) * (input.ndim - lead)
    out, mean, rstd = (
        empty(input.shape, input.dtype),
        empty(shape, input.dtype),
        empty(shape, input.dtype),
    )
    function = kernels.of("rows", "layer_norm", input.dtype)
    given = [input if each is None else each for each in (weight, bias)]
    has = [int(each is not None) for each in (weight, bias)]
    args = (out, mean, rstd, input, *given, length, np.float64(eps), *has)
    kernels.launch(function, rows, _threads(length), args)
    return out, mean, rstd


@own("native_layer_norm_all")
def layer_norm_gradients(
    kernels: Any,
    grad: Any,
    input: Any,
    normalized_shape: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    rstd: Any,
    needs: Any,
) -> Any:
    """The gradients of input, weight and bias."""
    if not _are_plain(grad, input, weight, mean, rstd) or not input.size or input.itemsize == 2:
        return NotImplemented
    length = math.prod(normalized_shape)
    rows = input.size // length
    found = for_weight = for_bias = None
    if needs[0]:
        found = empty(input.shape, input.dtype)
        function = kernels.of("rows", "layer_norm_backward", input.dtype)
        given = input if weight is None else weight
        args = (found, grad, input, mean, rstd, given, length, int(weight is not None))
        kernels.launch(function, rows, _threads(length), args)
    if needs[1] or needs[2]:
        for_weight, for_bias = _layer_norm_sums(
            kernels, (grad, input, mean, rstd), rows, length, tuple(normalized_shape)
        )
    return found, for_weight if needs[1] else None, for_bias if needs[2] else None


def _layer_norm_sums(
    kernels: Any, arrays: tuple[Any, ...], rows: int, length: int, shape: tuple[int, ...]
) -> tuple[Any, Any]:
    """The gradients of weight and bias: sums over rows, in pieces where there are many."""
    dtype, across = arrays[0].dtype, (length + 31) // 32
    if rows < 1024 or across > 132:
        found = empty(shape, dtype), empty(shape, dtype)
        function = kernels.of("rows", "layer_norm_parameters", arrays[0].dtype)
        kernels.launch(function, across, 1024, (*found, *arrays, rows, length))
        return found
    piece = max(128, rows // 16)
    count = -(-rows // piece)
    parts = empty((count, *shape), dtype), empty((count, *shape), dtype)
    function = kernels.of("rows", "layer_norm_pieces", arrays[0].dtype)
    kernels.launch(function, across * count, 1024, (*parts, *arrays, rows, length, piece))
    one, other = [np.add.reduce(each, axis=0) for each in parts]
    return one, other


# --- losses --------------------------------------------------------------------------------------


def _takes_nll(array: Any, target: Any, weight: Any, reduction: int) -> bool:
    return (
        reduction != 0
        and array.ndim == 2
        and target.ndim == 1
        and target.dtype == np.int64
        and target.__class__ is CudaArray
        and target.flags.c_contiguous
        and len(target) == len(array)
        and array.size > 0
        and array.itemsize != 2
        and (weight is None or weight.shape == array.shape[1:])
        and _are_plain(array, weight)
    )


@own("nll_loss_forward")
def nll_loss(
    kernels: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> Any:
    """The mean or sum of what log probabilities give for their targets."""
    if not _takes_nll(self, target, weight, reduction):
        return NotImplemented
    out, total = empty((), self.dtype), empty((), self.dtype)
    function = kernels.of("rows", "nll", self.dtype)
    given = self if weight is None else weight
    args = (out, total, self, target, given, *self.shape, ignore_index, int(reduction == 1))
    kernels.launch(function, 1, 1024, (*args, int(weight is not None)))
    return out, total


@own("nll_loss_backward")
def nll_gradient(
    kernels: Any,
    grad: Any,
    self: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total: Any,
) -> Any:
    """The gradient of the log probabilities."""
    if not _takes_nll(self, target, weight, reduction) or not _are_plain(self, grad, total):
        return NotImplemented
    out = empty(self.shape, self.dtype)
    function = kernels.of("rows", "nll_backward", self.dtype)
    given = self if weight is None else weight
    args = (out, grad, target, given, total, *self.shape, ignore_index, int(reduction == 1))
    kernels.launch(function, _blocks(out.size), 256, (*args, int(weight is not None)))
    return out


def _blocks(count: int) -> int:
    return max(1, min((count + 255) // 256, 132 * 16))


@own("mean_all_self")
def mean_gradient(kernels: Any, grad: Any, self_shape: Any, self_numel: int) -> Any:
    """The gradient of a mean, without a look at it."""
    if not self_numel or not _are_plain(grad):
        return NotImplemented
    out = empty(tuple(self_shape), grad.dtype)
    return kernels.blend("a / b", (grad, np.asarray(self_numel, grad.dtype)), out)


def _weighted(plain: Any) -> Any:
    """The slope of a loss times its gradient, without a look at that."""

    def weighted(slope: Any, grad: Any, factor: float, reduction: int) -> Any:
        kernels = state.runtime.kernels
        if kernels is None or slope.__class__ is not CudaArray or grad.__class__ is not CudaArray:
            return plain(slope, grad, factor, reduction)
        if grad.ndim or slope.dtype not in FLOATS or grad.dtype is not slope.dtype:
            return plain(slope, grad, factor, reduction)
        factor = factor / max(slope.size, 1) if reduction == 1 else factor
        return kernels.blend("a * (b * c)", (slope, grad, np.asarray(factor, slope.dtype)), slope)

    return weighted


helpers["taper.ops.loss.elementwise", "weighted"] = _weighted


def _norm(plain: Any) -> Any:
    """The length of an array as a vector, without a look at it."""

    def norm(array: Any, order: float, dim: Any, keepdim: bool) -> Any:
        if array.__class__ is not CudaArray or order != 2 or dim or keepdim:
            return plain(array, order, dim, keepdim)
        if array.dtype not in FLOATS:
            return plain(array, order, dim, keepdim)
        wide = array.astype(np.float32) if array.itemsize == 2 else array
        squares: Any = np.add.reduce(wide * wide, axis=None)
        return np.sqrt(squares).astype(array.dtype, copy=False)

    return norm


helpers["taper.ops.reduction.vector_norm", "_norm"] = _norm


# --- tables --------------------------------------------------------------------------------------


@own("embedding")
def embedding(
    kernels: Any,
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of a table."""
    if not _are_plain(weight) or weight.ndim != 2 or indices.dtype != np.int64:
        return NotImplemented
    if not indices.flags.c_contiguous or not indices.size or not weight.size:
        return NotImplemented
    out = empty((*indices.shape, weight.shape[1]), weight.dtype)
    function = kernels.of("rows", "pick_rows", weight.dtype)
    args = (out, weight, indices, indices.size, weight.shape[1], weight.shape[0])
    kernels.launch(function, _blocks(out.size), 256, args)
    return out


@own("embedding_dense_backward")
def embedding_gradient(
    kernels: Any,
    grad: Any,
    indices: Any,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:
    """The rows of a gradient, summed where they were read; each row of the table looks for its own.

    The order of the sums is always the same.
    """
    if scale_grad_by_freq or not _are_plain(grad) or indices.dtype != np.int64 or not grad.size:
        return NotImplemented
    if not indices.flags.c_contiguous or indices.size * num_weights > _MOST_LOOKS:
        return NotImplemented
    width = grad.shape[-1]
    out = empty((num_weights, width), grad.dtype)
    function = kernels.of("rows", "add_rows", grad.dtype)
    args = (out, grad, indices, indices.size, width, padding_idx)
    kernels.launch(function, num_weights, 256, args)
    return out


_MOST_LOOKS = 1 << 28


# --- copies ---------------------------------------------------------------------------------------


@own("_to_copy")
def to_copy(kernels: Any, self: Any, dtype: Any, memory_format: Any = None) -> Any:
    """A copy in another dtype."""
    if memory_format is None and self.__class__ is CudaArray and self.flags.c_contiguous:
        found = kernels.cast(self, dtype.numpy)
        if found is not None:
            return found
    return NotImplemented


# --- curves --------------------------------------------------------------------------------------


def _or(text: str, function: Any) -> Callable[..., Any]:
    """A function by an expression of its elements, or else as NumPy computes it."""

    def run(array: Any) -> Any:
        kernels = state.runtime.kernels
        if kernels is not None and array.__class__ is CudaArray:
            found = kernels.curve(text, (array,))
            if found is not NotImplemented:
                return found
        return on_device(function)(array)

    return run


meanings[elements.logistic] = _or(LOGISTIC, elements.logistic)
meanings[special_functions.erf] = _or("erf(a)", special_functions.erf)
meanings[special_functions.erfc] = _or("erfc(a)", special_functions.erfc)
meanings[special_functions.erfinv] = _or("erfinv(a)", special_functions.erfinv)


@own("gelu")
def gelu(kernels: Any, self: Any, *, approximate: str = "none") -> Any:
    """x times the normal distribution function of x."""
    return kernels.curve(GELU, (self,)) if approximate == "none" else NotImplemented


@own("gelu_backward")
def gelu_gradient(kernels: Any, grad: Any, self: Any, approximate: str) -> Any:
    """The gradient of gelu."""
    if approximate != "none" or grad.__class__ is not CudaArray:
        return NotImplemented
    return kernels.curve(GELU_SLOPE, (self, grad))


@own("threshold_backward")
def threshold_gradient(kernels: Any, grad: Any, self: Any, threshold: Any) -> Any:
    """The gradient of relu."""
    if threshold != 0 or grad.__class__ is not CudaArray or self.__class__ is not CudaArray:
        return NotImplemented
    return kernels.curve(RELU_SLOPE, (self, grad))


def _slope(text: str) -> Callable[..., Any]:
    """A gradient by an expression of the result and the gradient that arrives."""

    def run(kernels: Any, grad_output: Any, output: Any) -> Any:
        if grad_output.__class__ is not CudaArray or output.__class__ is not CudaArray:
            return NotImplemented
        return kernels.curve(text, (output, grad_output))

    return run


own("tanh_backward")(_slope("((C)1 - a * a) * b"))
own("sigmoid_backward")(_slope("((C)1 - a) * a * b"))
