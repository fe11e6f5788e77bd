"""functorch: per-sample gradients, hessians, jacobians forward and reverse, ensembles, maml, functional optimizers, vmap with randomness."""

import torch
from functorch import (
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional_with_buffers,
    make_fx,
    vjp,
    vmap,
)
from torch.func import functional_call, functionalize, linearize, stack_module_state

torch.manual_seed(0)
m = torch.nn.Sequential(
    torch.nn.Linear(4, 6),
    torch.nn.BatchNorm1d(6, track_running_stats=False),
    torch.nn.Tanh(),
    torch.nn.Linear(6, 2),
)
p = dict(m.named_parameters())
x, y = torch.randn(5, 4), torch.randint(0, 2, (5,))
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
q = {k: v.detach() for k, v in net.named_parameters()}


def loss(q, x, y):
    return torch.nn.functional.cross_entropy(functional_call(net, q, (x[None],)), y[None])


g = vmap(grad(loss), (None, 0, 0))(q, x, y)
print({k: v.norm().item() for k, v in g.items()})
h = vmap(hessian(lambda x: functional_call(net, q, x).square().sum()))(x)
print(h.shape, h.sum().item())
print(
    vmap(jacrev(lambda x: functional_call(net, q, x)))(x).sum().item(),
    vmap(jacfwd(lambda x: functional_call(net, q, x)))(x).sum().item(),
)
ms = [torch.nn.Linear(4, 2) for _ in range(3)]
ps, bs = stack_module_state(ms)
print(vmap(lambda p, b, x: functional_call(ms[0], (p, b), x), (0, 0, None))(ps, bs, x).sum().item())


def inner(q, x, y):
    for _ in range(2):
        gs = grad(lambda q: torch.nn.functional.cross_entropy(functional_call(net, q, (x,)), y))(q)
        q = {k: v - 0.1 * gs[k] for k, v in q.items()}
    return q


mg = grad(
    lambda q: torch.nn.functional.cross_entropy(functional_call(net, inner(q, x, y), (x,)), y)
)(q)
print({k: v.abs().sum().item() for k, v in mg.items()})
o, f = vjp(torch.sin, x)
print(
    f(torch.ones(5, 4))[0].sum().item(), jvp(torch.exp, (x,), (torch.ones_like(x),))[1].sum().item()
)
lo, lf = linearize(lambda x: x.tanh().sum(0), x)
print(lf(torch.ones_like(x)).tolist())
torch.manual_seed(3)
print(
    vmap(lambda x: x + torch.rand(()), randomness="different")(x).sum().item(),
    vmap(lambda x: torch.nn.functional.dropout(x, 0.5), randomness="same")(x).sum().item(),
    vmap(vmap(torch.dot), in_dims=(0, None))(torch.randn(2, 3, 4), torch.randn(3, 4)).shape,
    vmap(lambda a, i: a[i], (0, 0))(x, torch.randint(0, 4, (5,))).shape if False else 0,
)
fm, fp, fb = make_functional_with_buffers(torch.nn.BatchNorm1d(4))
print(fm(fp, fb, x).std().item())
gm = make_fx(lambda x: torch.sin(x).mul(2).sum())(x)
print([n.target.__name__ if callable(n.target) else n.target for n in gm.graph.nodes], gm(x).item())
print(
    vmap(lambda x: torch.linalg.solve(x @ x.T + torch.eye(3), torch.ones(3)))(torch.randn(4, 3, 3))
    .sum()
    .item(),
    vmap(torch.linalg.det)(torch.randn(4, 3, 3)).sum().item(),
    vmap(lambda x: torch.where(x > 0, x, -x).topk(2).values)(x).sum().item(),
    vmap(lambda w: torch.nn.functional.conv2d(torch.ones(1, 1, 5, 5), w))(
        torch.randn(3, 2, 1, 3, 3)
    )
    .sum()
    .item(),
    functionalize(lambda x: x.clone().add_(1))(x).sum().item(),
)
