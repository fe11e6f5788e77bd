"""What `taper.cuda.amp` asks first."""


def amp_definitely_not_available() -> bool:
    """True: there is no CUDA.

    >>> import taper
    >>> taper.cuda.amp.amp_definitely_not_available()
    True
    """
    return True
