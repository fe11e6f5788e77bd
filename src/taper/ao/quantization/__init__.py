"""`taper.ao.quantization`: the marks of quantized networks; what would quantize is refused."""

from __future__ import annotations

from typing import Any

from taper.ao.quantization.qconfig import QConfig
from taper.ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper
from taper.ao.refusals import refusing
from taper.first_use import on_first_use

__all__ = ["DeQuantStub", "QConfig", "QuantStub", "QuantWrapper"]

_MODULES = ("fake_quantize", "observer", "qconfig_mapping", "quantize_fx")
_load, __dir__ = on_first_use(globals(), _MODULES)
_refused = refusing(globals())


def __getattr__(name: str) -> Any:
    return _load(name) if name in _MODULES else _refused(name)
