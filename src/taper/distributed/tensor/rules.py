"""What operators do with DTensors: they run on the parts, where the parts suffice.

An element-wise operator brings its operands to the same placements.  A reduction over a divided
dimension leaves summands.  What no rule knows is refused: use `full_tensor()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.distributed.tensor.api import DTensor
from taper.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _NormPartial,
)
from taper.distributed.tensor.spread import Placements, Shared
from taper.opdef import POINTWISE, Op
from taper.tensor import Tensor

# Element-wise operators that the table does not know as such.
_ELEMENTWISE = frozenset(
    "add sub mul div_true div_unrounded div_rounded add_scalar sub_scalar mul_scalar div_scalar "
    "rsub_scalar rsub_tensor addcmul addcdiv lerp_number lerp_tensor maximum minimum fmax fmin eq "
    "ne lt le gt ge pow_base pow_scalar pow_tensor where_self clamp_numbers clamp_max_number "
    "clamp_min_number clamp_max_tensor clamp_min_tensor clamp_tensors logical_and logical_not "
    "logical_or logical_xor isfinite isinf isnan sign sgn masked_fill masked_fill_tensor clone "
    "_to_copy neg abs copy atan2 hypot remainder_scalar remainder_tensor fmod_scalar fmod_tensor "
    "floor_divide_number floor_divide_tensor zero fill".split()
)
# With numbers beside them, these keep summands what they are.
_LINEAR = frozenset("mul_scalar div_scalar neg clone _to_copy mul div_true div_unrounded".split())
_COMBINED = {"sum": "sum", "amax": "max", "amin": "min", "max": "max", "min": "min"}


def _mixed(name: str) -> RuntimeError:
    return RuntimeError(
        f"aten.{name} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
        "DTensor before calling distributed operators!"
    )


def _spread_of(values: Sequence[Any]) -> list[DTensor]:
    return [each for each in values if isinstance(each, DTensor)]


def _check_plain(values: Sequence[Any], name: str) -> None:
    for each in values:
        if isinstance(each, Tensor) and not isinstance(each, DTensor) and each.dim():
            raise _mixed(name)


def run_operator(op: Op, arguments: tuple[Any, ...]) -> Any:
    """Run an operator of the table, one of whose arguments is a DTensor."""
    rule = _RULES.get(op.name)
    if rule is not None:
        return rule(op.function, *arguments)
    if op.name in _ELEMENTWISE or op.ufunc or op.tangent == POINTWISE:
        return elementwise(
            lambda *values: op.call(op.function, values), arguments, op.name, _overload(op)
        )
    raise NotImplementedError(
        f"Operator aten.{op.name}.default does not have a sharding strategy registered; use "
        "full_tensor() or to_local()"
    )


def _overload(op: Op) -> str:
    return f"{op.label}.{'Tensor' if len(op.tensor_names) > 1 else 'default'}"


def elementwise(
    function: Callable[..., Any], values: Sequence[Any], name: str = "", shown: str = ""
) -> DTensor:
    """Run an element-wise function on the parts."""
    _check_plain(values, shown)
    spread = _spread_of(values)
    shape = np.broadcast_shapes(*[each.shape for each in spread])
    keeps = len(spread) == 1 and name in _LINEAR
    target = _common_placements(spread, len(shape), keeps)
    parts = [_fitted(each, target, shape) if isinstance(each, DTensor) else each for each in values]
    return DTensor._of(function(*parts), spread[0]._mesh, target, shape)


def _common_placements(spread: Sequence[DTensor], ndim: int, keeps_partial: bool) -> Placements:
    """Return the placements of a result: for each dimension of the mesh the first division."""
    found: list[Placement] = []
    for dim in range(spread[0]._mesh.ndim):
        chosen: Placement = Replicate()
        for each in spread:
            own = each._placements[dim]
            if isinstance(own, Shard) and each.shape[own.dim] != 1:
                chosen = Shard(own.dim + ndim - each.ndim)
                break
            if keeps_partial and isinstance(own, Partial):
                chosen = own
        found.append(chosen)
    return tuple(found)


def _fitted(value: DTensor, target: Placements, shape: Sequence[int]) -> Tensor:
    """Return the part of an operand that goes with the parts of the result."""
    wanted: list[Placement] = []
    groups = []
    for dim, each in enumerate(target):
        own = each
        if isinstance(each, Shard):
            place = each.dim - (len(shape) - value.ndim)
            if place < 0 or value.shape[place] == 1:
                own = Replicate()
                groups.append(value._mesh.get_group(dim))
            else:
                own = Shard(place)
        wanted.append(own)
    local = value.redistribute(placements=wanted)._local_tensor
    return Shared.apply(local, groups) if groups and local.requires_grad else local


# --- reductions -------------------------------------------------------------------------------


def reduction(
    name: str, value: DTensor, dim: Any = None, keepdim: bool = False, **options: Any
) -> DTensor:
    """Combine elements along dimensions: those of the part, and then there are summands."""
    if isinstance(value._placements[0], Partial) or any(
        isinstance(each, Partial) for each in value._placements
    ):
        value = _without_partial(value)
    listed = [dim] if isinstance(dim, int) else dim
    dims = sorted({each % value.ndim for each in listed}) if listed else list(range(value.ndim))
    target: list[Placement] = []
    for each in value._placements:
        if isinstance(each, Shard) and each.dim in dims:
            target.append(_combined(name, options))
        elif isinstance(each, Shard) and not keepdim:
            target.append(Shard(each.dim - sum(place < each.dim for place in dims)))
        else:
            target.append(each)
    local = value._local_tensor
    if not local.numel() and name in ("amax", "amin"):
        worst = -math.inf if name == "amax" else math.inf
        local = local.new_full([n or 1 for n in local.shape], worst)
    result = _reduced(name, local, dims, keepdim, options)
    shape = [1 if place in dims else n for place, n in enumerate(value.shape)]
    if not keepdim:
        shape = [n for place, n in enumerate(value.shape) if place not in dims]
    return DTensor._of(result, value._mesh, tuple(target), shape)


def _reduced(name: str, local: Tensor, dims: list[int], keepdim: bool, options: Any) -> Tensor:
    if name == "norm":
        return local.norm(options["p"], dims or None, keepdim)
    if not dims:
        return local.clone()
    method: Any = getattr(local, name)
    return method(dims, keepdim)


def _combined(name: str, options: Any) -> Placement:
    if name != "norm":
        return Partial(_COMBINED[name])
    order = options["p"]
    if math.isinf(order):
        return Partial("max" if order > 0 else "min")
    return Partial("sum") if order == 0 else _NormPartial(norm_type=order)


def _without_partial(value: DTensor) -> DTensor:
    """Return the tensor with its summands combined."""
    target = [Replicate() if isinstance(e, Partial) else e for e in value._placements]
    return value.redistribute(placements=target)


def total(self: DTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> DTensor:
    """Sum elements."""
    value: Any = self if dtype is None else self.to(dtype)
    return reduction("sum", value, dim, keepdim)


def mean(self: DTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> DTensor:
    """Average elements; the result is whole in every process."""
    summed = _without_partial(total(self, dim, keepdim, dtype=dtype))
    count = self.numel() // max(1, summed.numel())
    return summed / count  # type: ignore[return-value]


def extremum(name: str) -> Any:
    """Make the method that finds the largest or smallest element."""

    def find(self: DTensor, dim: Any = None, keepdim: bool = False) -> DTensor:
        if dim is not None and name in ("max", "min"):
            raise NotImplementedError(
                f"DTensor.{name} with a dimension: use amax or amin, or full_tensor()"
            )
        return reduction("a" + name if name in ("max", "min") else name, self, dim, keepdim)

    return find


def norm(
    self: DTensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> DTensor:
    """Take the norm of all elements, or along dimensions."""
    order = 2.0 if p in (None, "fro") else float(p)
    return reduction("norm", self, dim, keepdim, p=order)


def stack(function: Any, tensors: Sequence[DTensor], dim: int = 0) -> DTensor:
    """Put tensors that lie alike behind each other, along a new dimension."""
    _check_plain(tensors, "stack.default")
    first = tensors[0]
    place = dim % (first.ndim + 1)
    fitting = [each.redistribute(placements=_kept(each, first)) for each in tensors]
    target = tuple(
        Shard(each.dim + (each.dim >= place)) if isinstance(each, Shard) else each
        for each in fitting[0]._placements
    )
    shape = [*first.shape[:place], len(tensors), *first.shape[place:]]
    local = function([each._local_tensor for each in fitting], place)
    return DTensor._of(local, first._mesh, target, shape)


def _kept(value: DTensor, first: DTensor) -> list[Placement]:
    alike = value._placements == first._placements
    target = first._placements
    if alike:
        return list(target)
    return [Replicate() if isinstance(each, Partial) else each for each in target]


# --- products ---------------------------------------------------------------------------------


def product(function: Any, self: DTensor, other: DTensor) -> DTensor:
    """Multiply two matrices: rows of the left, columns of the right, or summands of the sum."""
    _check_plain((self, other), "mm.default")
    left, right = _without_partial(self), _without_partial(other)
    lefts: list[Placement] = []
    rights: list[Placement] = []
    target: list[Placement] = []
    left_groups, right_groups = [], []
    for dim, (a, b) in enumerate(zip(left._placements, right._placements, strict=True)):
        group = left._mesh.get_group(dim)
        way: tuple[Placement, Placement, Placement] = (Replicate(), Replicate(), Replicate())
        if a == Shard(0):
            way = (a, Replicate(), a)
            right_groups.append(group)
        elif b == Shard(1):
            way = (Replicate(), b, b)
            left_groups.append(group)
        elif a == Shard(1) or b == Shard(0):
            way = (Shard(1), Shard(0), Partial())
        for placements, each in zip((lefts, rights, target), way, strict=True):
            placements.append(each)
    one = _shared(left.redistribute(placements=lefts)._local_tensor, left_groups)
    two = _shared(right.redistribute(placements=rights)._local_tensor, right_groups)
    shape = (left.shape[0], right.shape[1])
    return DTensor._of(function(one, two), left._mesh, tuple(target), shape)


def _shared(local: Tensor, groups: list[Any]) -> Tensor:
    return Shared.apply(local, groups) if groups and local.requires_grad else local


def affine(function: Any, self: DTensor, one: DTensor, two: DTensor, *scales: Any) -> DTensor:
    """Multiply two matrices and add a third."""
    if any(scale != 1 for scale in scales):
        raise NotImplementedError("addmm of DTensors: alpha and beta must be 1")
    _check_plain((self, one, two), "addmm.default")
    made: Any = one.mm(two)
    return _without_partial(made) + self  # type: ignore[return-value]


def transposed(self: DTensor) -> DTensor:
    """Exchange the two dimensions of a matrix."""
    turn = {0: self.ndim - 1, 1: 0}
    target = tuple(
        Shard(turn[each.dim]) if isinstance(each, Shard) and self.ndim == 2 else each
        for each in self._placements
    )
    return DTensor._of(self._local_tensor.t(), self._mesh, target, self._whole[::-1])


_RULES: dict[str, Any] = {
    "stack": stack,
    "mm": product,
    "addmm": affine,
    "linalg_vector_norm": lambda function, self, ord=2, dim=None, keepdim=False, *_: norm(
        self, ord, dim, keepdim
    ),
    "t": lambda function, self: transposed(self),
    "sum_all": lambda function, self, *_: total(self),
    "mean_all": lambda function, self, *_: mean(self),
}


# --- methods that are not operators, or write -------------------------------------------------


def _on_parts(name: str) -> Any:
    """Make a method that runs on the part and leaves placements as they are."""

    def run(self: DTensor, *arguments: Any, **named: Any) -> DTensor:
        return self._like(getattr(self._local_tensor, name)(*arguments, **named))

    run.__name__ = name
    return run


def _asked(name: str) -> Any:
    """Make a method that asks the part, which knows."""

    def ask(self: DTensor, *arguments: Any, **named: Any) -> Any:
        return getattr(self._local_tensor, name)(*arguments, **named)

    ask.__name__ = name
    return ask


def _writing(name: str) -> Any:
    """Make a method that writes into the part; the other operands come to its placements."""

    def write(self: DTensor, *arguments: Any, **named: Any) -> DTensor:
        _check_plain((*arguments, *named.values()), f"{name}.default")

        def fit(value: Any) -> Any:
            if isinstance(value, DTensor):
                return _fitted(value, self._placements, self.shape)
            return value

        method = getattr(self._local_tensor, name)
        method(*map(fit, arguments), **{key: fit(value) for key, value in named.items()})
        return self

    write.__name__ = name
    return write


def _item(self: DTensor) -> Any:
    return self._local_tensor.item()  # as PyTorch: not even summands are combined


def _equal(self: DTensor, other: DTensor) -> bool:
    same = self.redistribute(placements=other._placements)._local_tensor
    found = same.new_tensor([float(same.equal(other._local_tensor))])
    whole = DTensor._of(found, self._mesh, (Partial("min"),) * self._mesh.ndim, (1,))
    return bool(whole.full_tensor().item())


_WRITING = (
    "add_ sub_ mul_ div_ addcmul_ addcdiv_ lerp_ zero_ fill_ copy_ clamp_ clamp_min_ clamp_max_ "
    "neg_ sqrt_ pow_ abs_ exp_ log_ tanh_ sigmoid_ relu_ reciprocal_ square_ masked_fill_ "
    "maximum_ sign_ round_ floor_ ceil_ nan_to_num_"
)
_RANDOM = "uniform_ normal_ random_ bernoulli_ exponential_ trunc_normal_"
_KEEPING = "to type_as float double half bfloat16 contiguous cpu clone zeros_like"
_QUESTIONS = (
    "is_floating_point is_complex is_conj is_neg is_signed register_hook "
    "register_post_accumulate_grad_hook retain_grad is_contiguous is_inference type"
)


def _random_writing(name: str) -> Any:
    """Make a method that draws the numbers of the whole, as one process would, and keeps a part."""

    def write(self: DTensor, *arguments: Any, **named: Any) -> DTensor:
        local = self._local_tensor
        whole = local.detach().new_empty(self.shape)
        getattr(whole, name)(*arguments, **named)
        source = DTensor._of(whole, self._mesh, (Replicate(),) * self._mesh.ndim, self.shape)
        local.detach().copy_(source.redistribute(placements=self._placements)._local_tensor)
        return self

    write.__name__ = name
    return write


def _install() -> None:
    spread: Any = DTensor
    spread._run_operator = staticmethod(run_operator)
    for names, make in (
        (_WRITING, _writing),
        (_RANDOM, _random_writing),
        (_KEEPING, _on_parts),
        (_QUESTIONS, _asked),
    ):
        for name in names.split():
            if hasattr(Tensor, name):
                setattr(spread, name, make(name))
    for name in "add sub mul div".split():
        setattr(spread, f"__i{name if name != 'div' else 'truediv'}__", _writing(f"{name}_"))
    for name in ("max", "min", "amax", "amin"):
        setattr(spread, name, extremum(name))
    spread.sum, spread.mean, spread.norm, spread.item = total, mean, norm, _item
    spread.equal, spread.__bool__ = _equal, lambda self: bool(_item(self))
    spread.__float__ = lambda self: float(_item(self))
    spread.matmul = spread.__matmul__ = lambda self, other: self.mm(other)
    spread.clamp = lambda self, min=None, max=None: elementwise(
        lambda part: part.clamp(min, max), (self,)
    )


_install()
