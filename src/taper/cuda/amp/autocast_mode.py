"""The older names of `autocast` and of the decorators of custom functions, for CUDA."""

from __future__ import annotations

from typing import Any

from taper import amp, dtypes
from taper.userwarning import warn_user


def _warn(name: str, instead: str) -> None:
    warn_user(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` "
        "instead.",
        FutureWarning,
    )


class autocast(amp.autocast):
    """`taper.autocast("cuda")`; without CUDA it does nothing."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        _warn("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtypes.dtype | None = None) -> Any:
    """Return `taper.amp.custom_fwd(device_type="cuda")`."""
    _warn("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Return `taper.amp.custom_bwd(device_type="cuda")`."""
    _warn("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
