"""diffusers: a text pipeline, DiT, VQ, flow matching, ControlNet; save and load."""

import tempfile

import torch
from diffusers import (
    AutoencoderKL,
    ControlNetModel,
    DDIMScheduler,
    DiTTransformer2DModel,
    FlowMatchEulerDiscreteScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
    VQModel,
)
from transformers import CLIPTextConfig, CLIPTextModel

torch.manual_seed(0)
unet = UNet2DConditionModel(
    sample_size=8,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=16,
    norm_num_groups=4,
    attention_head_dim=4,
)
vae = AutoencoderKL(
    block_out_channels=(8, 16),
    in_channels=3,
    out_channels=3,
    down_block_types=["DownEncoderBlock2D"] * 2,
    up_block_types=["UpDecoderBlock2D"] * 2,
    latent_channels=4,
    norm_num_groups=4,
)
te = CLIPTextModel(
    CLIPTextConfig(
        bos_token_id=0,
        eos_token_id=2,
        hidden_size=16,
        intermediate_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        vocab_size=100,
    )
).eval()
pipe = StableDiffusionPipeline(
    unet=unet,
    vae=vae,
    text_encoder=te,
    tokenizer=None,
    scheduler=DDIMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        set_alpha_to_one=False,
    ),
    safety_checker=None,
    feature_extractor=None,
    requires_safety_checker=False,
)
pipe.set_progress_bar_config(disable=True)
ids = torch.tensor([[0, 5, 6, 7, 2]])
emb = te(ids)[0]
neg = te(torch.tensor([[0, 2, 2, 2, 2]]))[0]
img = pipe(
    prompt_embeds=emb,
    negative_prompt_embeds=neg,
    num_inference_steps=3,
    guidance_scale=6.0,
    generator=torch.Generator().manual_seed(0),
    height=16,
    width=16,
    output_type="np",
).images
print(img.shape, float(img.mean()), float(img.std()))
dit = DiTTransformer2DModel(
    num_attention_heads=2,
    attention_head_dim=8,
    in_channels=4,
    num_layers=2,
    sample_size=8,
    patch_size=2,
    num_embeds_ada_norm=10,
).eval()
print(
    dit(torch.randn(1, 4, 8, 8), timestep=torch.tensor([3]), class_labels=torch.tensor([1]))
    .sample.std()
    .item()
)
vq = VQModel(
    block_out_channels=[8, 16],
    down_block_types=["DownEncoderBlock2D"] * 2,
    up_block_types=["UpDecoderBlock2D"] * 2,
    latent_channels=3,
    norm_num_groups=4,
    num_vq_embeddings=16,
)
o = vq(torch.randn(1, 3, 16, 16))
print(o.sample.std().item(), float(o.commit_loss))
fm = FlowMatchEulerDiscreteScheduler()
fm.set_timesteps(5)
x = torch.ones(1, 2)
for t in fm.timesteps:
    x = fm.step(-x, t, x).prev_sample
print(x.tolist(), fm.sigmas.tolist())
cn = ControlNetModel(
    block_out_channels=(8, 16),
    layers_per_block=1,
    in_channels=4,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    cross_attention_dim=16,
    norm_num_groups=4,
    attention_head_dim=4,
    conditioning_embedding_out_channels=(8, 16),
).eval()
r = cn(torch.randn(1, 4, 8, 8), torch.tensor(5), emb, torch.randn(1, 3, 16, 16))
print([t.shape for t in r.down_block_res_samples], r.mid_block_res_sample.sum().item())
pipe.unet.enable_gradient_checkpointing()
pipe.enable_attention_slicing()
print(sum(p.numel() for p in pipe.unet.parameters()))
d = tempfile.mkdtemp()
unet.save_pretrained(d)
u2 = UNet2DConditionModel.from_pretrained(d)
print(all(torch.equal(a, b) for a, b in zip(unet.parameters(), u2.parameters())))
