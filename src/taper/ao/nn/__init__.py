"""`taper.ao.nn`: layers of quantized networks; refused, except `quantized.FloatFunctional`."""

from __future__ import annotations

from taper.first_use import on_first_use

__getattr__, __dir__ = on_first_use(globals(), ("intrinsic", "qat", "quantizable", "quantized"))
