"""Attention on the device: one kernel forward and two back, none of which writes the scores.

Owns: which calls the kernels of `kernels/attention.cu` take, and how their arrays lie.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from taper.gpu.array import CudaArray, address, empty, empty_strided, root_block
from taper.gpu.ops import own
from taper.gpu.texts import BFLOAT16, TYPES

_FLASH = "_scaled_dot_product_flash_attention_for_cpu"
_SINGLE = np.dtype(np.float32)
_KINDS = {_SINGLE: "", np.dtype(np.float16): "f16", BFLOAT16: "bf16"}
_WIDEST = 128
_ROWS, _TILE = 64, 32  # as in the kernels


def _takes(query: Any, key: Any, value: Any, dropout_p: float, mask: Any) -> bool:
    return (
        not dropout_p
        and mask is None
        and query.__class__ is CudaArray
        and query.ndim == 4
        and query.dtype is key.dtype is value.dtype
        and query.dtype in _KINDS
        and query.shape[:2] == key.shape[:2]
        and query.size > 0
        and key.size > 0
        and value.shape[-1] == query.shape[-1] <= _WIDEST
    )


def _with_rows(array: Any) -> Any:
    """The array, or a copy, whose rows are each in one piece."""
    return array if array.strides[3] == array.itemsize else array.copy()


_orders: dict[Any, tuple[int, ...]] = {}


def _alike(array: Any) -> Any:
    """A new array, laid out as `np.empty_like` does it."""
    shape, strides = array.shape, array.strides
    found = _orders.get((shape, strides))
    if found is None:
        made = np.empty_like(array)
        _orders[shape, strides] = made.strides
        return made
    return empty_strided(shape, found, array.dtype)


def _by_places(array: Any) -> Any:
    """A new array, laid out place by place and then head by head, as gradients lie."""
    batch, heads, places, width = array.shape
    return empty((batch, places, heads, width), array.dtype).transpose(0, 2, 1, 3)


def _gradients(query: Any, key: Any, value: Any) -> Any:
    """New arrays for gradients: side by side, if what they are the gradients of is parts of one."""
    is_one = query.shape == key.shape and root_block(query) is root_block(key) is root_block(value)
    if not is_one:
        return [_by_places(each) for each in (query, key, value)]
    batch, heads, places, width = query.shape
    whole = empty((batch, places, 3, heads, width), query.dtype)
    return [whole[:, :, nr].transpose(0, 2, 1, 3) for nr in range(3)]


_plans: dict[Any, tuple[Any, int]] = {}
_layouts: dict[Any, tuple[bool, bytes]] = {}


class _Call:
    """What the three kernels are given alike: arrays by their names in `Lying`."""

    _NAMES = ("query", "key", "value", "out", "grad", "query_out", "key_out", "value_out")

    def __init__(self, kernels: Any, is_causal: bool, scale: float | None, **arrays: Any) -> None:
        self.kernels = kernels
        query, key = arrays["query"], arrays["key"]
        batch, heads, self.rows, self.width = query.shape
        self.length, self.count, self.dtype = key.shape[2], batch * heads, query.dtype
        factor = 1 / math.sqrt(self.width) if scale is None else scale
        sizes = (self.count, heads, self.rows, self.length)
        form = (self.width, self.dtype, *[each.strides for each in arrays.values()])
        found = _layouts.get(form)
        if found is None:
            found = _layouts[form] = self._lying(arrays)
        self.whole = found[0] and not any([address(each) % 16 for each in arrays.values()])
        self.last = (found[1], *sizes, np.float64(factor), int(is_causal))

    def _lying(self, arrays: dict[str, Any]) -> tuple[bool, bytes]:
        """Whether rows begin at multiples of 16 bytes, and all steps as the kernels take them."""
        item = self.dtype.itemsize
        whole = self.width * item % 16 == 0 and all(
            [step % 16 == 0 for each in arrays.values() for step in each.strides[:3]]
        )
        steps: list[int] = []
        for name in self._NAMES:
            strides = arrays[name].strides[:3] if name in arrays else (0, 0, 0)
            steps += [step // item for step in strides]
        return whole, struct.pack("24q", *steps)

    def run(self, name: str, length: int, tiles: int, *args: Any) -> None:
        """Launch a kernel with a block for each 64 of some rows, and room for so many tiles."""
        key = (name, self.dtype, self.width, self.whole)
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = self._plan(name, tiles)
        function, shared = plan
        blocks = (length + _ROWS - 1) // _ROWS * self.count
        self.kernels.launch(function, blocks, 128, (*args, *self.last), shared)

    def _plan(self, name: str, tiles: int) -> tuple[Any, int]:
        width, is_half = -(-self.width // 16) * 16, self.dtype.itemsize == 2
        macros = {"T": TYPES[self.dtype][0], "WIDTH": width, "USED": self.width}
        macros |= {"WHOLE": int(self.whole), "HALF": int(is_half)}
        function = self.kernels.named("attention", name, **macros, KIND=f'"{_KINDS[self.dtype]}"')
        return function, tiles * _TILE * (width + (8 if is_half else 4)) * self.dtype.itemsize


@own(_FLASH)
def attention(
    kernels: Any,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """Attend; also return the logarithms of the sums of the rows."""
    if not _takes(query, key, value, dropout_p, attn_mask):
        return NotImplemented
    out = _alike(query)
    query, key, value = map(_with_rows, (query, key, value))
    call = _Call(kernels, is_causal, scale, query=query, key=key, value=value, out=out)
    logarithms = empty(query.shape[:3], _SINGLE)
    call.run("attend", call.rows, 4, out, logarithms, query, key, value)
    return out, logarithms


@own(f"{_FLASH}_backward")
def attention_gradients(
    kernels: Any,
    grad: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logarithms: Any,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """The gradients of query, key and value."""
    if not _takes(query, key, value, dropout_p, attn_mask):
        return NotImplemented
    if grad.dtype is not query.dtype or not logarithms.flags.c_contiguous:
        return NotImplemented
    found = for_query, for_key, for_value = _gradients(query, key, value)
    given = grad, query, key, value, out = list(map(_with_rows, (grad, query, key, value, out)))
    arrays = dict(zip(("grad", "query", "key", "value", "out"), given, strict=True))
    results = dict(zip(("query_out", "key_out", "value_out"), found, strict=True))
    call = _Call(kernels, is_causal, scale, **arrays, **results)
    dots = empty(query.shape[:3], _SINGLE)
    call.run("attend_backward_queries", call.rows, 6, for_query, dots, *given, logarithms)
    args = (for_key, for_value, grad, query, key, value, logarithms, dots)
    call.run("attend_backward_keys", call.length, 6, *args)
    return tuple(found)
