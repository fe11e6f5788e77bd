"""`taper.cuda.streams`: there are none."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import dummy


class Stream:
    """Refused: there is no CUDA."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """Refused: there is no CUDA."""


class Event:
    """Refused: there is no CUDA."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        dummy("Event")
