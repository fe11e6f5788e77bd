"""RAFT: a flow that is corrected step by step, from how alike all pairs of places are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.creation.ranges import linspace
from taper.ops.shape.join import meshgrid
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.vision.models._api import URL, Meta, Options, Weights, WeightsEnum, builder
from taper.vision.models.optical_flow._utils import grid_sample, make_coords_grid, upsample_flow
from taper.vision.ops.misc import Conv2dNormActivation

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]

Layer = Callable[..., nn.Module]


def _shortcut(given: int, result: int, norm_layer: Layer | None, stride: int) -> nn.Module:
    return Conv2dNormActivation(
        given, result, 1, stride, norm_layer=norm_layer, bias=True, activation_layer=None
    )


class ResidualBlock(nn.Module):
    """Two convolutions of 3x3, added to the input."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        norm_layer: Layer | None,
        stride: int = 1,
        always_project: bool = False,
    ) -> None:
        super().__init__()
        usual: dict[str, Any] = {"norm_layer": norm_layer, "kernel_size": 3, "bias": True}
        self.convnormrelu1 = Conv2dNormActivation(in_channels, out_channels, stride=stride, **usual)
        self.convnormrelu2 = Conv2dNormActivation(out_channels, out_channels, **usual)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or always_project:
            self.downsample = _shortcut(in_channels, out_channels, norm_layer, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.convnormrelu2(self.convnormrelu1(x))
        return self.relu(self.downsample(x) + seen)


class BottleneckBlock(nn.Module):
    """Convolutions of 1x1, 3x3 and 1x1, added to the input."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        norm_layer: Layer | None,
        stride: int = 1,
    ) -> None:
        super().__init__()
        usual: dict[str, Any] = {"norm_layer": norm_layer, "bias": True}
        inside = out_channels // 4
        self.convnormrelu1 = Conv2dNormActivation(in_channels, inside, 1, **usual)
        self.convnormrelu2 = Conv2dNormActivation(inside, inside, 3, stride, **usual)
        self.convnormrelu3 = Conv2dNormActivation(inside, out_channels, 1, **usual)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1:
            self.downsample = _shortcut(in_channels, out_channels, norm_layer, stride)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.convnormrelu3(self.convnormrelu2(self.convnormrelu1(x)))
        return self.relu(self.downsample(x) + seen)


class FeatureEncoder(nn.Module):
    """Turn pictures into features of an eighth of their size."""

    def __init__(
        self,
        *,
        block: Layer = ResidualBlock,
        layers: tuple[int, ...] = (64, 64, 96, 128, 256),
        strides: tuple[int, ...] = (2, 1, 2, 2),
        norm_layer: Layer | None = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if len(layers) != 5:
            raise ValueError(f"The expected number of layers is 5, instead got {len(layers)}")
        self.convnormrelu = Conv2dNormActivation(
            3, layers[0], 7, strides[0], norm_layer=norm_layer, bias=True
        )

        def pair(nr: int) -> nn.Sequential:
            first = block(layers[nr], layers[nr + 1], norm_layer=norm_layer, stride=strides[nr + 1])
            second = block(layers[nr + 1], layers[nr + 1], norm_layer=norm_layer, stride=1)
            return nn.Sequential(first, second)

        self.layer1 = pair(0)
        self.layer2 = pair(1)
        self.layer3 = pair(2)
        self.conv = nn.Conv2d(layers[3], layers[4], kernel_size=1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d | nn.InstanceNorm2d):
                if module.weight is not None:
                    nn.init.constant_(module.weight, 1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        self.output_dim = layers[-1]
        self.downsample_factor = functools.reduce(lambda a, b: a * b, strides)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.layer3(self.layer2(self.layer1(self.convnormrelu(x)))))


class MotionEncoder(nn.Module):
    """Turn a flow, and how alike the places are that it joins, into features."""

    def __init__(
        self,
        *,
        in_channels_corr: int,
        corr_layers: tuple[int, ...] = (256, 192),
        flow_layers: tuple[int, ...] = (128, 64),
        out_channels: int = 128,
    ) -> None:
        super().__init__()
        if len(flow_layers) != 2:
            raise ValueError(
                f"The expected number of flow_layers is 2, instead got {len(flow_layers)}"
            )
        if len(corr_layers) not in (1, 2):
            raise ValueError(
                "The number of corr_layers should be 1 or 2, instead got {len(corr_layers)}"
            )
        plain: dict[str, Any] = {"norm_layer": None}
        self.convcorr1 = Conv2dNormActivation(in_channels_corr, corr_layers[0], 1, **plain)
        self.convcorr2: nn.Module = nn.Identity()
        if len(corr_layers) == 2:
            self.convcorr2 = Conv2dNormActivation(corr_layers[0], corr_layers[1], 3, **plain)
        self.convflow1 = Conv2dNormActivation(2, flow_layers[0], 7, **plain)
        self.convflow2 = Conv2dNormActivation(flow_layers[0], flow_layers[1], 3, **plain)
        both = corr_layers[-1] + flow_layers[-1]
        self.conv = Conv2dNormActivation(both, out_channels - 2, 3, **plain)
        self.out_channels = out_channels

    def forward(self, flow: Tensor, corr_features: Tensor) -> Tensor:
        alike = self.convcorr2(self.convcorr1(corr_features))
        moved = self.convflow2(self.convflow1(flow))
        return cat([self.conv(cat([alike, moved], dim=1)), flow], dim=1)


class ConvGRU(nn.Module):
    """A GRU whose gates are convolutions."""

    def __init__(
        self, *, input_size: int, hidden_size: int, kernel_size: Any, padding: Any
    ) -> None:
        super().__init__()
        sizes = (hidden_size + input_size, hidden_size, kernel_size)
        self.convz = nn.Conv2d(*sizes, padding=padding)
        self.convr = nn.Conv2d(*sizes, padding=padding)
        self.convq = nn.Conv2d(*sizes, padding=padding)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        both = cat([h, x], dim=1)
        update, reset = self.convz(both).sigmoid(), self.convr(both).sigmoid()
        new = self.convq(cat([reset * h, x], dim=1)).tanh()
        return (1 - update) * h + update * new


def _pass_through_h(h: Tensor, _: Tensor) -> Tensor:
    return h


class RecurrentBlock(nn.Module):
    """One GRU, or one along rows and one along columns."""

    def __init__(
        self,
        *,
        input_size: int,
        hidden_size: int,
        kernel_size: tuple[Any, ...] = ((1, 5), (5, 1)),
        padding: tuple[Any, ...] = ((0, 2), (2, 0)),
    ) -> None:
        super().__init__()
        if len(kernel_size) != len(padding):
            raise ValueError(
                "kernel_size should have the same length as padding, instead got "
                f"len(kernel_size) = {len(kernel_size)} and len(padding) = {len(padding)}"
            )
        if len(kernel_size) not in (1, 2):
            raise ValueError(f"kernel_size should either 1 or 2, instead got {len(kernel_size)}")
        made = [
            ConvGRU(input_size=input_size, hidden_size=hidden_size, kernel_size=k, padding=p)
            for k, p in zip(kernel_size, padding, strict=True)
        ]
        self.convgru1 = made[0]
        self.convgru2: Any = made[1] if len(made) == 2 else _pass_through_h
        self.hidden_size = hidden_size

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        return self.convgru2(self.convgru1(h, x), x)


class FlowHead(nn.Module):
    """Say how a flow is to be corrected."""

    def __init__(self, *, in_channels: int, hidden_size: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, hidden_size, 3, padding=1)
        self.conv2 = nn.Conv2d(hidden_size, 2, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(self.relu(self.conv1(x)))


class UpdateBlock(nn.Module):
    """One step: the next state, and how the flow is to be corrected."""

    def __init__(
        self, *, motion_encoder: nn.Module, recurrent_block: nn.Module, flow_head: nn.Module
    ) -> None:
        super().__init__()
        self.motion_encoder = motion_encoder
        self.recurrent_block = recurrent_block
        self.flow_head = flow_head
        self.hidden_state_size = recurrent_block.hidden_size

    def forward(
        self, hidden_state: Tensor, context: Tensor, corr_features: Tensor, flow: Tensor
    ) -> tuple[Tensor, Tensor]:
        motion = self.motion_encoder(flow, corr_features)
        hidden_state = self.recurrent_block(hidden_state, cat([context, motion], dim=1))
        return hidden_state, self.flow_head(hidden_state)


class MaskPredictor(nn.Module):
    """Say with which weights a flow is enlarged."""

    def __init__(self, *, in_channels: int, hidden_size: int, multiplier: float = 0.25) -> None:
        super().__init__()
        self.convrelu = Conv2dNormActivation(in_channels, hidden_size, 3, norm_layer=None)
        self.conv = nn.Conv2d(hidden_size, 8 * 8 * 9, 1, padding=0)
        self.multiplier = multiplier

    def forward(self, x: Tensor) -> Tensor:
        return self.multiplier * self.conv(self.convrelu(x))


class CorrBlock(nn.Module):
    """How alike all pairs of places of two pictures are, at several sizes.

    >>> from taper.vision.models.optical_flow.raft import CorrBlock
    >>> CorrBlock(num_levels=2, radius=1).out_channels
    18
    """

    def __init__(self, *, num_levels: int = 4, radius: int = 4) -> None:
        super().__init__()
        self.num_levels = num_levels
        self.radius = radius
        self.corr_pyramid: list[Tensor] = []
        self.out_channels = num_levels * (2 * radius + 1) ** 2

    def build_pyramid(self, fmap1: Tensor, fmap2: Tensor) -> None:
        """Compute how alike the places are."""
        if fmap1.shape != fmap2.shape:
            raise ValueError(
                "Input feature maps should have the same shape, instead got "
                f"{fmap1.shape} (fmap1.shape) != {fmap2.shape} (fmap2.shape)"
            )
        least = 2 * (2 ** (self.num_levels - 1))
        batch, channels, height, width = fmap1.shape
        if min(height, width) < least:
            raise ValueError(
                "Feature maps are too small to be down-sampled by the correlation pyramid. "
                f"H and W of feature maps should be at least {least}; got: {fmap1.shape[-2:]}. "
                "Remember that input images to the model are downsampled by 8, so that means "
                f"their dimensions should be at least 8 * {least} = {8 * least}."
            )
        first, second = fmap1.flatten(2), fmap2.flatten(2)
        alike = first.transpose(1, 2) @ second / channels**0.5
        level = alike.reshape(batch * height * width, 1, height, width)
        self.corr_pyramid = [level]
        for _ in range(self.num_levels - 1):
            level = F.avg_pool2d(level, kernel_size=2, stride=2)
            self.corr_pyramid.append(level)

    def index_pyramid(self, centroids_coords: Tensor) -> Tensor:
        """Return how alike the pixels are to those around the places that a flow leads to."""
        side = 2 * self.radius + 1
        steps = linspace(-self.radius, self.radius, side)
        around = stack(meshgrid(steps, steps, indexing="ij"), dim=-1).to(centroids_coords.device)
        around = around.view(1, side, side, 2)
        batch, _, height, width = centroids_coords.shape
        places = centroids_coords.permute(0, 2, 3, 1).reshape(batch * height * width, 1, 1, 2)
        found = []
        for level in self.corr_pyramid:
            seen = grid_sample(level, places + around, align_corners=True, mode="bilinear")
            found.append(seen.view(batch, height, width, -1))
            places = places / 2
        return cat(found, dim=-1).permute(0, 3, 1, 2).contiguous()


class RAFT(nn.Module):
    """Say where each pixel of a picture is in another one, in steps: a list of flows.

    Args:
        feature_encoder: turns both pictures into features.
        context_encoder: turns the first one into a state and what goes with it.
        corr_block: says how alike places are.
        update_block: makes a step.
        mask_predictor: says how flows are enlarged; between their places without it.
    """

    def __init__(
        self,
        *,
        feature_encoder: nn.Module,
        context_encoder: nn.Module,
        corr_block: nn.Module,
        update_block: nn.Module,
        mask_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.feature_encoder = feature_encoder
        self.context_encoder = context_encoder
        self.corr_block = corr_block
        self.update_block = update_block
        self.mask_predictor = mask_predictor
        if not hasattr(self.update_block, "hidden_state_size"):
            raise ValueError(
                "The update_block parameter should expose a 'hidden_state_size' attribute."
            )

    def _start(self, image1: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first state, and what goes with it in every step."""
        seen = self.context_encoder(image1)
        size: Any = self.update_block.hidden_state_size
        rest = seen.shape[1] - size
        if rest <= 0:
            raise ValueError(
                f"The context encoder outputs {seen.shape[1]} channels, but it should have at "
                f"strictly more than hidden_state={size} channels"
            )
        hidden_state, context = seen.split([size, rest], dim=1)
        return hidden_state.tanh(), F.relu(context)

    def forward(self, image1: Tensor, image2: Tensor, num_flow_updates: int = 12) -> list[Tensor]:
        batch, _, height, width = image1.shape
        if (height, width) != tuple(image2.shape[-2:]):
            raise ValueError(
                f"input images should have the same shape, instead got ({height}, {width}) != "
                f"{tuple(image2.shape[-2:])}"
            )
        if (height % 8, width % 8) != (0, 0):
            raise ValueError(
                f"input image H and W should be divisible by 8, instead got {height} (h) and "
                f"{width} (w)"
            )
        first, second = self.feature_encoder(cat([image1, image2], dim=0)).chunk(2, dim=0)
        if tuple(first.shape[-2:]) != (height // 8, width // 8):
            raise ValueError("The feature encoder should downsample H and W by 8")
        corr: Any = self.corr_block
        corr.build_pyramid(first, second)
        hidden_state, context = self._start(image1)
        start = make_coords_grid(batch, height // 8, width // 8, device=first.device)
        start = start.to(first.device)
        places, flows = start, []
        for _ in range(num_flow_updates):
            places = places.detach()  # each step learns for itself
            alike = corr.index_pyramid(centroids_coords=places)
            hidden_state, change = self.update_block(hidden_state, context, alike, places - start)
            places = places + change
            masked = None if self.mask_predictor is None else self.mask_predictor(hidden_state)
            flows.append(upsample_flow(flow=places - start, up_mask=masked))
        return flows


def _weights(file: str, num_params: int, **metrics: dict[str, float]) -> Weights:
    names = {name.replace("_", "-"): values for name, values in metrics.items()}
    meta = Meta(num_params=num_params, min_size=(128, 128), _metrics=names)
    return Weights(URL + file, _pictures, meta)


def _pictures(**settings: Any) -> Any:
    # late: it loads all of transforms
    from taper.vision.models.presets import OpticalFlow

    return OpticalFlow(**settings)


def _trained(clean: float, final: float, kitti: float, share: float) -> dict[str, Any]:
    return {
        "Sintel_Train_Cleanpass": {"epe": clean},
        "Sintel_Train_Finalpass": {"epe": final},
        "Kitti_Train": {"per_image_epe": kitti, "fl_all": share},
    }


def _tested(clean: float, final: float) -> dict[str, Any]:
    return {"Sintel_Test_Cleanpass": {"epe": clean}, "Sintel_Test_Finalpass": {"epe": final}}


class Raft_Large_Weights(WeightsEnum):
    C_T_V1 = _weights(
        "raft_large_C_T_V1-22a6c225.pth", 5_257_536, **_trained(1.4411, 2.7894, 5.0172, 17.4506)
    )
    C_T_V2 = _weights(
        "raft_large_C_T_V2-1bb1363a.pth", 5_257_536, **_trained(1.3822, 2.7161, 4.5118, 16.0679)
    )
    C_T_SKHT_V1 = _weights("raft_large_C_T_SKHT_V1-0b8c9e55.pth", 5_257_536, **_tested(1.94, 3.18))
    C_T_SKHT_V2 = _weights(
        "raft_large_C_T_SKHT_V2-ff5fadd5.pth", 5_257_536, **_tested(1.819, 3.067)
    )
    C_T_SKHT_K_V1 = _weights(
        "raft_large_C_T_SKHT_K_V1-4a6a5039.pth", 5_257_536, Kitti_Test={"fl_all": 5.10}
    )
    C_T_SKHT_K_V2 = _weights(
        "raft_large_C_T_SKHT_K_V2-b5c70766.pth", 5_257_536, Kitti_Test={"fl_all": 5.19}
    )
    DEFAULT = C_T_SKHT_V2


class Raft_Small_Weights(WeightsEnum):
    C_T_V1 = _weights(
        "raft_small_C_T_V1-ad48884c.pth", 990_162, **_trained(2.1231, 3.2790, 7.6557, 25.2801)
    )
    C_T_V2 = _weights(
        "raft_small_C_T_V2-01064c6d.pth", 990_162, **_trained(1.9901, 3.2831, 7.5978, 25.2369)
    )
    DEFAULT = C_T_V2


def _raft(
    block: Layer,
    layers: tuple[int, ...],
    context: tuple[tuple[int, ...], Layer | None],
    radius: int,
    motion: tuple[tuple[int, ...], tuple[int, ...], int],
    recurrent: tuple[int, tuple[Any, ...], tuple[Any, ...]],
    head_size: int,
    has_mask: bool,
    options: Options,
) -> RAFT:
    """Make the network from its sizes, or from parts that the caller has."""
    strides = (2, 1, 2, 2)
    hidden, kernels, padding = recurrent
    features = options.pop("feature_encoder", None) or FeatureEncoder(
        block=block, layers=layers, strides=strides, norm_layer=nn.InstanceNorm2d
    )
    around = options.pop("context_encoder", None) or FeatureEncoder(
        block=block, layers=context[0], strides=strides, norm_layer=context[1]
    )
    corr = options.pop("corr_block", None) or CorrBlock(num_levels=4, radius=radius)
    update = options.pop("update_block", None)
    if update is None:
        encoder = MotionEncoder(
            in_channels_corr=corr.out_channels,
            corr_layers=motion[0],
            flow_layers=motion[1],
            out_channels=motion[2],
        )
        given = encoder.out_channels + context[0][-1] - hidden
        step = RecurrentBlock(
            input_size=given, hidden_size=hidden, kernel_size=kernels, padding=padding
        )
        head = FlowHead(in_channels=hidden, hidden_size=head_size)
        update = UpdateBlock(motion_encoder=encoder, recurrent_block=step, flow_head=head)
    mask = options.pop("mask_predictor", None)
    if mask is None and has_mask:
        mask = MaskPredictor(in_channels=hidden, hidden_size=256, multiplier=0.25)
    parts: dict[str, Any] = {"feature_encoder": features, "context_encoder": around}
    return RAFT(**parts, corr_block=corr, update_block=update, mask_predictor=mask, **options)


def _nothing(weights: WeightsEnum, options: Options) -> None:
    """Weights of flows decide no option."""


@builder(Raft_Large_Weights, _nothing)
def raft_large(**options: Any) -> RAFT:
    """Return RAFT."""
    layers = (64, 64, 96, 128, 256)
    motion = ((256, 192), (128, 64), 128)
    recurrent = (128, ((1, 5), (5, 1)), ((0, 2), (2, 0)))
    context = (layers, nn.BatchNorm2d)
    return _raft(ResidualBlock, layers, context, 4, motion, recurrent, 256, True, options)


@builder(Raft_Small_Weights, _nothing)
def raft_small(**options: Any) -> RAFT:
    """Return the small RAFT."""
    layers = (32, 32, 64, 96, 128)
    motion = ((96,), (64, 32), 82)
    recurrent = (96, (3,), (1,))
    context = ((32, 32, 64, 96, 160), None)
    return _raft(BottleneckBlock, layers, context, 3, motion, recurrent, 128, False, options)
