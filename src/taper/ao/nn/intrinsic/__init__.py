"""`taper.ao.nn.intrinsic`: layers that are joined for quantization; refused when they are used."""

from __future__ import annotations

from taper.ao.nn.intrinsic import qat, quantized  # noqa: F401
from taper.ao.refusals import refusing

__getattr__ = refusing(globals())
