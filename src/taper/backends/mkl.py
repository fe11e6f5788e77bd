"""`taper.backends.mkl`: matrix products are NumPy's, usually OpenBLAS."""


def is_available() -> bool:
    """False: MKL is not used."""
    return False
