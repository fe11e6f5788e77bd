"""Paint one picture in the texture of another, by optimising its pixels.

What is in a picture is described by the features that a convolutional network sees at each place;
its style by which features occur together anywhere: the Gram matrix of the features. Gradient
descent on the pixels makes an image with the content of one picture and the style of the other.
The network is small and random, and is never trained: even random filters describe a texture. Both
pictures are computed, so that nothing needs to be downloaded.

    python examples/neural_style.py --out pictures
    python examples/neural_style.py --style-weight 1000 --steps 50 --log-every 1
"""

import argparse
import struct
import tempfile
import zlib
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


def content_picture(size):
    """A sun over a hill, shape (1, 3, size, size), values from 0 to 1."""
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
    sky = torch.stack([0.35 + 0.3 * y, 0.55 + 0.2 * y, 0.9 - 0.1 * y])
    sun = torch.tensor([1.0, 0.85, 0.3]).view(3, 1, 1)
    hill = torch.tensor([0.15, 0.45, 0.2]).view(3, 1, 1)
    picture = torch.where((x - 0.7) ** 2 + (y - 0.3) ** 2 < 0.03, sun, sky)
    picture = torch.where(y > 0.65 + 0.15 * torch.cos(5 * x), hill, picture)
    return picture.unsqueeze(0)


def style_picture(size):
    """Bent stripes in three colours, of the same shape and range."""
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
    wave = 40 * x + 12 * torch.sin(9 * y)
    colours = [0.5 + 0.5 * torch.sin(wave + phase) for phase in (0.0, 1.0, 2.5)]
    return torch.stack(colours).unsqueeze(0)


def write_png(path, image):
    """Save an image of shape (1, 3, height, width) with values from 0 to 1."""

    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    pixels = (image[0].clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0)
    height, width, _ = pixels.shape
    # Each row begins with a byte that says how it is filtered: 0 is "not at all".
    rows = b"".join(b"\0" + bytes(row.flatten().tolist()) for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def gram_matrix(features):
    """How often each two of the features occur together, whatever the place."""
    batch, channels, height, width = features.shape
    flat = features.view(batch, channels, height * width)
    return flat @ flat.transpose(1, 2) / (channels * height * width)


class RandomFeatures(nn.Module):
    """A fixed network with random weights; returns the features after each of its layers."""

    def __init__(self, channels=(3, 16, 32, 64)):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, kernel_size=3, padding=1, padding_mode="reflect")
            for before, after in pairwise(channels)
        )
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        # Only the pixels are optimised.
        self.requires_grad_(False)

    def forward(self, image):
        features = []
        x = 2 * image - 1
        for layer in self.layers:
            x = F.relu(layer(x))
            features.append(x)
            x = F.avg_pool2d(x, 2)
        return features


def roughness(image):
    """How much neighbouring pixels differ."""
    across = (image[..., 1:] - image[..., :-1]).square().mean()
    down = (image[..., 1:, :] - image[..., :-1, :]).square().mean()
    return across + down


class StyleLoss(nn.Module):
    """How far an image is from the wanted content and the wanted style, and how rough it is."""

    def __init__(self, network, content, style, style_weight, smoothness):
        super().__init__()
        self.network = network
        self.style_weight = style_weight
        self.smoothness = smoothness
        self.content_features = network(content)[-1]
        self.style_grams = [gram_matrix(features) for features in network(style)]

    def forward(self, image):
        features = self.network(image)
        content_loss = F.mse_loss(features[-1], self.content_features)
        style_loss = sum(
            F.mse_loss(gram_matrix(found), wanted)
            for found, wanted in zip(features, self.style_grams, strict=True)
        )
        # Without the last term random filters are content with coloured noise.
        return content_loss + self.style_weight * style_loss + self.smoothness * roughness(image)


def paint(image, loss_function, args):
    """Change the pixels of `image` in place."""
    image.requires_grad_()
    optimizer = torch.optim.Adam([image], lr=args.lr)
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        loss = loss_function(image)
        loss.backward()
        optimizer.step()
        # A leaf that requires grad may be changed in place only where nothing is recorded.
        with torch.no_grad():
            image.clamp_(0, 1)
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.8g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200, help="number of optimisation steps")
    parser.add_argument("--log-every", type=int, default=20, help="steps between two log lines")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--size", type=int, default=96, help="height and width of the pictures")
    parser.add_argument("--style-weight", type=float, default=3000.0)
    parser.add_argument("--smoothness", type=float, default=1.0, help="weight of the roughness")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder for the pictures (default: a new one)"
    )
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    content, style = content_picture(args.size), style_picture(args.size)
    network = RandomFeatures()
    loss_function = StyleLoss(network, content, style, args.style_weight, args.smoothness)

    image = (content + 0.1 * torch.randn_like(content)).clamp(0, 1)
    paint(image, loss_function, args)

    folder = args.out or Path(tempfile.mkdtemp(prefix="neural-style-"))
    folder.mkdir(parents=True, exist_ok=True)
    write_png(folder / "content.png", content)
    write_png(folder / "style.png", style)
    write_png(folder / "painted.png", image.detach())
    print(f"wrote {folder / 'painted.png'}, beside content.png and style.png")


if __name__ == "__main__":
    main()
