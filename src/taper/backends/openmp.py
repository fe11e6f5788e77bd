"""`taper.backends.openmp`: kernels are NumPy's, which uses no OpenMP."""


def is_available() -> bool:
    """Return False: OpenMP is not used."""
    return False
