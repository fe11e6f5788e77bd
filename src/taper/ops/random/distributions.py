"""Random numbers with given parameters: filling in place, and functions of tensors of parameters.

The numbers are PyTorch's for the same seed (D8): `sampling` draws them.  A fill is a write in
place like any other, and what it overwrites gets the gradient zero.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.strides import Shape, refuse_overlap
from taper.device import CPU, strided
from taper.factory import (
    allocate,
    drawn_for,
    finish,
    integer,
    into,
    options,
    out_dtype,
    refuse,
    shape_argument,
)
from taper.opdef import LINEAR, Array, Op, composite, derivative, op, tangent_of
from taper.opdef.operands import broadcast_clash, invalid_combination
from taper.opdef.writes import compute_into, run_inplace
from taper.ops.random.draws import check_generator
from taper.sampling import continuous, discrete, integers
from taper.tensor import Tensor, array_of, wrap


def number(function: str, name: str, position: int, value: Any) -> Any:
    """Check that an argument is a number."""
    if isinstance(value, Tensor) and value._array.ndim == 0:
        return value._array.item()
    if isinstance(value, (bool, int, float, np.number)):
        return value
    refuse(function, name, position, "float", value)


def zeros(grad: Any) -> Any:
    """Make the gradient of what random numbers do not depend on."""
    if isinstance(grad, Tensor):
        return grad.new_zeros(grad.shape)
    return np.zeros_like(grad)


def zeros_of(grad: Any, shape: Shape) -> Any:
    """Make zeros in another shape."""
    if isinstance(grad, Tensor):
        return grad.new_zeros(shape)
    return np.zeros(shape, grad.dtype)


# --- filling in place ------------------------------------------------------------------------


def _shadow(node: str) -> Op:
    """Declare the operator behind a fill as autograd sees it: gradient and tangent become zero."""

    @op(name=f"fill_{node}", node=node, tangent=LINEAR, public=False, method=False)
    def overwritten(self: Array) -> Array:
        """Return zero, the tangent of numbers that are overwritten."""
        return np.zeros_like(self)

    @derivative(overwritten, wrt="self")
    def overwritten_self(grad):
        return zeros(grad)

    return overwritten.op


_NORMAL = _shadow("NormalBackward0")
_UNIFORM = _shadow("UniformBackward0")
_RANDOM = [_shadow(f"RandomBackward{number}") for number in (2, 1, 0)]  # by number of bounds
_BERNOULLI = _shadow("BernoulliBackward2")
_EXPONENTIAL = _shadow("ExponentialBackward0")
_GEOMETRIC = _shadow("GeometricBackward0")
_CAUCHY = _shadow("CauchyBackward0")
_LOG_NORMAL = _shadow("LogNormalBackward0")


@op(
    name="fill_bernoulli",
    node="BernoulliBackward1",
    tangent=LINEAR,
    saved_sizes={"p": ()},
    public=False,
    method=False,
)
def _bernoulli_by_tensor(self: Array, p: Array) -> Array:
    """Declare a fill by probabilities, which get the gradient zero, too."""
    return np.zeros_like(self)


@derivative(_bernoulli_by_tensor, wrt="self")
def _overwritten(grad):
    return zeros(grad)


@derivative(_bernoulli_by_tensor, wrt="p")
def _probabilities(grad, p_shape):
    return zeros_of(grad, p_shape)


def _fill(entry: Op, target: Tensor, write: Callable[[np.ndarray], Any], *others: Tensor) -> Tensor:
    """Write random numbers into a tensor, with all that a write in place requires."""

    def checked(array: np.ndarray) -> None:
        refuse_overlap(array)
        write(array)

    return run_inplace(entry, (target, *others), checked)


@composite(public=False, arrays=True)
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with normally distributed numbers, in place.

    Args:
        mean: mean of the distribution.
        std: standard deviation.
        generator: source of random numbers; by default the one that `manual_seed` seeds.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).normal_(mean=10, std=0.5)
        tensor([10.7705,  9.8533])
    """
    check_generator("normal_", generator)
    center, spread = number("normal_", "mean", 1, mean), number("normal_", "std", 2, std)

    def write(array: np.ndarray) -> None:
        continuous.normal_(array, center, spread, generator)

    return _fill(_NORMAL, self, write)


def _start(function: str, named: dict[str, Any], otherwise: Any) -> Any:
    """Read the argument `from`, which is a keyword of Python's and so cannot be a parameter."""
    for name in named:
        if name != "from":
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    return named.get("from", otherwise)


