"""Train a variational autoencoder on pictures of ellipses, then let it draw new ones.

The encoder gives a normal distribution for each picture; a sample of it is decoded.  The loss is
how badly the picture is rebuilt plus how far the distribution is from the standard one, so that
after training the decoder turns standard normal numbers into pictures.
"""

import argparse
import math
import struct
import tempfile
import zlib
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

SIDE = 28


def draw_ellipses(count):
    """`count` pictures of one ellipse each, with soft edges; pixels lie between 0 and 1."""
    angle = math.pi * torch.rand(count, 1, 1)
    center = torch.empty(2, count, 1, 1).uniform_(-0.3, 0.3)
    radius = torch.empty(2, count, 1, 1).uniform_(0.2, 0.6)
    line = torch.linspace(-1, 1, SIDE)
    y, x = torch.meshgrid(line, line, indexing="ij")
    x, y = x - center[0], y - center[1]
    along = (x * angle.cos() + y * angle.sin()) / radius[0]
    across = (y * angle.cos() - x * angle.sin()) / radius[1]
    return torch.sigmoid(10 * (1 - torch.hypot(along, across)))


class VAE(nn.Module):
    def __init__(self, hidden, latent):
        super().__init__()
        self.encoder = nn.Linear(SIDE * SIDE, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.ReLU(),
            nn.Linear(hidden, SIDE * SIDE),
            nn.Sigmoid(),
        )

    def encode(self, x):
        h = F.relu(self.encoder(x))
        return self.mean(h), self.log_variance(h)

    def forward(self, x):
        mean, log_variance = self.encode(x.flatten(1))
        # The sample is written as a function of mean and variance, so that gradients reach both.
        std = torch.exp(0.5 * log_variance)
        z = mean + torch.randn_like(std) * std
        return self.decoder(z), mean, log_variance


def loss_function(model, x):
    """Negative evidence lower bound, per picture."""
    rebuilt, mean, log_variance = model(x)
    bce = F.binary_cross_entropy(rebuilt, x.flatten(1), reduction="sum")
    # Distance of N(mean, variance) from N(0, 1), summed over the latent numbers.
    kl = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (bce + kl) / len(x)


def save_png(path, image):
    """Write a (height, width) tensor of values between 0 and 1 as a grey picture."""
    height, width = image.shape
    pixels = (255 * image).round().to(torch.uint8)
    rows = b"".join(b"\0" + row.cpu().numpy().tobytes() for row in pixels)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)


def train(args, model, loader, optimizer, step):
    """One epoch, or less if --steps says so; returns the number of steps done so far."""
    model.train()
    for (x,) in loader:
        optimizer.zero_grad()
        loss = loss_function(model, x)
        loss.backward()
        optimizer.step()
        step += 1
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.8g}")
        if step == args.steps:
            break
    return step


@torch.no_grad()
def test(model, loader):
    model.eval()
    losses = [loss_function(model, x).item() * len(x) for (x,) in loader]
    print(f"test: loss {sum(losses) / len(loader.dataset):.4f}")


@torch.no_grad()
def draw(model, latent, rows=8, columns=8):
    """New pictures from random numbers, side by side in one."""
    model.eval()
    pictures = model.decoder(torch.randn(rows * columns, latent))
    grid = pictures.view(rows, columns, SIDE, SIDE).transpose(1, 2)
    return grid.reshape(rows * SIDE, columns * SIDE)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train-size", type=int, default=6000, help="pictures for training")
    parser.add_argument("--test-size", type=int, default=1000, help="pictures for the test")
    parser.add_argument("--hidden", type=int, default=400, help="width of the hidden layers")
    parser.add_argument("--latent", type=int, default=20, help="numbers that describe a picture")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="stop after this many optimisation steps")
    parser.add_argument("--log-every", type=int, default=10, metavar="K")
    parser.add_argument("--out", metavar="FOLDER", help="for the picture (default: a new folder)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    train_set = TensorDataset(draw_ellipses(args.train_size))
    test_set = TensorDataset(draw_ellipses(args.test_size))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=args.batch_size)

    model = VAE(args.hidden, args.latent)
    optimizer = optim.Adam(model.parameters(), lr=args.lr)

    step = 0
    for _ in range(args.epochs):
        step = train(args, model, train_loader, optimizer, step)
        test(model, test_loader)
        if step == args.steps:
            break

    out = Path(args.out or tempfile.mkdtemp(prefix="vae-"))
    out.mkdir(parents=True, exist_ok=True)
    save_png(out / "samples.png", draw(model, args.latent))
    print(f"wrote {out / 'samples.png'}")


if __name__ == "__main__":
    main()
