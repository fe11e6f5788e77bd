"""`save` and `load`: which file, format and options.  The formats are in `archive` and `legacy`."""

from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
import warnings
from collections.abc import Iterator
from typing import IO, Any

from taper.files import archive, legacy
from taper.files.allowed import Allowed
from taper.files.atomic import replacing
from taper.files.locations import MapLocation
from taper.files.options import MAP_SHARED, options
from taper.files.pickle_writer import pickled
from taper.files.refusals import failed
from taper.files.zip_reader import ZipReader

DEFAULT_PROTOCOL = 2

FileLike = str | os.PathLike[str] | IO[bytes]

_PICKLE_ARGUMENTS = ("encoding", "errors", "fix_imports", "buffers")


def _is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


# --- saving ----------------------------------------------------------------------------------


def save(
    obj: object,
    f: FileLike,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object, with the tensors in it, to a file in PyTorch's format.

    Tensors that share memory share it again when loaded. A path is replaced as a whole, after
    everything is on the disk: after an error it holds what it held before.

    Args:
        obj: any object that Python can pickle; usually a state dict.
        f: a path, or a file open for writing bytes.
        pickle_module: only Python's own `pickle`.
        pickle_protocol: version of the pickle format inside the file.
        _use_new_zipfile_serialization: False writes the format before PyTorch 1.6.
        _disable_byteorder_record: leaves out the note of the machine's byte order.

    Returns: nothing.

    Example:
        >>> import os, tempfile, taper
        >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
        >>> taper.save({"weight": taper.ones(2), "epoch": 3}, path)
        >>> taper.load(path)
        {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not pickle:
        raise NotImplementedError(
            "checkpoints are written with Python's own pickle: leave pickle_module out"
        )
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    data, storages = pickled(obj, pickle_protocol, legacy=not _use_new_zipfile_serialization)
    size = sum(storage.memory.nbytes for storage in storages)
    with _opened_to_write(f, size) as file:
        if _use_new_zipfile_serialization:
            root = archive.root_of(f) if isinstance(f, (str, os.PathLike)) else "archive"
            archive.write(file, root, data, storages, not _disable_byteorder_record)
        else:
            legacy.write(file, data, storages, pickle_protocol)


@contextlib.contextmanager
def _opened_to_write(f: Any, size: int) -> Iterator[IO[bytes]]:
    if not _is_path(f):
        yield f
        if hasattr(f, "flush"):
            f.flush()
        return
    folder = os.path.dirname(os.path.realpath(f))
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")
    if os.path.isdir(f):
        raise RuntimeError("open file failed with strerror: Is a directory")
    with replacing(f, size) as file:
        yield file


# --- loading ---------------------------------------------------------------------------------


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save`, of taper or of PyTorch, has written.

    The file is data: nothing in it is executed, whatever `weights_only` says.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: device that tensors come to; a device, a dict of devices, or a function.
        pickle_module: only Python's own `pickle`, and only with `weights_only=False`.
        weights_only: with False the file may also hold NumPy's arrays and numbers, namespaces,
            paths, times and defaultdicts; other classes are allowed by
            `taper.serialization.add_safe_globals`.
        mmap: whether tensors look at the file itself instead of at copies; `f` must be a path.
        pickle_load_args: `encoding` of texts that Python 2 has written.

    Returns: the object.

    Example:
        >>> import io, taper
        >>> file = io.BytesIO()
        >>> taper.save([taper.zeros(2), "text"], file)
        >>> _ = file.seek(0)
        >>> taper.load(file)
        [tensor([0., 0.]), 'text']
    """
    executes_nothing = _checked_mode(weights_only, pickle_module)
    encoding = _checked_arguments(pickle_load_args, executes_nothing)
    allowed = Allowed(executes_nothing)
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _opened_to_read(f, bool(mmap)) as file:
        if _is_zip(file):
            return archive.read(file, map_location, allowed, bool(mmap), encoding)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with "
                f"`torch.save({f!s}, _use_new_zipfile_serialization=True), please torch.save your "
                "checkpoint with this option in order to use mmap."
            )
        return legacy.read(file, map_location, allowed, encoding)


def _checked_mode(weights_only: bool | None, pickle_module: Any) -> bool:
    """Return whether only what `weights_only=True` allows may be named."""
    forced, forbidden = (_is_set(f"TORCH_FORCE_{each}WEIGHTS_ONLY_LOAD") for each in ("", "NO_"))
    if forced and forbidden:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if forced:
        weights_only = True
    elif forbidden and weights_only is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        weights_only = False
    if pickle_module is None:
        return weights_only is None or bool(weights_only)
    if weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_module is not pickle:
        raise NotImplementedError(
            "taper reads files itself and never executes them: leave pickle_module out"
        )
    return False


def _is_set(variable: str) -> bool:
    return os.getenv(variable, "0").lower() in ("1", "y", "yes", "true")


def _checked_arguments(arguments: dict[str, Any], executes_nothing: bool) -> str:
    """Return the encoding of the texts of Python 2."""
    for name in arguments:
        if name not in _PICKLE_ARGUMENTS:
            raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument '{name}'")
    if arguments and executes_nothing:
        warnings.warn(
            "pickle_load_args only works if `weights_only=False`.", UserWarning, stacklevel=3
        )
    encoding = arguments.get("encoding", "utf-8")
    if not isinstance(encoding, str):
        raise TypeError(f"encoding must be str, not {type(encoding).__name__}")
    return encoding


@contextlib.contextmanager
def _opened_to_read(f: Any, mapped: bool = False) -> Iterator[Any]:
    if _is_path(f):
        writes = mapped and options.mapping_flags == MAP_SHARED
        with open(f, "r+b" if writes else "rb") as file:
            yield file
        return
    for name in ("seek", "tell", "read"):
        if not hasattr(f, name):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{name}'. You can only torch.load "
                "from a file that is seekable. Please pre-load the data into a buffer like "
                "io.BytesIO and try to load from it instead."
            )
    yield f


def _is_zip(file: Any) -> bool:
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not isinstance(head, bytes):
        raise TypeError(f"Expected bytes, got {type(head).__name__}: open the file with 'rb'")
    return head == b"PK\3\4"


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """Return the names in a checkpoint that `add_safe_globals` must allow before it can be loaded.

    Args:
        f: a path, or a seekable file opened for reading bytes.

    >>> import io, taper, datetime
    >>> file = io.BytesIO()
    >>> taper.save(datetime.date(2026, 1, 1), file)
    >>> _ = file.seek(0)
    >>> taper.serialization.get_unsafe_globals_in_checkpoint(file)
    ['datetime.date']
    """
    with _opened_to_read(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        reader = ZipReader(file)
        name = next((each for each in reader.records if each.endswith("/data.pkl")), "data.pkl")
        return _names_in(archive.read_pickle(reader, name))


def _names_in(data: bytes) -> list[str]:
    allowed, unsafe = Allowed(), {}
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "GLOBAL":
                name = str(argument).replace(" ", ".").replace("__builtin__.", "builtins.", 1)
                if not allowed.knows(name):
                    unsafe[name.removeprefix("builtins.")] = True
    except ValueError as error:
        raise failed(str(error)) from None
    return list(unsafe)
