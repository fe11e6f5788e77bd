"""Whether the indices of sparse tensors are checked, and gradcheck for functions of them."""

from __future__ import annotations

import functools
from typing import Any

from taper.ops.sparse.checking import of_elements
from taper.ops.sparse.invariants import state
from taper.tensor import Tensor


class check_sparse_tensor_invariants:
    """Switch the checks of indices: as a context, a decorator, or by its static methods.

    Args:
        enable: whether to check within the block.

    Example:
        >>> import taper
        >>> with taper.sparse.check_sparse_tensor_invariants():
        ...     taper.sparse_coo_tensor([[5]], [1.0], (2,))
        Traceback (most recent call last):
        RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Tell whether indices are checked."""
        return state.enabled

    @staticmethod
    def enable() -> None:
        """Check indices from now on."""
        state.enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check indices from now on."""
        state.enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state, state.enabled = state.enabled, self.state

    def __exit__(self, *error: Any) -> None:
        state.enabled, self.saved_state = bool(self.saved_state), None

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def checked(*args: Any, **named: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **named)

        return checked


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """Return a `gradcheck` that also takes sparse tensors, which it moves by their elements.

    Args:
        gradcheck: the function to extend.

    Example:
        >>> import taper
        >>> check = taper.sparse.as_sparse_gradcheck(taper.autograd.gradcheck)
        >>> x = taper.eye(2).double().to_sparse().requires_grad_()
        >>> check(lambda each: taper.sparse.mm(each, taper.ones(2, 1).double()), (x,))
        True
    """

    def checked(func: Any, inputs: Any, **options: Any) -> bool:
        given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        options.pop("masked", None)
        return bool(gradcheck(*of_elements(func, given), **options))

    return checked
