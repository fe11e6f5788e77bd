"""The error of checkpoints: what failed, on which ranks."""

from __future__ import annotations

from typing import Any

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Some processes failed to save or to load.

    Args:
        msg: what was done.
        failures: errors by rank, as (error, traceback as text).
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """The errors by rank."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, trace) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n{trace}"
            text += f"{type(error).__name__}: {error}\n"
        return text
