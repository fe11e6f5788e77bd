"""Whether autocast is on: for each device type, on this thread.

Owns: the settings of a thread and PyTorch's functions that ask and set them.  `casts` says what is
cast; it is loaded when autocast is first switched on, since its lists name half of the library.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable
from typing import Any

from taper import dtypes
from taper.autograd.disturbances import new_lock
from taper.autograd.state import State, local
from taper.device import device
from taper.gpu.state import device_count
from taper.userwarning import warn_user

# The device types that PyTorch has autocast for, with the dtype each starts with.
FIRST_DTYPES = {
    "cpu": dtypes.bfloat16,
    "cuda": dtypes.float16,
    "mtia": dtypes.float16,
    "maia": dtypes.bfloat16,
    "xpu": dtypes.float16,
    "ipu": dtypes.float16,
    "hpu": dtypes.bfloat16,
    "xla": dtypes.bfloat16,
    "privateuseone": dtypes.float16,
    "mps": dtypes.float16,
}


class Settings:
    """What one thread has set.

    Whether autocast is on for the CPU is no field here: if it is, `state.autocast` is the dtype.
    """

    __slots__ = (
        "cache",
        "cache_enabled",
        "device",
        "dtypes",
        "enabled",
        "entered",
        "nesting",
        "suspended",
    )

    def __init__(self) -> None:
        self.enabled: set[str] = set()  # types of devices other than the CPU
        self.dtypes = dict(FIRST_DTYPES)
        self.device = "cpu"  # the type of the tensors that are cast
        self.cache_enabled = True
        self.cache: dict[Any, Any] = {}  # by identity: weights and their copies
        self.nesting = 0  # the number of open blocks
        self.suspended = 0  # the number of running functions for which autocast is off
        self.entered: dict[Any, list[Any]] = {}  # blocks, and what was set before them


def settings() -> Settings:
    """Return the settings of this thread."""
    state = local.state
    if state.autocast_settings is None:
        state.autocast_settings = Settings()
    found: Settings = state.autocast_settings
    return found


# Threads that have autocast on for the CPU; while there is one, functions are on a detour.
_lock = new_lock()
_active: weakref.WeakSet[State] = weakref.WeakSet()
_detoured = False  # whether a function is, or may be, on a detour


def _switch(on: bool, device_type: str) -> None:
    """Switch autocast on the CPU or a GPU; after Ctrl-C it is called again."""
    global _detoured
    state, found = local.state, settings()
    found.device = device_type if on else "cpu"
    state.autocast = found.dtypes[device_type] if on else None
    if found.suspended:
        return  # the block around the running function is still open: keep the detours
    with _lock:
        (_active.add if on else _active.discard)(state)
        wanted = bool(len(_active))
        if wanted is _detoured or (device_type == "cuda" and not wanted):
            return  # a step on a GPU would pay more for 200 detours than for their use outside
        # late: the lists of autocast name half of the library
        casts = importlib.import_module("taper.amp.casts")
        _detoured = True
        casts.start() if wanted else casts.stop()
        _detoured = wanted


# --- device types ----------------------------------------------------------------------------


def _type_of(function: str, device_type: Any) -> str:
    """Return the type that a device string names."""
    if not isinstance(device_type, str):
        kind = "torch.device" if isinstance(device_type, device) else type(device_type).__name__
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not {kind}"
        )
    return device(device_type).type


def _known_type(function: str, device_type: Any) -> str:
    name = _type_of(function, device_type)
    if name not in FIRST_DTYPES:
        raise RuntimeError(
            "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
        )
    return name


def is_autocast_available(device_type: str) -> bool:
    """Return whether there is autocast for a type of device.

    >>> import taper
    >>> taper.amp.is_autocast_available("cpu"), taper.amp.is_autocast_available("meta")
    (True, False)
    """
    return _type_of("_is_autocast_available", device_type) in FIRST_DTYPES


# --- on and off ------------------------------------------------------------------------------


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on in this thread for a type of device.

    >>> import taper
    >>> with taper.autocast("cpu"):
    ...     taper.is_autocast_enabled("cpu"), taper.is_autocast_enabled()
    (True, False)
    """
    name = _known_type("is_autocast_enabled", device_type)
    if name != "cpu":
        return name in settings().enabled
    return local.state.autocast is not None and settings().device == "cpu"


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """Switch autocast on or off for `device_type`; with `enabled` alone, for CUDA.

    >>> import taper
    >>> taper.set_autocast_enabled("cpu", True)
    >>> taper.ones(1, 2).mm(taper.ones(2, 1)).dtype
    torch.bfloat16
    >>> taper.set_autocast_enabled("cpu", False)
    """
    names = ("enabled",) if len(args) + len(kwargs) == 1 else ("device_type", "enabled")
    values = dict(zip(names, args, strict=False), **kwargs)
    if len(args) > 2 or set(values) != set(names):
        given = ", ".join(type(each).__name__ for each in (*args, *kwargs.values()))
        raise TypeError(
            "set_autocast_enabled() received an invalid combination of arguments - got "
            f"({given}), but expected one of:\n * (str device_type, bool enabled)\n"
            " * (bool enabled)\n"
        )
    name = _known_type("set_autocast_enabled", values.get("device_type", "cuda"))
    _check_enabled(values["enabled"], len(names))
    switch(name, values["enabled"])


