"""`taper.mps`: there are no tensors on Apple's GPUs."""


def is_available() -> bool:
    """False: there is no accelerator."""
    return False


def device_count() -> int:
    """The number of devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to do: there is no device generator."""


def empty_cache() -> None:
    """Nothing to do: no device memory is cached."""
