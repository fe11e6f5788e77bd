"""`taper.backends.mha`: the switch of PyTorch's fast path through attention for inference.

taper has the visible part of that path: an encoder returns zeros at places of padding.
"""

_enabled = True


def get_fastpath_enabled() -> bool:
    """Return whether an encoder in eval mode may leave out padding.

    >>> import taper
    >>> taper.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid that an encoder in eval mode leaves out padding."""
    global _enabled
    _enabled = value
