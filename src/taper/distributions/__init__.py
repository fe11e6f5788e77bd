"""Probability distributions, as `torch.distributions`: samples, densities, transforms, constraints.

This file is the list of names; each of them loads its module when it is first used.

>>> import taper
>>> normal = taper.distributions.Normal(0.0, 2.0)
>>> normal.log_prob(taper.tensor(1.0))
tensor(-1.7371)
>>> generator = taper.manual_seed(0)
>>> normal.sample((3,))
tensor([ 3.0820, -0.5869, -4.3576])
"""

from __future__ import annotations

import sys

from taper.first_use import Whole, on_first_use

# What each module provides, in the order of the public list.
_PROVIDES = {
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "binomial": "Binomial",
    "categorical": "Categorical",
    "cauchy": "Cauchy",
    "chi2": "Chi2",
    "continuous_bernoulli": "ContinuousBernoulli",
    "dirichlet": "Dirichlet",
    "distribution": "Distribution",
    "exponential": "Exponential",
    "exp_family": "ExponentialFamily",
    "fishersnedecor": "FisherSnedecor",
    "gamma": "Gamma",
    "generalized_pareto": "GeneralizedPareto",
    "geometric": "Geometric",
    "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "independent": "Independent",
    "inverse_gamma": "InverseGamma",
    "kumaraswamy": "Kumaraswamy",
    "lkj_cholesky": "LKJCholesky",
    "laplace": "Laplace",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily",
    "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "normal": "Normal",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto",
    "relaxed_bernoulli": "RelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "poisson": "Poisson",
    "uniform": "Uniform",
    "von_mises": "VonMises",
    "weibull": "Weibull",
    "wishart": "Wishart",
    "transformed_distribution": "TransformedDistribution",
    "constraint_registry": "biject_to transform_to",
    "kl": "kl_divergence register_kl",
    "transforms": """
        AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform
        CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform
        PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform
        SoftplusTransform TanhTransform SoftmaxTransform StackTransform StickBreakingTransform
        Transform identity_transform
    """,
    "constraints": "",
    "utils": "",
}
_MODULE_OF = {name: module for module, names in _PROVIDES.items() for name in names.split()}

__all__ = list(_MODULE_OF)

__getattr__, __dir__ = on_first_use(globals(), _PROVIDES, _MODULE_OF)
sys.modules[__name__].__class__ = Whole  # pyro walks through `__dict__`
