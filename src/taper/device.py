"""Where and how a tensor is stored: device, layout and memory format objects.

Owns the three kinds of singletons and the default device of each thread.  Any device can be named;
`usable` refuses those on which there are no arrays.  Must not know Tensor.
"""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any, NoReturn

from taper.arrays.native import native

DEVICE_TYPES = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu "
    "mtia privateuseone"
).split()


class device:
    """The place of a tensor's elements: a type such as ``'cpu'`` and perhaps an index.

    As a context manager it is the default device of its body.

    Args:
        type: the name, such as 'cpu' or 'cuda:1', or a device.
        index: which device of the type.

    >>> import taper
    >>> taper.device("cuda:1"), taper.device("cpu").type
    (device(type='cuda', index=1), 'cpu')
    """

    __slots__ = ("_index", "_type")

    _index: int | None
    _type: str

    def __new__(cls, type: Any = None, index: int | None = None, *, device: Any = None) -> device:
        given = type if device is None else device
        if isinstance(given, cls) and index is None:
            return given
        if not isinstance(given, str):
            _refuse(given, index)
        if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
            raise TypeError(
                "device(): argument 'index' (position 2) must be int, "
                f"not {index.__class__.__name__}"
            )
        name, found = _parse(given)
        if index is not None:
            if found is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed "
                    f"explicitly: {given}"
                )
            if index < 0:
                raise RuntimeError("Device index must not be negative")
            found = index
        made = object.__new__(cls)
        made._type, made._index = name, found
        return made

    @property
    def type(self) -> str:
        """The kind of device: ``'cpu'``, ``'cuda'`` and so on."""
        return self._type

    @property
    def index(self) -> int | None:
        """Which device of its type; None for the current one."""
        return self._index

    def __repr__(self) -> str:
        index = "" if self._index is None else f", index={self._index}"
        return f"device(type='{self._type}'{index})"

    def __str__(self) -> str:
        return self._type if self._index is None else f"{self._type}:{self._index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self._type == other._type and self._index == other._index

    def __hash__(self) -> int:
        return hash((self._type, self._index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self._type,) if self._index is None else (self._type, self._index)

    def __enter__(self) -> device:
        _state.active.append(self)
        _count_elsewhere(self, 1)
        return self

    def __exit__(self, *raised: object) -> None:
        _count_elsewhere(_state.active.pop(), -1)


def _refuse(given: Any, index: object) -> NoReturn:
    """Raise for a first argument of `device` that is neither a name nor a device."""
    kind = "torch.device" if isinstance(given, device) else type(given).__name__
    if index is not None and given is not None:
        raise TypeError(f"device(): argument 'type' (position 1) must be str, not {kind}")
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 0:
            raise RuntimeError("Device index must not be negative")
        raise RuntimeError("Cannot access accelerator device when none is available.")
    raise TypeError(
        f"device() received an invalid combination of arguments - got ({kind}), but expected "
        "one of:\n * (torch.device device)\n      didn't match because some of the arguments have "
        f"invalid types: (!{kind}!)\n * (str type, int index = -1)\n"
    )


def _parse(text: str) -> tuple[str, int | None]:
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    name, index = match.groups()
    if name not in DEVICE_TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: "
            f"{name}"
        )
    if name == "mkldnn":
        warnings.warn(
            "'mkldnn' is no longer used as device type. So torch.device('mkldnn') will be "
            "deprecated and removed in the future. Please use other valid device types instead.",
            UserWarning,
            stacklevel=3,
        )
    return name, None if index is None else int(index)


class _ThreadState(threading.local):
    """The devices chosen on the thread: the default and, above it, the open ``with`` blocks."""

    def __init__(self) -> None:
        self.default: device | None = None
        self.active: list[device] = []


CPU = device("cpu")
META = device("meta")

PROVIDED: set[str] = set()
"""The types of devices other than the CPU that tensors can be on (`arrays/foreign/`)."""

ASKED: dict[str, Any] = {}
"""By type: what returns the device that a program asks for, or raises as PyTorch does."""

_state = _ThreadState()


# The devices other than the CPU that threads and blocks have chosen: while there are none, nobody
# asks the thread (0.1 us), and the native module makes tensors, which it does not while there are.
_elsewhere: list[device] = []


def _count_elsewhere(chosen: device | None, change: int) -> None:
    """Take note that a device has been chosen (1), or is no longer (-1)."""
    if chosen is None or chosen._type == "cpu":
        return
    if change > 0:
        _elsewhere.append(chosen)
    else:
        _elsewhere.remove(chosen)
    if native is not None:
        native.count_elsewhere(change)


def get_default_device() -> device:
    """Return the device that tensors of this thread are made on.

    >>> import taper
    >>> taper.get_default_device()
    device(type='cpu')
    """
    return _state.active[-1] if _state.active else _state.default or CPU


def set_default_device(device: Any) -> None:
    """Make tensors of this thread on `device`; None goes back to the CPU.

    >>> import taper
    >>> taper.set_default_device("cpu")
    """
    wanted = None if device is None else _as_device(device)
    _count_elsewhere(_state.default, -1)
    _count_elsewhere(wanted, 1)
    _state.default = wanted


_as_device = device  # the function above has an argument of this name


def usable(given: Any, function: str) -> device:
    """Return the device that the argument `device` of `function` asks for, if there is one.

    `given` is a device, its name, or None for the default device.
    """
    if given is None:
        if not _elsewhere:
            return CPU
        wanted = get_default_device()
    elif isinstance(given, (device, str)) or type(given) is int:
        wanted = device(given)
    else:
        raise TypeError(
            f"{function}(): argument 'device' must be torch.device, not {type(given).__name__}"
        )
    if wanted._type == "cpu":
        return CPU
    if wanted._type in ASKED:
        found: device = ASKED[wanted._type](wanted)
        return found
    if wanted._type in PROVIDED:
        return META if wanted._type == "meta" else wanted
    if wanted._type in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {wanted._type.upper()} enabled")
    raise RuntimeError(f"PyTorch is not linked with support for {wanted._type} devices")


class _Named:
    """A singleton that consists of its name."""

    __slots__ = ("_name",)

    _name: str

    def __new__(cls) -> _Named:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        # A string tells pickle and copy that this is a global of the module, found by name.
        return self._name


class layout(_Named):
    """How elements are laid out in memory; every tensor is `strided`.

    >>> import taper
    >>> taper.strided
    torch.strided
    """

    __slots__ = ()


class memory_format(_Named):
    """In which order the dimensions lie in memory.

    >>> import taper
    >>> taper.channels_last
    torch.channels_last
    """

    __slots__ = ()


def _layout(name: str) -> layout:
    made: layout = object.__new__(layout)
    made._name = name
    return made


def _memory_format(name: str) -> memory_format:
    made: memory_format = object.__new__(memory_format)
    made._name = name
    return made


strided = _layout("strided")
sparse_coo = _layout("sparse_coo")
sparse_csr = _layout("sparse_csr")
sparse_csc = _layout("sparse_csc")
sparse_bsr = _layout("sparse_bsr")
sparse_bsc = _layout("sparse_bsc")
jagged = _layout("jagged")

contiguous_format = legacy_contiguous_format = _memory_format("contiguous_format")
preserve_format = _memory_format("preserve_format")
channels_last = _memory_format("channels_last")
channels_last_3d = _memory_format("channels_last_3d")
