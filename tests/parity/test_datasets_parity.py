"""Datasets against torchvision: the same files, samples, attributes, texts and errors."""

from __future__ import annotations

import inspect
import pickle
import struct
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import taper
import taper.vision.datasets
import taper.vision.io
import taper.vision.transforms
from parity import torchvision_oracle

torchvision_oracle.load()
THEIRS = __import__("torchvision.datasets").datasets
THEIR_TRANSFORMS = __import__("torchvision.transforms").transforms
OURS = taper.vision.datasets
PAIRS = ((OURS, taper.vision.transforms), (THEIRS, THEIR_TRANSFORMS))
CLASSES = """
VisionDataset DatasetFolder ImageFolder FakeData MNIST FashionMNIST KMNIST CIFAR10 CIFAR100
""".split()


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    """A folder with MNIST, CIFAR10, CIFAR100 and classes of pictures, all small."""
    made = tmp_path_factory.mktemp("root")
    source = np.random.default_rng(0)
    raw = made / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for prefix, count in (("train", 5), ("t10k", 3)):
        for name, shape in (("images-idx3", (count, 28, 28)), ("labels-idx1", (count,))):
            array = source.integers(0, 10, shape, dtype=np.uint8)
            sizes = struct.pack(f">{len(shape)}I", *shape)
            content = bytes([0, 0, 8, len(shape)]) + sizes + array.tobytes()
            (raw / f"{prefix}-{name}-ubyte").write_bytes(content)
    cifars = (
        ("cifar-10-batches-py", "labels", ["data_batch_1", "data_batch_2", "test_batch"]),
        ("cifar-100-python", "fine_labels", ["train", "test"]),
    )
    for folder, key, names in cifars:
        (made / folder).mkdir()
        for name in names:
            pixels = source.integers(0, 256, (4, 3072), dtype=np.uint8)
            batch = {"data": pixels, key: source.integers(0, 3, 4).tolist()}
            (made / folder / name).write_bytes(pickle.dumps(batch, 2))
    for folder, name, key in (
        ("cifar-10-batches-py", "batches.meta", "label_names"),
        ("cifar-100-python", "meta", "fine_label_names"),
    ):
        (made / folder / name).write_bytes(pickle.dumps({key: ["a", "b", "c"]}, 2))
    for name in ("dog", "cat"):
        (made / "animals" / name / "more").mkdir(parents=True)
        for place in ("b.png", "a.PNG", "more/c.png", "notes.txt"):
            pixels = source.integers(0, 256, (4, 5, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(made / "animals" / name / place, "PNG")
    (made / "empty").mkdir()
    return str(made)


def small(module: ModuleType, name: str) -> type:
    """Return a CIFAR class of a package that accepts files with any sum."""
    base = getattr(module, name)
    lists = {
        "train_list": [[each, None] for each, _ in base.train_list[:2]],
        "test_list": [[each, None] for each, _ in base.test_list],
        "meta": {**base.meta, "md5": None},
    }
    return type(name, (base,), lists)


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor | taper.Tensor):
        return "tensor", str(value.dtype), value.tolist()
    if isinstance(value, Image.Image):
        return "picture", value.mode, value.size, value.tobytes()
    if isinstance(value, np.ndarray):
        return "array", value.dtype, value.shape, value.strides, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(each) for each in value]
    return value


def observed(program: Any, datasets: ModuleType, transforms: ModuleType, root: str) -> Any:
    try:
        return plain(program(datasets, transforms, root))
    except Exception as error:
        return type(error), str(error)


def items(data: Any) -> list[Any]:
    return [data[index] for index in range(len(data))]


