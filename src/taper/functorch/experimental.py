"""`functorch.experimental`: names that were new once."""

from taper.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from taper.functorch import chunk_vmap

__all__ = [
    "chunk_vmap",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
]
