"""`nn.attention.flex_attention`: attention with a user's functions of scores and of masks.

PyTorch compiles these functions into kernels; here they run over all scores at once, by `vmap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from taper import dtypes
from taper.func.vmap import vmap
from taper.ops.creation.filled import zeros
from taper.ops.creation.ranges import arange
from taper.tensor import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """What else `flex_attention` shall return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What else `flex_attention` returned: logarithms of the sums, and the largest scores."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


# --- functions of masks ----------------------------------------------------------------------


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Let every position see every other."""
    return batch.new_ones((), dtype=dtypes.bool_)


def _combined(masks: tuple[MaskMod, ...], combine: Callable[[Tensor, Tensor], Tensor]) -> MaskMod:
    if not all(callable(each) for each in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")

    def mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
        found = masks[0](batch, head, token_q, token_kv)
        for each in masks[1:]:
            found = combine(found, each(batch, head, token_q, token_kv))
        return found

    return mask


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask of positions that all masks let see each other.

    >>> import taper
    >>> from taper.nn.attention.flex_attention import and_masks, create_mask
    >>> causal = lambda b, h, q, kv: q >= kv
    >>> near = lambda b, h, q, kv: q - kv < 2
    >>> create_mask(and_masks(causal, near), None, None, 3, 3).int()[0, 0]
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """
    return _combined(mask_mods, lambda one, other: one & other)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask of positions that some mask lets see each other."""
    return _combined(mask_mods, lambda one, other: one | other)


def _over_places(function: Callable[..., Any], scores: bool) -> Callable[..., Any]:
    """Return the function for all batches, heads and positions: vmap over each of them."""
    before = (0,) if scores else ()
    for place in (3, 2, 1, 0):
        dims = tuple(0 if nr == place else None for nr in range(4))
        function = vmap(function, in_dims=(*before, *dims))
    return function


def _places(*counts: int) -> tuple[Tensor, ...]:
    return tuple(arange(count) for count in counts)


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """Return the tensor of a function of masks, or of what a function of scores makes of zeros.

    Args:
        mod_fn: takes (batch, head, query, key), or before these a score.
        B, H: the numbers of batches and heads; None for one that stands for all.
        Q_LEN, KV_LEN: the numbers of positions.
    """
    counts = (B or 1, H or 1, Q_LEN, KV_LEN)
    if mod_fn.__code__.co_argcount - len(mod_fn.__defaults__ or ()) == 5:
        found = _over_places(mod_fn, True)(zeros(counts), *_places(*counts))
        return found > float("-inf")
    return _over_places(mod_fn, False)(*_places(*counts)).expand(counts)


# --- masks by blocks -------------------------------------------------------------------------


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each row of blocks how many there are, and their numbers, those first."""
    counts = blocks.sum(-1).to(dtypes.int32)
    order = blocks.to(dtypes.int32).argsort(-1, descending=True, stable=True)
    return counts, order.to(dtypes.int32)


def _ordered(counts: Tensor, indices: Tensor) -> Tensor:
    """Return the blocks that counts and numbers stand for; the opposite of `_listed`."""
    chosen = arange(indices.shape[-1]) < counts.unsqueeze(-1)
    blocks = zeros(indices.shape, dtype=dtypes.bool_)
    return blocks.scatter(-1, indices.to(dtypes.int64), chosen)


