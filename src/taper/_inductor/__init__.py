"""`taper._inductor`: PyTorch's code generator, which is not there; only its switches are."""

from taper._inductor import config

__all__ = ["config"]
