"""DTensor in two processes: what it shows, how it moves, and what operators make of it."""

from __future__ import annotations

import copy

from both import dist, main, nn, p, part

tensor = part("distributed.tensor")
DTensor, Shard, Replicate, Partial = (
    getattr(tensor, name) for name in "DTensor Shard Replicate Partial".split()
)
spread = tensor.distribute_tensor


def gradients(mesh):
    """Gradients through element-wise operators, a sum and a change of placements."""
    weight = spread(p.arange(12.0).reshape(4, 3), mesh, [Shard(0)]).requires_grad_()
    factor = spread(p.arange(3.0), mesh, [Replicate()]).requires_grad_()
    (weight * factor * 2).sum().backward()
    return weight.grad.full_tensor(), factor.grad.full_tensor(), weight.is_leaf


def through_parts(mesh):
    whole = p.ones(4, 3, requires_grad=True)
    made = DTensor.from_local(whole * 2, mesh, [Shard(0)])
    (made.full_tensor() * 3).sum().backward()
    return made.shape, whole.grad


def stepped(mesh, kind):
    param = nn.Parameter(spread(p.ones(4, 3), mesh, [Shard(0)]))
    optimizer = kind([param], lr=0.1)
    for step in range(2):
        param.grad = spread(p.arange(12.0).reshape(4, 3) + step, mesh, [Shard(0)])
        optimizer.step()
    state = {name: each for name, each in optimizer.state[param].items() if p.is_tensor(each)}
    return param, state, isinstance(param, nn.Parameter)


def clipped(mesh, order):
    params = [nn.Parameter(spread(p.ones(n, 3), mesh, [Shard(0)])) for n in (4, 5)]
    for each in params:
        each.grad = spread(p.arange(each.numel() * 1.0).reshape(-1, 3), mesh, [Shard(0)])
    total = nn.utils.clip_grad_norm_(params, 1.0, order)
    return total.full_tensor(), [each.grad.full_tensor() for each in params]


def product(mesh, one, two):
    a, b = p.arange(12.0).reshape(4, 3), p.arange(6.0).reshape(3, 2)
    return (spread(a, mesh, [one]) @ spread(b, mesh, [two])).full_tensor()


def checks(r):
    mesh = tensor.init_device_mesh("cpu", (2,))
    x = p.arange(15.0).reshape(5, 3)
    d = spread(x, mesh, [Shard(0)])
    summands = DTensor.from_local(p.ones(2, 2) * (r + 1), mesh, [Partial()])
    yield "mesh", lambda: (mesh, mesh.shape, mesh.size(), mesh.get_local_rank())
    yield "spread", lambda: d
    yield "what it is", lambda: (d.shape, d.stride(), d.numel(), d.dim(), d.placements, d.dtype)
    yield "its part", lambda: (d.to_local(), d.size(0), d.nbytes, len(d))
    yield "its whole", lambda: d.full_tensor()
    yield "columns", lambda: spread(x, mesh, [Shard(-1)])
    yield "too few rows", lambda: spread(p.ones(1, 2), mesh, [Shard(0)])
    yield "add", lambda: d + 1
    yield "mul", lambda: d * d
    yield "with a replica", lambda: d + spread(x, mesh, [Replicate()])
    yield "with columns", lambda: d + spread(x, mesh, [Shard(1)])
    yield "with a plain one", lambda: d + x
    yield "relu", lambda: p.relu(d - 5)
    yield "compare", lambda: d > 5
    yield "sum", lambda: (d.sum(), d.sum().full_tensor())
    yield "sum of a dimension", lambda: (d.sum(0), d.sum(1))
    yield "mean", lambda: d.mean()
    yield "max", lambda: d.max()
    yield "norm", lambda: p.linalg.vector_norm(d)
    yield "norm whole", lambda: p.linalg.vector_norm(d).full_tensor()
    yield "largest norm", lambda: p.linalg.vector_norm(d, float("inf"))
    yield "clone, detach", lambda: (d.clone(), d.detach(), p.zeros_like(d), d.to(p.float64))
    yield "deepcopy", lambda: copy.deepcopy(d)
    yield "to all", lambda: d.redistribute(mesh, [Replicate()])
    yield "to columns", lambda: d.redistribute(placements=[Shard(1)])
    yield "summands", lambda: (summands, summands.full_tensor())
    yield "summands to rows", lambda: summands.redistribute(placements=[Shard(0)])
    yield "to summands", lambda: d.redistribute(placements=[Partial()])
    yield "to nothing", lambda: d.redistribute()
    yield "from parts", lambda: DTensor.from_local(p.ones(2, 2), mesh, [Shard(0)])
    yield "from replicas", lambda: DTensor.from_local(p.ones(2, 2), mesh)
    yield (
        "placements",
        lambda: (Shard(0), Replicate(), Partial(), str(Shard(1)), str(Replicate()), str(Partial())),
    )
    yield "no such dimension", lambda: spread(x, mesh, [Shard(3)])
    yield "too many placements", lambda: spread(x, mesh, [Shard(0), Shard(0)])
    yield "gradients", lambda: gradients(mesh)
    yield "gradients through parts", lambda: through_parts(mesh)
    yield "SGD", lambda: stepped(mesh, p.optim.SGD)
    yield "Adam", lambda: stepped(mesh, p.optim.Adam)
    yield "clip", lambda: (clipped(mesh, 2.0), clipped(mesh, float("inf")))
    for one, two in ((Shard(0), Replicate()), (Replicate(), Shard(1)), (Shard(1), Shard(0))):
        yield f"product {one} {two}", lambda a=one, b=two: product(mesh, a, b)
    yield "product with a plain one", lambda: d @ p.ones(3, 2)
    yield "transposed", lambda: d.t()
    yield "zeros", lambda: tensor.zeros(4, 2, device_mesh=mesh, placements=[Shard(0)])
    yield "ones", lambda: tensor.ones((4, 2), device_mesh=mesh)
    yield "in place", lambda: d.clone().add_(1).mul_(d).zero_()
    yield "copy_", lambda: d.clone().copy_(d * 2)
    yield "tolist", lambda: d.tolist()
    yield "numpy", lambda: d.numpy()
    yield "item", lambda: d.sum().item()
    yield "module", lambda: list(tensor.distribute_module(nn.Linear(3, 4), mesh)._parameters)
    yield "barrier", lambda: dist.barrier()


if __name__ == "__main__":
    main(checks)
