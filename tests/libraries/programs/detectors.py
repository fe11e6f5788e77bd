"""torchvision: fine tuning a detector, evaluation, transforms v2 with boxes, regions pooled, drawing."""

import torch
import torchvision
from torchvision import ops, tv_tensors, utils
from torchvision.models.detection import (
    FasterRCNN,
)
from torchvision.models.detection.rpn import AnchorGenerator
from torchvision.transforms import v2

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
tf = v2.Compose(
    [
        v2.ToImage(),
        v2.RandomHorizontalFlip(0.5),
        v2.RandomPhotometricDistort(p=1.0),
        v2.RandomZoomOut(p=0.5),
        v2.Resize((96, 96)),
        v2.SanitizeBoundingBoxes(),
        v2.ToDtype(torch.float64, scale=True),
    ]
)


def sample(i):
    g = torch.Generator().manual_seed(i)
    c = torch.rand(3, 2, generator=g) * 40
    b = torch.cat([c, c + 10 + torch.rand(3, 2, generator=g) * 30], 1)
    return tf(
        torch.randint(0, 255, (3, 90, 100), generator=g, dtype=torch.uint8),
        {
            "boxes": tv_tensors.BoundingBoxes(b, format="XYXY", canvas_size=(90, 100)),
            "labels": torch.randint(1, 4, (3,), generator=g),
        },
    )


data = [sample(i) for i in range(4)]
print([(im.mean().item(), t["boxes"].sum().item(), t["labels"].tolist()) for im, t in data])
body = torchvision.models.mobilenet_v2(weights=None).features[:7]
body.out_channels = 32
m = FasterRCNN(
    body,
    num_classes=4,
    rpn_anchor_generator=AnchorGenerator(((16, 32, 64),), ((0.5, 1.0, 2.0),)),
    box_roi_pool=ops.MultiScaleRoIAlign(["0"], 7, 2),
    min_size=96,
    max_size=128,
    rpn_pre_nms_top_n_train=200,
    rpn_post_nms_top_n_train=100,
)
opt = torch.optim.SGD([p for p in m.parameters() if p.requires_grad], 1e-3, momentum=0.9)
names = set()
for e in range(2):
    for k in (0, 2):
        ls = m(
            [d[0].as_subclass(torch.Tensor) for d in data[k : k + 2]],
            [{a: b.as_subclass(torch.Tensor) for a, b in d[1].items()} for d in data[k : k + 2]],
        )
        loss = sum(ls.values())
        opt.zero_grad()
        loss.backward()
        opt.step()
        print({k: v.item() for k, v in sorted(ls.items())})
x = torch.arange(128.0).reshape(1, 2, 8, 8).sin().requires_grad_()
r = ops.roi_align(
    x, [torch.tensor([[1.0, 1, 6, 5], [0.5, 2, 7, 7]])], (2, 3), sampling_ratio=2, aligned=True
)
r.square().sum().backward()
print(r.sum().item(), x.grad.norm().item())
fpn = ops.FeaturePyramidNetwork([4, 8], 6)
print(
    {
        k: v.mean().item()
        for k, v in fpn({"a": torch.ones(1, 4, 8, 8), "b": torch.ones(1, 8, 4, 4)}).items()
    },
    ops.drop_block2d(torch.ones(1, 1, 4, 4), 0.0, 2).sum().item(),
)
im = utils.draw_bounding_boxes(
    torch.zeros(3, 20, 20, dtype=torch.uint8), torch.tensor([[2.0, 2, 10, 12]]), colors="red"
)
print(
    im.sum().item(),
    utils.draw_segmentation_masks(
        torch.zeros(3, 8, 8, dtype=torch.uint8), torch.eye(8).bool(), colors="blue"
    )
    .sum()
    .item(),
)
