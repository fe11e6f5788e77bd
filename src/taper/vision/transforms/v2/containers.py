"""Transforms that hold others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.nn.modules.container import ModuleList
from taper.ops.creation.data import tensor
from taper.ops.random.distributions import multinomial
from taper.ops.random.draws import rand, randperm
from taper.vision.transforms.v2.transform import Transform


def _check(
    transforms: Any, message: str = "Argument transforms should be a sequence of callables"
) -> None:
    if not isinstance(transforms, Sequence):
        raise TypeError(message)


def _run(transforms: Any, inputs: tuple[Any, ...]) -> Any:
    outputs: Any = inputs
    for each in transforms:
        outputs = each(*inputs)
        inputs = outputs if len(inputs) > 1 else (outputs,)
    return outputs


class Compose(Transform):
    """Do transforms one after the other, on samples of one or several parts.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.Compose([v2.CenterCrop(2), v2.Pad(1)])(taper.ones(1, 4, 4), "label")[0].shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        _check(transforms)
        if not transforms:
            raise ValueError("Pass at least one transform")
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        return _run(self.transforms, inputs)

    def extra_repr(self) -> str:
        return "\n".join(f"    {each}" for each in self.transforms)


class RandomApply(Transform):
    """Do all transforms with a probability, or none.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomApply([v2.CenterCrop(2)], p=1.0)(taper.ones(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, ModuleList):
            _check(
                transforms,
                "Argument transforms should be a sequence of callables or a `nn.ModuleList`",
            )
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.transforms = transforms
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        if rand(1) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return _run(self.transforms, inputs)

    def extra_repr(self) -> str:
        return "\n".join(f"    {each}" for each in self.transforms)


class RandomChoice(Transform):
    """Do one of the transforms, chosen with equal probability or with weights `p`.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomChoice([v2.CenterCrop(2), v2.Pad(1)], p=[1, 0])(taper.ones(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(
        self, transforms: Sequence[Callable[..., Any]], p: list[float] | None = None
    ) -> None:
        _check(transforms)
        if p is None:
            p = [1] * len(transforms)
        elif len(p) != len(transforms):
            raise ValueError(
                f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}"
            )
        super().__init__()
        self.transforms = transforms
        total = sum(p)
        self.p = [each / total for each in p]

    def forward(self, *inputs: Any) -> Any:
        return self.transforms[int(multinomial(tensor(self.p), 1))](*inputs)


class RandomOrder(Transform):
    """Do all transforms in a random order.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomOrder([v2.CenterCrop(2)])(taper.ones(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        _check(transforms)
        super().__init__()
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        order = randperm(len(self.transforms)).tolist()
        return _run([self.transforms[index] for index in order], inputs)