class BlockMask:
    """A mask by blocks: which blocks of keys each block of queries sees in part, and which wholly.

    >>> import taper
    >>> from taper.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 4, 4, BLOCK_SIZE=2)
    >>> mask.shape, mask.kv_num_blocks.tolist(), mask.sparsity()
    ((1, 1, 4, 4), [[[1, 1]]], 25.0)
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        q_num_blocks: Tensor | None = None,
        q_indices: Tensor | None = None,
        full_q_num_blocks: Tensor | None = None,
        full_q_indices: Tensor | None = None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: MaskMod = noop_mask,
        **orders: Any,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """Return the mask of numbers of blocks of keys for each block of queries."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        blocks = _ordered(kv_num_blocks, kv_indices)
        of_queries: Any = (None, None)
        full: Any = (None, None)
        if compute_q_blocks:
            of_queries = _listed(blocks.transpose(-2, -1))
        if full_kv_num_blocks is not None and full_kv_indices is not None and compute_q_blocks:
            full = _listed(_ordered(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        if seq_lengths is None:
            seq_lengths = (blocks.shape[-2] * size[0], blocks.shape[-1] * size[1])
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            of_queries[0],
            of_queries[1],
            full[0],
            full[1],
            size,
            mask_mod or noop_mask,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def numel(self) -> int:
        """Return how many scores the mask is for."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """Return which blocks are seen at all, as a tensor of 0 and 1."""
        blocks = _ordered(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            blocks = blocks | _ordered(self.full_kv_num_blocks, self.full_kv_indices)
        return blocks.to(dtypes.int32)

    def sparsity(self) -> float:
        """Return what part of the scores lies in blocks that are not seen, in percent.

        Blocks count whole, also where they reach beyond the last position.
        """
        seen = int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - seen / self.numel())

    def to(self, device: Any) -> BlockMask:
        """Return the mask itself: there is one device."""
        return self

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"

    __repr__ = __str__


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    **orders: Any,
) -> BlockMask:
    """Return the mask by blocks of a function of masks.

    Args:
        mask_mod: takes (batch, head, query, key); whether the query sees the key.
        B, H: the numbers of batches and heads; None for one that stands for all.
        Q_LEN, KV_LEN: the numbers of positions.
        BLOCK_SIZE: how many queries and keys are a block.
        separate_full_blocks: list blocks that are seen wholly apart from the others.
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = zeros((*mask.shape[:2], rows * size[0], columns * size[1]), dtype=dtypes.bool_)
    padded[:, :, :Q_LEN, :KV_LEN] = mask
    seen = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum((-3, -1))
    full = seen == size[0] * size[1]
    partial = (seen > 0) & ~full if separate_full_blocks else seen > 0
    counts, numbers = _listed(partial)
    wholly: Any = _listed(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        counts, numbers, wholly[0], wholly[1], size, mask_mod, (Q_LEN, KV_LEN)
    )


# --- attention -------------------------------------------------------------------------------


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores a function changes and a mask hides.

    Args:
        query, key, value: of shape (batch, heads, positions, width).
        score_mod: takes (score, batch, head, query, key) and returns the new score.
        block_mask: of `create_block_mask`.
        scale: what scores are multiplied by; default: 1 / sqrt(width).
        enable_gqa: several heads of queries share one of keys.
        return_lse: also return the logarithms of the sums.
        kernel_options: accepted; there is one kernel.
        return_aux: what else to return.

    >>> import taper
    >>> from taper.nn.attention.flex_attention import flex_attention
    >>> q = k = v = taper.ones(1, 1, 2, 4)
    >>> flex_attention(q, k, v, lambda score, b, h, i, j: score - abs(i - j)).shape
    torch.Size([1, 1, 2, 4])
    """
    if enable_gqa and query.shape[1] != key.shape[1]:
        shared = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)).to(dtypes.float32) * scale
    places = _places(*scores.shape)
    if score_mod is not None:
        scores = _over_places(score_mod, True)(scores, *places)
    if block_mask is not None:
        mask = _over_places(block_mask.mask_mod, False)(*places)
        scores = scores.masked_fill(~mask, float("-inf"))
    largest = scores.amax(-1)
    sums = scores.logsumexp(-1)
    weights = (scores - sums.masked_fill(sums == float("-inf"), 0.0).unsqueeze(-1)).exp()
    result = weights.to(query.dtype) @ value
    if return_aux is not None:
        given = (sums if return_aux.lse else None, largest if return_aux.max_scores else None)
        return result, AuxOutput(*given)
    return (result, sums) if return_lse else result
