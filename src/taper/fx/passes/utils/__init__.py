"""Tools of passes: finding one graph in another."""

from __future__ import annotations

__all__: list[str] = []
