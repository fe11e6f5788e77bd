"""higher: gradients through the inner loop of MAML."""

import higher
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
outer = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(4):
    outer.zero_grad()
    total = 0
    for phase in (0.0, 1.0):
        x = torch.linspace(-2, 2, 10)[:, None]
        y = torch.sin(x + phase)
        inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (
            fast,
            fast_optimizer,
        ):
            for _ in range(3):
                fast_optimizer.step((fast(x) - y).square().mean())
            loss = (fast(x) - y).square().mean()
            loss.backward()
            total += loss.item()
    outer.step()
    print(step, total, model[0].weight.grad.abs().sum().item())
rate = torch.tensor([0.1], requires_grad=True)
inner = torch.optim.Adam(model.parameters(), lr=0.1)
with higher.innerloop_ctx(model, inner, override={"lr": [rate]}) as (fast, fast_optimizer):
    for _ in range(2):
        fast_optimizer.step((fast(x) - y).square().mean())
    loss = (fast(x) - y).square().mean()
    print("rate", *[g.item() for g in torch.autograd.grad(loss, rate)])
