"""Vision transformers: a picture is a sequence of patches."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from taper import nn
from taper.nn.modules.statedict import writes_last
from taper.ops.creation.filled import empty, zeros
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.top_level import _assert
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.models._utils import fixed
from taper.vision.ops.misc import MLP, Conv2dNormActivation

__all__ = [
    "VisionTransformer",
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "ViT_H_14_Weights",
    "vit_b_16",
    "vit_b_32",
    "vit_l_16",
    "vit_l_32",
    "vit_h_14",
]


Layer = Callable[..., nn.Module]
NORM = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """A convolution in front of the transformer."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Layer = nn.BatchNorm2d
    activation_layer: Layer = nn.ReLU


class MLPBlock(MLP):
    """The two linear layers of a block."""

    _version = 2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(
            in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.normal_(module.bias, std=1e-6)

    @writes_last
    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Rename the layers of files from before version 2, `linear_1` and `linear_2`."""
        version = local_metadata.get("version")
        if version is None or version < 2:
            for old, new in (("linear_1", "0"), ("linear_2", "3")):
                for kind in ("weight", "bias"):
                    value = state_dict.pop(f"{prefix}{old}.{kind}", None)
                    if value is not None:
                        state_dict[f"{prefix}{new}.{kind}"] = value
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class EncoderBlock(nn.Module):
    """Attention and two linear layers, each normalised first and added to its input."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer = NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        _check_sequence(input)
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


def _check_sequence(input: Tensor) -> None:
    _assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")


class Encoder(nn.Module):
    """Blocks of a transformer over a sequence with learned positions."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer = NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        sizes = (num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{nr}", EncoderBlock(*sizes)) for nr in range(num_layers))
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        _check_sequence(input)
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer over the patches of a picture; the class is read from an extra token.

    >>> import taper
    >>> from taper.vision.models import VisionTransformer
    >>> model = VisionTransformer(32, 8, num_layers=1, num_heads=2, hidden_dim=8, mlp_dim=16)
    >>> model(taper.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1000])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Layer = NORM,
        conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        self.conv_proj = self._projection(conv_stem_configs)
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        sizes = (num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout)
        self.encoder = Encoder(self.seq_length, *sizes, norm_layer)
        self.heads = self._heads()
        self._initialize()

    def _projection(self, stem: list[ConvStemConfig] | None) -> nn.Module:
        if stem is None:
            return nn.Conv2d(3, self.hidden_dim, self.patch_size, stride=self.patch_size)
        layers, channels = nn.Sequential(), 3
        for number, each in enumerate(stem):
            convolution = Conv2dNormActivation(
                channels,
                each.out_channels,
                each.kernel_size,
                each.stride,
                norm_layer=each.norm_layer,
                activation_layer=each.activation_layer,
            )
            layers.add_module(f"conv_bn_relu_{number}", convolution)
            channels = each.out_channels
        layers.add_module("conv_last", nn.Conv2d(channels, self.hidden_dim, 1))
        return layers

    def _heads(self) -> nn.Sequential:
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        width = self.hidden_dim
        if self.representation_size is not None:
            layers["pre_logits"] = nn.Linear(width, self.representation_size)
            layers["act"] = nn.Tanh()
            width = self.representation_size
        layers["head"] = nn.Linear(width, self.num_classes)
        return nn.Sequential(layers)

    def _initialize(self) -> None:
        projection = self.conv_proj
        if isinstance(projection, nn.Conv2d):
            inputs = projection.in_channels * math.prod(projection.kernel_size)
            nn.init.trunc_normal_(projection.weight, std=math.sqrt(1 / inputs))
        else:
            projection = projection.conv_last
            deviation = math.sqrt(2.0 / projection.out_channels)
            nn.init.normal_(projection.weight, mean=0.0, std=deviation)
        if projection.bias is not None:
            nn.init.zeros_(projection.bias)
        if self.representation_size is not None:
            before = self.heads.pre_logits
            nn.init.trunc_normal_(before.weight, std=math.sqrt(1 / before.in_features))
            nn.init.zeros_(before.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        """Return the patches as a sequence: (picture, patch, channel)."""
        count, _, height, width = x.shape
        for name, size in (("height", height), ("width", width)):
            _assert(
                size == self.image_size,
                f"Wrong image {name}! Expected {self.image_size} but got {size}!",
            )
        rows, columns = height // self.patch_size, width // self.patch_size
        x = self.conv_proj(x)
        return x.reshape(count, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self._process_input(x)
        count = x.shape[0]
        token = self.class_token.expand(count, -1, -1)
        x = self.encoder(cat([token, x], dim=1))
        return self.heads(x[:, 0])


def _of_weights(weights: WeightsEnum, options: Options) -> None:
    fixed(options, "num_classes", 1000)
    fixed(options, "image_size", weights.meta["min_size"][0])


def _transformer(
    patch: int, layers: int, heads: int, hidden: int, inside: int, options: Options
) -> VisionTransformer:
    image_size = options.pop("image_size", 224)
    return VisionTransformer(image_size, patch, layers, heads, hidden, inside, **options)


class ViT_B_16_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_b_16-c867db91.pth", 86_567_656, (81.072, 95.318), least=224)
    IMAGENET1K_SWAG_E2E_V1 = imagenet(
        "vit_b_16_swag-9ac1b537.pth",
        86_859_496,
        (85.304, 97.65),
        least=384,
        resize=384,
        crop=384,
        interpolation="bicubic",
    )
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet(
        "vit_b_16_lc_swag-4e70ced5.pth",
        86_567_656,
        (81.886, 96.18),
        least=224,
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class ViT_B_32_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_b_32-d86f8d99.pth", 88_224_232, (75.912, 92.466), least=224)
    DEFAULT = IMAGENET1K_V1


class ViT_L_16_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "vit_l_16-852ce7e3.pth", 304_326_632, (79.662, 94.638), least=224, resize=242
    )
    IMAGENET1K_SWAG_E2E_V1 = imagenet(
        "vit_l_16_swag-4f3808c9.pth",
        305_174_504,
        (88.064, 98.512),
        least=512,
        resize=512,
        crop=512,
        interpolation="bicubic",
    )
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet(
        "vit_l_16_lc_swag-4d563306.pth",
        304_326_632,
        (85.146, 97.422),
        least=224,
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class ViT_L_32_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_l_32-c7638314.pth", 306_535_400, (76.972, 93.07), least=224)
    DEFAULT = IMAGENET1K_V1


class ViT_H_14_Weights(WeightsEnum):
    IMAGENET1K_SWAG_E2E_V1 = imagenet(
        "vit_h_14_swag-80465313.pth",
        633_470_440,
        (88.552, 98.694),
        least=518,
        resize=518,
        crop=518,
        interpolation="bicubic",
    )
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet(
        "vit_h_14_lc_swag-c1eb923e.pth",
        632_045_800,
        (85.708, 97.73),
        least=224,
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


@builder(ViT_B_16_Weights, _of_weights)
def vit_b_16(**options: Any) -> VisionTransformer:
    """Return the base vision transformer with patches of 16x16; also takes `image_size`."""
    return _transformer(16, 12, 12, 768, 3072, options)


@builder(ViT_B_32_Weights, _of_weights)
def vit_b_32(**options: Any) -> VisionTransformer:
    """Return the base vision transformer with patches of 32x32; also takes `image_size`."""
    return _transformer(32, 12, 12, 768, 3072, options)


@builder(ViT_L_16_Weights, _of_weights)
def vit_l_16(**options: Any) -> VisionTransformer:
    """Return the large vision transformer with patches of 16x16; also takes `image_size`."""
    return _transformer(16, 24, 16, 1024, 4096, options)


@builder(ViT_L_32_Weights, _of_weights)
def vit_l_32(**options: Any) -> VisionTransformer:
    """Return the large vision transformer with patches of 32x32; also takes `image_size`."""
    return _transformer(32, 24, 16, 1024, 4096, options)


@builder(ViT_H_14_Weights, _of_weights)
def vit_h_14(**options: Any) -> VisionTransformer:
    """Return the huge vision transformer with patches of 14x14; also takes `image_size`."""
    return _transformer(14, 32, 16, 1280, 5120, options)


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: OrderedDict[str, Tensor],
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> OrderedDict[str, Tensor]:
    """Return a model's state for pictures of another size: its positions are interpolated.

    >>> import taper
    >>> from taper.vision.models.vision_transformer import interpolate_embeddings
    >>> state = {"encoder.pos_embedding": taper.zeros(1, 5, 3)}
    >>> interpolate_embeddings(32, 8, state)["encoder.pos_embedding"].shape
    torch.Size([1, 17, 3])
    """
    positions = model_state["encoder.pos_embedding"]
    count, length, hidden = positions.shape
    if count != 1:
        raise ValueError(f"Unexpected position embedding shape: {positions.shape}")
    wanted = (image_size // patch_size) ** 2
    if wanted == length - 1:
        return model_state
    side = math.isqrt(length - 1)
    if side * side != length - 1:
        raise ValueError(
            f"seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = "
            f"{side * side} and seq_length = {length - 1}"
        )
    token, grid = positions[:, :1, :], positions[:, 1:, :].permute(0, 2, 1)
    new_side = image_size // patch_size
    grid = nn.functional.interpolate(
        grid.reshape(1, hidden, side, side),
        size=new_side,
        mode=interpolation_mode,
        align_corners=True,
    )
    grid = grid.reshape(1, hidden, wanted).permute(0, 2, 1)
    model_state["encoder.pos_embedding"] = cat([token, grid], dim=1)
    if not reset_heads:
        return model_state
    kept = {key: value for key, value in model_state.items() if not key.startswith("heads")}
    return OrderedDict(kept)
