"""All mappings in one table, by the name of the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.onnx.mapping import (
    activations,
    arithmetic,
    indexing,
    layers,
    matrices,
    pooling,
    recurrent,
    reductions,
    shapes,
)

MAPPING: dict[str, Callable[..., Any]] = {
    **activations.MAPPING,
    **arithmetic.MAPPING,
    **indexing.MAPPING,
    **layers.MAPPING,
    **matrices.MAPPING,
    **pooling.MAPPING,
    **recurrent.MAPPING,
    **reductions.MAPPING,
    **shapes.MAPPING,
}
