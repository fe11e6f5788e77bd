"""How a layer would be quantized: two makers of observers."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from taper.ao.refusals import refusing

__getattr__ = refusing(globals())


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What makes the observers of activations and of weights.

    >>> from taper.ao.quantization import QConfig
    >>> QConfig(activation=int, weight=float).weight
    <class 'float'>
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        return super().__new__(cls, activation, weight)
