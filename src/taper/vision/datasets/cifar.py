"""CIFAR10 and CIFAR100, from files in `root/cifar-10-batches-py` and `root/cifar-100-python`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from taper.vision.datasets.archives import extract
from taper.vision.datasets.batches import read_batch, text_of
from taper.vision.datasets.utils import check_integrity, not_downloaded
from taper.vision.datasets.vision import VisionDataset
from taper.vision.pillow import from_array

_MOST_BYTES = 1 << 28


class CIFAR10(VisionDataset):
    """Pictures of 32 x 32 pixels in mode RGB, of ten classes.

    Args:
        root: the folder that holds `cifar-10-batches-py`.
        train: the training part, or else the test part.
        transform: a function of the picture.
        target_transform: a function of the class.
        download: take the files out of `root/cifar-10-python.tar.gz`, if that is there; nothing is
            fetched.

    >>> from taper.vision.datasets import CIFAR10
    >>> CIFAR10.base_folder
    'cifar-10-batches-py'
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5: str | None = "c58f30108f718f92721af3b95e74349a"
    train_list: ClassVar[list[list[Any]]] = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list: ClassVar[list[list[Any]]] = [
        ["test_batch", "40351d587109b95175f43aff81a1287e"],
    ]
    meta: ClassVar[dict[str, Any]] = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_integrity():
            raise self._not_there("Dataset not found or corrupted.")
        parts = [self._read(name) for name, _ in (self.train_list if train else self.test_list)]
        pixels = np.concatenate([part for part, _ in parts]).reshape(-1, 3, 32, 32)
        self.data: Any = pixels.transpose(0, 2, 3, 1)
        self.targets: list[int] = [target for _, targets in parts for target in targets]
        self._load_meta()

    # --- where files are ---------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _check_integrity(self) -> bool:
        return not self._bad()

    def _bad(self) -> list[str]:
        """Return the files that are missing, or are not the original ones."""
        listed = [*self.train_list, *self.test_list]
        return [name for name, md5 in listed if not check_integrity(self._path(name), md5)]

    def _not_there(self, problem: str) -> RuntimeError:
        bad = [*self._bad(), self.meta["filename"]]
        archive = os.path.join(self.root, self.filename)
        if os.path.isfile(archive):
            return RuntimeError(f"{problem} Use download=True to take the files out of {archive}")
        return not_downloaded(problem, bad, os.path.join(self.root, self.base_folder))

    def download(self) -> None:
        """Take the files out of the archive if they are missing; nothing is fetched."""
        if self._check_integrity():
            return
        archive = os.path.join(self.root, self.filename)
        if not os.path.isfile(archive):
            raise self._not_there("Dataset not found or corrupted.")
        if not check_integrity(archive, self.tgz_md5):
            raise RuntimeError(
                f"File not found or corrupted: {archive} has not the MD5 sum {self.tgz_md5}"
            )
        names = [name for name, _ in [*self.train_list, *self.test_list]]
        members = [f"{self.base_folder}/{name}" for name in [*names, self.meta["filename"]]]
        extract(archive, members, self.root, _MOST_BYTES)

    # --- what is in them ---------------------------------------------------------------------

    def _read(self, name: str) -> tuple[np.ndarray, list[int]]:
        """Return the rows of pixels and the targets of one file."""
        batch = read_batch(self._path(name))
        pixels = batch.get("data")
        targets = batch.get("labels", batch.get("fine_labels"))
        if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:
            raise ValueError(f"{self._path(name)} has no 'data' of uint8")
        if pixels.ndim != 2 or pixels.shape[1] != 3 * 32 * 32:
            raise ValueError(
                f"{self._path(name)} should have rows of 3072 bytes, but has {pixels.shape}"
            )
        if type(targets) is not list or any(type(each) is not int for each in targets):
            raise ValueError(f"{self._path(name)} has no list of labels")
        if len(targets) != len(pixels):
            raise ValueError(
                f"{self._path(name)} has {len(pixels)} pictures but {len(targets)} labels"
            )
        return pixels, targets

    def _load_meta(self) -> None:
        path = self._path(self.meta["filename"])
        if not check_integrity(path, self.meta["md5"]):
            raise self._not_there("Dataset metadata file not found or corrupted.")
        names = read_batch(path).get(self.meta["key"])
        if type(names) is not list or not all(isinstance(each, str | bytes) for each in names):
            raise ValueError(f"{path} has no list {self.meta['key']!r}")
        self.classes = [text_of(each) for each in names]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        img, target = self.data[index], self.targets[index]
        return self._transformed(from_array(img, "RGB"), target)

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train is True else 'Test'}"


class CIFAR100(CIFAR10):
    """Pictures of 32 x 32 pixels in mode RGB, of a hundred classes.

    >>> from taper.vision.datasets import CIFAR100
    >>> CIFAR100.base_folder
    'cifar-100-python'
    """

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list: ClassVar[list[list[Any]]] = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list: ClassVar[list[list[Any]]] = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta: ClassVar[dict[str, Any]] = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }
