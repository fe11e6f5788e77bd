"""Tools for parameters and gradients.

What needs linear algebra or is rarely used (`parametrizations`, `prune`) loads on first use.
"""

from typing import TYPE_CHECKING

from taper.first_use import on_first_use
from taper.nn.utils import parametrize, rnn, stateless
from taper.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from taper.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from taper.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from taper.nn.utils.init import skip_init
from taper.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from taper.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from taper.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

if TYPE_CHECKING:  # a checker that saw `__getattr__` would believe in every name
    from taper.nn.utils import parametrizations as parametrizations
    from taper.nn.utils import prune as prune
else:
    __getattr__, __dir__ = on_first_use(globals(), ("parametrizations", "prune"))
