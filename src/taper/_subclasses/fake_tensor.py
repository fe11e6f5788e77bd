"""Tensors that compilers make without memory: there are none here."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class
from taper.tensor import Tensor

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]

_WHY = "{}: programs run as they are written; taper.capture records a step"
FakeTensor = refused_class("FakeTensor", __name__, _WHY.format("FakeTensor"), Tensor)
FakeTensorMode = refused_class("FakeTensorMode", __name__, _WHY.format("FakeTensorMode"))


def is_fake(x: Any) -> bool:
    """False: every tensor has its memory."""
    return False
