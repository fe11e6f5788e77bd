"""Where a quantized network would begin and end; on plain numbers nothing happens there."""

from __future__ import annotations

from typing import Any

from taper import nn


class QuantStub(nn.Module):
    """Mark where numbers would be quantized; returns them unchanged.

    >>> import taper
    >>> from taper.ao.quantization import QuantStub
    >>> QuantStub()(taper.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Mark where numbers would be plain again; returns them unchanged.

    >>> from taper.ao.quantization import DeQuantStub
    >>> DeQuantStub()(3)
    3
    """


class QuantWrapper(nn.Module):
    """A module between the two marks.

    >>> import taper
    >>> from taper.ao.quantization import QuantWrapper
    >>> QuantWrapper(taper.nn.ReLU())(taper.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant = QuantStub(qconfig)
        self.dequant = DeQuantStub(qconfig)
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))
