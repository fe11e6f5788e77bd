"""MaxViT: each layer convolves, attends inside windows, and attends over a grid of the picture."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from taper import nn
from taper.nn import functional as F
from taper.ops.creation.filled import empty
from taper.ops.linalg.einsum import einsum
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum, builder, imagenet
from taper.vision.models.swin_transformer import relative_position_index
from taper.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from taper.vision.ops.stochastic_depth import StochasticDepth

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]


Layer = Callable[..., nn.Module]


def _halved(size: tuple[int, int]) -> tuple[int, int]:
    """Return the size after a convolution of 3x3 with stride 2."""
    return (size[0] - 1) // 2 + 1, (size[1] - 1) // 2 + 1


class MBConv(nn.Module):
    """Widen, convolve each channel, weigh the channels, narrow; added to the input."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Layer,
        norm_layer: Layer,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            proj: list[nn.Module] = [nn.Conv2d(in_channels, out_channels, 1, stride=1, bias=True)]
            if stride == 2:
                proj.insert(0, nn.AvgPool2d(3, stride=stride, padding=1))
            self.proj = nn.Sequential(*proj)
        width, squeezed = int(out_channels * expansion_ratio), int(out_channels * squeeze_ratio)
        rate = p_stochastic_dropout
        self.stochastic_depth = StochasticDepth(rate, mode="row") if rate else nn.Identity()
        usual: dict[str, Any] = {
            "activation_layer": activation_layer,
            "norm_layer": norm_layer,
            "inplace": None,
        }
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["pre_norm"] = norm_layer(in_channels)
        layers["conv_a"] = Conv2dNormActivation(in_channels, width, 1, 1, 0, **usual)
        layers["conv_b"] = Conv2dNormActivation(width, width, 3, stride, 1, width, **usual)
        layers["squeeze_excitation"] = SqueezeExcitation(width, squeezed, activation=nn.SiLU)
        layers["conv_c"] = nn.Conv2d(width, out_channels, 1, bias=True)
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        kept = self.proj(x)
        return kept + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention between the places of square parts, with a bias for each offset."""

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads = feat_dim // head_dim
        self.head_dim = head_dim
        self.size = int(math.sqrt(max_seq_len))
        self.max_seq_len = max_seq_len
        self.to_qkv = nn.Linear(feat_dim, self.n_heads * self.head_dim * 3)
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(self.head_dim * self.n_heads, feat_dim)
        offsets = (2 * self.size - 1) ** 2
        self.relative_position_bias_table = nn.Parameter(empty(offsets, self.n_heads))
        self.register_buffer(
            "relative_position_index", relative_position_index(self.size, self.size)
        )
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        """Return the bias of each head and pair of places."""
        index = self.relative_position_index.view(-1)
        bias = self.relative_position_bias_table[index]
        bias = bias.view(self.max_seq_len, self.max_seq_len, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: Tensor) -> Tensor:
        batch, groups, places, width = x.shape
        shape = (batch, groups, places, self.n_heads, self.head_dim)
        q, k, v = (
            part.reshape(shape).permute(0, 1, 3, 2, 4) for part in self.to_qkv(x).chunk(3, -1)
        )
        k = k * self.scale_factor
        scores = einsum("B G H I D, B G H J D -> B G H I J", q, k)
        weights = F.softmax(scores + self.get_relative_positional_bias(), -1)
        out = einsum("B G H I J, B G H J D -> B G H I D", weights, v)
        out = out.permute(0, 1, 3, 2, 4).reshape(batch, groups, places, width)
        return self.merge(out)


class SwapAxes(nn.Module):
    """Swap two dimensions."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x: Tensor) -> Tensor:
        return x.swapaxes(self.a, self.b)


