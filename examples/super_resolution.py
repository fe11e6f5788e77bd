"""Enlarge pictures with a sub-pixel convolutional network.

The network works on the small picture and ends in `nn.PixelShuffle`, which turns r*r channels of a
pixel into r by r pixels. It learns from random drawings, which are made here, and the result is
measured in decibels (PSNR: higher is better) against the usual bicubic enlargement.

    python examples/super_resolution.py
    python examples/super_resolution.py --factor 3 --steps 100 --log-every 1
"""

import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


def draw(size, generator):
    """A grey picture of shape (1, size, size): a soft background with discs and bars on it."""
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")

    def numbers(count):
        return torch.rand(count, generator=generator).tolist()

    slope_x, slope_y, level = numbers(3)
    picture = 0.3 + 0.4 * level + 0.2 * (slope_x - 0.5) * x + 0.2 * (slope_y - 0.5) * y
    for _ in range(4):
        centre_x, centre_y, extent, grey = numbers(4)
        disc = (x - centre_x) ** 2 + (y - centre_y) ** 2 < (0.05 + 0.2 * extent) ** 2
        picture = torch.where(disc, torch.tensor(grey), picture)
    for _ in range(3):
        direction, offset, width, grey = numbers(4)
        angle = math.pi * direction
        across = (x - 0.5) * math.cos(angle) + (y - 0.5) * math.sin(angle) - (offset - 0.5)
        picture = torch.where(across.abs() < 0.01 + 0.05 * width, torch.tensor(grey), picture)
    return picture.unsqueeze(0)


class Drawings(Dataset):
    """Pairs of a small picture and the large one that it was shrunk from."""

    def __init__(self, count, size, factor, seed):
        generator = torch.Generator().manual_seed(seed)
        # Drawn at twice the size and averaged, for edges without steps.
        drawings = torch.stack([draw(2 * size, generator) for _ in range(count)])
        self.large = F.avg_pool2d(drawings, 2)
        self.small = F.avg_pool2d(self.large, factor)

    def __len__(self):
        return len(self.large)

    def __getitem__(self, index):
        return self.small[index], self.large[index]


class SubPixelNetwork(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, factor**2, kernel_size=3, padding=1),
            nn.PixelShuffle(factor),
        )
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight, nn.init.calculate_gain("relu"))
        # The last layer begins near zero: at first the answer is the bicubic one.
        nn.init.normal_(self.layers[-2].weight, std=1e-3)

    def forward(self, small):
        return enlarge(small, self.factor) + self.layers(small)


def enlarge(small, factor):
    """The bicubic enlargement, which the network corrects."""
    return F.interpolate(small, scale_factor=factor, mode="bicubic", align_corners=False)


def psnr(loader, method):
    """The mean peak signal-to-noise ratio of `method`, from small to large, in decibels."""
    total, count = 0.0, 0
    with torch.no_grad():
        for small, large in loader:
            squared_error = (method(small).clamp(0, 1) - large).square().mean(dim=(1, 2, 3))
            total += (-10 * torch.log10(squared_error)).sum().item()
            count += len(large)
    return total / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300, help="number of optimisation steps")
    parser.add_argument("--log-every", type=int, default=20, help="steps between two log lines")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--factor", type=int, default=2, help="how many times larger")
    parser.add_argument("--size", type=int, default=24, help="height and width of a small picture")
    parser.add_argument("--pictures", type=int, default=128, help="number of training pictures")
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    size = args.size * args.factor
    train_set = Drawings(args.pictures, size, args.factor, seed=args.seed)
    test_set = Drawings(32, size, args.factor, seed=args.seed + 1)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=args.batch_size)

    model = SubPixelNetwork(args.factor)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for small, large in train_loader:
            loss = F.mse_loss(model(small), large)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step}  loss {loss.item():.8g}", flush=True)
            if step == args.steps:
                break

    print(f"bicubic: {psnr(test_loader, lambda small: enlarge(small, args.factor)):.2f} dB")
    print(f"network: {psnr(test_loader, model):.2f} dB")


if __name__ == "__main__":
    main()
