"""What `taper.cuda.amp` and `taper.cpu.amp` share: older names that warn and pass on."""

from __future__ import annotations

from typing import ClassVar

from taper.amp.grad_scaler import GradScaler
from taper.userwarning import warn_user


def warn_older(device: str, name: str, instead: str) -> None:
    """Say what is to be written today instead of `torch.<device>.amp.<name>(args...)`."""
    warn_user(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` "
        "instead.",
        FutureWarning,
    )


class OlderGradScaler(GradScaler):
    """`taper.amp.GradScaler` of the device that a class below names."""

    _of: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        device = self._of
        warn_older(device, "GradScaler", f"GradScaler('{device}', args...)")
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
