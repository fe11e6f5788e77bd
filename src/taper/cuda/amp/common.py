"""The question that `taper.cuda.amp` asks first."""


def amp_definitely_not_available() -> bool:
    """Return True: there is no CUDA.

    >>> import taper
    >>> taper.cuda.amp.amp_definitely_not_available()
    True
    """
    return True
