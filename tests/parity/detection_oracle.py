"""What torchvision computes in compiled code, written again with NumPy, for its Python part."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def nms(boxes: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Return the boxes that no better box overlaps too much, one after the other."""
    sides = boxes.detach().double().numpy()
    areas = (sides[:, 2] - sides[:, 0]) * (sides[:, 3] - sides[:, 1])
    is_dropped = np.zeros(len(sides), bool)
    kept = []
    for best in np.argsort(-scores.detach().numpy(), kind="stable"):
        if is_dropped[best]:
            continue
        kept.append(best)
        width = np.minimum(sides[:, 2], sides[best, 2]) - np.maximum(sides[:, 0], sides[best, 0])
        height = np.minimum(sides[:, 3], sides[best, 3]) - np.maximum(sides[:, 1], sides[best, 1])
        common = np.clip(width, 0, None) * np.clip(height, 0, None)
        with np.errstate(all="ignore"):
            is_dropped |= common / (areas + areas[best] - common) > iou_threshold
    return torch.tensor(np.array(kept, np.int64))


def use_nms(torchvision: Any) -> None:
    """Let torchvision's detectors choose boxes by the function above."""
    torchvision.ops.boxes.nms = torchvision.ops.nms = nms
