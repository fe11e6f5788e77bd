"""assert_close: whether two results are equal up to rounding, and where they are not.

Owns: how nested values are taken apart into pairs, and the comparison of two numbers.
`_tensor_pair` compares two tensors, `_messages` has the texts of failures.

The whole structure is checked first (a missing key, values that cannot be compared); then the pairs
are compared in order, and the first that fails raises.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.ops.creation.data import as_tensor, tensor
from taper.tensor import Tensor
from taper.testing._messages import Path, at_path, scalar_mismatch, unexpected
from taper.testing._tensor_pair import TensorLikePair
from taper.testing._tolerances import Options, tolerances, tolerances_of_old
from taper.userwarning import warn_user


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless `actual` is `expected` up to a tolerance.

    Elements may differ by `atol + rtol * abs(expected)`.

    Args:
        actual: a tensor, NumPy array or number, or a sequence or mapping of these.
        expected: the same for comparison.
        allow_subclasses: whether the two may be of related classes.
        rtol: the relative tolerance; given together with `atol`, else the dtype decides.
        atol: the absolute tolerance.
        equal_nan: whether two NaN are equal.
        check_device, check_dtype, check_layout, check_stride: whether these must agree.
        msg: the text of the error, or a function that makes it from the usual one.

    >>> import taper
    >>> taper.testing.assert_close([taper.ones(2)], [taper.tensor([1.0, 3.0])])
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.6666666865348816 at index (1,) (up to 1.3e-06 allowed)
    <BLANKLINE>
    The failure occurred for item [0]
    """
    __tracebackhide__ = True
    options = Options(rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    for pair in list(_pairs(actual, expected, (), options, allow_subclasses)):
        problem = _problem(pair)
        if problem is not None:
            text = at_path(problem, pair.path)
            raise AssertionError(
                msg(text) if callable(msg) else msg if isinstance(msg, str) else text
            )


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Compare as `assert_close` with wider tolerances and any dtypes; deprecated.

    Args:
        actual: a tensor, or what `tensor` accepts.
        expected: the same for comparison.
        rtol: the relative tolerance; given together with `atol`, else the dtype decides.
        atol: the absolute tolerance.
        equal_nan: whether two NaN are equal.
        msg: the text of the error.

    >>> import taper
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     taper.testing.assert_allclose(taper.tensor([1.0]), [1.00001])
    """
    __tracebackhide__ = True
    warn_user(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = tolerances_of_old(actual.dtype, expected.dtype)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


# --- pairs -----------------------------------------------------------------------------------


def _pairs(
    actual: Any, expected: Any, path: Path, options: Options, subclasses: bool
) -> Iterator[Any]:
    """Yield the pairs of values that are to be compared, in order."""
    kinds = (actual, expected)
    keys: Sequence[Any]
    if all(isinstance(each, Sequence) and not isinstance(each, str) for each in kinds):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise AssertionError(at_path(text, path))
        keys = range(len(actual))
    elif all(isinstance(each, Mapping) for each in kinds):
        keys = _common_keys(actual, expected, path)
    else:
        yield _pair(actual, expected, path, options, subclasses)
        return
    for key in keys:
        yield from _pairs(actual[key], expected[key], (*path, key), options, subclasses)


def _common_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: Path) -> list[Any]:
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        text = (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing)}\n"
            f"Additional keys in the actual mapping: {sorted(additional)}"
        )
        raise AssertionError(at_path(text, path))
    try:
        return sorted(actual)
    except TypeError:  # keys that cannot be ordered
        return list(actual)


def _pair(actual: Any, expected: Any, path: Path, options: Options, subclasses: bool) -> Any:
    """Return the first kind of pair that can take the two values."""
    if actual is None or expected is None:
        return NonePair(path, actual, expected)
    if _both(actual, expected, (bool, np.bool_)):
        return BooleanPair(path, actual, expected)
    if _both(actual, expected, (int, float, complex, np.number)):
        return NumberPair(path, actual, expected, options)
    if _are_related(actual, expected, subclasses):
        try:
            converted = as_tensor(actual), as_tensor(expected)
        except Exception:
            pass
        else:
            return TensorLikePair(path, *converted, options)
    text = (
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    )
    raise TypeError(at_path(text, path))


def _both(actual: Any, expected: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(actual, kinds) and isinstance(expected, kinds)


def _are_related(actual: Any, expected: Any, subclasses: bool) -> bool:
    if not subclasses:
        return type(actual) is type(expected)
    return isinstance(actual, type(expected)) or isinstance(expected, type(actual))


def _problem(pair: Any) -> str | None:
    """Return what is wrong with a pair, or None."""
    try:
        text: str | None = pair.problem()
    except Exception as error:
        raise RuntimeError(unexpected(f"Comparing\n\n{pair}")) from error
    return text


class NonePair:
    """Two values of which at least one is None."""

    def __init__(self, path: Path, actual: Any, expected: Any) -> None:
        self.path, self.actual, self.expected = path, actual, expected

    def problem(self) -> str | None:
        if self.actual is None and self.expected is None:
            return None
        return f"None mismatch: {self.actual} is not {self.expected}"


class BooleanPair(NonePair):
    """Two truth values."""

    def problem(self) -> str | None:
        if bool(self.actual) is bool(self.expected):
            return None
        return f"Booleans mismatch: {bool(self.actual)} is not {bool(self.expected)}"


class NumberPair:
    """Two numbers, compared with the tolerances of the dtypes that Python's types stand for."""

    DTYPES = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}  # noqa: RUF012

    def __init__(self, path: Path, actual: Any, expected: Any, options: Options) -> None:
        self.path, self.options = path, options
        self.actual, self.expected = (
            each.item() if isinstance(each, np.number) else each for each in (actual, expected)
        )
        try:
            known = [self.DTYPES[type(each)] for each in (self.actual, self.expected)]
        except KeyError as error:  # a bool beside a number, a subclass of int
            where = "".join(f"[{each!r}]" for each in path)
            raise RuntimeError(
                unexpected(
                    f"Originating a NumberPair() at item {where} with\n\n"
                    f"{type(actual).__name__}(): {actual}\n\nand\n\n"
                    f"{type(expected).__name__}(): {expected}"
                )
            ) from error
        self.rtol, self.atol = tolerances(options, known, path)

    def problem(self) -> str | None:
        actual, expected = self.actual, self.expected
        if self.options.check_dtype and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        if self._is_close():
            return None
        return scalar_mismatch(actual, expected, self.rtol, self.atol)

    def _is_close(self) -> bool:
        actual, expected = self.actual, self.expected
        if actual == expected:
            return True
        if self.options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return True
        difference = abs(actual - expected)
        return cmath.isfinite(difference) and difference <= self.atol + self.rtol * abs(expected)

    def __repr__(self) -> str:
        return self.options.shown(
            self, "actual expected rtol atol", "equal_nan check_dtype", self.path
        )
