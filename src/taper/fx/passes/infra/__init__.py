"""How passes are written and put in a row."""

from __future__ import annotations

__all__: list[str] = []
