"""timm: transforms, mixup, random erasing, model EMA, schedulers, optimizers by name, layer decay, checkpoints."""

import random

import numpy as np
import timm
import torch
from PIL import Image
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import (
    BinaryCrossEntropy,
    LabelSmoothingCrossEntropy,
    SoftTargetCrossEntropy,
)
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import ModelEmaV3, accuracy

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
m = timm.create_model("resnet10t", num_classes=4)
print(resolve_data_config({}, model=m))
tf = create_transform(32, is_training=True, auto_augment="rand-m5-mstd0.5-inc1", re_prob=0.5)
img = Image.fromarray(np.random.randint(0, 255, (48, 40, 3), dtype=np.uint8))
print([tf(img).mean().item() for _ in range(4)])
x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 4, (8,))
mix = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=4, label_smoothing=0.1)
xm, ym = mix(x.clone(), y)
print(xm.sum().item(), ym.sum(0).tolist())
m.double()
xm, ym = xm.double(), ym.double()
for name in (
    "adamw",
    "lamb",
    "lion",
    "nadamw",
    "adan",
    "rmsproptf",
    "sgd",
    "adabelief",
    "novograd",
):
    torch.manual_seed(1)
    mm = timm.create_model("resnet10t", num_classes=4).double()
    opt = create_optimizer_v2(mm, opt=name, lr=1e-2, weight_decay=0.05)
    sched, n = create_scheduler_v2(
        opt, sched="cosine", num_epochs=5, warmup_epochs=2, warmup_lr=1e-4
    )
    ema = ModelEmaV3(mm, decay=0.9)
    for e in range(2):
        loss = SoftTargetCrossEntropy()(mm(xm), ym)
        loss.backward()
        opt.step()
        opt.zero_grad()
        sched.step(e + 1)
        ema.update(mm)
    print(
        name,
        loss.item(),
        opt.param_groups[0]["lr"],
        sum(p.abs().sum().item() for p in ema.module.parameters()),
    )
print(
    LabelSmoothingCrossEntropy(0.1)(xm.mean((2, 3)), y % 3).item(),
    BinaryCrossEntropy()(xm.mean((2, 3)), y % 3).item(),
    accuracy(xm.mean((2, 3)), y % 3, topk=(1, 2)),
)
