"""`taper.vision.models`: networks for pictures, with torchvision's names, weights and files.

The weights of a name are a file in the folder of the hub; nothing is downloaded.
"""

from __future__ import annotations

from typing import Any

from taper.first_use import on_first_use
from taper.vision.models import segmentation, video  # noqa: F401
from taper.vision.models._api import (
    Weights,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
)
from taper.vision.models.alexnet import *  # noqa: F403
from taper.vision.models.convnext import *  # noqa: F403
from taper.vision.models.densenet import *  # noqa: F403
from taper.vision.models.efficientnet import *  # noqa: F403
from taper.vision.models.googlenet import *  # noqa: F403
from taper.vision.models.inception import *  # noqa: F403
from taper.vision.models.lenet import *  # noqa: F403
from taper.vision.models.maxvit import *  # noqa: F403
from taper.vision.models.mnasnet import *  # noqa: F403
from taper.vision.models.mobilenetv2 import *  # noqa: F403
from taper.vision.models.mobilenetv3 import *  # noqa: F403
from taper.vision.models.regnet import *  # noqa: F403
from taper.vision.models.resnet import *  # noqa: F403
from taper.vision.models.shufflenetv2 import *  # noqa: F403
from taper.vision.models.squeezenet import *  # noqa: F403
from taper.vision.models.swin_transformer import *  # noqa: F403
from taper.vision.models.vgg import *  # noqa: F403
from taper.vision.models.vision_transformer import *  # noqa: F403

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
]
# As in torchvision, `import *` brings all models, and the modules without the name of a model.
_OTHERS = {"Any", "annotations", "on_first_use", *__all__}
__all__ += [name for name in list(globals()) if name[0] != "_" and name not in _OTHERS]

# torchvision's packages of models for other tasks.
_MISSING = ("optical_flow", "quantization")


_MODULES = ("detection", "feature_extraction", "mobilenet", "presets")
_load, __dir__ = on_first_use(globals(), _MODULES)


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        raise AttributeError(f"taper.vision has no models of {name}: use torchvision for them")
    return _load(name)
