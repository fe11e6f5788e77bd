"""State dicts of optimizers whose parameters are pieces of vectors: whole states, by name."""

from __future__ import annotations

from typing import Any

from taper.distributed import objects
from taper.distributed.groups import get_rank, is_initialized
from taper.distributed.tensor import DeviceMesh, Shard
from taper.distributed.tensor.api import DTensor, distribute_tensor
from taper.tensor import Tensor, wrap


def _wrappers(model: Any) -> list[Any]:
    return [each for each in model.modules() if "_group" in each.__dict__ and each._group]


def _names(model: Any) -> dict[Any, str]:
    """Return the name of each entry, in the model without wrappers."""
    found: dict[Any, str] = {}
    for path, module in model.named_modules():
        group = module.__dict__.get("_group")
        clean = path.replace("_fsdp_wrapped_module", "").replace("..", ".").strip(".")
        for entry in group.entries if group is not None else ():
            name = entry.name.replace("_fsdp_wrapped_module.", "")
            found[entry] = f"{clean}.{name}" if clean else name
    return found


def _plain_names(model: Any) -> dict[Any, str]:
    """Return the names of parameters that no wrapper has divided."""
    return {
        each: name.replace("_fsdp_wrapped_module.", "")
        for name, each in model.named_parameters()
        if "_flat_param" not in name
    }


