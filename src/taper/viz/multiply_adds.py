"""How many multiply-adds an operator call makes, in the way torchinfo counts them.

Owns the formulas.  A matrix product or convolution counts one for each product that is summed, and
one for each bias that is added; a normalisation counts its parameters once for each sample, as
torchinfo does; everything else counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from taper.autograd.interception import Call
from taper.nn.parameter import Parameter
from taper.tensor import Tensor
from taper.utils.flop_counter import bmm_flop, conv_flop_count, mm_flop, sdpa_flop_count

__all__ = ["multiply_adds"]


def _size(value: Any) -> int:
    return prod(value.shape) if isinstance(value, Tensor) else 0


def _product(first: int, bias: bool) -> Callable[..., int]:
    """Count a matrix product whose factors begin at argument `first`."""

    def count(arguments: Any, result: Any) -> int:
        a, b = arguments[first].shape, arguments[first + 1].shape
        pairs = bmm_flop(a, b) if len(a) == 3 else mm_flop(a, b if len(b) == 2 else (*b, 1))
        return pairs // 2 + (_size(result) if bias else 0)

    return count


def _convolution(arguments: Any, result: Any) -> int:
    x, weight, bias = arguments[:3]
    transposed: bool = arguments[6]
    pairs = conv_flop_count(x.shape, weight.shape, result.shape, transposed) // 2
    return pairs + (0 if bias is None else _size(result))


def _recurrent(arguments: Any, result: Any) -> int:
    places = prod(arguments[0].shape[:-1])
    return places * sum(_size(each) for each in arguments[1:5])


def _attention(arguments: Any, result: Any) -> int:
    query, key, value = (each.shape for each in arguments[:3])
    return sdpa_flop_count(query, key, value) // 2


def _normalisation(arguments: Any, result: Any) -> int:
    parameters = [each for each in arguments[1:] if isinstance(each, Parameter)]
    return arguments[0].shape[0] * sum(map(_size, parameters)) if arguments[0].shape else 0


def _bias(arguments: Any, result: Any) -> int:
    """Count the addition of a bias that is not part of a product."""
    biases = [each for each in arguments[:2] if isinstance(each, Parameter) and each.dim() == 1]
    return _size(result) if biases else 0


def _trilinear(arguments: Any, result: Any) -> int:
    return _size(arguments[1]) * prod(arguments[0].shape[:-1])


_COUNTS: dict[str, Callable[..., int]] = {
    "mm": _product(0, False),
    "mv": _product(0, False),
    "bmm": _product(0, False),
    "addmm": _product(1, True),
    "addmv": _product(1, True),
    "baddbmm": _product(1, True),
    "addbmm": _product(1, True),
    "dot": lambda arguments, result: _size(arguments[0]),
    "add": _bias,
    "convolution": _convolution,
    "mkldnn_rnn_layer": _recurrent,
    "_rnn_layer": _recurrent,
    "_trilinear": _trilinear,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "native_batch_norm": _normalisation,
    "native_layer_norm": _normalisation,
    "native_group_norm": _normalisation,
}


def multiply_adds(call: Call, result: Any) -> int:
    """Return how many multiply-adds an operator call has made.

    >>> import taper
    >>> from taper.autograd.interception import intercepting
    >>> from taper.viz.multiply_adds import multiply_adds
    >>> def see(call, run):
    ...     result = run()
    ...     print(call.name, multiply_adds(call, result))
    ...     return result
    >>> with intercepting(see):
    ...     _ = taper.ones(2, 3) @ taper.ones(3, 5)
    mm 30
    """
    count = _COUNTS.get(call.op.name)
    return 0 if count is None else count(call.arguments, result)
