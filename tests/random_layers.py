"""Random models for `random_steps.py`: layers of all families in random order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import taper
from taper import nn
from taper.nn import functional as F

ACTIVATIONS: tuple[Callable[[], nn.Module], ...] = (
    nn.ReLU,
    nn.GELU,
    lambda: nn.GELU(approximate="tanh"),
    nn.Tanh,
    nn.Sigmoid,
    nn.SiLU,
    lambda: nn.LeakyReLU(0.1),
    nn.Softplus,
    nn.ELU,
    nn.SELU,
    nn.CELU,
    nn.Mish,
    nn.Hardswish,
    nn.Hardsigmoid,
    nn.Hardtanh,
    nn.ReLU6,
    nn.LogSigmoid,
    nn.Softsign,
    nn.Tanhshrink,
    nn.Softshrink,
    lambda: nn.Threshold(0.1, 0.0),
    lambda: nn.Softmax(-1),
    lambda: nn.LogSoftmax(-1),
    nn.PReLU,
    nn.RReLU,
)

IN_PLACE: tuple[Callable[[], nn.Module], ...] = (
    lambda: nn.ReLU(inplace=True),
    lambda: nn.SiLU(inplace=True),
    lambda: nn.LeakyReLU(0.2, inplace=True),
    lambda: nn.ELU(inplace=True),
    lambda: nn.Hardtanh(inplace=True),
    lambda: nn.Dropout(0.3, inplace=True),
)


def dense(draw: random.Random, width: int) -> tuple[nn.Module, int]:
    """A layer for (batch, width), and the width after it."""
    wider = draw.choice([3, 4, 8, 16])
    share = draw.choice([0.1, 0.5])
    layers: list[tuple[Callable[[], nn.Module], int]] = [
        (lambda: nn.Linear(width, wider, bias=draw.random() < 0.8), wider),
        (draw.choice(ACTIVATIONS), width),
        (draw.choice(ACTIVATIONS), width),
        (lambda: nn.Dropout(share), width),
        (lambda: nn.Sequential(nn.Linear(width, wider), draw.choice(IN_PLACE)()), wider),
        (lambda: nn.AlphaDropout(share), width),
        (lambda: nn.BatchNorm1d(width, momentum=draw.choice([0.1, None])), width),
        (lambda: nn.BatchNorm1d(width, affine=False), width),
        (lambda: nn.BatchNorm1d(width, track_running_stats=False), width),
        (lambda: nn.LayerNorm(width), width),
        (lambda: nn.LayerNorm(width, elementwise_affine=False), width),
        (lambda: nn.RMSNorm(width), width),
        (lambda: nn.GroupNorm(1, width), width),
        (lambda: Residual(width), width),
        (lambda: Twice(width), width),
        (lambda: Gated(width), width),
        (lambda: Branches(width), width + 2),
        (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(width, wider)), wider),
        (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(width, wider)), wider),
        (lambda: Written(width), width),
    ]
    make, after = draw.choice(layers)
    return make(), after


class Residual(nn.Module):
    """Add a layer to what goes around it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.scale = nn.Parameter(taper.ones(1))

    def forward(self, x: Any) -> Any:
        return x + self.scale * F.relu(self.inner(x))


class Twice(nn.Module):
    """Use a layer twice, and its weight once more by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        return self.inner(self.inner(x).tanh()) @ self.inner.weight.t()


class Gated(nn.Module):
    """Split what a layer gives, and multiply the halves."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, 2 * width)
        self.bilinear = nn.Bilinear(width, width, width)

    def forward(self, x: Any) -> Any:
        first, second = self.inner(x).chunk(2, dim=1)
        return F.glu(taper.cat([first, second], 1), 1) + 0.1 * self.bilinear(first, second.detach())


class Branches(nn.Module):
    """Numbers about the rows beside the rows themselves."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("seen", taper.zeros(()))

    def forward(self, x: Any) -> Any:
        if self.training:
            self.seen.add_(1)
        most = x.max(dim=1, keepdim=True).values
        spread = (x - x.mean(1, keepdim=True)).pow(2).mean(1, keepdim=True).add(1e-3).sqrt()
        return taper.cat([x.clamp(-4, 4), most, spread], dim=1)


class Written(nn.Module):
    """Write into parts of a copy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(taper.full((width - 1,), 0.5))

    def forward(self, x: Any) -> Any:
        y = x.clone()
        y[:, 1:] = x[:, 1:] * self.scale
        y[:, 0].mul_(2)
        return y.masked_fill(y > 3, 3.0)


