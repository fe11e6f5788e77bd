"""`torch._vmap_internals`: `vmap`, under the name of its older module."""

from taper.func import vmap

__all__ = ["_vmap", "vmap"]

_vmap = vmap
