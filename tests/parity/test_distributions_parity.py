"""`taper.distributions` against `torch.distributions`: numbers, gradients, texts, errors."""

from __future__ import annotations

import inspect

import pytest
import torch

import taper
from both_packages import assert_same
from distribution_rows import Row, outcome_of, programs, question

VECTOR = "t([0.5, -1.0]), t([0.3, 2.0])"
ROWS = [
    Row("Normal(0.3, 1.5)", dtype="float32"),
    Row("Normal(t(0.3), t(1.5))"),
    Row(f"Normal({VECTOR})"),
    Row("Normal(t([[0.5], [-1.0], [2.0]]), t([0.3, 2.0]))", batch=(4, 3, 2)),
    Row("Normal(t([0.5, -1.0]), 2)", dtype="float32"),
    Row(f"Normal({VECTOR}, validate_args=False)"),
    Row("Normal(t([0.5, -1.0]), t([0.3, 2.0]))", dtype="bfloat16"),
    Row("Uniform(-1.0, 2.5)", dtype="float32"),
    Row("Uniform(t([0.5, -1.0]), t([0.75, 2.0]))", dtype="float16"),
    Row("Uniform(t([0.5, -1.0]), t([0.75, 2.0]))"),
    Row("Uniform(t([0.5, -1.0]), t([0.75, 2.0]), validate_args=False)", value="c([-3., 9.])"),
    Row("Laplace(0.3, 1.5)", dtype="float32"),
    Row(f"Laplace({VECTOR})"),
    Row("Cauchy(0.3, 1.5)", dtype="float32", factor=10),
    Row(f"Cauchy({VECTOR})"),
    Row(f"Gumbel({VECTOR})", dtype="bfloat16"),
    Row(f"Laplace({VECTOR})", dtype="float16"),
    Row("LogNormal(0.3, 0.5)", dtype="float32"),
    Row(f"LogNormal({VECTOR})"),
    Row("HalfNormal(0.3)", dtype="float32"),
    Row("HalfNormal(t([0.3, 2.0]))"),
    Row("HalfNormal(t([0.3, 2.0]), validate_args=False)", value="c([-3., 9.])"),
    Row("HalfCauchy(0.3)", dtype="float32", factor=10),
    Row("HalfCauchy(t([0.3, 2.0]))"),
    Row("HalfCauchy(t([0.3, 2.0]), validate_args=False)", value="c([-3., 9.])"),
    Row("Gumbel(0.3, 1.5)", dtype="float32"),
    Row(f"Gumbel({VECTOR})"),
    Row("Weibull(0.3, 1.5)", dtype="float32"),
    Row("Weibull(t([0.3, 2.0]), t([1.5, 0.7]))"),
    Row("Pareto(0.3, 1.5)", dtype="float32"),
    Row("Pareto(t([0.3, 2.0]), t([1.5, 0.7]))"),
    Row("Pareto(t([0.3, 2.0]), t([2.5, 3.7]))"),
    Row("GeneralizedPareto(0.3, 1.5, 0.2)", dtype="float32"),
    Row(
        "GeneralizedPareto(t([0.5, -1.0, 0.0, 1.0]), t([0.3, 2.0, 1.0, 1.0]),"
        " t([0.2, 0.0, -0.3, 0.7]))",
        dtype="float32",
        batch=(3, 4),
    ),
    Row("GeneralizedPareto(t(0.0), t(1.0), t(-1.0), validate_args=False)", dtype="float32"),
    Row("Kumaraswamy(0.3, 1.5)", dtype="float32", factor=10),
    Row("Kumaraswamy(t([0.3, 2.0]), t([1.5, 3.7]))"),
    Row("LogitRelaxedBernoulli(t(0.7), t([0.3, 0.9]))"),
    Row("LogitRelaxedBernoulli(t(0.7), logits=t([0.3, -0.9]))"),
    Row("RelaxedBernoulli(c(2.0), 0.25)", dtype="float32", factor=10),
    Row("RelaxedBernoulli(t(0.7), t([0.3, 0.9]))"),
    Row("RelaxedBernoulli(t(0.7), logits=t([0.3, -0.9]))"),
    Row("ExpRelaxedCategorical(t(0.7), t([[0.3, 0.9, 0.1], [1.0, 1.0, 1.0]]))"),
    Row("ExpRelaxedCategorical(t(0.7), logits=t([0.3, -0.9, 0.1]))"),
    Row("RelaxedOneHotCategorical(c(2.0), c([0.3, 0.7]))", dtype="float32", factor=10),
    Row("RelaxedOneHotCategorical(t(0.7), t([[0.3, 0.9, 0.1], [1.0, 1.0, 1.0]]))"),
    Row("RelaxedOneHotCategorical(t(0.7), logits=t([0.3, -0.9, 0.1]))"),
    Row("LogisticNormal(0.3, 1.5)", dtype="float32", factor=10),
    Row("LogisticNormal(t([0.3, 1.0, -1.0]), t([1.0, 2.0, 0.5]))"),
    Row("LogisticNormal(t([[0.3, 1.0], [-1.0, 0.0]]), t([1.0, 2.0]))"),
    Row("LKJCholesky(2)", dtype="float32", factor=10),
    Row("LKJCholesky(3, t(1.5))"),
    Row("LKJCholesky(4, t([0.5, 2.0]))"),
    Row("VonMises(c(0.3), c(1.5))", dtype="float32"),
    Row("VonMises(t([0.5, -1.0, 3.0]), t([0.3, 2.0, 12.0]))", batch=(2, 3)),
    Row("VonMises(t(0.5), t(1e-6), validate_args=False)"),
    Row("ContinuousBernoulli(0.3)", dtype="float32"),
    Row("ContinuousBernoulli(t([0.3, 0.9]))"),
    Row("ContinuousBernoulli(t([0.5, 0.4999]), validate_args=False)"),
    Row("ContinuousBernoulli(logits=t([0.3, -0.9]), lims=(0.4, 0.6))"),
    Row("ContinuousBernoulli(t([0.3, 0.9]), validate_args=False)", value="c([-1.0, 2.0])"),
    Row("Independent(Normal(t([[0.5], [-1.0], [2.0]]), t([0.3, 2.0])), 1)", batch=(4, 3)),
    Row("Independent(Normal(t([[0.5], [-1.0], [2.0]]), t([0.3, 2.0])), 2)", batch=(4, 1)),
    Row(f"Independent(Laplace({VECTOR}), 0)"),
    Row("Independent(Bernoulli(t([0.3, 0.6])), 0)"),
    Row("Independent(Bernoulli(t([0.3, 0.6])), 1)"),
    Row("MixtureSameFamily(Categorical(t([0.3, 0.6])), Normal(t([0.5, -1.0]), t([0.3, 2.0])))"),
    Row(
        "MixtureSameFamily(Categorical(logits=t([[0.3, 0.6], [-1., 2.]])),"
        " Independent(Laplace(t([[[0.5], [-1.0]], [[2.0], [1.5]]]), t([0.3, 2.0, 1.0])), 1))"
    ),
    Row(
        "MixtureSameFamily(Categorical(t([0.3, 0.6])), Poisson(t([[0.5, 1.0], [3., 5.]])))",
        value="d.sample((3,))",
    ),
    Row("MixtureSameFamily(Categorical(c([1.0, 1.0])), Uniform(c([0., 1.]), c([2., 3.])))"),
    Row("TransformedDistribution(Normal(t([0.5, -1.0]), t([0.3, 2.0])), T.ExpTransform())"),
    Row(f"TransformedDistribution(Normal({VECTOR}), [])"),
    Row(
        f"TransformedDistribution(Normal({VECTOR}),"
        " [T.TanhTransform(cache_size=1), T.AffineTransform(t(1.0), t(-2.0)), T.AbsTransform()])",
    ),
    Row(
        f"TransformedDistribution(Normal({VECTOR}),"
        " [T.SigmoidTransform(), T.AffineTransform(t([[1.0], [2.0]]), t([-2.0, 3.0]))])",
        batch=(3, 2, 2),
    ),
    Row(
        f"TransformedDistribution(Normal({VECTOR}),"
        " [T.AffineTransform(0.0, t([-2.0, 3.0]), event_dim=1), T.SoftplusTransform()])",
    ),
    Row(
        "TransformedDistribution(Normal(t([0.5, -1.0, 1.0]), t([0.3, 2.0, 1.0])),"
        " T.CorrCholeskyTransform())",
    ),
    Row(
        "TransformedDistribution(Normal(t([0.5, -1.0, 1.0, 0.0]), t(0.3)),"
        " T.ReshapeTransform((4,), (2, 2)))",
    ),
    Row(
        "TransformedDistribution(Uniform(t([0.0, 0.5]), t([1.0, 2.0])),"
        " T.CumulativeDistributionTransform(Normal(t(0.3), t(1.0))))",
    ),
]
PROGRAMS = programs(ROWS)


