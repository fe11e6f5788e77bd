"""State dicts of models and optimizers, by the names of parameters, however they are divided.

The names are those of the plain model, so that what one number of processes saved another loads,
with or without `fully_shard`, FullyShardedDataParallel or DistributedDataParallel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from taper.distributed import objects
from taper.distributed.fsdp.api import StateDictType
from taper.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from taper.distributed.groups import get_rank, is_initialized
from taper.distributed.tensor.api import DTensor, distribute_tensor
from taper.nn.modules.module import Module
from taper.nn.parallel.distributed import DistributedDataParallel
from taper.ops.creation.filled import zeros_like
from taper.optim.optimizer import Optimizer
from taper.tensor import Tensor

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """How state dicts are returned and taken over.

    Args:
        full_state_dict: whole tensors instead of DTensors.
        cpu_offload: with `full_state_dict`, only rank 0 returns something.
        ignore_frozen_params: leave out parameters that require no gradient.
        keep_submodule_prefixes: accepted.
        strict: whether keys must fit.
        broadcast_from_rank0: take what rank 0 has.
        flatten_optimizer_state_dict: return an optimizer's state as one dictionary.
        dsd_fqn_modifiers: accepted.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _names(model: Module) -> list[tuple[str, Any]]:
    """Return the parameters under the names of the plain model."""
    return [(_plain(model, name), each) for name, each in model.named_parameters()]


def _plain(model: Module, name: str) -> str:
    """Return the name that a parameter has without wrappers."""
    parts: list[str] = []
    module: Any = model
    for part in name.split("."):
        is_wrapper = isinstance(module, DistributedDataParallel | FullyShardedDataParallel)
        inside = part in ("module", "_fsdp_wrapped_module", "_orig_mod")
        if not (is_wrapper and inside) and part != "_checkpoint_wrapped_module":
            parts.append(part)
        if isinstance(module, Module):
            module = module._modules.get(part)
    return ".".join(parts)


def _wrappers(model: Module) -> list[Any]:
    return FullyShardedDataParallel.fsdp_modules(model)


@contextlib.contextmanager
def _kind(model: Module, options: StateDictOptions) -> Iterator[None]:
    """Let wrappers return whole tensors, or DTensors."""
    if not _wrappers(model):
        yield
        return
    full = options.full_state_dict
    kind = StateDictType.FULL_STATE_DICT if full else StateDictType.SHARDED_STATE_DICT
    with FullyShardedDataParallel.state_dict_type(model, kind):
        yield


def _returned(value: Any, options: StateDictOptions) -> Any:
    """Return whole tensors if they are asked for."""
    if isinstance(value, dict):
        return {key: _returned(each, options) for key, each in value.items()}
    if isinstance(value, DTensor) and options.full_state_dict:
        return value.full_tensor()
    return value


def _is_silent(options: StateDictOptions) -> bool:
    offloads = options.full_state_dict and options.cpu_offload
    return offloads and is_initialized() and get_rank() != 0


