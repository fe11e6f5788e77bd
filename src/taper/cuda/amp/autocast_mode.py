"""The older names of `autocast` and of the decorators of custom functions, for CUDA."""

from __future__ import annotations

from typing import Any

from taper import amp, dtypes
from taper.amp.older_names import warn_older


class autocast(amp.autocast):
    """`taper.autocast("cuda")`; without CUDA it does nothing."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        warn_older("cuda", "autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtypes.dtype | None = None) -> Any:
    """`taper.amp.custom_fwd(device_type="cuda")`."""
    warn_older("cuda", "custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`taper.amp.custom_bwd(device_type="cuda")`."""
    warn_older("cuda", "custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
