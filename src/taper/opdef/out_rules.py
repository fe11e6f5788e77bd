"""What PyTorch requires of a tensor that an operator writes: its memory, and its dtype.

Owns: the rules by operator, as tables; most operators follow the usual rule and are in none.  Names
are those of the operator table; composite functions use the label in their error texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.scalars import type_name
from taper.arrays.strides import is_dense, refuse_overlap
from taper.dtypes import C_NAMES
from taper.opdef import Op
from taper.tensor import Tensor, array_of, element_strides

# --- memory ----------------------------------------------------------------------------------

# Usually the output may be an input, but not a part of its memory.  These operators read in another
# order than they write, so that no input may be their output.
_APART = frozenset(
    "cat gather index_add index_copy index_put index_reduce index_select kthvalue "
    "linalg_cross masked_select put scatter scatter_add scatter_combined scatter_reduce "
    "take".split()
)
# These copy the first tensor into the output before they do anything else.
_START_AS_SELF = frozenset(
    "addbmm addmm addmv baddbmm index_add index_copy index_reduce scatter scatter_add "
    "scatter_combined scatter_reduce".split()
)
# These finish reading before they write, or write what is not read again.
_ANYWHERE = frozenset(
    "all_dim amax_dim amin_dim any_dim argmax_dim argmin_dim bmm cummax cummin diagonal_copy dot "
    "histc linalg_vector_norm logsumexp_dim max_all mean_all mean_dim min_all mm mv mvlgamma "
    "nansum_dim prod_dim std_dim sum_dim tril triu var_dim vdot addmm addmv addbmm baddbmm "
    "ldexp masked_scatter".split()
)
# These outputs are resized, with a warning, before their memory is checked.
RESIZED_FIRST = frozenset(("cat", "cumprod", "cumsum", "gather"))
_INDICES = frozenset(("index", "indices"))
# With `out=` PyTorch has no derivative for these, and its fallback records them.
LEFT_TO_FALLBACK = frozenset(("_conj_physical",))
# Operators, by label, whose results are bool, whatever they compute with.
COMPARISONS = frozenset("eq ge gt le lt ne".split())
# Composite functions, by label, that end in an operator with the usual rule.
_COMPOSITES = frozenset("bernoulli div linalg_cross mul normal sort sub tensordot".split())


def refuse_shared_memory(target: Tensor, source: Tensor, apart: bool = False) -> None:
    """Raise if the source would change while it is read; the very same elements in order may.

    As in PyTorch, tensors with gaps are left alone: comparing them would take long.
    """
    to, of = target._array, array_of(source)
    if target is source:
        shared = apart  # PyTorch checks this even if there are no elements
    elif to.base is None and of.base is None and to is not of:
        return  # each owns its memory; asking NumPy would take 0.3 us
    elif not np.may_share_memory(to, of):
        return
    elif not all(is_dense(each.shape, element_strides(each)) for each in (to, of)):
        return
    else:
        shared = apart or to.ctypes.data != of.ctypes.data or to.nbytes != of.nbytes
        shared = shared or to.strides != of.strides
    if shared:
        raise shared_memory()


def shared_memory() -> RuntimeError:
    """Return the error for an input that would change while it is read."""
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation."
    )


def refuse_written_input(op: Op, target: Tensor, others: Sequence[Any], first: int = 1) -> None:
    """Raise if an input that begins at parameter `first` would change while it is read."""
    free = op.name in _ANYWHERE or (op.name.endswith("_copy") and op.name not in _APART)
    for param, value in zip(op.params[first:], others, strict=True):
        at_start = param.name == "value"  # a 0-d tensor
        if free or at_start or param.kind == "plain":
            continue
        apart = op.name in _APART or param.name in _INDICES
        if op.name == "gather" and param.name == "index":  # it is read in the order of the output
            apart = False
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Tensor):
                refuse_shared_memory(target, each, apart)


def refuse_other_types(op: Op, others: Sequence[Any]) -> None:
    """Raise for an argument that is no tensor, before an operator writes at once in place."""
    for position, (param, value) in enumerate(zip(op.params[1:], others, strict=True), 1):
        if param.kind == "tensor" and not isinstance(value, Tensor):
            raise TypeError(
                f"{op.label}_(): argument '{param.public_name}' (position {position}) must "
                f"be Tensor, not {type_name(value)}"
            )


def refuse_shared_output(
    op: Op | None, label: str | None, outs: Sequence[Tensor], inputs: Sequence[Any]
) -> None:
    """Raise if an input would change while it is read, for `out=`."""
    first = int(op is not None and op.name in _START_AS_SELF)
    for out in outs:
        if op is not None and op.name in _APART:
            refuse_overlap(out._array)
        if op is None and label in _COMPOSITES:
            for each in inputs:
                if isinstance(each, Tensor):
                    refuse_shared_memory(out, each, label in _APART)
        elif op is not None:
            if first:
                refuse_shared_memory(out, inputs[0])
            refuse_written_input(op, out, inputs[first:], first)


def refuse_outs(op: Op, out: Any) -> None:
    """Raise unless `out` is a tensor, or as many tensors as the operator has outputs."""
    count = len(op.outputs)
    if count == 1 or isinstance(out, Tensor) or not isinstance(out, (tuple, list)):
        if count > 1 or not isinstance(out, Tensor):
            wanted = "Tensor" if count == 1 else "tuple of Tensors"
            raise TypeError(
                f"{op.label}(): argument 'out' must be {wanted}, not {type(out).__name__}"
            )
        return
    for index, each in enumerate(out):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument {len(op.params)}, but got "
                f"{type_name(each)}"
            )
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")


# --- dtypes ----------------------------------------------------------------------------------

# Usually the result must be of a lower or the same kind as the output.  These operators convert
# nothing: their errors for an output of another dtype.  `{:C}` is the name of a C type, others are
# ATen's.
_EXACT = {
    "Expected out tensor to have dtype {result:C}, but got {out:C} instead": (
        "aminmax argmax_dim argmin_dim diag gather index_add index_copy index_reduce linalg_cross "
        "linalg_vector_norm log_softmax max_dim min_dim softmax sort sort_stable sort_values topk "
        "tril triu"
    ),
    "Found dtype {out} but expected {result}": (
        "_conj_physical abs bitwise_not ceil clamp_numbers floor frac hardshrink lerp_tensor neg "
        "round_decimals round_whole sgn sign softplus softshrink threshold trunc"
    ),
    "expected scalar_type {result} but found {out}": "cummax cummin logcumsumexp",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "Expected object of scalar type {result} but got scalar type {out} for argument 'out'": (
        "complex polar"
    ),
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} "
    "for out's dtype.": "amax_dim amin_dim",
    "take(): self and out expected to have the same dtype, but got self.dtype = {result} and "
    "out.dtype = {out}": "take",
    "Expected out type to be {result} but got {out}": "where_self",
    "nan_to_num: dtype of out: {out} should be same as input: {result}": "nan_to_num",
    "signbit does not support non-boolean outputs.": "signbit",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{result:C} and hist {out:C}": "histc",
    "expected scalar type '{result}' but got '{out}' for {output} output": "mode",
    "output values must be of same type as input": "kthvalue.values",
    "output indices must be of scalar type {result}": "kthvalue.indices",
}
# The same, where only a result of a higher kind is refused.
_CASTABLE = {
    "torch.cat(): input types can't be cast to the desired output type {out}": "cat stack",
    "ldexp can't be cast to the desired output type {out}": "ldexp ldexp_",
    "logsumexp(): Expected floating point type for result tensor, but got: {out}": "logsumexp_dim",
    "mvlgamma: result type {result} can't be cast to the desired output type {result}": "mvlgamma",
    "mvlgamma: result type {out} can't be cast to the desired output type {result}": "mvlgamma_",
    "{name}: Expected result to be safely castable from {result} dtype, but got result with dtype "
    "{out}": "cholesky cholesky_inverse cholesky_solve",
    "torch.{name}: Expected {output} to be safely castable from {result} dtype, but got {output} "
    "with dtype {out}": "geqrf",
}
# These accumulate in the dtype of the tensor, and have no kernel for bool.
_IN_OWN_DTYPE = frozenset(("cumprod_", "cumsum_"))
_EXACT_TEXT = {name: text for text, names in _EXACT.items() for name in names.split()}
_OWN_CASTS = {name: text for text, names in _CASTABLE.items() for name in names.split()}


class _Name:
    """A dtype in an error text: `{it}` is ATen's name, `{it:C}` C's."""

    def __init__(self, array: np.ndarray) -> None:
        self.dtype = dtypes.FROM_NUMPY[array.dtype]

    def __format__(self, spec: str) -> str:
        return C_NAMES[self.dtype] if spec else dtypes.scalar_type_name(self.dtype)


def refuse_dtype(name: str, out: np.ndarray, result: np.ndarray, output: str = "result") -> None:
    """Raise if a result may not be written into an `out=` tensor of that dtype."""
    if out.dtype is result.dtype:
        return
    text = _EXACT_TEXT.get(name) or _EXACT_TEXT.get(f"{name}.{output}")
    if text is None:
        refuse_cast_of(name, out, result, output)
    else:
        text = text.format(name=name, output=output, out=_Name(out), result=_Name(result))
        raise RuntimeError(text)


def own_cast(name: str, target: np.ndarray) -> str | None:
    """Return the text with which an operator itself refuses to write into a tensor, if it does."""
    if name in ("ldexp", "ldexp_") and target.dtype.kind not in "bui":
        return None
    return _OWN_CASTS.get(name)


def refuse_cast_of(
    name: str, target: np.ndarray, result: np.ndarray, output: str = "result"
) -> None:
    """Raise if a result is of a higher kind than its destination."""
    source, wanted = (dtypes.FROM_NUMPY[each.dtype] for each in (result, target))
    if dtypes.can_cast(source, wanted):
        return
    if name in _IN_OWN_DTYPE and wanted is dtypes.bool_:
        if target.ndim and target.size:
            raise dtypes.no_kernel(f"{name}out_cpu", wanted)
        return
    text = (
        own_cast(name, target)
        or "result type {result} can't be cast to the desired output type {out}"
    )
    text = text.format(name=name, output=output, out=_Name(target), result=_Name(result))
    raise (TypeError if "torch.cat()" in text else RuntimeError)(text)
