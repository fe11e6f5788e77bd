"""lpips, segment-anything, segmentation-models-pytorch, efficientnet-pytorch and pytorch-msssim: networks for pictures."""

import lpips
import segmentation_models_pytorch as smp
import torch
from efficientnet_pytorch import EfficientNet
from pytorch_msssim import MS_SSIM, ssim
from segment_anything.build_sam import _build_sam

torch.manual_seed(0)
a, b = torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64)
for net in ("alex", "squeeze"):
    torch.manual_seed(1)
    measure = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False).eval()
    x = a.clone().requires_grad_(True)
    value = measure(x, b).sum()
    value.backward()
    print(net, value.item(), x.grad.abs().sum().item())
torch.manual_seed(2)
sam = _build_sam(
    encoder_embed_dim=16, encoder_depth=2, encoder_num_heads=2, encoder_global_attn_indexes=[1]
).eval()
with torch.no_grad():
    for p in sam.image_encoder.parameters():
        p.mul_(0.5)
    sparse, dense = sam.prompt_encoder(
        points=(torch.tensor([[[30.0, 40.0]]]), torch.ones(1, 1)), boxes=None, masks=None
    )
    masks, scores = sam.mask_decoder(
        image_embeddings=torch.randn(1, 256, 64, 64), image_pe=sam.prompt_encoder.get_dense_pe(),
        sparse_prompt_embeddings=sparse, dense_prompt_embeddings=dense, multimask_output=True,
    )  # fmt: skip
print("sam", *masks.shape, masks.mean().item(), *scores.flatten().tolist())
for make in (smp.Unet, smp.FPN, smp.DeepLabV3Plus):
    torch.manual_seed(3)
    model = make("resnet18", encoder_weights=None, classes=2)
    out = model(torch.cat([a, b]))
    loss = smp.losses.DiceLoss("multiclass")(out, torch.randint(0, 2, (2, 64, 64)))
    loss.backward()
    print(make.__name__, *out.shape, loss.item())
tp, fp, fn, tn = smp.metrics.get_stats(
    torch.randint(0, 2, (2, 1, 8, 8)), torch.randint(0, 2, (2, 1, 8, 8)), mode="binary"
)
print("iou", smp.metrics.iou_score(tp, fp, fn, tn, reduction="micro").item())
torch.manual_seed(4)
net = EfficientNet.from_name("efficientnet-b0", num_classes=3).eval()
print("efficientnet", *net(a).flatten().tolist())
print(
    "ssim",
    ssim(a, b, data_range=1.0).item(),
    MS_SSIM(data_range=1.0)(torch.rand(1, 3, 192, 192), torch.rand(1, 3, 192, 192)).item(),
)