class OptimizerStates:
    """What FullyShardedDataParallel says about the states of optimizers."""

    @staticmethod
    def optim_state_dict(
        model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """Return an optimizer's state by the names of parameters, as the settings say.

        Args:
            model: the wrapped model.
            optim: its optimizer.
            optim_state_dict: accepted; the optimizer's state of this moment counts.
            group: accepted.
        """
        settings = model._settings
        kind = settings.state_dict_type.name
        state = _whole_states(model, optim, kind == "SHARDED_STATE_DICT")
        groups = _named_groups(model, optim)
        if getattr(settings.optim_state_dict_config, "rank0_only", False) and get_rank():
            return {}
        return {"state": state, "param_groups": groups}

    @staticmethod
    def full_optim_state_dict(
        model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """Return whole states by names, on rank 0 or everywhere."""
        state = {
            "state": _whole_states(model, optim, False),
            "param_groups": _named_groups(model, optim),
        }
        return {} if rank0_only and get_rank() else state

    @staticmethod
    def sharded_optim_state_dict(model: Any, optim: Any, group: Any = None) -> dict[str, Any]:
        """Return states as DTensors, by names."""
        return {
            "state": _whole_states(model, optim, True),
            "param_groups": _named_groups(model, optim),
        }

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """Return states by names as what the optimizer's `load_state_dict` takes here.

        Args:
            model: the wrapped model, of any number of processes.
            optim: its optimizer.
            optim_state_dict: states by names.
            is_named_optimizer, group: accepted.
            load_directly: whether the optimizer takes it over at once.
        """
        made = _own_states(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any],
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """Return this process's part of whole states."""
        return _own_states(model, optim, full_optim_state_dict)

    flatten_sharded_optim_state_dict = shard_full_optim_state_dict

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """Return this process's part of whole states that rank 0 has."""
        found = [full_optim_state_dict]
        if is_initialized():
            objects.broadcast_object_list(found, src=0, group=group)
        return _own_states(model, optim, found[0] or {})

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: Any,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """Return states keyed by names, or by numbers, instead of the other."""
        names = [name for name, _ in model.named_parameters()]
        to: dict[Any, Any]
        if optim_state_key_type.name == "PARAM_NAME":
            to = dict(enumerate(names))
        else:
            to = {name: number for number, name in enumerate(names)}
        groups = [
            {**each, "params": sorted(to[key] for key in each["params"])}
            for each in optim_state_dict["param_groups"]
        ]
        state = {to.get(key, key): value for key, value in optim_state_dict["state"].items()}
        return {"state": state, "param_groups": groups}


def _whole_states(model: Any, optim: Any, is_spread: bool) -> dict[str, Any]:
    names, result = _names(model), {}
    for wrapper in _wrappers(model):
        group = wrapper._group
        for entry, values in zip(group.entries, _of_group(group, optim), strict=True):
            if values:
                result[names[entry]] = {
                    key: _spread(each, wrapper) if is_spread else each
                    for key, each in sorted(values.items())
                }
    for param, name in _plain_names(model).items():
        if param in optim.state and name not in result:
            result[name] = dict(optim.state[param])
    return result


def _spread(value: Any, wrapper: Any) -> Any:
    if not isinstance(value, Tensor) or not value.dim():
        return value
    mesh = DeviceMesh.from_group(wrapper.process_group, "cpu")
    return distribute_tensor(value, mesh, [Shard(0)], src_data_rank=None)


def _of_group(group: Any, optim: Any) -> list[dict[str, Any]]:
    """Return the whole states of each parameter of a group."""
    found: list[dict[str, Any]] = [{} for _ in group.entries]
    held = [each.part for each in group.entries] if group.keeps_names else [group.flat]
    keys = list(dict.fromkeys(key for each in held for key in optim.state.get(each, {})))
    for key in keys:
        values = [optim.state.get(each, {}).get(key) for each in held]
        first = next(each for each in values if each is not None)
        if not isinstance(first, Tensor) or not first.dim():
            for each in found:
                each[key] = first.clone() if isinstance(first, Tensor) else first
            continue
        own = first._array
        if group.keeps_names:
            pieces = [
                wrap(group.flat._array[b:e] * 0) if v is None else v
                for v, (b, e) in zip(values, group.pieces(), strict=True)
            ]
            own = group.flat._array * 0
            for piece, (begin, end) in zip(pieces, group.pieces(), strict=True):
                own[begin:end] = piece._array
        for each, array in zip(found, group.whole_values(own), strict=True):
            each[key] = wrap(array.copy())
    return found


def _named_groups(model: Any, optim: Any) -> list[dict[str, Any]]:
    names, owners = _names(model), _owners(model)
    plain = _plain_names(model)
    result = []
    for each in optim.param_groups:
        listed: list[str] = []
        for param in each["params"]:
            entries = owners.get(param)
            listed += [names[e] for e in entries] if entries else [plain[param]]
        options = {key: value for key, value in each.items() if key != "params"}
        result.append({**options, "params": listed})
    return result


def _owners(model: Any) -> dict[Any, list[Any]]:
    """Return the entries that a parameter of the optimizer stands for."""
    found: dict[Any, list[Any]] = {}
    for wrapper in _wrappers(model):
        group = wrapper._group
        if group.keeps_names:
            found |= {each.part: [each] for each in group.entries}
        else:
            found[group.flat] = group.entries
    return found


def _own_states(model: Any, optim: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return states by names as this process's pieces, keyed by numbers."""
    names, owners, plain = _names(model), _owners(model), _plain_names(model)
    groups_of = {e: w._group for w in _wrappers(model) for e in w._group.entries}
    state: dict[int, Any] = {}
    groups, number = [], 0
    for ours, theirs in zip(optim.param_groups, given["param_groups"], strict=True):
        numbers = []
        for param in ours["params"]:
            entries = owners.get(param, [])
            keys = [names[each] for each in entries] or [plain[param]]
            values = [given["state"].get(key) for key in keys]
            if all(each is not None for each in values):
                group = groups_of[entries[0]] if entries else None
                state[number] = _pieces(group, entries, values)
            numbers.append(number)
            number += 1
        options = {key: value for key, value in theirs.items() if key != "params"}
        groups.append({**options, "params": numbers})
    return {"state": state, "param_groups": groups}


def _pieces(group: Any, entries: list[Any], values: list[Any]) -> dict[str, Any]:
    """Return the states of one parameter of the optimizer."""
    result: dict[str, Any] = {}
    for key, first in values[0].items():
        whole = [each[key] for each in values]
        whole = [v.full_tensor() if isinstance(v, DTensor) else v for v in whole]
        if group is None or not isinstance(first, Tensor) or not first.dim():
            result[key] = whole[0].clone() if isinstance(whole[0], Tensor) else whole[0]
        elif group.keeps_names:
            arrays = [each.whole._array * 0 for each in group.entries]
            place = group.entries.index(entries[0])
            arrays[place] = whole[0]._array
            begin, end = group.pieces()[place]
            result[key] = wrap(group.own_piece(arrays)[begin:end].copy())
        else:
            result[key] = wrap(group.own_piece([each._array for each in whole]))
    return result
