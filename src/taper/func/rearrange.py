"""`rearrange`: transposing, splitting and joining dimensions by a pattern that names them."""

from __future__ import annotations

import math
import warnings
from typing import Any

from taper.ops.shape.split import stack
from taper.tensor import Tensor

ELLIPSIS = "…"  # one character for the three dots


class DimensionBindError(Exception):
    """The lengths of a tensor do not fit a pattern."""


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """Return a tensor with its dimensions in another order, split or joined.

    Args:
        tensor: a tensor, or several, which are stacked first.
        pattern: the names of the dimensions before and after `->`.  `(a b)` is a dimension made of
            two; `...` stands for all dimensions without a name; `1` has length 1.
        axes_lengths: the lengths of dimensions by name; one of each group may be left out.

    >>> import taper
    >>> images = taper.ones(2, 6, 4)
    >>> taper.func.rearrange(images, "b (h h2) w -> b h2 (h w)", h2=3).shape
    torch.Size([2, 3, 8])
    """
    source: Tensor = tensor if isinstance(tensor, Tensor) else stack(tensor)
    left, right = _sides(pattern, axes_lengths)
    if source.dim() == 0:
        return source
    named = sum(1 for group in left if group != [ELLIPSIS])
    has_dots = [ELLIPSIS] in left
    if has_dots and source.dim() < named:
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be less than or equal to the number "
            f"of dimensions in the tensor ({source.dim()})"
        )
    if not has_dots and source.dim() != named:
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be equal to the number of dimensions "
            f"in the tensor ({source.dim()})"
        )
    hidden = [f"{ELLIPSIS}{nr}" for nr in range(source.dim() - named)]
    before, after = _spelled_out(left, hidden), _spelled_out(right, hidden)
    lengths = _lengths(before, source, axes_lengths)
    flat = [name for group in before for name in group]
    split = source.reshape([lengths[name] for name in flat])
    order = [name for group in after for name in group if name in lengths]
    turned = split.permute([flat.index(name) for name in order])
    found: Tensor = turned.reshape([math.prod(lengths.get(n, 1) for n in group) for group in after])
    return found


# --- reading a pattern -----------------------------------------------------------------------


def _sides(pattern: str, lengths: dict[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    (left, left_names), (right, right_names) = _groups(parts[0]), _groups(parts[1])
    if ELLIPSIS in right_names and ELLIPSIS not in left_names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(ELLIPSIS in group and len(group) > 1 for group in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if "unnamed" in left_names | right_names:
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if left_names != right_names:
        raise ValueError(
            "Identifiers only on one side of rearrange expression (should be on both): "
            f"{left_names ^ right_names}"
        )
    if set(lengths) - left_names:
        raise ValueError(
            f"Identifiers not found in rearrange expression: {set(lengths) - left_names}"
        )
    for value in lengths.values():
        if isinstance(value, str) or not hasattr(value, "__int__"):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(value)}")
    return left, right


def _groups(expression: str) -> tuple[list[list[str]], set[str]]:
    """Return the dimensions of one side, each a list of the names it is made of, and all names.

    A dimension of length 1 is an empty list.
    """
    if "." in expression:
        if "..." not in expression:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if expression.count("...") != 1 or expression.count(".") != 3:
            raise ValueError(
                "Expression may contain dots only inside ellipsis (...); only one ellipsis for "
                "tensor "
            )
        expression = expression.replace("...", ELLIPSIS)
    groups: list[list[str]] = []
    names: set[str] = set()
    inside: list[str] | None = None
    for token in _tokens(expression):
        if token == "(":
            if inside is not None:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            name = _checked_name(token, names)
            target = [] if inside is None else inside
            if name is not None:
                target.append(name)
            if inside is None:
                groups.append(target)
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")
    return groups, names


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    word = ""
    for letter in f"{expression} ":
        if letter in "() ":
            tokens += [word] if word else []
            tokens += [letter] if letter != " " else []
            word = ""
        elif letter.isalnum() or letter in f"_{ELLIPSIS}":
            word += letter
        else:
            raise ValueError(f"Unknown character '{letter}'")
    return tokens


def _checked_name(token: str, names: set[str]) -> str | None:
    """Return a name of a dimension; None for one of length 1."""
    if token in names:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    if token == "1":
        return None
    if token != ELLIPSIS and not token.isdecimal():
        problem = _problem(token)
        if problem:
            raise ValueError(f"Invalid axis identifier: {token}\n{problem}")
    names.add("unnamed" if token.isdecimal() else token)
    return token


def _problem(name: str) -> str:
    if not name.isidentifier():
        return "not a valid python identifier"
    if name[0] == "_" or name[-1] == "_":
        return "axis name should should not start or end with underscore"
    if name == "axis":
        warnings.warn(
            "It is discouraged to use 'axis' as an axis name and will raise an error in future",
            FutureWarning,
            stacklevel=5,
        )
    return ""


# --- lengths ---------------------------------------------------------------------------------


def _spelled_out(groups: list[list[str]], hidden: list[str]) -> list[list[str]]:
    """Return the dimensions, with those that the ellipsis stands for spelled out."""
    found: list[list[str]] = []
    for group in groups:
        if group == [ELLIPSIS]:
            found += [[name] for name in hidden]
        else:
            found.append(
                [each for name in group for each in (hidden if name == ELLIPSIS else [name])]
            )
    return found


def _lengths(groups: list[list[str]], source: Tensor, given: dict[str, Any]) -> dict[str, int]:
    """Return the length of every named dimension; one of each group follows from the others."""
    lengths: dict[str, int] = {}
    labels: dict[str, str] = {}
    for group, whole in zip(groups, source.shape, strict=True):
        for name in group:
            labels[name] = f"d{len(labels)}"
        known = {name: int(given[name]) for name in group if name in given}
        missing = [name for name in group if name not in known]
        product = math.prod(known.values())
        if len(missing) > 1:
            first, second = (labels[name] for name in missing[:2])
            raise DimensionBindError(
                f"cannot infer the sizes of two dimensions at once {first} and {second}"
            )
        if missing:
            if whole % product:
                shown = tuple(known.get(name, "?") for name in group)
                raise DimensionBindError(
                    f"inferred dimension does not evenly fit into larger dimension: {whole} vs "
                    f"{shown}"
                )
            known[missing[0]] = whole // product
        elif product != whole:
            pack = f"({', '.join(labels[name] for name in group)}{',' if len(group) == 1 else ''})"
            raise DimensionBindError(
                f"Dimension sizes to do not match ({whole} != {product}) when matching dimension "
                f"pack {pack}"
            )
        lengths.update(known)
    return lengths
