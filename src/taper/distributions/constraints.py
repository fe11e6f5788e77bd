"""Constraints: sets that parameters and values of distributions must lie in.

`check` says for each event of a tensor whether it lies in the set.  Knows operators, but no
distribution.

Long because: there are thirty constraints, and each that users make has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.dtypes import bool_ as boolean_dtype
from taper.dtypes import finfo
from taper.ops.creation.filled import full
from taper.ops.elementwise.compare import isclose
from taper.ops.linalg.cholesky import linalg_cholesky_ex
from taper.ops.linalg.eigen import linalg_eigvalsh
from taper.ops.linalg.norms import linalg_vector_norm
from taper.ops.shape.split import cat as join
from taper.ops.shape.split import stack as pile
from taper.tensor import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values; the last `event_dim` dimensions make one element of it.

    >>> import taper
    >>> taper.distributions.constraints.positive.check(taper.tensor([-1.0, 1.0]))
    tensor([False,  True])
    """

    # Classes are private and instances public: `repr` shows the name without the underscore.
    _shown: tuple[str, ...] = ()
    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Return for each event of `value` whether it satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{self.__class__.__name__[1:]}({shown})"


# --- constraints that depend on other values -------------------------------------------------


class _Dependent(Constraint):
    """Stands for a support that depends on parameters; may still know common properties.

    >>> from taper.distributions import constraints
    >>> constraints.dependent(is_discrete=True).is_discrete
    True
    """

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> Any:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """Return a copy that knows more."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Return whether a constraint stands for one that depends on parameters.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> constraints.is_dependent(taper.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of objects that is a dependent constraint when read from their class.

    >>> from taper.distributions import constraints
    >>> class Upto:
    ...     def __init__(self, bound):
    ...         self.bound = bound
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.interval(0, self.bound)
    >>> Upto(2.0).support, constraints.is_dependent(Upto.support)
    (Interval(lower_bound=0, upper_bound=2.0), True)
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        """Return this property for a function: the second half of a decorator."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# --- constraints made of others --------------------------------------------------------------


def _require_constraint(base: Any) -> None:
    if not isinstance(base, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base).__name__}")


def _require_dims(value: Tensor, least: int) -> None:
    if value.dim() < least:
        raise ValueError(f"Expected value.dim() >= {least} but got {value.dim()}")


def _all_of_events(valid: Tensor, kept: int) -> Tensor:
    """Join all dimensions after the first `kept` ones: an event is valid if all of it is."""
    return valid.reshape((*valid.shape[:kept], -1)).all(-1)


class _IndependentConstraint(Constraint):
    """The last batch dimensions of another constraint as dimensions of its events.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> rows = constraints.independent(constraints.positive, 1)
    >>> rows.check(taper.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        _require_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                "reinterpreted_batch_ndims must be an int, got "
                f"{type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value)
        if valid.dim() < self.reinterpreted_batch_ndims:
            _require_dims(value, self.base_constraint.event_dim + self.reinterpreted_batch_ndims)
        return _all_of_events(valid, valid.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        name = self.__class__.__name__[1:]
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The values that satisfy the constraint of every component of a mixture.

    The components lie along the last batch dimension of `base_constraint`.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(taper.tensor([1.0]))
    tensor([True])
    """

    def __init__(self, base_constraint: Any) -> None:
        _require_constraint(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        _require_dims(value, self.event_dim)
        return _all_of_events(valid, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


def _require_constraints(parts: Sequence[Any]) -> None:
    if not all(isinstance(each, Constraint) for each in parts):
        raise AssertionError("All elements of cseq must be Constraint instances")


def _require_dim(dim: int, value: Tensor) -> None:
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"dim {dim} out of range for value with {value.dim()} dimensions")


class _Cat(Constraint):
    """Constraints of consecutive parts of a dimension.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> parts = [constraints.positive, constraints.real]
    >>> constraints.cat(parts, lengths=[1, 2]).check(taper.tensor([-1.0, -1.0, 2.0]))
    tensor([False,  True,  True])
    """

    def __init__(
        self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        _require_constraints(cseq)
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})"
            )
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(each.event_dim for each in self.cseq)

    def check(self, value: Any) -> Any:
        _require_dim(self.dim, value)
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return join(checks, self.dim)


