"""Discrete, gamma-like and multivariate distributions and divergences against PyTorch."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from torch.distributions import kl as their_kl

import taper
from both_packages import assert_same
from distribution_rows import Row, outcome_of, programs, question
from taper.distributions import kl as our_kl

PAIR = "t([0.3, 0.9])"
SQUARE = "t([[2.0, 0.5], [0.5, 1.0]])"
SQUARES = "t([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 3.0]]])"
TRIANGLE = "t([[2.0, 0.0], [0.5, 1.0]])"
PLACE = "t([0.3, -1.0])"
PLACES = "t([[[0.3, -1.0]], [[1.0, 2.0]], [[0.0, 0.0]]])"
FACTOR = "t([[1.0], [0.5]])"
WISHART = "(lambda a: a @ a.mT)(torch.randn(3, 2, 4).to(d.df.dtype))"

ROWS = [
    Row("Bernoulli(0.3)", dtype="float32"),
    Row(f"Bernoulli({PAIR})"),
    Row("Bernoulli(t([0.0, 1.0, 0.5]))", batch=(2, 3)),
    Row("Bernoulli(logits=t([[0.3], [-0.9]]))", batch=(3, 2, 1)),
    Row(f"Bernoulli({PAIR}, validate_args=False)", value="c([0.3, 1.5])"),
    Row("Binomial(5, c(0.3))", dtype="float32"),
    Row(f"Binomial(5, {PAIR})"),
    Row(f"Binomial(c([3, 40]), {PAIR})"),
    Row(f"Binomial(c([[3], [40]]), logits={PAIR})", batch=(4, 2, 2)),
    Row("Binomial(4, t([0.0, 1.0]))"),
    Row(f"Binomial(5, {PAIR}, validate_args=False)", value="c([-1.5, 6.0])"),
    Row("Categorical(c([0.3, 0.9, 0.1]))", dtype="float32"),
    Row("Categorical(t([0.3, 0.9, 0.1]))"),
    Row("Categorical(t([[0.3, 0.9, 0.1], [0.0, 1.0, 2.0]]))"),
    Row("Categorical(logits=t([[0.3, -0.9, 0.1], [-inf, 1.0, 2.0]]))"),
    Row("Categorical(t([[0.3, 0.9], [1.0, 2.0]]))", value="torch.tensor(1)"),
    Row("OneHotCategorical(c([0.3, 0.9, 0.1]))", dtype="float32"),
    Row("OneHotCategorical(t([[0.3, 0.9, 0.1], [0.0, 1.0, 2.0]]))"),
    Row("OneHotCategorical(logits=t([0.3, -0.9, 0.1]))"),
    Row("OneHotCategoricalStraightThrough(t([[0.3, 0.9, 0.1], [0.0, 1.0, 2.0]]))"),
    Row("OneHotCategoricalStraightThrough(logits=t([0.3, -0.9, 0.1]))"),
    Row("Multinomial(4, c([0.3, 0.9, 0.1]))", dtype="float32"),
    Row("Multinomial(4, t([[0.3, 0.9, 0.1], [0.5, 1.0, 2.0]]))"),
    Row("Multinomial(7, logits=t([0.3, -0.9, 0.1]))"),
    Row("Multinomial(3, logits=t([-inf, 1.0, 2.0]))", value="c([0.0, 1.0, 2.0])"),
    Row("Multinomial(0, t([0.5, 0.5]))"),
    Row("Geometric(0.3)", dtype="float32"),
    Row("Geometric(t([0.3, 1.0]))"),
    Row("Geometric(t([0.3, 1.0]))", value="c([[0.0, 0.0], [2.0, 3.0]])"),
    Row("Geometric(logits=t([[0.3], [-0.9]]))", batch=(3, 2, 1)),
    Row("NegativeBinomial(3, c(0.3))", dtype="float32"),
    Row(f"NegativeBinomial(t([3.0, 0.5]), {PAIR})"),
    Row("NegativeBinomial(t([3.0, 40.0]), logits=t([0.3, -0.9]))"),
    Row("NegativeBinomial(t([0.0, 4.0]), t([0.3, 0.6]))", value="c([0.0, 2.0])"),
    Row("Poisson(3)", dtype="float32"),
    Row("Poisson(t([0.3, 30.0]))"),
    Row("Poisson(t([0.0, 2.0]))", value="c([[0.0, 1.0], [3.0, 2.0]])"),
    Row("Gamma(1.5, 2)", dtype="float32"),
    Row("Gamma(t([0.3, 9.0]), t([1.0, 0.5]))"),
    Row("Gamma(t([[0.3], [9.0]]), t([1.0, 0.5]))", batch=(3, 2, 2), dtype="float32"),
    Row("Gamma(t([1.0, 2.0, 0.5]), 1.0)", value="c([[0.0], [4.0]])", batch=(2, 3)),
    Row("Beta(0.5, 2)", dtype="float32"),
    Row("Beta(t([0.3, 9.0]), t([1.0, 0.5]))"),
    Row("Beta(t([1.0, 2.0, 0.5, 0.2]), t([1.0, 3.0, 0.5, 0.9]))", batch=(2, 4)),
    Row("Beta(t([30.0, 7.0]), t([20.0, 9.0]))"),
    Row("Beta(t([[0.3], [9.0]]), 1.5)", batch=(3, 2, 1)),
    Row("Dirichlet(c([0.3, 0.9, 2.0]))", dtype="float32"),
    Row("Dirichlet(t([0.3, 0.9, 2.0]))"),
    Row("Dirichlet(t([[0.3, 0.9, 0.2], [5.0, 1.0, 20.0], [1.0, 1.0, 1.0]]))", batch=(2, 3)),
    Row("Dirichlet(t([0.3, 0.9, 0.2]))"),
    Row("Chi2(3)", dtype="float32"),
    Row("Chi2(t([0.3, 9.0]))"),
    Row("Exponential(3)", dtype="float32"),
    Row("Exponential(t([0.3, 9.0]))"),
    Row("Exponential(t([[0.3], [9.0]]), validate_args=False)", value="c(-1.0)", batch=(3, 2, 1)),
    Row("FisherSnedecor(3, 5)", dtype="float32"),
    Row("FisherSnedecor(t([1.0, 3.0, 5.0, 7.0]), t([2.0, 3.0, 4.5, 9.0]))", batch=(2, 4)),
    Row("FisherSnedecor(t([[1.0], [6.0]]), t([9.0, 8.0]))", batch=(3, 2, 2)),
    Row("InverseGamma(3, 5)", dtype="float32"),
    Row("InverseGamma(t([0.5, 1.5, 3.0]), t([2.0, 1.0, 0.5]))", batch=(2, 3)),
    Row("StudentT(3)", dtype="float32"),
    Row("StudentT(t([0.5, 1.5, 3.0]), t([2.0, 1.0, 0.5]), t([1.0, 2.0, 0.1]))", batch=(2, 3)),
    Row("StudentT(t([[0.5], [30.0]]), t([2.0, 1.0]))", batch=(3, 2, 2)),
    Row("MultivariateNormal(c([0.3, 1.0]), torch.eye(2))", dtype="float32"),
    Row(f"MultivariateNormal({PLACE}, {SQUARE})"),
    Row(f"MultivariateNormal({PLACE}, precision_matrix={SQUARE})"),
    Row(f"MultivariateNormal({PLACE}, scale_tril={TRIANGLE})"),
    Row(f"MultivariateNormal({PLACE}, {SQUARES})"),
    Row(f"MultivariateNormal({PLACES}, {SQUARES})", batch=(4, 3, 2)),
    Row(f"MultivariateNormal({PLACES}, precision_matrix={SQUARES})", batch=(4, 3, 2)),
    Row(f"MultivariateNormal({PLACES}, scale_tril={TRIANGLE})", batch=(4, 3, 1)),
    Row(
        "LowRankMultivariateNormal(c([0.3, 1.0]), c([[1.0], [2.0]]), c([1.0, 2.0]))",
        dtype="float32",
    ),
    Row(f"LowRankMultivariateNormal({PLACE}, {FACTOR}, {PAIR})"),
    Row(f"LowRankMultivariateNormal({PLACES}, {FACTOR}, {PAIR})", batch=(4, 3, 1)),
    Row(
        "LowRankMultivariateNormal(t([[0.3, 1.0, 2.0], [0.0, 0.0, 1.0]]),"
        " t([[[1.0, 0.0], [2.0, 1.0], [0.5, 0.1]]]), t([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]]))"
    ),
    Row("Wishart(3, torch.eye(2))", dtype="float32", value=WISHART, factor=10),
    Row(f"Wishart(t(3.0), {SQUARE})", value=WISHART),
    Row(f"Wishart(t(3.5), precision_matrix={SQUARE})", value=WISHART),
    Row(f"Wishart(t(4.5), scale_tril={TRIANGLE})", value=WISHART),
    Row(f"Wishart(t([3.0, 2.5]), {SQUARE})", value=WISHART.replace("3, 2", "3, 1, 2")),
    Row(
        f"Wishart(t([[3.0], [4.5]]), {SQUARES})",
        value=WISHART.replace("3, 2", "3, 1, 1, 2"),
        batch=(3, 2, 2),
    ),
    Row("Wishart(t(1.5), c([[1.0, 0.0], [0.0, 1.0]]))", value=WISHART, factor=1e4),
]
PROGRAMS = [
    (name, program, row)
    for name, program, row in programs(ROWS)
    # Their gradients raise: that of a concentration, and in PyTorch of several Wishart matrices.
    if not name.startswith(("cdf of Gamma(t", "cdf of InverseGamma(t", "cdf of Chi2(t"))
    and not name.startswith(("rsample of Wishart(t", "expanded rsample of Wishart(t"))
]
CDF = "d.cdf(c([[0.1], [1.5]]))"
WISHARTS = [
    f"Wishart(t(3.0), {SQUARE})",
    f"Wishart(t(3.5), precision_matrix={SQUARE})",
    f"Wishart(t([3.0, 2.5]), scale_tril={TRIANGLE})",
    f"Wishart(t([[3.0], [4.5]]), {SQUARES})",
]


@pytest.mark.parametrize("name, program, row", PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
def test_aspect_of_a_distribution(name, program, row):
    assert_same(torch, program, dtype=row.dtype, saved=False, factor=row.factor)


# --- what only some of them have -------------------------------------------------------------

NATURAL = "d._natural_params, d._log_normalizer(*d._natural_params)"
BINARY = "d.probs, d.logits, d.param_shape, d._new(2).shape"
MATRICES = "d.covariance_matrix, d.precision_matrix, d.scale_tril"
PARTS = {
    f"Bernoulli({PAIR})": (BINARY, "d.probs, d.logits, repr(d), repr(d.expand((4, 2)))", NATURAL),
    f"Bernoulli(logits={PAIR})": (BINARY, "d._param is d.logits, d.probs, repr(d)"),
    f"Binomial(3, {PAIR})": (BINARY, "d.total_count", "Binomial.support.event_dim"),
    f"Binomial(c([3.0, 4.0]), logits={PAIR})": (BINARY, "d.total_count"),
    "Categorical(t([[0.3, 0.9], [1.0, 2.0]]))": (
        BINARY,
        "d._num_events, d.expand((4, 2)).param_shape, d.expand((4, 2)).logits",
        "d.log_prob(c([[0.0, 1.0], [1.0, 1.0]]))",
        "Categorical.support.is_discrete, Categorical.support.event_dim",
    ),
    "Categorical(logits=t([[0.3, 0.9], [1.0, 2.0]]))": (BINARY,),
    "OneHotCategorical(t([[0.3, 0.9], [1.0, 2.0]]))": (BINARY, "d._param"),
    "Multinomial(3, t([[0.3, 0.9], [1.0, 2.0]]))": (
        BINARY,
        "d.total_count, repr(d._categorical), repr(d._binomial)",
        "d.expand((3, 2)).entropy()",
        "Multinomial.support.event_dim",
    ),
    f"Geometric({PAIR})": ("d.probs, d.logits",),
    f"NegativeBinomial(3, {PAIR})": (BINARY, "d.total_count, d._gamma.rate", "d._gamma"),
    "Poisson(t([0.3, 9.0]))": (NATURAL,),
    "Gamma(t([0.3, 9.0]), t([1.0, 0.5]))": (NATURAL, "d.log_prob(torch.tensor(3))"),
    "Beta(t([0.3, 9.0]), t([1.0, 0.5]))": (NATURAL, "d.concentration1, d.concentration0"),
    "Beta(1, 2)": (NATURAL, "d.concentration1, d.concentration0", "d.expand((2,))._dirichlet"),
    "Dirichlet(t([0.3, 9.0]))": (NATURAL, "type(d.rsample().grad_fn).__name__"),
    "Chi2(t([0.3, 9.0]))": ("d.df, d.concentration, d.rate", "repr(d.expand((3, 2)))"),
    "Exponential(t([0.3, 9.0]))": (NATURAL,),
    "FisherSnedecor(t([3.0, 5.0]), 4)": ("repr(d._gamma1), d._gamma2.rate",),
    "InverseGamma(t([3.0, 5.0]), 4)": ("d.concentration, d.rate", "repr(d.transforms)"),
    "StudentT(t([3.0, 5.0]))": ("d.loc, d.scale, d._chi2.df",),
    f"MultivariateNormal({PLACE}, {SQUARES})": (MATRICES, "list(d.__dict__)"),
    f"MultivariateNormal({PLACE}, precision_matrix={SQUARES})": (MATRICES,),
    f"MultivariateNormal({PLACES}, scale_tril={TRIANGLE})": (
        MATRICES,
        "d.expand((4, 3, 1)).covariance_matrix",
    ),
    f"MultivariateNormal({PLACE}, scale_tril=t([[[[2.0, 0.0], [0.5, 1.0]]]]).expand(3, 4, 2, 2))": (
        "d.log_prob(c([[[[0.3, 1.0]]], [[[1.0, 0.0]]]]))",
        "d.log_prob(torch.arange(48.0, dtype=torch.float64).view(2, 3, 4, 2) / 10)",
    ),
    f"LowRankMultivariateNormal({PLACES}, {FACTOR}, {PAIR})": (MATRICES, "list(d.__dict__)"),
    f"Wishart(t([3.0, 4.5]), {SQUARES})": (
        MATRICES,
        NATURAL,
        "d.df, d._dist_chi2.df, d._batch_dims",
    ),
    f"Wishart(t(3.0), precision_matrix={SQUARE})": (
        MATRICES,
        "d.rsample((2,), max_try_correction=0), torch.rand(1)",
        "d._bartlett_sampling((2,))",
    ),
    "Wishart(t(3.0), c([[2.0]]))": (MATRICES, "d.sample((2,))", "d.mode"),
}
QUESTIONS = [(text, given) for given, texts in PARTS.items() for text in texts]


QUESTIONS += [
    (CDF, "Gamma(c([0.3, 9.0]), t([1.0, 0.5]))"),
    (CDF, "InverseGamma(c([0.3, 9.0]), t([1.0, 0.5]))"),
    (CDF, "Chi2(c([0.3, 9.0]))"),
    *(("d.rsample()", each) for each in WISHARTS),
    *(("d.rsample((5,)).detach(), torch.rand(1)", each) for each in WISHARTS),
    *(("d.expand((3, 2)).rsample()", each) for each in WISHARTS[:3]),
]


@pytest.mark.parametrize("text, given", QUESTIONS, ids=[f"{g}: {q}" for q, g in QUESTIONS])
def test_part_of_a_distribution(text, given):
    assert_same(torch, question(text, given), saved=False)


# --- errors ----------------------------------------------------------------------------------

ONES = "c([1.0, 1.0])"
WRONG = [
    "torch.autograd.grad(Gamma(t([1.0]), 2.0).cdf(c([1.0])).sum(), t(1.0))",
    *(f"{name}()" for name in ("Bernoulli", "Categorical", "OneHotCategorical", "Multinomial")),
    *(f"{name}({ONES}, {ONES})" for name in ("Bernoulli", "Geometric", "Categorical")),
    "Binomial()",
    "Geometric()",
    "NegativeBinomial(3)",
    "Bernoulli(c([1.5, 0.2]))",
    "Bernoulli(logits=c([nan, 0.2]))",
    "Bernoulli('a')",
    "Bernoulli([0.5])",
    "Bernoulli(0.5).log_prob(c(0.5))",
    "Bernoulli(0.5).log_prob(torch.tensor(1))",
    "Bernoulli(0.5).log_prob(1.0)",
    "Bernoulli(0.5).cdf(c(1.0))",
    "Bernoulli(0.5).rsample()",
    "Binomial(c([-3.0, 4.0]), c([0.5, 0.2]))",
    "Binomial(c([3.5, 4.0]), c([0.5, 0.2]))",
    "Binomial(c([3.0, 4.0]), c([0.5, 0.2])).entropy()",
    "Binomial(c([3.0, 4.0]), c([0.5, 0.2])).enumerate_support()",
    "Binomial(4, c([0.5, 0.2])).log_prob(c([5.0, 1.0]))",
    "Categorical(c(0.5))",
    "Categorical(logits=c(0.5))",
    "Categorical([0.5])",
    "Categorical(c([-0.5, 1.0]))",
    "Categorical(c([0.5, 1.0])).sample((0,))",
    "Categorical(c([[0.5, 1.0], [1.0, 1.0]])).log_prob(c([0.0, 3.0]))",
    "Categorical(c([[0.5, 1.0], [1.0, 1.0]])).log_prob(torch.tensor([0, 1, 1]))",
    "OneHotCategorical(c([-0.5, 1.0]))",
    "OneHotCategorical(c([0.5, 1.0])).log_prob(c([1.0, 1.0]))",
    "OneHotCategorical(c([0.5, 1.0])).rsample()",
    "Multinomial(c(4), c([0.5, 1.0]))",
    "Multinomial(4.0, c([0.5, 1.0]))",
    "Multinomial(-1, c([0.5, 1.0]))",
    "Multinomial(4, c([-0.5, 1.0]))",
    "Multinomial(4, c([0.5, 1.0])).log_prob(c([5.0, 1.0]))",
    "Multinomial(4, c([0.5, 1.0])).mode",
    "Geometric(c([0.0, 0.5]))",
    "Geometric(c([1.5, 0.5]))",
    "Geometric(c([0.0, 0.5]), validate_args=False).mean",
    "Geometric(c([1.0, 0.5])).log_prob(c([-1.0, 3.0]))",
    "NegativeBinomial(3, c([1.0, 0.2]))",
    "NegativeBinomial(-3, c([0.1, 0.2]))",
    "NegativeBinomial(3, c([0.1, 0.2])).entropy()",
    "Poisson(c([-1.0, 2.0]))",
    "Poisson(c([1.0, 2.0])).log_prob(c([1.5, 1.0]))",
    "Poisson(c([1.0, 2.0])).entropy()",
    "Gamma(0.0, c([1.0, 2.0]))",
    "Gamma(torch.tensor(1), torch.tensor(3)).sample()",
    "Gamma(1.0, c([1.0, 2.0])).log_prob(c(-1.0))",
    "Gamma(1.0, c([1.0, 2.0])).cdf(c(-1.0))",
    "Gamma(1.0, c([1.0, 2.0])).icdf(c(0.5))",
    "Beta(0.0, c([1.0, 2.0]))",
    "Beta(-1.0, 1.0)",
    "Beta(1.0, c([1.0, 2.0])).log_prob(c(1.5))",
    "Dirichlet(c(1.0))",
    "Dirichlet(c([1.0, -1.0]))",
    "Dirichlet(c([1.0, 1.0])).log_prob(c([0.5, 0.6]))",
    "Dirichlet(c([1.0, 1.0])).log_prob(c([0.5, 0.5, 0.0]))",
    "torch.autograd.grad(torch.autograd.grad(Dirichlet(t([1.0, 2.0])).rsample()[0],"
    " Dirichlet(t([1.0, 2.0])).concentration, create_graph=True)[0].sum(), t(1.0))",
    "Chi2(c([-1.0, 2.0]))",
    "Exponential(c([0.0, 2.0]))",
    "Exponential(c([1.0, 2.0])).log_prob(c(-1.0))",
    "Exponential(c([1.0, 2.0])).cdf(c(-1.0))",
    "FisherSnedecor(c([1.0, -5.0]), 4.0)",
    "FisherSnedecor(c([1.0, 5.0]), 4.0).log_prob(c(0.0))",
    "FisherSnedecor(c([1.0, 5.0]), 4.0).entropy()",
    "InverseGamma(c([1.0, -5.0]), 4.0)",
    "InverseGamma(c([1.0, 5.0]), 4.0).log_prob(c(-1.0))",
    "InverseGamma(c([1.0, 5.0]), 4.0).icdf(c(0.5))",
    "StudentT(c([1.0, -5.0]))",
    "StudentT(1.0, 4.0, -1.0)",
    "StudentT(1.0).log_prob(c(nan))",
    "MultivariateNormal(c(1.0), torch.eye(2))",
    "MultivariateNormal(c([1.0, 2.0]))",
    "MultivariateNormal(c([1.0, 2.0]), torch.eye(2), torch.eye(2))",
    "MultivariateNormal(c([1.0, 2.0]), c([1.0, 2.0]))",
    "MultivariateNormal(c([1.0, 2.0]), precision_matrix=c([1.0, 2.0]))",
    "MultivariateNormal(c([1.0, 2.0]), scale_tril=c([1.0, 2.0]))",
    "MultivariateNormal(c([1.0, 2.0]), c([[1.0, 2.0], [2.0, 1.0]]))",
    "MultivariateNormal(c([1.0, 2.0]), c([[1.0, 0.2], [0.1, 1.0]]))",
    "MultivariateNormal(c([1.0, 2.0]), scale_tril=c([[1.0, 0.2], [0.1, 1.0]]))",
    "MultivariateNormal(c([1.0, 2.0]), c([[1.0, 2.0], [2.0, 1.0]]), validate_args=False)",
    "MultivariateNormal(c([[1.0, 2.0]] * 3), torch.eye(2).double()).log_prob(c([1.0]))",
    "MultivariateNormal(c([[1.0, 2.0]] * 3), torch.eye(2).double()).log_prob(c([[1.0, 2.0]] * 4))",
    "LowRankMultivariateNormal(c(0.0), c([[1.0], [1.0]]), c([1.0, 1.0]))",
    "LowRankMultivariateNormal(c([0.0, 0.0]), c([1.0, 1.0]), c([1.0, 1.0]))",
    "LowRankMultivariateNormal(c([0.0, 0.0]), c([[1.0]]), c([1.0, 1.0]))",
    "LowRankMultivariateNormal(c([0.0, 0.0]), c([[1.0], [1.0]]), c([1.0]))",
    "LowRankMultivariateNormal(c([[0.0, 0.0]] * 3), c([[[1.0], [1.0]]] * 2), c([1.0, 1.0]))",
    "LowRankMultivariateNormal(c([0.0, 0.0]), c([[1.0], [1.0]]), c([-1.0, -1.0]))",
    "LowRankMultivariateNormal(c([0.0, 0.0]), c([[0.1], [0.1]]), c([-1.0, -1.0]))",
    "Wishart(3.0)",
    "Wishart(3.0, torch.eye(2), torch.eye(2))",
    "Wishart(1.0, torch.eye(2))",
    "Wishart(c([1.0, 3.0]), torch.eye(2))",
    "Wishart(3.0, c([1.0, 2.0]))",
    "Wishart(3.0, c([[1.0, 2.0], [2.0, 1.0]]))",
    "Wishart(3.0, c([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]))",
    "Wishart(3.0, scale_tril=c([[1.0, 1.0], [1.0, 1.0]]))",
    "Wishart(c(3.0), torch.eye(2).double()).log_prob(c([[1.0, 1.0], [1.0, 1.0]]))",
    "D.wishart._mvdigamma(c([0.3, 4.0]), 2)",
]


@pytest.mark.parametrize("text", WRONG)
def test_wrong_use_of_a_distribution(text):
    ours, theirs = (outcome_of(package, question(text)) for package in (taper, torch))
    assert repr(ours) == repr(theirs)


# --- divergences -----------------------------------------------------------------------------

MAKE = {
    "Bernoulli": ("Bernoulli(t([0.3, 0.6]))", "Bernoulli(t([0.7, 0.2]))"),
    "Beta": ("Beta(t([0.3, 2.5]), t([1.5, 3.0]))", "Beta(t([1.3, 2.0]), t([2.5, 0.5]))"),
    "Binomial": ("Binomial(5, t([0.3, 0.6]))", "Binomial(5, t([0.7, 0.2]))"),
    "Categorical": (
        "Categorical(t([[0.3, 0.6], [1.0, 2.0]]))",
        "Categorical(t([[0.7, 0.2], [1.0, 1.0]]))",
    ),
    "Cauchy": ("Cauchy(t([0.3, 0.6]), t([1.5, 3.0]))", "Cauchy(t([1.3, 2.0]), t([2.5, 0.5]))"),
    "ContinuousBernoulli": (
        "ContinuousBernoulli(t([0.3, 0.5]))",
        "ContinuousBernoulli(t([0.7, 0.2]))",
    ),
    "Dirichlet": ("Dirichlet(t([0.3, 2.5]))", "Dirichlet(t([[1.3, 2.0], [3.0, 0.2]]))"),
    "Exponential": ("Exponential(t([0.3, 2.5]))", "Exponential(t([1.3, 2.0]))"),
    "Gamma": ("Gamma(t([0.3, 2.5]), t([1.5, 3.0]))", "Gamma(t([1.3, 2.0]), t([2.5, 0.5]))"),
    "Geometric": ("Geometric(t([0.3, 0.6]))", "Geometric(t([0.7, 0.2]))"),
    "Gumbel": ("Gumbel(t([0.3, 2.5]), t([1.5, 3.0]))", "Gumbel(t([1.3, 2.0]), t([2.5, 0.5]))"),
    "HalfNormal": ("HalfNormal(t([0.3, 2.5]))", "HalfNormal(t([1.3, 2.0]))"),
    "Independent": (
        "Independent(Normal(t([0.3, 2.5]), t([1.5, 3.0])), 1)",
        "Independent(Normal(t([0.5, 1.5]), t([2.5, 0.5])), 1)",
    ),
    "Laplace": ("Laplace(t([0.3, 2.5]), t([1.5, 3.0]))", "Laplace(t([1.3, 2.0]), t([2.5, 0.5]))"),
    "LowRankMultivariateNormal": (
        f"LowRankMultivariateNormal({PLACES}, {FACTOR}, {PAIR})",
        f"LowRankMultivariateNormal({PLACE}, t([[0.1, 1.0], [2.0, 3.0]]), t([1.0, 2.0]))",
    ),
    "MultivariateNormal": (
        f"MultivariateNormal({PLACE}, {SQUARES})",
        f"MultivariateNormal({PLACES}, scale_tril={TRIANGLE})",
    ),
    "Normal": ("Normal(t([0.3, 2.5]), t([1.5, 3.0]))", "Normal(t([1.3, 2.0]), t([2.5, 0.5]))"),
    "OneHotCategorical": (
        "OneHotCategorical(t([[0.3, 0.6], [1.0, 2.0]]))",
        "OneHotCategoricalStraightThrough(logits=t([[0.7, 0.2], [1.0, 1.0]]))",
    ),
    "Pareto": ("Pareto(t([0.9, 2.5]), t([1.5, 3.0]))", "Pareto(t([0.3, 2.0]), t([2.5, 0.5]))"),
    "Poisson": ("Poisson(t([0.3, 2.5]))", "Poisson(t([1.3, 2.0]))"),
    "TransformedDistribution": (
        "LogNormal(t([0.3, 2.5]), t([1.5, 3.0]))",
        "LogNormal(t([0.5, 1.5]), t([2.5, 0.5]))",
    ),
    "Uniform": ("Uniform(t([0.3, 0.5]), t([0.4, 0.9]))", "Uniform(t([0.0, 0.6]), t([2.5, 1.5]))"),
    "ExponentialFamily": (
        f"Wishart(t([3.0, 5.0]), {SQUARE})",
        f"Wishart(t([4.0, 4.5]), scale_tril={TRIANGLE})",
    ),
}
PAIRS = [(p.__name__, q.__name__) for p, q in their_kl._KL_REGISTRY]
ONE = "c([1.0, 2.0, 3.0, 2.0])"
BORDERS = "Uniform(c([0.0, 0.1, -1.0, 2.0]), c([1.0, 0.9, 0.5, 3.0]))"
AROUND = "Uniform(c([0.0, 0.1, -1.0, -1.0]), c([1.0, 0.9, 0.5, 2.0]))"
DIVERGENCES = [
    *((MAKE[p][0], MAKE[q][1]) for p, q in PAIRS),
    (
        "Bernoulli(c([0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.0]))",
        "Bernoulli(c([0.0, 0.5, 1.0, 0.0, 1.0, 0.0, 0.5, 1.0]))",
    ),
    ("Poisson(c([0.0, 1.0, 0.0]))", "Poisson(c([1.0, 0.0, 0.0]))"),
    ("Binomial(5, c(0.5))", "Binomial(3, c(0.5))"),
    ("Binomial(c([5.0, 3.0]), t([0.5, 0.2]))", "Binomial(3, t([0.5, 0.2]))"),
    ("Binomial(3, c(0.5))", "Binomial(5, c(0.5))"),
    ("Binomial(3, c(0.5))", "Poisson(c(0.5))"),
    ("Categorical(c([0.0, 1.0]))", "Categorical(c([[0.5, 0.5], [0.0, 1.0]]))"),
    ("Categorical(c([0.5, 0.5]))", "Categorical(c([0.0, 1.0]))"),
    ("Categorical(c([0.5, 0.5]))", "Categorical(c([0.0, 1.0, 1.0]))"),
    (AROUND, "Uniform(c([0.0, 0.0, 0.0, 0.0]), c([1.0, 1.0, 4.0, 4.0]))"),
    ("Pareto(c([1.0, 3.0]), c([1.0, 2.0]))", "Pareto(c([2.0, 1.0]), c([1.0, 2.0]))"),
    ("Pareto(c([1.0, 3.0, 1.0]), c([0.5, 2.0, 1.0]))", "Exponential(c([2.0, 1.0, 1.0]))"),
    ("Pareto(c([1.0, 3.0, 1.0]), c([0.5, 2.0, 1.0]))", "Gamma(c([2.0, 1.0, 1.0]), 1.0)"),
    ("Pareto(c([1.0, 3.0, 1.0]), c([0.5, 2.5, 2.0]))", "Normal(c([2.0, 1.0, 1.0]), 1.0)"),
    *(
        (BORDERS, other)
        for other in (
            "Beta(c(2.0), c(3.0))",
            "ContinuousBernoulli(c(0.3))",
            "Exponential(c(0.3))",
            "Gamma(c(0.3), 1.0)",
            "Pareto(c(1.0), c(2.0))",
        )
    ),
    (f"Beta({ONE}, 2.0)", AROUND),
    ("ContinuousBernoulli(c([0.1, 0.2, 0.3, 0.4]))", AROUND),
    ("Chi2(t(3.0))", "Chi2(t(4.0))"),
    ("Chi2(t(3.0))", "Gamma(t(4.0), t(1.0))"),
    ("InverseGamma(t(3.0), t(1.0))", "InverseGamma(t(4.0), t(2.0))"),
    ("LogNormal(t(3.0), t(1.0))", "InverseGamma(t(4.0), t(2.0))"),
    ("Cauchy(0.0, 1.0)", "Normal(0.0, 1.0)"),
    ("NegativeBinomial(3, c(0.5))", "NegativeBinomial(3, c(0.5))"),
    ("Gamma(1.0, 1.0)", "Poisson(1.0)"),
    ("Dirichlet(c([1.0, 1.0]))", "Dirichlet(c([1.0, 1.0, 1.0]))"),
    ("Independent(Normal(c([[0.0]]), 1.0), 2)", "Independent(Normal(c([[0.0]]), 1.0), 1)"),
    *(
        (p, q)
        for p in (
            "MultivariateNormal(c([0.0]), c([[1.0]]))",
            "LowRankMultivariateNormal(c([0.0]), c([[1.0]]), c([1.0]))",
        )
        for q in (
            "MultivariateNormal(c([0.0, 0.0]), torch.eye(2).double())",
            "LowRankMultivariateNormal(c([0.0] * 2), c([[1.0]] * 2), c([1.0] * 2))",
        )
    ),
    ("1", "2"),
]


@pytest.mark.parametrize("p, q", DIVERGENCES, ids=[f"{p} and {q}" for p, q in DIVERGENCES])
def test_divergence(p, q):
    # The second derivatives of mvlgamma and slogdet are other nodes.
    graph = "Wishart" not in p
    program = question(f"D.kl_divergence({p}, {q})")
    assert_same(torch, program, graph=graph, saved=False, factor=10)
    ours, theirs = (
        outcome_of(package, question(f"(D.kl_divergence({p}, {q}), None)[1]"))
        for package in (taper, torch)
    )
    if isinstance(theirs, tuple):
        assert ours[1] == theirs[1]


def test_the_same_pairs_are_registered():
    pairs = {(p.__name__, q.__name__) for p, q in our_kl._KL_REGISTRY}
    assert sorted(pairs) == sorted(PAIRS)


def registered(package, make):
    """Return two registered pairs that both fit, and none is more special in both arguments."""
    D = package.distributions
    first, second = type("First", (D.Normal,), {}), type("Second", (D.Normal,), {})
    D.register_kl(first, D.Normal)(lambda p, q: "by the first")
    D.register_kl(D.Normal, second)(lambda p, q: "by the second")
    p, q = first(0.0, 1.0), second(0.0, 1.0)
    try:
        answers = [D.kl_divergence(*pair) for pair in ((p, q), (p, q), (p, p), (q, q))]
        D.register_kl(first, second)(lambda p, q: "by both")
        return [*answers, D.kl_divergence(p, q)]
    finally:
        for pair in [(first, D.Normal), (D.Normal, second), (first, second)]:
            D.kl._KL_REGISTRY.pop(pair, None)


def test_ambiguous_divergences_warn():
    assert_same(torch, registered)


@pytest.mark.parametrize("types", ["int, Normal", "Normal, 3", "3, Normal"])
def test_registering_what_is_no_distribution(types):
    text = f"callable(D.register_kl({types}))"
    ours, theirs = (outcome_of(package, question(text)) for package in (taper, torch))
    assert ours == theirs


# --- the numbers themselves ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("low, high", [(-8, 0), (-2, 3), (0, 9)])
def test_gamma_numbers_and_the_state_after_them_are_equal_to_the_bit(dtype, low, high):
    alphas = torch.exp(torch.linspace(low, high, 3001)).to(getattr(torch, dtype))
    alphas[::500] = 0.0
    theirs, ours = torch.Generator().manual_seed(low), taper.Generator().manual_seed(low)
    expected = torch._standard_gamma(alphas, generator=theirs)
    found = taper._standard_gamma(taper.from_numpy(alphas.numpy()), generator=ours)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    np.testing.assert_array_equal(ours.get_state().numpy(), theirs.get_state().numpy())


def test_gradients_of_gamma_and_beta_numbers():
    rng = np.random.default_rng(5)
    a, b = (np.exp(rng.uniform(-7, 6, 20000)) for _ in range(2))
    gammas = np.maximum(rng.gamma(a), 1e-300)
    betas = np.where(rng.random(a.size) < 0.5, rng.beta(a, b), rng.random(a.size))
    for name, arrays in (
        ("_standard_gamma_grad", (a, gammas)),
        ("_dirichlet_grad", (betas, a, a + b)),
    ):
        found, expected = (
            getattr(package, name)(*map(package.from_numpy, arrays)).numpy()
            for package in (taper, torch)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-7)


# --- signatures ------------------------------------------------------------------------------

MODULES = (
    "bernoulli binomial categorical one_hot_categorical multinomial geometric negative_binomial "
    "poisson gamma beta dirichlet chi2 exponential fishersnedecor inverse_gamma studentT "
    "multivariate_normal lowrank_multivariate_normal wishart kl"
).split()


@pytest.mark.parametrize("module", MODULES)
def test_module_has_the_same_names_and_signatures(module):
    ours, theirs = (getattr(package.distributions, module) for package in (taper, torch))
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in theirs.__all__:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert parameters(mine) == parameters(other)
        for member, value in vars(other).items() if isinstance(other, type) else ():
            if member.startswith("__") or member in ("_abc_impl", "_generator"):
                continue
            assert hasattr(mine, member), f"{name}.{member}"
            if inspect.isfunction(value):
                assert parameters(getattr(mine, member)) == parameters(value), f"{name}.{member}"


def parameters(function):
    given = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, repr(each.default)) for each in given]
