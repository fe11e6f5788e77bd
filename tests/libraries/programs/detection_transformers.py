"""transformers: YOLOS detection with Hungarian matching, DPT depth, segmentation by UperNet, DINOv2 features; image processors."""

import numpy as np
import torch
import transformers as hf

hf.logging.set_verbosity_error()
torch.manual_seed(0)
c = hf.YolosConfig(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    image_size=[32, 32],
    patch_size=8,
    num_detection_tokens=5,
    num_labels=3,
)
m = hf.YolosForObjectDetection(c)
x = torch.rand(2, 3, 32, 32)
labels = [
    {
        "class_labels": torch.tensor([0, 2]),
        "boxes": torch.tensor([[0.5, 0.5, 0.2, 0.3], [0.2, 0.3, 0.1, 0.1]]),
    },
    {"class_labels": torch.tensor([1]), "boxes": torch.tensor([[0.6, 0.4, 0.5, 0.5]])},
]
opt = torch.optim.AdamW(m.parameters(), 1e-3)
for _ in range(4):
    o = m(x, labels=labels)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item(), {k: v.item() for k, v in o.loss_dict.items()})
proc = hf.YolosImageProcessor(size={"height": 32, "width": 32})
r = proc.post_process_object_detection(o, threshold=0.2, target_sizes=[(48, 64), (32, 32)])
print([(e["scores"].tolist(), e["labels"].tolist(), e["boxes"].tolist()) for e in r])
img = (np.random.default_rng(0).random((40, 56, 3)) * 255).astype("uint8")
f = proc(images=[img, img[:32]], return_tensors="pt")
print(f["pixel_values"].shape, f["pixel_values"].double().mean().item())
c = hf.Dinov2Config(
    hidden_size=16,
    num_hidden_layers=3,
    num_attention_heads=2,
    image_size=28,
    patch_size=14,
    out_features=["stage1", "stage3"],
)
b = hf.Dinov2Backbone(c)
print([e.sum().item() for e in b(torch.rand(1, 3, 42, 28)).feature_maps])
c = hf.DPTConfig(
    hidden_size=16,
    num_hidden_layers=4,
    num_attention_heads=2,
    intermediate_size=32,
    image_size=32,
    patch_size=8,
    backbone_out_indices=[0, 1, 2, 3],
    neck_hidden_sizes=[8, 8, 16, 16],
    fusion_hidden_size=8,
    head_in_index=-1,
)
m = hf.DPTForDepthEstimation(c)
d = m(torch.rand(1, 3, 32, 32)).predicted_depth
(d.mean() * 100).backward()
print(
    d.shape, d.mean().item(), m.dpt.embeddings.patch_embeddings.projection.weight.grad.norm().item()
)
c = hf.UperNetConfig(
    backbone_config=hf.ConvNextConfig(
        num_stages=4,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    ),
    hidden_size=8,
    auxiliary_channels=8,
    num_labels=4,
    auxiliary_in_channels=16,
    pool_scales=[1, 2],
)
m = hf.UperNetForSemanticSegmentation(c).double()
o = m(torch.rand(2, 3, 64, 64, dtype=torch.double), labels=torch.randint(0, 4, (2, 64, 64)))
o.loss.backward()
print(
    o.loss.item(),
    o.logits.shape,
    sum(p.grad.abs().sum() for p in m.parameters() if p.grad is not None).item(),
)