@composite(public=False, arrays=True)
def uniform_(
    self: Tensor, from_: float = 0, to: float = 1, *, generator: Any = None, **start: float
) -> Tensor:
    """Fill the tensor with numbers drawn evenly from an interval, in place.

    Args:
        from_, start: lower bound; `from` as a keyword.
        to: upper bound, which is not reached.
        generator: source of random numbers; by default the one that `manual_seed` seeds.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).uniform_(-1, 1)
        tensor([-0.0075,  0.5364])
    """
    check_generator("uniform_", generator)
    low = number("uniform_", "from", 1, _start("uniform_", start, from_))
    high = number("uniform_", "to", 2, to)

    def write(array: np.ndarray) -> None:
        continuous.uniform_(array, low, high, generator)

    return _fill(_UNIFORM, self, write)


@composite(public=False, arrays=True)
def random_(
    self: Tensor, *bounds: Any, to: Any = None, generator: Any = None, **start: int
) -> Tensor:
    """Fill the tensor with integers drawn evenly, in place.

    Args:
        bounds: `from, to`, or only `to` to begin at 0; without bounds all integers that the dtype
            can tell apart, from 0 on.
        to: integer above the highest, as a keyword.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        start: lowest integer, by the keyword `from`.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(3).random_(2, 5)
        tensor([4., 2., 4.])
    """
    check_generator("random_", generator)
    if start:
        bounds = (_start("random_", start, None), *bounds)
    given = bounds if to is None else (*bounds, to)
    if len(given) > 2 or not all(isinstance(each, int | np.integer | None) for each in given):
        raise invalid_combination("random_", bounds, _RANDOM_SIGNATURES)
    low, high = (None, None) if not given else (0, given[0]) if len(given) == 1 else given

    def write(array: np.ndarray) -> None:
        integers.random_(array, low, high, generator)

    return _fill(_RANDOM[len(given)], self, write)


_RANDOM_SIGNATURES = (
    "(*, torch.Generator generator = None)",
    "(int from, int to, *, torch.Generator generator = None)",
    "(int to, *, torch.Generator generator = None)",
)


@composite(public=False, arrays=True)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones, each with probability `p` (a number or a tensor), and zeros.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.empty(4).bernoulli_(0.5)
    tensor([0., 0., 1., 0.])
    """
    check_generator("bernoulli_", generator)
    if isinstance(p, Tensor):
        probabilities = p._array

        def write_each(array: np.ndarray) -> None:
            discrete.bernoulli_(array, probabilities, generator)

        return _fill(_bernoulli_by_tensor.op, self, write_each, p)
    chance = number("bernoulli_", "p", 1, p)

    def write(array: np.ndarray) -> None:
        discrete.bernoulli_(array, chance, generator)

    return _fill(_BERNOULLI, self, write)


@composite(public=False, arrays=True)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd`.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.empty(2).exponential_(2)
    tensor([1.7542, 0.6152])
    """
    check_generator("exponential_", generator)
    rate = number("exponential_", "lambd", 1, lambd)

    def write(array: np.ndarray) -> None:
        continuous.exponential_(array, rate, generator)

    return _fill(_EXPONENTIAL, self, write)


@composite(public=False, arrays=True)
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with numbers of trials until the first success of probability `p`.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.empty(3).geometric_(0.5)
    tensor([1., 1., 2.])
    """
    check_generator("geometric_", generator)
    chance = number("geometric_", "p", 1, p)

    def write(array: np.ndarray) -> None:
        discrete.geometric_(array, chance, generator)

    return _fill(_GEOMETRIC, self, write)


@composite(public=False, arrays=True)
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the Cauchy distribution.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.empty(2).cauchy_(1, 2)
    tensor([22.1955,  2.5295])
    """
    check_generator("cauchy_", generator)
    center, scale = number("cauchy_", "median", 1, median), number("cauchy_", "sigma", 2, sigma)

    def write(array: np.ndarray) -> None:
        continuous.cauchy_(array, center, scale, generator)

    return _fill(_CAUCHY, self, write)


