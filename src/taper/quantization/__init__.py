"""`taper.quantization`: the older name of `taper.ao.quantization`."""

from __future__ import annotations

from taper.ao.quantization import DeQuantStub, QConfig, QuantStub, QuantWrapper
from taper.ao.refusals import refusing

__all__ = ["DeQuantStub", "QConfig", "QuantStub", "QuantWrapper"]

__getattr__ = refusing(globals())
