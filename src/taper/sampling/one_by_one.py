"""Random numbers one by one, for loops that cannot know how many they will need.

Knows generators and NumPy arrays; must not know any distribution but the uniform and the normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from taper.sampling.generator import Generator
from taper.sampling.normals import uniform53


class OneByOne:
    """Uniform numbers (by a call) and normal ones, drawn from a generator in portions.

    A portion has as many numbers as are needed for certain, so that none is drawn in vain: putting
    numbers back would require a copy of the generator, which takes as long as 1000 numbers.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._ready: list[float] = []
        self._needed_later = 0

    def __call__(self) -> float:
        if not self._ready:
            self._ready = uniform53(self._generator, self._needed_later + 1)[::-1].tolist()
        return self._ready.pop()

    def normal(self) -> float:
        """Return the next standard normal number; as in `normals.serial`, they come in pairs."""
        kept = self._generator.next_normal
        if kept is not None:
            self._generator.next_normal = None
            return kept
        angle = 2.0 * math.pi * self()
        radius = math.sqrt(-2.0 * math.log1p(-self()))
        self._generator.next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def values(
        self,
        function: Callable[..., float],
        parameters: Iterable[tuple[float, ...]],
        needs: np.ndarray,
    ) -> list[Any]:
        """Return `function(*each, self)` for each tuple of parameters.

        `needs` says for which elements the function draws at least one uniform number.
        """
        flags = needs.ravel()
        later = (flags.sum() - np.cumsum(flags)).tolist()
        found = []
        for each, self._needed_later in zip(parameters, later, strict=True):
            found.append(function(*each, self))
        return found
