"""taper: PyTorch's autograd and training loop as an independent library."""

from taper import ops
from taper.autograd import tensor_api
from taper.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from taper.device import *
from taper.dtypes import DTYPES, finfo, get_default_dtype, iinfo, set_default_dtype
from taper.opdef import composites, registry
from taper.size import Size
from taper.tensor import Tensor

globals().update(DTYPES)
globals().update({name: entry.function for name, entry in registry.items() if entry.public})
globals().update(composites)
