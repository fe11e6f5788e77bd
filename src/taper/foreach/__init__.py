"""`taper._foreach_...`: operators over lists of tensors.

Everything is written once: a list function calls the operator for each tensor, and `nodes` makes
one history of the results.  In place, each tensor gets the history of the operator itself, as in
PyTorch.  As there, a tensor that cannot be written raises after those before it were written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.factory import number as number_argument
from taper.foreach.arguments import (
    SELF,
    check_lengths,
    check_scalars,
    form_of,
    is_number,
    number_of,
    refusal,
    tensor_list,
)
from taper.foreach.nodes import joined
from taper.opdef import camel_case, inplace_function
from taper.ops.elementwise.clamping import maximum, minimum
from taper.ops.elementwise.power import pow as power
from taper.ops.linalg.matmul import mm
from taper.ops.reduction.vector_norm import vector_norm
from taper.tensor import Tensor

_UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
    reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
# For each overload: the end of the node's name after "Backward", and the saved values that show.
_BINARY: dict[str, dict[str, str]] = {
    "add": {"Scalar": "1Scalar", "ScalarList": "1ScalarList", "Tensor": "0Tensor", "List": "0List"},
    "sub": {"Scalar": "1Scalar", "ScalarList": "1ScalarList", "List": "0List"},
    "mul": {"ScalarList": "1ScalarList", "Tensor": "0Tensor", "List": "0List", "Scalar": "1Scalar"},
    "div": {"ScalarList": "1ScalarList", "Tensor": "0Tensor", "List": "0", "Scalar": "1Scalar"},
    "clamp_max": {"Scalar": "0Scalar", "ScalarList": "0ScalarList", "List": "1List"},
    "clamp_min": {"Scalar": "0Scalar", "ScalarList": "0ScalarList", "List": "1List"},
    "maximum": {"Scalar": "0", "ScalarList": "1", "List": "0List"},
    "minimum": {"Scalar": "0", "ScalarList": "1", "List": "0List"},
    "pow": {"Scalar": "0Scalar", "ScalarList": "1", "List": "0"},
}
_SAVED = {
    "ForeachDivBackward0": "other self",
    "ForeachMaximumBackward0": "scalar self",
    "ForeachMaximumBackward1": "scalars self",
    "ForeachMinimumBackward0": "scalar self",
    "ForeachMinimumBackward1": "scalars self",
    "ForeachPowBackward0": "exponent result self",
    "ForeachPowBackward1": "exponent self",
}
_ARGUMENTS = {
    "Scalar": "Number scalar",
    "ScalarList": "tuple of Scalars scalars",
    "Tensor": "Tensor other",
    "List": "tuple of Tensors other",
}
# A number as a bound: the maximum (minimum) of both is the first, clamped.
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}
_TWO_TENSORS = {"maximum": maximum, "minimum": minimum}
_TWO_TENSORS_IN_PLACE = {
    "maximum": inplace_function(maximum),
    "minimum": inplace_function(minimum),
}

_functions: dict[str, Callable[..., Any]] = {}


def _publish(name: str, function: Callable[..., Any], what: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "taper"
    function.__doc__ = what
    _functions[name] = function


# --- one list --------------------------------------------------------------------------------


def _unary(name: str) -> None:
    full = f"_foreach_{name}"
    node = f"Foreach{camel_case(name)}Backward0"

    def function(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
        tensors = tensor_list(full, "self", 1, self)
        check_lengths(tensors)
        results = [getattr(each, name)() for each in tensors]
        return joined(node, "", results, [(tensors, 0)], {})

    def in_place(self: Sequence[Tensor]) -> Sequence[Tensor]:
        tensors = tensor_list(f"{full}_", "self", 1, self)
        check_lengths(tensors)
        for each in tensors:
            getattr(each, f"{name}_")()
        return self

    _publish(full, function, f"`{name}` of each tensor of a list.")
    _publish(f"{full}_", in_place, f"`{name}_` of each tensor of a list.")


for _name in _UNARY.split():
    _unary(_name)


def _foreach_zero_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    tensors = tensor_list("_foreach_zero_", "self", 1, self)
    check_lengths(tensors)
    for each in tensors:
        each.zero_()
    return self


_publish("_foreach_zero_", _foreach_zero_, "`zero_` of each tensor of a list.")


def _foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> tuple[Tensor, ...]:
    tensors = tensor_list("_foreach_clone", "self", 1, self)
    check_lengths(tensors)
    results = [each.clone(memory_format=memory_format) for each in tensors]
    return joined("ForeachCloneBackward0", "", results, [(tensors, 0)], {})


_publish("_foreach_clone", _foreach_clone, "A copy of each tensor of a list.")


def _foreach_max(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    tensors = tensor_list("_foreach_max", "self", 1, self)
    check_lengths(tensors)
    for each in tensors:
        if not each._array.size:
            raise RuntimeError(
                "_foreach_max cannot compute the maximum of an empty tensor; max over zero "
                "elements is undefined."
            )
    results = [each.max() for each in tensors]
    return joined("ForeachMaxBackward1", "", results, [(tensors, 0)], {})


_publish("_foreach_max", _foreach_max, "The largest element of each tensor of a list.")


def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    tensors = tensor_list("_foreach_norm", "self", 1, self)
    order = number_argument("_foreach_norm", "ord", 2, ord)
    check_lengths(tensors)
    for each in tensors:
        if order in (float("inf"), -float("inf")) and not each._array.size:
            raise RuntimeError(
                "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
                "operation does not have an identity"
            )
    results = [vector_norm(each, order, dtype=dtype) for each in tensors]
    columns = [(tensors, 0)]
    plain = {"ord": order}
    return joined("ForeachNormBackward0", "ord result self", results, columns, plain)


_publish("_foreach_norm", _foreach_norm, "The norm of each tensor of a list.")


def _foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    tensors = tensor_list("_foreach_powsum", "self", 1, self)
    order = number_argument("_foreach_powsum", "ord", 2, ord)
    check_lengths(tensors)
    with no_grad():
        results = [each.abs().pow(order).sum(dtype=dtype) for each in tensors]
    plain = {"name": "_foreach_powsum"}
    return joined("NotImplemented", "", results, [(tensors, 0)], plain)


_publish("_foreach_powsum", _foreach_powsum, "The sum of powers of each tensor of a list.")


# --- a list and one more argument ------------------------------------------------------------


def _expected(name: str, in_place: bool) -> list[str]:
    with_alpha = ", *, Number alpha = 1" if name in ("add", "sub") else ""
    found = []
    if name == "pow" and not in_place:
        found.append("(Number self, tuple of Tensors exponent)")
    for form in _BINARY[name]:
        argument = _ARGUMENTS[form]
        if name == "pow":
            argument = f"{argument.rpartition(' ')[0]} exponent"
        tail = with_alpha if form in ("Tensor", "List") else ""
        found.append(f"({SELF}, {argument}{tail})")
    return found


class _Chosen:
    """The overload that arguments choose, with its other argument for each tensor."""

    def __init__(self, name: str, full: str, self_: Any, other: Any, alpha: Any) -> None:
        forms = _BINARY[name]
        expected = _expected(name, full.endswith("_"))
        keywords = {} if alpha is None else {"alpha": alpha}
        if isinstance(self_, Tensor) or not isinstance(self_, list | tuple):
            raise refusal(full, (self_, other), expected, keywords)
        self.tensors = tensor_list(full, "self", 1, self_)
        form = form_of(other, name in ("mul", "div"), "Tensor" in forms)
        if form == "Scalar" and alpha is not None and isinstance(other, Tensor) and name == "add":
            form = "Tensor"
        if form is None or (alpha is not None and form not in ("List", "Tensor")):
            raise refusal(full, (self_, other), expected, keywords)
        self.form: str = form
        self.others = self._spread(other)
        self.options = {} if alpha is None else {"alpha": number_of(alpha)}
        self.columns: list[Any] = [(self.tensors, 0)]
        if form == "List":
            self.columns.append((other, 1))
        elif form == "Tensor":
            self.columns.append((other, 1))

    def _spread(self, other: Any) -> Sequence[Any]:
        """Return the other argument for each tensor."""
        if self.form == "List":
            check_lengths(self.tensors, other)
            return other
        if self.form == "ScalarList":
            check_scalars(self.tensors, other)
            return [number_of(each) for each in other]
        check_lengths(self.tensors)
        if self.form == "Tensor":
            if other._array.ndim:
                raise RuntimeError(
                    "scalar tensor expected to be 0 dim but it has "
                    f"{other._array.ndim} dimensions and {other._array.size} elements."
                )
            return [other] * len(self.tensors)
        return [number_of(other)] * len(self.tensors)


def _plain(name: str, form: str, others: Sequence[Any]) -> dict[str, Any]:
    """Return the numbers that a node shows as saved."""
    if name == "pow":
        return {"exponent": tuple(others)} if form == "ScalarList" else {}
    return {"scalar": others[0], "scalars": tuple(others)} if name in _OF_NUMBERS else {}


def _binary(name: str) -> None:
    full = f"_foreach_{name}"
    forms = _BINARY[name]

    def function(self: Any, other: Any, alpha: Any = None) -> tuple[Tensor, ...]:
        if name == "pow" and is_number(self) and isinstance(other, list | tuple):
            return _powers_of_number(number_of(self), other)
        chosen = _Chosen(name, full, self, other, alpha)
        results = []
        for each, by in zip(chosen.tensors, chosen.others, strict=True):
            if name in _OF_NUMBERS:
                pair = isinstance(by, Tensor)
                results.append(
                    _TWO_TENSORS[name](each, by) if pair else getattr(each, _OF_NUMBERS[name])(by)
                )
            else:
                results.append(getattr(each, name)(by, **chosen.options))
        node = f"Foreach{camel_case(name)}Backward{forms[chosen.form]}"
        plain = _plain(name, chosen.form, chosen.others)
        return joined(node, _SAVED.get(node, ""), results, chosen.columns, plain)

    def in_place(self: Any, other: Any, alpha: Any = None) -> Any:
        chosen = _Chosen(name, f"{full}_", self, other, alpha)
        for each, by in zip(chosen.tensors, chosen.others, strict=True):
            if name in _OF_NUMBERS:
                if isinstance(by, Tensor):
                    _TWO_TENSORS_IN_PLACE[name](each, by)
                else:
                    getattr(each, f"{_OF_NUMBERS[name]}_")(by)
            else:
                getattr(each, f"{name}_")(by, **chosen.options)
        return self

    _publish(full, _with_names(function, name), f"`{name}` of each tensor of a list.")
    _publish(f"{full}_", _with_names(in_place, name), f"`{name}_` of each tensor of a list.")


def _with_names(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the function with the keywords of all overloads: `other`, `scalar`, `scalars`."""
    if name == "pow":

        def power_of(self: Any, exponent: Any) -> Any:
            return function(self, exponent)

        return power_of

    def other_of(other: Any, scalar: Any, scalars: Any, full: str, self_: Any) -> Any:
        given = [each for each in (other, scalar, scalars) if each is not None]
        if len(given) != 1:
            raise refusal(full, (self_, *given), _expected(name, full.endswith("_")))
        return given[0]

    if name in ("add", "sub"):

        def with_alpha(
            self: Any,
            other: Any = None,
            *,
            scalar: Any = None,
            scalars: Any = None,
            alpha: Any = None,
        ) -> Any:
            full = with_alpha.__name__
            return function(self, other_of(other, scalar, scalars, full, self), alpha)

        return with_alpha

    def without_alpha(
        self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None
    ) -> Any:
        return function(self, other_of(other, scalar, scalars, without_alpha.__name__, self))

    return without_alpha


