"""`torch._tensor`: the class of tensors, under PyTorch's name of the module."""

from taper.pickling import _rebuild_from_type_v2
from taper.tensor import Tensor

__all__ = ["Tensor", "_rebuild_from_type_v2"]
