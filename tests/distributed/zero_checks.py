"""ZeroRedundancyOptimizer in two processes: what is where, and the same parameters to the bit."""

from __future__ import annotations

import copy

from both import batch, dist, main, mlp, nn, p, part

Zero = part("distributed.optim").ZeroRedundancyOptimizer
SGD, Adam = p.optim.SGD, p.optim.Adam


def shapes(partition):
    return [[[tuple(t.shape) for t in group["params"]] for group in each] for each in partition]


def trained(net, optimizer, steps=3):
    for step in range(steps):
        optimizer.zero_grad()
        x, y = batch(step)
        (net(x) - y).square().mean().backward()
        optimizer.step()
    return net


def same(kind, bucket=False, groups=False, **options):
    """Whether the parameters are those of the plain optimizer, bit by bit, after some steps."""
    nets, made = [mlp(), mlp()], []
    for place, net in enumerate(nets):
        params = list(net.parameters())
        given = [{"params": params[:3], "lr": 0.05}, {"params": params[3:]}] if groups else params
        if place:
            made.append(kind(given, **options))
        else:
            made.append(
                Zero(given, optimizer_class=kind, parameters_as_bucket_view=bucket, **options)
            )
        trained(net, made[-1])
    return all(
        p.equal(a, b) for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True)
    )


def saved():
    net = mlp()
    optimizer = Zero(net.parameters(), optimizer_class=Adam, lr=0.1)
    trained(net, optimizer)
    optimizer.consolidate_state_dict(to=1)
    return net, optimizer


def whole_state(rank):
    _, optimizer = saved()
    if rank == 0:
        return len(optimizer.optim.state)
    state = optimizer.state_dict()
    plain = Adam(mlp().parameters())
    plain.load_state_dict(state)
    described = {k: {n: tuple(v.shape) for n, v in s.items()} for k, s in state["state"].items()}
    return described, state["param_groups"], len(plain.state)


def resumed(rank):
    """Load the whole state in every process, go on, compare with training that never stopped."""
    net, optimizer = saved()
    found = [optimizer.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(found, src=1)
    again = mlp()
    again.load_state_dict(net.state_dict())
    other = Zero(again.parameters(), optimizer_class=Adam, lr=0.7)
    other.load_state_dict(copy.deepcopy(found[0]))
    trained(again, other, 2)
    trained(net, optimizer, 2)
    same = all(p.equal(a, b) for a, b in zip(net.parameters(), again.parameters(), strict=True))
    return same, other.param_groups[0]["lr"], len(other.optim.state)


def checks(r):
    net = mlp()
    made = Zero(net.parameters(), optimizer_class=Adam, lr=0.1)
    yield "partition", lambda: shapes(made._partition_parameters())
    yield "repr", lambda: made
    yield "state_dict too early", lambda: made.state_dict()
    yield (
        "another group",
        lambda: (
            made.add_param_group({"params": [nn.Parameter(p.ones(2))], "lr": 0.5}),
            shapes(made._partition_parameters()),
            made.param_groups[1]["lr"],
        ),
    )
    yield "SGD", lambda: same(SGD, lr=0.1, momentum=0.9)
    yield "Adam", lambda: same(Adam, lr=0.1)
    yield "bucket view", lambda: same(Adam, bucket=True, lr=0.1)
    yield "groups", lambda: same(SGD, groups=True, lr=0.1)
    yield "whole state", lambda: whole_state(r)
    yield "resumed", lambda: resumed(r)
    yield "closure", lambda: Zero(mlp().parameters(), SGD, lr=0.1).step(lambda: 3)
    yield "empty", lambda: Zero([], optimizer_class=SGD, lr=0.1)
    yield "a tensor", lambda: Zero(p.ones(2), optimizer_class=SGD, lr=0.1)
    yield "numbers", lambda: Zero([1], optimizer_class=SGD, lr=0.1)
    yield "dtypes", lambda: Zero([p.ones(1), p.ones(1).double()], optimizer_class=SGD, lr=0.1)
    yield "join", lambda: (made.join_device, made.join_process_group is dist.group.WORLD)


if __name__ == "__main__":
    main(checks)
