"""Checks of files and arguments for datasets.  Nothing here uses a network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any, NoReturn


def calculate_md5(fpath: Any, chunk_size: int = 1024 * 1024) -> str:
    """Return the MD5 sum of a file, in hexadecimal digits.

    >>> import tempfile
    >>> from taper.vision.datasets.utils import calculate_md5
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     calculate_md5(file.name)
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    md5 = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            md5.update(chunk)
    return md5.hexdigest()


def check_md5(fpath: Any, md5: str, chunk_size: int = 1024 * 1024) -> bool:
    """Return whether a file has this MD5 sum.

    >>> import tempfile
    >>> from taper.vision.datasets.utils import check_md5
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     check_md5(file.name, "0")
    False
    """
    return md5 == calculate_md5(fpath, chunk_size)


def check_integrity(fpath: Any, md5: str | None = None) -> bool:
    """Return whether a file exists and, if one is given, has this MD5 sum.

    >>> from taper.vision.datasets.utils import check_integrity
    >>> check_integrity("no such file")
    False
    """
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def list_dir(root: Any, prefix: bool = False) -> list[str]:
    """Return the folders in a folder, with its path in front if asked for.

    >>> import tempfile
    >>> from taper.vision.datasets.utils import list_dir
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list_dir(folder)
    []
    """
    root = os.path.expanduser(root)
    found = [name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))]
    return [os.path.join(root, name) for name in found] if prefix else found


def list_files(root: Any, suffix: Any, prefix: bool = False) -> list[str]:
    """Return the files in a folder that end in one of some suffixes.

    >>> import tempfile
    >>> from taper.vision.datasets.utils import list_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list_files(folder, ".png")
    []
    """
    root = os.path.expanduser(root)
    found = [
        name
        for name in os.listdir(root)
        if os.path.isfile(os.path.join(root, name)) and name.endswith(suffix)
    ]
    return [os.path.join(root, name) for name in found] if prefix else found


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """Return items in quotes, separated by commas.

    >>> from taper.vision.datasets.utils import iterable_to_str
    >>> iterable_to_str(["train", "test"])
    "'train', 'test'"
    """
    return "'" + "', '".join(str(each) for each in iterable) + "'"


def verify_str_arg(
    value: Any,
    arg: str | None = None,
    valid_values: Iterable[Any] | None = None,
    custom_msg: str | None = None,
) -> Any:
    """Return the value if it is a text and one of the valid ones; raise otherwise.

    >>> from taper.vision.datasets.utils import verify_str_arg
    >>> verify_str_arg("train", "split", ("train", "test"))
    'train'
    """
    if not isinstance(value, str):
        where = "type str" if arg is None else f"type str for argument {arg}"
        raise ValueError(f"Expected {where}, but got type {type(value)}.")
    if valid_values is None:
        return value
    valid = list(valid_values)
    if value not in valid:
        if custom_msg is not None:
            raise ValueError(custom_msg)
        raise ValueError(
            f"Unknown value '{value}' for argument {arg}. Valid values are "
            f"{{{iterable_to_str(valid)}}}."
        )
    return value


def not_downloaded(what: str, missing: Iterable[str], folder: str) -> RuntimeError:
    """Return the error of a dataset whose files are missing: taper does not download."""
    return RuntimeError(
        f"{what} taper does not download datasets: put {', '.join(missing)} into {folder}"
    )


def download_url(url: str, *arguments: Any, **options: Any) -> NoReturn:
    """Refuse: nothing in taper uses a network.

    >>> from taper.vision.datasets.utils import download_url
    >>> download_url("https://example.org/data.zip", ".")
    Traceback (most recent call last):
    ...
    NotImplementedError: taper does not download: fetch https://example.org/data.zip by other means
    """
    raise NotImplementedError(f"taper does not download: fetch {url} by other means")


download_and_extract_archive = download_url
