"""Key points of regions: as places in maps of regions and back, and the loss."""

from __future__ import annotations

import math
from typing import Any

from taper import dtypes
from taper.nn import functional as F
from taper.ops.creation.filled import ones, zeros
from taper.ops.creation.ranges import arange
from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat
from taper.tensor import Tensor


def keypoints_to_heatmap(
    keypoints: Tensor, rois: Tensor, heatmap_size: int
) -> tuple[Tensor, Tensor]:
    """Return the place of each key point in the map of its region, and whether it is there."""
    places = []
    for dim in (0, 1):
        start, end = rois[:, dim][:, None], rois[:, dim + 2][:, None]
        at = keypoints[..., dim]
        place = ((at - start) * (heatmap_size / (end - start))).floor().long()
        place[at == end] = heatmap_size - 1
        places.append(place)
    x, y = places
    is_inside = (x >= 0) & (y >= 0) & (x < heatmap_size) & (y < heatmap_size)
    is_valid = (is_inside & (keypoints[..., 2] > 0)).long()
    return (y * heatmap_size + x) * is_valid, is_valid


def heatmaps_to_keypoints(maps: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """Return key points (x, y, 1) in the picture, and their scores, from the maps of regions."""
    widths = (rois[:, 2] - rois[:, 0]).clamp(min=1)
    heights = (rois[:, 3] - rois[:, 1]).clamp(min=1)
    count = maps.shape[1]
    points = zeros((len(rois), 3, count), dtype=dtypes.float32, device=maps.device)
    scores = zeros((len(rois), count), dtype=dtypes.float32, device=maps.device)
    rows = arange(count)
    for nr in range(len(rois)):
        sides = (math.ceil(heights[nr].item()), math.ceil(widths[nr].item()))
        seen = F.interpolate(maps[nr][:, None], size=sides, mode="bicubic", align_corners=False)
        seen = seen[:, 0]
        best = seen.reshape(count, -1).argmax(dim=1)
        x = best % sides[1]
        y = (best - x).div(sides[1], rounding_mode="floor")
        points[nr, 0, :] = (x.float() + 0.5) * (widths[nr] / sides[1]) + rois[nr, 0]
        points[nr, 1, :] = (y.float() + 0.5) * (heights[nr] / sides[0]) + rois[nr, 1]
        points[nr, 2, :] = ones(count)
        scores[nr, :] = seen[rows, y, x]
    return points.permute(0, 2, 1), scores


def keypointrcnn_loss(
    keypoint_logits: Tensor,
    proposals: list[Tensor],
    gt_keypoints: list[Tensor],
    keypoint_matched_idxs: list[Tensor],
) -> Tensor:
    """Return the loss of the places of key points in the maps of regions."""
    regions, count, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(
            "keypoint_logits height and width (last two elements of shape) should be equal. "
            f"Instead got H = {height} and W = {width}"
        )
    places, valid = [], []
    for boxes, points, which in zip(proposals, gt_keypoints, keypoint_matched_idxs, strict=True):
        place, is_valid = keypoints_to_heatmap(points[which], boxes, height)
        places.append(place.view(-1))
        valid.append(is_valid.view(-1))
    wanted = cat(places, dim=0)
    chosen = where_indices(cat(valid, dim=0).to(dtypes.uint8))[0]
    if wanted.numel() == 0 or len(chosen) == 0:
        return keypoint_logits.sum() * 0
    logits = keypoint_logits.view(regions * count, height * width)
    return F.cross_entropy(logits[chosen], wanted[chosen])


def keypointrcnn_inference(x: Tensor, boxes: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Return the key points of all regions and their scores, picture by picture."""
    parts: Any = zip(x.split([each.size(0) for each in boxes], dim=0), boxes, strict=True)
    found = [heatmaps_to_keypoints(*each) for each in parts]
    return [points for points, _ in found], [scores for _, scores in found]
