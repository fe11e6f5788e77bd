"""`taper.backends.cuda`: there is none; its switches keep their values."""

from types import SimpleNamespace

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built() -> bool:
    """False: there is no CUDA."""
    return False
