"""diffusers: a conditional UNet with LoRA by peft, classifier-free guidance, Stable Diffusion's pipeline of tiny parts, img2img."""

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    StableDiffusionImg2ImgPipeline,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from peft import LoraConfig
from transformers import CLIPTextConfig, CLIPTextModel

torch.manual_seed(0)
unet = UNet2DConditionModel(
    sample_size=8,
    block_out_channels=(16, 32),
    layers_per_block=1,
    cross_attention_dim=24,
    attention_head_dim=4,
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
)
text = CLIPTextModel(
    CLIPTextConfig(
        vocab_size=60,
        hidden_size=24,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
    )
)
vae = AutoencoderKL(
    block_out_channels=(16, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    norm_num_groups=8,
)
unet.requires_grad_(False)
unet.add_adapter(
    LoraConfig(
        r=2, init_lora_weights="gaussian", target_modules=["to_q", "to_k", "to_v", "to_out.0"]
    )
)
ps = [p for p in unet.parameters() if p.requires_grad]
opt = torch.optim.AdamW(ps, 1e-2)
print(len(ps))
sch = DDIMScheduler(num_train_timesteps=40, clip_sample=False)
ids = torch.randint(0, 60, (2, 10))
for i in range(4):
    lat, n, t = torch.randn(2, 4, 8, 8), torch.randn(2, 4, 8, 8), torch.randint(0, 40, (2,))
    h = text(ids).last_hidden_state
    loss = torch.nn.functional.mse_loss(unet(sch.add_noise(lat, n, t), t, h).sample, n)
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
pipe = StableDiffusionPipeline(
    vae=vae,
    text_encoder=text,
    tokenizer=None,
    unet=unet,
    scheduler=sch,
    safety_checker=None,
    feature_extractor=None,
    requires_safety_checker=False,
)
pipe.set_progress_bar_config(disable=True)
with torch.no_grad():
    emb, neg = (
        text(ids[:1]).last_hidden_state,
        text(torch.zeros(1, 10, dtype=torch.long)).last_hidden_state,
    )
im = pipe(
    prompt_embeds=emb,
    negative_prompt_embeds=neg,
    num_inference_steps=4,
    guidance_scale=5.0,
    height=16,
    width=16,
    output_type="np",
    generator=torch.Generator().manual_seed(0),
).images
print(im.shape, im.mean(), im.std())
i2 = StableDiffusionImg2ImgPipeline(**pipe.components, requires_safety_checker=False)
i2.set_progress_bar_config(disable=True)
out = i2(
    prompt_embeds=emb,
    negative_prompt_embeds=neg,
    image=torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(1)),
    strength=0.6,
    num_inference_steps=5,
    output_type="np",
    generator=torch.Generator().manual_seed(0),
).images
print(out.mean())
