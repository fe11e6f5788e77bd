"""Loss curves of three models that processes train together, each on its part of every batch.

`python curves.py PACKAGE FILE [whole]` writes them from rank 0; `whole` is one process without DDP.
"""

import importlib
import json
import sys
from pathlib import Path

PACKAGE = sys.argv[1]
p = importlib.import_module(PACKAGE)
dist = importlib.import_module(f"{PACKAGE}.distributed")
nn, F = p.nn, p.nn.functional
BATCH, STEPS, LENGTH, ALPHABET = 16, 12, 16, 20


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        parts = self.attention(self.norm1(x)).chunk(3, dim=2)
        split = [each.view(*each.shape[:2], self.heads, -1).transpose(1, 2) for each in parts]
        y = F.scaled_dot_product_attention(*split, is_causal=True)
        x = x + self.mix(y.transpose(1, 2).reshape(x.shape))
        return x + self.back(F.gelu(self.wider(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.tokens, self.places = nn.Embedding(ALPHABET, width), nn.Embedding(LENGTH, width)
        self.body = nn.Sequential(Attention(width, 4), Attention(width, 4), nn.LayerNorm(width))
        self.head = nn.Linear(width, ALPHABET, bias=False)

    def forward(self, text):
        return self.head(self.body(self.tokens(text) + self.places(p.arange(LENGTH))))


def perceptron():
    net = nn.Sequential(
        nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)
    )
    x, y = p.randn(STEPS, BATCH, 20), p.randint(0, 5, (STEPS, BATCH))
    return net, p.optim.SGD(net.parameters(), lr=0.2, momentum=0.9), x, y, {"bucket_cap_mb": 0.01}


def pictures():
    net = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3),
        nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 9, 4),
    )  # fmt: skip
    x, y = p.randn(STEPS, BATCH, 1, 12, 12), p.randint(0, 4, (STEPS, BATCH))
    return net, p.optim.Adam(net.parameters(), lr=0.01), x, y, {"gradient_as_bucket_view": True}


def text():
    net = GPT()
    words = p.randint(0, ALPHABET, (STEPS, BATCH, LENGTH + 1))
    optimizer = p.optim.AdamW(net.parameters(), lr=3e-3)
    return net, optimizer, words[..., :-1], words[..., 1:], {"static_graph": True}


def curve(make, rank, size, is_whole):
    p.manual_seed(0)
    net, optimizer, inputs, targets, options = make()
    if not is_whole:
        net = nn.parallel.DistributedDataParallel(
            nn.SyncBatchNorm.convert_sync_batchnorm(net), **options
        )
    losses = []
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        guesses = net(x[rank::size])
        loss = F.cross_entropy(guesses.flatten(0, -2), y[rank::size].flatten())
        loss.backward()
        optimizer.step()
        mean = loss.detach() / size
        if not is_whole:
            dist.all_reduce(mean)
        losses.append(mean.item())
    return losses


def main():
    is_whole = sys.argv[3:] == ["whole"]
    if not is_whole:
        dist.init_process_group("gloo")
    rank, size = (0, 1) if is_whole else (dist.get_rank(), dist.get_world_size())
    makers = {"mlp": perceptron, "cnn": pictures, "gpt": text}
    if PACKAGE == "torch" and not is_whole:
        del makers["cnn"]  # PyTorch has SyncBatchNorm on accelerators only
    curves = {name: curve(make, rank, size, is_whole) for name, make in makers.items()}
    if rank == 0:
        Path(sys.argv[2]).write_text(json.dumps(curves, indent=0))
    if not is_whole:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