@composite(public=False, arrays=True)
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithms are normally distributed.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.empty(2).log_normal_()
    tensor([59.2634,  1.5116])
    """
    check_generator("log_normal_", generator)
    center, spread = number("log_normal_", "mean", 1, mean), number("log_normal_", "std", 2, std)

    def write(array: np.ndarray) -> None:
        continuous.log_normal_(array, center, spread, generator)

    return _fill(_LOG_NORMAL, self, write)


# --- functions of tensors of parameters ------------------------------------------------------


@op(
    name="normal_mean",
    label="normal",
    node="NormalBackward1",
    public=False,
    method=False,
    complex_gradient=False,
)
def normal_mean(mean: Array, std: float, generator: Any) -> Array:
    """Draw normal numbers around the elements of `mean`."""
    return continuous.normal_from(mean, std, generator)


@op(
    name="normal_std",
    label="normal",
    node="NormalBackward2",
    public=False,
    method=False,
    complex_gradient=False,
)
def normal_std(mean: float, std: Array, generator: Any) -> Array:
    """Draw normal numbers with the elements of `std` as standard deviations."""
    return continuous.normal_from(mean, std, generator)


@op(
    name="normal_both",
    label="normal",
    node="NormalBackward3",
    public=False,
    method=False,
    complex_gradient=False,
)
def normal_both(mean: Array, std: Array, generator: Any) -> Array:
    """Draw normal numbers, each with its own mean and standard deviation."""
    continuous.check_deviations(std)
    clash = broadcast_clash([mean.shape, std.shape])
    if clash is not None:
        raise clash
    return continuous.normal_from(mean, std, generator)


@derivative(normal_mean, wrt="mean")
@derivative(normal_both, wrt="mean")
def normal_mean_gradient(grad, mean_shape):
    return zeros_of(grad, mean_shape)


@derivative(normal_std, wrt="std")
@derivative(normal_both, wrt="std")
def normal_std_gradient(grad, std_shape):
    return zeros_of(grad, std_shape)


@tangent_of(normal_mean)
@tangent_of(normal_std)
@tangent_of(normal_both)
def normal_tangent(result):
    return zeros(result.detach())


@composite(
    method=False,
    arrays=True,
    quick="drawn(new_filled(local.state, None, (size,), dtype, requires_grad, False, generator,"
    " out, layout, device, pin_memory), 'normal', mean, std, False)"
    " if type(mean) is type(std) is float and std >= 0.0 and type(size) is tuple else None",
)
def normal(
    mean: Any = None,
    std: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Draw normally distributed numbers, each with its mean and standard deviation.

    Args:
        mean: means, a tensor or a number.
        std: standard deviations, a tensor or a number.
        size: the lengths of the result, where both are numbers.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.
        dtype: dtype of the result, where both are numbers.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: `size`; the shape of `mean` and `std`, broadcast together, where one of them is a tensor.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.normal(taper.tensor([0.0, 100.0]), 1.0)
        tensor([ 1.5410, 99.7066])
        >>> taper.normal(0.0, 0.1, (2,))
        tensor([-0.2179,  0.0568])
    """
    check_generator("normal", generator)
    by_mean, by_std = isinstance(mean, Tensor), isinstance(std, Tensor)
    if by_mean or by_std:
        if size is not None or mean is None or dtype is not None:
            named = {} if dtype is None else {"dtype": dtype}
            raise invalid_combination("normal", _given(mean, std, size), _NORMAL_SIGNATURES, named)
        function = normal_both if by_mean and by_std else normal_mean if by_mean else normal_std
        if not by_mean:
            mean = number("normal", "mean", 1, mean)
        if not by_std:
            std = 1.0 if std is None else number("normal", "std", 2, std)
        if out is not None:
            return _normal_into(out, mean, std, generator)
        return function(mean, std, generator)
    if mean is not None and not isinstance(mean, (bool, int, float, np.number)):
        refuse("normal", "mean", 1, "Tensor", mean)
    if mean is None or std is None or size is None:
        raise invalid_combination("normal", _given(mean, std, size), _NORMAL_SIGNATURES)
    which, where = options("normal", dtype, layout, device or CPU, pin_memory)
    shape = shape_argument("normal", "size", 3, size)
    center, spread = number("normal", "mean", 1, mean), number("normal", "std", 2, std)

    if out is None:
        memory = allocate(shape, which.numpy, None, where)
        return finish(continuous.normal_(memory, center, spread, generator), requires_grad)
    out_dtype("normal", out, dtype, requires_grad)
    drawn = continuous.normal_(drawn_for(out, shape), center, spread, generator)
    return into(out, drawn, requires_grad)


def _normal_into(out: Any, mean: Any, std: Any, generator: Any) -> Tensor:
    """Write `normal` with a tensor of parameters into `out=`."""

    def draw(*parameters: Any) -> Tensor:
        center, spread = (array_of(each) for each in parameters)
        # A mean without deviations is spread over `out` as it is.
        over = array_of(out) if not isinstance(spread, np.ndarray) else spread
        shapes = [each.shape for each in (center, over) if isinstance(each, np.ndarray)]
        clash = broadcast_clash(shapes)
        if clash is not None:
            raise clash
        destination = drawn_for(out, np.broadcast_shapes(*shapes))
        return wrap(continuous.normal_from(center, spread, generator, destination))

    written: Tensor = compute_into("normal", draw, (mean, std), out)
    return written


def _given(*arguments: Any) -> list[Any]:
    return [each for each in arguments if each is not None]


