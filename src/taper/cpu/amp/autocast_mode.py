"""The older name of `autocast`, for the CPU."""

from __future__ import annotations

from taper import amp, dtypes
from taper.amp.older_names import warn_older


class autocast(amp.autocast):
    """`taper.autocast("cpu")`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warn_older("cpu", "autocast", "autocast('cpu', args...)")
        super().__init__("cpu", dtype, enabled, cache_enabled)
