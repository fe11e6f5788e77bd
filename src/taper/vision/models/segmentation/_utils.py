"""What the networks for segmentation share: the frame, weights, and how a builder is called."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.tensor import Tensor
from taper.vision.models._api import URL, Meta, Options, Weights, WeightsEnum, builder
from taper.vision.models._utils import IntermediateLayerGetter, fixed
from taper.vision.models.mobilenetv3 import MobileNetV3
from taper.vision.models.resnet import ResNet

CLASSES = 21


class _SimpleSegmentationModel(nn.Module):
    """A network whose features are classified, place by place, and enlarged to the picture."""

    def __init__(
        self,
        backbone: nn.Module,
        classifier: nn.Module,
        aux_classifier: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features = self.backbone(x)
        heads = {"out": self.classifier, "aux": self.aux_classifier}
        return OrderedDict(
            (name, enlarged(head(features[name]), x))
            for name, head in heads.items()
            if head is not None
        )


def enlarged(x: Tensor, like: Tensor) -> Tensor:
    """Return scores at the size of another picture."""
    return F.interpolate(x, size=like.shape[-2:], mode="bilinear", align_corners=False)


def coco(file: str, num_params: int, accuracy: tuple[float, float]) -> Weights:
    """Return weights trained on the classes of VOC in COCO: mean overlap, share of pixels."""
    metrics = {"COCO-val2017-VOC-labels": {"miou": accuracy[0], "pixel_acc": accuracy[1]}}
    meta = Meta(num_params=num_params, min_size=(1, 1), _metrics=metrics)
    return Weights(URL + file, functools.partial(_segmentation, resize_size=520), meta)


def _segmentation(**settings: Any) -> Any:
    # late: it loads all of transforms
    from taper.vision.models.presets import SemanticSegmentation

    return SemanticSegmentation(**settings)


def _with_weights(weights: WeightsEnum, options: Options) -> None:
    """Set what weights of the whole network decide."""
    options["weights_backbone"] = None
    fixed(options, "num_classes", CLASSES)
    if "aux_loss" in options:
        options["aux_loss"] = True if options["aux_loss"] is None else options["aux_loss"]
        fixed(options, "aux_loss", True)
    else:
        options["aux_loss"] = True


def segmentation_builder(
    weights_type: type[WeightsEnum], backbone_weights: WeightsEnum, has_aux: bool = True
) -> Callable[[Any], Any]:
    """Turn a function of the backbone's weights and `num_classes` into a builder."""

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def build(**options: Any) -> Any:
            options.setdefault("weights_backbone", backbone_weights)
            chosen = type(backbone_weights).verify(options.pop("weights_backbone"))
            classes = options.pop("num_classes", None)
            if not has_aux:
                options.pop("aux_loss", None)
            return make(chosen, CLASSES if classes is None else classes, **options)

        return builder(weights_type, _with_weights)(build)

    return decorate


def resnet_layers(backbone: ResNet, aux: bool | None) -> IntermediateLayerGetter:
    """Return the features of a residual network by their names."""
    wanted = {"layer4": "out", **({"layer3": "aux"} if aux else {})}
    return IntermediateLayerGetter(backbone, return_layers=wanted)


def mobilenet_stages(backbone: MobileNetV3) -> tuple[nn.Module, list[int]]:
    """Return the features of a MobileNetV3 and the numbers of the layers where stages begin."""
    features = backbone.features
    inner = [nr for nr, block in enumerate(features) if getattr(block, "_is_cn", False)]
    return features, [0, *inner, len(features) - 1]