class WindowPartition(nn.Module):
    """Cut pictures into squares of `p`: lists of places with channels last."""

    def forward(self, x: Tensor, p: int) -> Tensor:
        batch, channels, height, width = x.shape
        x = x.reshape(batch, channels, height // p, p, width // p, p)
        x = x.permute(0, 2, 4, 3, 5, 1)
        return x.reshape(batch, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """Put the squares of `WindowPartition` together again."""

    def forward(self, x: Tensor, p: int, h_partitions: int, w_partitions: int) -> Tensor:
        batch, _, _, channels = x.shape
        x = x.reshape(batch, h_partitions, w_partitions, p, p, channels)
        x = x.permute(0, 5, 1, 3, 2, 4)
        return x.reshape(batch, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention inside windows or over a grid, then two linear layers, both residual."""

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Layer,
        norm_layer: Layer,
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        self.n_heads = in_channels // head_dim
        self.head_dim = head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type = partition_type
        self.grid_size = grid_size
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        sizes = (partition_size, self.n_partitions)
        self.p, self.g = sizes if partition_type == "window" else sizes[::-1]
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        swaps = partition_type == "grid"
        self.partition_swap = SwapAxes(-2, -3) if swaps else nn.Identity()
        self.departition_swap = SwapAxes(-2, -3) if swaps else nn.Identity()
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Tensor) -> Tensor:
        rows, columns = self.grid_size[0] // self.p, self.grid_size[1] // self.p
        if self.grid_size[0] % self.p != 0 or self.grid_size[1] % self.p != 0:
            raise ValueError(
                "Grid size must be divisible by partition size. Got grid size of "
                f"{self.grid_size} and partition size of {self.p}"
            )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        return self.departition_op(self.departition_swap(x), self.p, rows, columns)


class MaxVitLayer(nn.Module):
    """A convolution, attention inside windows, attention over a grid."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        rate = p_stochastic_dropout
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        ratios = (expansion_ratio, squeeze_ratio, stride, activation_layer, norm_layer, rate)
        layers["MBconv"] = MBConv(in_channels, out_channels, *ratios)
        attends = partial(PartitionAttentionLayer, out_channels, head_dim, partition_size)
        rates = (attention_dropout, mlp_dropout, rate)
        for kind in ("window", "grid"):
            layers[f"{kind}_attention"] = attends(
                kind, grid_size, mlp_ratio, activation_layer, nn.LayerNorm, *rates
            )
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of one width; the first one halves the size."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        partition_size: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: Sequence[float],
    ) -> None:
        super().__init__()
        if not len(p_stochastic) == n_layers:
            raise ValueError(
                f"p_stochastic must have length n_layers={n_layers}, got p_stochastic="
                f"{p_stochastic}."
            )
        self.layers = nn.ModuleList()
        self.grid_size = _halved(input_grid_size)
        for nr, rate in enumerate(p_stochastic):
            self.layers.append(
                MaxVitLayer(
                    in_channels if nr == 0 else out_channels,
                    out_channels,
                    squeeze_ratio,
                    expansion_ratio,
                    2 if nr == 0 else 1,
                    norm_layer,
                    activation_layer,
                    head_dim,
                    mlp_ratio,
                    mlp_dropout,
                    attention_dropout,
                    rate,
                    partition_size,
                    self.grid_size,
                )
            )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """A network for pictures of one size, made of blocks that convolve and attend.

    >>> import taper
    >>> from taper.vision.models import MaxVit
    >>> model = MaxVit((16, 16), 8, 2, [8, 16], [1, 1], 4, 0.1, num_classes=3)
    >>> model(taper.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm = (
            partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01) if norm_layer is None else norm_layer
        )
        size = self._check_sizes(input_size, partition_size, len(block_channels))
        usual: dict[str, Any] = {"norm_layer": norm, "activation_layer": activation_layer}
        plain: dict[str, Any] = {"norm_layer": None, "activation_layer": None}
        self.stem = nn.Sequential(
            Conv2dNormActivation(3, stem_channels, 3, 2, bias=False, inplace=None, **usual),
            Conv2dNormActivation(stem_channels, stem_channels, 3, 1, bias=True, **plain),
        )
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        rates = iter(np.linspace(0, stochastic_depth_prob, sum(block_layers)).tolist())
        incoming = [stem_channels, *block_channels[:-1]]
        options = (squeeze_ratio, expansion_ratio, norm, activation_layer, head_dim, mlp_ratio)
        for wide, out, count in zip(incoming, block_channels, block_layers, strict=False):
            sizes = (mlp_dropout, attention_dropout, partition_size, size, count)
            share = [next(rates) for _ in range(count)]
            self.blocks.append(MaxVitBlock(wide, out, *options, *sizes, share))
            size = self.blocks[-1].grid_size
        last = block_channels[-1]
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(last),
            nn.Linear(last, last),
            nn.Tanh(),
            nn.Linear(last, num_classes, bias=False),
        )
        self._init_weights()

    @staticmethod
    def _check_sizes(size: tuple[int, int], part: int, count: int) -> tuple[int, int]:
        """Return the size after the stem, if each block's size consists of whole parts."""
        first = size = _halved(size)
        for nr in range(count):
            size = _halved(size)
            if size[0] % part != 0 or size[1] % part != 0:
                raise ValueError(
                    f"Input size {size} of block {nr} is not divisible by partition size {part}. "
                    "Consider changing the partition size or the input size.\n"
                )
        return first

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)

    def _init_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)


class MaxVit_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "maxvit_t-bc5ab103.pth",
        30_919_624,
        (83.7, 96.722),
        least=224,
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


@builder(MaxVit_T_Weights)
def maxvit_t(**options: Any) -> MaxVit:
    """Return the tiny MaxViT."""
    return MaxVit(
        input_size=options.pop("input_size", (224, 224)),
        stem_channels=64,
        partition_size=7,
        block_channels=[64, 128, 256, 512],
        block_layers=[2, 2, 5, 2],
        head_dim=32,
        stochastic_depth_prob=0.2,
        **options,
    )
