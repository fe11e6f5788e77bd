"""torchvision: models, transforms, operators, data sets and drawing through taper.vision."""

import os
import tempfile

import numpy as np
import torch
from PIL import Image
from torchvision import datasets, models, ops, transforms, utils
from torchvision.transforms import v2

for name in (
    "resnet18",
    "mobilenet_v2",
    "squeezenet1_1",
    "efficientnet_b0",
    "vgg11",
    "alexnet",
):
    torch.manual_seed(0)
    model = getattr(models, name)(num_classes=4)
    model.eval()
    x = torch.randn(2, 3, 64, 64)
    out = model(x)
    out.square().mean().backward()
    print(name, *out.flatten().tolist()[:4], sum(p.numel() for p in model.parameters()))
torch.manual_seed(1)
image = Image.fromarray((np.arange(32 * 32 * 3).reshape(32, 32, 3) % 255).astype(np.uint8))
pipeline = transforms.Compose([
    transforms.Resize(24), transforms.RandomCrop(20, padding=2), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.2, 0.2),
    transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.25] * 3), transforms.RandomErasing(p=1.0),
])  # fmt: skip
for _ in range(3):
    out = pipeline(image)
    print(*out.shape, out.sum().item())
second = v2.Compose(
    [
        v2.ToImage(),
        v2.RandomResizedCrop(16, antialias=True),
        v2.RandomRotation(20),
        v2.ToDtype(torch.float32, scale=True),
    ]
)
print(second(image).mean().item())
boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 11.0, 11.0], [20.0, 20.0, 30.0, 30.0]])
print(ops.box_iou(boxes, boxes).sum().item(), ops.box_area(boxes).tolist())
print(
    ops.sigmoid_focal_loss(torch.randn(4), torch.ones(4)).sum().item(),
    ops.generalized_box_iou_loss(boxes, boxes + 1).sum().item(),
)
print(*utils.make_grid(torch.rand(5, 3, 4, 4), nrow=3).shape)
with tempfile.TemporaryDirectory() as folder:
    for kind in ("cat", "dog"):
        os.makedirs(f"{folder}/{kind}")
        for i in range(3):
            image.rotate(30 * i).save(f"{folder}/{kind}/{i}.png")
    data = datasets.ImageFolder(folder, transforms.ToTensor())
    print(len(data), data.classes, data[4][0].sum().item(), data[4][1])
fake = datasets.FakeData(4, (3, 8, 8), 2, transforms.ToTensor())
print(fake[1][0].sum().item(), fake[1][1])
torch.manual_seed(2)
sizes = models._utils.IntermediateLayerGetter(
    models.resnet18(weights=None), {"layer1": "a", "layer3": "b"}
)(torch.randn(1, 3, 32, 32))
print({k: tuple(v.shape) for k, v in sizes.items()})
