"""transformers: CLIP and SigLIP from configurations: contrastive training, features, zero shot."""

import torch
from transformers import (
    CLIPConfig,
    CLIPModel,
    SiglipConfig,
    SiglipModel,
)

torch.manual_seed(0)
tc = dict(
    vocab_size=40,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=16,
)
vc = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    image_size=32,
    patch_size=8,
)
clip = CLIPModel(
    CLIPConfig(
        text_config={**tc, "eos_token_id": 39, "bos_token_id": 38, "pad_token_id": 0},
        vision_config=vc,
        projection_dim=16,
    )
)
px, ids = torch.randn(4, 3, 32, 32), torch.randint(1, 38, (4, 10))
ids[:, -1] = 39
opt = torch.optim.AdamW(clip.parameters(), lr=1e-3)
for i in range(5):
    o = clip(input_ids=ids, pixel_values=px, return_loss=True)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item(), clip.logit_scale.item())
clip.eval()
with torch.no_grad():
    o = clip(input_ids=ids, pixel_values=px)
    print(o.logits_per_image.softmax(-1).tolist())
sig = SiglipModel(SiglipConfig(text_config={**tc, "projection_size": 32}, vision_config=vc))
opt = torch.optim.SGD(sig.parameters(), lr=0.05, momentum=0.9)
for i in range(4):
    o = sig(input_ids=ids, pixel_values=px, return_loss=True)
    o.loss.backward()
    opt.step()
    opt.zero_grad()
    print(o.loss.item())
