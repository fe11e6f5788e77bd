"""Random tensors: PyTorch's numbers, generators and their states, writes in place."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import taper


def test_the_numbers_are_those_of_pytorch():
    taper.manual_seed(7)
    close(taper.rand(3), [0.5349225401878357, 0.19880318641662598, 0.6592116951942444])
    close(taper.randn(2), [-0.032551974058151245, 1.0110543966293335])
    assert taper.randint(0, 100, (4,)).tolist() == [79, 88, 61, 58]
    assert taper.randperm(5).tolist() == [1, 0, 2, 3, 4]


def test_numbers_by_parameters_are_those_of_pytorch():
    taper.manual_seed(7)
    assert taper.multinomial(taper.tensor([1.0, 2.0, 3.0, 4.0]), 3).tolist() == [1, 3, 0]
    assert taper.bernoulli(taper.full((6,), 0.3)).tolist() == [0, 0, 0, 0, 1, 1]
    found = taper.normal(taper.arange(3.0), 0.5)
    close(found, [-0.7874838709831238, 0.6840755343437195, 2.0106008052825928])


def close(tensor, expected):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-6)


def test_a_strided_tensor_is_filled_in_the_order_of_its_memory():
    taper.manual_seed(7)
    whole = taper.zeros(3, 4)
    whole.t()[1:3].uniform_(1, 2)
    close(whole[:, 1], [1.5349225997924805, 1.6592116355895996, 1.2327616214752197])
    close(whole[:, 2], [1.198803186416626, 1.6568902730941772, 1.4250614643096924])
    assert whole._version == 1


FILLS = [
    ("normal_", (), "NormalBackward0"),
    ("uniform_", (), "UniformBackward0"),
    ("random_", (), "RandomBackward2"),
    ("random_", (5,), "RandomBackward1"),
    ("random_", (1, 5), "RandomBackward0"),
    ("bernoulli_", (0.5,), "BernoulliBackward2"),
    ("exponential_", (), "ExponentialBackward0"),
    ("geometric_", (0.5,), "GeometricBackward0"),
    ("cauchy_", (), "CauchyBackward0"),
    ("log_normal_", (), "LogNormalBackward0"),
]


@pytest.mark.parametrize(("name", "arguments", "node"), FILLS)
def test_what_is_overwritten_gets_the_gradient_zero(name, arguments, node):
    x = taper.ones(2, 3, requires_grad=True)
    y = x * 2
    assert getattr(y, name)(*arguments) is y
    assert type(y.grad_fn).__name__ == node
    assert y._version == 1
    y.sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


def test_a_fill_of_a_view_leaves_the_rest_its_gradient():
    x = taper.ones(2, 2, requires_grad=True)
    y = x * 1
    y[0].normal_()
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_a_leaf_that_requires_a_gradient_is_not_filled():
    x = taper.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.normal_()
    with taper.no_grad():
        x.normal_()
    assert x._version == 1


def test_an_expanded_tensor_is_not_filled():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        taper.ones(3, 1).expand(3, 3).normal_()


def test_a_failed_fill_changes_nothing():
    x = taper.ones(3)
    state = taper.get_rng_state()
    with pytest.raises(RuntimeError, match="normal expects std >= 0.0, but found std -1"):
        x.normal_(0, -1)
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert x._version == 0
    assert taper.equal(state, taper.get_rng_state())


def test_states_are_tensors_that_bring_the_stream_back():
    generator = taper.Generator().manual_seed(3)
    state = generator.get_state()
    assert (state.dtype, state.shape) == (taper.uint8, (5056,))
    first = taper.randn(5, generator=generator)
    assert taper.equal(taper.randn(5, generator=generator.set_state(state)), first)
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        generator.set_state(taper.ones(3))
    with pytest.raises(TypeError, match=r"expected a torch\.ByteTensor, but got int"):
        generator.set_state(3)


def test_copies_of_a_generator_go_on_independently():
    generator = taper.Generator().manual_seed(3)
    taper.rand(7, generator=generator)
    copies = [generator.clone_state(), copy.deepcopy(generator)]
    copies.append(pickle.loads(pickle.dumps(generator)))
    expected = taper.rand(3, generator=generator)
    for each in copies:
        assert type(each) is taper.Generator
        assert taper.equal(taper.rand(3, generator=each), expected)


def test_the_default_generator_serves_all_functions():
    assert taper.manual_seed(5) is taper.default_generator
    assert taper.initial_seed() == taper.default_generator.initial_seed() == 5
    expected = taper.rand(2)
    assert taper.equal(taper.rand(2, generator=taper.Generator().manual_seed(5)), expected)
    assert taper.random.default_generator is taper.default_generator


def test_fork_rng_leaves_the_stream_where_it_was():
    taper.manual_seed(1)
    expected = taper.rand(2)
    taper.manual_seed(1)
    with pytest.raises(ZeroDivisionError), taper.random.fork_rng():
        taper.rand(100)
        raise ZeroDivisionError
    assert taper.equal(taper.rand(2), expected)
    with taper.random.fork_rng(enabled=False):
        taper.rand(2)
    assert not taper.equal(taper.rand(2), expected)


def test_bernoulli_with_a_number_has_no_derivative():
    x = taper.ones(3, requires_grad=True)
    result = taper.bernoulli(x, 0.5)
    assert type(result.grad_fn).__name__ == "NotImplemented"
    with pytest.raises(RuntimeError, match="derivative for aten::bernoulli is not implemented"):
        result.sum().backward()


def test_out_takes_the_numbers_and_its_own_dtype():
    out = taper.empty(3, dtype=taper.float64)
    taper.manual_seed(2)
    assert taper.rand(3, out=out) is out
    taper.manual_seed(2)
    assert taper.equal(out, taper.rand(3, dtype=taper.float64))
    with pytest.raises(RuntimeError, match="multinomial expects Long tensor out, got: Float"):
        taper.multinomial(taper.ones(3), 2, out=taper.empty(2))


def test_what_is_no_generator_is_refused():
    with pytest.raises(TypeError, match=r"argument 'generator' must be torch\.Generator, not int"):
        taper.ones(3).normal_(generator=1)


@pytest.mark.parametrize("fill", ["uniform_", "normal_"])
@pytest.mark.parametrize("bounds", [(), (3.0, 5.0)])
def test_many_numbers_are_drawn_as_few_are(fill, bounds):
    taper.manual_seed(1)
    many = getattr(taper.empty(160_000), fill)(*bounds)
    taper.manual_seed(1)
    few = [getattr(taper.empty(16_000), fill)(*bounds) for _ in range(10)]
    assert taper.equal(many, taper.cat(few))
