"""Modules as functions: `functional_call`, `stack_module_state`, and batch norms without state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn.modules.batchnorm import _BatchNorm
from taper.nn.modules.module import Module
from taper.nn.utils.stateless import call
from taper.ops.shape.split import stack
from taper.tensor import Tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors instead of its parameters and buffers.

    Args:
        module: the module; it stays unchanged.
        parameter_and_buffer_dicts: the tensors by name, in one dict or several; the module's own
            are used for the other names.
        args: the positional arguments, a tuple or a single one.
        kwargs: the keyword arguments.
        tie_weights: let a tensor also replace other uses of the same parameter.
        strict: refuse names that are missing or unknown.

    Returns: what the module returns.

    >>> import taper
    >>> layer = taper.nn.Linear(2, 1)
    >>> given = {"weight": taper.tensor([[1.0, 2.0]]), "bias": taper.tensor([10.0])}
    >>> taper.func.functional_call(layer, given, taper.tensor([1.0, 1.0]))
    tensor([13.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        return call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights, strict)
    if not isinstance(parameter_and_buffer_dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    if not all(isinstance(each, dict) for each in parameter_and_buffer_dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for each in parameter_and_buffer_dicts for name in each]
    repeated = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    joined = {name: value for each in parameter_and_buffer_dicts for name, value in each.items()}
    return call(module, joined, args, kwargs, tie_weights, strict)


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the buffers of several models of one kind, stacked.

    With `functional_call` and `vmap` they make an ensemble.

    Args:
        models: modules of the same class, all in the same mode (training or not).

    Returns: two dicts by name; each tensor has the models as its first dimension.

    >>> import taper
    >>> models = [taper.nn.Linear(3, 2) for _ in range(4)]
    >>> parameters, buffers = taper.func.stack_module_state(models)
    >>> parameters["weight"].shape
    torch.Size([4, 2, 3])
    """
    if not len(models):
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not all(each.training == models[0].training for each in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if not all(type(each) is type(models[0]) for each in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(each.named_parameters()) for each in models]
    buffers = [dict(each.named_buffers()) for each in models]
    return (
        {name: _stacked([each[name] for each in parameters], name) for name in parameters[0]},
        {name: _stacked([each[name] for each in buffers], name) for name in buffers[0]},
    )


def _stacked(tensors: list[Tensor], name: str) -> Tensor:
    """Return a new leaf of tensors, all or none of which require a gradient."""
    needed = tensors[0].requires_grad
    if any(each.requires_grad != needed for each in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result: Tensor = stack(tensors).detach().requires_grad_(needed)
    return result


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make all batch norms of a module use only the statistics of the batch, in place.

    Args:
        root: the module.

    Returns: the module itself.

    >>> import taper
    >>> net = taper.nn.Sequential(taper.nn.BatchNorm1d(3))
    >>> taper.func.replace_all_batch_norm_modules_(net)[0].track_running_stats
    False
    """
    for each in root.modules():
        if isinstance(each, _BatchNorm):
            each.running_mean = None
            each.running_var = None
            each.num_batches_tracked = None
            each.track_running_stats = False
    return root
