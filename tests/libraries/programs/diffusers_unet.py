"""diffusers: a tiny UNet trained on noise, saved, loaded; schedulers and a pipeline sampling from it."""

import tempfile

import torch
from diffusers import (
    AutoencoderKL,
    DDIMPipeline,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)  # fmt: skip
from diffusers.training_utils import EMAModel
from diffusers.utils import logging

logging.disable_progress_bar()
torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=4, attention_head_dim=4,
)  # fmt: skip
schedule = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
average = EMAModel(model.parameters(), decay=0.9)
images = torch.linspace(-1, 1, 4 * 64).reshape(4, 1, 8, 8)
for _ in range(6):
    noise = torch.randn_like(images)
    times = torch.randint(0, 50, (4,))
    predicted = model(schedule.add_noise(images, noise, times), times).sample
    loss = torch.nn.functional.mse_loss(predicted, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.step(model.parameters())
    print("loss", loss.item())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    model = UNet2DModel.from_pretrained(folder).eval()
for kind in (DDPMScheduler, DDIMScheduler, EulerDiscreteScheduler, DPMSolverMultistepScheduler):
    steps = kind(num_train_timesteps=50)
    steps.set_timesteps(5)
    torch.manual_seed(1)
    sample = torch.randn(1, 1, 8, 8) * steps.init_noise_sigma
    with torch.no_grad():
        for time in steps.timesteps:
            out = model(steps.scale_model_input(sample, time), time).sample
            sample = steps.step(out, time, sample).prev_sample
    print(kind.__name__, sample.mean().item(), sample.std().item())
pipeline = DDPMPipeline(model, schedule)
pipeline.set_progress_bar_config(disable=True)
image = pipeline(
    batch_size=1,
    num_inference_steps=4,
    generator=torch.Generator().manual_seed(2),
    output_type="np",
)
print("pipeline", image.images.mean(), image.images.std())
with tempfile.TemporaryDirectory() as folder:
    pipeline.save_pretrained(folder)
    again = DDIMPipeline.from_pretrained(folder)
    again.set_progress_bar_config(disable=True)
    image = again(
        num_inference_steps=4, generator=torch.Generator().manual_seed(2), output_type="np"
    ).images
print("again", image.mean(), image.std())
torch.manual_seed(3)
conditioned = UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=8, norm_num_groups=4, attention_head_dim=4,
)  # fmt: skip
out = conditioned(torch.randn(2, 4, 8, 8), torch.tensor([1, 7]), torch.randn(2, 3, 8)).sample
out.square().mean().backward()
print(
    "conditioned",
    out.mean().item(),
    sum(p.grad.abs().sum() for p in conditioned.parameters() if p.grad is not None).item(),
)
coder = AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=2)
latent = coder.encode(torch.randn(1, 3, 8, 8)).latent_dist
print("coder", latent.kl().item(), coder.decode(latent.sample()).sample.mean().item())
