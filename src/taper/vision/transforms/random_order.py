"""Transforms that choose among others.  Order and choice come from Python's `random`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from taper.nn.modules.module import Module
from taper.ops.random.draws import rand
from taper.vision.transforms.basic import listed


class RandomTransforms:
    """A list of transforms that subclasses use at random.

    >>> from taper.vision.transforms.transforms import RandomTransforms
    >>> RandomTransforms([])
    RandomTransforms(
    )
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return listed(self)


class RandomApply(Module):
    """Do all transforms with a probability, or none.

    >>> from taper.vision import transforms
    >>> transforms.RandomApply([transforms.Lambda(lambda x: x + 1)], p=1.0)(2)
    3
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if self.p < rand(1):
            return img
        for each in self.transforms:
            img = each(img)
        return img

    def __repr__(self) -> str:
        return listed(self, f"\n    p={self.p}")


class RandomOrder(RandomTransforms):
    """Do all transforms in a random order.

    >>> from taper.vision import transforms
    >>> transforms.RandomOrder([transforms.Lambda(lambda x: x + 1)] * 2)(2)
    4
    """

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """Do one of the transforms, chosen with equal probability or with weights `p`.

    >>> from taper.vision import transforms
    >>> transforms.RandomChoice([transforms.Lambda(lambda x: x + 1), abs], p=[1, 0])(2)
    3
    """

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
