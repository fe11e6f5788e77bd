"""PyTorch's names of operators: `taper.ops.aten.mm.default`, an object for each overload.

Owns: which overload of PyTorch's an entry of the table is, by rule where there is one. Code that
watches operator calls (selective checkpointing, logs) tells them apart by these objects. There is
one object for each name, so objects are compared by identity.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from taper.autograd.interception import Call
from taper.opdef import Op, Param, composites, inplace_function, registry
from taper.ops.on_demand import load_all
from taper.ops.schemas import schema_of
from taper.tensor import Tensor

# Table name -> name.overload, for entries whose name or overload follows from no rule.
_NAMED = """
    add_scalar:add.Scalar div_scalar:div.Scalar mul_scalar:mul.Scalar sub_scalar:sub.Scalar
    amax_dim:amax.default amin_dim:amin.default nansum_dim:nansum.default
    argmax_dim:argmax.default argmin_dim:argmin.default
    bernoulli_all:bernoulli.p bernoulli_each:bernoulli.default binomial_each:binomial.default
    clamp_numbers:clamp.default clamp_tensors:clamp.Tensor
    clamp_max_number:clamp_max.default clamp_min_number:clamp_min.default
    _conj_physical:conj_physical.default derived_digamma:polygamma.default
    div_rounded:div.Tensor_mode div_true:div.Tensor div_unrounded:div.Tensor_mode
    div_rounded_in_steps:div.Tensor_mode
    fill:fill.Scalar fill_:fill_.Scalar fill_tensor:fill.Tensor fill_tensor_:fill_.Tensor
    fill_bernoulli:bernoulli_.Tensor fill_BernoulliBackward2:bernoulli_.float
    fill_CauchyBackward0:cauchy_.default fill_ExponentialBackward0:exponential_.default
    fill_GeometricBackward0:geometric_.default fill_LogNormalBackward0:log_normal_.default
    fill_NormalBackward0:normal_.default fill_UniformBackward0:uniform_.default
    fill_RandomBackward0:random_.from fill_RandomBackward1:random_.to
    fill_RandomBackward2:random_.default
    floor_divide_number:floor_divide.default floor_divide_of_number:floor_divide.default
    floor_divide_tensor:floor_divide.default
    index:index.Tensor index_fill:index_fill.int_Scalar index_fill_tensor:index_fill.int_Tensor
    ldexp:ldexp.Tensor masked_fill:masked_fill.Scalar masked_fill_tensor:masked_fill.Tensor
    log_softmax_dim:_log_softmax.default softmax_dim:_softmax.default
    log_softmax_single:_log_softmax.default softmax_single:_softmax.default
    logsumexp_dim:logsumexp.default search_sorted:searchsorted.Tensor
    _to_integers:_to_copy.default
    multinomial_rows:multinomial.default poisson_each:poisson.default
    norm_dim:norm.ScalarOpt_dim prod_dim:prod.dim_int sum_dim:sum.dim_IntList
    normal_both:normal.Tensor_Tensor normal_mean:normal.Tensor_float
    normal_std:normal.float_Tensor
    pow_base:pow.Scalar pow_scalar:pow.Tensor_Scalar pow_tensor:pow.Tensor_Tensor
    remainder_number:remainder.Scalar_Tensor
    round_decimals:round.decimals round_whole:round.default
    _rrelu_in_place:rrelu_with_noise_.default
    scatter:scatter.src scatter_combined:scatter.reduce scatter_reduce:scatter_reduce.two
    scatter_value:scatter.value
    select:select.int slice:slice.Tensor sort_stable:sort.stable sort_values:sort.default
    split:split.Tensor unsafe_split:unsafe_split.Tensor transpose:transpose.int unbind:unbind.int
    squeeze_dim:squeeze.dim squeeze_dim_:squeeze_.dim squeeze_dims:squeeze.dims
    squeeze_dims_:squeeze_.dims
    std_dim:std.correction std_mean_dim:std_mean.correction
    var_dim:var.correction var_mean_dim:var_mean.correction
    special_xlog1py_tensor:special_xlog1py.default
    special_xlog1py_other_number:special_xlog1py.other_scalar
    special_xlog1py_self_number:special_xlog1py.self_scalar
    special_zeta_tensor:special_zeta.default special_zeta_other_number:special_zeta.other_scalar
    special_zeta_self_number:special_zeta.self_scalar
    frexp:frexp.Tensor expanded_copy:expand_copy.default pairs_copy:view_as_complex_copy.default
    permuted_copy:permute_copy.default selected_copy:select_copy.int sliced_copy:slice_copy.Tensor
    split_sizes_copy:split_with_sizes_copy.default split_tensor_copy:split_copy.Tensor
    squeeze_all_copy:squeeze_copy.default squeeze_dim_copy:squeeze_copy.dim
    squeeze_dims_copy:squeeze_copy.dims strided_copy:as_strided_copy.default
    transpose_copy:transpose_copy.int unbound_copy:unbind_copy.int viewed_copy:view_copy.default
    where_self:where.self _reshape_alias:view.default
    xlogy_other_number:xlogy.Scalar_Other xlogy_self_number:xlogy.Scalar_Self
    histogram_bin_ct:histogram.bin_ct histogram_bins_tensor:histogram.bins_tensor
