"""Transforms of pictures with boxes, masks and points, on taper or torchvision, as lines of text.

`lines(torch, tv_tensors, v2)` takes the packages; `box_transforms.txt` has what torchvision 0.28
gives.
"""

from __future__ import annotations

from typing import Any

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "horizontal_flip": (),
    "vertical_flip": (),
    "resize": ((10, 12),),
    "crop": (2, 3, 10, 15),
    "center_crop": ((12, 12),),
    "pad": ([2, 3, 4, 5],),
    "rotate": (30,),
    "affine": (20, [2, 3], 1.2, [5.0, 3.0]),
    "resized_crop": (2, 3, 10, 15, (8, 9)),
    "perspective": (
        [[0, 0], [29, 0], [29, 19], [0, 19]],
        [[1, 2], [27, 1], [28, 18], [2, 17]],
    ),
}


def shown(x: Any) -> str:
    """Return what a value is, in words and numbers."""
    if not hasattr(x, "double"):
        return str(x)
    if x.numel() >= 100:
        return f"{type(x).__name__} {tuple(x.shape)} {x.double().sum().item():.2f}"
    numbers = [round(each, 3) for each in x.double().flatten().tolist()]
    return f"{type(x).__name__} {numbers} {getattr(x, 'canvas_size', None)}"


def of_functions(torch: Any, kinds: Any, F: Any) -> list[str]:
    """Return what the functions make of boxes of all formats, pictures, masks and points."""
    image = kinds.Image(torch.randint(0, 255, (3, 20, 30), dtype=torch.uint8))
    mask = kinds.Mask(torch.randint(0, 3, (2, 20, 30), dtype=torch.uint8))
    points = kinds.KeyPoints([[3.0, 4.0], [29.5, 10.0], [-5.0, 30.0]], canvas_size=(20, 30))
    data = torch.tensor([[2.0, 3, 10, 12], [5.0, 1, 28, 19], [-3.0, 2, 7, 25]])
    boxes = kinds.BoundingBoxes(data, format="XYXY", canvas_size=(20, 30))
    move = torch.rand(1, 20, 30, 2, generator=torch.Generator().manual_seed(1)) * 0.2 - 0.1
    whole = [F.convert_bounding_box_format(boxes, new_format=f) for f in ("XYWH", "CXCYWH")]
    found = []
    for each in (boxes, *whole, boxes.to(torch.int64), image, mask, kinds.Mask(mask[0]), points):
        for name, args in FUNCTIONS.items():
            found.append(f"{name} {shown(getattr(F, name)(each, *args))}")
        if not isinstance(each, kinds.Image | kinds.Mask):
            found.append(f"elastic {shown(F.elastic(each, move))}")
            found.append(f"expand {shown(F.rotate(each, 30, expand=True))}")
    for each in (boxes, *whole):
        found.append(f"clamp {shown(F.clamp_bounding_boxes(each))}")
        found.append(f"sanitize {shown(F.sanitize_bounding_boxes(each)[1])}")
    found.append(
        f"points {shown(F.clamp_keypoints(points))} {shown(F.sanitize_keypoints(points)[1])}"
    )
    return found


def transforms(torch: Any, kinds: Any, v2: Any) -> list[Any]:
    """Return the transforms to try."""
    dtypes = {kinds.Image: torch.float32, kinds.Mask: torch.int64, "others": None}
    return [
        v2.RandomIoUCrop(),
        v2.RandomZoomOut(p=1.0),
        v2.RandomHorizontalFlip(1.0),
        v2.RandomResizedCrop((16, 16)),
        v2.RandomPhotometricDistort(p=1.0),
        v2.ScaleJitter((16, 16)),
        v2.RandomShortestSize(16, 24),
        v2.RandomRotation(20),
        v2.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5),
        v2.RandomPerspective(p=1.0),
        v2.ColorJitter(0.2, 0.2),
        v2.RandomCrop((14, 14)),
        v2.Resize(12),
        v2.CenterCrop(10),
        v2.Pad(3, fill={kinds.Mask: 2, "others": 1}),
        v2.SanitizeBoundingBoxes(min_size=6),
        v2.ClampBoundingBoxes(),
        v2.ConvertBoundingBoxFormat("XYWH"),
        v2.SetClampingMode(None),
        v2.ToDtype(dtypes, scale=True),
        v2.ToDtype(torch.float32, scale=True),
        v2.ToPureTensor(),
        v2.RandomGrayscale(1.0),
        v2.GaussianBlur(3),
        v2.RandomErasing(p=1.0),
        v2.Compose(
            [
                v2.ToImage(),
                v2.RandomIoUCrop(),
                v2.Resize((18, 18)),
                v2.SanitizeBoundingBoxes(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize([0.5] * 3, [0.5] * 3),
                v2.ToPureTensor(),
            ]
        ),
    ]


def lines(torch: Any, kinds: Any, v2: Any) -> list[str]:
    """Return a line for each function and each transform."""
    torch.manual_seed(0)
    found = of_functions(torch, kinds, v2.functional)
    image = kinds.Image(torch.randint(0, 255, (3, 20, 30), dtype=torch.uint8))
    data = torch.tensor([[2.0, 3, 10, 12], [5.0, 1, 28, 19], [12.0, 8, 17, 15]])
    sample = {
        "boxes": kinds.BoundingBoxes(data, format="XYXY", canvas_size=(20, 30)),
        "masks": kinds.Mask(torch.randint(0, 2, (3, 20, 30), dtype=torch.uint8)),
        "labels": torch.tensor([1, 2, 3]),
        "name": "x",
    }
    for transform in transforms(torch, kinds, v2):
        for seed in range(2):
            torch.manual_seed(seed)
            picture, rest = transform(image, sample)
            parts = " ".join(f"{key} {shown(value)}" for key, value in rest.items())
            found.append(f"{type(transform).__name__} {seed} {shown(picture)} {parts}")
    found.append(str(transforms(torch, kinds, v2)).replace("\n", " "))
    return found
