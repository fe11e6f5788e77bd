"""Datasets of files in folders, one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from taper.vision.datasets.vision import VisionDataset
from taper.vision.pillow import pillow

IMG_EXTENSIONS = (
    ".jpg",
    ".jpeg",
    ".png",
    ".ppm",
    ".bmp",
    ".pgm",
    ".tif",
    ".tiff",
    ".webp",
)

Predicate = Callable[[str], bool]


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Return whether a name ends in one of some extensions, in upper or lower case.

    >>> from taper.vision.datasets.folder import has_file_allowed_extension
    >>> has_file_allowed_extension("cat.PNG", (".png", ".jpg"))
    True
    """
    return filename.lower().endswith(
        extensions if isinstance(extensions, str) else tuple(extensions)
    )


def is_image_file(filename: str) -> bool:
    """Return whether a name has an extension of pictures.

    >>> from taper.vision.datasets.folder import is_image_file
    >>> is_image_file("cat.txt")
    False
    """
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: Any) -> tuple[list[str], dict[str, int]]:
    """Return the names of the folders in a folder, sorted, and the number of each.

    >>> import pathlib, tempfile
    >>> from taper.vision.datasets.folder import find_classes
    >>> with tempfile.TemporaryDirectory() as root:
    ...     (pathlib.Path(root) / "cats").mkdir()
    ...     find_classes(root)
    (['cats'], {'cats': 0})
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: index for index, name in enumerate(classes)}


def _files_below(folder: str) -> Iterator[str]:
    for root, _, names in sorted(os.walk(folder, followlinks=True)):
        for name in sorted(names):
            yield os.path.join(root, name)


def _chooser(extensions: Any, is_valid_file: Predicate | None) -> Predicate:
    if is_valid_file is not None:
        if extensions is None:
            return is_valid_file
    elif extensions is not None:
        return lambda path: has_file_allowed_extension(path, extensions)
    raise ValueError(
        "Both extensions and is_valid_file cannot be None or not None at the same time"
    )


def make_dataset(
    directory: Any,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Predicate | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Return pairs of a path and the number of its class.

    Files are chosen by their extensions, or by `is_valid_file`.

    >>> import pathlib, tempfile
    >>> from taper.vision.datasets.folder import make_dataset
    >>> with tempfile.TemporaryDirectory() as root:
    ...     (pathlib.Path(root) / "cats").mkdir()
    ...     (pathlib.Path(root) / "cats" / "tom.png").touch()
    ...     [(pathlib.Path(path).name, nr) for path, nr in make_dataset(root, extensions=".png")]
    [('tom.png', 0)]
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    is_valid = _chooser(extensions, is_valid_file)
    samples: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        folder = os.path.join(directory, name)
        found = [path for path in _files_below(folder) if is_valid(path)]
        samples += [(path, class_to_idx[name]) for path in found]
        if not found:
            empty.append(name)
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            shown = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f"Supported extensions are: {shown}"
        raise FileNotFoundError(message)
    return samples


class DatasetFolder(VisionDataset):
    """Files in `root/class/...`; a sample is (what was read, number of class).

    Args:
        root: the folder.
        loader: reads a path.
        extensions: the endings of the files.
        transform: a function of what was read.
        target_transform: a function of the class.
        is_valid_file: chooses files, instead of `extensions`.
        allow_empty: accept folders without files.

    >>> import pathlib, tempfile
    >>> from taper.vision.datasets import DatasetFolder
    >>> with tempfile.TemporaryDirectory() as root:
    ...     (pathlib.Path(root) / "greetings").mkdir()
    ...     written = (pathlib.Path(root) / "greetings" / "hello.txt").write_text("hello")
    ...     DatasetFolder(root, lambda path: pathlib.Path(path).read_text(), (".txt",))[0]
    ('hello', 0)
    """

    def __init__(
        self,
        root: Any,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Predicate | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = extensions
        classes, class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root,
            class_to_idx=class_to_idx,
            extensions=extensions,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        self.classes = classes
        self.class_to_idx = class_to_idx
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(
        directory: Any,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Predicate | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """Return the samples; override it to find them in another way."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
        """Return the classes; override it to name or number them in another way."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


def pil_loader(path: Any) -> Any:
    """Return the picture in a file, as RGB.

    >>> import tempfile
    >>> from PIL import Image
    >>> from taper.vision.datasets.folder import pil_loader
    >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
    ...     Image.new("L", (3, 2)).save(file.name)
    ...     pil_loader(file.name).mode
    'RGB'
    """
    # The file is opened here, since Pillow would not close one that it opens itself.
    with open(path, "rb") as file:
        return pillow().open(file).convert("RGB")


def default_loader(path: Any) -> Any:
    """Return the picture in a file, as RGB; `ImageFolder` uses it.

    >>> from taper.vision.datasets.folder import default_loader
    >>> default_loader("no such file")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    return pil_loader(path)


class ImageFolder(DatasetFolder):
    """Pictures in `root/class/...`.

    Args:
        root: the folder.
        transform: a function of the picture.
        target_transform: a function of the class.
        loader: reads a path; Pillow by default.
        is_valid_file: chooses files.
        allow_empty: accept folders without files.

    >>> import pathlib, tempfile
    >>> from PIL import Image
    >>> from taper.vision.datasets import ImageFolder
    >>> with tempfile.TemporaryDirectory() as root:
    ...     (pathlib.Path(root) / "cats").mkdir()
    ...     Image.new("L", (3, 2)).save(pathlib.Path(root) / "cats" / "tom.png")
    ...     picture, target = ImageFolder(root)[0]
    ...     picture.size, target
    ((3, 2), 0)
    """

    def __init__(
        self,
        root: Any,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Predicate | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform=transform,
            target_transform=target_transform,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        self.imgs = self.samples
