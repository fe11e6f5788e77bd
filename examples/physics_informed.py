"""Solve the heat equation with a network that knows the equation instead of the solution.

A rod that is cold at both ends cools down: u_t = k u_xx, with u = 0 at the ends and
u(x, 0) = sin(pi x) + sin(3 pi x) / 2. The network u(x, t) is never shown the solution. It is
punished where its own derivatives, taken by `torch.autograd.grad`, break the equation. Since the
loss is made of derivatives, they are computed with `create_graph=True`: the step differentiates
them once more. The exact solution is known and serves to measure the error.

    python examples/physics_informed.py
    python examples/physics_informed.py --steps 100 --log-every 1
"""

import argparse
import math

import torch
from torch import nn

DIFFUSIVITY = 0.1


def initial_temperature(x):
    return torch.sin(math.pi * x) + 0.5 * torch.sin(3 * math.pi * x)


def exact_solution(x, t):
    """Each wave keeps its shape and decays; the shorter one nine times as fast."""
    slow = torch.exp(-DIFFUSIVITY * math.pi**2 * t) * torch.sin(math.pi * x)
    fast = torch.exp(-DIFFUSIVITY * (3 * math.pi) ** 2 * t) * torch.sin(3 * math.pi * x)
    return slow + 0.5 * fast


class Temperature(nn.Module):
    """The network u(x, t). Its activation must be smooth: it is differentiated three times."""

    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_normal_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, x, t):
        return self.layers(torch.cat([x, t], dim=1))


def derivative(u, x):
    """du/dx for each row: rows do not mix, so the gradient of the sum holds all of them."""
    (result,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    return result


def physics_loss(model, points):
    """How badly the equation u_t = k u_xx is broken at random points inside the rod."""
    x = torch.rand(points, 1, requires_grad=True)
    t = torch.rand(points, 1, requires_grad=True)
    u = model(x, t)
    u_t = derivative(u, t)
    u_xx = derivative(derivative(u, x), x)
    return (u_t - DIFFUSIVITY * u_xx).square().mean()


def boundary_loss(model, points):
    """How far the ends are from zero, and the beginning from the given temperatures."""
    t = torch.rand(points, 1)
    left, right = model(torch.zeros_like(t), t), model(torch.ones_like(t), t)
    x = torch.rand(points, 1)
    start = model(x, torch.zeros_like(x)) - initial_temperature(x)
    return left.square().mean() + right.square().mean() + start.square().mean()


def error(model):
    """The error over a grid, relative to the size of the exact solution."""
    x, t = torch.meshgrid(torch.linspace(0, 1, 41), torch.linspace(0, 1, 41), indexing="ij")
    x, t = x.reshape(-1, 1), t.reshape(-1, 1)
    with torch.no_grad():
        exact = exact_solution(x, t)
        return (torch.linalg.norm(model(x, t) - exact) / torch.linalg.norm(exact)).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3000, help="number of optimisation steps")
    parser.add_argument("--log-every", type=int, default=200, help="steps between two log lines")
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--points", type=int, default=256, help="random points of each step")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    model = Temperature(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    print(f"relative error before training: {error(model):.4f}")
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        # The boundary counts more, since u = 0 everywhere satisfies the equation alone.
        loss = physics_loss(model, args.points) + 10 * boundary_loss(model, args.points // 4)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.8g}", flush=True)

    print(f"relative error after training:  {error(model):.4f}")
    print("temperatures at t = 0.5")
    x = torch.linspace(0, 1, 6).unsqueeze(1)
    t = torch.full_like(x, 0.5)
    with torch.no_grad():
        rows = torch.cat([x, model(x, t), exact_solution(x, t)], dim=1).tolist()
    for place, found, exact in rows:
        print(f"  x {place:.1f}  network {found:8.4f}  exact {exact:8.4f}")


if __name__ == "__main__":
    main()
