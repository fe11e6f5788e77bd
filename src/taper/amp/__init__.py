"""`taper.amp`: automatic mixed precision, as PyTorch's on the CPU.

`autocast` lets operators choose their dtypes; `GradScaler` keeps small float16 gradients from
vanishing.
"""

from taper.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from taper.amp.grad_scaler import GradScaler
from taper.amp.state import is_autocast_available

__all__ = [
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
    "GradScaler",
]