def get_model_state_dict(
    model: Module,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Return the state of a model, by the names of the plain one.

    Args:
        model: the model, divided or not.
        submodules: accepted: None.
        options: what the values are.

    >>> import taper
    >>> from taper.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(taper.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = options or StateDictOptions()
    with _kind(model, options):
        found = model.state_dict()
    result = {_plain(model, key): _returned(value, options) for key, value in found.items()}
    if options.ignore_frozen_params:
        for name, each in _names(model):
            if not each.requires_grad:
                result.pop(name, None)
    return {} if _is_silent(options) else result


def _initialize(optimizer: Optimizer) -> None:
    """Let an optimizer make its states, by a step that changes nothing."""
    if optimizer.state:
        return
    params = [each for group in optimizer.param_groups for each in group["params"]]
    if any(each.grad is not None for each in params):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for each in params:
        if each.requires_grad:
            each.grad = zeros_like(each)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = 0.0
    try:
        optimizer.step()
    finally:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if "lr" in group:
                group["lr"] = rate
        optimizer.zero_grad()


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Return the states of optimizers, by the names of the plain model's parameters.

    Args:
        model: the model, divided or not.
        optimizers: its optimizer, or several.
        submodules: accepted: None.
        options: what the values are.
    """
    options = options or StateDictOptions()
    result: dict[str, Any] = {"state": {}, "param_groups": []}
    for each in _listed(optimizers):
        _initialize(each)
        found = _optimizer_state(model, each, options)
        result["state"] |= _returned(found["state"], options)
        result["param_groups"] += found["param_groups"]
    if _is_silent(options):
        return {}
    return _flattened(result) if options.flatten_optimizer_state_dict else result


def _optimizer_state(model: Module, optimizer: Optimizer, options: Any) -> dict[str, Any]:
    if _wrappers(model):
        with _kind(model, options):
            return FullyShardedDataParallel.optim_state_dict(model, optimizer)
    names = {each: name for name, each in _names(model)}
    state = {
        names[param]: dict(values) for param, values in optimizer.state.items() if param in names
    }
    order = [name for _, name in names.items()]
    state = {name: state[name] for name in order if name in state}
    groups = [
        {
            **{key: value for key, value in group.items() if key != "params"},
            "params": [names[each] for each in group["params"]],
        }
        for group in optimizer.param_groups
    ]
    return {"state": state, "param_groups": groups}


def _flattened(found: dict[str, Any]) -> dict[str, Any]:
    """Return states and options of all parameters as one dictionary."""
    flat = {
        f"state.{name}.{key}": value
        for name, values in found["state"].items()
        for key, value in values.items()
    }
    for group in found["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    flat[f"param_groups.{name}.{key}"] = value
    return flat


def _nested(model: Module, optimizers: list[Optimizer], flat: dict[str, Any]) -> dict[str, Any]:
    """Return what `_flattened` returned, as it was."""
    names = {each: name for name, each in _names(model)}
    state: dict[str, Any] = {}
    groups = []
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            listed = [names[each] for each in group["params"]]
            for name in listed:
                prefix = f"state.{name}."
                found = {k[len(prefix) :]: v for k, v in flat.items() if k.startswith(prefix)}
                if found:
                    state[name] = found
            options = {k: flat.get(f"param_groups.{listed[0]}.{k}", group[k]) for k in group}
            groups.append({**options, "params": listed})
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the states of a model and of its optimizers; see the functions for each."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


# --- taking over ------------------------------------------------------------------------------


def _from_first(state_dict: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Return what rank 0 has, if that is asked for."""
    if not options.broadcast_from_rank0 or not is_initialized():
        return state_dict
    found = [state_dict if get_rank() == 0 else None]
    objects.broadcast_object_list(found, src=0)
    return found[0] or {}


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Give a model the state that `get_model_state_dict` returned, of any number of processes.

    Args:
        model: the model, divided or not.
        model_state_dict: the state by the names of the plain model.
        options: how it is taken over.

    Returns: the keys that were missing, and those that nobody wanted.
    """
    options = options or StateDictOptions()
    state = _from_first(model_state_dict, options)
    with _kind(model, options):
        if isinstance(model, FullyShardedDataParallel):
            return model.load_state_dict(state, options.strict)
        own = {_plain(model, key): key for key in model.state_dict()}
        current = model.state_dict()
        fitted = {
            own.get(key, key): _fitted(value, current.get(own.get(key, key)))
            for key, value in state.items()
        }
        return model.load_state_dict(fitted, options.strict)


def _fitted(value: Any, like: Any) -> Any:
    """Return a value in the form of another: spread, or whole."""
    if isinstance(like, DTensor) and isinstance(value, Tensor):
        if isinstance(value, DTensor):
            return value.redistribute(placements=like.placements)
        if value.shape == like.shape:
            return distribute_tensor(
                value.detach(), like.device_mesh, like.placements, src_data_rank=None
            )
    if isinstance(value, DTensor) and not isinstance(like, DTensor):
        return value.full_tensor()
    return value


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give optimizers the states that `get_optimizer_state_dict` returned.

    Args:
        model: the model, divided or not.
        optimizers: its optimizer, or several.
        optim_state_dict: states by the names of the plain model's parameters.
        options: how they are taken over.
    """
    options = options or StateDictOptions()
    listed = _listed(optimizers)
    state = _from_first(optim_state_dict, options)
    if state and "state" not in state:
        state = _nested(model, listed, state)
    for each in listed:
        _initialize(each)
        if _wrappers(model):
            FullyShardedDataParallel.optim_state_dict_to_load(
                model, each, state, load_directly=True
            )
        else:
            _take_over(model, each, state)


def _take_over(model: Module, optimizer: Optimizer, given: dict[str, Any]) -> None:
    names = {each: name for name, each in _names(model)}
    states: dict[int, Any] = {}
    groups, number = [], 0
    saved = {name: group for group in given["param_groups"] for name in group["params"]}
    for ours in optimizer.param_groups:
        numbers = []
        for param in ours["params"]:
            values = given["state"].get(names[param])
            if values is not None:
                states[number] = {
                    key: _fitted(each, param if _is_like(each, param) else None)
                    for key, each in values.items()
                }
            numbers.append(number)
            number += 1
        theirs = saved.get(names[ours["params"][0]], ours) if ours["params"] else ours
        options = {key: theirs.get(key, value) for key, value in ours.items() if key != "params"}
        groups.append({**options, "params": numbers})
    optimizer.load_state_dict({"state": states, "param_groups": groups})


def _is_like(value: Any, param: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() > 0 and value.shape == param.shape


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model and its optimizers what `get_state_dict` returned; see the two functions."""
    missing = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return missing
