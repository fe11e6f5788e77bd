"""Names of `taper.func`."""

from taper.func import functionalize, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

__all__ = ["functionalize", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"]