_NORMAL_SIGNATURES = (
    "(Tensor mean, Tensor std, *, torch.Generator generator = None, Tensor out = None)",
    "(Tensor mean, float std = 1, *, torch.Generator generator = None, Tensor out = None)",
    "(float mean, Tensor std, *, torch.Generator generator = None, Tensor out = None)",
    "(float mean, float std, tuple of ints size, *, torch.Generator generator = None, Tensor out "
    "= None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, "
    "bool pin_memory = False, bool requires_grad = False)",
)


@op(name="bernoulli_each", label="bernoulli", node="BernoulliBackward0", public=False, method=False)
def bernoulli_each(self: Array, generator: Any) -> Array:
    """Draw ones with the elements as probabilities, and zeros."""
    return discrete.bernoulli_(np.empty(self.shape, self.dtype), self, generator)


@derivative(bernoulli_each, wrt="self")
def bernoulli_each_self(grad):
    return zeros(grad)


@op(name="bernoulli_all", label="bernoulli", node="NotImplemented", public=False, method=False)
def bernoulli_all(self: Array, p: float, generator: Any) -> Array:
    """Draw ones with one probability, and zeros, in the shape of a tensor."""
    return discrete.bernoulli_(np.empty(self.shape, self.dtype), p, generator)


@derivative(bernoulli_all, wrt="self")
def bernoulli_all_self(grad):
    raise RuntimeError("derivative for aten::bernoulli is not implemented")


@composite()
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Any = None, out: Tensor | None = None
) -> Tensor:
    """Draw ones and zeros: each element is 1 with its own probability.

    Args:
        input: tensor of probabilities in [0, 1].
        p: one probability for all; only the shape of `input` counts then.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.bernoulli(taper.tensor([0.0, 0.5, 1.0]))
        tensor([0., 0., 1.])
    """
    if not isinstance(input, Tensor):
        refuse("bernoulli", "input", 1, "Tensor", input)
    check_generator("bernoulli", generator)
    if p is not None:
        if out is not None:
            raise invalid_combination("bernoulli", (input, p), _BERNOULLI_SIGNATURES)
        return bernoulli_all(input, number("bernoulli", "p", 2, p), generator)
    if out is not None:
        return compute_into("bernoulli", bernoulli_each, (input, generator), out)
    return bernoulli_each(input, generator)


_BERNOULLI_SIGNATURES = (
    "(Tensor input, *, torch.Generator generator = None, Tensor out = None)",
    "(Tensor input, float p, *, torch.Generator generator = None)",
)


@op(name="poisson_each", label="poisson", node="PoissonBackward0", public=False, method=False)
def poisson_each(self: Array, generator: Any) -> Array:
    """Draw counts of events with the elements as rates."""
    return discrete.poisson(self, generator)


@derivative(poisson_each, wrt="self")
def poisson_each_self(grad):
    return zeros(grad)


@tangent_of(bernoulli_each)
@tangent_of(poisson_each)
def counts_tangent(result):
    return zeros(result.detach())


@composite(method=False)
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Draw counts of events, each with the rate at its place in `input`.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.poisson(taper.tensor([1.0, 10.0, 100.0])).shape
    torch.Size([3])
    """
    check_generator("poisson", generator)
    if not isinstance(input, Tensor):
        refuse("poisson", "input", 1, "Tensor", input)
    return poisson_each(input, generator)


@op(name="multinomial_rows", label="multinomial", public=False, method=False)
def multinomial_rows(self: Array, num_samples: int, replacement: bool, generator: Any) -> Array:
    """Draw indices with the elements of each row as weights."""
    return np.ascontiguousarray(discrete.multinomial(self, num_samples, replacement, generator))


def _integers_only(out: np.ndarray, result: np.ndarray) -> None:
    if out.dtype != result.dtype:
        name = dtypes.FROM_NUMPY[out.dtype].scalar_type
        raise RuntimeError(f"multinomial expects Long tensor out, got: {name}")


@composite()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Draw indices of categories, weighted.

    Args:
        input: weights of the categories, not negative; they need not sum to 1.
        num_samples: how many indices are drawn for each row.
        replacement: whether an index may be drawn again.
        generator: source of random numbers; by default the one that `manual_seed` seeds.
        out: tensor that receives the result.

    Shape: (c,) gives (num_samples,), (n, c) gives (n, num_samples); the result is int64.

    Example:
        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.multinomial(taper.tensor([0.0, 10.0, 3.0, 0.0]), 2).sort().values
        tensor([1, 2])
    """
    if not isinstance(input, Tensor):
        refuse("multinomial", "input", 1, "Tensor", input)
    count = integer("multinomial", "num_samples", 2, num_samples)
    check_generator("multinomial", generator)
    arguments = (input, count, replacement, generator)
    if out is not None:
        return compute_into("multinomial", multinomial_rows, arguments, out, _integers_only)
    return multinomial_rows(*arguments)
