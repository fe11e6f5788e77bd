"""FullyShardedDataParallel in two processes: pieces, whole parameters, state dicts, strategies."""

from __future__ import annotations

import copy

from both import dist, main, mlp, nn, p, part

fsdp = part("distributed.fsdp")
Wrapper, Strategy, Kind = fsdp.FullyShardedDataParallel, fsdp.ShardingStrategy, fsdp.StateDictType
wraps = part("distributed.fsdp.wrap")
CPU = {"device_id": p.device("cpu")}


def made(strategy="FULL_SHARD", **options):
    return Wrapper(mlp(), sharding_strategy=getattr(Strategy, strategy), **CPU, **options)


def nested(**options):
    return made(auto_wrap_policy=wraps.ModuleWrapPolicy({nn.Linear}), **options)


def run(net, r):
    net(p.ones(2, 3) * (r + 1)).sum().backward()
    return net


def shapes(items):
    return {name: (type(each).__name__, tuple(each.shape)) for name, each in items}


def stepped(net, r):
    optimizer = p.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        run(net, r)
        optimizer.step()
    return optimizer


def trained(r, *arguments, **options):
    net = made(*arguments, **options)
    stepped(net, r)
    return net.state_dict()


def summoned(net):
    with Wrapper.summon_full_params(net):
        seen = shapes(net.named_parameters())
        for each in net.parameters():
            p.nn.init.constant_(each, 2.0)
    return seen, net.state_dict()["0.bias"]


def unsynced(r):
    net = made()
    with net.no_sync():
        run(net, r)
    return {name: each.grad for name, each in run(net, r).named_parameters()}


def states(net, r):
    found = Wrapper.optim_state_dict(net, stepped(net, r))
    described = {k: {n: tuple(v.shape) for n, v in s.items()} for k, s in found["state"].items()}
    return described, found["param_groups"], found["state"]["2.weight"]["exp_avg"]


def resumed(r, **options):
    """Save model and optimizer, load them into new ones, go on with both: the same parameters."""
    nets = [nested(**options), nested(**options)]
    optimizers = [stepped(nets[0], r), p.optim.Adam(nets[1].parameters(), lr=0.5)]
    nets[1].load_state_dict(nets[0].state_dict())
    saved = copy.deepcopy(Wrapper.optim_state_dict(nets[0], optimizers[0]))
    optimizers[1].load_state_dict(Wrapper.optim_state_dict_to_load(nets[1], optimizers[1], saved))
    for net, optimizer in zip(nets, optimizers, strict=True):
        optimizer.zero_grad()
        run(net, r)
        optimizer.step()
    one, two = (net.state_dict() for net in nets)
    return all(p.equal(one[name], two[name]) for name in one), list(one)


def sharded_names(r):
    net = made()
    with Wrapper.state_dict_type(net, Kind.SHARDED_STATE_DICT):
        return list(net.state_dict())


def checks(r):
    net = made()
    yield "net", lambda: net
    yield "nested", lambda: nested()
    yield "parameters", lambda: shapes(net.named_parameters())
    yield "parameters by name", lambda: list(shapes(made(use_orig_params=True).named_parameters()))
    yield "gradients", lambda: {n: each.grad for n, each in run(made(), r).named_parameters()}
    yield "clip", lambda: (run(net, r).clip_grad_norm_(1.0), [e.grad for e in net.parameters()])
    yield "largest", lambda: run(made(), r).clip_grad_norm_(1.0, float("inf"))
    for name in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"):
        yield f"trained {name}", lambda n=name: trained(r, n)
    yield "trained by name", lambda: trained(r, use_orig_params=True)
    yield (
        "trained nested",
        lambda: trained(r, auto_wrap_policy=wraps.ModuleWrapPolicy({nn.Linear})),
    )
    yield "summoned", lambda: summoned(made())
    yield "no_sync", lambda: unsynced(r)
    yield "optimizer states", lambda: states(made(), r)
    yield "optimizer states, nested", lambda: states(nested(), r)
    yield "resumed", lambda: resumed(r)
    yield "state dict type", lambda: Wrapper.get_state_dict_type(net)
    yield "sharded names", lambda: sharded_names(r)
    yield "modules", lambda: (Wrapper.fsdp_modules(net) == [net], type(net[0]).__name__)
    yield "barrier", lambda: dist.barrier()


if __name__ == "__main__":
    main(checks)
