"""Train a deep convolutional GAN on pictures of coloured discs, then save what it invents.

Two networks play against each other: the generator turns random numbers into pictures, the
discriminator says how likely a picture is real.  Each has its own optimizer, and a step trains the
discriminator first (on real and on invented pictures), then the generator (to be taken for real).
"""

import argparse
import struct
import tempfile
import zlib
from pathlib import Path

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

SIDE = 32
REAL, FAKE = 1.0, 0.0


def draw_discs(count):
    """`count` pictures of a disc on a background, both of random colour; pixels in [-1, 1]."""
    center = torch.empty(2, count, 1, 1, 1).uniform_(-0.4, 0.4)
    radius = torch.empty(count, 1, 1, 1).uniform_(0.3, 0.6)
    inside, outside = torch.empty(2, count, 3, 1, 1).uniform_(-1, 1)
    line = torch.linspace(-1, 1, SIDE)
    y, x = torch.meshgrid(line, line, indexing="ij")
    distance = torch.hypot(x - center[0], y - center[1])
    mask = torch.sigmoid(20 * (radius - distance))
    return torch.lerp(outside, inside, mask)


class Generator(nn.Module):
    def __init__(self, noise, width):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(noise, 4 * width, 4, 1, 0, bias=False),  # 1 x 1 -> 4 x 4
            nn.BatchNorm2d(4 * width),
            nn.ReLU(True),
            nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False),  # -> 8 x 8
            nn.BatchNorm2d(2 * width),
            nn.ReLU(True),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False),  # -> 16 x 16
            nn.BatchNorm2d(width),
            nn.ReLU(True),
            nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False),  # -> 32 x 32
            nn.Tanh(),
        )

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1, bias=False),  # 32 x 32 -> 16 x 16
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False),  # -> 8 x 8
            nn.BatchNorm2d(2 * width),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * width, 4 * width, 4, 2, 1, bias=False),  # -> 4 x 4
            nn.BatchNorm2d(4 * width),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(4 * width, 1, 4, 1, 0, bias=False),  # -> 1 x 1
            nn.Sigmoid(),
        )

    def forward(self, pictures):
        return self.main(pictures).flatten()


def init_weights(module):
    """Applied to every module: small normal weights, as GANs like them."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def train_step(real, noise, generator, discriminator, optimizer_g, optimizer_d):
    """One step for each network; returns the two losses."""
    criterion = nn.BCELoss()
    is_real = torch.full((len(real),), REAL)
    is_fake = torch.full((len(real),), FAKE)

    # The discriminator: the gradients of both halves add up before its step.
    optimizer_d.zero_grad()
    loss_real = criterion(discriminator(real), is_real)
    loss_real.backward()
    fake = generator(noise)
    loss_fake = criterion(discriminator(fake.detach()), is_fake)  # detach: not the generator's turn
    loss_fake.backward()
    optimizer_d.step()

    # The generator: its pictures should be taken for real.
    optimizer_g.zero_grad()
    loss_g = criterion(discriminator(fake), is_real)
    loss_g.backward()
    optimizer_g.step()
    return (loss_real + loss_fake).item(), loss_g.item()


def save_png(path, pictures, columns=8):
    """Write (count, 3, height, width) pictures with values in [-1, 1] side by side as one."""
    count, _, height, width = pictures.shape
    grid = pictures.view(count // columns, columns, 3, height, width).permute(0, 3, 1, 4, 2)
    pixels = (127.5 * (grid + 1)).round().to(torch.uint8)
    lines = pixels.reshape(count // columns * height, columns * width * 3)
    rows = b"".join(b"\0" + line.cpu().numpy().tobytes() for line in lines)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", columns * width, len(lines), 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train-size", type=int, default=2048, help="pictures for training")
    parser.add_argument("--noise", type=int, default=32, help="random numbers for a picture")
    parser.add_argument("--width", type=int, default=16, help="channels of the widest pictures")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--beta1", type=float, default=0.5, help="Adam's first decay rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="stop after this many optimisation steps")
    parser.add_argument("--log-every", type=int, default=10, metavar="K")
    parser.add_argument("--out", metavar="FOLDER", help="for the pictures (default: a new folder)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    pictures = TensorDataset(draw_discs(args.train_size))
    loader = DataLoader(pictures, batch_size=args.batch_size, shuffle=True, drop_last=True)

    generator = Generator(args.noise, args.width).apply(init_weights)
    discriminator = Discriminator(args.width).apply(init_weights)
    betas = (args.beta1, 0.999)
    optimizer_g = optim.Adam(generator.parameters(), lr=args.lr, betas=betas)
    optimizer_d = optim.Adam(discriminator.parameters(), lr=args.lr, betas=betas)
    fixed_noise = torch.randn(64, args.noise, 1, 1)

    step = 0
    for _ in range(args.epochs):
        for (real,) in loader:
            noise = torch.randn(len(real), args.noise, 1, 1)
            loss_d, loss_g = train_step(
                real, noise, generator, discriminator, optimizer_g, optimizer_d
            )
            step += 1
            if step % args.log_every == 0:
                print(f"step {step}  loss {loss_d:.8g}  generator {loss_g:.8g}")
            if step == args.steps:
                break
        if step == args.steps:
            break

    out = Path(args.out or tempfile.mkdtemp(prefix="dcgan-"))
    out.mkdir(parents=True, exist_ok=True)
    generator.eval()
    with torch.no_grad():
        save_png(out / "fake.png", generator(fixed_noise))
    save_png(out / "real.png", pictures.tensors[0][:64])
    print(f"wrote {out / 'fake.png'} and {out / 'real.png'}")


if __name__ == "__main__":
    main()
