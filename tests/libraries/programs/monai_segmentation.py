"""monai: transforms with MetaTensor, UNet, losses, sliding windows, measures, a training loop."""

import numpy as np
import torch
from monai.data import CacheDataset, DataLoader, MetaTensor, decollate_batch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss, TverskyLoss
from monai.metrics import DiceMetric
from monai.networks.nets import AttentionUnet, DenseNet, SegResNet, UNet, ViT
from monai.transforms import (
    Activations,
    AsDiscrete,
    Compose,
    GaussianSmooth,
    RandFlipd,
    RandGaussianNoised,
    RandRotate90d,
    RandSpatialCropd,
    Rotate,
    ScaleIntensity,
    ScaleIntensityd,
    Spacing,
    ToTensord,
    Zoom,
)  # fmt: skip
from monai.utils import set_determinism

set_determinism(0)
volume = np.linspace(0, 1, 24**3, dtype=np.float32).reshape(1, 24, 24, 24)
pairs = [
    {
        "image": np.sin(volume * (i + 1) * 9),
        "label": (np.sin(volume * (i + 1) * 9) > 0.3).astype(np.float32),
    }
    for i in range(4)
]
steps = Compose([
    ScaleIntensityd("image"), RandSpatialCropd(["image", "label"], (16, 16, 16), random_size=False), RandFlipd(["image", "label"], prob=0.5),
    RandRotate90d(["image", "label"], prob=0.5), RandGaussianNoised("image", prob=0.5), ToTensord(["image", "label"]),
])  # fmt: skip
loader = DataLoader(
    CacheDataset(pairs, steps, progress=False), batch_size=2, shuffle=True, num_workers=0
)
model = UNet(3, 1, 2, channels=(4, 8), strides=(2,), num_res_units=1)
criterion = DiceCELoss(to_onehot_y=True, softmax=True)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for epoch in range(2):
    for batch in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch["image"]), batch["label"])
        loss.backward()
        optimizer.step()
        print(epoch, type(batch["image"]).__name__, loss.item())
model.eval()
with torch.no_grad():
    whole = sliding_window_inference(
        torch.tensor(pairs[0]["image"])[None], (16, 16, 16), 2, model, overlap=0.25
    )
print(*whole.shape, whole.mean().item())
measure = DiceMetric(include_background=False)
post = Compose([Activations(softmax=True), AsDiscrete(argmax=True, to_onehot=2)])
predictions = [post(each) for each in decollate_batch(whole)]
truth = [AsDiscrete(to_onehot=2)(torch.tensor(pairs[0]["label"]))]
measure(predictions, truth)
print("dice", measure.aggregate().item())
image = MetaTensor(torch.arange(64.0).reshape(1, 8, 8), affine=torch.eye(4) * 2)
turned = Rotate(0.3)(image)
print(type(turned).__name__, turned.sum().item(), *turned.affine.flatten().tolist()[:4])
print(
    type(image + 1).__name__,
    Zoom(1.5)(image).mean().item(),
    GaussianSmooth(1.0)(image).std().item(),
    ScaleIntensity()(image).max().item(),
)
print(
    Spacing((1.0, 1.0))(
        MetaTensor(torch.rand(1, 6, 6), affine=torch.diag(torch.tensor([2.0, 2.0, 1.0, 1.0])))
    ).shape
)
torch.manual_seed(1)
for network in (
    DenseNet(2, 1, 3, init_features=4, growth_rate=4, block_config=(2, 2)), SegResNet(2, 8, 1, 2),
    AttentionUnet(2, 1, 2, (4, 8), (2,)), ViT(1, (16, 16), (8, 8), 16, 32, 1, 2, spatial_dims=2, classification=True),
):  # fmt: skip
    out = network(torch.randn(2, 1, 16, 16))
    out = out[0] if isinstance(out, tuple) else out
    out.square().mean().backward()
    print(type(network).__name__, *out.shape, out.sum().item())
logits, labels = torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 1, 8, 8))
for loss in (
    DiceLoss(to_onehot_y=True, softmax=True),
    FocalLoss(to_onehot_y=True),
    TverskyLoss(to_onehot_y=True, softmax=True),
):
    print(type(loss).__name__, loss(logits, labels).item())
