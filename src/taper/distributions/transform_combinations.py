"""Transforms made of other transforms, and of the shape of events."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from taper.distributions import constraints
from taper.distributions.transform_base import Transform, require_dims, with_event_dim
from taper.distributions.utils import _sum_rightmost, lazy_property
from taper.ops.creation.filled import zeros_like
from taper.ops.shape.split import cat, stack
from taper.size import Size
from taper.tensor import Tensor


class ComposeTransform(Transform):
    """Transforms one after the other, the first of the list first.

    Args:
        parts: the transforms.
        cache_size: as in `Transform`.

    >>> import taper
    >>> from taper.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])(taper.tensor([0.0]))
    tensor([3.])
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        return with_event_dim(first, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        return with_event_dim(self.parts[-1].codomain, dims)

    @lazy_property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Any:
        if self._inv is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            inverse._inv = self
            self._inv = inverse
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        # Every part's volume change is summed over the dimensions that are events of the whole.
        terms, dims = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            change = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(change, dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{self.__class__.__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform, whose last batch dimensions count as dimensions of its events.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: how many dimensions.
        cache_size: as in `Transform`.

    >>> import taper
    >>> from taper.distributions import ExpTransform, IndependentTransform
    >>> x = taper.tensor([1.0, 2.0])
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        change = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(change, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        arguments = f"{self.base_transform!r}, {self.reinterpreted_batch_ndims}"
        return f"{self.__class__.__name__}({arguments})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


def _require_transforms(parts: Sequence[Any]) -> None:
    if not all(isinstance(each, Transform) for each in parts):
        raise AssertionError("All elements of tseq must be Transform instances")


def _require_length(name: str, value: Tensor, dim: int, length: int, what: str) -> None:
    """Raise unless `value` has a dimension `dim` of that length."""
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"dim {dim} out of range for tensor with {value.dim()} dimensions")
    if value.size(dim) != length:
        raise AssertionError(f"{name}.size({dim}) = {value.size(dim)} must equal {what} {length}")


class CatTransform(Transform):
    """Transforms of consecutive parts of a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: the length of each part; 1 by default.
        cache_size: as in `Transform`.

    >>> import taper
    >>> from taper.distributions import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(taper.zeros(3))
    tensor([1., 0., 0.])
    """

    event_dim: Any = None

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        _require_transforms(tseq)
        if cache_size:
            tseq = [each.with_cache(cache_size) for each in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )
        self.dim = dim
        self.event_dim = max(each.event_dim for each in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The length of the whole dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Tensor) -> Iterator[Any]:
        start = 0
        for length in self.lengths:
            yield value.narrow(self.dim, start, length)
            start += length

    def _call(self, x: Any) -> Any:
        _require_length("x", x, self.dim, self.length, "length")
        pairs = zip(self.transforms, self._parts(x), strict=True)
        return cat([each(part) for each, part in pairs], self.dim)

    def _inverse(self, y: Any) -> Any:
        _require_length("y", y, self.dim, self.length, "length")
        pairs = zip(self.transforms, self._parts(y), strict=True)
        return cat([each.inv(part) for each, part in pairs], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        _require_length("x", x, self.dim, self.length, "length")
        _require_length("y", y, self.dim, self.length, "length")
        changes = []
        for each, before, after in zip(
            self.transforms, self._parts(x), self._parts(y), strict=True
        ):
            change = each.log_abs_det_jacobian(before, after)
            changes.append(_sum_rightmost(change, self.event_dim - each.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return cat(changes, dim) if dim < 0 else sum(changes)

    @property
    def bijective(self) -> Any:
        return all(each.bijective for each in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Transforms of the slices along a dimension.

    Args:
        tseq: a transform for each slice.
        dim: the dimension.
        cache_size: as in `Transform`.

    >>> import taper
    >>> from taper.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform], dim=-1)(taper.zeros(3, 2))
    tensor([[1., 0.],
            [1., 0.],
            [1., 0.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        _require_transforms(tseq)
        if cache_size:
            tseq = [each.with_cache(cache_size) for each in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, name: str, value: Tensor) -> list[Any]:
        _require_length(name, value, self.dim, len(self.transforms), "len(transforms)")
        return [value.select(self.dim, each) for each in range(value.size(self.dim))]

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._slices("x", x), strict=True)
        return stack([each(part) for each, part in pairs], self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._slices("y", y), strict=True)
        return stack([each.inv(part) for each, part in pairs], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        parts = zip(self.transforms, self._slices("x", x), self._slices("y", y), strict=True)
        changes = [each.log_abs_det_jacobian(before, after) for each, before, after in parts]
        return stack(changes, self.dim)

    @property
    def bijective(self) -> Any:
        return all(each.bijective for each in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([each.codomain for each in self.transforms], self.dim)


class ReshapeTransform(Transform):
    """Gives events another shape.

    Args:
        in_shape: the shape of an event.
        out_shape: its new shape.
        cache_size: as in `Transform`.

    >>> import taper
    >>> taper.distributions.ReshapeTransform((2, 3), (6,))(taper.zeros(4, 2, 3)).shape
    torch.Size([4, 6])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _exchange_end(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchange_end(shape, self.out_shape, self.in_shape)


def _exchange_end(shape: Any, old: Size, new: Size) -> Any:
    """Return `shape` with `new` instead of `old` at its end."""
    require_dims(shape, len(old))
    start = len(shape) - len(old)
    if shape[start:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[start:]} but got {old}")
    return shape[:start] + new
