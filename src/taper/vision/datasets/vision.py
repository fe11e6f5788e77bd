"""What all datasets of pictures share: a root, transforms, a text."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from taper.utils.data import Dataset


class VisionDataset(Dataset):
    """The base of datasets of pictures: subclasses define `__getitem__` and `__len__`.

    `transforms` gets the sample and its target; `transform` and `target_transform` get one of them.
    `root` is the folder.

    >>> from taper.vision.datasets import VisionDataset
    >>> class Numbers(VisionDataset):
    ...     def __len__(self):
    ...         return 3
    >>> Numbers(transform=abs)
    Dataset Numbers
        Number of datapoints: 3
        StandardTransform
    Transform: <built-in function abs>
    """

    _repr_indent = 4

    def __init__(
        self,
        root: Any = None,
        transforms: Callable[[Any, Any], Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        is_separate = transform is not None or target_transform is not None
        if transforms is not None and is_separate:
            raise ValueError(
                "Only transforms or transform/target_transform can be passed as argument"
            )
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = (
            StandardTransform(transform, target_transform) if is_separate else transforms
        )

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _transformed(self, sample: Any, target: Any) -> tuple[Any, Any]:
        """Return the pair for `__getitem__`."""
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if getattr(self, "transforms", None) is not None:
            body.append(repr(self.transforms))
        lines = [" " * self._repr_indent + line for line in body]
        return "\n".join([f"Dataset {type(self).__name__}", *lines])

    def _format_transform_repr(self, transform: Any, head: str) -> list[str]:
        return _headed(transform, head)

    def extra_repr(self) -> str:
        """Return more lines for the text."""
        return ""


class StandardTransform:
    """One transform for samples and one for targets.

    >>> from taper.vision.datasets.vision import StandardTransform
    >>> StandardTransform(abs)(-3, -4)
    (3, -4)
    """

    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def _format_transform_repr(self, transform: Any, head: str) -> list[str]:
        return _headed(transform, head)

    def __repr__(self) -> str:
        body = [type(self).__name__]
        if self.transform is not None:
            body += _headed(self.transform, "Transform: ")
        if self.target_transform is not None:
            body += _headed(self.target_transform, "Target transform: ")
        return "\n".join(body)


def _headed(transform: Any, head: str) -> list[str]:
    """Return the lines of a transform, the first after a heading and the others below it."""
    first, *others = repr(transform).splitlines()
    return [head + first, *(" " * len(head) + line for line in others)]
