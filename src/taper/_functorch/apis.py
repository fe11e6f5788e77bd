"""Names of `taper.func`."""

from taper.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
