"""`torch.hub` on this machine: checkpoints in the cache folder, and models of a local folder.

There is no network: a missing file is an error that says which file belongs where.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse

from taper.files.checkpoint import load as load_file
from taper.userwarning import warn_user

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HUBCONF = "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the hash in the name of a file of weights

_folder: str | None = None


def get_dir() -> str:
    """Return the folder of the hub; `checkpoints` inside it holds the files of weights.

    The folder is what `set_dir` was given, or `$TORCH_HOME/hub`, or `torch/hub` in the user's
    cache.

    >>> import taper
    >>> taper.hub.set_dir("my_hub")
    >>> taper.hub.get_dir()
    'my_hub'
    >>> taper.hub.set_dir(None)
    """
    if os.getenv("TORCH_HUB"):
        warn_user("TORCH_HUB is deprecated, please use env TORCH_HOME instead")
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def _get_torch_home() -> str:
    """Return the folder that `$TORCH_HOME` names, or `torch` in the user's cache."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", f"{cache}/torch"))


def set_dir(d: str | os.PathLike[str] | None) -> None:
    """Choose the folder of the hub; None returns to the usual one.

    Args:
        d: the folder.

    >>> import taper
    >>> taper.hub.set_dir(None)
    """
    global _folder
    _folder = None if d is None else os.path.expanduser(os.fspath(d))


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Load the checkpoint with the name of a URL from the cache folder.

    Args:
        url: its last part is the name of the file.
        model_dir: the folder; by default `checkpoints` in that of the hub.
        map_location: as in `load` of checkpoints.
        progress, check_hash: for downloads, without effect.
        file_name: another name of the file.
        weights_only: as in `load` of checkpoints.

    >>> import taper
    >>> taper.hub.load_state_dict_from_url("https://example.org/net.pth", "nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: net.pth is not in nowhere, and taper does not download: ...
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warn_user("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead")
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{name} is not in {folder}, and taper does not download: fetch {url} and put it there"
        )
    return load_file(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> NoReturn:
    """Refused: taper does not use the network."""
    raise NotImplementedError(f"taper does not download: fetch {url} and put it at {dst}")


# --- models of a folder ----------------------------------------------------------------------


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call the function `model` of the file `hubconf.py` in a folder; `source` must be "local".

    Args:
        repo_or_dir: the folder.
        model: the function.
        args, kwargs: its arguments.
        source: "local".
        trust_repo, force_reload, verbose, skip_validation: for downloads, without effect.

    >>> import taper
    >>> taper.hub.load("pytorch/vision", "resnet18")
    Traceback (most recent call last):
        ...
    NotImplementedError: taper does not download repositories: clone pytorch/vision and ...
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        _refuse(repo_or_dir)
    return _on_path(repo_or_dir, lambda conf: _entry(conf, model)(*args, **kwargs))


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> Any:
    """Return the functions of the file `hubconf.py` in a local folder.

    Args:
        github: the folder.
        force_reload, skip_validation, trust_repo, verbose: for downloads, without effect.

    >>> import taper
    >>> taper.hub.list("pytorch/vision")
    Traceback (most recent call last):
        ...
    NotImplementedError: taper does not download repositories: clone pytorch/vision and ...
    """
    return _on_path(_local(github), lambda conf: [*filter(_is_entry(conf), dir(conf))])


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> Any:
    """Return the docstring of a function of the file `hubconf.py` in a local folder.

    Args:
        github: the folder.
        model: the function.
        force_reload, skip_validation, trust_repo: for downloads, without effect.

    >>> import taper
    >>> taper.hub.help("pytorch/vision", "resnet18")
    Traceback (most recent call last):
        ...
    NotImplementedError: taper does not download repositories: clone pytorch/vision and ...
    """
    return _on_path(_local(github), lambda conf: _entry(conf, model).__doc__)


def _local(folder: str) -> str:
    if not Path(folder, HUBCONF).exists():
        _refuse(folder)
    return folder


def _refuse(repository: str) -> NoReturn:
    raise NotImplementedError(
        f"taper does not download repositories: clone {repository} and give the path of its "
        'folder, to load with source="local"'
    )


def _on_path(folder: str, use: Callable[[ModuleType], Any]) -> Any:
    """Call `use` on the module `hubconf` of a folder, which can import its neighbours meanwhile."""
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(HUBCONF, os.path.join(folder, HUBCONF))
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot import {HUBCONF} of {folder}")
        conf = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(conf)
        return use(conf)
    finally:
        sys.path.remove(folder)


def _is_entry(conf: ModuleType) -> Callable[[str], bool]:
    return lambda name: callable(getattr(conf, name)) and not name.startswith("_")


def _entry(conf: ModuleType, model: str) -> Callable[..., Any]:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = getattr(conf, "dependencies", None) or []
    missing = [name for name in needed if not _is_installed(name)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(conf, model, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _is_installed(package: str) -> bool:
    """Return whether a module can be imported; `torch` can if taper stands in for it."""
    return package in sys.modules or importlib.util.find_spec(package) is not None


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # nothing here shows progress, but libraries take the bar from here
        try:
            # late: an optional package
            return importlib.import_module("tqdm").tqdm
        except ModuleNotFoundError:
            # late: needed only without it
            return importlib.import_module("taper.absent.answers").refused_class(
                "tqdm", __name__, "torch.hub.tqdm: the package tqdm is not installed"
            )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
