"""Rules for operators that take whole batches themselves, with other arguments; and their tools.

A rule of ARGUMENTS turns the arguments of a call on examples into those of a call of the same
operator on whole batches; it serves the in-place twin, too.  A rule may decline (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from taper import dtypes
from taper.arrays.strides import wrap_dim
from taper.func.batching import batched, is_batched, spread
from taper.opdef import POINTWISE, TENSOR_KINDS, Op
from taper.ops.shape.split import stack
from taper.tensor import Tensor, array_of
from taper.userwarning import said_already

Arguments = tuple[Any, ...]
Transform = Callable[[Any, Op, Arguments], Sequence[Any] | None]

ARGUMENTS: dict[str, Transform] = {}


def whole_arguments(level: Any, op: Op, arguments: Arguments) -> Sequence[Any] | None:
    """Return the arguments of the same operator on whole batches; None if there is no rule."""
    transform = ARGUMENTS.get(op.name)
    if transform is None:
        return elementwise(level, op, arguments) if op.tangent == POINTWISE else None
    return transform(level, op, arguments)


def wrapped(level: Any, result: Any) -> Any:
    """Return what an operator returned for the batch, as examples."""
    if isinstance(result, Tensor):
        return batched(result, level)
    if isinstance(result, tuple | list):
        kind = type(result)
        return kind([wrapped(level, each) for each in result])
    return result


# --- one example after the other -------------------------------------------------------------


def examples(level: Any, value: Any) -> list[Any]:
    """Return a value for each example; containers may hold batched tensors."""
    if is_batched(value, level):
        return list(value._whole.unbind(0))
    if value.__class__ is tuple or value.__class__ is list:
        columns = [examples(level, each) for each in value]
        return [value.__class__(each) for each in zip(*columns, strict=True)] or [
            value
        ] * level.size
    return [value] * level.size


def one_by_one(level: Any, run: Callable[[Any], Any], arguments: Sequence[Any]) -> Any:
    """Run a call for each example and put the results together."""
    if not level.size:
        return _of_nothing(level, run, arguments)
    columns = [examples(level, each) for each in arguments]
    first, *others = zip(*columns, strict=True)
    results = [run(first)]
    with said_already():
        results += [run(each) for each in others]
    return joined(level, results)


def joined(level: Any, results: list[Any]) -> Any:
    """Return the results for all examples as one result of examples."""
    first = results[0]
    if isinstance(first, Tensor):
        return batched(stack(results), level)
    if isinstance(first, tuple | list):
        return type(first)([joined(level, list(each)) for each in zip(*results, strict=True)])
    return first


def _of_nothing(level: Any, run: Callable[[Any], Any], arguments: Sequence[Any]) -> Any:
    """Return the result of an empty batch: that of a made-up example, taken zero times."""

    def stand_in(value: Any) -> Any:
        if is_batched(value, level):
            return value._whole.new_zeros(value._array.shape)
        if value.__class__ is tuple or value.__class__ is list:
            return value.__class__([stand_in(each) for each in value])
        return value

    def none_of(result: Any) -> Any:
        if isinstance(result, Tensor):
            return batched(spread(result, 1)[:0], level)
        if isinstance(result, tuple | list):
            return type(result)([none_of(each) for each in result])
        return result

    return none_of(run([stand_in(each) for each in arguments]))


# --- tools of rules --------------------------------------------------------------------------


def whole_of(level: Any, value: Any) -> Any:
    """Return the tensor of all examples, even of a tensor that they share; else the value."""
    if is_batched(value, level):
        return value._whole
    if isinstance(value, Tensor):
        return spread(value, level.size)
    if value.__class__ is tuple or value.__class__ is list:
        return [whole_of(level, each) for each in value]
    return value


def padded(whole: Tensor, missing: int) -> Tensor:
    """Return a whole batch with ones between the batch dimension and the others."""
    for _ in range(missing):
        whole = whole.unsqueeze(1)
    return whole


def aligned(level: Any, tensors: Iterable[Any], ndim: int | None = None) -> list[Any]:
    """Return tensors that broadcast as their examples do."""
    given = list(tensors)
    if ndim is None:
        ndim = max(each._array.ndim for each in given if isinstance(each, Tensor))
    return [
        padded(each._whole, ndim - each._array.ndim) if is_batched(each, level) else each
        for each in given
    ]


def shifted(dim: Any, ndim: int) -> Any:
    """Return dimensions of an example as dimensions of the batch."""
    if isinstance(dim, tuple | list):
        return type(dim)([wrap_dim(each, ndim) + 1 for each in dim])
    return wrap_dim(dim, ndim) + 1


# --- element by element ----------------------------------------------------------------------


def elementwise(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    """Return tensors that broadcast; those of a backward kernel all get one shape."""
    if op.name.endswith("_backward"):
        return [whole_of(level, each) for each in arguments]
    given = aligned(level, arguments)
    if op.promote is None:
        return given
    kinds = [param.kind in TENSOR_KINDS for param in op.params]
    before = [each for each, kind in zip(arguments, kinds, strict=True) if kind]
    if not level.size and len(before) == 2:
        if all(isinstance(each, Tensor) for each in before) or op.label in _WITH_NUMBERS:
            refuse_empty_batch(before)
    if any(isinstance(each, Tensor) and not each._array.ndim for each in before):
        after = [each for each, kind in zip(given, kinds, strict=True) if kind]
        wanted = _common_dtype(before)
        if _common_dtype(after) is not wanted:
            # The batch of a 0-d tensor has a dimension, and then takes part in promotion.
            return [
                each.to(wanted)
                if is_batched(old, level) and kind and each.dtype is not dtypes.bool_
                else each
                for each, old, kind in zip(given, arguments, kinds, strict=True)
            ]
    return given


# Operators that PyTorch gives a number as a tensor.
_WITH_NUMBERS = frozenset(("add", "div", "mul", "sub"))


def refuse_empty_batch(operands: Sequence[Any]) -> None:
    """Raise if one of two operands is an example without dimensions of an empty batch.

    PyTorch looks at the first example there, to find the common dtype.
    """
    numbers = [isinstance(each, Tensor) and not each._array.ndim for each in operands]
    first, second = (
        number and hasattr(each, "_whole") for each, number in zip(operands, numbers, strict=True)
    )
    if first != second:
        raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")


def _common_dtype(operands: Iterable[Any]) -> Any:
    return dtypes.result_type([array_of(each) for each in operands if each is not None])


_ELEMENTWISE = """
abs sgn add atan2 sub rsub_tensor mul neg bitwise_and bitwise_or bitwise_xor bitwise_not
bitwise_left_shift bitwise_right_shift eq ne lt le gt ge logical_and logical_or logical_xor
logical_not isfinite isinf isnan isneginf isposinf isreal signbit gcd lcm angle polar complex _conj
_conj_physical deg2rad rad2deg where_self masked_fill fill fill_ zero add_scalar sub_scalar
mul_scalar div_scalar _to_copy _to_integers clone alias lerp_number log_sigmoid_forward
log_sigmoid_backward maximum minimum fmax fmin igamma igammac clamp_min_tensor clamp_max_tensor
"""


def _copied(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    """Handle `copy`, whose result has the shape of the first tensor."""
    target, source, *rest = arguments
    return [whole_of(level, target), *aligned(level, (source,), target._array.ndim), *rest]


def _as_it_is(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    """Make the same call on whole batches: only the last dimensions matter."""
    return [each._whole if is_batched(each, level) else each for each in arguments]


def _with_matrices(level: Any, op: Op, arguments: Arguments) -> Sequence[Any] | None:
    """Make the same call on whole batches; PyTorch takes that of vectors for a matrix."""
    if not arguments[0]._array.ndim:
        raise RuntimeError(f"{op.label}: The input tensor must have at least 2 dimensions.")
    return _as_it_is(level, op, arguments)


# --- along dimensions ------------------------------------------------------------------------

# Operators for which an absent dimension means all of them.
_ALL_DIMS = frozenset(
    "sum_dim mean_dim nansum_dim amax_dim amin_dim var_dim std_dim var_mean_dim std_mean_dim "
    "norm_dim linalg_vector_norm all_dim any_dim count_nonzero_dim logsumexp_dim".split()
)

_NO_DIM = frozenset({"all_dim", "any_dim"})  # an empty tuple reduces nothing


def along(*names: str, extra: int = 0, sizes: str = "") -> Transform:
    """Return a rule that moves the dimensions `names` behind that of the batch.

    They count in a tensor with `extra` dimensions more than the first, or in one of shape `sizes`.
    """

    def transform(level: Any, op: Op, arguments: Arguments) -> Sequence[Any] | None:
        values = {p.name: value for p, value in zip(op.params, arguments, strict=True)}
        ndim = arguments[0]._array.ndim + extra
        if sizes:
            ndim = len(values[sizes])
        if not ndim:
            return None
        given = []
        for param in op.params:
            value = values[param.name]
            if param.name in names:
                if value is None or (isinstance(value, tuple | list) and not value):
                    if op.name not in _ALL_DIMS or (value is not None and op.name in _NO_DIM):
                        return None
                    value = tuple(range(ndim))
                value = shifted(value, ndim)
            elif param.name == sizes:
                value = (level.size, *value)
            elif param.kind in TENSOR_KINDS:
                value = whole_of(level, value)
            given.append(value)
        return given

    return transform


_ALONG = {
    "dim": """
        all_dim any_dim amax_dim amin_dim aminmax argmax_dim argmin_dim count_nonzero_dim cummax
        cummin cumprod cumsum logcumsumexp reverse_cumsum kthvalue log_softmax_dim softmax_dim
        log_softmax_single softmax_single
        _log_softmax_backward_data _softmax_backward_data logsumexp_dim max_dim min_dim mean_dim
        sum_dim nansum_dim prod_dim median_dim nanmedian_dim mode norm_dim linalg_vector_norm
        sort_stable sort_values std_dim var_dim std_mean_dim var_mean_dim topk glu glu_backward
        select slice unbind split split_with_sizes unsafe_split unsafe_split_with_sizes squeeze_dim
        squeeze_dims select_scatter slice_scatter gather scatter scatter_add scatter_value
        scatter_reduce scatter_combined linalg_cross take_along""",
    "dims": "flip roll rot90",
    "dimension": "unfold",
}
_SIZED = "select_backward slice_backward unfold_backward gather_backward"


def _of_one_index(level: Any, op: Op, arguments: Arguments) -> Sequence[Any] | None:
    """Handle `index_select` and its kin: all examples share an index along one dimension."""
    position = [param.name for param in op.params].index("index")
    if is_batched(arguments[position], level) or not arguments[0]._array.ndim:
        return None
    given = list(along("dim")(level, op, arguments) or ())
    given[position] = arguments[position]
    return given


# --- shapes ----------------------------------------------------------------------------------


def _with_size(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    """Handle `view` and its kin; the example decides a length of -1, as a batch may be empty."""
    source, size = arguments
    size = tuple(size)
    if -1 in size:
        rest = 1
        for length in size:
            rest *= length if length != -1 else 1
        if not rest or source._array.size % rest:
            source.new_empty(source._array.shape).view(size)  # raises
        size = tuple(source._array.size // rest if each == -1 else each for each in size)
    return source._whole, (level.size, *size)


def _expanded(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    source, size = arguments
    return padded(source._whole, len(size) - source._array.ndim), (level.size, *size)


def _permuted(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    source, dims = arguments
    return source._whole, (0, *shifted(tuple(dims), source._array.ndim))


def _strided(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    """Handle strides within an example; its offset counts from its own first element."""
    source, size, stride, offset = arguments
    whole = source._whole
    start = whole.storage_offset() + (offset or 0)
    return whole, (level.size, *size), (whole.stride(0), *stride), start


def _refused(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    raise RuntimeError(
        f"Error: aten::{op.name} requires special handling, and does not yet have a batching rule. "
        "Feel free to file a github issue!"
    )


def _repeated(level: Any, op: Op, arguments: Arguments) -> Sequence[Any]:
    source, repeats = arguments
    return padded(source._whole, len(repeats) - source._array.ndim), (1, *repeats)


def _together(extra: int) -> Transform:
    def transform(level: Any, op: Op, arguments: Arguments) -> Sequence[Any] | None:
        tensors, dim = arguments
        ndims = {each._array.ndim for each in tensors}
        if len(ndims) > 1 or (not extra and 0 in ndims):
            return None
        ndim = ndims.pop()
        return whole_of(level, list(tensors)), shifted(dim, ndim + extra)

    return transform


def _register() -> None:
    for name in _ELEMENTWISE.split():
        ARGUMENTS[name] = elementwise
    for parameter, names in _ALONG.items():
        for name in names.split():
            ARGUMENTS[name] = along(parameter)
    for name in _SIZED.split():
        ARGUMENTS[name] = along("dim", sizes="input_sizes")
    for name in ("index_select", "index_add", "index_copy", "index_fill"):
        ARGUMENTS[name] = _of_one_index
    for name in ("diagonal", "diagonal_copy", "diagonal_scatter"):
        ARGUMENTS[name] = along("dim1", "dim2")
    for name in ("view", "_reshape_alias", "_unsafe_view"):
        ARGUMENTS[name] = _with_size
    for name in ("tril", "triu"):
        ARGUMENTS[name] = _with_matrices
    for name in ("constant_pad_nd", "view_as_real", "view_as_complex"):
        ARGUMENTS[name] = _as_it_is
    ARGUMENTS.update(
        copy=_copied,
        diagonal_backward=along("dim1", "dim2", sizes="input_sizes"),
        diag_embed=along("dim1", "dim2", extra=1),
        transpose=along("dim0", "dim1"),
        unsqueeze=along("dim", extra=1),
        expand=_expanded,
        permute=_permuted,
        as_strided=_strided,
        as_strided_scatter=_refused,
        strided_copy=_strided,
        repeat=_repeated,
        cat=_together(0),
        stack=_together(1),
    )
    # The operators behind in-place views, which tangents go through.
    for name in ("transpose", "unsqueeze", "squeeze_dim", "squeeze_dims", "as_strided"):
        ARGUMENTS[f"{name}_"] = ARGUMENTS[name]


_register()
