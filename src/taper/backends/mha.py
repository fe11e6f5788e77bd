"""`taper.backends.mha`: the switch of PyTorch's way through attention for inference.

Of that way taper has what can be seen of it: places of padding come out of an encoder as zeros.
"""

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether an encoder in eval mode may leave out padding.

    >>> import taper
    >>> taper.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid that an encoder in eval mode leaves out padding."""
    global _enabled
    _enabled = value
