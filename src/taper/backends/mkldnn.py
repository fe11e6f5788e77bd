"""`taper.backends.mkldnn`: there is none; its switch keeps its value."""

enabled: bool = True
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    """False: oneDNN is not used."""
    return False
