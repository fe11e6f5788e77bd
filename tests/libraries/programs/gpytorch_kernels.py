"""gpytorch: spectral mixture, additive and product kernels, batch and multitask processes, SVGP with Adam in double precision, deep kernel."""

import math

import gpytorch
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.linspace(0, 1, 25)
y = torch.sin(x * 2 * math.pi) + 0.1 * torch.randn(25)


class G(gpytorch.models.ExactGP):
    def __init__(self, x, y, lik, k):
        super().__init__(x, y, lik)
        self.mean_module = gpytorch.means.LinearMean(1)
        self.covar_module = k

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


K = gpytorch.kernels
for k in (
    K.ScaleKernel(K.MaternKernel(nu=1.5)) + K.PeriodicKernel(),
    K.SpectralMixtureKernel(num_mixtures=2),
    K.ScaleKernel(K.RQKernel()),
    K.PolynomialKernel(2) * K.RBFKernel(),
    K.ScaleKernel(K.PiecewisePolynomialKernel(q=2)),
    K.CosineKernel() + K.ConstantKernel(),
):
    lik = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-3)
    )
    m = G(x[:, None], y, lik, k)
    m.train()
    lik.train()
    opt = torch.optim.Adam(m.parameters(), 0.05)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(lik, m)
    for i in range(10):
        opt.zero_grad()
        loss = -mll(m(x[:, None]), y)
        loss.backward()
        opt.step()
    m.eval()
    lik.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        p = lik(m(torch.linspace(0.05, 0.95, 5)[:, None]))
        print(
            type(k).__name__,
            loss.item(),
            p.mean.tolist(),
            p.variance.sum().item(),
            p.confidence_region()[0].sum().item(),
        )


class SV(gpytorch.models.ApproximateGP):
    def __init__(self, z):
        super().__init__(
            gpytorch.variational.VariationalStrategy(
                self,
                z,
                gpytorch.variational.CholeskyVariationalDistribution(len(z)),
                learn_inducing_locations=True,
            )
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = K.ScaleKernel(K.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


m = SV(torch.linspace(0, 1, 7)[:, None])
lik = gpytorch.likelihoods.GaussianLikelihood()
mll = gpytorch.mlls.VariationalELBO(lik, m, 25)
opt = torch.optim.Adam([*m.parameters(), *lik.parameters()], 0.02)
for i in range(15):
    opt.zero_grad()
    loss = -mll(m(x[:, None]), y)
    loss.backward()
    opt.step()
    print(loss.item())
m = SV(torch.linspace(0, 1, 7)[:, None])
bl = gpytorch.likelihoods.BernoulliLikelihood()
mll = gpytorch.mlls.PredictiveLogLikelihood(bl, m, 25)
opt = torch.optim.SGD([*m.parameters()], 0.1)
for i in range(8):
    opt.zero_grad()
    loss = -mll(m(x[:, None]), (y > 0).double())
    loss.backward()
    opt.step()
    print(loss.item())
