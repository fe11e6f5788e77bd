"""Random states, which both kinds of checkpoint keep for the recomputation (§P5)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from taper.random import default_generator
from taper.tensor import Tensor
from taper.utils._checkpoint.frames import PUBLIC_MODULE


class RandomState(NamedTuple):
    """A state of the default generator, and the stamp that it had then."""

    state: Tensor
    stamp: tuple[Any, ...]

    @classmethod
    def now(cls) -> RandomState:
        """Return the state of this moment.

        Most checkpoints draw nothing, and then one reading (50 us) serves all of them.
        """
        global _latest
        if _latest is None or _latest.stamp != default_generator.stamp:
            _latest = cls(default_generator.get_state(), default_generator.stamp)
        return _latest


_latest: RandomState | None = None


@contextlib.contextmanager
def drawing_from(start: RandomState | None) -> Iterator[None]:
    """Draw from `start` in the block; afterwards the generator continues as if without it."""
    if start is None:
        yield
        return
    before = RandomState.now()
    if start.stamp != before.stamp:
        default_generator.set_state(start.state)
    try:
        yield
    finally:
        if default_generator.stamp != before.stamp:
            default_generator.set_state(before.state)


class DefaultDeviceType:
    """The type of device whose random state is kept if no argument is on a device.

    >>> from taper.utils.checkpoint import DefaultDeviceType
    >>> DefaultDeviceType.get_device_type()
    'cpu'
    """

    __module__ = PUBLIC_MODULE

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose the type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the chosen type; without an accelerator it is "cpu"."""
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return numbers and random states of the devices that tensors are on; the CPU is none.

    >>> import taper
    >>> taper.utils.checkpoint.get_device_states(taper.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Do nothing: there are no devices whose random states could be set.

    >>> import taper
    >>> taper.utils.checkpoint.set_device_states(*taper.utils.checkpoint.get_device_states())
    """
    if devices:
        raise NotImplementedError(
            "there are no devices beside the CPU, whose random state `set_rng_state` sets"
        )
