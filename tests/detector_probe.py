"""Small detectors in double precision on taper or on PyTorch: what they lose and what they say.

`run(torch, torchvision, kind)` takes the packages, so that tests run the same program on both.
"""

from __future__ import annotations

from typing import Any

KINDS = ("faster", "mask", "keypoint", "retina", "fcos", "ssd")


def _levels(torch: Any, channels: int) -> Any:
    """Return a backbone with three levels."""

    class Levels(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.out_channels = channels
            self.steps = torch.nn.ModuleList(
                [torch.nn.Conv2d(3 if nr == 0 else channels, channels, 4, 4 if nr == 0 else 2, 1)
                 for nr in range(3)]
            )  # fmt: skip

        def forward(self, x: Any) -> dict[str, Any]:
            found = {}
            for nr, step in enumerate(self.steps):
                x = torch.tanh(step(x))
                found[str(nr)] = x
            return found

    return Levels()


def make(torch: Any, vision: Any, kind: str) -> Any:
    """Return a detector of a kind."""
    detection, ops = vision.models.detection, vision.ops
    body = _levels(torch, 32)
    sizes = {"min_size": 48, "max_size": 64}
    if kind in ("faster", "mask", "keypoint"):
        anchors = detection.anchor_utils.AnchorGenerator(((8,), (16,), (32,)), ((0.5, 1.0),) * 3)

        def pool(size: int) -> Any:
            return ops.MultiScaleRoIAlign(["0", "1", "2"], size, 2)

        options = {**sizes, "rpn_anchor_generator": anchors, "box_roi_pool": pool(3)}
        options["box_score_thresh"] = 0.1
        if kind == "mask":
            head = detection.mask_rcnn.MaskRCNNHeads(32, (16,), 1)
            last = detection.mask_rcnn.MaskRCNNPredictor(16, 8, 4)
            parts = {"mask_roi_pool": pool(6), "mask_head": head, "mask_predictor": last}
            box = detection.faster_rcnn.FastRCNNPredictor(1024, 4)
            return detection.MaskRCNN(body, None, box_predictor=box, **options, **parts)
        if kind == "keypoint":
            head = detection.keypoint_rcnn.KeypointRCNNHeads(32, (16,))
            last = detection.keypoint_rcnn.KeypointRCNNPredictor(16, 5)
            parts = {"keypoint_roi_pool": pool(6), "keypoint_head": head}
            return detection.KeypointRCNN(body, 4, keypoint_predictor=last, **options, **parts)
        return detection.FasterRCNN(body, 4, **options)
    if kind == "retina":
        anchors = detection.anchor_utils.AnchorGenerator(((8,), (16,), (32,)), ((0.5, 1.0),) * 3)
        options = {"anchor_generator": anchors, "score_thresh": 0.01}
        return detection.RetinaNet(body, 4, **sizes, **options)
    if kind == "fcos":
        anchors = detection.anchor_utils.AnchorGenerator(((4,), (8,), (16,)), ((1.0,),) * 3)
        return detection.FCOS(body, 4, **sizes, anchor_generator=anchors, score_thresh=0.01)
    anchors = detection.anchor_utils.DefaultBoxGenerator([[2], [2, 3], [2]])
    body.out_channels = [32, 32, 32]
    return detection.ssd.SSD(body, anchors, (48, 48), 4, score_thresh=0.1)


def pictures(torch: Any, kind: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return two pictures and what is in them; the second is empty for the kinds that allow it."""
    images = [torch.rand(3, 40, 50), torch.rand(3, 44, 36)]
    targets = []
    for image in images:
        height, width = image.shape[-2:]
        corner = torch.rand(3, 2) * torch.tensor([width / 2, height / 2])
        size = torch.rand(3, 2) * torch.tensor([width / 2 - 4, height / 2 - 4]) + 3
        target = {"boxes": torch.cat([corner, corner + size], 1), "labels": torch.tensor([1, 2, 3])}
        if kind == "mask":
            target["masks"] = (torch.rand(3, height, width) > 0.5).to(torch.uint8)
        if kind == "keypoint":
            places = corner[:, None] + size[:, None] * torch.rand(3, 5, 2)
            points = torch.cat([places, torch.ones(3, 5, 1)], 2)
            target["keypoints"] = points.float()
        targets.append(target)
    return images, targets


def run(torch: Any, vision: Any, kind: str) -> dict[str, list[float]]:
    """Return the losses, norms of gradients, and answers of a detector."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        torch.manual_seed(3)
        model = make(torch, vision, kind)
        images, targets = pictures(torch, kind)
        losses = model(images, targets)
        sum(losses.values()).backward()
        found = {name: [value.item()] for name, value in sorted(losses.items())}
        norms = [each.grad.norm().item() for each in model.parameters()]
        found["gradients"] = [sum(norms), norms[0], norms[-1]]
        model.eval()
        with torch.no_grad():
            answers = model(images)
        for nr, answer in enumerate(answers):
            for name, value in sorted(answer.items()):
                numbers = value.double()
                found[f"{name} {nr}"] = [float(len(value)), numbers.sum().item()]
    finally:
        torch.set_default_dtype(before)
    return found
