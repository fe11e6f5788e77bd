"""`taper.__future__`: settings for how `Module.to` converts modules; they have no effect."""

from __future__ import annotations


def _refuse(value: bool, use: str) -> None:
    if value:
        raise NotImplementedError(f"parameters are converted in place: {use}")


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Accept whether `Module.to` makes new parameters: it never does.

    >>> import taper.__future__
    >>> taper.__future__.set_overwrite_module_params_on_conversion(False)
    """
    _refuse(value, "assign new Parameters to the module instead.")


def get_overwrite_module_params_on_conversion() -> bool:
    """Return False."""
    return False


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Accept whether `Module.to` swaps the contents of parameters: it never does.

    >>> import taper.__future__
    >>> taper.__future__.set_swap_module_params_on_conversion(False)
    """
    _refuse(value, "use `Tensor.set_` to let a tensor have other contents.")


def get_swap_module_params_on_conversion() -> bool:
    """Return False."""
    return False
