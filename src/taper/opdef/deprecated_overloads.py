"""Numbers before the tensors, as programs wrote them until PyTorch 1.4: `p.add_(-lr, grad)`.

Owns: which operators accept that, what it means, and the one warning.  `compiler` gives these
operators a rest of positional arguments, which costs a call 5 ns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taper.tensor import Tensor
from taper.userwarning import warn_once

if TYPE_CHECKING:
    from taper.opdef import Op

NAMES = frozenset("add sub addcmul addcdiv addmm addmv addr addbmm baddbmm".split())


def run_deprecated(
    op: Op, arguments: tuple[Any, ...], out: Tensor | None = None, inplace: bool = False
) -> Any:
    """Call an operator that got too many positional arguments because numbers are among them."""
    function = op.inplace_name if inplace else op.name
    placed = _placed(op, arguments)
    if placed is None:
        count = sum(not each.keyword_only for each in op.params)
        raise TypeError(
            f"{function}() takes {count} positional arguments but {len(arguments)} were given"
        )
    tensors, numbers = placed
    is_method = inplace or (len(op.keyword_names) == 2 and isinstance(arguments[0], Tensor))
    warn_once(_warning(op, function, is_method, list(numbers)), once="a deprecated overload")
    if inplace:
        if not isinstance(tensors[0], Tensor):
            raise TypeError(f"{function}(): argument 'self' must be Tensor")
        return getattr(tensors[0], function)(*tensors[1:], **numbers)
    more = {} if out is None else {"out": out}
    return op.function(*tensors, **numbers, **more)


def _placed(op: Op, arguments: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the tensors in order, and the numbers by name; None if no deprecated overload fits."""
    names = op.keyword_names
    needed = len(op.params) - len(names)
    first, *others = arguments
    numbers = []
    if len(names) == 2 and _is_number(first):  # `addmm(beta, input, alpha, ...)`
        numbers, (first, *others) = [first], others
    while others and _is_number(others[0]) and len(numbers) < len(names):
        numbers.append(others.pop(0))
    if not numbers or 1 + len(others) != needed:
        return None
    plain = [each.item() if isinstance(each, Tensor) else each for each in numbers]
    return [first, *others], dict(zip(names, plain, strict=False))


def _is_number(value: Any) -> bool:
    return not isinstance(value, Tensor) or (value.dim() == 0 and not value.requires_grad)


def _warning(op: Op, function: str, is_method: bool, numbers: list[str]) -> str:
    tensors = [f"Tensor {each.public_name}" for each in op.params if not each.keyword_only]
    first, others = ([], tensors[1:]) if is_method else (tensors[:1], tensors[1:])
    given = [f"Number {each}" for each in numbers]
    before = [] if is_method or len(op.keyword_names) == 1 else [given.pop(0)]
    out = [] if is_method else ["Tensor out = None"]
    old = [*before, *first, *given, *others, *(["*", *out] if out else [])]
    new = [*first, *others, "*", *(f"Number {each} = 1" for each in op.keyword_names), *out]
    return (
        f"This overload of {function} is deprecated:\n\t{function}({', '.join(old)})\n"
        "Consider using one of the following signatures instead:\n\t"
        f"{function}({', '.join(new)})"
    )
