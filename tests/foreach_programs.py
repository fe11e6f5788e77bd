"""Programs over lists of tensors, for taper alone and against PyTorch.

Each is a function of a package and a maker of tensors (see `both_packages`).
"""

from __future__ import annotations

from typing import Any

UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
    reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()
BINARY = "add sub mul div clamp_max clamp_min maximum minimum pow".split()
OTHERS = ("2.0", "2", "other", "[0.5, 2.0]", "torch.tensor(1.5)", "[1.0]", "other[:1]", "'a'", "()")


def between(make: Any, low: float = 0.1, high: float = 0.8) -> Any:
    """Return leaves with values between two numbers, where every function has a derivative."""
    leaves = [make(2, 3), make(4)]
    for each in leaves:
        each.data = low + (high - low) * each.detach().sigmoid()
    return leaves


def unary(name: str) -> Any:
    def program(torch: Any, make: Any) -> Any:
        return getattr(torch, f"_foreach_{name}")(between(make))

    return program


def unary_in_place(name: str) -> Any:
    def program(torch: Any, make: Any) -> Any:
        tensors = [each * 1 for each in between(make)]
        result = getattr(torch, f"_foreach_{name}_")(tensors)
        return (*tensors, *result) if result is not tensors else tensors

    return program


def binary(name: str, other: str, in_place: bool = False) -> Any:
    def program(torch: Any, make: Any) -> Any:
        tensors, second = between(make), between(make, 1.0, 2.0)
        given = eval(other, {"torch": torch, "other": second})
        if not in_place:
            return getattr(torch, f"_foreach_{name}")(tensors, given)
        tensors = [each * 1 for each in tensors]
        getattr(torch, f"_foreach_{name}_")(tensors, given)
        return tensors

    return program


def written(text: str) -> Any:
    """Return a program from an expression of `torch`, lists `a`, `b`, `c` and a maker."""

    def program(torch: Any, make: Any) -> Any:
        a, b, c = between(make), between(make), between(make)
        return eval(text, {"torch": torch, "make": make, "a": a, "b": b, "c": c})

    return program


EXPRESSIONS = [
    "torch._foreach_add(a, b, alpha=2)",
    "torch._foreach_sub(a, b, alpha=2)",
    "torch._foreach_add(a, 2.0, alpha=2)",
    "torch._foreach_add(a, scalar=3)",
    "torch._foreach_add(a, scalars=[1.0, 2.0])",
    "torch._foreach_pow(2.0, a)",
    "torch._foreach_addcmul(a, b, c)",
    "torch._foreach_addcmul(a, b, c, 2.0)",
    "torch._foreach_addcmul(a, b, c, [2.0, 3.0])",
    "torch._foreach_addcdiv(a, b, c, value=2.0)",
    "torch._foreach_addcdiv(a, b, c, [2.0])",
    "torch._foreach_addcdiv(a, b, c[:1])",
    "torch._foreach_addcdiv(a, 2, c)",
    "torch._foreach_addcdiv(a, b, c, torch.tensor(1.0))",
    "torch._foreach_lerp(a, b, 0.5)",
    "torch._foreach_lerp(a, b, [0.5, 0.25])",
    "torch._foreach_lerp(a, b, c)",
    "torch._foreach_lerp(a, b[:1], 0.5)",
    "torch._foreach_norm(a)",
    "torch._foreach_norm(a, 1)",
    "torch._foreach_norm(a, float('inf'))",
    "torch._foreach_norm([torch.empty(0)], float('inf'))",
    "torch._foreach_norm(a, 'a')",
    "torch._foreach_max(a)",
    "torch._foreach_max([torch.empty(0)])",
    "torch._foreach_mm([make(2, 3)], [make(3, 2)])",
    "torch._foreach_mm([make(2, 3)], [make(3, 2), make(1, 1)])",
    "torch._foreach_clone(a)",
    "torch._foreach_abs([])",
    "torch._foreach_abs(a[0])",
    "torch._foreach_abs([1.0])",
    "torch._foreach_exp_(a)",
    "torch._foreach_copy_([torch.zeros(2)], [torch.ones(2), torch.ones(2)])",
    "torch._foreach_copy_([torch.zeros(2)], [torch.ones(2)])",
    "torch._foreach_zero_([torch.ones(2)])",
    "[each.detach() for each in torch._foreach_powsum(a)]",
]
