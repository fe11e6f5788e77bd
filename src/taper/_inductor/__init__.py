"""`taper._inductor`: PyTorch's code generator, which is missing; it has only the switches."""

from taper._inductor import config

__all__ = ["config"]
