"""Transforms: inverses, changes of volume, shapes, the cache, and the registry of constraints."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import taper
from taper.distributions import Normal, biject_to, constraints, transform_to
from taper.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)


def double(values):
    return taper.tensor(values, dtype=taper.float64)


VECTOR = double([0.3, 0.8, 0.1])
# (transform, an input): bijections between vectors of numbers
BIJECTIONS = [
    (ExpTransform(), VECTOR),
    (AffineTransform(1.0, double([2.0, -3.0, 0.5])), VECTOR),
    (AffineTransform(1, -2, event_dim=1), VECTOR),
    (PowerTransform(double(3.0)), VECTOR),
    (PowerTransform(double([-1.0, 2.0, 0.5])), VECTOR),
    (SigmoidTransform(), VECTOR),
    (SoftplusTransform(), VECTOR),
    (TanhTransform(), VECTOR),
    (CumulativeDistributionTransform(Normal(double(0.5), double(2.0))), VECTOR),
    (StickBreakingTransform(), VECTOR),
    (CorrCholeskyTransform(), VECTOR),
    (ReshapeTransform((3,), (3, 1)), VECTOR),
    (ExpTransform().inv, VECTOR),
    (ComposeTransform([]), VECTOR),
    (
        ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0), TanhTransform().inv.inv]),
        VECTOR,
    ),
    (ComposeTransform([TanhTransform(), StickBreakingTransform()]), VECTOR),
    (IndependentTransform(TanhTransform(), 1), VECTOR),
    (CatTransform([ExpTransform(), SigmoidTransform()], lengths=[1, 2]), VECTOR),
    (StackTransform([ExpTransform(), SigmoidTransform(), TanhTransform()]), VECTOR),
]
BY_BIJECTION = pytest.mark.parametrize("transform, x", BIJECTIONS, ids=lambda each: repr(each)[:60])


@BY_BIJECTION
def test_inverse_undoes_the_transform(transform, x):
    y = transform(x)
    assert transform.bijective
    assert transform.codomain.check(y).all()
    assert transform.inv.inv is transform
    np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-9)
    assert tuple(y.shape) == tuple(transform.forward_shape(x.shape))
    assert tuple(x.shape) == tuple(transform.inverse_shape(y.shape))


@BY_BIJECTION
def test_change_of_volume_is_the_determinant_of_the_jacobian(transform, x):
    y = transform(x)
    change = transform.log_abs_det_jacobian(x, y)
    jacobian = taper.autograd.functional.jacobian(transform, x).reshape(-1, 3)
    # A simplex or a matrix has as many free elements as there are inputs.
    if isinstance(transform.codomain, type(constraints.simplex)):
        jacobian = jacobian[:-1]
    elif isinstance(transform.codomain, type(constraints.corr_cholesky)):
        jacobian = jacobian[[3, 6, 7]]
    expected = taper.linalg.det(jacobian).abs().log().item()
    assert change.sum().item() == pytest.approx(expected, rel=1e-8)
    back = transform.inv.log_abs_det_jacobian(y, x)
    np.testing.assert_allclose(back.numpy(), -change.numpy(), rtol=1e-9)


@BY_BIJECTION
def test_cached_transform_gives_the_same_values(transform, x):
    cached = transform.with_cache(1)
    assert cached.with_cache(1) is cached
    np.testing.assert_array_equal(cached(x).numpy(), transform(x).numpy())
    again = pickle.loads(pickle.dumps(cached))
    np.testing.assert_array_equal(again(x).numpy(), transform(x).numpy())


def test_cache_returns_the_very_value_it_came_from():
    sigmoid = SigmoidTransform(cache_size=1)
    x = taper.tensor([200.0])  # the inverse alone could not find it again
    y = sigmoid(x)
    assert sigmoid(x) is y
    assert sigmoid.inv(y) is x
    assert SigmoidTransform().inv(y).item() < 100


def test_cache_size_is_zero_or_one():
    with pytest.raises(ValueError, match="^cache_size must be 0 or 1$"):
        ExpTransform(cache_size=2)


def test_copy_of_a_transform_makes_an_inverse_of_its_own():
    transform = ExpTransform()
    inverse = transform.inv
    copied = copy.deepcopy(transform)
    assert copied.inv is not inverse
    assert copied.inv.inv is copied


@pytest.mark.parametrize(
    "transform, shape",
    [
        (SoftmaxTransform(), (4, 3)),
        (LowerCholeskyTransform(), (4, 3, 3)),
        (PositiveDefiniteTransform(), (4, 3, 3)),
        (AbsTransform(), (4, 3)),
    ],
)
def test_projection_has_an_inverse_from_one_side_only(transform, shape):
    taper.manual_seed(0)
    y = transform(taper.randn(shape, dtype=taper.float64))
    assert not transform.bijective
    assert transform.codomain.check(y).all()
    np.testing.assert_allclose(transform(transform.inv(y)).numpy(), y.numpy(), rtol=1e-8)
    with pytest.raises(NotImplementedError):
        transform.log_abs_det_jacobian(y, y)


def test_signs():
    assert AffineTransform(0.0, -2.0).sign == -1
    assert AffineTransform(0.0, 2).inv.sign == 1
    assert ComposeTransform([AffineTransform(0, -1), AffineTransform(0, -1)]).sign == 1
    assert PowerTransform(double([-1.0, 2.0])).sign.tolist() == [-1, 1]
    with pytest.raises(NotImplementedError):
        assert AbsTransform().sign


def test_equality():
    assert ExpTransform() == ExpTransform()
    assert ExpTransform() != TanhTransform()
    assert ExpTransform().inv == ExpTransform().inv
    assert AffineTransform(0, 1) != AffineTransform(0, 2)
    assert AffineTransform(taper.zeros(2), 1) == AffineTransform(0, 1)
    assert PowerTransform(2) == PowerTransform(2.0)
    assert ComposeTransform([]) == identity_transform
    assert Transform() != Transform()


def test_event_dims_add_up_in_a_composition():
    composed = ComposeTransform([AffineTransform(0, 1), StickBreakingTransform()])
    assert composed.domain.event_dim == 1
    with pytest.raises(ValueError, match=r"^Please use either .domain.event_dim or"):
        assert CorrCholeskyTransform().event_dim
    x = taper.zeros(5, 3)
    assert composed.log_abs_det_jacobian(x, composed(x)).shape == (5,)


@pytest.mark.parametrize(
    "transform, shape",
    [
        (StickBreakingTransform(), ()),
        (CorrCholeskyTransform(), (2,)),
        (ReshapeTransform((2, 3), (6,)), (3,)),
        (ReshapeTransform((2, 3), (6,)), (3, 2)),
        (IndependentTransform(StickBreakingTransform(), 1), ()),
    ],
)
def test_shape_that_does_not_fit_is_refused(transform, shape):
    with pytest.raises(ValueError):
        transform.forward_shape(shape)


def test_parts_must_cover_the_dimension():
    with pytest.raises(AssertionError, match=r"^x.size\(0\) = 3 must equal length 2$"):
        CatTransform([ExpTransform(), ExpTransform()])(taper.zeros(3))
    with pytest.raises(AssertionError, match=r"must equal len\(transforms\) 2$"):
        StackTransform([ExpTransform(), ExpTransform()])(taper.zeros(3))


REACHABLE = [
    constraints.real,
    constraints.positive,
    constraints.nonnegative,
    constraints.greater_than(2.0),
    constraints.greater_than_eq(double([1.0, 2.0, 3.0])),
    constraints.less_than(-1.0),
    constraints.unit_interval,
    constraints.interval(-2.0, double(5.0)),
    constraints.half_open_interval(0.0, 3.0),
    constraints.simplex,
    constraints.corr_cholesky,
    constraints.independent(constraints.positive, 1),
    constraints.cat([constraints.positive, constraints.unit_interval], -1, [1, 2]),
    constraints.stack([constraints.positive, constraints.real, constraints.less_than(0.0)], -1),
]


@pytest.mark.parametrize("constraint", REACHABLE, ids=repr)
@pytest.mark.parametrize("registry", [biject_to, transform_to], ids=["biject_to", "transform_to"])
def test_registered_transform_reaches_the_constraint(registry, constraint):
    taper.manual_seed(0)
    transform = registry(constraint)
    y = transform(taper.randn(7, 3, dtype=taper.float64))
    assert constraint.check(y).all()
    if registry is biject_to:
        assert transform.bijective
        assert transform.log_abs_det_jacobian(transform.inv(y), y).isfinite().all()


@pytest.mark.parametrize("constraint", [constraints.lower_cholesky, constraints.positive_definite])
def test_matrices_are_reached_but_not_bijectively(constraint):
    taper.manual_seed(0)
    assert constraint.check(transform_to(constraint)(taper.randn(5, 3, 3))).all()
    with pytest.raises(NotImplementedError, match="^Cannot transform _?[LP].* constraints$"):
        biject_to(constraint)


def test_registry_of_ones_own_constraints():
    class Even(constraints.Constraint):
        pass

    registry = type(biject_to)()

    @registry.register(Even())
    def way(constraint):
        return identity_transform

    assert registry(Even()) is identity_transform
    with pytest.raises(TypeError, match="^Expected constraint to be either a Constraint subclass"):
        registry.register(int, way)
