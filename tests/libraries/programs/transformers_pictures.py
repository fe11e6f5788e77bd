"""transformers: models of pictures (ViT, Swin, ConvNeXt, MAE, SegFormer, CLIP): steps, processor."""

import numpy as np
import torch
from transformers import (
    BeitConfig,
    BeitForImageClassification,
    CLIPConfig,
    CLIPModel,
    ConvNextConfig,
    ConvNextForImageClassification,
    DeiTConfig,
    DeiTForImageClassification,
    ResNetConfig,
    ResNetForImageClassification,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    SwinConfig,
    SwinForImageClassification,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    ViTMAEConfig,
    ViTMAEForPreTraining,
)

x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
y = torch.tensor([1, 0])
small = dict(
    image_size=32,
    patch_size=8,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
)
models = {
    "vit": (ViTForImageClassification, ViTConfig(**small, num_labels=3)),
    "deit": (DeiTForImageClassification, DeiTConfig(**small, num_labels=3)),
    "beit": (BeitForImageClassification, BeitConfig(**small, num_labels=3)),
    "swin": (
        SwinForImageClassification,
        SwinConfig(
            image_size=32,
            patch_size=4,
            embed_dim=16,
            depths=[1, 1],
            num_heads=[2, 4],
            window_size=4,
            num_labels=3,
        ),
    ),
    "convnext": (
        ConvNextForImageClassification,
        ConvNextConfig(
            hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_labels=3, image_size=32
        ),
    ),
    "resnet": (
        ResNetForImageClassification,
        ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=3, layer_type="basic"
        ),
    ),
}
for n, (cls, cfg) in models.items():
    torch.manual_seed(0)
    m = cls(cfg).train()
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
    for i in range(5):
        loss = m(pixel_values=x, labels=y).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(n, i, round(loss.item(), 5))
    m.eval()
    print(n, m(pixel_values=x).logits.tolist())
torch.manual_seed(0)
m = ViTMAEForPreTraining(
    ViTMAEConfig(
        **small,
        decoder_hidden_size=16,
        decoder_num_hidden_layers=1,
        decoder_num_attention_heads=2,
        decoder_intermediate_size=32,
    )
)
o = m(pixel_values=x)
o.loss.backward()
print("mae", o.loss.item(), o.mask.sum().item())
m = SegformerForSemanticSegmentation(
    SegformerConfig(
        num_encoder_blocks=4,
        depths=[1] * 4,
        hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4],
        decoder_hidden_size=16,
        num_labels=4,
    )
)
o = m(pixel_values=x, labels=torch.randint(0, 4, (2, 32, 32)))
o.loss.backward()
print("segformer", o.loss.item(), o.logits.shape)
cfg = CLIPConfig(
    text_config=dict(
        vocab_size=60,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
        eos_token_id=59,
    ),
    vision_config=small,
    projection_dim=16,
)
torch.manual_seed(0)
m = CLIPModel(cfg)
ids = torch.randint(0, 58, (3, 8))
ids[:, -1] = 59
o = m(input_ids=ids, pixel_values=x[[0, 1, 0]], return_loss=True)
o.loss.backward()
print("clip", o.loss.item(), o.logits_per_image.tolist())
p = ViTImageProcessor(size={"height": 32, "width": 32})
img = (np.arange(48 * 40 * 3).reshape(48, 40, 3) % 255).astype(np.uint8)
print("proc", p(img, return_tensors="pt").pixel_values.mean().item())
