"""Weights by name, and builders of models by name.

A builder is declared with `@builder`: the function below it makes the network from its options;
this module adds weights, the old way to call it and the list of models.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatch
from types import ModuleType
from typing import Any, NoReturn

from taper import nn
from taper.hub import load_state_dict_from_url
from taper.vision.models._utils import fixed, from_old_call

URL = "https://download.pytorch.org/models/"

Options = dict[str, Any]


class Meta(dict[str, Any]):
    """What is known about weights; the names of the classes are not part of taper."""

    def __missing__(self, key: str) -> NoReturn:
        if key != "categories":
            raise KeyError(key)
        raise NotImplementedError(
            "taper does not carry the names of ImageNet's classes: read them from a file of yours"
        )


@dataclass(frozen=True)
class Weights:
    """Where the weights of a model are, how pictures are prepared for it, and what is known of it.

    >>> from taper.vision import models
    >>> models.Weights("https://example.com/tiny.pth", transforms=len, meta={}).url
    'https://example.com/tiny.pth'
    """

    url: str
    transforms: Callable[..., Any]
    meta: Meta


class WeightsEnum(Enum):
    """The weights of a model; `DEFAULT` is the best of them."""

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """Return the member given by itself or its name; None stays None."""
        if obj is None or isinstance(obj, cls):
            return obj
        if isinstance(obj, str):
            return cls[obj.replace(cls.__name__ + ".", "")]
        raise TypeError(
            f"Invalid Weight class provided; expected {cls.__name__} but received "
            f"{type(obj).__name__}."
        )

    def get_state_dict(self, **options: Any) -> dict[str, Any]:
        """Return the weights, from the file in the folder of the hub."""
        return load_state_dict_from_url(self.url, **options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self._name_}"

    @property
    def url(self) -> str:
        return self.value.url

    @property
    def transforms(self) -> Callable[..., Any]:
        return self.value.transforms

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.value.meta


def imagenet(
    file: str,
    num_params: int,
    accuracy: tuple[float, float],
    least: int = 1,
    resize: int = 256,
    crop: int = 224,
    interpolation: str = "bilinear",
    **normalisation: tuple[float, ...],
) -> Weights:
    """Return weights trained on ImageNet: top-1 and top-5 accuracy, the least size of a picture."""
    metrics = {"ImageNet-1K": {"acc@1": accuracy[0], "acc@5": accuracy[1]}}
    meta = Meta(num_params=num_params, min_size=(least, least), _metrics=metrics)
    sizes = {"crop_size": crop, "resize_size": resize, "interpolation": interpolation}
    transforms = functools.partial(_classification, **sizes, **normalisation)
    return Weights(URL + file, transforms, meta)


def _classification(**settings: Any) -> Any:
    """Return how pictures are prepared; loaded on demand, as it brings all of transforms."""
    # late: it loads all of transforms
    from taper.vision.models.presets import classification

    return classification(**settings)


# --- builders --------------------------------------------------------------------------------

BUILDERS: dict[str, Callable[..., nn.Module]] = {}


def register_model(name: str | None = None) -> Callable[[Any], Any]:
    """Add a builder to `get_model` and `list_models`, under its own name or another."""

    def decorate(function: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
        key = function.__name__ if name is None else name
        if key in BUILDERS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        BUILDERS[key] = function
        return function

    return decorate


def load_weights(model: nn.Module, weights: WeightsEnum, progress: bool) -> None:
    """Load the weights of a file into a model."""
    model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))


def _class_count(weights: WeightsEnum, options: Options) -> None:
    fixed(options, "num_classes", 1000)


def builder(
    weights_type: type[WeightsEnum],
    prepare: Callable[[WeightsEnum, Options], Callable[[Any], None] | None] = _class_count,
    load: Callable[[nn.Module, WeightsEnum, bool], None] = load_weights,
) -> Callable[[Any], Any]:
    """Turn a function from options to a network into a builder with `weights` and `progress`.

    With weights, `prepare` first sets the options that they decide, and `load` fills the network;
    the function that `prepare` returns is called at the end.  `pretrained=True` means the first
    weights.
    """

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def build(*positional: Any, **keywords: Any) -> Any:
            options = from_old_call(positional, keywords, weights_type)
            weights = weights_type.verify(options.pop("weights", None))
            progress = options.pop("progress", True)
            if weights is None:
                return make(**options)
            finish = prepare(weights, options)
            model = make(**options)
            load(model, weights, progress)
            if finish is not None:
                finish(model)
            return model

        build.__signature__ = _signature(weights_type)  # type: ignore[attr-defined]
        build.weights_type = weights_type  # type: ignore[attr-defined]
        return register_model()(build)

    return decorate


def _signature(weights_type: type[WeightsEnum]) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    weights = inspect.Parameter("weights", kind, default=None, annotation=weights_type | None)
    progress = inspect.Parameter("progress", kind, default=True, annotation=bool)
    rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    return inspect.Signature([weights, progress, rest])


# --- by name ---------------------------------------------------------------------------------


def _all_builders() -> dict[str, Callable[..., nn.Module]]:
    """Return all builders; those of detectors register when they are loaded."""
    importlib.import_module("taper.vision.models.detection")  # late: it takes longer than the rest
    return BUILDERS


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """Return the sorted names of the models, of one package or those that fit patterns.

    >>> import taper
    >>> from taper.vision.models import list_models
    >>> list_models(include="resnet1*", exclude="*01")
    ['resnet152', 'resnet18']
    """
    names = {
        name
        for name, function in _all_builders().items()
        if module is None or function.__module__.rpartition(".")[0] == module.__name__
    }
    if include:
        names = {name for name in names if _fits(name, include)}
    if exclude:
        names = {name for name in names if not _fits(name, exclude)}
    return sorted(names)


def _fits(name: str, patterns: Iterable[str] | str) -> bool:
    given = [patterns] if isinstance(patterns, str) else patterns
    return any(fnmatch(name, each) for each in given)


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """Return the builder of a model by its name.

    >>> from taper.vision.models import get_model_builder
    >>> get_model_builder("resnet18").__name__
    'resnet18'
    """
    key = name.lower()
    found = BUILDERS.get(key) or _all_builders().get(key)
    if found is None:
        raise ValueError(f"Unknown model {key}")
    return found


def get_model(name: str, **config: Any) -> nn.Module:
    """Make a model by its name, with the options of its builder.

    >>> from taper.vision.models import get_model
    >>> get_model("squeezenet1_1", num_classes=3).num_classes
    3
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., Any] | str) -> type[WeightsEnum]:
    """Return the weights of a model, by its name or its builder.

    >>> from taper.vision.models import get_model_weights
    >>> list(get_model_weights("resnet50"))
    [ResNet50_Weights.IMAGENET1K_V1, ResNet50_Weights.IMAGENET1K_V2]
    """
    function = get_model_builder(name) if isinstance(name, str) else name
    found = getattr(function, "weights_type", None)
    if found is None:
        raise ValueError("The method is missing the 'weights' argument.")
    return found


def get_weight(name: str) -> WeightsEnum:
    """Return a member of the weights by its full name.

    >>> from taper.vision.models import get_weight
    >>> get_weight("ResNet50_Weights.DEFAULT")
    ResNet50_Weights.IMAGENET1K_V2
    """
    enum_name, dot, member = name.partition(".")
    if not dot:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    package = sys.modules[__package__]
    places = (package, package.segmentation, package.video, package.detection)
    found = next((vars(each)[enum_name] for each in places if enum_name in vars(each)), None)
    if not (isinstance(found, type) and issubclass(found, WeightsEnum)):
        raise ValueError(
            f"The weight enum '{enum_name}' for the specific method couldn't be retrieved."
        )
    return found[member]
