"""`taper.autograd`: recording and differentiating."""

from taper.autograd import forward_ad, graph, tensor_api
from taper.autograd.backward import GradientEdge, backward, grad
from taper.autograd.function import Function
from taper.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from taper.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from taper.autograd.variable import Variable

__all__ = [
    "Function",
    "GradcheckError",
    "GradientEdge",
    "Variable",
    "backward",
    "enable_grad",
    "forward_ad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "tensor_api",
]
