"""Feature pyramids: features of several sizes, each of which knows those of the coarser ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.tensor import Tensor
from taper.vision.ops.misc import Conv2dNormActivation

Levels = tuple[list[Tensor], list[str]]


class ExtraFPNBlock(nn.Module):
    """What makes more levels of a pyramid; a class for others to inherit from."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> Levels:
        """Return the levels and their names, from the levels, what they were made of, names."""


class FeaturePyramidNetwork(nn.Module):
    """Turn features of several sizes into levels with the same number of channels.

    Args:
        in_channels_list: channels of the features, finest first; 0 for one that is not used.
        out_channels: channels of the levels.
        extra_blocks: what makes further levels.
        norm_layer: a normalisation after each convolution.

    >>> import taper
    >>> from taper.vision.ops import FeaturePyramidNetwork
    >>> pyramid = FeaturePyramidNetwork([2, 4], 3)
    >>> levels = pyramid({"a": taper.ones(1, 2, 8, 8), "b": taper.ones(1, 4, 4, 4)})
    >>> {name: tuple(level.shape) for name, level in levels.items()}
    {'a': (1, 3, 8, 8), 'b': (1, 3, 4, 4)}
    """

    _version = 2

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        usual: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            inner = Conv2dNormActivation(channels, out_channels, 1, padding=0, **usual)
            self.inner_blocks.append(inner)
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **usual))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(
                f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}"
            )
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *others: Any,
    ) -> None:
        """Accept a state from before the convolutions had normalisations beside them."""
        version = local_metadata.get("version", None)
        if version is None or version < 2:
            for block in ("inner_blocks", "layer_blocks"):
                for nr in range(len(getattr(self, block))):
                    for kind in ("weight", "bias"):
                        old = f"{prefix}{block}.{nr}.{kind}"
                        if old in state_dict:
                            state_dict[f"{prefix}{block}.{nr}.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def get_result_from_inner_blocks(self, x: Tensor, idx: int) -> Tensor:
        """Return features with the channels of the levels."""
        return self.inner_blocks[idx](x)

    def get_result_from_layer_blocks(self, x: Tensor, idx: int) -> Tensor:
        """Return a level, from the sum of what it knows."""
        return self.layer_blocks[idx](x)

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        names, features = list(x.keys()), list(x.values())
        known = self.get_result_from_inner_blocks(features[-1], -1)
        levels = [self.get_result_from_layer_blocks(known, -1)]
        for nr in range(len(features) - 2, -1, -1):
            finer = self.get_result_from_inner_blocks(features[nr], nr)
            known = finer + F.interpolate(known, size=finer.shape[-2:], mode="nearest")
            levels.insert(0, self.get_result_from_layer_blocks(known, nr))
        if self.extra_blocks is not None:
            levels, names = self.extra_blocks(levels, features, names)
        return OrderedDict(zip(names, levels, strict=True))


class LastLevelMaxPool(ExtraFPNBlock):
    """One more level: every second place of the last one.

    >>> import taper
    >>> from taper.vision.ops.feature_pyramid_network import LastLevelMaxPool
    >>> LastLevelMaxPool()([taper.ones(1, 1, 4, 4)], [], ["0"])[1]
    ['0', 'pool']
    """

    def forward(self, x: list[Tensor], y: list[Tensor], names: list[str]) -> Levels:
        names.append("pool")
        x.append(F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0))
        return x, names


class LastLevelP6P7(ExtraFPNBlock):
    """Two more levels, made by convolutions; RetinaNet uses them.

    >>> import taper
    >>> from taper.vision.ops.feature_pyramid_network import LastLevelP6P7
    >>> LastLevelP6P7(2, 2)([taper.ones(1, 2, 4, 4)], [taper.ones(1, 2, 4, 4)], ["0"])[1]
    ['0', 'p6', 'p7']
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.constant_(module.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, p: list[Tensor], c: list[Tensor], names: list[str]) -> Levels:
        sixth = self.p6(p[-1] if self.use_P5 else c[-1])
        p.extend([sixth, self.p7(F.relu(sixth))])
        names.extend(["p6", "p7"])
        return p, names
