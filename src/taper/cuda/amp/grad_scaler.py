"""The older name of `GradScaler`, for CUDA."""

from __future__ import annotations

from taper import amp
from taper.userwarning import warn_user


class GradScaler(amp.GradScaler):
    """`taper.amp.GradScaler("cuda")`; without CUDA it is disabled."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_user(
            "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use "
            "`torch.amp.GradScaler('cuda', args...)` instead.",
            FutureWarning,
        )
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
