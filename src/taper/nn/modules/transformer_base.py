"""What the layers of a Transformer share: masks, activations, the feed-forward part."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from taper.nn import functional as F
from taper.nn.modules.dropout import Dropout
from taper.nn.modules.linear import Linear
from taper.nn.modules.module import Module
from taper.nn.modules.normalization import LayerNorm
from taper.ops.creation.filled import full
from taper.ops.shape.triangle import triu
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device

Activation = str | Callable[[Tensor], Tensor]


def _causal_mask(size: int, device: Device = None, dtype: DType | None = None) -> Tensor:
    """Return the mask with -inf above the diagonal, 0 elsewhere."""
    return triu(full((size, size), -math.inf, dtype=dtype, device=device), 1)


def _sequence_length(sequence: Tensor, batch_first: bool) -> int:
    shape = sequence.shape
    return shape[1 if batch_first and len(shape) != 2 else 0]


def _is_causal(mask: Tensor | None, said: bool | None, size: int) -> bool:
    """Tell whether a mask is the causal one: as said, or by looking if nothing is said."""
    if said is not None or mask is None:
        return said is True
    causal = _causal_mask(size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    found: Callable[[Tensor], Tensor] = getattr(F, activation)
    return found


class _Layer(Module):
    """Base of both layers, which end with a linear map, an activation, and a linear map back."""

    __constants__ = ["norm_first"]  # noqa: RUF012 - as PyTorch's
    activation: Any

    def _add_feed_forward(
        self, width: int, inner: int, dropout: float, bias: bool, factory: dict[str, Any]
    ) -> None:
        self.linear1 = Linear(width, inner, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(inner, width, bias=bias, **factory)

    def _add_norms(
        self, count: int, width: int, eps: float, dropout: float, bias: bool, factory: Any
    ) -> None:
        for nr in range(1, count + 1):
            self.add_module(f"norm{nr}", LayerNorm(width, eps=eps, bias=bias, **factory))
        for nr in range(1, count + 1):
            self.add_module(f"dropout{nr}", Dropout(dropout))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # pickled before there was a choice
            self.activation = F.relu

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        result: Tensor = self.dropout1(found[0])
        return result

    def _ff_inner(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return result
