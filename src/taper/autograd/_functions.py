"""`torch.autograd._functions`: the custom function behind `Tensor.resize`.  Owns nothing."""

from __future__ import annotations

from taper.autograd.resizing import Resize

__all__ = ["Resize"]
