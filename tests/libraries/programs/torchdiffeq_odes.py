"""torchdiffeq, torchsde and torchcde: solve and learn differential equations, also by the adjoint."""

import torch
import torchcde
import torchsde
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )

    def forward(self, t, y):
        return self.net(y**3)


field = Field()
times = torch.linspace(0, 1, 5)
start = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
for method in ("dopri5", "rk4", "euler", "bosh3", "adaptive_heun", "implicit_adams", "dopri8"):
    print(method, *odeint(field, start, times, method=method)[-1].flatten().tolist())
optimizer = torch.optim.RMSprop(field.parameters(), 1e-2)
for solve in (odeint, odeint_adjoint):
    for _ in range(3):
        loss = solve(field, start, times)[-1].abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(solve.__name__, loss.item())
time, state = odeint_event(
    lambda t, y: -torch.ones_like(y),
    torch.tensor([1.0]),
    torch.tensor(0.0),
    event_fn=lambda t, y: y - 0.3,
)
print("event", time.item(), state[-1].item())


class Noisy(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift, self.spread = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return self.spread(y).sigmoid()


noisy = Noisy()
motion = torchsde.BrownianInterval(
    t0=0.0, t1=1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time"
)
for method in ("euler", "milstein", "srk"):
    out = torchsde.sdeint(noisy, torch.ones(4, 3), times, bm=motion, method=method, dt=0.1)
    print(method, out[-1].sum().item())
loss = (
    torchsde.sdeint_adjoint(noisy, torch.ones(4, 3), times, bm=motion, method="euler", dt=0.1)[-1]
    .square()
    .mean()
)
loss.backward()
print("adjoint", loss.item(), noisy.drift.weight.grad.sum().item())


class Controlled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8)

    def forward(self, t, z):
        return self.linear(z).tanh().reshape(-1, 4, 2)


path = torch.cumsum(torch.randn(3, 10, 2), 1)
spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(path))
controlled = Controlled()
z = torchcde.cdeint(
    spline, controlled, torch.ones(3, 4), spline.interval, adjoint=False, method="rk4"
)
z[:, -1].sum().backward()
print("controlled", *z[:, -1].flatten().tolist(), controlled.linear.weight.grad.sum().item())
