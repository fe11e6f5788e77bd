"""Datasets from small local files; damaged ones give a clear error and execute nothing."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import struct
import tarfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

import taper
from taper.vision import datasets, transforms
from taper.vision.datasets import archives, folder, mnist

CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
RAW = [name.removesuffix(".gz") for name, _ in datasets.MNIST.resources]


def idx(array: np.ndarray) -> bytes:
    """Return the bytes of an IDX file."""
    header = bytes([0, 0, CODES[array.dtype.name], array.ndim])
    sizes = b"".join(struct.pack(">I", size) for size in array.shape)
    return header + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


def digits(count: int) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(count)
    pixels = source.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    return pixels, source.integers(0, 10, count, dtype=np.uint8)


@pytest.fixture
def raw(tmp_path) -> Path:
    """`MNIST/raw` with five training pictures and three others."""
    made = tmp_path / "MNIST" / "raw"
    made.mkdir(parents=True)
    for prefix, count in (("train", 5), ("t10k", 3)):
        pixels, labels = digits(count)
        (made / f"{prefix}-images-idx3-ubyte").write_bytes(idx(pixels))
        (made / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(labels))
    return made


# --- MNIST -----------------------------------------------------------------------------------


def test_mnist_reads_its_files(raw, tmp_path):
    data = datasets.MNIST(tmp_path, train=True, transform=transforms.ToTensor())
    pixels, labels = digits(5)
    assert np.array_equal(data.data.numpy(), pixels)
    assert data.targets.tolist() == labels.tolist()
    assert (data.data.dtype, data.targets.dtype) == (taper.uint8, taper.int64)
    picture, target = data[2]
    assert taper.equal(picture, taper.from_numpy(pixels[2:3]).float() / 255)
    assert (target, type(target)) == (labels[2], int)
    assert len(datasets.MNIST(tmp_path, train=False)) == 3
    assert data.class_to_idx["3 - three"] == 3


def test_mnist_without_transform_gives_pictures(raw, tmp_path):
    picture, _ = datasets.MNIST(tmp_path)[-1]
    assert (picture.mode, picture.size) == ("L", (28, 28))
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 5"):
        datasets.MNIST(tmp_path)[5]


def test_mnist_prints_as_torchvision(raw, tmp_path):
    assert repr(datasets.MNIST(str(tmp_path), train=False, transform=transforms.ToTensor())) == (
        f"Dataset MNIST\n    Number of datapoints: 3\n    Root location: {tmp_path}\n"
        "    Split: Test\n    StandardTransform\nTransform: ToTensor()"
    )


def test_mnist_reads_compressed_files(raw, tmp_path):
    for path in list(raw.iterdir()):
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert np.array_equal(datasets.MNIST(tmp_path).data.numpy(), digits(5)[0])


def test_compressed_files_that_are_not_the_original_ones_are_no_download(raw, tmp_path):
    (raw / f"{RAW[0]}.gz").write_bytes(gzip.compress((raw / RAW[0]).read_bytes()))
    (raw / RAW[0]).unlink()
    with pytest.raises(RuntimeError, match="corrupted: .*has not the MD5 sum f68b3c2d"):
        datasets.MNIST(tmp_path, download=True)


def test_old_names_warn(raw, tmp_path):
    data = datasets.MNIST(tmp_path)
    with pytest.warns(UserWarning, match="train_data has been renamed data"):
        assert data.train_data is data.data
    with pytest.warns(UserWarning, match="test_labels has been renamed targets"):
        assert data.test_labels is data.targets


def test_mnist_of_old_torchvision(tmp_path):
    processed = tmp_path / "MNIST" / "processed"
    processed.mkdir(parents=True)
    kept = taper.zeros(2, 28, 28, dtype=taper.uint8), taper.tensor([3, 4])
    taper.save(kept, processed / "training.pt")
    taper.save(kept, processed / "test.pt")
    assert datasets.MNIST(tmp_path).targets.tolist() == [3, 4]


@pytest.mark.parametrize("download", [False, True])
def test_missing_files_are_named(raw, tmp_path, download):
    (raw / RAW[1]).unlink()
    with pytest.raises(RuntimeError, match="Dataset not found.") as caught:
        datasets.MNIST(tmp_path, download=download)
    assert f"put {RAW[1]} (or .gz) into {raw}" in str(caught.value)
    assert RAW[0] not in str(caught.value)


def test_download_of_what_is_there_changes_nothing(raw, tmp_path):
    before = {path: path.read_bytes() for path in raw.iterdir()}
    assert len(datasets.MNIST(tmp_path, download=True)) == 5
    assert {path: path.read_bytes() for path in raw.iterdir()} == before


def test_siblings_have_folders_of_their_own(raw, tmp_path):
    raw.parent.rename(tmp_path / "FashionMNIST")
    assert len(datasets.FashionMNIST(tmp_path)) == 5
    with pytest.raises(RuntimeError, match="KMNIST"):
        datasets.KMNIST(tmp_path)


DAMAGES = {
    "empty": lambda content: b"",
    "magic": lambda content: b"\x89PNG" + content[4:],
    "type": lambda content: content[:2] + b"\x07" + content[3:],
    "dimensions": lambda content: content[:3] + b"\x09" + content[4:],
    "header": lambda content: content[:7],
    "truncated": lambda content: content[:-1],
    "surplus": lambda content: content + b"\0",
    "huge": lambda content: content[:4] + b"\xff" * 12 + content[16:],
}


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_idx_files(raw, tmp_path, damage, is_compressed):
    path = raw / RAW[0]
    content = DAMAGES[damage](path.read_bytes())
    if is_compressed:
        path.unlink()
        path = raw / f"{RAW[0]}.gz"
        content = gzip.compress(content)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no whole IDX file"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize("end", [-1, -9, 100, 20])
def test_truncated_compressed_file(raw, tmp_path, end):
    path = raw / RAW[0]
    (raw / f"{RAW[0]}.gz").write_bytes(gzip.compress(path.read_bytes())[:end])
    path.unlink()
    with pytest.raises(ValueError, match="is no whole IDX file"):
        datasets.MNIST(tmp_path)


def test_pictures_and_labels_must_be_as_many(raw, tmp_path):
    (raw / RAW[1]).write_bytes(idx(np.zeros(4, np.uint8)))
    with pytest.raises(ValueError, match="5 pictures but 4 labels"):
        datasets.MNIST(tmp_path)


def test_labels_are_no_pictures(raw, tmp_path):
    (raw / RAW[0]).write_bytes((raw / RAW[1]).read_bytes())
    with pytest.raises(ValueError, match="should have 3 dimension instead of 1"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize("dtype", list(CODES))
def test_idx_of_all_element_types(tmp_path, dtype):
    array = np.arange(6, dtype=dtype).reshape(2, 3)
    (tmp_path / "x").write_bytes(idx(array))
    read = mnist.read_sn3_pascalvincent_tensor(tmp_path / "x")
    assert np.array_equal(read.numpy(), array)
    assert str(read.dtype) == f"torch.{dtype}"


# --- CIFAR -----------------------------------------------------------------------------------


def python2_batch(pixels: np.ndarray, labels: list[int], key: bytes = b"labels") -> bytes:
    """Return the pickle that Python 2 writes for `{key: labels, 'data': pixels}`, protocol 2."""

    def text(value: bytes) -> bytes:
        if len(value) < 256:
            return b"U" + bytes([len(value)]) + value
        return b"T" + struct.pack("<I", len(value)) + value

    def number(value: int) -> bytes:
        return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)

    dtype = (
        b"cnumpy\ndtype\n" + text(b"u1") + b"K\0K\1\x87R"
        b"(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    )
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n" + b"cnumpy\nndarray\n"
        b"K\0\x85" + text(b"b") + b"\x87R"
        b"(K\1" + number(pixels.shape[0]) + number(pixels.shape[1]) + b"\x86" + dtype + b"\x89"
        b"" + text(pixels.tobytes()) + b"tb"
    )
    listed = b"](" + b"".join(number(each) for each in labels) + b"e"
    return b"\x80\x02}(" + text(key) + listed + text(b"data") + array + b"u."


def photographs(count: int, seed: int = 0) -> tuple[np.ndarray, list[int]]:
    source = np.random.default_rng(seed)
    pixels = source.integers(0, 256, (count, 3072), dtype=np.uint8)
    return pixels, source.integers(0, 10, count).tolist()


class SmallCifar(datasets.CIFAR10):
    """CIFAR10 with files of unknown sums."""

    tgz_md5 = None
    train_list: ClassVar = [["data_batch_1", None], ["data_batch_2", None]]
    test_list: ClassVar = [["test_batch", None]]
    meta: ClassVar = {"filename": "batches.meta", "key": "label_names", "md5": None}


NAMES = ["airplane", "automobile", "bird"]


@pytest.fixture
def batches(tmp_path) -> Path:
    made = tmp_path / "cifar-10-batches-py"
    made.mkdir()
    for seed, name in enumerate(["data_batch_1", "data_batch_2", "test_batch"]):
        (made / name).write_bytes(python2_batch(*photographs(4, seed)))
    (made / "batches.meta").write_bytes(pickle.dumps({"label_names": NAMES}, 2))
    return made


def test_the_pickle_of_the_test_is_one(batches):
    pixels, labels = photographs(4)
    read = pickle.loads((batches / "data_batch_1").read_bytes(), encoding="bytes")
    assert np.array_equal(read[b"data"], pixels)
    assert read[b"labels"] == labels


def test_cifar_reads_its_files(batches, tmp_path):
    data = SmallCifar(tmp_path)
    expected = np.concatenate([photographs(4, seed)[0] for seed in (0, 1)])
    assert data.data.shape == (8, 32, 32, 3)
    assert np.array_equal(data.data, expected.reshape(8, 3, 32, 32).transpose(0, 2, 3, 1))
    assert data.targets == photographs(4, 0)[1] + photographs(4, 1)[1]
    assert data.classes == NAMES
    assert data.class_to_idx["bird"] == 2
    picture, target = data[5]
    assert (picture.mode, target) == ("RGB", data.targets[5])
    assert np.array_equal(np.array(picture), data.data[5])
    assert len(SmallCifar(tmp_path, train=False)) == 4
    assert repr(SmallCifar(str(tmp_path))).splitlines()[-1] == "    Split: Train"


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar_of_any_python(batches, tmp_path, protocol):
    pixels, labels = photographs(4)
    content = {"data": pixels, "fine_labels": labels}
    (batches / "data_batch_1").write_bytes(pickle.dumps(content, protocol))
    assert np.array_equal(
        SmallCifar(tmp_path).data[:4].transpose(0, 3, 1, 2).reshape(4, -1), pixels
    )


def test_cifar_checks_the_sums(batches, tmp_path):
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted.") as caught:
        datasets.CIFAR10(tmp_path)
    assert "data_batch_5" in str(caught.value)
    assert str(batches) in str(caught.value)


def test_cifar_comes_out_of_its_archive(batches, tmp_path):
    archive = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(batches, "cifar-10-batches-py")
    for path in batches.iterdir():
        path.unlink()
    with pytest.raises(RuntimeError, match="Use download=True to take the files out of"):
        SmallCifar(tmp_path)
    assert len(SmallCifar(tmp_path, download=True)) == 8
    assert len(SmallCifar(tmp_path)) == 8


def test_archive_with_another_sum_is_not_opened(tmp_path):
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"no archive")
    with pytest.raises(RuntimeError, match="has not the MD5 sum c58f30108f718f92721af3b95e74349a"):
        datasets.CIFAR10(tmp_path, download=True)


class Evil:
    """What an attacker's pickle would call."""

    def __reduce__(self):
        return (print, ("executed",))


