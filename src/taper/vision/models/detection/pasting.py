"""Masks of boxes as masks of whole pictures."""

from __future__ import annotations

from taper import dtypes
from taper.nn import functional as F
from taper.ops.creation.filled import zeros
from taper.ops.shape.split import stack
from taper.tensor import Tensor


def expand_boxes(boxes: Tensor, scale: float) -> Tensor:
    """Return boxes that are larger by a factor, with the same centres."""
    x1, y1, x2, y2 = boxes.unbind(1)
    half_width, half_height = (x2 - x1) * 0.5 * scale, (y2 - y1) * 0.5 * scale
    x, y = (x2 + x1) * 0.5, (y2 + y1) * 0.5
    return stack((x - half_width, y - half_height, x + half_width, y + half_height), dim=1)


def expand_masks(mask: Tensor, padding: int) -> tuple[Tensor, float]:
    """Return masks with an edge of zeros, and how much larger they are."""
    size = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), float(size + 2 * padding) / size


def paste_mask_in_image(mask: Tensor, box: Tensor, im_h: int, im_w: int) -> Tensor:
    """Return a mask of the picture from the mask of a box in it."""
    x1, y1, x2, y2 = (int(each) for each in box)
    width, height = max(x2 - x1 + 1, 1), max(y2 - y1 + 1, 1)
    mask = mask.expand((1, 1, -1, -1))
    mask = F.interpolate(mask, size=(height, width), mode="bilinear", align_corners=False)[0][0]
    whole = zeros((im_h, im_w), dtype=mask.dtype, device=mask.device)
    left, right, top, bottom = max(x1, 0), min(x2 + 1, im_w), max(y1, 0), min(y2 + 1, im_h)
    whole[top:bottom, left:right] = mask[top - y1 : bottom - y1, left - x1 : right - x1]
    return whole


def paste_masks_in_image(
    masks: Tensor, boxes: Tensor, img_shape: tuple[int, int], padding: int = 1
) -> Tensor:
    """Return the masks of a picture from masks of boxes in it."""
    masks, scale = expand_masks(masks, padding=padding)
    corners = expand_boxes(boxes, scale).to(dtype=dtypes.int64)
    height, width = img_shape
    found = [
        paste_mask_in_image(mask[0], box, height, width)
        for mask, box in zip(masks, corners, strict=True)
    ]
    return stack(found, dim=0)[:, None] if found else masks.new_empty((0, 1, height, width))
