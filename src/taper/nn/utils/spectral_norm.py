"""Spectral normalisation by a hook; `parametrizations.spectral_norm` is the newer way.

The parameter `weight` becomes `weight_orig`; before each call a hook divides it by an estimate of
its largest singular value, with the singular vectors kept in the buffers `weight_u`, `weight_v`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter, is_lazy
from taper.ops.linalg.matmul import dot, mv
from taper.tensor import Tensor

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

T_module = TypeVar("T_module", bound=Module)

TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


class SpectralNorm:
    """Compute one parameter of a module, divided by its largest singular value; runs as a hook."""

    # Version 1 has the buffer `weight_v`, and no longer stores `weight` itself.
    _version: int = 1

    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with `dim` as its rows."""
        if self.dim != 0:
            others = [each for each in range(weight.dim()) if each != self.dim]
            weight = weight.permute(self.dim, *others)
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the parameter as it is now, with its history; may improve the estimate before."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    F.normalize(mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    F.normalize(mv(matrix, v), dim=0, eps=self.eps, out=u)
                # Copies: the next call writes into the buffers, and the graph keeps what it saw.
                u, v = u.clone(), v.clone()
        return weight / dot(u, mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Replace the original by the normalised parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Any:
        """Return the v that solves u = W v by least squares, scaled so that u W v is sigma."""
        gram = weight_mat.t().mm(weight_mat).pinverse()
        v = gram.mm(weight_mat.t().mm(u.unsqueeze(1))).squeeze(1)
        return v.mul_(target_sigma / dot(u, mv(weight_mat, v)))

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter and install the hooks."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            rows, columns = made.reshape_weight_to_matrix(weight).size()
            u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # No Parameter: the module must not list both.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Find the `v` that a state written before version 1 does not have."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn = self.fn
        key = prefix + fn.name
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        new_keys = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and new_keys and key not in state_dict:
            return
        missing = [key + each for each in ("_orig", "", "_u") if key + each not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            u = state_dict[key + "_u"]
            state_dict[key + "_v"] = fn._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook:
    """Write the version of the format into the metadata of a state."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: T_module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> T_module:
    """Let a module use a parameter divided by its largest singular value.

        W_used = W / s, s = uᵀ W v, with u and v from power iterations

    Args:
        module: the module, which is returned.
        name: the parameter's name.
        n_power_iterations: by how many steps each call in training mode improves u and v.
        eps: against division by 0 when u and v are normalised.
        dim: the dimension that holds the rows of the matrix; None means 1 for transposed
            convolutions, else 0.

    Example:
        >>> from taper import nn
        >>> list(nn.utils.spectral_norm(nn.Linear(3, 2)).state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: T_module, name: str = "weight") -> T_module:
    """Make the normalised parameter an ordinary one again.

    Args:
        module: the module, which is returned.
        name: the parameter's name.

    Example:
        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> layer = taper.nn.utils.spectral_norm(taper.nn.Linear(3, 2))
        >>> plain = taper.nn.utils.remove_spectral_norm(layer)
        >>> sorted(name for name, _ in plain.named_parameters())
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            _remove_state_hooks(module, hook)
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")


def _remove_state_hooks(module: Module, removed: SpectralNorm) -> None:
    kinds = (SpectralNormStateDictHook, SpectralNormLoadStateDictPreHook)
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(table.items()):
            own = getattr(hook, "hook", hook)  # load hooks are wrapped
            if isinstance(own, kinds) and own.fn is removed:
                del table[key]