class EvilArray:
    def __reduce__(self):
        return (np.load, ("secret.npy",))


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize(
    "content",
    [{"data": Evil()}, Evil(), {"data": EvilArray(), "labels": []}],
    ids=["inside", "alone", "as an array"],
)
def test_pickles_execute_nothing(batches, tmp_path, capsys, content, protocol):
    (batches / "data_batch_1").write_bytes(pickle.dumps(content, protocol))
    with pytest.raises(ValueError, match="data_batch_1 is no pickle of plain data: it names "):
        SmallCifar(tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("end", [0, 1, 5, 40, 200, -1])
def test_truncated_batch(batches, tmp_path, end):
    path = batches / "data_batch_1"
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ValueError, match="data_batch_1 is no pickle of plain data"):
        SmallCifar(tmp_path)


def test_batches_are_data_for_fuzzing_too(batches, tmp_path):
    """If any byte is changed, the file is read or refused, and nothing else happens."""
    path = batches / "data_batch_1"
    whole = path.read_bytes()
    head = whole.index(b"T" + struct.pack("<I", 4 * 3072))
    refused = 0
    for position in range(head):
        for value in (0, 0xFF, whole[position] ^ 1):
            path.write_bytes(whole[:position] + bytes([value]) + whole[position + 1 :])
            try:
                SmallCifar(tmp_path)
            except (ValueError, NotImplementedError):
                refused += 1
    assert refused > head


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([1, 2], "should have a dict"),
        ({"labels": [1]}, "has no 'data' of uint8"),
        ({"data": np.zeros((1, 3072)), "labels": [1]}, "has no 'data' of uint8"),
        ({"data": np.zeros((1, 3), np.uint8), "labels": [1]}, "should have rows of 3072 bytes"),
        ({"data": np.zeros((1, 3072), np.uint8)}, "has no list of labels"),
        ({"data": np.zeros((1, 3072), np.uint8), "labels": ["x"]}, "has no list of labels"),
        ({"data": np.zeros((1, 3072), np.uint8), "labels": [1, 2]}, "1 pictures but 2 labels"),
    ],
)
def test_batches_of_another_form(batches, tmp_path, content, problem):
    (batches / "data_batch_1").write_bytes(pickle.dumps(content, 2))
    with pytest.raises(ValueError, match=problem):
        SmallCifar(tmp_path)


