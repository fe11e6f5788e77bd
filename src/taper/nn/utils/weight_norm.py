"""Weight normalisation by a hook, the way that `parametrizations.weight_norm` replaces.

The parameter `weight` becomes two, `weight_g` (lengths) and `weight_v` (direction); before each
call of the module a hook computes the weight from them as a plain attribute.
"""

from __future__ import annotations

from typing import Any, TypeVar

from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter, is_lazy
from taper.ops.norm.weight import norm_except_dim
from taper.ops.norm.weight import weight_norm as normed_weight
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

T_module = TypeVar("T_module", bound=Module)


class WeightNorm:
    """Compute one parameter of a module from its direction and its lengths; runs as a hook."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the parameter as it is now, with its history."""
        lengths = getattr(module, self.name + "_g")
        direction = getattr(module, self.name + "_v")
        return normed_weight(direction, lengths, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Split a parameter and install the hook; deprecated."""
        warn_user(
            "`torch.nn.utils.weight_norm` is deprecated in favor of "
            "`torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                )
        made = WeightNorm(name, dim)
        weight: Tensor = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        lengths = norm_except_dim(weight, 2, made.dim).data
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(lengths))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Put the parameter back as one."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: T_module, name: str = "weight", dim: int | None = 0) -> T_module:
    """Let a module learn the length and the direction of a parameter apart; deprecated.

        w = g v / ‖v‖

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        dim: the dimension whose indices each have a length; None means one length for all.

    Example:
        >>> import warnings
        >>> from taper import nn
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     layer = nn.utils.weight_norm(nn.Linear(3, 2))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (torch.Size([2, 1]), torch.Size([2, 3]))
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: T_module, name: str = "weight") -> T_module:
    """Join the two parts of a parameter that `weight_norm` had split.

    Args:
        module: the module, which is returned.
        name: the parameter's name.

    Example:
        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> layer = taper.nn.utils.weight_norm(taper.nn.Linear(3, 2))
        >>> sorted(name for name, _ in taper.nn.utils.remove_weight_norm(layer).named_parameters())
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
