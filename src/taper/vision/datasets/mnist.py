"""MNIST and the datasets in its form, from files in `root/<name>/raw`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from taper.serialization import load
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.datasets.idx import (
    get_int,
    read_image_file,
    read_label_file,
    read_sn3_pascalvincent_tensor,
)
from taper.vision.datasets.utils import check_integrity, not_downloaded
from taper.vision.datasets.vision import VisionDataset
from taper.vision.pillow import from_array

__all__ = [
    "MNIST",
    "FashionMNIST",
    "KMNIST",
    "get_int",
    "read_image_file",
    "read_label_file",
    "read_sn3_pascalvincent_tensor",
]


def _renamed(old: str, new: str) -> property:
    def read(self: Any) -> Any:
        warn_user(f"{old} has been renamed {new}")
        return getattr(self, new)

    return property(read, doc=f"The old name of `{new}`.")


class MNIST(VisionDataset):
    """Handwritten digits: pictures of 28 x 28 pixels in mode L, and numbers from 0 to 9.

    Args:
        root: the folder with the four files in `MNIST/raw`, unpacked or as `.gz`.
        train: the training part, or else the test part.
        transform: a function of the picture.
        target_transform: a function of the number.
        download: check the files; nothing is fetched.

    >>> from taper.vision.datasets import MNIST
    >>> MNIST.classes[7]
    '7 - seven'
    """

    # Named in error messages only.
    mirrors: ClassVar[list[str]] = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    training_file = "training.pt"
    test_file = "test.pt"
    classes: ClassVar[list[str]] = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]

    train_labels = _renamed("train_labels", "targets")
    test_labels = _renamed("test_labels", "targets")
    train_data = _renamed("train_data", "data")
    test_data = _renamed("test_data", "data")

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
        if self._check_legacy_exist():
            self.data, self.targets = self._load_legacy_data()
            return
        if download:
            self.download()
        if not self._check_exists():
            raise not_downloaded("Dataset not found.", self._missing(), self.raw_folder)
        self.data, self.targets = self._load_data()

    # --- where files are ---------------------------------------------------------------------

    @property
    def raw_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def processed_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.classes)}

    def _path(self, name: str) -> str | None:
        """Return where a file is, unpacked or not; None if it is missing."""
        path = os.path.join(self.raw_folder, name.removesuffix(".gz"))
        return next((each for each in (path, f"{path}.gz") if check_integrity(each)), None)

    def _missing(self) -> list[str]:
        names = [name for name, _ in self.resources if self._path(name) is None]
        return [f"{name.removesuffix('.gz')} (or .gz)" for name in names]

    def _check_exists(self) -> bool:
        return all(self._path(name) is not None for name, _ in self.resources)

    def download(self) -> None:
        """Check that the files are there, and that compressed ones are the original ones."""
        if missing := self._missing():
            raise not_downloaded("Dataset not found.", missing, self.raw_folder)
        for name, md5 in self.resources:
            path = self._path(name)
            if path is not None and path.endswith(".gz") and not check_integrity(path, md5):
                raise RuntimeError(f"File not found or corrupted: {path} has not the MD5 sum {md5}")

    # --- what is in them ---------------------------------------------------------------------

    def _check_legacy_exist(self) -> bool:
        names = (self.training_file, self.test_file)
        return all(check_integrity(os.path.join(self.processed_folder, each)) for each in names)

    def _load_legacy_data(self) -> tuple[Tensor, Tensor]:
        name = self.training_file if self.train else self.test_file
        data, targets = load(os.path.join(self.processed_folder, name), weights_only=True)
        return data, targets

    def _load_data(self) -> tuple[Tensor, Tensor]:
        prefix = "train" if self.train else "t10k"
        data = read_image_file(self._path(f"{prefix}-images-idx3-ubyte"))
        targets = read_label_file(self._path(f"{prefix}-labels-idx1-ubyte"))
        if len(data) != len(targets):
            raise ValueError(
                f"{self.raw_folder} has {len(data)} pictures but {len(targets)} labels ({prefix})"
            )
        return data, targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        img, target = self.data[index], int(self.targets[index])
        return self._transformed(from_array(img.numpy(), "L"), target)

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train is True else 'Test'}"


class FashionMNIST(MNIST):
    """Clothes in the form of MNIST, in `root/FashionMNIST/raw`.

    >>> from taper.vision.datasets import FashionMNIST
    >>> FashionMNIST.classes[9]
    'Ankle boot'
    """

    mirrors: ClassVar[list[str]] = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes: ClassVar[list[str]] = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ]


class KMNIST(MNIST):
    """Japanese characters in the form of MNIST, in `root/KMNIST/raw`.

    >>> from taper.vision.datasets import KMNIST
    >>> KMNIST.classes[1]
    'ki'
    """

    mirrors: ClassVar[list[str]] = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes: ClassVar[list[str]] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
