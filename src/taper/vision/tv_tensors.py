"""Tensors that know they are pictures, boxes or masks: not provided."""

from __future__ import annotations

from typing import Any

_NAMES = frozenset(
    {
        "BoundingBoxes",
        "BoundingBoxFormat",
        "Image",
        "KeyPoints",
        "Mask",
        "TVTensor",
        "Video",
        "wrap",
    }
    | {"set_return_type"}
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        raise NotImplementedError(
            "tv_tensors are not provided: transforms work on plain tensors and on pictures"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
