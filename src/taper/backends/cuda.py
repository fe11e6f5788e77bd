"""`taper.backends.cuda`: there is none; its switches keep their values.

Those of attention (`sdp`) are for all devices: `flash` and `math` are the two ways that there are.
"""

from collections.abc import Callable
from types import SimpleNamespace

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)

# The ways that `scaled_dot_product_attention` may go.
sdp_allowed = {
    "cudnn": True,
    "flash": True,
    "mem_efficient": True,
    "math": True,
    "overrideable": True,
}


def is_built() -> bool:
    """False: there is no CUDA."""
    return False


def _switch(name: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        sdp_allowed[name] = bool(enabled)

    def is_enabled() -> bool:
        return sdp_allowed[name]

    enable.__doc__ = f"Allow or forbid the way `{name}` through attention."
    is_enabled.__doc__ = f"Whether attention may go the way `{name}`."
    enable.__name__, is_enabled.__name__ = f"enable_{name}_sdp", f"{name}_sdp_enabled"
    enable.__qualname__, is_enabled.__qualname__ = enable.__name__, is_enabled.__name__
    return enable, is_enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


def is_flash_attention_available() -> bool:
    """False: that is a question about CUDA."""
    return False
