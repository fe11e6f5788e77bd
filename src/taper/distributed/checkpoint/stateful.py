"""Objects that save and load themselves as dictionaries."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """What has `state_dict` and `load_state_dict`."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state over."""


StatefulT = TypeVar("StatefulT", bound=Stateful)
