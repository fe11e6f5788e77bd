"""`taper.ao`: names of quantized networks, which libraries import.  Tensors hold plain numbers.

What computes with plain numbers is real (`QuantStub`, `FloatFunctional`, `QConfig`); everything
else can be imported, asked for and inherited from, and is refused when it is used.
"""

from __future__ import annotations

from taper.first_use import on_first_use

__getattr__, __dir__ = on_first_use(globals(), ("nn", "pruning", "quantization"))
