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

from typing import TYPE_CHECKING

from taper.first_use import on_first_use
from taper.func.derivatives import debug_unwrap, grad, grad_and_value, jvp, vjp
from taper.func.jacobians import functionalize, hessian, jacfwd, jacrev, linearize
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

if TYPE_CHECKING:  # a checker that saw `__getattr__` would believe in every name
    from taper.func.modules import functional_call as functional_call
    from taper.func.modules import (
        replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
    )
    from taper.func.modules import stack_module_state as stack_module_state
else:
    # Derivatives and batches need no `nn`, which takes five times as long to load.
    _OF_MODULES = ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state")
    __getattr__, __dir__ = on_first_use(globals(), members=dict.fromkeys(_OF_MODULES, "modules"))
