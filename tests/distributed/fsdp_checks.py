"""`fully_shard` in two processes: what parameters look like when, gradients, policies, errors."""

from __future__ import annotations

import copy

from both import dist, main, mlp, nn, p, part

fsdp = part("distributed.fsdp")
fully_shard = fsdp.fully_shard


def kinds(net):
    return {name: type(each).__name__ for name, each in net.named_parameters()}


def sharded(*places):
    net = mlp()
    for place in places or (0, 2):
        fully_shard(net[place])
    return fully_shard(net)


def grads(net):
    return {name: each.grad for name, each in net.named_parameters()}


def run(net, r, factor=1.0):
    net(p.ones(2, 3) * (r + 1) * factor).sum().backward()
    return net


def accumulated(r):
    """Two passes, of which only the second averages."""
    net = sharded()
    net.set_requires_gradient_sync(False)
    before = grads(run(net, r))
    net.set_requires_gradient_sync(True)
    return before, grads(run(net, r))


def twice(r):
    return grads(run(run(sharded(), r), r, 0.5))


def mixed(r):
    policy = fsdp.MixedPrecisionPolicy(param_dtype=p.bfloat16, reduce_dtype=p.float32)
    net = fully_shard(nn.Linear(4, 4), mp_policy=policy)
    y = net(p.ones(2, 4))
    y.sum().backward()
    return y.dtype, net.weight.dtype, net.weight.grad


def frozen(r):
    net = mlp()
    net[2].weight.requires_grad_(False)
    x = p.ones(2, 3, requires_grad=True)
    fully_shard(net)(x).sum().backward()
    return x.grad, grads(net)


def tied(r):
    p.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[1].weight = net[0].weight
    fully_shard(net)
    net(p.ones(1, 4) * (r + 1)).sum().backward()
    return net[0].weight is net[1].weight, grads(net)


def trained(kind, r, **options):
    net = sharded()
    optimizer = kind(net.parameters(), lr=0.1, **options)
    for step in range(3):
        optimizer.zero_grad()
        run(net, r, step + 1.0)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return {name: each.full_tensor() for name, each in net.named_parameters()}


def checks(r):
    net = sharded()
    weight = net[0].weight
    yield "net", lambda: (net, isinstance(net, fsdp.FSDPModule), type(net[0]).__name__)
    yield "parameters", lambda: dict(net.named_parameters())
    yield "a parameter", lambda: (isinstance(weight, nn.Parameter), weight.requires_grad)
    yield "output", lambda: net(p.ones(2, 3) * (r + 1))
    yield "after forward", lambda: (kinds(net), net[0].weight is weight)
    yield "after backward", lambda: (run(net, r), kinds(net))[1]
    yield "gradients", lambda: grads(run(sharded(), r))
    yield "gradients of two passes", lambda: twice(r)
    yield "accumulated", lambda: accumulated(r)
    yield "state_dict", lambda: (net(p.ones(1, 3)), net.state_dict())[1]
    yield "unshard", lambda: (net[0].unshard(), type(net[0].weight).__name__, net[0].weight.shape)
    yield "reshard", lambda: (net[0].reshard(), net[0].weight is weight)
    yield "unshard, waited for", lambda: net[0].unshard(async_op=True).wait()
    yield "not resharded", lambda: kinds_without_resharding(r)
    yield "mixed precision", lambda: mixed(r)
    yield "frozen", lambda: frozen(r)
    yield "tied", lambda: tied(r)
    yield "SGD", lambda: trained(p.optim.SGD, r, momentum=0.9)
    yield "AdamW", lambda: trained(p.optim.AdamW, r)
    yield "fewer rows than processes", lambda: grads(fewer(r))
    yield "load", lambda: net.load_state_dict(net.state_dict())
    yield "load plain", lambda: sharded()[0].load_state_dict({"weight": p.ones(4, 3)}, strict=False)
    yield "copied", lambda: copy.deepcopy(net)
    yield "again", lambda: fully_shard(net)
    yield "a container", lambda: fully_shard(nn.ModuleList([nn.Linear(2, 2)]))
    yield "a number", lambda: fully_shard(Number())
    yield "a mesh that is none", lambda: fully_shard(nn.Linear(2, 2), mesh=3)
    yield "barrier", lambda: dist.barrier()


def fewer(r):
    net = fully_shard(nn.Linear(2, 1))
    net(p.ones(1, 2) * (r + 1)).sum().backward()
    return net


def kinds_without_resharding(r):
    net = mlp()
    fully_shard(net[0], reshard_after_forward=False)
    fully_shard(net, reshard_after_forward=True)
    net(p.ones(1, 3))
    return kinds(net)


class Number(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(p.tensor(1.0))


if __name__ == "__main__":
    main(checks)
