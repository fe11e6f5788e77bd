"""`taper.ao.nn.quantizable`: names that are refused when they are used."""

from __future__ import annotations

from taper.ao.refusals import refusing

__getattr__ = refusing(globals())
