"""Transform, the base class of transforms, and the inverse of a transform.

Knows constraints and operators; no particular transform.
"""

from __future__ import annotations

from typing import Any

from taper.distributions import constraints
from taper.dtypes import finfo
from taper.ops.elementwise.clamping import clamp
from taper.ops.elementwise.unary import sigmoid
from taper.tensor import Tensor


class Transform:
    """Base of transforms: a subclass gives `domain`, `codomain`, `_call`, perhaps the rest.

    `bijective` says whether `t.inv(t(x)) == x` and `t(t.inv(y)) == y` both hold; `sign` whether an
    elementwise transform rises (+1) or falls (-1).

    Args:
        cache_size: 1 keeps the last input and output, so that inverting a value it has just made is
            exact and free; 0 keeps nothing.

    >>> import taper
    >>> from taper.distributions import ExpTransform
    >>> exponential = ExpTransform()
    >>> exponential.inv(exponential(taper.tensor([1.0, 2.0])))
    tensor([1.0000, 2.0000])
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size == 1:
            self._cached_x_y: tuple[Any, Any] = None, None
        elif cache_size != 0:
            raise ValueError("cache_size must be 0 or 1")
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_inv": None}

    @property
    def event_dim(self) -> Any:
        """How many dimensions an event has, if it is the same before and after."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse transform: `t.inv.inv is t`."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """+1 or -1, or a tensor of them, if the transform is elementwise and monotone."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return this transform, or one like it with that cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Any) -> Any:
        """Return the value at `x`."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        """Return the value of the inverse at `y`."""
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log |det dy/dx| at the input `x`; its output `y` is given to save work."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape of the output for an input of `shape`."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape of the input for an output of `shape`."""
        return shape


class _InverseTransform(Transform):
    """The inverse of another transform, which uses the other's cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> Any:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class PlainTransform(Transform):
    """A transform without parameters: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


def require_dims(shape: Any, least: int) -> None:
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


def with_event_dim(constraint: Any, dims: int) -> Any:
    """Return the constraint with batch dimensions joined until events have `dims`."""
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


def clipped_sigmoid(x: Tensor) -> Tensor:
    """Return the sigmoid, kept away from 0 and 1 so that its inverse is finite."""
    limits = finfo(x.dtype)
    return clamp(sigmoid(x), min=limits.tiny, max=1.0 - limits.eps)
