"""timm: an image folder through create_dataset and create_loader with RandAugment, mixup, soft targets, Lamb, checkpoints, EMA."""

import random
import tempfile

import numpy as np
import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import timm.utils
import torch
from PIL import Image

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
with tempfile.TemporaryDirectory() as d:
    import os

    for split in ("train", "val"):
        for k in range(3):
            os.makedirs(f"{d}/{split}/c{k}")
            for i in range(4):
                Image.fromarray((np.random.rand(40, 44, 3) * 80 + 60 * k).astype("uint8")).save(
                    f"{d}/{split}/c{k}/{i}.png"
                )
    train = timm.data.create_dataset("", d, split="train")
    val = timm.data.create_dataset("", d, split="val")
    print(
        len(train),
        train[0][1],
        timm.data.resolve_data_config({}, model=timm.create_model("resnet10t"))["input_size"],
    )
    tl = timm.data.create_loader(
        train,
        (3, 32, 32),
        6,
        is_training=True,
        auto_augment="rand-m5-mstd0.5-inc1",
        re_prob=0.25,
        num_workers=0,
        use_prefetcher=False,
        color_jitter=0.3,
        persistent_workers=False,
    )
    vl = timm.data.create_loader(
        val,
        (3, 32, 32),
        6,
        num_workers=0,
        use_prefetcher=False,
        crop_pct=0.9,
        interpolation="bilinear",
        persistent_workers=False,
    )
    m = timm.create_model(
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        depth=2,
        num_classes=3,
        drop_path_rate=0.1,
        global_pool="avg",
    ).double()
    ema = timm.utils.ModelEmaV3(m, decay=0.8)
    opt = timm.optim.create_optimizer_v2(
        m, opt="lamb", lr=5e-3, weight_decay=0.05, layer_decay=0.75
    )
    sched, epochs = timm.scheduler.create_scheduler_v2(
        opt, "cosine", num_epochs=3, warmup_epochs=1, updates_per_epoch=2, step_on_epochs=False
    )
    mix = timm.data.Mixup(mixup_alpha=0.4, cutmix_alpha=1.0, num_classes=3, label_smoothing=0.1)
    crit = timm.loss.SoftTargetCrossEntropy()
    saver = timm.utils.CheckpointSaver(
        m, opt, model_ema=ema, checkpoint_dir=d, recovery_dir=d, max_history=2
    )
    n = 0
    for epoch in range(2):
        for x, y in tl:
            x, y = mix(x, y)
            loss = crit(m(x.double()), y.double())
            loss.backward()
            timm.utils.dispatch_clip_grad(m.parameters(), 0.02, mode="agc")
            opt.step()
            opt.zero_grad()
            n += 1
            sched.step_update(n)
            ema.update(m)
            print(loss.item(), opt.param_groups[0]["lr"])
        m.eval()
        with torch.no_grad():
            for x, y in vl:
                o = m(x.double())
                print(
                    [a.item() for a in timm.utils.accuracy(o, y, (1, 2))],
                    timm.loss.LabelSmoothingCrossEntropy()(o, y).item(),
                    ema.module(x.double()).sum().item(),
                )
        m.train()
        best = saver.save_checkpoint(epoch, metric=epoch * 0.5)
    again = timm.create_model(
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        depth=2,
        num_classes=3,
        global_pool="avg",
        checkpoint_path=f"{d}/model_best.pth.tar",
    ).double()
    print(
        best,
        again.eval()(x.double()).sum().item(),
        timm.models.load_state_dict(f"{d}/model_best.pth.tar", use_ema=True)["head.weight"]
        .sum()
        .item(),
    )
m.reset_classifier(5)
print(sum(p.numel() for p in m.parameters()))
