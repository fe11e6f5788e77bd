"""timm: 16 architectures at two steps in double precision, features, heads changed, pooling."""

import timm
import torch

torch.set_default_dtype(torch.float64)
for name, size in (
    ("resnet18", 64),
    ("resnetv2_50", 64),
    ("efficientnet_b0", 64),
    ("mobilenetv3_small_100", 64),
    ("convnext_atto", 64),
    ("vit_tiny_patch16_224", 32),
    ("deit_tiny_distilled_patch16_224", 32),
    ("mixer_s32_224", 32),
    ("regnety_002", 64),
    ("ghostnet_100", 64),
    ("pit_ti_224", 32),
    ("cait_xxs24_224", 32),
    ("poolformer_s12", 64),
    ("edgenext_xx_small", 64),
    ("swin_tiny_patch4_window7_224", 56),
    ("xcit_nano_12_p16_224", 32),
):
    torch.manual_seed(0)
    kw = (
        dict(img_size=size)
        if any(k in name for k in ("vit", "deit", "mixer", "pit", "cait", "swin", "xcit"))
        else {}
    )
    m = timm.create_model(name, pretrained=False, num_classes=5, **kw)
    m.train()
    x = torch.randn(3, 3, size, size)
    y = torch.tensor([0, 2, 4])
    opt = torch.optim.SGD(m.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    for i in range(2):
        out = m(x)
        out = out[0] if isinstance(out, tuple) else out
        loss = torch.nn.functional.cross_entropy(out, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(name, loss.item())
    m.eval()
    m.reset_classifier(3)
    print(m.forward_features(x).shape, sum(p.numel() for p in m.parameters()))
