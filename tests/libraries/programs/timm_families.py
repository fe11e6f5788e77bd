"""timm: forward and backward of 35 architectures."""

import timm
import torch

x = torch.randn(4, 3, 64, 64, generator=torch.Generator().manual_seed(0))
y = torch.tensor([0, 1, 2, 3])
for name, kw in [
    ("resnet18", {}),
    ("resnet26d", {}),
    ("mobilenetv3_small_050", {}),
    ("efficientnet_lite0", {}),
    ("vit_tiny_patch16_224", dict(img_size=64)),
    ("deit_tiny_patch16_224", dict(img_size=64)),
    ("convnext_atto", {}),
    ("regnetx_002", {}),
    ("mixer_s32_224", dict(img_size=64)),
    ("ghostnet_100", {}),
    ("hardcorenas_a", {}),
    ("resmlp_12_224", dict(img_size=64)),
    ("seresnet18", {}),
    ("efficientvit_b0", {}),
    ("poolformerv2_s12", {}),
    ("edgenext_xx_small", {}),
    ("mobileone_s0", {}),
    ("repvgg_a0", {}),
    ("tinynet_e", {}),
    ("mnasnet_small", {}),
    ("ese_vovnet19b_slim_dw", {}),
    ("fastvit_t8", {}),
    ("xcit_nano_12_p16_224", dict(img_size=64)),
    (
        "swin_tiny_patch4_window7_224",
        dict(img_size=56, window_size=7, embed_dim=24, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 4)),
    ),
    ("coatnet_pico_rw_224", dict(img_size=64)),
    ("skresnet18", {}),
    ("lcnet_035", {}),
    ("mobilevit_xxs", {}),
    ("visformer_tiny", dict(img_size=64)),
    ("inception_v3", {}),
    ("dla46_c", {}),
    ("cspdarknet53", {}),
    ("hrnet_w18_small", {}),
    ("nf_resnet26", {}),
    ("gernet_s", {}),
]:
    torch.manual_seed(0)
    try:
        m = timm.create_model(name, num_classes=4, **kw).double().eval()
    except Exception as e:
        print(name, type(e).__name__, e)
        continue
    xx = x.double() if name != "swin_tiny_patch4_window7_224" else x[:, :, :56, :56].double()
    if name == "inception_v3":
        xx = torch.nn.functional.interpolate(xx, size=96)
    out = m(xx)
    loss = torch.nn.functional.cross_entropy(out, y)
    loss.backward()
    g = sum(p.grad.norm().item() for p in m.parameters() if p.grad is not None)
    print(
        name,
        sum(p.numel() for p in m.parameters()),
        loss.item(),
        out.abs().mean().item(),
        round(g, 4),
    )