PROGRAMS = {
    "mnist": lambda d, t, root: items(d.MNIST(root)),
    "mnist, test": lambda d, t, root: items(d.MNIST(root, False, t.ToTensor(), str)),
    "mnist, last": lambda d, t, root: d.MNIST(root)[-1],
    "mnist, beyond": lambda d, t, root: d.MNIST(root)[5],
    "mnist, attributes": lambda d, t, root: [
        (x.data, x.targets, x.classes, list(x.class_to_idx.items()), x.train, x.root, x.raw_folder)
        for x in (d.MNIST(root, download=True), d.MNIST(root, train=False))
    ],
    "mnist, text": lambda d, t, root: repr(d.MNIST(root, transform=t.Compose([t.ToTensor()]))),
    "mnist, fields": lambda d, t, root: sorted(vars(d.MNIST(root))),
    "cifar10": lambda d, t, root: items(small(d, "CIFAR10")(root)),
    "cifar10, test": lambda d, t, root: items(small(d, "CIFAR10")(root, False, t.ToTensor(), str)),
    "cifar10, attributes": lambda d, t, root: [
        (x.data, x.targets, x.classes, list(x.class_to_idx.items()), x.train)
        for x in (small(d, "CIFAR10")(root, download=True),)
    ],
    "cifar10, text": lambda d, t, root: repr(small(d, "CIFAR10")(root, False)),
    "cifar10, fields": lambda d, t, root: sorted(vars(small(d, "CIFAR10")(root))),
    "cifar100": lambda d, t, root: items(small(d, "CIFAR100")(root)),
    "cifar100, classes": lambda d, t, root: small(d, "CIFAR100")(root, False).classes,
    "folder": lambda d, t, root: items(d.ImageFolder(f"{root}/animals")),
    "folder, transformed": lambda d, t, root: items(
        d.ImageFolder(f"{root}/animals", t.ToTensor(), str)
    ),
    "folder, attributes": lambda d, t, root: [
        (x.samples, x.imgs, x.targets, x.classes, list(x.class_to_idx.items()), x.extensions)
        for x in (d.ImageFolder(f"{root}/animals"),)
    ],
    "folder, text": lambda d, t, root: repr(d.ImageFolder(f"{root}/animals", t.Resize(3))),
    "folder, chosen": lambda d, t, root: (
        d.ImageFolder(f"{root}/animals", is_valid_file=lambda path: path.endswith("txt")).samples
    ),
    "folder, none": lambda d, t, root: d.ImageFolder(f"{root}/animals", is_valid_file=bool.__and__),
    "folder, no class": lambda d, t, root: d.ImageFolder(f"{root}/empty"),
    "folder, not there": lambda d, t, root: d.ImageFolder(f"{root}/nowhere"),
    "folder, no file": lambda d, t, root: d.DatasetFolder(f"{root}/animals", str, (".gif", ".x")),
    "folder, allowed": lambda d, t, root: (
        d.DatasetFolder(f"{root}/animals", str, (".gif",), allow_empty=True).samples
    ),
    "folder, neither": lambda d, t, root: d.DatasetFolder(f"{root}/animals", str),
    "folder, both": lambda d, t, root: d.DatasetFolder(
        f"{root}/animals", str, (".png",), is_valid_file=str
    ),
    "make_dataset": lambda d, t, root: [
        d.folder.make_dataset(f"{root}/animals", None, ".png"),
        d.folder.make_dataset(f"{root}/animals", {"cat": 7}, (".png",)),
        d.folder.make_dataset(f"{root}/animals", {"cow": 7}, (".png",), allow_empty=True),
    ],
    "make_dataset, empty": lambda d, t, root: d.folder.make_dataset(root, {}, ".png"),
    "make_dataset, none": lambda d, t, root: d.DatasetFolder.make_dataset(root, None),
    "is_image_file": lambda d, t, root: [
        d.folder.is_image_file(each) for each in ("a.PNG", "b.webp", "c.txt", "png")
    ],
    "fake": lambda d, t, root: items(d.FakeData(5, (3, 9, 8), 7)),
    "fake, offset": lambda d, t, root: items(
        d.FakeData(5, (1, 2, 3), 7, t.ToTensor(), lambda target: target * 2, 3)
    ),
    "fake, target": lambda d, t, root: items(d.FakeData(5, (1, 2, 3), target_transform=str)),
    "fake, beyond": lambda d, t, root: d.FakeData(5)[5],
    "fake, text": lambda d, t, root: repr(d.FakeData(5, target_transform=t.Resize(3))),
    "base": lambda d, t, root: d.VisionDataset(root)[0],
    "base, both": lambda d, t, root: d.VisionDataset(root, abs, abs),
    "base, home": lambda d, t, root: d.VisionDataset("~/x").root,
    "standard": lambda d, t, root: (
        repr(d.vision.StandardTransform(t.Compose([t.ToTensor()]), abs)),
        d.vision.StandardTransform(None, abs)(-1, -2),
    ),
    "verify": lambda d, t, root: d.utils.verify_str_arg("x", "split", ("train", "test")),
    "verify, type": lambda d, t, root: d.utils.verify_str_arg(3, "split", ("train", "test")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_torchvision(name, root):
    ours, theirs = (observed(PROGRAMS[name], *pair, root) for pair in PAIRS)
    assert ours == theirs


@pytest.mark.parametrize("name", ["MNIST", "CIFAR10"])
def test_missing_files_are_an_error_of_the_same_type(name, tmp_path):
    found = []
    for datasets, _ in PAIRS:
        with pytest.raises(RuntimeError, match="Dataset not found") as caught:
            getattr(datasets, name)(tmp_path)
        found.append(type(caught.value))
    assert found[0] is found[1]


@pytest.mark.parametrize("name", CLASSES)
def test_same_parameters(name):
    ours, theirs = (
        [
            (each.name, each.kind, each.default)
            for each in inspect.signature(getattr(package, name)).parameters.values()
            if each.name != "loader"
        ]
        for package, _ in PAIRS
    )
    assert ours == theirs


PUBLIC = """
base_folder url filename tgz_md5 train_list test_list meta classes resources mirrors training_file
""".split()


@pytest.mark.parametrize("name", CLASSES[4:])
def test_same_facts(name):
    ours, theirs = (
        {each: getattr(getattr(package, name), each, None) for each in PUBLIC}
        for package, _ in PAIRS
    )
    assert ours == theirs


def test_all_names_are_there_or_said_to_be_missing():
    for name in dir(THEIRS):
        if name[0].isupper():
            try:
                assert isinstance(getattr(OURS, name), type)
            except NotImplementedError as error:
                assert name in str(error)


def test_same_parameters_of_io():
    theirs = __import__("torchvision.io").io
    for name in taper.vision.io.__all__:
        if name not in ("image", "ImageReadMode"):
            ours, other = (
                list(inspect.signature(getattr(each, name)).parameters)
                for each in (taper.vision.io, theirs)
            )
            assert ours == other
    assert [(each.name, each.value) for each in taper.vision.io.ImageReadMode] == [
        (each.name, each.value) for each in theirs.ImageReadMode
    ]
