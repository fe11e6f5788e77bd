"""`taper.cpu.amp`: the older names of `taper.amp`, for the CPU."""

from taper.cpu.amp.autocast_mode import autocast
from taper.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