def _check_enabled(enabled: Any, position: int) -> None:
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {position}) must be bool, "
            f"not {type(enabled).__name__}"
        )


def switch(device_type: str, on: bool) -> None:
    """Do `set_autocast_enabled` for a valid type."""
    if device_type == "cpu" or (device_type == "cuda" and device_count()):
        _switch(on, device_type)
    if device_type != "cpu":
        (settings().enabled.add if on else settings().enabled.discard)(device_type)


# --- dtypes ----------------------------------------------------------------------------------


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """Return the dtype that autocast uses, or would use, for a type of device.

    >>> import taper
    >>> taper.get_autocast_dtype("cpu"), taper.get_autocast_dtype("cuda")
    (torch.bfloat16, torch.float16)
    """
    name = _type_of("get_autocast_dtype", device_type)
    found = settings().dtypes
    if name not in found:
        raise RuntimeError("unsupported scalarType")
    return found[name]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Choose the dtype that autocast uses for a type of device.

    >>> import taper
    >>> taper.set_autocast_dtype("cpu", taper.float16)
    >>> taper.get_autocast_dtype("cpu")
    torch.float16
    >>> taper.set_autocast_dtype("cpu", taper.bfloat16)
    """
    name = _type_of("set_autocast_dtype", device_type)
    _check_dtype(dtype)
    settings().dtypes[name] = dtype
    if name == "cpu" and local.state.autocast is not None:
        local.state.autocast = dtype


def _check_dtype(dtype: Any) -> None:
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(
            "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
            f"{type(dtype).__name__}"
        )


# --- the cache and the depth of blocks -------------------------------------------------------


def is_autocast_cache_enabled() -> bool:
    """Return whether the copies of weights are kept until the outermost block ends.

    >>> import taper
    >>> taper.is_autocast_cache_enabled()
    True
    """
    return settings().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether the copies of weights are kept.

    >>> import taper
    >>> taper.set_autocast_cache_enabled(True)
    """
    settings().cache_enabled = _bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the copies of weights.

    >>> import taper
    >>> taper.clear_autocast_cache()
    """
    settings().cache.clear()


def autocast_increment_nesting() -> int:
    """Count a block that begins; return how many are open.

    >>> import taper
    >>> taper.autocast_increment_nesting(), taper.autocast_decrement_nesting()
    (1, 0)
    """
    settings().nesting += 1
    return settings().nesting


def autocast_decrement_nesting() -> int:
    """Count a block that ends; return how many are still open.

    >>> import taper
    >>> taper.autocast_increment_nesting(), taper.autocast_decrement_nesting()
    (1, 0)
    """
    settings().nesting -= 1
    return settings().nesting


def check_block(enabled: Any, dtype: Any, cache_enabled: Any) -> None:
    """Raise if a block asks for a setting that does not exist."""
    _check_enabled(enabled, 2)
    _check_dtype(dtype)
    _bool(cache_enabled)


def _bool(enabled: Any) -> bool:
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    return enabled


# --- the older functions, one for each device type -------------------------------------------


def _warn(call: str, instead: str) -> None:
    warn_user(
        f"torch.{call} is deprecated. Please use torch.{instead} instead.", DeprecationWarning
    )


_EXAMPLES = {
    "is enabled": "taper.is_autocast_{prefix}_enabled()\n    False",
    "set enabled": "taper.set_autocast_{prefix}_enabled(False)",
    "get dtype": "before = taper.get_autocast_{prefix}_dtype()",
    "set dtype": "taper.set_autocast_{prefix}_dtype(taper.get_autocast_{prefix}_dtype())",
}


def _older_functions(prefix: str, device_type: str) -> dict[str, Any]:
    """Make `is_autocast_cpu_enabled` and the like."""

    def is_enabled() -> bool:
        _warn(f"is_autocast_{prefix}_enabled()", f"is_autocast_enabled('{device_type}')")
        return is_autocast_enabled(device_type)

    def set_enabled(enabled: bool) -> None:
        switch(device_type, _bool(enabled))
        _warn(
            f"set_autocast_{prefix}_enabled(enabled)",
            f"set_autocast_enabled('{device_type}', enabled)",
        )

    def get_dtype() -> dtypes.dtype:
        _warn(f"get_autocast_{prefix}_dtype()", f"get_autocast_dtype('{device_type}')")
        return get_autocast_dtype(device_type)

    def set_dtype(dtype: dtypes.dtype) -> None:
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
        set_autocast_dtype(device_type, dtype)
        _warn(f"set_autocast_{prefix}_dtype(dtype)", f"set_autocast_dtype('{device_type}', dtype)")

    found = {
        f"is_autocast_{prefix}_enabled": is_enabled,
        f"set_autocast_{prefix}_enabled": set_enabled,
        f"get_autocast_{prefix}_dtype": get_dtype,
        f"set_autocast_{prefix}_dtype": set_dtype,
    }
    for name, function in found.items():
        function.__name__ = function.__qualname__ = name
        words = name.split("_")
        function.__doc__ = f"""Deprecated: `{words[0]}_autocast_{words[-1]}('{device_type}')`.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> {_EXAMPLES[f"{words[0]} {words[-1]}"].format(prefix=prefix)}
    """
    return found


# What the loop below makes, for readers and type checkers.
is_autocast_cpu_enabled: Callable[[], bool]
is_autocast_ipu_enabled: Callable[[], bool]
is_autocast_xla_enabled: Callable[[], bool]
set_autocast_cpu_enabled: Callable[[bool], None]
set_autocast_ipu_enabled: Callable[[bool], None]
set_autocast_xla_enabled: Callable[[bool], None]
get_autocast_cpu_dtype: Callable[[], dtypes.dtype]
get_autocast_gpu_dtype: Callable[[], dtypes.dtype]
get_autocast_ipu_dtype: Callable[[], dtypes.dtype]
get_autocast_xla_dtype: Callable[[], dtypes.dtype]
set_autocast_cpu_dtype: Callable[[dtypes.dtype], None]
set_autocast_gpu_dtype: Callable[[dtypes.dtype], None]
set_autocast_ipu_dtype: Callable[[dtypes.dtype], None]
set_autocast_xla_dtype: Callable[[dtypes.dtype], None]

for _prefix, _device_type in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla")):
    _made = _older_functions(_prefix, _device_type)
    # For "gpu" PyTorch has only the functions for the dtype.
    globals().update({k: v for k, v in _made.items() if not k.endswith("gpu_enabled")})