@pytest.mark.parametrize("name, program, row", PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
def test_aspect_of_a_distribution(name, program, row):
    assert_same(torch, program, dtype=row.dtype, factor=row.factor)


# --- errors and other answers ------------------------------------------------------------------

ANSWERS = [
    "Normal(0.0, -1.0)",
    "Normal(c([0.0, nan]), 1.0)",
    "Normal(torch.zeros(2), torch.ones(3))",
    "Normal('a', 1.0)",
    "Normal(1j, 1.0)",
    "Normal(0.0, torch.nn.Parameter(torch.tensor([1.0, -1.0])))",
    "Normal(0.0, torch.tensor([1.0, -1.0]).requires_grad_() * 2)",
    "Normal(torch.tensor(0), torch.tensor(1)).sample()",
    "Normal(0.0, 1.0).log_prob(0.5)",
    "Normal(c([0.0, 1.0]), 1.0).log_prob(torch.zeros(3))",
    "Normal(c([0.0, 1.0]), 1.0).log_prob(torch.tensor([nan, 0.0]))",
    "Normal(c([0.0, 1.0]), 1.0).cdf(torch.tensor([nan, 0.0]))",
    "Normal(c([0.0, 1.0]), 1.0).expand((3,))",
    "Normal(c([0.0, 1.0]), 1.0).expand(2)",
    "Normal(c([0.0, 1.0]), 1.0).sample(3)",
    "Normal(0.0, 1.0).enumerate_support()",
    "type('Mine', (Normal,), {'__init__': lambda self: Normal.__init__(self, 0.0, 1.0)})()"
    ".expand((2,))",
    "Distribution()",
    "Distribution(validate_args=False).mean",
    "Distribution(validate_args=False).mode",
    "Distribution(validate_args=False).rsample()",
    "Distribution(validate_args=False).cdf(1)",
    "Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)"
    "._validate_sample(torch.zeros(2))",
    "Distribution.set_default_validate_args('yes')",
    "ExponentialFamily(validate_args=False).entropy()",
    "Uniform(1.0, 0.0)",
    "Uniform(c([0.0, 1.0]), 1.0)",
    "Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))",
    "Laplace(0.0, 0.0)",
    "Cauchy(0.0, 0.0)",
    "LogNormal(0.0, -1.0)",
    "LogNormal(0.0, 1.0).log_prob(torch.tensor(-2.0))",
    "HalfNormal(-1.0)",
    "HalfNormal(1.0).log_prob(torch.tensor(-2.0))",
    "HalfCauchy(-1.0)",
    "HalfCauchy(1.0).cdf(torch.tensor(-2.0))",
    "Gumbel(0.0, -1.0)",
    "Weibull(0.0, 1.0)",
    "Pareto(-1.0, 1.0)",
    "Pareto(1.0, -1.0)",
    "Pareto(1.0, 1.0).log_prob(torch.tensor(0.5))",
    "GeneralizedPareto(0.0, -1.0, 0.0)",
    "GeneralizedPareto(0.0, 1.0, -0.5).log_prob(torch.tensor(2.5))",
    "GeneralizedPareto(0.0, 1.0, -0.5).log_cdf(torch.tensor(2.5))",
    "GeneralizedPareto(0.0, 1.0, -0.5).log_survival_function(torch.tensor(-2.5))",
    "Kumaraswamy(-1.0, 1.0)",
    "Kumaraswamy(1.0, 1.0).log_prob(torch.tensor(2.5))",
    "RelaxedBernoulli(torch.tensor(1.0))",
    "RelaxedBernoulli(torch.tensor(1.0), 0.5, 0.5)",
    "RelaxedBernoulli(torch.tensor(1.0), 1.5)",
    "LogitRelaxedBernoulli(1.0, 0.5).log_prob(torch.tensor(0.0))",
    "RelaxedOneHotCategorical(torch.tensor(1.0))",
    "RelaxedOneHotCategorical(torch.tensor(1.0), torch.tensor(0.5))",
    "RelaxedOneHotCategorical(torch.tensor(1.0), torch.ones(3)).log_prob(torch.ones(3))",
    "LogisticNormal(0.0, -1.0)",
    "LogisticNormal(torch.zeros(3), 1.0).log_prob(torch.ones(4))",
    "LKJCholesky(1)",
    "LKJCholesky(2.5)",
    "LKJCholesky(3, -1.0)",
    "LKJCholesky(3).log_prob(torch.eye(2))",
    "LKJCholesky(3).log_prob(torch.ones(3, 3))",
    "LKJCholesky(3).rsample()",
    "VonMises(0.0, -1.0)",
    "VonMises(0.0, 1.0).rsample()",
    "ContinuousBernoulli()",
    "ContinuousBernoulli(0.1, 0.2)",
    "ContinuousBernoulli(1.5, validate_args=True)",
    "ContinuousBernoulli(1.5)",
    "ContinuousBernoulli(logits=nan)",
    "ContinuousBernoulli(0.5).log_prob(torch.tensor(2.0))",
    "Independent(Normal(0.0, 1.0), 1)",
    "Independent(Normal(torch.zeros(2), 1.0), 1).log_prob(torch.zeros(3))",
    "Independent(Normal(torch.zeros(2), 1.0), 1).cdf(torch.zeros(2))",
    "Independent(Bernoulli(torch.ones(2)), 1).enumerate_support()",
    "MixtureSameFamily(3, Normal(torch.zeros(2), 1.0))",
    "MixtureSameFamily(Categorical(torch.ones(2)), 3)",
    "MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(3), 1.0))",
    "MixtureSameFamily(Categorical(torch.ones(2, 3)), Normal(torch.zeros(4, 3), 1.0))",
    "MixtureSameFamily(Categorical(torch.ones(2)), Uniform(torch.zeros(2), 1.0))"
    ".log_prob(torch.tensor(2.0))",
    "MixtureSameFamily(Categorical(torch.ones(2)), Normal(0.0, 1.0))",
    "TransformedDistribution(Normal(0.0, 1.0), 3)",
    "TransformedDistribution(Normal(0.0, 1.0), [3])",
    "TransformedDistribution(Normal(0.0, 1.0), T.StickBreakingTransform())",
    "TransformedDistribution(Normal(0.0, 1.0), T.AbsTransform()).log_prob(torch.tensor(1.0))",
    "TransformedDistribution(Normal(0.0, 1.0), T.AbsTransform()).cdf(torch.tensor(1.0))",
    "D.foo_bar",
    # utils
    "U.broadcast_all()",
    "U.broadcast_all(1, True, 2.5)",
    "U.broadcast_all(1, torch.zeros(2, dtype=torch.float64), torch.ones(3, 1))",
    "U.broadcast_all(1.5, torch.zeros(2, dtype=torch.int64))",
    "U.broadcast_all([1.0])",
    "U.logits_to_probs(c([0.5, 1.0, -2.0])), U.logits_to_probs(c([0.5, 1.0]), is_binary=True)",
    "U.probs_to_logits(c([0.0, 0.25, 1.0])), U.probs_to_logits(c([0.0, 1.0]), is_binary=True)",
    "U.clamp_probs(torch.tensor([0.0, 0.25, 1.0]))",
    *(f"U.tril_matrix_to_vec(torch.arange(18.0).view(2, 3, 3), {d})" for d in range(-4, 4)),
    *(f"U.vec_to_tril_matrix(torch.arange({n}.0), {d})" for n in (3, 5, 6) for d in range(-4, 4)),
    "U.vec_to_tril_matrix(torch.arange(6.0).view(2, 3))",
    # the registry
    "biject_to(3)",
    "biject_to(C.boolean)",
    "biject_to(C.lower_cholesky)",
    "transform_to(C.dependent)",
    "D.constraint_registry.ConstraintRegistry().register(3, repr)",
    "D.constraint_registry.ConstraintRegistry().register(int)(repr)",
    "D.constraint_registry.ConstraintRegistry().register(C.real)(repr) is repr",
]


def shown(answer):
    return repr(answer).replace("taper.distributions", "torch.distributions")


@pytest.mark.parametrize("text", ANSWERS)
def test_answer(text):
    program = question(text)
    assert shown(outcome_of(taper, program)) == shown(outcome_of(torch, program))


# --- constraints -------------------------------------------------------------------------------

CONSTRAINTS = """
boolean corr_cholesky dependent lower_cholesky lower_triangular nonnegative nonnegative_integer
one_hot positive positive_semidefinite positive_definite positive_integer real real_vector simplex
square symmetric unit_interval
""".split()
MADE_CONSTRAINTS = [
    "greater_than(1)",
    "greater_than_eq(c([1.0, 0.0]))",
    "less_than(c(2.0))",
    "interval(0, 1.5)",
    "half_open_interval(0, c(1.0))",
    "integer_interval(0, 5)",
    "multinomial(4)",
    "independent(C.positive, 2)",
    "independent(C.positive, 0)",
    "independent(C.lower_cholesky, 1)",
    "independent(C.positive, -1)",
    "independent(C.positive, 1.5)",
    "independent(3, 1)",
    "cat([C.positive, C.real], dim=-1)",
    "cat([C.boolean, C.real], dim=0, lengths=[1, 2])",
    "cat([C.real_vector, C.positive], dim=0, lengths=[2, 1])",
    "cat([1])",
    "cat([C.real], lengths=[1, 2])",
    "stack([C.positive, C.real], dim=-1)",
    "stack([C.real_vector, C.boolean], dim=-3)",
    "stack([1])",
    "dependent(is_discrete=True, event_dim=1)",
    "dependent_property(event_dim=2)",
    "MixtureSameFamilyConstraint(C.positive)",
    "MixtureSameFamilyConstraint(C.greater_than(c([0.0, 1.0])))",
    "MixtureSameFamilyConstraint(C.real_vector)",
    "MixtureSameFamilyConstraint(3)",
    "_IntegerLessThan(3)",
    "Constraint()",
]
CHECKED = [
    "c([[0.0, 1.0], [1.0, 0.0], [0.25, 0.75], [nan, 0.0], [2.0, inf], [-1.0, 3.0]])",
    "torch.tensor([[1, 0], [3, 4]])",
    "torch.tensor([True, False])",
    "c(1.0)",
    "c([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.5], [0.5, 1.0]], [[2.0, 0.0], [0.0, -1.0]]])",
    "c([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]])",
    "c([[1.0, 0.0, 0.0], [0.5, 0.5, 0.5]])",
]


@pytest.mark.parametrize("text", CONSTRAINTS + MADE_CONSTRAINTS)
@pytest.mark.parametrize("asked", ["", ".event_dim", ".is_discrete"])
def test_constraint(text, asked):
    program = question(f"C.{text}{asked}")
    assert shown(outcome_of(taper, program)) == shown(outcome_of(torch, program))


@pytest.mark.parametrize("value", CHECKED)
@pytest.mark.parametrize("text", CONSTRAINTS + MADE_CONSTRAINTS)
def test_constraint_checks(text, value):
    program = question(f"C.{text}.check({value})")
    assert shown(outcome_of(taper, program)) == shown(outcome_of(torch, program))


REACHED = [
    *CONSTRAINTS,
    *(each for each in MADE_CONSTRAINTS if "1.5)" not in each and "-1)" not in each),
    "interval(0, 1)",
    "interval(c(0.0), c(1.0))",
]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("text", REACHED)
def test_constraint_is_reached(text, registry):
    given = f"{registry}(C.{text})"
    about = question("d, d.domain, d.codomain, d.bijective", given)
    assert shown(outcome_of(taper, about)) == shown(outcome_of(torch, about))
    for value in ("t([[0.5, -1.0], [2.0, 0.3]])", "t([0.5, -1.0, 2.0])"):
        assert_same(torch, question(f"d({value})", given))


# --- transforms --------------------------------------------------------------------------------

TRANSFORMS = [
    "AbsTransform()",
    "AffineTransform(1.0, 2.0)",
    "AffineTransform(t([1.0, 2.0]), t([2.0, -3.0]), event_dim=1)",
    "AffineTransform(t([[1.0], [2.0]]), t([2.0, -3.0, 1.0]), cache_size=1)",
    "AffineTransform(0, -2, event_dim=2)",
    "CatTransform([T.ExpTransform(), T.AffineTransform(1.0, -2.0)], dim=-1, lengths=[1, 2])",
    "CatTransform([T.ExpTransform(), T.IndependentTransform(T.ExpTransform(), 1)], dim=0)",
    "CatTransform([T.ExpTransform(), T.TanhTransform()], dim=0, cache_size=1)",
    "ComposeTransform([T.ExpTransform(), T.AffineTransform(1.0, t(-2.0))])",
    "ComposeTransform([T.StickBreakingTransform(), T.AffineTransform(1.0, -2.0)], cache_size=1)",
    "ComposeTransform([T.AffineTransform(0, 2.0, event_dim=3), T.CorrCholeskyTransform()])",
    "ComposeTransform([])",
    "identity_transform",
    "CorrCholeskyTransform()",
    "CumulativeDistributionTransform(Normal(t(0.5), t(2.0)))",
    "ExpTransform()",
    "ExpTransform().inv",
    "IndependentTransform(T.ExpTransform(), 1)",
    "IndependentTransform(T.TanhTransform(), 2, cache_size=1)",
    "LowerCholeskyTransform()",
    "PositiveDefiniteTransform()",
    "PowerTransform(2)",
    "PowerTransform(t([-1.0, 2.0]))",
    "ReshapeTransform((2, 3), (6,))",
    "ReshapeTransform((3,), (3, 1), cache_size=1)",
    "ReshapeTransform((2, 3), (6,)).inv",
    "SigmoidTransform()",
    "SoftplusTransform()",
    "TanhTransform()",
    "SoftmaxTransform()",
    "StackTransform([T.ExpTransform(), T.SigmoidTransform()], dim=-1)",
    "StackTransform([T.ExpTransform(), T.TanhTransform()], cache_size=1)",
    "StickBreakingTransform()",
    "StickBreakingTransform().inv",
    "Transform()",
    "Transform(2)",
    "CatTransform([1])",
    "CatTransform([T.ExpTransform()], lengths=[1, 2])",
    "StackTransform([1])",
    "ReshapeTransform((2, 3), (5,))",
]
INPUTS = [
    "t([0.3, 0.8, 0.1])",
    "t([[0.3, 0.8, 0.1], [0.5, 0.2, 0.4]])",
    "t([[0.9, 0.1], [0.2, 0.7]])",
    "t([[[0.3, 0.8, 0.1], [0.5, 0.2, 0.4]], [[0.7, 0.9, 0.6], [0.15, 0.25, 0.35]]])",
    "t(0.4)",
]
ABOUT_TRANSFORMS = (
    """
d.domain|d.codomain|d.bijective|d.sign|d.event_dim|d.inv|d.inv.inv is d|d.inv.domain|d.inv.codomain
d.inv.sign|d.inv.bijective|d.with_cache()|d.with_cache()._cache_size|d.with_cache(0)|d == d
d == T.ExpTransform()|hash(d)|d.inv == d.with_cache().inv
""".replace("\n", "|")
    .strip("|")
    .split("|")
    + [
        f"d.{way}_shape({shape})"
        for way in ("forward", "inverse")
        for shape in ((), (3,), (2,), (4, 3), (2, 2), (2, 3), (6,), "torch.Size([5, 2, 3])")
    ]
)


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transform(text):
    for asked in ["d", *ABOUT_TRANSFORMS]:
        program = question(asked, f"T.{text}")
        found, expected = (shown(outcome_of(each, program)) for each in (taper, torch))
        assert found == expected, asked


@pytest.mark.parametrize("value", INPUTS)
@pytest.mark.parametrize("text", TRANSFORMS)
def test_transform_of_values(text, value):
    for asked in (
        "d(x)",
        "d.inv(x)",
        "(lambda y: d.inv(y))(d(x))",
        "d.log_abs_det_jacobian(x, d(x))",
        "d.inv.log_abs_det_jacobian(d(x), x)",
    ):
        # Of a single leaf: a transform with a cache must see the same object twice.
        assert_same(torch, question(f"(lambda x: {asked})({value})", f"T.{text}"), factor=10)


def test_cached_value_is_the_same_object():
    for text in ("T.ExpTransform(1)", "T.ComposeTransform([T.ExpTransform()], 1)"):
        asked = "(lambda x: (d(x) is d(x), d.inv(d(x)) is x))(c([1.0]))"
        answers = [outcome_of(each, question(asked, text)) for each in (taper, torch)]
        assert answers[0] == answers[1] == (True, True)


# --- the lists of names ------------------------------------------------------------------------

MODULES = [
    name
    for name in dir(torch.distributions)
    if inspect.ismodule(getattr(torch.distributions, name)) and name != "kl"
]


def test_public_names():
    assert sorted(taper.distributions.__all__) == sorted(torch.distributions.__all__)
    assert set(dir(torch.distributions)) - set(dir(taper.distributions)) <= {"__all__"}


def parameters(function):
    found = []
    for each in inspect.signature(function).parameters.values():
        default = each.default
        found.append((each.name, each.kind, shown(default)))
    return found


@pytest.mark.parametrize("name", MODULES)
def test_module_has_the_same_classes_and_signatures(name):
    ours, theirs = (getattr(each.distributions, name) for each in (taper, torch))
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for public in theirs.__all__:
        one, other = getattr(ours, public), getattr(theirs, public)
        if not inspect.isclass(other):
            continue
        assert [x for x in vars(other) if x[0] != "_" and not hasattr(one, x)] == []
        assert parameters(one.__init__) == parameters(other.__init__), public
        for method in vars(other):
            if inspect.isfunction(getattr(other, method)) and method[0] != "_":
                mine = getattr(one, method, None)
                if mine is not None:
                    assert parameters(mine) == parameters(getattr(other, method)), method
        if not isinstance(getattr(other, "support", None), property):
            assert shown(getattr(one, "support", None)) == shown(getattr(other, "support", None))
        if isinstance(getattr(other, "arg_constraints", None), dict):
            assert shown(one.arg_constraints) == shown(other.arg_constraints)
