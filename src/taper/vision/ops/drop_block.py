"""DropBlock: whole squares, or cubes, of features are zeroed at random while training."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.creation.filled import empty
from taper.tensor import Tensor


def _dropped(
    input: Tensor, p: float, block_size: int, inplace: bool, eps: float, rank: int
) -> Tensor:
    sizes = input.shape[2:]
    block_size = min(block_size, *sizes)
    room = [size - block_size + 1 for size in sizes]
    rate = p
    for size, places in zip(sizes, room, strict=True):
        rate *= size / places
    rate /= block_size**rank
    noise = empty((*input.shape[:2], *room), dtype=input.dtype, device=input.device)
    noise.bernoulli_(rate)
    noise = F.pad(noise, [block_size // 2] * (2 * rank), value=0)
    pool: Any = F.max_pool2d if rank == 2 else F.max_pool3d
    edge = (block_size,) * rank
    noise = pool(noise, stride=(1,) * rank, kernel_size=edge, padding=block_size // 2)
    noise = 1 - noise
    scale = noise.numel() / (eps + noise.sum())
    return input.mul_(noise).mul_(scale) if inplace else input * noise * scale


def _is_off(input: Tensor, p: float, training: bool, rank: int) -> bool:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != rank + 2:
        raise ValueError(f"input should be {rank + 2} dimensional. Got {input.ndim} dimensions.")
    return not training or p == 0.0


def drop_block2d(
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-06,
    training: bool = True,
) -> Tensor:
    """Zero squares of features at random, a share `p` of all places.

    Args:
        input: features, (N, C, H, W).
        p: the share of places to zero.
        block_size: the side of a square.
        inplace: write into `input`.
        eps: avoids a division by 0.
        training: do nothing if false.

    >>> import taper
    >>> from taper.vision.ops import drop_block2d
    >>> drop_block2d(taper.ones(1, 1, 4, 4), 0.5, 2, training=False).sum()
    tensor(16.)
    """
    if _is_off(input, p, training, 2):
        return input
    return _dropped(input, p, block_size, inplace, eps, 2)


def drop_block3d(
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-06,
    training: bool = True,
) -> Tensor:
    """Zero cubes of features at random, a share `p` of all places.

    Args:
        input: features, (N, C, D, H, W).
        p: the share of places to zero.
        block_size: the side of a cube.
        inplace: write into `input`.
        eps: avoids a division by 0.
        training: do nothing if false.

    >>> import taper
    >>> from taper.vision.ops import drop_block3d
    >>> drop_block3d(taper.ones(1, 1, 4, 4, 4), 0.5, 2, training=False).sum()
    tensor(64.)
    """
    if _is_off(input, p, training, 3):
        return input
    return _dropped(input, p, block_size, inplace, eps, 3)


class DropBlock2d(nn.Module):
    """Do `drop_block2d` while training.

    >>> from taper.vision.ops import DropBlock2d
    >>> DropBlock2d(0.1, 3)
    DropBlock2d(p=0.1, block_size=3, inplace=False)
    """

    def __init__(
        self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06
    ) -> None:
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.p, self.block_size, self.inplace, self.eps, self.training)
        return drop_block2d(input, *settings)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, "
            f"inplace={self.inplace})"
        )


class DropBlock3d(DropBlock2d):
    """Do `drop_block3d` while training.

    >>> from taper.vision.ops import DropBlock3d
    >>> DropBlock3d(0.1, 3)
    DropBlock3d(p=0.1, block_size=3, inplace=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.p, self.block_size, self.inplace, self.eps, self.training)
        return drop_block3d(input, *settings)
