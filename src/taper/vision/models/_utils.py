"""What several families of models use: the old way to call a builder, intermediate layers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from enum import Enum
from typing import Any

from taper import nn
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.userwarning import warn_user


class IntermediateLayerGetter(nn.ModuleDict):
    """The first children of a model, up to the last one wanted; returns outputs by their names.

    `return_layers` maps names of children to names in the result.  The children must be called in
    the order in which they were assigned.

    >>> import taper
    >>> from taper.vision.models._utils import IntermediateLayerGetter
    >>> model = taper.nn.Sequential(taper.nn.Linear(2, 3), taper.nn.ReLU(), taper.nn.Linear(3, 4))
    >>> getter = IntermediateLayerGetter(model, {"1": "hidden"})
    >>> [(name, x.shape) for name, x in getter(taper.ones(5, 2)).items()]
    [('hidden', torch.Size([5, 3]))]
    """

    _version = 2

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if not set(return_layers) <= set(children):
            raise ValueError("return_layers are not present in model")
        names = {str(name): str(alias) for name, alias in return_layers.items()}
        last = max((list(children).index(name) for name in names), default=len(children) - 1)
        super().__init__(OrderedDict(list(children.items())[: last + 1]))
        self.return_layers = return_layers

    def forward(self, x: Any) -> OrderedDict[str, Any]:
        found: OrderedDict[str, Any] = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found


def make_divisible(value: float, divisor: int, min_value: int | None = None) -> int:
    """Return the multiple of `divisor` nearest to a number, at least nine tenths of it.

    >>> from taper.vision.models._utils import make_divisible
    >>> make_divisible(18, 8), make_divisible(11, 8)
    (24, 16)
    """
    least = divisor if min_value is None else min_value
    rounded = max(least, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


_make_divisible = make_divisible


def renormalised(x: Tensor) -> Tensor:
    """Convert the usual normalisation of pictures to that of weights that came from TensorFlow."""
    usual = ((0.229, 0.485), (0.224, 0.456), (0.225, 0.406))
    channels = [
        unsqueeze(x[:, nr], 1) * (scale / 0.5) + (mean - 0.5) / 0.5
        for nr, (scale, mean) in enumerate(usual)
    ]
    return cat(channels, 1)


def fixed(options: dict[str, Any], name: str, value: Any) -> None:
    """Set an option that weights decide; raise if the caller wants another value."""
    if options.setdefault(name, value) != value:
        raise ValueError(
            f"The parameter '{name}' expected value {value} but got {options[name]} instead."
        )


def from_old_call(
    positional: Sequence[Any], keywords: dict[str, Any], weights_type: type[Enum]
) -> dict[str, Any]:
    """Return the keywords of a builder that may have been called as before torchvision 0.13.

    Then `pretrained` was a flag, and the first of two positional arguments.
    """
    options = dict(keywords)
    if positional:
        names = ("weights", "progress")[: len(positional)]
        if len(positional) > len(names):
            raise TypeError("a builder of models takes at most 2 positional arguments")
        shown = " and ".join(f"'{name}'" for name in names)
        warn_user(
            f"Using {shown} as positional parameter(s) is deprecated since 0.13 and may be removed "
            "in the future. Please use keyword parameter(s) instead."
        )
        options = {**dict(zip(names, positional, strict=True)), **options}
    if "weights" not in options and "pretrained" in options:
        warn_user(
            "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, "
            "please use 'weights' instead."
        )
        options["weights"] = options.pop("pretrained")
    given = options.get("weights")
    if given is not None and not isinstance(given, str | Enum):
        options["weights"] = _from_flag(bool(given), weights_type)
    return options


def _from_flag(flag: bool, weights_type: type[Enum]) -> Enum | None:
    chosen = next(iter(weights_type)) if flag else None
    message = (
        "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and "
        "may be removed in the future. The current behavior is equivalent to passing "
        f"`weights={chosen}`."
    )
    if flag:
        message += (
            f" You can also use `weights={weights_type.__name__}.DEFAULT` to get the most "
            "up-to-date weights."
        )
    warn_user(message)
    return chosen