class _Stack(Constraint):
    """Constraints of the slices along a dimension.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> both = constraints.stack([constraints.positive, constraints.real])
    >>> both.check(taper.tensor([[-1.0, 1.0], [-1.0, 2.0]]))
    tensor([[False,  True],
            [ True,  True]])
    """

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        _require_constraints(cseq)
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> Any:
        largest = max(each.event_dim for each in self.cseq)
        return largest + 1 if self.dim + largest < 0 else largest

    def check(self, value: Any) -> Any:
        _require_dim(self.dim, value)
        slices = (value.select(self.dim, each) for each in range(value.size(self.dim)))
        checks = [each.check(part) for part, each in zip(slices, self.cseq, strict=False)]
        return pile(checks, self.dim)


# --- numbers ---------------------------------------------------------------------------------


class _Boolean(Constraint):
    """Zero or one."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """Every number but NaN."""

    def check(self, value: Any) -> Any:
        return value == value


class _Lower(Constraint):
    """A constraint with a lower bound."""

    _shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Upper(Constraint):
    """A constraint with an upper bound."""

    _shown = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(Constraint):
    """A constraint with both."""

    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


class _GreaterThan(_Lower):
    """Larger than a bound.

    >>> import taper
    >>> taper.distributions.constraints.greater_than(1.0).check(taper.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Lower):
    """Not smaller than a bound.

    >>> import taper
    >>> taper.distributions.constraints.greater_than_eq(1.0).check(taper.tensor([1.0, 2.0]))
    tensor([True, True])
    """

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Upper):
    """Smaller than a bound.

    >>> import taper
    >>> taper.distributions.constraints.less_than(1.0).check(taper.tensor([1.0, 0.0]))
    tensor([False,  True])
    """

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from one bound to another, both included.

    >>> import taper
    >>> taper.distributions.constraints.interval(0.0, 1.0).check(taper.tensor([0.0, 1.0, 2.0]))
    tensor([ True,  True, False])
    """

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from one bound to another, the upper one excluded.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> constraints.half_open_interval(0.0, 1.0).check(taper.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    """Integers from one bound to another, both included.

    >>> import taper
    >>> taper.distributions.constraints.integer_interval(0, 2).check(taper.tensor([0.0, 0.5, 2.0]))
    tensor([ True, False,  True])
    """

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Upper):
    """Integers up to a bound, which is included."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Lower):
    """Integers from a bound on, which is included."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


# --- vectors ---------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of nonnegative numbers that sum to one."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that sum to at most `upper_bound`: the number of trials may differ.

    >>> import taper
    >>> from taper.distributions import constraints
    >>> constraints.multinomial(3).check(taper.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# --- matrices --------------------------------------------------------------------------------


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        is_lower = lower_triangular.check(value)
        return is_lower & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: their rows have length one, up to rounding."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = linalg_vector_norm(value.detach(), dim=-1)
        is_unit = ((lengths - 1).abs() <= tolerance).all(-1)
        return lower_cholesky.check(value) & is_unit


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        is_square = value.shape[-2] == value.shape[-1]
        return full(value.shape[:-2], is_square, dtype=boolean_dtype)


class _Symmetric(_Square):
    """Matrices equal to their transposes, up to rounding."""

    def check(self, value: Any) -> Any:
        squares = super().check(value)
        if not squares.all():
            return squares
        return isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetrics = super().check(value)
        if not symmetrics.all():
            return symmetrics
        return (linalg_eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with a Cholesky factor."""

    def check(self, value: Any) -> Any:
        symmetrics = super().check(value)
        if not symmetrics.all():
            return symmetrics
        return linalg_cholesky_ex(value).info == 0


# --- the public names ------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
