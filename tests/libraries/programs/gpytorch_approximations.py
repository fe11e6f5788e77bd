"""gpytorch: GP classification, deep GP, KISS-GP, SGPR, random features, natural gradients, derivative observations, LMC, priors and constraints, in double."""

import gpytorch
import torch
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.variational import CholeskyVariationalDistribution as CVD
from gpytorch.variational import (
    LMCVariationalStrategy,
    MeanFieldVariationalDistribution,
    NaturalVariationalDistribution,
    UnwhitenedVariationalStrategy,
)
from gpytorch.variational import VariationalStrategy as VS

torch.set_default_dtype(torch.double)
torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(x * 6)


class Cls(ApproximateGP):
    def __init__(self, z, dist=CVD, strat=VS):
        super().__init__(strat(self, z, dist(z.size(0)), learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(m, lik, mll, xs, ys, n=6, lr=0.05, opts=None):
    m.train()
    lik.train()
    opts = opts or [torch.optim.Adam([*m.parameters(), *lik.parameters()], lr)]
    for _ in range(n):
        [o.zero_grad() for o in opts]
        cost = -mll(m(xs), ys)
        cost = cost.sum()
        cost.backward()
        [o.step() for o in opts]
    print(type(m).__name__, cost.item())
    m.eval()
    lik.eval()


m = Cls(x[::4, None])
lik = gpytorch.likelihoods.BernoulliLikelihood()
fit(m, lik, gpytorch.mlls.VariationalELBO(lik, m, 20), x[:, None], (y > 0).double())
print(lik(m(x[:3, None])).probs.tolist())
m = Cls(x[::4, None], NaturalVariationalDistribution)
lik = gpytorch.likelihoods.GaussianLikelihood()
fit(
    m,
    lik,
    gpytorch.mlls.PredictiveLogLikelihood(lik, m, 20),
    x[:, None],
    y,
    opts=[
        gpytorch.optim.NGD(m.variational_parameters(), 20, lr=0.1),
        torch.optim.Adam([*m.hyperparameters(), *lik.parameters()], 0.01),
    ],
)
print(m(x[:3, None]).mean.tolist())
m = Cls(x[::5, None], MeanFieldVariationalDistribution, UnwhitenedVariationalStrategy)
lik = gpytorch.likelihoods.StudentTLikelihood()
fit(m, lik, gpytorch.mlls.VariationalELBO(lik, m, 20), x[:, None], y)


class Ex(ExactGP):
    def __init__(self, xs, ys, lik, k, mean=None):
        super().__init__(xs, ys, lik)
        self.mean_module = mean or gpytorch.means.ConstantMean()
        self.covar_module = k

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


K = gpytorch.kernels
for k in (
    K.ScaleKernel(
        K.GridInterpolationKernel(
            K.RBFKernel(), grid_size=16, num_dims=1, grid_bounds=[(-0.1, 1.1)]
        )
    ),
    K.ScaleKernel(K.RFFKernel(num_samples=12)),
    K.InducingPointKernel(
        K.ScaleKernel(K.MaternKernel(1.5)),
        x[::5, None].clone(),
        gpytorch.likelihoods.GaussianLikelihood(),
    ),
    K.PeriodicKernel() * K.LinearKernel() + K.RQKernel(),
    K.ScaleKernel(K.PolynomialKernel(2)),
    K.CosineKernel(),
    K.PiecewisePolynomialKernel(q=2),
    K.ScaleKernel(
        K.MaternKernel(
            2.5,
            lengthscale_prior=gpytorch.priors.GammaPrior(3.0, 6.0),
            lengthscale_constraint=gpytorch.constraints.Interval(0.01, 2.0),
        )
    ),
):
    torch.manual_seed(1)
    lik = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-3)
    )
    m = Ex(x, y, lik, k, gpytorch.means.LinearMean(1))
    fit(m, lik, gpytorch.mlls.ExactMarginalLogLikelihood(lik, m), x, y, 4)
    p = lik(m(torch.tensor([0.33, 0.77])))
    print(type(k).__name__, p.mean.tolist(), p.variance.tolist())


class Deriv(ExactGP):
    def __init__(self, xs, ys, lik):
        super().__init__(xs, ys, lik)
        self.mean_module = gpytorch.means.ConstantMeanGrad()
        self.covar_module = K.ScaleKernel(K.RBFKernelGrad())

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(
            self.mean_module(x), self.covar_module(x)
        )


lik = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
m = Deriv(x, torch.stack([y, 6 * torch.cos(6 * x)], 1), lik)
fit(
    m,
    lik,
    gpytorch.mlls.ExactMarginalLogLikelihood(lik, m),
    x,
    torch.stack([y, 6 * torch.cos(6 * x)], 1),
    4,
)
print(lik(m(x[3:5] + 0.01)).mean.tolist())


class LMC(ApproximateGP):
    def __init__(self):
        z = torch.rand(2, 5, 1)
        super().__init__(
            LMCVariationalStrategy(
                VS(self, z, CVD(5, batch_shape=torch.Size([2]))),
                num_tasks=3,
                num_latents=2,
                latent_dim=-1,
            )
        )
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=torch.Size([2]))
        self.covar_module = K.ScaleKernel(
            K.RBFKernel(batch_shape=torch.Size([2])), batch_shape=torch.Size([2])
        )

    forward = Cls.forward


m = LMC()
lik = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=3)
fit(m, lik, gpytorch.mlls.VariationalELBO(lik, m, 20), x[:, None], torch.stack([y, y * 2, -y], 1))
print(m(x[:2, None]).mean.tolist())


class Layer(DeepGPLayer):
    def __init__(self, i, o):
        b = torch.Size([o]) if o else torch.Size([])
        z = torch.randn(*b, 6, i)
        super().__init__(VS(self, z, CVD(6, batch_shape=b)), i, o)
        self.mean_module = gpytorch.means.LinearMean(i) if o else gpytorch.means.ConstantMean()
        self.covar_module = K.ScaleKernel(K.RBFKernel(batch_shape=b, ard_num_dims=i), batch_shape=b)

    forward = Cls.forward


class Deep(DeepGP):
    def __init__(self):
        super().__init__()
        self.a = Layer(1, 2)
        self.b = Layer(2, None)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()

    def forward(self, x):
        return self.b(self.a(x))


m = Deep()
torch.manual_seed(2)
with gpytorch.settings.num_likelihood_samples(4):
    fit(
        m,
        m.likelihood,
        gpytorch.mlls.DeepApproximateMLL(gpytorch.mlls.VariationalELBO(m.likelihood, m, 20)),
        x[:, None],
        y,
    )
with gpytorch.settings.fast_pred_var(), gpytorch.settings.max_root_decomposition_size(10):
    m = Ex(x, y, lik := gpytorch.likelihoods.GaussianLikelihood(), K.ScaleKernel(K.RBFKernel()))
    m.eval()
    print(m(x[:3] + 0.02).variance.tolist(), {n: p.tolist() for n, p in m.named_hyperparameters()})
