"""`taper.backends.opt_einsum`: the order of contractions is not optimised by that package."""

enabled: bool = False
strategy: str | None = None


def is_available() -> bool:
    """False: opt_einsum is not used."""
    return False
