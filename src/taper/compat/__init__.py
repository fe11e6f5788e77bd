"""`import torch` means taper: the proxy behind `taper run`.

While it is installed, `torch` and every `torch.x.y` are taper's own modules, the same objects, for
the program and for the libraries it imports; likewise `torchvision` is `taper.vision` and
`torchviz` is `taper.viz`.  A module is loaded when it is first imported.  taper takes precedence
over an installed PyTorch; if PyTorch is already imported, installing the proxy is refused.

Owns: installing and removing the proxy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from taper.compat.aliases import ALIASES
from taper.compat.finder import Proxy

__all__ = ["install", "installed", "is_installed", "uninstall"]

_proxy: Proxy | None = None


def install() -> None:
    """Let `import torch` give taper from now on; calling it again changes nothing.

    >>> import taper
    >>> from taper import compat
    >>> compat.install()
    >>> import torch.nn.functional as F
    >>> F is taper.nn.functional
    True
    >>> compat.uninstall()
    """
    global _proxy
    if _proxy is None:
        _refuse_if_imported()
        proxy = Proxy()
        proxy.start()
        _proxy = proxy


def uninstall() -> None:
    """Remove the proxy; modules that the program has imported through it stay usable."""
    global _proxy
    if _proxy is not None:
        _proxy.stop()
        _proxy = None


def is_installed() -> bool:
    """Return whether `import torch` gives taper now."""
    return _proxy is not None


@contextmanager
def installed() -> Iterator[None]:
    """Install the proxy for a block; does nothing if it is installed already.

    >>> from taper import compat
    >>> with compat.installed():
    ...     import torch
    >>> torch.__name__
    'taper'
    """
    before = is_installed()
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()


def _refuse_if_imported() -> None:
    for name in ALIASES:
        module = sys.modules.get(name)
        if module is not None:
            place = getattr(module, "__file__", None) or "an unknown place"
            raise ImportError(
                f"taper.compat.install: {name} is already imported, from {place}. Install before "
                f"the first `import {name}`, or start the program with `taper run`.",
                name=name,
            )
