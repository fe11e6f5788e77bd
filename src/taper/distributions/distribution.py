"""Distribution: the base class; shapes, checks of parameters and values, unimplemented methods.

Knows constraints and tensors, no distribution.
"""

from __future__ import annotations

from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.utils import lazy_property
from taper.size import Size
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["Distribution"]

NO_SHAPE = Size()  # of a single draw
Shape = Size | list[int] | tuple[int, ...]


def _is_all_true(valid: Any) -> bool:
    """Return whether a check found nothing wrong."""
    if not isinstance(valid, Tensor):
        raise TypeError(
            "_is_all_true(): argument 'input' (position 1) must be Tensor, not "
            f"{type(valid).__name__}"
        )
    return bool(valid._array.all())


class Distribution:
    """Base class of all distributions.

    `batch_shape` is the shape of the parameters, each element an independent distribution;
    `event_shape` is the shape of one draw from one of them.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one draw.
        validate_args: whether parameters are checked at construction and values in `log_prob` and
            `cdf`; by default as `set_default_validate_args` says, at first True.

    >>> import taper
    >>> taper.distributions.Normal(taper.zeros(2), 1.0).batch_shape
    torch.Size([2])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args: bool = __debug__

    _batch_shape: Size
    _event_shape: Size

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether parameters and values are checked by default.

        >>> import taper
        >>> taper.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = NO_SHAPE,
        event_shape: Size = NO_SHAPE,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        """Raise if a given parameter violates its constraint."""
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warn_user(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation."
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from the given parameters
            value = getattr(self, name)
            if not _is_all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same distribution with its parameters expanded to a larger batch.

        Args:
            batch_shape: the shape to expand to.
        """
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw, without batching."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint that each parameter must satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint | None:
        """The constraint that the values of the distribution satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """Where the density is largest."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        """Return a draw, or `sample_shape` of them; nothing is recorded.

        Args:
            sample_shape: the shape in front of batch and event.
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        """Return a draw that is a differentiable function of the parameters.

        Args:
            sample_shape: the shape in front of batch and event.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Return `n` draws; deprecated, use `sample((n,))`."""
        warn_user(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a draw of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the inverse of `cdf` at `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution along a new first dimension.

        Args:
            expand: expand the values over the batch.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = NO_SHAPE) -> Size:
        """Return the shape of `sample_shape` draws."""
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise if `value` cannot be a draw: no tensor, a wrong shape, out of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        self._validate_sample_shape(value.shape)
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{self.__class__} does not define `support` to enable sample validation. "
                "Please initialize the distribution with `validate_args=False` to turn off "
                "validation."
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not _is_all_true(support.check(value)):
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _validate_sample_shape(self, actual: Size) -> None:
        event_start = len(actual) - len(self._event_shape)
        if actual[event_start:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{actual} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for one, other in zip(reversed(actual), reversed(expected), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{actual} vs {expected}."
                )

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """Return an object for `expand` to fill; a subclass with its own `__init__` must help."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = (
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in ((name, self.__dict__[name]) for name in names)
        )
        return f"{self.__class__.__name__}({', '.join(shown)})"