class Pictures(nn.Module):
    """Convolutions, norms and pooling before the dense layers."""

    def __init__(self, draw: random.Random, width: int) -> None:
        super().__init__()
        channels = draw.choice([2, 4])
        conv: Any = draw.choice(
            [
                lambda: nn.Conv2d(1, channels, 3, padding=1),
                lambda: nn.Conv2d(1, channels, 3, padding="same", padding_mode="circular"),
                lambda: nn.ConvTranspose2d(1, channels, 3, padding=1),
                lambda: nn.Sequential(
                    nn.Conv2d(1, channels, 1), nn.Conv2d(channels, channels, 3, 1, 1, 1, channels)
                ),
            ]
        )()
        norm: Any = draw.choice(
            [
                nn.Identity,
                lambda: nn.BatchNorm2d(channels),
                lambda: nn.GroupNorm(2, channels),
                lambda: nn.InstanceNorm2d(channels, affine=True),
                lambda: nn.LayerNorm((channels, 4, 4)),
            ]
        )()
        pool: Any = draw.choice(
            [
                lambda: nn.MaxPool2d(2),
                lambda: nn.AvgPool2d(2),
                lambda: nn.AdaptiveAvgPool2d(2),
                lambda: nn.AdaptiveMaxPool2d(2),
                lambda: nn.LPPool2d(2, 2),
                lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.AvgPool2d(4)),
            ]
        )()
        self.parts = nn.Sequential(conv, norm, nn.ReLU(draw.random() < 0.5), pool)
        if draw.random() < 0.3:
            self.parts.append(draw.choice([nn.Dropout2d, nn.FeatureAlphaDropout])(0.3))
        self.last = nn.Linear(channels * 4, width)

    def forward(self, x: Any) -> Any:
        x = self.parts(x.view(x.shape[0], 1, 4, 4))
        return self.last(x.flatten(1))


class Waves(nn.Module):
    """Convolution and pooling along one dimension before the dense layers."""

    def __init__(self, draw: random.Random, width: int) -> None:
        super().__init__()
        self.parts = nn.Sequential(
            nn.Conv1d(2, 4, 3, padding=1, dilation=1),
            draw.choice([lambda: nn.BatchNorm1d(4), lambda: nn.GroupNorm(2, 4), nn.Identity])(),
            draw.choice(ACTIVATIONS)(),
            draw.choice([lambda: nn.MaxPool1d(2), lambda: nn.AvgPool1d(2)])(),
        )
        self.last = nn.Linear(16, width)

    def forward(self, x: Any) -> Any:
        return self.last(self.parts(x.reshape(x.shape[0], 2, 8)).flatten(1))


class Sequences(nn.Module):
    """Recurrence or attention before the dense layers."""

    def __init__(self, draw: random.Random, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.inner: Any = draw.choice(
            [
                lambda: nn.LSTM(8, 8, batch_first=True),
                lambda: nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True, dropout=0.2),
                lambda: nn.GRU(8, 8, batch_first=True),
                lambda: nn.GRU(8, 4, bidirectional=True, batch_first=True),
                lambda: nn.RNN(8, 8, batch_first=True, nonlinearity="relu"),
                lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.1, batch_first=True),
                lambda: nn.TransformerEncoderLayer(
                    8, 2, 16, 0.1, F.gelu, batch_first=True, norm_first=True
                ),
                lambda: Attention(draw),
                lambda: Cells(draw),
            ]
        )()
        self.last = nn.Linear(8, width)

    def forward(self, x: Any) -> Any:
        x = self.inner(self.first(x.view(x.shape[0], 4, 4)))
        if isinstance(x, tuple):
            x = x[0]
        return self.last(x.mean(1))


class Attention(nn.Module):
    """Attention as functions and as a module."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.causal = draw.random() < 0.5
        self.heads = nn.MultiheadAttention(8, 2, dropout=draw.choice([0.0, 0.2]), batch_first=True)
        self.needs_weights = draw.random() < 0.5

    def forward(self, x: Any) -> Any:
        y, _ = self.heads(x, x, x, need_weights=self.needs_weights)
        return x + F.scaled_dot_product_attention(y, y, y, is_causal=self.causal)


class Cells(nn.Module):
    """A recurrence written as a loop."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.cell: Any = draw.choice([nn.LSTMCell, nn.GRUCell, nn.RNNCell])(8, 8)

    def forward(self, x: Any) -> Any:
        state = None
        outputs = []
        for number in range(x.shape[1]):
            state = self.cell(x[:, number], state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return taper.stack(outputs, 1)


class Tokens(nn.Module):
    """Embeddings of what the numbers are rounded to; the table serves at the end, too."""

    def __init__(self, draw: random.Random, width: int) -> None:
        super().__init__()
        self.kind = draw.choice(["plain", "bag", "tied"])
        if self.kind == "bag":
            self.table: Any = nn.EmbeddingBag(9, 8, mode=draw.choice(["mean", "sum"]))
        else:
            self.table = nn.Embedding(9, 8, padding_idx=draw.choice([None, 2]))
        self.head = nn.Linear(8, 9, bias=False)
        if self.kind == "tied":
            self.head.weight = self.table.weight
        self.last = nn.Linear(9, width)

    def forward(self, x: Any) -> Any:
        codes = (x * 2).clamp(-4, 4).round().long() + 4
        found = self.table(codes)
        if self.kind != "bag":
            found = found.mean(1)
        return self.last(self.head(found))


STEMS = (Pictures, Sequences, Waves, Tokens)


def model(draw: random.Random) -> nn.Module:
    """A random model from (batch, 16) to (batch, 3)."""
    width = 16
    parts: list[nn.Module] = []
    if draw.random() < 0.5:
        parts.append(draw.choice(STEMS)(draw, 8))
        width = 8
    for _ in range(draw.randint(1, 6)):
        part, width = dense(draw, width)
        parts.append(part)
    net = nn.Sequential(*parts, nn.Linear(width, 3))
    if len(net) > 2 and draw.random() < 0.2:
        net[draw.randrange(len(net) - 1)].requires_grad_(False)
    return net