def _powers_of_number(base: Any, exponents: Any) -> tuple[Tensor, ...]:
    tensors = tensor_list("_foreach_pow", "exponent", 2, exponents)
    check_lengths(tensors)
    results = [power(base, each) for each in tensors]
    saved = "exponent result self"
    return joined("ForeachPowBackward2", saved, results, [(tensors, -1)], {"self": base})


for _name in _BINARY:
    _binary(_name)


def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> tuple[Tensor, ...]:
    first = tensor_list("_foreach_mm", "self", 1, self)
    second = tensor_list("_foreach_mm", "mat2", 2, mat2)
    if len(first) != len(second):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    check_lengths(first)
    results = [mm(left, right) for left, right in zip(first, second, strict=True)]
    return joined("ForeachMmBackward0", "mat2 self", results, [(first, 0), (second, 1)], {})


_publish("_foreach_mm", _foreach_mm, "Matrix products of the pairs of two lists.")


def _foreach_copy_(
    self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False
) -> Sequence[Tensor]:
    tensors = tensor_list("_foreach_copy_", "self", 1, self)
    sources = tensor_list("_foreach_copy_", "src", 2, src)
    check_lengths(tensors, sources)
    for each, source in zip(tensors, sources, strict=True):
        each.copy_(source, non_blocking)
    return self


