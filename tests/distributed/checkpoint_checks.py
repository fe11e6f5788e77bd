"""Distributed checkpoints in two processes: what is saved, what comes back, what is refused."""

from __future__ import annotations

import os
import re
import tempfile

from both import dist, main, mlp, nn, p, part

dcp = part("distributed.checkpoint")
states = part("distributed.checkpoint.state_dict")
fully_shard = part("distributed.fsdp").fully_shard
Options = states.StateDictOptions


def folder():
    """A new folder, the same in both processes."""
    found = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(found, src=0)
    return found[0]


def sharded(steps=2):
    net = mlp()
    for each in (net[0], net[2]):
        fully_shard(each)
    fully_shard(net)
    optimizer = p.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(p.ones(2, 3)).sum().backward()
        optimizer.step()
    return net, optimizer


def described(value):
    if isinstance(value, dict):
        return {key: described(each) for key, each in value.items()}
    return (type(value).__name__, tuple(value.shape)) if p.is_tensor(value) else value


def saved():
    """What the checkpoint says about itself, and which files it has."""
    net, optimizer = sharded()
    model, optim = states.get_state_dict(net, optimizer)
    where = folder()
    state = {"model": model, "optim": optim, "step": 3, "all": p.arange(4.0), "l": [p.ones(2), 5]}
    metadata = dcp.save(state, checkpoint_id=where)
    described = sorted(
        (name, str(each)) for name, each in metadata.state_dict_metadata.items() if "." not in name
    )
    names = sorted(metadata.state_dict_metadata)
    dist.barrier()
    return sorted(os.listdir(where)), names, described, metadata.planner_data["l.0"], where


def loaded(where):
    net, optimizer = sharded(0)
    model, optim = states.get_state_dict(net, optimizer)
    state = {"model": model, "optim": optim, "step": 0, "all": p.zeros(4), "l": [p.zeros(2), 0]}
    dcp.load(state, checkpoint_id=where)
    states.set_state_dict(net, optimizer, model_state_dict=model, optim_state_dict=optim)
    net(p.ones(2, 3)).sum().backward()
    optimizer.step()
    whole = states.get_model_state_dict(net, options=Options(full_state_dict=True))
    whole = {name: (each * 1000).round() for name, each in whole.items()}
    return whole, state["step"], state["all"], state["l"], optimizer.param_groups[0]["lr"]


def failing(where, state, **options):
    """The last line of what went wrong."""
    try:
        dcp.load(state, checkpoint_id=where, **options)
    except BaseException as error:
        last = str(error).strip().splitlines()[-1]
        return type(error).__name__, re.sub(r"; rank local.*", "", last).replace(where, "...")


class Counter:
    def __init__(self):
        self.count = 1

    def state_dict(self):
        return {"count": p.tensor(7)}

    def load_state_dict(self, state):
        self.count = state["count"]


def stateful():
    where, counter = folder(), Counter()
    dcp.save({"counter": counter}, checkpoint_id=where)
    dcp.load({"counter": counter}, checkpoint_id=where)
    return counter.count


def later():
    where, x = folder(), p.ones(2)
    future = dcp.async_save({"x": x}, checkpoint_id=where)
    x.zero_()
    future.result()
    state = {"x": p.zeros(2)}
    dcp.load(state, checkpoint_id=where)
    return type(future).__name__, type(future.result()).__name__, state


def options():
    net, optimizer = sharded()
    full = states.get_model_state_dict(net, options=Options(full_state_dict=True))
    flat = states.get_optimizer_state_dict(
        net, optimizer, options=Options(flatten_optimizer_state_dict=True)
    )
    only = Options(full_state_dict=True, cpu_offload=True)
    return described(full), list(flat), list(states.get_model_state_dict(net, options=only))


def whole_into_parts():
    net, _ = sharded(0)
    state = {name: p.ones(each.shape) for name, each in mlp().state_dict().items()}
    keys = states.set_model_state_dict(net, state, options=Options(full_state_dict=True))
    return keys, net[0].weight


def checks(r):
    found = {}

    def save_all():
        *seen, found["where"] = saved()
        return seen

    net, optimizer = sharded()
    yield "model", lambda: described(states.get_model_state_dict(net))
    yield "optimizer", lambda: described(states.get_optimizer_state_dict(net, optimizer))
    yield "save", lambda: save_all()
    yield "load", lambda: loaded(found["where"])
    yield "into plain", lambda: plain(found["where"])
    yield "missing", lambda: failing(found["where"], {"nope": p.ones(2)})
    yield "shape", lambda: failing(found["where"], {"all": p.ones(3)})
    yield "no folder", lambda: failing(found["where"] + "-", {"all": p.ones(4)})
    partial = {"planner": dcp.DefaultLoadPlanner(allow_partial_load=True)}
    yield "missing allowed", lambda: failing(found["where"], {"nope": p.ones(2)}, **partial)
    yield "dtype", lambda: as_doubles(found["where"])
    yield "stateful", lambda: stateful()
    yield "later", lambda: later()
    yield "options", lambda: options()
    yield "whole into parts", lambda: whole_into_parts()
    yield "linear", lambda: list(states.get_model_state_dict(nn.Linear(2, 1)))


def plain(where):
    state = {"model": mlp(5).state_dict()}
    dcp.load(state, checkpoint_id=where)
    return state


def as_doubles(where):
    state = {"all": p.zeros(4, dtype=p.float64)}
    dcp.load(state, checkpoint_id=where)
    return state


if __name__ == "__main__":
    main(checks)
