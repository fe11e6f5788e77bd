"""diffusers: an unconditional UNet trained to denoise; many schedulers sample from it; EMA; VAE; saved pipeline."""

import tempfile

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DEISMultistepScheduler,
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    HeunDiscreteScheduler,
    KDPM2DiscreteScheduler,
    LCMScheduler,
    LMSDiscreteScheduler,
    PNDMScheduler,
    UNet2DModel,
    UniPCMultistepScheduler,
)
from diffusers.training_utils import EMAModel

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    block_out_channels=(16, 32),
    layers_per_block=1,
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=8,
)
noise = DDPMScheduler(num_train_timesteps=50)
ema = EMAModel(unet.parameters(), decay=0.9)
opt = torch.optim.AdamW(unet.parameters(), 1e-3)
x = torch.randn(8, 1, 8, 8).cumsum(-1) / 3
for i in range(6):
    n = torch.randn_like(x)
    t = torch.randint(0, 50, (8,))
    loss = torch.nn.functional.mse_loss(unet(noise.add_noise(x, n, t), t).sample, n)
    loss.backward()
    opt.step()
    opt.zero_grad()
    ema.step(unet.parameters())
    print(loss.item())
unet.eval()
for cls in (
    DDPMScheduler,
    DDIMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    EulerAncestralDiscreteScheduler,
    HeunDiscreteScheduler,
    PNDMScheduler,
    UniPCMultistepScheduler,
    LMSDiscreteScheduler,
    KDPM2DiscreteScheduler,
    DEISMultistepScheduler,
    LCMScheduler,
):
    s = (
        cls(num_train_timesteps=50)
        if cls is not LCMScheduler
        else cls(num_train_timesteps=50, original_inference_steps=10)
    )
    s.set_timesteps(5)
    g = torch.Generator().manual_seed(1)
    y = torch.randn(2, 1, 8, 8, generator=g) * s.init_noise_sigma
    with torch.no_grad():
        for t in s.timesteps:
            e = unet(s.scale_model_input(y, t), t).sample
            try:
                y = s.step(e, t, y, generator=g).prev_sample
            except TypeError:
                y = s.step(e, t, y).prev_sample
    print(cls.__name__, y.mean().item(), y.std().item())
with tempfile.TemporaryDirectory() as d:
    p = DDPMPipeline(unet, noise)
    p.set_progress_bar_config(disable=True)
    p.save_pretrained(d)
    q = DDPMPipeline.from_pretrained(d)
    q.set_progress_bar_config(disable=True)
    print(
        q(
            batch_size=2,
            generator=torch.Generator().manual_seed(2),
            num_inference_steps=4,
            output_type="np",
        ).images.mean()
    )
vae = AutoencoderKL(
    block_out_channels=(16, 32),
    in_channels=3,
    out_channels=3,
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    latent_channels=4,
    norm_num_groups=8,
)
im = torch.randn(2, 3, 16, 16)
post = vae.encode(im).latent_dist
z = post.sample(torch.Generator().manual_seed(0))
r = vae.decode(z).sample
loss = torch.nn.functional.mse_loss(r, im) + 1e-3 * post.kl().mean()
loss.backward()
print(z.shape, loss.item())
