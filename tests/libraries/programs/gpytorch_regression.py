"""gpytorch: exact, variational and multitask Gaussian processes: fit, predict, save, load."""

import io
import math

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(x * 2 * math.pi) + torch.randn(20) * 0.1


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(x, y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for i in range(15):
    optimizer.zero_grad()
    loss = -marginal(model(x), y)
    loss.backward()
    optimizer.step()
    print(
        i, loss.item(), model.covar_module.base_kernel.lengthscale.item(), likelihood.noise.item()
    )
model.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    predicted = likelihood(model(torch.linspace(0, 1, 7)))
    low, high = predicted.confidence_region()
print("mean", *predicted.mean.tolist())
print("region", *low.tolist(), *high.tolist())
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
again = Exact(x, y, gpytorch.likelihoods.GaussianLikelihood())
again.load_state_dict(torch.load(file))
again.eval()
print("again", *again(torch.tensor([0.3, 1.2])).mean.tolist())


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        strategy = gpytorch.variational.VariationalStrategy(self, points, distribution)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.LinearMean(1)
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(1)
model = Variational(torch.linspace(0, 1, 6)[:, None])
likelihood = gpytorch.likelihoods.GaussianLikelihood()
bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
for i in range(10):
    optimizer.zero_grad()
    loss = -bound(model(x[:, None]), y)
    loss.backward()
    optimizer.step()
    print("variational", i, loss.item())
model.eval()
print(*model(torch.tensor([[0.1], [0.9]])).variance.tolist())


class Multitask(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
        self.covar_module = gpytorch.kernels.MultitaskKernel(
            gpytorch.kernels.RBFKernel() + gpytorch.kernels.PeriodicKernel(), num_tasks=2, rank=1
        )

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(
            self.mean_module(x), self.covar_module(x)
        )


torch.manual_seed(2)
both = torch.stack([y, y.flip(0)], -1)
likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
model = Multitask(x, both, likelihood)
marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for i in range(5):
    optimizer.zero_grad()
    loss = -marginal(model(x), both)
    loss.backward()
    optimizer.step()
    print("multitask", i, loss.item())
model.eval()
print(*model(torch.tensor([0.5])).mean.flatten().tolist())
