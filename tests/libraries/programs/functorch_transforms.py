"""functorch: vmap, grad, jacobians, hessians, per-sample gradients, ensembles."""

import functorch
import torch
from functorch import (
    combine_state_for_ensemble,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    vjp,
    vmap,
)

torch.manual_seed(0)
x, y = torch.randn(5, 3), torch.randint(0, 2, (5,))
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
function, parameters = make_functional(model)


def loss(parameters, sample, target):
    return torch.nn.functional.cross_entropy(function(parameters, sample[None]), target[None])


for each in vmap(grad(loss), (None, 0, 0))(parameters, x, y):
    print(*each.shape, each.sum().item(), each.abs().sum().item())
f = lambda v: (v.sin() * v.sum()).square()  # noqa: E731
print(*jacrev(f)(x[0]).flatten().tolist(), *jacfwd(f)(x[0]).flatten().tolist())
print(*hessian(lambda v: f(v).sum())(x[0]).flatten().tolist())
out, pull = vjp(f, x[0])
print(
    *out.tolist(), *pull(torch.ones(3))[0].tolist(), *jvp(f, (x[0],), (torch.ones(3),))[1].tolist()
)
models = [torch.nn.Linear(3, 2) for _ in range(3)]
ensemble, stacked, buffers = combine_state_for_ensemble(models)
print(*vmap(ensemble, (0, 0, None))(stacked, buffers, x).sum((1, 2)).tolist())
print(
    vmap(lambda v: v * 2, chunk_size=2)(x).sum().item(),
    functorch.vmap(torch.dot)(x, x).sum().item(),
)
print(torch.func.functional_call(model, dict(model.named_parameters()), (x,)).sum().item())
