"""Random pictures, for programs that only need some data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.ops.random.draws import randint, randn
from taper.random import Generator
from taper.vision.datasets.vision import VisionDataset
from taper.vision.transforms.functional import to_pil_image


class FakeData(VisionDataset):
    """Pictures of noise with random classes; the same ones for the same index.

    Args:
        size: the number of samples.
        image_size: channels, height and width.
        num_classes: the number of classes.
        transform: a function of the picture.
        target_transform: a function of the class.
        random_offset: added to the index to get the seed of a sample.

    >>> from taper.vision.datasets import FakeData
    >>> picture, target = FakeData(size=3, image_size=(3, 32, 32))[0]
    >>> picture.size, target
    ((32, 32), 7)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        # A generator of its own: it has the numbers of the seed, and leaves the program's stream
        # alone.
        generator = Generator().manual_seed(index + self.random_offset)
        img = randn(*self.image_size, generator=generator)
        drawn = randint(0, self.num_classes, (1,), generator=generator)[0]
        # The target is a tensor for its transform, and a number for the caller.
        picture, target = self._transformed(to_pil_image(img), drawn)
        return picture, target.item()

    def __len__(self) -> int:
        return self.size
