"""What `taper` has at its top besides operators, modes and packages; loaded on first use.

Owns: answers about the build (`has_lapack`), the modules of devices, and the switch that keeps
classes from handling functions themselves.
"""

from __future__ import annotations

import importlib
from typing import Any

from taper.autograd import anomaly_mode, overrides
from taper.backends import cuda, cudnn, mkl, mkldnn, mps, openmp
from taper.device import device as Device
from taper.userwarning import warn_user

# NumPy brings these, though not always from the libraries that PyTorch means.
has_lapack = True
has_mkl = mkl.is_available()
has_openmp = openmp.is_available()
has_spectral = True

set_anomaly_enabled = anomaly_mode.switch

# Old questions: whom to ask today, and how to write that.
_DEPRECATED = {
    "has_cuda": (cuda.is_built, "cuda.is_built()"),
    "has_cudnn": (cudnn.is_available, "cudnn.is_available()"),
    "has_mps": (mps.is_built, "mps.is_built()"),
    "has_mkldnn": (mkldnn.is_available, "mkldnn.is_available()"),
}

_MODULES = ("cpu", "cuda", "mps", "xpu")


def __getattr__(name: str) -> bool:
    if name not in _DEPRECATED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    question, text = _DEPRECATED[name]
    warn_user(f"'{name}' is deprecated, please use 'torch.backends.{text}'")
    return question()


def _assert(condition: Any, message: str) -> None:
    """Do Python's `assert` as a function, for programs that are captured.

    >>> import taper
    >>> taper._assert(2 > 1, "numbers have an order")
    """
    if not condition:
        raise AssertionError(message)


def get_device_module(device: Any = None) -> Any:
    """Return the module of a device, such as `taper.cpu`.

    >>> import taper
    >>> taper.get_device_module("cpu") is taper.cpu
    True
    """
    if isinstance(device, str):
        device = Device(device)
    if device is None:
        name = "cpu"
    elif isinstance(device, Device):
        name = device.type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    if name not in _MODULES:
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        )
    # late: the module of a device that a program asks for
    return importlib.import_module(f"taper.{name}")


class DisableTorchFunctionSubclass:
    """Ask no class for its `__torch_function__` in the block.

    >>> import taper
    >>> with taper.DisableTorchFunctionSubclass():
    ...     taper.ones(2).sum()
    tensor(2.)
    """

    def __init__(self) -> None:
        self._blocks: list[Any] = []

    def __enter__(self) -> None:
        block = overrides.disabled()
        block.__enter__()
        self._blocks.append(block)

    def __exit__(self, *exception: Any) -> None:
        self._blocks.pop().__exit__(*exception)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Do the same; modes for `__torch_function__` do not exist.

    >>> import taper
    >>> with taper.DisableTorchFunction():
    ...     taper.ones(2).sum()
    tensor(2.)
    """
