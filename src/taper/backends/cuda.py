"""`taper.backends.cuda`: there is none; its switches keep their values.

Those of attention (`sdp`) are for all devices: `flash` and `math` are the two ways that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from typing import Any

from taper import settings
from taper.absent import devices
from taper.absent.answers import own
from taper.absent.switches import of_bool, of_precision
from taper.userwarning import warn_user

_REDUCTIONS = (
    "allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduced_precision_reduction",
    "allow_fp16_accumulation",
)


class cuBLASModule:
    """The switches of matrix products; the precision is that of `set_float32_matmul_precision`."""

    def __init__(self) -> None:
        vars(self).update(dict.fromkeys(_REDUCTIONS, True), allow_fp16_accumulation=False)

    def __getattr__(self, name: str) -> Any:
        precision = settings.get_float32_matmul_precision()
        if name == "allow_tf32":
            return precision != "highest"
        if name == "fp32_precision":
            untouched = "ieee" if settings.is_matmul_precision_set() else "none"
            return untouched if precision == "highest" else "tf32"
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            of_bool("set_allow_tf32_cublas")(value)
            settings.set_float32_matmul_precision("high" if value else "highest")
        elif name == "fp32_precision":
            of_precision("cuda")(value)
            settings.set_float32_matmul_precision("high" if value == "tf32" else "highest")
        elif name in _REDUCTIONS:
            if not isinstance(value, bool | tuple | list):
                raise TypeError(
                    f"{name} expects a bool or a tuple/list of bools, but got {type(value)}"
                )
            vars(self)[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")


matmul = cuBLASModule()

# The ways that `scaled_dot_product_attention` may go.
sdp_allowed = {
    "cudnn": True,
    "flash": True,
    "mem_efficient": True,
    "math": True,
    "overrideable": True,
}


is_built = devices.is_built
is_flash_attention_available = devices.is_available  # a question about CUDA


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


_half_reductions = False


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether attention may sum in half precision, which it never does."""
    return _half_reductions


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow or forbid that attention sums in half precision, which it never does."""
    global _half_reductions
    _half_reductions = enabled


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> AbstractContextManager[dict[str, Any]]:
    """The old form of `nn.attention.sdpa_kernel`."""
    warn_user(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
    )
    return _allowing(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )


@contextmanager
def _allowing(**ways: bool) -> Iterator[dict[str, Any]]:
    before = dict(sdp_allowed)
    sdp_allowed.update(ways)
    try:
        yield {}
    finally:
        sdp_allowed.update(before)


class _LinalgBackend(Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


_LINALG = {"default": "Default", "cusolver": "Cusolver", "magma": "Magma"}
_BLAS = {"default": "Cublas", "cublas": "Cublas", "hipblas": "Cublas"}
_BLAS |= {"cublaslt": "Cublaslt", "hipblaslt": "Cublaslt", "ck": "Ck"}
_LIBRARIES = {"Cusolver": "cuSOLVER", "Magma": "MAGMA", "Cublaslt": "cuBLASLt", "Ck": "CK"}


def _preferred(backend: Any, names: dict[str, str], kind: type[Enum]) -> Enum:
    """The one library there is; who prefers another is told that it is not there."""
    if isinstance(backend, str):
        if backend not in names:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
        backend = kind[names[backend]]
    if backend is not None and not isinstance(backend, kind):
        raise RuntimeError("Unknown input value type.")
    if backend is not None and backend.name in _LIBRARIES:
        library = _LIBRARIES[backend.name]
        raise RuntimeError(
            f"Cannot set preferred backend to {library} if PyTorch has not been compiled with "
            f"{library}."
        )
    return kind[names["default"]]


def preferred_linalg_library(backend: str | _LinalgBackend | None = None) -> Enum:
    """The library for linear algebra on GPUs; without one only the default can be set.

    >>> import taper
    >>> taper.backends.cuda.preferred_linalg_library()
    <_LinalgBackend.Default: 0>
    """
    return _preferred(backend, _LINALG, _LinalgBackend)


def preferred_blas_library(backend: str | _BlasBackend | None = None) -> Enum:
    """The library for products of matrices on GPUs; without one only the default can be set.

    >>> import taper
    >>> taper.backends.cuda.preferred_blas_library()
    <_BlasBackend.Cublas: 1>
    """
    return _preferred(backend, _BLAS, _BlasBackend)


own(globals())
