"""diffusers: SD3 and Flux transformers, PixArt, AutoencoderTiny, inpainting and LCM, attention processors, callbacks; save and load variants."""

import tempfile

import diffusers as df
import torch
import transformers as hf
from diffusers.models.attention_processor import AttnProcessor, AttnProcessor2_0

df.utils.logging.set_verbosity_error()
df.utils.logging.disable_progress_bar()
hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()
torch.manual_seed(0)
m = df.SD3Transformer2DModel(
    sample_size=8,
    patch_size=2,
    in_channels=4,
    num_layers=2,
    attention_head_dim=4,
    num_attention_heads=2,
    joint_attention_dim=12,
    caption_projection_dim=8,
    pooled_projection_dim=16,
    out_channels=4,
    pos_embed_max_size=8,
)
opt = torch.optim.AdamW(m.parameters(), 1e-3)
sch = df.FlowMatchEulerDiscreteScheduler(shift=3.0)
x, c, p = torch.randn(2, 4, 8, 8), torch.randn(2, 5, 12), torch.randn(2, 16)
for _ in range(3):
    n = torch.randn_like(x)
    t = torch.tensor([200.0, 700.0])
    s = t.view(-1, 1, 1, 1) / 1000
    cost = (
        (
            m(
                (1 - s) * x + s * n,
                encoder_hidden_states=c,
                pooled_projections=p,
                timestep=t,
                return_dict=False,
            )[0]
            - (n - x)
        )
        .square()
        .mean()
    )
    cost.backward()
    opt.step()
    opt.zero_grad()
    print("sd3", cost.item())
sch.set_timesteps(4)
z = torch.randn_like(x)
with torch.no_grad():
    for t in sch.timesteps:
        z = sch.step(
            m(
                z,
                encoder_hidden_states=c,
                pooled_projections=p,
                timestep=t.expand(2),
                return_dict=False,
            )[0],
            t,
            z,
        ).prev_sample
print(z.sum().item())
f = df.FluxTransformer2DModel(
    patch_size=1,
    in_channels=4,
    num_layers=1,
    num_single_layers=1,
    attention_head_dim=16,
    num_attention_heads=2,
    joint_attention_dim=12,
    pooled_projection_dim=16,
    axes_dims_rope=[4, 4, 8],
    guidance_embeds=True,
)
o = f(
    hidden_states=torch.randn(1, 16, 4),
    encoder_hidden_states=torch.randn(1, 5, 12),
    pooled_projections=torch.randn(1, 16),
    timestep=torch.tensor([0.5]),
    img_ids=torch.randn(16, 3),
    txt_ids=torch.zeros(5, 3),
    guidance=torch.tensor([3.5]),
).sample
o.square().mean().backward()
print("flux", o.sum().item(), f.x_embedder.weight.grad.norm().item())
px = df.PixArtTransformer2DModel(
    sample_size=8,
    patch_size=2,
    in_channels=4,
    out_channels=8,
    num_layers=1,
    num_attention_heads=2,
    attention_head_dim=4,
    cross_attention_dim=8,
    caption_channels=8,
    use_additional_conditions=False,
)
print(
    "pixart",
    px(
        torch.randn(1, 4, 8, 8),
        encoder_hidden_states=torch.randn(1, 3, 8),
        timestep=torch.tensor([7]),
        added_cond_kwargs={"resolution": None, "aspect_ratio": None},
    )
    .sample.sum()
    .item(),
)
ti = df.AutoencoderTiny(
    encoder_block_out_channels=(8, 8),
    decoder_block_out_channels=(8, 8),
    num_encoder_blocks=(1, 1),
    num_decoder_blocks=(1, 1),
)
print("tiny", ti(torch.rand(1, 3, 16, 16)).sample.sum().item())
unet = df.UNet2DConditionModel(
    block_out_channels=(8, 16),
    layers_per_block=1,
    sample_size=8,
    in_channels=9,
    out_channels=4,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=16,
    norm_num_groups=2,
    attention_head_dim=4,
)
vae = df.AutoencoderKL(
    block_out_channels=[8, 16],
    in_channels=3,
    out_channels=3,
    down_block_types=["DownEncoderBlock2D"] * 2,
    up_block_types=["UpDecoderBlock2D"] * 2,
    latent_channels=4,
    norm_num_groups=2,
)
text = hf.CLIPTextModel(
    hf.CLIPTextConfig(
        vocab_size=30,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
).eval()
pipe = df.StableDiffusionInpaintPipeline(
    vae=vae,
    text_encoder=None,
    tokenizer=None,
    unet=unet,
    scheduler=df.DDIMScheduler(),
    safety_checker=None,
    feature_extractor=None,
    requires_safety_checker=False,
)
pipe.set_progress_bar_config(disable=True)
emb = text(torch.tensor([[1, 5, 7, 2]])).last_hidden_state
kw = dict(
    prompt_embeds=emb,
    negative_prompt_embeds=emb * 0,
    image=torch.rand(1, 3, 16, 16),
    mask_image=torch.ones(1, 1, 16, 16).tril(),
    height=16,
    width=16,
    output_type="np",
)
seen = []


def cb(p, i, t, k):
    seen.append((i, float(k["latents"].sum())))
    return k


im = pipe(
    **kw, num_inference_steps=3, generator=torch.Generator().manual_seed(0), callback_on_step_end=cb
).images
print("inpaint", im.shape, float(im.sum()), seen)
unet.set_attn_processor(AttnProcessor())
a = pipe(**kw, num_inference_steps=2, generator=torch.Generator().manual_seed(0)).images.sum()
unet.set_attn_processor(AttnProcessor2_0())
unet.fuse_qkv_projections()
b = pipe(**kw, num_inference_steps=2, generator=torch.Generator().manual_seed(0)).images.sum()
unet.unfuse_qkv_projections()
print(float(a), float(b))
for S in (
    df.LCMScheduler,
    df.EulerAncestralDiscreteScheduler,
    df.DPMSolverMultistepScheduler,
    df.UniPCMultistepScheduler,
    df.HeunDiscreteScheduler,
    df.DEISMultistepScheduler,
    df.KDPM2DiscreteScheduler,
):
    pipe.scheduler = S.from_config(pipe.scheduler.config)
    print(
        S.__name__,
        float(
            pipe(
                **kw, num_inference_steps=4, generator=torch.Generator().manual_seed(1)
            ).images.sum()
        ),
    )
vae.enable_tiling()
vae.enable_slicing()
print(
    vae.encode(torch.rand(2, 3, 16, 16))
    .latent_dist.sample(torch.Generator().manual_seed(0))
    .sum()
    .item()
)
with tempfile.TemporaryDirectory() as d:
    unet.save_pretrained(d, variant="fp16", max_shard_size="20KB")
    u = df.UNet2DConditionModel.from_pretrained(d, variant="fp16", torch_dtype=torch.float32)
    print(sum(q.sum() for q in u.parameters()).item())
