"""`taper.backends.cpu`: which instructions the kernels use."""


def get_cpu_capability() -> str:
    """Return 'DEFAULT': kernels are NumPy's, which chooses instructions by itself."""
    return "DEFAULT"
