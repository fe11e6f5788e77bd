"""The older name of `autocast`, for the CPU."""

from __future__ import annotations

from taper import amp, dtypes
from taper.userwarning import warn_user


class autocast(amp.autocast):
    """`taper.autocast("cpu")`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warn_user(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)
