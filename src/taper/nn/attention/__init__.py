"""`nn.attention`: which way `scaled_dot_product_attention` may go, and biases for it.

There are two ways on the CPU, in blocks (FLASH_ATTENTION) and by other operators (MATH); the names
of the others can be allowed and forbidden, too. The switches belong to `taper.backends.cuda`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from taper.backends import cuda
from taper.first_use import on_first_use
from taper.nn.attention import bias

__all__ = [
    "WARN_FOR_UNFUSED_KERNELS",
    "SDPBackend",
    "activate_flash_attention_impl",
    "bias",
    "current_flash_attention_impl",
    "flex_attention",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """The ways that PyTorch has for attention.

    >>> from taper.nn.attention import SDPBackend
    >>> SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return int(self.value)


_SWITCHES = {
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math",
    SDPBackend.OVERRIDEABLE: "overrideable",
}


def _cur_sdpa_kernel_backends() -> list[SDPBackend]:
    """Return the ways that are allowed now."""
    return [each for each, name in _SWITCHES.items() if cuda.sdp_allowed[name]]


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, Any]]:
    """Allow only some ways through attention inside the block.

    Args:
        backends: the way, or a list of them.
        set_priority: accepted; the order of ways on the CPU is fixed.

    Example:
        >>> import taper
        >>> from taper.nn.attention import SDPBackend, sdpa_kernel
        >>> x = taper.ones(1, 1, 2, 4, requires_grad=True)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     taper.nn.functional.scaled_dot_product_attention(x, x, x).grad_fn.name()
        'UnsafeViewBackward0'
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = [backends] if isinstance(backends, SDPBackend) else backends
    before = dict(cuda.sdp_allowed)
    try:
        cuda.sdp_allowed.update({name: way in wanted for way, name in _SWITCHES.items()})
        yield {}
    finally:
        cuda.sdp_allowed.update(before)


# Implementations of FLASH_ATTENTION that others bring along.

_implementations: dict[str, Callable[..., Any]] = {}
_active: list[tuple[str, Any]] = []  # at most one: its name and the handle that removes it


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Give a name to a function that installs another implementation.

    Args:
        impl: the name.
        register_fn: the function; returns a handle, whose `remove` takes the implementation out
            again.

    Example:
        >>> from taper.nn import attention
        >>> class Handle:
        ...     def remove(self):
        ...         print("removed")
        >>> attention.register_flash_attention_impl("own", register_fn=Handle)
        >>> attention.activate_flash_attention_impl("own")
        >>> attention.current_flash_attention_impl()
        'own'
        >>> attention.restore_flash_attention_impl()
        removed
    """
    _implementations[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """Return the names that were registered.

    Example:
        >>> from taper.nn import attention
        >>> attention.register_flash_attention_impl("own", register_fn=lambda: None)
        >>> "own" in attention.list_flash_attention_impls()
        True
    """
    return sorted(_implementations)


def current_flash_attention_impl() -> str | None:
    """Return the name of the implementation that is active, None for taper's own.

    Example:
        >>> import taper
        >>> taper.nn.attention.current_flash_attention_impl() is None
        True
    """
    return _active[0][0] if _active else None


def activate_flash_attention_impl(impl: str) -> None:
    """Install the implementation that was registered under a name, instead of the one before.

    Args:
        impl: the name.

    Example:
        >>> from taper.nn import attention
        >>> attention.activate_flash_attention_impl("not registered")
        Traceback (most recent call last):
            ...
        ValueError: Unknown flash attention impl 'not registered'. Available implementations: ...
    """
    restore_flash_attention_impl()
    if impl not in _implementations:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: "
            f"{list_flash_attention_impls()}"
        )
    handle = _implementations[impl]()
    if handle is not None:
        _active.append((impl, handle))


def restore_flash_attention_impl() -> None:
    """Return to taper's own implementation.

    Example:
        >>> import taper
        >>> taper.nn.attention.restore_flash_attention_impl()
    """
    if _active:
        _active[0][1].remove()
        _active.clear()


__getattr__, __dir__ = on_first_use(globals(), ("flex_attention",))
