"""botorch: Bayesian optimisation of a function of two numbers with several acquisition functions."""

import warnings

import torch
from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
    qLogNoisyExpectedImprovement,
)  # fmt: skip
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.filterwarnings("ignore")
torch.manual_seed(0)
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)


def objective(x):
    return -((x - torch.tensor([0.3, 0.7], dtype=torch.double)) ** 2).sum(-1, keepdim=True)


x = torch.rand(6, 2, dtype=torch.double)
y = objective(x)
for round_nr in range(3):
    model = SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    search = LogExpectedImprovement(model, best_f=y.max())
    point, value = optimize_acqf(search, bounds, q=1, num_restarts=2, raw_samples=8)
    x, y = torch.cat([x, point]), torch.cat([y, objective(point)])
    print(round_nr, *[round(v, 3) for v in point.flatten().tolist()], round(y.max().item(), 3))
torch.manual_seed(1)
points = torch.rand(3, 1, 2, dtype=torch.double)
model = SingleTaskGP(x[:6], y[:6])
model.eval()
for search in (
    ExpectedImprovement(model, y.max()),
    UpperConfidenceBound(model, 0.2),
    LogExpectedImprovement(model, y.max()),
):
    print(type(search).__name__, *search(points).tolist())
sampler = SobolQMCNormalSampler(torch.Size([16]), seed=3)
print("qEI", *qExpectedImprovement(model, y.max(), sampler)(points).tolist())
print("qLogNEI", *qLogNoisyExpectedImprovement(model, x[:6], sampler)(points).tolist())
print(*draw_sobol_samples(bounds, 2, 2, seed=5).flatten().tolist())
posterior = model.posterior(points[:, 0])
print(*posterior.mean.flatten().tolist(), *posterior.variance.flatten().tolist())
