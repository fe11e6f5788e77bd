"""`taper.vision`: the counterpart of torchvision.  Its modules load when they are first used.

Pictures are tensors or, with the extra `vision`, Pillow images; there is no network.
"""

from __future__ import annotations

from taper.first_use import on_first_use as _on_first_use

__version__ = "0.28.0"  # the torchvision whose names and behaviour it follows

_MODULES = ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils")


def get_image_backend() -> str:
    """Return the name of the package that opens pictures: Pillow.

    >>> from taper import vision
    >>> vision.get_image_backend()
    'PIL'
    """
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Choose the package that opens pictures; only Pillow is accepted.

    >>> from taper import vision
    >>> vision.set_image_backend("PIL")
    """
    if backend not in ("PIL", "accimage"):
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
    if backend != "PIL":
        raise NotImplementedError("taper opens pictures with Pillow only: use the backend 'PIL'")


def disable_beta_transforms_warning() -> None:
    """Do nothing: `transforms.v2` gives no warning that it is new.

    >>> from taper import vision
    >>> vision.disable_beta_transforms_warning()
    """


__getattr__, __dir__ = _on_first_use(globals(), _MODULES)
