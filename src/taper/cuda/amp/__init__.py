"""`taper.cuda.amp`: the older names of `taper.amp`, for a machine without CUDA: all is disabled."""

from taper.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from taper.cuda.amp.common import amp_definitely_not_available
from taper.cuda.amp.grad_scaler import GradScaler

__all__ = [
    "amp_definitely_not_available",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "GradScaler",
]
