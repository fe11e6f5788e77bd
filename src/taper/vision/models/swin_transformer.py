"""Swin Transformer: attention inside windows, which are shifted in every second block."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.creation.filled import ones, zeros
from taper.ops.creation.ranges import arange
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.ops.misc import MLP, Permute
from taper.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "SwinTransformer",
    "Swin_T_Weights",
    "Swin_S_Weights",
    "Swin_B_Weights",
    "Swin_V2_T_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_B_Weights",
    "swin_t",
    "swin_s",
    "swin_b",
    "swin_v2_t",
    "swin_v2_s",
    "swin_v2_b",
]


Layer = Callable[..., nn.Module]


def _quarters(x: Tensor) -> Tensor:
    """Put the four pixels of each square of 2x2 side by side, as channels."""
    height, width = x.shape[-3:-1]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    return cat([x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)], -1)


class PatchMerging(nn.Module):
    """Halve the size and double the channels: normalise, then a linear layer."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.reduction(self.norm(_quarters(x)))


class PatchMergingV2(nn.Module):
    """Halve the size and double the channels: a linear layer, then normalise."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.reduction(_quarters(x)))


def relative_position_index(height: int, width: int) -> Tensor:
    """Return for each pair of places in a window the number of the offset between them.

    >>> from taper.vision.models.swin_transformer import relative_position_index
    >>> relative_position_index(1, 3).tolist()
    [[2, 1, 0], [3, 2, 1], [4, 3, 2]]
    """
    places = arange(height * width)
    rows, columns = places // width, places % width
    down = rows[:, None] - rows[None, :] + height - 1
    right = columns[:, None] - columns[None, :] + width - 1
    return down * (2 * width - 1) + right


def _windows(x: Tensor, window: list[int]) -> Tensor:
    """Cut pictures into windows: a batch of lists of places."""
    batch, height, width, channels = x.shape
    counts = (height // window[0], width // window[1])
    x = x.view(batch, counts[0], window[0], counts[1], window[1], channels)
    x = x.permute(0, 1, 3, 2, 4, 5)
    return x.reshape(batch * counts[0] * counts[1], window[0] * window[1], channels)


def _shift_mask(size: tuple[int, int], window: list[int], shift: list[int], like: Tensor) -> Tensor:
    """Return -100 for pairs of places that only the shift brought into one window."""
    regions = [
        [0] * (size[dim] - window[dim]) + [1] * (window[dim] - shift[dim]) + [2] * shift[dim]
        for dim in (0, 1)
    ]
    labels = [[3.0 * row + column for column in regions[1]] for row in regions[0]]
    places = _windows(like.new_tensor(labels)[None, :, :, None], window)[..., 0]
    return ((places[:, None, :] - places[:, :, None]) != 0).to(like.dtype) * -100.0


class ShiftedWindowAttention(nn.Module):
    """Attention between the places of a window, with a bias for each offset."""

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """Make the parameter with a bias for each offset and head."""
        offsets = (2 * self.window_size[0] - 1) * (2 * self.window_size[1] - 1)
        self.relative_position_bias_table = nn.Parameter(zeros(offsets, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """Keep which offset each pair of places has."""
        index = relative_position_index(self.window_size[0], self.window_size[1])
        self.register_buffer("relative_position_index", index.flatten())

    def get_relative_position_bias(self) -> Tensor:
        """Return the bias of each head and pair of places."""
        return self._by_pairs(self.relative_position_bias_table)

    def _by_pairs(self, table: Tensor) -> Tensor:
        places = self.window_size[0] * self.window_size[1]
        bias = table[self.relative_position_index].view(places, places, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def _qkv(self, x: Tensor) -> Tensor:
        return self.qkv(x)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        q = q * (q.shape[-1] ** -0.5)
        return q.matmul(k.transpose(-2, -1))

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        bias = self.get_relative_position_bias()
        window = self.window_size
        below, right = -height % window[0], -width % window[1]
        x = F.pad(x, (0, 0, 0, right, 0, below))
        size = (height + below, width + right)
        shift = [0 if window[dim] >= size[dim] else self.shift_size[dim] for dim in (0, 1)]
        if any(shift):
            x = x.roll((-shift[0], -shift[1]), dims=(1, 2))
        x = self._attend(_windows(x, window), bias, size, shift)
        counts = (size[0] // window[0], size[1] // window[1])
        x = x.view(batch, counts[0], counts[1], window[0], window[1], channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch, *size, channels)
        if any(shift):
            x = x.roll((shift[0], shift[1]), dims=(1, 2))
        return x[:, :height, :width, :].contiguous()

    def _attend(self, x: Tensor, bias: Tensor, size: tuple[int, int], shift: list[int]) -> Tensor:
        """Return the attention of a batch of windows."""
        count, places, channels = x.shape
        qkv = self._qkv(x).reshape(count, places, 3, self.num_heads, channels // self.num_heads)
        qkv = qkv.permute(2, 0, 3, 1, 4)
        scores = self._scores(qkv[0], qkv[1]) + bias
        if any(shift):
            mask = _shift_mask(size, self.window_size, shift, x)
            shape = (count // mask.shape[0], mask.shape[0], self.num_heads, places, places)
            scores = scores.view(shape) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.num_heads, places, places)
        weights = F.dropout(F.softmax(scores, -1), self.attention_dropout, self.training)
        x = weights.matmul(qkv[2]).transpose(1, 2).reshape(count, places, channels)
        return F.dropout(self.proj(x), self.dropout, self.training)


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by the angle of queries and keys; a small network gives the biases."""

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        sizes = (dim, window_size, shift_size, num_heads)
        super().__init__(*sizes, qkv_bias, proj_bias, attention_dropout, dropout)
        self.logit_scale = nn.Parameter((10 * ones(num_heads, 1, 1)).log())
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True),
            nn.ReLU(inplace=True),
            nn.Linear(512, num_heads, bias=False),
        )
        if qkv_bias:
            self.qkv.bias[dim : 2 * dim].data.zero_()

    def define_relative_position_bias_table(self) -> None:
        """Keep the offsets, on a logarithmic scale, as a picture of pairs of numbers."""
        height, width = self.window_size
        down = arange(-(height - 1), height).float() / (height - 1)
        right = arange(-(width - 1), width).float() / (width - 1)
        shape = (2 * height - 1, 2 * width - 1, 1)
        offsets = 8 * cat(
            [down[:, None, None].expand(shape), right[None, :, None].expand(shape)], -1
        )
        table = offsets.sign() * (offsets.abs() + 1.0).log2() / 3.0
        self.register_buffer("relative_coords_table", table.unsqueeze(0))

    def get_relative_position_bias(self) -> Tensor:
        """Return the bias of each head and pair of places."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * self._by_pairs(table).sigmoid()

    def _qkv(self, x: Tensor) -> Tensor:
        bias: Tensor | None = self.qkv.bias
        if bias is not None:
            width = bias.numel() // 3
            bias = bias.clone()
            bias[width : 2 * width].zero_()  # keys have no bias
        return F.linear(x, self.qkv.weight, bias)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        cosines = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        return cosines * self.logit_scale.clamp(max=math.log(100.0)).exp()


class SwinTransformerBlock(nn.Module):
    """Attention in windows, then two linear layers, both residual, both normalised before."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        rates = {"attention_dropout": attention_dropout, "dropout": dropout}
        self.attn = attn_layer(dim, window_size, shift_size, num_heads, **rates)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        widths = [int(dim * mlp_ratio), dim]
        self.mlp = MLP(dim, widths, activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.normal_(module.bias, std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """Attention in windows, then two linear layers, both residual, both normalised after."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttentionV2,
    ) -> None:
        rates = (mlp_ratio, dropout, attention_dropout, stochastic_depth_prob)
        super().__init__(dim, num_heads, window_size, shift_size, *rates, norm_layer, attn_layer)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """A network of stages of windowed attention, with halvings of the size between them.

    >>> import taper
    >>> from taper.vision.models import SwinTransformer
    >>> model = SwinTransformer([4, 4], 8, [1, 1], [2, 2], [2, 2], num_classes=3)
    >>> model(taper.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        block: Layer | None = None,
        downsample_layer: Layer = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        norm = partial(nn.LayerNorm, eps=1e-5) if norm_layer is None else norm_layer
        make = SwinTransformerBlock if block is None else block
        patch = (patch_size[0], patch_size[1])
        first = nn.Conv2d(3, embed_dim, kernel_size=patch, stride=patch)
        layers: list[nn.Module] = [nn.Sequential(first, Permute([0, 2, 3, 1]), norm(embed_dim))]
        last = sum(depths) - 1
        rates: Options = {
            "mlp_ratio": mlp_ratio,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
        }
        number = 0
        for stage, depth in enumerate(depths):
            dim = embed_dim * 2**stage
            blocks: list[nn.Module] = []
            for nr in range(depth):
                shift = [0 if nr % 2 == 0 else size // 2 for size in window_size]
                rates["stochastic_depth_prob"] = stochastic_depth_prob * float(number) / last
                blocks.append(
                    make(dim, num_heads[stage], window_size, shift, norm_layer=norm, **rates)
                )
                number += 1
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(dim, norm))
        self.features = nn.Sequential(*layers)
        features = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm(features)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(features, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


SECOND = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}


def _swin(sizes: tuple[int, list[int], list[int], float], options: Options) -> SwinTransformer:
    width, depths, heads, depth_rate = sizes
    window = 8 if "block" in options else 7
    rate = options.pop("stochastic_depth_prob", depth_rate)
    return SwinTransformer(
        [4, 4], width, depths, heads, [window, window], stochastic_depth_prob=rate, **options
    )


TINY = (96, [2, 2, 6, 2], [3, 6, 12, 24], 0.2)
SMALL = (96, [2, 2, 18, 2], [3, 6, 12, 24], 0.3)
BASE = (128, [2, 2, 18, 2], [4, 8, 16, 32], 0.5)


class Swin_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "swin_t-704ceda3.pth",
        28_288_354,
        (81.474, 95.776),
        least=224,
        resize=232,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class Swin_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "swin_s-5e29d889.pth",
        49_606_258,
        (83.196, 96.36),
        least=224,
        resize=246,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class Swin_B_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "swin_b-68c6b09e.pth",
        87_768_224,
        (83.582, 96.64),
        least=224,
        resize=238,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class Swin_V2_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "swin_v2_t-b137f0e2.pth",
        28_351_570,
        (82.072, 96.132),
        least=256,
        resize=260,
        crop=256,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class Swin_V2_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "swin_v2_s-637d8ceb.pth",
        49_737_442,
        (83.712, 96.816),
        least=256,
        resize=260,
        crop=256,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class Swin_V2_B_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "swin_v2_b-781e5279.pth",
        87_930_848,
        (84.112, 96.864),
        least=256,
        resize=272,
        crop=256,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


@builder(Swin_T_Weights)
def swin_t(**options: Any) -> SwinTransformer:
    """Return the tiny Swin Transformer."""
    return _swin(TINY, options)


@builder(Swin_S_Weights)
def swin_s(**options: Any) -> SwinTransformer:
    """Return the small Swin Transformer."""
    return _swin(SMALL, options)


@builder(Swin_B_Weights)
def swin_b(**options: Any) -> SwinTransformer:
    """Return the base Swin Transformer."""
    return _swin(BASE, options)


@builder(Swin_V2_T_Weights)
def swin_v2_t(**options: Any) -> SwinTransformer:
    """Return the tiny Swin Transformer V2."""
    return _swin(TINY, {**SECOND, **options})


@builder(Swin_V2_S_Weights)
def swin_v2_s(**options: Any) -> SwinTransformer:
    """Return the small Swin Transformer V2."""
    return _swin(SMALL, {**SECOND, **options})


@builder(Swin_V2_B_Weights)
def swin_v2_b(**options: Any) -> SwinTransformer:
    """Return the base Swin Transformer V2."""
    return _swin(BASE, {**SECOND, **options})
