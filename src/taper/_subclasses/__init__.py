"""`torch._subclasses`: tensors without memory, which libraries ask for; nothing is one."""

from taper._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
