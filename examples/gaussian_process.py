"""Gaussian process regression, with the kernel's parameters found by gradient ascent.

A Gaussian process gives a curve with error bars from a few noisy measurements. How wide and how
high its bumps are, and how noisy the measurements, is learnt by making the data as likely as
possible: the gradient of the marginal likelihood goes through a Cholesky factorisation. Such
matrices are badly conditioned, so everything is in float64.

    python examples/gaussian_process.py
    python examples/gaussian_process.py --points 40 --noise 0.2 --steps 100 --log-every 1
"""

import argparse
import math

import torch
from torch import nn


def true_function(x):
    return torch.sin(3 * x) + 0.3 * x


class GaussianProcess(nn.Module):
    """A process with the RBF kernel, conditioned on measurements y at places x."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        # The parameters are positive, so their logarithms are learnt.
        self.log_length = nn.Parameter(torch.zeros((), dtype=x.dtype))
        self.log_height = nn.Parameter(torch.zeros((), dtype=x.dtype))
        self.log_noise = nn.Parameter(torch.tensor(-1.0, dtype=x.dtype))

    def kernel(self, a, b):
        """How much the values at places `a` and `b` have in common."""
        squared_distance = (a.unsqueeze(1) - b.unsqueeze(0)).square()
        shape = torch.exp(-0.5 * squared_distance / torch.exp(2 * self.log_length))
        return torch.exp(2 * self.log_height) * shape

    def factor(self):
        """The Cholesky factor of the covariance of the measurements."""
        noise = torch.exp(2 * self.log_noise) * torch.eye(len(self.x), dtype=self.x.dtype)
        return torch.linalg.cholesky(self.kernel(self.x, self.x) + noise)

    def negative_log_likelihood(self):
        """Minus the logarithm of the density of the measurements, per measurement."""
        L = self.factor()
        weights = torch.cholesky_solve(self.y.unsqueeze(1), L).squeeze(1)
        fit = 0.5 * self.y @ weights
        # The determinant of a triangular matrix is the product of its diagonal.
        half_log_determinant = L.diagonal().log().sum()
        constant = 0.5 * len(self.y) * math.log(2 * math.pi)
        return (fit + half_log_determinant + constant) / len(self.y)

    @torch.no_grad()
    def predict(self, places):
        """The mean and the standard deviation of the function at `places`."""
        L = self.factor()
        cross = self.kernel(self.x, places)
        mean = cross.t() @ torch.cholesky_solve(self.y.unsqueeze(1), L).squeeze(1)
        explained = torch.linalg.solve_triangular(L, cross, upper=False).square().sum(dim=0)
        variance = torch.exp(2 * self.log_height) - explained
        return mean, variance.clamp(min=0).sqrt()


def print_predictions(places, mean, deviation, truth):
    """A table, and beside it the curve: `*` is the mean, `(` and `)` two deviations from it."""
    width, low, high = 41, -2.5, 2.5

    def column(value):
        return min(max(round((value - low) / (high - low) * (width - 1)), 0), width - 1)

    print("     x      mean   +-2 dev     truth")
    rows = zip(places.tolist(), mean.tolist(), deviation.tolist(), truth.tolist(), strict=True)
    for place, centre, spread, value in rows:
        line = [" "] * width
        line[column(centre - 2 * spread)] = "("
        line[column(centre + 2 * spread)] = ")"
        line[column(centre)] = "*"
        picture = "".join(line)
        print(f"{place:6.2f}  {centre:8.4f}  {2 * spread:8.4f}  {value:8.4f}  |{picture}|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300, help="number of optimisation steps")
    parser.add_argument("--log-every", type=int, default=20, help="steps between two log lines")
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--points", type=int, default=25, help="number of measurements")
    parser.add_argument("--noise", type=float, default=0.1, help="their standard deviation")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    x = 4 * torch.rand(args.points, dtype=torch.float64) - 2
    y = true_function(x) + args.noise * torch.randn(args.points, dtype=torch.float64)

    model = GaussianProcess(x, y)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        loss = model.negative_log_likelihood()
        loss.backward()
        optimizer.step()
        if step % args.log_every == 0:
            print(f"step {step}  loss {loss.item():.10g}", flush=True)

    length, height, noise = (p.exp().item() for p in model.parameters())
    print(f"length {length:.4f}, height {height:.4f}, noise {noise:.4f} (true {args.noise:.4f})")
    # Beyond -2 and 2 nothing was measured: there the error bars grow.
    places = torch.linspace(-3, 3, 25, dtype=torch.float64)
    mean, deviation = model.predict(places)
    print_predictions(places, mean, deviation, true_function(places))


if __name__ == "__main__":
    main()