"""
_KNOWN = dict(each.split(":") for each in _NAMED.split())

# (end of a name that is not public, overload); the label is the name without the end.
_ENDINGS = (
    ("_all", "default"),
    ("_reduced", "default"),
    ("_in_place", "default"),
    ("_dim", "dim"),
    ("_tensor", "Tensor"),
    ("_scalar", "Scalar"),
    ("_number", "Scalar"),
)
# These take a number as a 0-d tensor; other binary operators have a Scalar overload.
_ARITHMETIC = frozenset({"add", "sub", "mul"})
_SHIFTS = frozenset({"bitwise_left_shift", "bitwise_right_shift"})

_IN_PLACE = {
    "floor_divide_.default": "floor_divide_.Tensor",
    "ldexp_.Tensor": "ldexp_.default",
    "pow_.Tensor_Scalar": "pow_.Scalar",
    "pow_.Tensor_Tensor": "pow_.Tensor",
    "transpose_.int": "transpose_.default",
}
_OUT = {
    "add.Tensor": "out",
    "all.default": "all_out",
    "all.dim": "out",
    "any.default": "all_out",
    "any.dim": "out",
    "copysign.Tensor": "out",
    "div.Tensor": "out",
    "div.Tensor_mode": "out_mode",
    "kthvalue.default": "values",
    "ldexp.Tensor": "out",
    "max.default": "unary_out",
    "max.dim": "dim_max",
    "mean.default": "dtype_out",
    "mean.dim": "out",
    "median.dim": "dim_values",
    "min.default": "unary_out",
    "min.dim": "dim_min",
    "mode.default": "values",
    "mul.Tensor": "out",
    "nanmedian.dim": "dim_values",
    "norm.ScalarOpt_dim": "out",
    "prod.dim_int": "int_out",
    "sort.default": "values",
    "sort.stable": "values_stable",
    "sub.Tensor": "out",
    "sum.dim_IntList": "IntList_out",
    "topk.default": "values",
    "xlogy.Scalar_Other": "OutScalar_Other",
    "xlogy.Scalar_Self": "OutScalar_Self",
    "xlogy.Tensor": "OutTensor",
}
# Composite functions without an overload called default. Watchers see the operators they call.
# Operators that libraries compare with and that are called by other names here, if at all.
_ASKED_FOR = """
    _assert_async.default _assert_async.msg _assert_scalar.default _assert_tensor_metadata.default
    _is_all_true.default _local_scalar_dense.default _pin_memory.default _sparse_addmm.default
    _scaled_dot_product_cudnn_attention.default _scaled_dot_product_cudnn_attention_backward.default
    _scaled_dot_product_flash_attention.default _scaled_dot_product_flash_attention_backward.default
    _sparse_mm_reduce_impl.default fill_diagonal_.default mm.dtype randint.low
    scaled_dot_product_attention.default sym_constrain_range_for_size.default sym_size.int
    to.device to.dtype to.dtype_layout to.other
