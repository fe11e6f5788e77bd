"""How a builder of a detector is called, and its weights."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.vision.models._api import URL, Meta, Options, Weights, WeightsEnum, builder, load_weights
from taper.vision.models._utils import fixed
from taper.vision.models.detection._utils import overwrite_eps
from taper.vision.models.detection.backbone_utils import _validate_trainable_layers
from taper.vision.ops.misc import FrozenBatchNorm2d


def coco(file: str, num_params: int, least: int = 1, **metrics: float) -> Weights:
    """Return weights trained on COCO, with what they reach."""
    name = "COCO-val2017"
    meta = Meta(num_params=num_params, min_size=(least, least), _metrics={name: metrics})
    return Weights(URL + file, _detection, meta)


def _detection(**settings: Any) -> Any:
    # late: it loads all of transforms
    from taper.vision.models.presets import ObjectDetection

    return ObjectDetection(**settings)


class Backbone:
    """What a builder says of its backbone: weights, how many layers are trained, what norm."""

    def __init__(self, weights: Any, is_trained: bool, layers: int) -> None:
        self.weights = weights
        self.layers = layers
        self.norm = FrozenBatchNorm2d if is_trained else nn.BatchNorm2d


def detection_builder(
    weights_type: type[WeightsEnum],
    backbone_weights: WeightsEnum,
    layers: tuple[int, int] = (5, 3),
    classes: int = 91,
    fixed_options: Options | None = None,
    exact: str | None = None,
) -> Callable[[Any], Any]:
    """Turn a function of a backbone and `num_classes` into a builder.

    `layers` says how many layers of a backbone can be trained, and how many are by default;
    `exact` names the member whose frozen normalisations have no constant against 0.
    """
    options_of_weights = {"num_classes": classes, **(fixed_options or {})}

    def prepare(weights: WeightsEnum, options: Options) -> None:
        options.update(weights_backbone=None, _is_trained=True)
        for name, value in options_of_weights.items():
            if options.get(name) is None:
                options.pop(name, None)
            fixed(options, name, value)

    def load(model: nn.Module, weights: WeightsEnum, progress: bool) -> None:
        load_weights(model, weights, progress)
        if weights.name == exact:
            overwrite_eps(model, 0.0)

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def build(**options: Any) -> Any:
            is_trained = options.pop("_is_trained", False)
            if "pretrained_backbone" in options:  # the name before torchvision 0.13
                wanted = options.pop("pretrained_backbone")
                options.setdefault("weights_backbone", backbone_weights if wanted else None)
            chosen = options.pop("weights_backbone", backbone_weights)
            chosen = type(backbone_weights).verify(chosen)
            is_trained = is_trained or chosen is not None
            trainable = options.pop("trainable_backbone_layers", None)
            count = _validate_trainable_layers(is_trained, trainable, *layers)
            for name, value in options_of_weights.items():
                if options.get(name) is None:
                    options[name] = value
            return make(Backbone(chosen, is_trained, count), **options)

        return builder(weights_type, prepare, load)(build)

    return decorate