# --- archives --------------------------------------------------------------------------------


def archive_of(path: Path, members: list[tarfile.TarInfo], content: bytes = b"hello") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def test_only_named_files_are_unpacked(tmp_path):
    names = ["in/a", "../outside", "/absolute", "in/other"]
    made = archive_of(tmp_path / "x.tar.gz", [member(name) for name in names])
    archives.extract(made, ["in/a"], tmp_path / "root", 100)
    found = [
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    ]
    assert sorted(found) == ["root/in/a", "x.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_are_no_files(tmp_path, kind):
    made = archive_of(tmp_path / "x.tar.gz", [member("in/a", kind, "../../secret")])
    with pytest.raises(ValueError, match="does not have in/a"):
        archives.extract(made, ["in/a"], tmp_path / "root", 100)


def test_files_may_not_be_larger_than_expected(tmp_path):
    made = archive_of(tmp_path / "x.tar.gz", [member("in/a")], b"x" * 101)
    with pytest.raises(ValueError, match="is larger than 100"):
        archives.extract(made, ["in/a"], tmp_path / "root", 100)
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("end", [5, 40, -10])
def test_damaged_archive(tmp_path, end):
    made = archive_of(tmp_path / "x.tar.gz", [member("in/a")])
    made.write_bytes(made.read_bytes()[:end])
    with pytest.raises(ValueError, match="cannot be unpacked|does not have in/"):
        archives.extract(made, ["in/a", "in/b"], tmp_path / "root", 100)


# --- folders ---------------------------------------------------------------------------------


@pytest.fixture
def animals(tmp_path) -> Path:
    for name in ("dog", "cat"):
        (tmp_path / name / "more").mkdir(parents=True)
        for place in ("b.png", "a.JPG", "more/c.png"):
            Image.new("L", (5, 4), 100).save(tmp_path / name / place)
        (tmp_path / name / "notes.txt").write_text("hello")
    (tmp_path / "stray.png").write_bytes(b"")
    return tmp_path


def test_image_folder_finds_classes_and_files(animals):
    data = datasets.ImageFolder(animals, transform=transforms.ToTensor(), target_transform=str)
    assert data.classes == ["cat", "dog"]
    assert data.class_to_idx == {"cat": 0, "dog": 1}
    found = [(Path(path).relative_to(animals).as_posix(), target) for path, target in data.samples]
    assert found[:4] == [
        ("cat/a.JPG", 0),
        ("cat/b.png", 0),
        ("cat/more/c.png", 0),
        ("dog/a.JPG", 1),
    ]
    assert data.targets == [0, 0, 0, 1, 1, 1]
    assert data.imgs is data.samples
    picture, target = data[1]
    assert (picture.shape, target) == ((3, 4, 5), "0")


def test_files_may_be_chosen_by_a_function(animals):
    data = datasets.ImageFolder(animals, is_valid_file=lambda path: path.endswith(".txt"))
    assert {Path(path).name for path, _ in data.samples} == {"notes.txt"}


def test_empty_classes(animals):
    (animals / "cow").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes cow. Supported ext"):
        datasets.ImageFolder(animals)
    data = datasets.ImageFolder(animals, allow_empty=True)
    assert data.classes == ["cat", "cow", "dog"]
    assert data.targets == [0, 0, 0, 2, 2, 2]


def test_dataset_folder_with_a_loader(animals):
    data = datasets.DatasetFolder(animals, lambda path: Path(path).read_text(), (".txt",))
    assert data[1] == ("hello", 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda root: folder.find_classes(root / "cat" / "more"),
            FileNotFoundError,
            "any class fold",
        ),
        (lambda root: folder.make_dataset(root, {}, ".png"), ValueError, "at least one entry"),
        (lambda root: folder.make_dataset(root), ValueError, "cannot be None or not None"),
        (lambda root: datasets.ImageFolder(root / "none"), FileNotFoundError, "No such file"),
    ],
)
def test_folders_that_are_refused(animals, call, error, message):
    with pytest.raises(error, match=message):
        call(animals)


# --- random pictures, and what is not there --------------------------------------------------


def test_fake_data_are_those_of_torchvision():
    data = datasets.FakeData(3, (1, 2, 2))
    picture, target = data[0]
    assert np.array(picture).tolist() == [[136, 182], [213, 144]]
    assert target == 7
    with pytest.raises(IndexError, match="FakeData index out of range"):
        data[3]


def test_fake_data_leave_the_random_numbers_of_the_program():
    taper.manual_seed(1)
    datasets.FakeData(3, (1, 8, 8))[0]
    after = taper.rand(3)
    taper.manual_seed(1)
    assert taper.equal(after, taper.rand(3))


def test_what_is_not_provided_says_so():
    assert hasattr(datasets, "ImageNet") and issubclass(datasets.SVHN, datasets.VisionDataset)
    with pytest.raises(NotImplementedError, match="SVHN is not provided: unpack its files"):
        datasets.SVHN("folder")
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        datasets.Nothing


def test_md5_of_a_file(tmp_path):
    (tmp_path / "x").write_bytes(b"hello")
    assert datasets.utils.calculate_md5(tmp_path / "x") == hashlib.md5(b"hello").hexdigest()
    assert not datasets.utils.check_integrity(tmp_path / "x", "0")
