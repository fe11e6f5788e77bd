"""Names of `taper.func`."""

from taper.func import vmap

__all__ = ["vmap"]
