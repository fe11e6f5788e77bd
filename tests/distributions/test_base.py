"""The base class, constraints and helpers: checks, errors, texts, and when modules load."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import taper
from taper.distributions import (
    Distribution,
    ExponentialFamily,
    Independent,
    Normal,
    TransformedDistribution,
    Uniform,
    constraints,
    utils,
)
from taper.distributions.transforms import ExpTransform


def test_parameter_out_of_its_constraint_is_refused_with_the_values():
    with pytest.raises(ValueError) as caught:
        Normal(taper.zeros(2), taper.tensor([1.0, -1.0]))
    assert str(caught.value) == (
        "Expected parameter scale (Tensor of shape (2,)) of distribution "
        "Normal(loc: torch.Size([2]), scale: torch.Size([2])) to satisfy the constraint "
        "GreaterThan(lower_bound=0.0), but found invalid values:\ntensor([ 1., -1.])"
    )


def test_value_out_of_the_support_is_refused_with_the_values():
    with pytest.raises(ValueError) as caught:
        Uniform(0.0, 1.0).log_prob(taper.tensor(2.0))
    assert str(caught.value) == (
        "Expected value argument (Tensor of shape ()) to be within the support "
        "(Interval(lower_bound=0.0, upper_bound=1.0)) of the distribution "
        "Uniform(low: 0.0, high: 1.0), but found invalid values:\n2.0"
    )


def test_value_must_be_a_tensor_that_broadcasts():
    normal = Normal(taper.zeros(2), 1.0)
    with pytest.raises(ValueError, match="^The value argument to log_prob must be a Tensor$"):
        normal.log_prob(0.5)
    with pytest.raises(ValueError, match="^Value is not broadcastable with batch_shape"):
        normal.log_prob(taper.zeros(3))
    vectors = TransformedDistribution(Normal(taper.zeros(4, 2), 1.0), ExpTransform())
    assert vectors.log_prob(taper.ones(3, 1, 2)).shape == (3, 4, 2)


def test_checks_can_be_switched_off_for_one_distribution_and_for_all():
    assert Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    before = Distribution._validate_args
    try:
        Distribution.set_default_validate_args(False)
        assert Normal(0.0, -1.0).scale.item() == -1
        with pytest.raises(ValueError):
            Normal(0.0, -1.0, validate_args=True)
    finally:
        Distribution.set_default_validate_args(before)
    with pytest.raises(ValueError):
        Distribution.set_default_validate_args("no")


def test_expanded_distribution_keeps_the_switch_and_checks_nothing_again():
    expanded = Normal(0.0, -1.0, validate_args=False).expand((2,))
    assert not expanded._validate_args
    assert expanded.scale.stride() == (0,)


def test_subclass_with_its_own_init_must_define_expand():
    class Centered(Normal):
        def __init__(self, scale):
            super().__init__(0.0, scale)

    with pytest.raises(NotImplementedError, match="^Subclass Centered of Normal that defines"):
        Centered(1.0).expand((2,))


def test_distribution_without_constraints_warns_that_it_cannot_be_checked():
    class Bare(Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.warns(UserWarning, match="does not define `support` to enable sample validation"):
        bare._validate_sample(taper.zeros(()))


def test_base_class_implements_nothing():
    bare = Distribution(validate_args=False)
    for name in ("mean", "variance", "stddev", "support", "arg_constraints", "mode"):
        with pytest.raises(NotImplementedError):
            getattr(bare, name)
    for name, arguments in [
        ("sample", ()),
        ("rsample", ()),
        ("entropy", ()),
        ("enumerate_support", ()),
        ("log_prob", (1,)),
        ("cdf", (1,)),
        ("icdf", (1,)),
        ("expand", ((1,),)),
    ]:
        with pytest.raises(NotImplementedError):
            getattr(bare, name)(*arguments)


def test_sample_n_is_deprecated():
    with pytest.warns(FutureWarning, match=r"^`sample_n\(n\)` will be deprecated"):
        assert Normal(taper.zeros(2), 1.0).sample_n(3).shape == (3, 2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_draw_the_same(copied):
    for original in (Normal(taper.zeros(2), 1.0), Independent(Uniform(taper.zeros(2), 1.0), 1)):
        twin = copied(original)
        taper.manual_seed(0)
        expected = original.sample((3,))
        taper.manual_seed(0)
        assert taper.equal(twin.sample((3,)), expected)
        assert repr(twin) == repr(original)


def test_entropy_of_an_exponential_family_follows_from_its_normalizer():
    normal = Normal(taper.tensor([0.0, 3.0]), taper.tensor([1.0, 2.0]))
    found = ExponentialFamily.entropy(normal).detach()
    np.testing.assert_allclose(found.numpy(), normal.entropy().numpy(), rtol=1e-6)


def test_independent_makes_events_of_batches():
    base = Normal(taper.zeros(4, 3, 2), 1.0)
    events = Independent(base, 2)
    value = taper.ones(3, 2)
    assert (events.batch_shape, events.event_shape) == ((4,), (3, 2))
    assert events.log_prob(value).shape == (4,)
    np.testing.assert_allclose(
        events.log_prob(value).numpy(), base.log_prob(value).sum((-1, -2)).numpy(), rtol=1e-6
    )
    with pytest.raises(ValueError, match="^Expected reinterpreted_batch_ndims <="):
        Independent(base, 4)


def test_transformed_distribution_expands_its_base_to_the_transforms():
    shifts = taper.tensor([[0.0], [1.0]])
    shifted = TransformedDistribution(
        Normal(taper.zeros(3), 1.0),
        [ExpTransform(), taper.distributions.AffineTransform(shifts, 1)],
    )
    assert shifted.batch_shape == (2, 3)
    assert shifted.base_dist.batch_shape == (2, 3)


# --- constraints ---------------------------------------------------------------------------

MATRICES = taper.tensor(
    [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]
)
VECTORS = taper.tensor([[0.0, 1.0], [0.25, 0.75], [2.0, -1.0], [np.nan, 1.0]])
CHECKS = [
    (constraints.real, VECTORS, [[1, 1], [1, 1], [1, 1], [0, 1]]),
    (constraints.positive, VECTORS, [[0, 1], [1, 1], [1, 0], [0, 1]]),
    (constraints.nonnegative, VECTORS, [[1, 1], [1, 1], [1, 0], [0, 1]]),
    (constraints.unit_interval, VECTORS, [[1, 1], [1, 1], [0, 0], [0, 1]]),
    (constraints.boolean, VECTORS, [[1, 1], [0, 0], [0, 0], [0, 1]]),
    (constraints.nonnegative_integer, VECTORS, [[1, 1], [0, 0], [1, 0], [0, 1]]),
    (constraints.positive_integer, VECTORS, [[0, 1], [0, 0], [1, 0], [0, 1]]),
    (constraints.integer_interval(0, 1), VECTORS, [[1, 1], [0, 0], [0, 0], [0, 1]]),
    (constraints.half_open_interval(0, 1), VECTORS, [[1, 0], [1, 1], [0, 0], [0, 0]]),
    (constraints.less_than(1), VECTORS, [[1, 0], [1, 1], [0, 1], [0, 0]]),
    (constraints.greater_than_eq(taper.tensor([0, 1])), VECTORS, [[1, 1], [1, 0], [1, 0], [0, 1]]),
    (constraints.simplex, VECTORS, [1, 1, 0, 0]),
    (constraints.one_hot, VECTORS, [1, 0, 0, 0]),
    (constraints.multinomial(1), VECTORS, [1, 1, 0, 0]),
    (constraints.real_vector, VECTORS, [1, 1, 1, 0]),
    (constraints.cat([constraints.boolean, constraints.positive], -1), VECTORS,
     [[1, 1], [0, 1], [0, 0], [0, 1]]),
    (constraints.stack([constraints.boolean, constraints.positive], -1), VECTORS,
     [[1, 1], [0, 1], [0, 0], [0, 1]]),
    (constraints.lower_triangular, MATRICES, [1, 0, 0]),
    (constraints.lower_cholesky, MATRICES, [1, 0, 0]),
    (constraints.corr_cholesky, MATRICES, [1, 0, 0]),
    (constraints.square, MATRICES, [1, 1, 1]),
    (constraints.symmetric, MATRICES, [0, 1, 1]),
    (constraints.positive_definite, MATRICES[1:], [1, 0]),
    (constraints.positive_semidefinite, MATRICES[1:], [1, 0]),
]  # fmt: skip


@pytest.mark.parametrize("constraint, value, expected", CHECKS, ids=lambda each: repr(each)[:40])
def test_constraint_check(constraint, value, expected):
    assert constraint.check(value).tolist() == np.array(expected, dtype=bool).tolist()


def test_dependent_constraint_is_not_checked_and_not_known():
    assert constraints.is_dependent(Uniform.support)
    assert not constraints.is_dependent(Uniform(0.0, 1.0).support)
    assert Uniform.support.event_dim == 0
    with pytest.raises(ValueError, match="^Cannot determine validity of dependent constraint$"):
        constraints.dependent.check(1)
    with pytest.raises(NotImplementedError, match="^.event_dim cannot be determined statically$"):
        assert constraints.dependent.event_dim


def test_independent_constraint_needs_enough_dimensions():
    with pytest.raises(ValueError, match=r"^Expected value.dim\(\) >= 1 but got 0$"):
        constraints.real_vector.check(taper.tensor(1.0))


# --- helpers -------------------------------------------------------------------------------


def test_numbers_take_the_dtype_of_the_first_tensor():
    number, tensor = utils.broadcast_all(1, taper.zeros(2, dtype=taper.float64))
    assert number.dtype is tensor.dtype is taper.float64
    assert number.shape == (2,)
    with pytest.raises(ValueError, match="^Input arguments must all be instances of Number"):
        utils.broadcast_all("1")


def test_triangles_and_vectors_are_inverse():
    for diag in (-2, -1, 0):
        matrix = taper.randn(5, 4, 4).tril(diag)
        vector = utils.tril_matrix_to_vec(matrix, diag)
        assert taper.equal(utils.vec_to_tril_matrix(vector, diag), matrix)
    with pytest.raises(ValueError, match="^The size of last dimension is 5 which cannot"):
        utils.vec_to_tril_matrix(taper.zeros(5))
    with pytest.raises(ValueError, match=r"^diag \(3\) provided is outside \[-2, 1\].$"):
        utils.tril_matrix_to_vec(taper.zeros(2, 2), 3)


def test_lazy_property_records_even_under_no_grad():
    class Doubled:
        value = taper.ones(2, requires_grad=True)

        @utils.lazy_property
        def double(self):
            return self.value * 2

    doubled = Doubled()
    with taper.no_grad():
        assert doubled.double.requires_grad
    assert doubled.double is doubled.double


def test_nothing_is_loaded_before_it_is_used():
    program = (
        "import sys, taper; assert 'taper.distributions' not in sys.modules;"
        "taper.distributions.Normal(0.0, 1.0);"
        "assert 'taper.distributions.wishart' not in sys.modules;"
        "from taper.distributions import *; print(len(taper.distributions.__all__), Wishart)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout.startswith("67 <class 'taper.distributions.wishart.Wishart'>"), shown.stderr
