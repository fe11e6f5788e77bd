"""`taper.backends.mps`: there is none."""


def is_available() -> bool:
    """False: there is no accelerator."""
    return False


def is_built() -> bool:
    """False: there is no accelerator."""
    return False