"""

_COMPOSITE = """
    bucketize.Tensor ctc_loss.Tensor divide.Tensor dsplit.int empty.memory_format
    flatten.using_ints float_power.Tensor_Tensor greater.Tensor greater_equal.Tensor hsplit.int
    isin.Tensor_Tensor less.Tensor less_equal.Tensor log_softmax.int moveaxis.intlist
    movedim.intlist multiply.Tensor not_equal.Tensor repeat_interleave.self_int
    result_type.Tensor searchsorted.Tensor softmax.int subtract.Tensor tensor_split.sections
    true_divide.Tensor unflatten.int vsplit.int
"""


# --- the objects -----------------------------------------------------------------------------


class OpOverload:
    """One overload of an operator, as policies and op lists name it.

    >>> import taper
    >>> mm = taper.ops.aten.mm.default
    >>> mm
    <OpOverload(op='aten.mm', overload='default')>
    >>> mm(taper.ones(1, 2), taper.ones(2, 1))
    tensor([[2.]])
    """

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self.namespace = self._namespace = packet._namespace
        self._opname = packet.__name__
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = packet._qualified_op_name
        self._name = self.name()

    def name(self) -> str:
        """Return the name with the namespace, as in `aten::add.Tensor`; "default" is left out."""
        ending = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.__qualname__}{ending}"

    # What `dispatching` gives instead: the result of the call that a handler was told of.
    performed: Callable[..., Any] = staticmethod(lambda func, args, kwargs: None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.performed(self, args, kwargs)
        return run_overload(self, args, kwargs) if result is None else result

    @functools.cached_property
    def _schema(self) -> Any:
        """The names of the arguments, and which of them are written."""
        entry = _overloads().get(self._opname, {}).get(self._overloadname)
        return schema_of(self._opname, self._overloadname, entry)

    @property
    def is_view(self) -> bool:
        """Whether the result shares the memory of the first argument, which is not written."""
        entry = _overloads().get(self._opname, {}).get(self._overloadname)
        return bool(entry is not None and entry.view and not self._schema.is_mutable)

    @property
    def op(self) -> Any:
        """What a call runs."""
        return self.__call__

    tags: tuple[Any, ...] = ()

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Run a composite function as the operators that it calls; NotImplemented for others."""
        entry = _overloads().get(self._opname, {}).get(self._overloadname)
        return NotImplemented if entry is not None else run_overload(self, args, kwargs)

    def redispatch(self, keys: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the operator; the keys of PyTorch's dispatcher have no meaning here."""
        return self(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """The overloads of one name, as attributes; calling it picks one by the arguments.

    >>> import taper
    >>> taper.ops.aten.mul.overloads()
    ['Tensor', 'Scalar', 'out', 'Scalar_out']
    """

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name

    @property
    def _overload_names(self) -> list[str]:
        return self.overloads()

    def overloads(self) -> list[str]:
        """List the names of the overloads, that of two tensors first."""
        return sorted(_overloads().get(self.__name__, ()), key=lambda name: name != "Tensor")

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__") or name not in _overloads().get(self.__name__, ()):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return self._overload(name)

    def _overload(self, name: str) -> OpOverload:
        """Return the overload of this name, whether or not it exists."""
        found: OpOverload | None = self.__dict__.get(name)
        if found is None:
            found = self.__dict__.setdefault(name, OpOverload(self, name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _function(self.__name__)(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OpNamespace:
    """The operators of one namespace, as attributes: `taper.ops.aten`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__") or name not in _overloads():
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return self._packet(name)

    def _packet(self, name: str) -> OpOverloadPacket:
        """Return the operator of this name, whether or not it exists."""
        found: OpOverloadPacket | None = self.__dict__.get(name)
        if found is None:
            found = self.__dict__.setdefault(name, OpOverloadPacket(self.name, name))
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_overloads()})

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


aten = OpNamespace("aten")
prim = OpNamespace("prim")


def overload_named(text: str) -> OpOverload:
    """Return the overload `mm.default` of `aten` without checking that it exists."""
    name, _, overload = text.partition(".")
    return aten._packet(name)._overload(overload)


# --- from the table to the names -------------------------------------------------------------


def overload_of(call: Call) -> OpOverload:
    """Find the overload that a call of the table's is."""
    return overload_named(_of_kind(_plain_name(call.op, call.arguments), call.kind))


def _of_kind(plain: str, kind: str) -> str:
    name, _, overload = plain.partition(".")
    if kind == "inplace":
        written = plain if name.endswith("_") else f"{name}_.{overload}"
        return _IN_PLACE.get(written, written)
    if kind == "out":
        usual = "out" if overload == "default" else f"{overload}_out"
        return f"{name}.{_OUT.get(plain, usual)}"
    return plain


def _plain_name(op: Op, arguments: tuple[Any, ...]) -> str:
    if op.label in ("all", "any", "count_nonzero"):
        return f"{op.label}.{_by_dim(op.label, arguments[1] if len(arguments) > 1 else None)}"
    names = _plain_names(op)
    if len(names) == 1:
        return names[0]
    if not isinstance(arguments[0], Tensor):
        return names[0] if op.name in _ARITHMETIC else f"{op.name}.Scalar_Tensor"
    return names[not isinstance(arguments[1], Tensor)]


def _by_dim(label: str, dim: Any) -> str:
    if dim is None:
        return "default"
    if label == "count_nonzero":
        return "dim_IntList"
    return "dim" if isinstance(dim, int) or len(dim) == 1 else "dims"


_plain_names_of: dict[str, tuple[str, ...]] = {}


def _plain_names(op: Op) -> tuple[str, ...]:
    """Return name and overload of an entry: one pair, or one for a tensor and one for a number."""
    names = _plain_names_of.get(op.name)
    if names is None:
        names = _plain_names_of[op.name] = _named_by_rule(op)
    return names


def _named_by_rule(op: Op) -> tuple[str, ...]:
    if op.name in _KNOWN:
        return (_KNOWN[op.name],)
    if op.label != op.name:
        for ending, overload in _ENDINGS:
            if op.name.endswith(ending):
                return (f"{op.label}.{overload}",)
    if len(op.params) > 1 and op.params[1].kind == "operand":
        number = "Tensor_Scalar" if op.name in _SHIFTS else "Scalar"
        number = "Tensor" if op.name in _ARITHMETIC else number
        return f"{op.name}.Tensor", f"{op.name}.{number}"
    return (f"{op.name}.default",)


_known_overloads: dict[str, dict[str, Op | None]] = {}


def _overloads() -> dict[str, dict[str, Op | None]]:
    """List for each name its overloads, and the entry of the table that each of them is."""
    if _known_overloads:
        return _known_overloads
    load_all()

    def enter(text: str, op: Op | None) -> None:
        name, _, overload = text.partition(".")
        _known_overloads.setdefault(name, {}).setdefault(overload, op)

    for op in registry.values():
        by_dim = [f"{op.label}.{_by_dim(op.label, dim)}" for dim in (None, 0, (0, 1))]
        several = op.label in ("all", "any", "count_nonzero")
        for text in by_dim if several else _plain_names(op):
            enter(text, op)
            if _has_in_place(text, op):
                enter(_of_kind(text, "inplace"), op)
            if op.out:
                enter(_of_kind(text, "out"), op)
    for name in _ARITHMETIC | {"div"}:
        enter(f"{name}.Scalar", registry[f"{name}_scalar"])
        enter(f"{name}.Scalar_out", None)
        enter(f"{name}_.Scalar", None)
    for text in (*_COMPOSITE.split(), *_ASKED_FOR.split()):
        enter(text, None)
    for name in composites:
        if name not in _known_overloads:
            enter(f"{name}.default", None)
    enter("detach.default", None)
    # Names that PyTorch has and taper does not: tables of libraries name them as keys.
    for line in Path(__file__).with_name("aten_names.txt").read_text().splitlines():
        name, *others = line.split()
        for overload in others:
            enter(f"{name}.{overload}", None)
    return _known_overloads


def _has_in_place(text: str, op: Op) -> bool:
    name = text.partition(".")[0]
    random = name in ("bernoulli", "normal")  # other operators in place
    return f"{name}_" in Tensor.__dict__ and op.params[0].kind == "tensor" and not random


def _function(name: str, overload: str | None = None) -> Callable[..., Any]:
    """Return what a call of an overload or packet calls: the public function if there is one."""
    if name in _ADAPTED:
        return _ADAPTED[name]
    if name in composites:
        return composites[name]
    if name in registry:
        function: Callable[..., Any] = registry[name].function
        return function
    if hasattr(Tensor, name):
        method: Callable[..., Any] = getattr(Tensor, name)
        return method
    entries = _overloads().get(name, {})
    entry = next(iter(entries.values()), None) if overload is None else entries.get(overload)
    if entry is None:
        raise NotImplementedError(f"aten.{name} cannot be called here: call the public function")
    found: Callable[..., Any] = entry.function
    return found


def _softmax(self: Tensor, dim: int, half_to_float: bool = False) -> Any:
    return composites["softmax"](self, dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool = False) -> Any:
    return composites["log_softmax"](self, dim)


def _convolution_backward(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Compute `convolution_backward` with None for what the mask leaves out.

    The entry of the table returns empty tensors there.
    """
    mask = kwargs["output_mask"] if "output_mask" in kwargs else args[-1]
    found = registry["convolution_backward"].function(*args, **kwargs)
    return tuple(each if wanted else None for each, wanted in zip(found, mask, strict=True))


# Operators whose arguments or results differ from those of the entry.
_ADAPTED: dict[str, Callable[..., Any]] = {
    "_log_softmax": _log_softmax,
    "_linalg_check_errors": lambda info, name, **options: None,  # whoever asks has checked
    "_local_scalar_dense": lambda self: self.item(),
    "_softmax": _softmax,
    "lift_fresh": lambda self: self,
    "convolution_backward": _convolution_backward,
}


def run_overload(overload: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an overload with arguments as PyTorch's operators take them."""
    name = overload._opname
    entry = None if name in _ADAPTED else _overloads().get(name, {}).get(overload._overloadname)
    if entry is None:
        return _function(name, overload._overloadname)(*args, **kwargs)
    if "out" in kwargs:
        return _function(name, overload._overloadname)(*args, **kwargs)
    # PyTorch's operators may take more than the entry, which has no use for it.
    arguments = entry.arguments(args[: len(entry.params) - len(entry.keyword_names)], dict(kwargs))
    plain = _plain_name(entry, arguments).partition(".")[0]
    in_place = name.endswith("_") and plain != name
    return entry.call(inplace_function(entry.function) if in_place else entry.function, arguments)


# Parameters that PyTorch's operators take by keyword, wherever they stand in the table.
_KEYWORDS = frozenset({"dtype", "generator", "memory_format"})


def call_arguments(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call as PyTorch's operators get them: without trailing defaults."""
    pairs = list(zip(call.op.params, call.arguments[: len(call.op.params)], strict=True))
    keywords = {
        param.name: value
        for param, value in pairs
        if _is_keyword(param) and value is not None and not _is_default(param, value)
    }
    if call.kind == "out":
        keywords["out"] = call.arguments[-1]
    positional = [(param, value) for param, value in pairs if not _is_keyword(param)]
    while positional and (positional[-1][1] is None or _is_default(*positional[-1])):
        positional.pop()
    return tuple(_as_list(value) for _, value in positional), keywords


def shown_arguments(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call as `__torch_dispatch__` is told of them."""
    args, kwargs = call_arguments(call)
    name = _plain_name(call.op, call.arguments).partition(".")[0]
    if name in _MORE_SHOWN:
        args = (*args, *_MORE_SHOWN[name](args, call.arguments))
    if name == "_scaled_dot_product_flash_attention_for_cpu" and len(args) > 5:
        args, kwargs = args[:5], {"attn_mask": args[5], **kwargs}
    for place, value in reversed(_LEFT_OUT.get(name, ())):
        if len(args) == place + 1 and args[place] == value:
            args = args[:place]
    if name in _NAMED_SHOWN and len(args) > _NAMED_SHOWN[name][0]:
        place, keyword = _NAMED_SHOWN[name]
        kwargs = {keyword: args[place], **kwargs}
        args = args[:place]
    return args, kwargs


# What PyTorch's operators get more than the entry, where it cannot be left out.
_MORE_SHOWN: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("_softmax", "_log_softmax"), lambda args, given: (False,)),
    **dict.fromkeys(
        ("_softmax_backward_data", "_log_softmax_backward_data"),
        lambda args, given: (given[0].dtype,) if len(args) == 3 else (),
    ),
    "hardtanh": lambda args, given: given[1:3] if len(args) == 1 else (),
    "constant_pad_nd": lambda args, given: (0.0,) if len(args) == 2 else (),
    "_cdist_forward": lambda args, given: (None,) if len(args) == 3 else (),
    "leaky_relu_backward": lambda args, given: (False,) if len(args) == 3 else (),
    "avg_pool2d_backward": lambda args, given: (None,) if len(args) == 7 else (),
}
# Defaults of PyTorch's operators that the entry has not: places and values, if they come last.
_LEFT_OUT: dict[str, tuple[tuple[int, Any], ...]] = {
    "linalg_vector_norm": ((1, 2),),
    "sort": ((1, -1), (2, False)),
    "multi_margin_loss": ((4, None), (5, 1)),
    "rot90": ((1, 1), (2, [0, 1])),
    "searchsorted": ((2, False), (3, False)),
    "max_pool3d_with_indices": ((2, []), (3, [0, 0, 0]), (4, [1, 1, 1])),
    "multinomial": ((2, False),),
    "max_pool2d_with_indices": ((2, []), (3, [0, 0]), (4, [1, 1])),
    "avg_pool2d": ((2, []), (3, [0, 0])),
    "mse_loss": ((2, 1),),
    "smooth_l1_loss": ((2, 1), (3, 1.0)),
    "huber_loss": ((2, 1), (3, 1.0)),
    "binary_cross_entropy": ((2, None), (3, 1)),
    "binary_cross_entropy_with_logits": ((2, None), (3, None), (4, 1)),
    "soft_margin_loss": ((2, 1),),
    "gelu_backward": ((2, "none"),),
    "_scaled_dot_product_flash_attention_for_cpu": ((3, 0.0), (4, False)),
}
_NAMED_SHOWN = {
    "div": (2, "rounding_mode"),
    "linalg_cross": (2, "dim"),
    "std": (2, "correction"),
    "var": (2, "correction"),
    "std_mean": (2, "correction"),
    "var_mean": (2, "correction"),
}


def _is_keyword(param: Param) -> bool:
    return param.keyword_only or param.name in _KEYWORDS


def _is_default(param: Param, value: Any) -> bool:
    default = param.default
    return value is default or (type(value) is type(default) is not Tensor and value == default)


def _as_list(value: Any) -> Any:
    return list(value) if type(value) is tuple else value
