"""`taper.backends.quantized`: the switch keeps its value; there are no quantized tensors."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from taper.absent.switches import SwitchModule

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
engine: str = "x86"


def _known(value: Any) -> None:
    if value == "none":
        raise RuntimeError("quantized engine NoQEngine is not supported")
    if value not in supported_engines:
        raise RuntimeError(f"{value} is not a valid value for quantized engine")


def _never(value: Any) -> NoReturn:
    raise RuntimeError("Assignment not supported")


_CHECKS = {"engine": _known, "supported_engines": _never}
sys.modules[__name__].__class__ = SwitchModule