_publish("_foreach_copy_", _foreach_copy_, "Copy each tensor of a list into one of another.")


# --- three lists -----------------------------------------------------------------------------


def _values(tensors: Sequence[Tensor], value: Any, full: str, given: Any) -> tuple[str, list[Any]]:
    """Return the overload of `addcmul` or `addcdiv` that its last argument chooses, and numbers."""
    if isinstance(value, Tensor):
        if value._array.ndim != 1:
            raise RuntimeError(
                "Expected packed scalar Tensor to be of dimension 1. Got "
                f"{value._array.ndim} instead."
            )
        if len(value._array) != len(tensors):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {len(tensors)} but got "
                f"{len(value._array)} instead."
            )
        return "Tensor", value.tolist()
    if isinstance(value, list | tuple) and all(map(is_number, value)):
        check_scalars(tensors, value)
        return "ScalarList", [number_of(each) for each in value]
    if is_number(value):
        return "Scalar", [number_of(value)] * len(tensors)
    three = f"({SELF}, tuple of Tensors tensor1, tuple of Tensors tensor2, "
    endings = ("tuple of Scalars scalars)", "Tensor scalars)", "Number value = 1)")
    raise refusal(full, given, [three + each for each in endings])


def _ternary(name: str) -> None:
    full = f"_foreach_{name}"

    def read(full: str, self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        lists = [
            tensor_list(full, argument, position, each)
            for position, (argument, each) in enumerate(
                (("self", self), ("tensor1", tensor1), ("tensor2", tensor2)), 1
            )
        ]
        check_lengths(*lists)
        return lists, *_values(lists[0], value, full, (self, tensor1, tensor2, value))

    def function(
        self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> tuple[Tensor, ...]:
        lists, form, numbers = read(
            full, self, tensor1, tensor2, value if scalars is None else scalars
        )
        results = [
            getattr(each, name)(first, second, value=by)
            for each, first, second, by in zip(*lists, numbers, strict=True)
        ]
        columns = [(each, nr) for nr, each in enumerate(lists)]
        node = f"Foreach{camel_case(name)}Backward0{form}"
        node = "NotImplemented" if form == "Tensor" else node
        return joined(node, "", results, columns, {"name": full})

    def in_place(
        self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> Any:
        lists, _, numbers = read(
            f"{full}_", self, tensor1, tensor2, value if scalars is None else scalars
        )
        for each, first, second, by in zip(*lists, numbers, strict=True):
            getattr(each, f"{name}_")(first, second, value=by)
        return self

    _publish(full, function, f"`{name}` of each tensor of a list.")
    _publish(f"{full}_", in_place, f"`{name}_` of each tensor of a list.")


for _name in ("addcmul", "addcdiv"):
    _ternary(_name)


def _weights(full: str, self: Any, tensors1: Any, weight: Any) -> Any:
    """Return the lists of `lerp`, the overload, and the weight for each tensor."""
    form = form_of(weight, False, False)
    lists = (self, tensors1)
    good = all(isinstance(each, list | tuple) for each in lists)
    if form is None or not good:
        two = f"({SELF}, tuple of Tensors tensors1, "
        endings = ("Number weight)", "tuple of Scalars weight)", "tuple of Tensors weights)")
        raise refusal(full, (self, tensors1, weight), [two + each for each in endings])
    tensor_list(full, "self", 1, self)
    tensor_list(full, "tensors1", 2, tensors1)
    if form == "List":
        check_lengths(self, tensors1, weight)
        return form, weight
    check_lengths(self, tensors1)
    if form == "ScalarList":
        check_scalars(self, weight)
        return form, [number_of(each) for each in weight]
    return form, [number_of(weight)] * len(self)


def _foreach_lerp(
    self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None
) -> tuple[Tensor, ...]:
    given = weight if weights is None else weights
    form, by = _weights("_foreach_lerp", self, tensors1, given)
    results = [each.lerp(to, part) for each, to, part in zip(self, tensors1, by, strict=True)]
    columns = [(self, 0), (tensors1, 1)]
    if form == "List":
        columns.append((by, 2))
    node = f"ForeachLerpBackward{1 if form == 'List' else 0}{form}"
    return joined(node, "", results, columns, {})


def _foreach_lerp_(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
    _, by = _weights("_foreach_lerp_", self, tensors1, weight if weights is None else weights)
    for each, to, part in zip(self, tensors1, by, strict=True):
        each.lerp_(to, part)
    return self


_publish("_foreach_lerp", _foreach_lerp, "`lerp` of each tensor of a list.")
_publish("_foreach_lerp_", _foreach_lerp_, "`lerp_` of each tensor of a list.")

globals().update(_functions)
__all__ = sorted(_functions)
