"""Cuts: why a tensor requires no gradient although something that it was computed from does.

Owns: the record of where a history ended, and the sentence for the error that says so.

A tensor that requires no gradient has a false `_requires_grad`.  Where a history was cut, that
false value is a Cut, which later results inherit.  So the answer is known when `backward()` fails,
at a cost of 10 ns for an unrecorded operation and no memory.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from taper.autograd.meta import ASK
from taper.autograd.provenance import describe, user_frame
from taper.tensor import Tensor, wrap


class Cut(tuple[()]):
    """A false value that knows where a history ended.

    It is an empty tuple, because Python tests the truth of one as quickly as that of False.
    """

    origin: tuple[str, CodeType | None, int]  # the reason, and the user's line if there is one


def cut_here(reason: str) -> Cut:
    """Return the record of a history that ends at the user's line that is running."""
    frame = user_frame(sys._getframe(1))
    cut = Cut()
    cut.origin = reason, frame.f_code, frame.f_lasti
    return cut


# Where histories end in user code that a backward pass calls.
IN_BACKWARD = Cut()
IN_BACKWARD.origin = "a backward pass, which records only with create_graph=True", None, 0


def cut_of(tensor: Tensor) -> Any:
    """Return where the history of a tensor without gradient ended; False if it had none."""
    flag = tensor._requires_grad
    while flag is ASK:
        tensor = tensor._view.base
        flag = tensor._requires_grad
    return False if flag else flag


def without_gradient(name: str, source: Tensor) -> Any:
    """Return the flag of a result that an operator without a derivative made from `source`."""
    return cut_here(f"{name}(), whose result has no gradient,") if source.requires_grad else False


def unrecorded(array: Any, *sources: Any) -> Tensor:
    """Return a result of tensors of which none turned out to require a gradient."""
    tensor = wrap(array)
    for each in sources:
        if isinstance(each, Tensor) and cut_of(each) is not False:
            tensor._requires_grad = cut_of(each)
            break
    return tensor


def explanation(tensor: Tensor) -> str:
    """Return why `tensor` requires no gradient, as a line to append to an error."""
    cut = cut_of(tensor)
    if cut is not False:
        reason, code, offset = cut.origin
        place = "" if code is None else f" at {describe((code, offset))}"
        return f"\nIts history ends at {reason}{place}"
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return f"\nIt is of {tensor.dtype}, which has no gradients."
    return (
        "\nNothing that it was computed from requires grad: it is made of constants, of values "
        "taken out by item() or numpy(), or of parameters that have requires_grad=False."
    )
