"""Tensors of a module exchanged by name, without the checks of `register_parameter`."""

from __future__ import annotations

from typing import Any

from taper.nn.modules.module import Module
from taper.tensor import Tensor

__all__ = ["set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


def _table(module: Module, name: str) -> dict[str, Any]:
    """Return the table of a module that holds a name: its parameters, buffers or attributes."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    tables = (module._parameters, module._buffers, module.__dict__)
    return next((each for each in tables if name in each), module.__dict__)


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor where a module has one of that name.

    >>> import taper
    >>> from taper.nn.utils._named_member_accessor import set_tensor
    >>> layer = taper.nn.Linear(1, 1)
    >>> set_tensor(layer, "weight", taper.ones(1, 1))
    >>> layer.weight
    tensor([[1.]])
    """
    table: Any = _table(module, name)
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    table[name] = tensor


def swap_tensor(
    module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False
) -> Any:
    """Put a tensor where a module has one of that name, and return the one that was there."""
    table: Any = _table(module, name)
    if name not in table and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    before = table.get(name, _MISSING)
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is _MISSING:
        del table[name]
    else:
        set_tensor(module, name, tensor)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module where another has a part of that name, and return the part that was there."""
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before
