"""`nn.attention.flex_attention`: attention with a user's function of the scores.

PyTorch compiles such functions into kernels; here they say what to use instead.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["BlockMask", "create_block_mask", "create_mask", "flex_attention"]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: flex_attention needs a compiler, which taper does not have; build the mask as a "
        "tensor and use scaled_dot_product_attention."
    )


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Not there; raises NotImplementedError."""
    _refuse("flex_attention")


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Not there; raises NotImplementedError."""
    _refuse("create_block_mask")


def create_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Not there; raises NotImplementedError."""
    _refuse("create_mask")


class BlockMask:
    """Not there; raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BlockMask")
