"""Causal biases for `scaled_dot_product_attention`, which need no memory for a mask."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from taper import dtypes
from taper.ops.attention.scaled import scaled_dot_product_attention
from taper.ops.creation.filled import empty, ones
from taper.ops.shape.triangle import tril
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Whether the diagonal of the mask starts in the upper left corner or ends in the lower right.

    >>> from taper.nn.attention.bias import CausalVariant
    >>> CausalVariant.LOWER_RIGHT
    <CausalVariant.LOWER_RIGHT: 2>
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """Stand for a causal mask as `attn_mask`; made by the two functions of this module.

    Nothing but attention takes such a bias: it has no elements of its own.

    Example:
        >>> from taper.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        made: CausalBias = empty(()).expand(int(variant), seq_len_q, seq_len_kv).as_subclass(cls)
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warn_user(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!"
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """Return the mask as a tensor of bools."""
        late = self.variant == CausalVariant.LOWER_RIGHT
        offset = self.seq_len_kv - self.seq_len_q if late else 0
        shape = (self.seq_len_q, self.seq_len_kv)
        return tril(ones(shape, device=device, dtype=dtypes.bool_), offset)

    @staticmethod
    def _dispatch(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: CausalBias,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Compute attention with such a bias."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        square = attn_mask.seq_len_q == attn_mask.seq_len_kv
        causal = square or attn_mask.variant == CausalVariant.UPPER_LEFT
        return scaled_dot_product_attention(
            query,
            key,
            value,
            None if causal else attn_mask._materialize(query.device),
            dropout_p,
            causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        # The public function wraps the one that the library calls.
        if getattr(func, "__wrapped__", func) is scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def _size(name: str, size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return size[0], size[1]


def causal_upper_left(*size: int) -> CausalBias:
    """Return the mask in which query i sees the keys 0 to i, as `is_causal=True` means it.

    Example:
        >>> from taper.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_size("causal_upper_left", size))


def causal_lower_right(*size: int) -> CausalBias:
    """Return the mask in which the last query sees all keys, the one before it all but one, ..."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_size("causal_lower_right", size))
