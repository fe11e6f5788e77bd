"""What `taper` has at its top besides operators, modes and packages; loaded on first use.

Owns: answers about the build (`has_lapack`), the modules of devices, and the switch that keeps
classes from handling functions themselves.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from taper import dtypes
from taper.absent.answers import refused_class
from taper.autograd import anomaly_mode, overrides
from taper.autograd.overrides import has_grown as _has_grown
from taper.backends import cuda, cudnn, mkl, mkldnn, mps, openmp
from taper.device import device as Device
from taper.ops.activation.softmax import softmax_backward
from taper.ops.creation.data import tensor
from taper.ops.reduction.segments import segment_reduce as _segment_reduce  # noqa: F401
from taper.tensor import Tensor
from taper.userwarning import warn_user

# NumPy brings these, though not always from the libraries that PyTorch means.
has_lapack = True
has_mkl = mkl.is_available()
has_openmp = openmp.is_available()
has_spectral = True

set_anomaly_enabled = anomaly_mode.switch

# Parts of other devices and of programs without Python, which programs only ask for.
_NOT_THERE = {
    "Stream": "the CPU has no streams",
    "Event": "the CPU has no streams",
    "ScriptObject": "programs are Python",
    "TensorType": "programs are Python",
}
for _name, _why in _NOT_THERE.items():
    globals()[_name] = refused_class(_name, "torch", f"torch.{_name}: {_why}")

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


def _assert_async(condition: Tensor, message: str | None = None) -> None:
    """Raise unless the one element of a tensor is not zero; on the CPU that is done at once.

    >>> import taper
    >>> taper._assert_async(taper.tensor(1))
    """
    if not condition:
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(self: Tensor) -> Tensor:
    """Return the sizes of a tensor as a tensor.

    >>> import taper
    >>> taper._shape_as_tensor(taper.ones(2, 3))
    tensor([2, 3])
    """
    return tensor(self.shape, dtype=dtypes.int64)


def _assert(condition: Any, message: str) -> None:
    """Do Python's `assert` as a function, for programs that are captured.

    >>> import taper
    >>> taper._assert(2 > 1, "numbers have an order")
    """
    if not condition:
        raise AssertionError(message)


# --- conditions ------------------------------------------------------------------------------


def _check_with(error_type: Any, cond: Any, message: Any = None) -> None:
    """Raise an error of a type if a condition is False; the message is a function.

    >>> import taper
    >>> taper._check_with(ValueError, 2 > 1, lambda: "numbers have an order")
    """
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(
            "Expected cond to be True, but got False. (Could this error message be improved? If "
            "so, please report an enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


_check = functools.partial(_check_with, RuntimeError)
_check_index = functools.partial(_check_with, IndexError)
_check_value = functools.partial(_check_with, ValueError)
_check_type = functools.partial(_check_with, TypeError)
_check_not_implemented = functools.partial(_check_with, NotImplementedError)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise a RuntimeError if a number is no size."""
    _check(i >= 0, message)
    _check(max is None or i <= max, message)


def _check_tensor_all_with(error_type: Any, cond: Any, message: Any = None) -> None:
    """Raise an error of a type if not all elements of a tensor are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond._array.all()), message)


_check_tensor_all = functools.partial(_check_tensor_all_with, RuntimeError)


# --- devices ---------------------------------------------------------------------------------


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

    _block: Any = staticmethod(overrides.disabled)

    def __init__(self) -> None:
        self._blocks: list[Any] = []

    def __enter__(self) -> None:
        block = self._block()
        block.__enter__()
        self._blocks.append(block)

    def __exit__(self, *exception: Any) -> None:
        self._blocks.pop().__exit__(*exception)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Ask neither classes nor modes in the block.

    >>> import taper
    >>> with taper.DisableTorchFunction():
    ...     taper.ones(2).sum()
    tensor(2.)
    """

    _block = staticmethod(overrides.all_disabled)


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Return where the entries of each row begin, and where the last end, from sorted rows.

    >>> import taper
    >>> taper._convert_indices_from_coo_to_csr(taper.tensor([0, 0, 2, 3]), 5)
    tensor([0, 2, 2, 3, 4, 4])
    """
    starts = np.searchsorted(input.numpy(), np.arange(size + 1))
    return tensor(starts, dtype=dtypes.int32 if out_int32 else dtypes.int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Return rows and columns, or columns and rows, of entries whose rows are compressed.

    >>> import taper
    >>> taper._convert_indices_from_csr_to_coo(taper.tensor([0, 2, 2, 3]), taper.tensor([1, 0, 2]))
    tensor([[0, 0, 2],
            [1, 0, 2]])
    """
    counts = np.diff(crow_indices.numpy())
    places = [np.repeat(np.arange(len(counts)), counts), col_indices.numpy()]
    made = np.stack(places[::-1] if transpose else places)
    return tensor(made, dtype=dtypes.int32 if out_int32 else dtypes.int64)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """Return the gradient of softmax, from its result.

    >>> import taper
    >>> half = taper.tensor([0.5, 0.5])
    >>> taper._softmax_backward_data(taper.tensor([1.0, 0.0]), half, -1, taper.float32)
    tensor([ 0.2500, -0.2500])
    """
    result: Tensor = softmax_backward(grad_output, output, dim)
    return result.to(input_dtype)


def _cast_Long(input: Tensor, non_blocking: bool = False) -> Tensor:
    """Convert a tensor to int64: an old name of `Tensor.long`.

    >>> import taper
    >>> taper._cast_Long(taper.tensor([1.7]))
    tensor([1])
    """
    return input.to(dtypes.int64)


_has_grown(globals())
