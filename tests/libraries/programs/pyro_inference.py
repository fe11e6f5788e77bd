"""pyro: stochastic variational inference, Hamiltonian Monte Carlo, importance sampling, enumeration."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import (
    MCMC,
    NUTS,
    SVI,
    EmpiricalMarginal,
    Importance,
    Predictive,
    Trace_ELBO,
    TraceEnum_ELBO,
    config_enumerate,
)
from pyro.infer.autoguide import AutoDiagonalNormal, AutoMultivariateNormal, AutoNormal
from pyro.nn import PyroModule, PyroSample
from pyro.optim import Adam, ClippedAdam

pyro.set_rng_seed(0)
data = torch.tensor([1.0] * 6 + [0.0] * 4)


def coin(data):
    fairness = pyro.sample("fairness", dist.Beta(10.0, 10.0))
    with pyro.plate("data", len(data)):
        pyro.sample("flip", dist.Bernoulli(fairness), obs=data)


def guide(data):
    a = pyro.param("a", torch.tensor(15.0), constraint=dist.constraints.positive)
    b = pyro.param("b", torch.tensor(15.0), constraint=dist.constraints.positive)
    pyro.sample("fairness", dist.Beta(a, b))


svi = SVI(coin, guide, Adam({"lr": 0.005}), loss=Trace_ELBO())
for step in range(20):
    loss = svi.step(data)
print("coin", loss, pyro.param("a").item(), pyro.param("b").item())


class Regression(PyroModule):
    def __init__(self):
        super().__init__()
        self.linear = PyroModule[torch.nn.Linear](2, 1)
        self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))
        self.linear.bias = PyroSample(dist.Normal(0.0, 10.0).expand([1]).to_event(1))

    def forward(self, x, y=None):
        sigma = pyro.sample("sigma", dist.Uniform(0.0, 10.0))
        mean = self.linear(x).squeeze(-1)
        with pyro.plate("data", x.shape[0]):
            pyro.sample("obs", dist.Normal(mean, sigma), obs=y)
        return mean


x = torch.randn(30, 2)
y = x @ torch.tensor([1.0, -2.0]) + 0.5
for kind in (AutoDiagonalNormal, AutoNormal, AutoMultivariateNormal):
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    model = Regression()
    auto = kind(model)
    svi = SVI(model, auto, ClippedAdam({"lr": 0.03}), Trace_ELBO(num_particles=2))
    losses = [svi.step(x, y) for _ in range(15)]
    print(kind.__name__, *losses)
    draws = Predictive(model, guide=auto, num_samples=4)(x)
    print(draws["obs"].shape, draws["obs"].mean().item(), draws["sigma"].mean().item())


def normal(observed):
    mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 0.5))
    with pyro.plate("rows", len(observed)):
        pyro.sample("obs", dist.Normal(mean, scale), obs=observed)


pyro.set_rng_seed(2)
chain = MCMC(NUTS(normal), num_samples=15, warmup_steps=10, disable_progbar=True)
chain.run(torch.tensor([0.3, 0.8, 1.1, 0.5]))
for name, draws in chain.get_samples().items():
    print("nuts", name, draws.shape, draws[:5].tolist())


@config_enumerate
def mixture(observed):
    weights = pyro.param("weights", torch.tensor([0.4, 0.6]), constraint=dist.constraints.simplex)
    locations = pyro.param("locations", torch.tensor([0.0, 4.0]))
    with pyro.plate("rows", len(observed)):
        which = pyro.sample("which", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(locations[which], 1.0), obs=observed)


pyro.clear_param_store()
svi = SVI(mixture, lambda observed: None, Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
for _ in range(10):
    loss = svi.step(torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0]))
print("mixture", loss, *pyro.param("locations").tolist(), *pyro.param("weights").tolist())
pyro.set_rng_seed(3)
posterior = Importance(coin, num_samples=20).run(data)
print("importance", EmpiricalMarginal(posterior, "fairness").mean.item())
trace = pyro.poutine.trace(pyro.poutine.condition(coin, {"fairness": torch.tensor(0.4)})).get_trace(
    data
)
print("trace", trace.log_prob_sum().item(), list(trace.nodes))
