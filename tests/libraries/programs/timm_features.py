"""timm: features only, forward intermediates, gradients of pictures, group parameters, drop path, save with safetensors."""

import tempfile

import timm
import torch
from safetensors.torch import save_file
from timm.optim import param_groups_layer_decay

torch.manual_seed(0)
for name in (
    "resnet26d",
    "mobilenetv2_100",
    "efficientnet_lite0",
    "hrnet_w18_small",
    "convnextv2_atto",
):
    torch.manual_seed(0)
    m = timm.create_model(name, features_only=True, out_indices=(0, 1, 2), pretrained=False).eval()
    with torch.no_grad():
        print(
            name,
            [(tuple(f.shape), f.abs().mean().item()) for f in m(torch.randn(1, 3, 64, 64))],
            m.feature_info.channels(),
            m.feature_info.reduction(),
        )
torch.manual_seed(0)
v = timm.create_model(
    "vit_small_patch16_224",
    img_size=48,
    drop_path_rate=0.2,
    num_classes=3,
    depth=3,
    class_token=True,
    global_pool="avg",
).train()
x = torch.randn(4, 3, 48, 48, requires_grad=True)
out = v(x)
out.logsumexp(1).sum().backward()
print(out.sum().item(), x.grad.abs().mean().item())
v.eval()
f, inter = v.forward_intermediates(x, indices=2)
print(f.shape, [i.shape for i in inter])

gs = param_groups_layer_decay(v, weight_decay=0.05, layer_decay=0.75)
print([(len(g["params"]), g["lr_scale"], g["weight_decay"]) for g in gs])
with tempfile.TemporaryDirectory() as d:
    save_file(v.state_dict(), d + "/m.safetensors")
    w = timm.create_model(
        "vit_small_patch16_224",
        img_size=48,
        num_classes=3,
        depth=3,
        global_pool="avg",
        checkpoint_path=d + "/m.safetensors",
    ).eval()
    print((w(x) - v(x)).abs().max().item())
