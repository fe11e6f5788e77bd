"""`taper.cuda`: what programs ask before they use a GPU, answered for a machine without one.

Questions give the answers of PyTorch without CUDA; what would need a device raises its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from taper import dtypes
from taper.tensor import Tensor

default_generators: tuple[Any, ...] = ()
has_half = False


def is_available() -> bool:
    """False: there is no CUDA.

    >>> import taper
    >>> taper.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device that could."""
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: none."""
    return []


# --- what does nothing without a device ------------------------------------------------------


def empty_cache() -> None:
    """Nothing to do: no device memory is cached."""


def manual_seed(seed: int) -> None:
    """Nothing to do: there is no device generator."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Nothing to do: there are no device generators."""
    int(seed)


def seed() -> None:
    """Nothing to do: there is no device generator."""


def seed_all() -> None:
    """Nothing to do: there are no device generators."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in use: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of device memory in use: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory kept: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of device memory kept: 0."""
    return 0


def get_rng_state_all() -> list[Tensor]:
    """The states of all device generators: none."""
    return []


def set_rng_state_all(new_states: Sequence[Tensor]) -> None:
    """Set the states of all device generators, of which there are none."""
    if len(new_states):
        init()


# --- what needs a device ---------------------------------------------------------------------


def init() -> NoReturn:
    """Refused: there is no CUDA."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def _needs_device(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        init()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no CUDA."
    return refuse


can_device_access_peer = _needs_device("can_device_access_peer")
current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
default_stream = _needs_device("default_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
initial_seed = _needs_device("initial_seed")
ipc_collect = _needs_device("ipc_collect")
mem_get_info = _needs_device("mem_get_info")
memory_summary = _needs_device("memory_summary")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device = _needs_device("set_device")
set_rng_state = _needs_device("set_rng_state")
synchronize = _needs_device("synchronize")


class device:
    """A block on one of the devices, of which there are none."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> NoReturn:
        init()

    def __exit__(self, *raised: object) -> None:
        return None


class Stream:
    """Refused: there is no CUDA."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """Refused: there is no CUDA."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")


class _NoTensors(type):
    """The class of `cuda.FloatTensor` and the like, of which there are no instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return False


def _no_tensors(which: dtypes.dtype) -> Any:
    text = f"Tensors of {which!r} on a GPU, of which there are none."
    members = {"__module__": __name__, "__doc__": text}
    return _NoTensors(f"{which.scalar_type}Tensor", (), members)


FloatTensor = _no_tensors(dtypes.float32)
DoubleTensor = _no_tensors(dtypes.float64)
HalfTensor = _no_tensors(dtypes.float16)
BFloat16Tensor = _no_tensors(dtypes.bfloat16)
LongTensor = _no_tensors(dtypes.int64)
IntTensor = _no_tensors(dtypes.int32)
ShortTensor = _no_tensors(dtypes.int16)
CharTensor = _no_tensors(dtypes.int8)
ByteTensor = _no_tensors(dtypes.uint8)
BoolTensor = _no_tensors(dtypes.bool_)
