"""timm: forward, backward and one step of 15 architectures; features, optimizers, schedules, EMA."""

import timm
import timm.loss
import torch
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3

NAMES = (
    "resnet10t", "resnet18", "efficientnet_b0", "mobilenetv3_small_050", "convnext_atto",
    "vit_tiny_patch16_224", "deit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "regnetx_002",
    "ghostnet_050", "mixer_s32_224", "poolformer_s12", "densenet121", "edgenext_xx_small", "levit_128s",
)  # fmt: skip
for name in NAMES:
    torch.manual_seed(0)
    sized = {"img_size": 64} if name.startswith(("vit", "deit", "mixer")) else {}
    if name.startswith("swin"):
        sized = {"img_size": 64, "window_size": 2}
    if name == "levit_128s":
        sized = {"img_size": 64}
    # Double: norms over so few samples magnify the rounding of floats.
    model = timm.create_model(name, num_classes=5, **sized).double()
    image = torch.randn(2, 3, 64, 64).double()
    optimizer = create_optimizer_v2(model, "adamw", lr=1e-3, weight_decay=0.05)
    loss = timm.loss.LabelSmoothingCrossEntropy(0.1)(model(image), torch.tensor([1, 3]))
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    model.eval()
    with torch.no_grad():
        after = model(image)
    print(name, sum(p.numel() for p in model.parameters()), loss.item(), norm.item())
    print(name, *after.flatten().tolist())

torch.manual_seed(0)
model = timm.create_model("resnet10t", features_only=True, out_indices=(1, 3))
for features in model(torch.randn(1, 3, 32, 32)):
    print(*features.shape, features.mean().item())
print(model.feature_info.channels())
model = timm.create_model("resnet10t", num_classes=3)
average = ModelEmaV3(model, decay=0.9)
optimizer = create_optimizer_v2(model, "lamb", lr=1e-2)
schedule = CosineLRScheduler(optimizer, t_initial=5, warmup_t=2, warmup_lr_init=1e-4)
for epoch in range(4):
    schedule.step(epoch)
    loss = model(torch.randn(4, 3, 32, 32)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model)
    print(epoch, optimizer.param_groups[0]["lr"], loss.item())
print(sum(p.double().sum() for p in average.module.parameters()).item())
mix = timm.data.Mixup(mixup_alpha=0.2, num_classes=3)
transform = timm.data.create_transform(32, is_training=False)
print(type(transform).__name__, len(timm.list_models("resnet*")) > 20, type(mix).__name__)
