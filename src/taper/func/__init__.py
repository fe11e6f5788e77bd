"""`taper.func`: transforms of functions, as in `torch.func`.

A transform takes a function and returns another: its gradient, its Jacobian, the same function for
a whole batch.  Transforms compose to any depth.

>>> import taper
>>> from taper.func import grad, vmap
>>> def loss(weight, x, y):
...     return ((weight @ x - y) ** 2).sum()
>>> xs, ys = taper.tensor([[1.0, 2.0], [3.0, 4.0]]), taper.tensor([1.0, 1.0])
>>> vmap(grad(loss), in_dims=(None, 0, 0))(taper.zeros(2), xs, ys)
tensor([[-2., -4.],
        [-6., -8.]])
"""

from taper.func.derivatives import debug_unwrap, grad, grad_and_value, jvp, vjp
from taper.func.jacobians import functionalize, hessian, jacfwd, jacrev, linearize
from taper.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from taper.func.rearrange import rearrange
from taper.func.vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
