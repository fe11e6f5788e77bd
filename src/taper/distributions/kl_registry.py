"""Which function computes the Kullback-Leibler divergence of two distributions.

Owns: the table of registered pairs of classes and the choice among them.  Knows no distribution but
the base class; the pairs are in `kl_same` and `kl_mixed`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import total_ordering
from typing import Any, TypeVar

from taper.distributions.distribution import Distribution
from taper.tensor import Tensor
from taper.userwarning import warn_user

Formula = TypeVar("Formula", bound=Callable[[Any, Any], Any])

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Return a decorator: the function computes `kl_divergence` of these classes and subclasses.

    Of several functions that fit, the most special one is called.  If the two arguments do not
    agree on which that is, there is a warning, and the first argument decides.

    Args:
        type_p: the class of the first distribution.
        type_q: that of the second.

    >>> import taper
    >>> from taper.distributions import Normal, kl_divergence, register_kl
    >>> class Standard(Normal):
    ...     pass
    >>> @register_kl(Standard, Standard)
    ... def zero(p, q):
    ...     return taper.zeros(())
    >>> kl_divergence(Standard(0.0, 1.0), Standard(0.0, 1.0))
    tensor(0.)
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) and issubclass(given, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def decorator(function: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()  # another function may be the most special one now
        return function

    return decorator


@total_ordering
class _Match:
    """A tuple of classes, ordered by how special they are, the first class first."""

    __slots__ = ["types"]

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: _Match) -> bool:
        for mine, theirs in zip(self.types, other.types, strict=False):
            if not issubclass(mine, theirs):
                return False
            if mine is not theirs:
                break
        return True


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """Return the most special function for two classes, or NotImplemented."""
    matches = [
        (super_p, super_q)
        for super_p, super_q in _KL_REGISTRY
        if issubclass(type_p, super_p) and issubclass(type_q, super_q)
    ]
    if not matches:
        return NotImplemented
    left_p, left_q = min(_Match(*each) for each in matches).types
    right_q, right_p = min(_Match(*reversed(each)) for each in matches).types
    by_p, by_q = _KL_REGISTRY[left_p, left_q], _KL_REGISTRY[right_p, right_q]
    if by_p is not by_q:
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            category=RuntimeWarning,
        )
    return by_p


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence `E_p[log p(x) - log q(x)]`, of the batch's shape.

    Args:
        p: a distribution.
        q: a distribution of a class for which a pair with `p`'s is registered.

    >>> import taper
    >>> from taper.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(taper.tensor([0.0, 1.0]), 1.0))
    tensor([0.0000, 0.5000])
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(
            "No KL(p || q) is implemented for "
            f"p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)
