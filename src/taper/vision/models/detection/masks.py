"""Masks of regions: what a detector says of them, and the loss."""

from __future__ import annotations

from typing import Any

from taper.nn import functional as F
from taper.ops.creation.ranges import arange
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.ops.roi_align import roi_align


def maskrcnn_inference(x: Tensor, labels: list[Tensor]) -> list[Tensor]:
    """Return the mask of each answer, for its class, picture by picture."""
    masks = x.sigmoid()
    counts = [each.shape[0] for each in labels]
    rows = arange(masks.shape[0], device=x.device)
    return list(masks[rows, cat(labels)][:, None].split(counts, dim=0))


def project_masks_on_boxes(gt_masks: Tensor, boxes: Tensor, matched_idxs: Tensor, M: int) -> Tensor:
    """Return the part of masks inside boxes, at a size of M x M."""
    rows = cat([matched_idxs[:, None].to(boxes), boxes], dim=1)
    return roi_align(gt_masks[:, None].to(rows), rows, (M, M), 1.0)[:, 0]


def maskrcnn_loss(
    mask_logits: Tensor,
    proposals: list[Tensor],
    gt_masks: list[Tensor],
    gt_labels: list[Tensor],
    mask_matched_idxs: list[Tensor],
) -> Tensor:
    """Return the loss of masks, for the classes that the regions have."""
    size = mask_logits.shape[-1]
    chosen: Any = zip(gt_labels, mask_matched_idxs, strict=True)
    labels = cat([label[which] for label, which in chosen], dim=0)
    parts: Any = zip(gt_masks, proposals, mask_matched_idxs, strict=True)
    wanted = cat([project_masks_on_boxes(*each, size) for each in parts], dim=0)
    if wanted.numel() == 0:
        return mask_logits.sum() * 0
    rows = arange(labels.shape[0], device=labels.device)
    return F.binary_cross_entropy_with_logits(mask_logits[rows, labels], wanted)
