"""Weight norm, spectral norm and orthogonal matrices; the numbers are from PyTorch 2.13."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn.utils import parametrizations, parametrize


def close(tensor, expected, rtol=2e-5, atol=2e-6):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=rtol, atol=atol)


@pytest.fixture(autouse=True)
def seed():
    taper.manual_seed(0)


def old_weight_norm(*args, **kwargs):
    with pytest.warns(FutureWarning, match=r"^`torch.nn.utils.weight_norm` is deprecated in favor"):
        return nn.utils.weight_norm(*args, **kwargs)


# ----------------------------------------------------------------------------- weight norm


def test_the_operator():
    v = taper.tensor([[3.0, 4.0], [0.0, 2.0]], requires_grad=True)
    g = taper.tensor([[10.0], [1.0]], requires_grad=True)
    result = taper._weight_norm(v, g)
    assert result.grad_fn.name() == "WeightNormInterfaceBackward0"
    close(result, [[6.0, 8.0], [0.0, 1.0]])
    (result * taper.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    close(v.grad, [[-0.64, 0.48], [1.5, 0.0]])
    close(g.grad, [[2.2], [4.0]])


def test_the_operator_refuses():
    v = taper.ones(2, 3, 4)
    with pytest.raises(RuntimeError, match="^fused kernels can only be applied for first or last"):
        taper._weight_norm_interface(v, taper.ones(1, 3, 1), 1)
    with pytest.raises(RuntimeError, match="^_weight_norm: expected 2 lengths in 'g'"):
        taper._weight_norm(v, taper.ones(3))
    with pytest.raises(RuntimeError, match="^expected scalar type Float but found Double$"):
        taper._weight_norm(v, taper.ones(2).double())
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'$"):
        taper._weight_norm(v.long(), taper.ones(2).long())


def test_second_derivatives_know_that_the_norms_move():
    v = taper.randn(3, 4, dtype=taper.float64, requires_grad=True)
    g = taper.rand(3, 1, dtype=taper.float64, requires_grad=True)
    assert taper.autograd.gradgradcheck(lambda v, g: taper._weight_norm(v, g, 0), (v, g))


def test_old_weight_norm():
    layer = old_weight_norm(nn.Linear(3, 2))
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    close(layer.weight_g, [[0.5672245621681213], [0.503937304019928]])
    layer(taper.ones(1, 3)).pow(2).sum().backward()
    close(layer.weight_g.grad, [[0.10849887132644653], [0.06775432080030441]])
    close(layer.weight_v.grad[1], [-0.012208782136440277, -0.03943833336234093, -0.0901514515])
    weight = layer.weight.tolist()
    assert type(layer.weight) is taper.Tensor
    nn.utils.remove_weight_norm(layer)
    assert layer.weight.tolist() == weight
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert not layer._forward_pre_hooks


def test_old_weight_norm_refuses():
    layer = old_weight_norm(nn.Linear(3, 2))
    with pytest.raises(RuntimeError, match="^Cannot register two weight_norm hooks on the same"):
        old_weight_norm(layer)
    with pytest.raises(ValueError, match="^weight_norm of 'bias' not found in Linear"):
        nn.utils.remove_weight_norm(layer, "bias")
    plain = nn.Linear(3, 2)
    with pytest.raises(IndexError):
        old_weight_norm(plain, dim=5)
    assert list(plain.state_dict()) == ["weight", "bias"]


def test_the_new_weight_norm_reads_states_of_the_old_one():
    old = old_weight_norm(nn.Linear(3, 2))
    new = parametrizations.weight_norm(nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    assert taper.equal(new.weight, old.weight)
    assert list(new.state_dict())[1] == "parametrizations.weight.original0"


def test_one_length_for_all():
    layer = parametrizations.weight_norm(nn.Linear(3, 2), dim=None)
    assert layer.parametrizations.weight.original0.shape == ()
    assert layer.weight.grad_fn.next_functions[1][0].next_functions[1][0].name() == "NormBackward0"


# --------------------------------------------------------------------------- spectral norm


def test_old_spectral_norm():
    layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    close(layer.weight_u, [-0.6127873063087463, -0.7902478575706482])
    result = layer(taper.ones(1, 3))
    close(result, [[-0.46002382040023804, -0.8432421088218689]])
    close(layer.weight_v, [0.894199788570404, -0.03715914487838745, 0.44612327218055725])
    result.sum().backward()
    close(layer.weight_orig.grad[0], [0.15910649299621582, 2.745142698287964, 1.4032478332519531])
    layer.eval()
    before = layer.weight_u.tolist()
    layer(taper.ones(1, 3))
    assert layer.weight_u.tolist() == before
    assert layer.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}


def test_removing_the_old_spectral_norm_removes_all_of_it():
    layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 2)))
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert "spectral_norm" not in layer.state_dict()._metadata[""]
    layer.load_state_dict(nn.Linear(3, 2).state_dict())
    with pytest.raises(ValueError, match="^spectral_norm of 'weight' not found in Linear"):
        nn.utils.remove_spectral_norm(layer)


def test_new_spectral_norm():
    layer = parametrizations.spectral_norm(nn.Linear(3, 2))
    made = layer.parametrizations.weight[0]
    close(made._u, [0.7856073379516602, -0.6187252998352051])
    weight = layer.weight
    close(weight[0], [-0.006572856567800045, 0.4709565043449402, -0.7225707769393921])
    weight.sum().backward()
    grad = layer.parametrizations.weight.original.grad
    close(grad[0], [1.9952900409698486, 2.217365026473999, 0.6625128388404846], rtol=1e-4)
    largest = taper.linalg.matrix_norm(weight.detach(), 2)
    assert largest.item() == pytest.approx(1.0, abs=1e-4)


def test_rows_of_transposed_convolutions():
    layer = parametrizations.spectral_norm(nn.ConvTranspose2d(2, 3, 2))
    assert layer.parametrizations.weight[0]._u.shape == (3,)


# ------------------------------------------------------------------------------ orthogonal

WEIGHT = [
    [-0.010168910026550293, 0.5581021904945374, -0.8297100067138672],
    [-0.9995861053466797, -0.02800433151423931, -0.006586115341633558],
    [-0.026911167427897453, 0.8292995691299438, 0.55815589427948],
]
BELOW = [-0.014591149985790253, 0.027496319264173508, -1.5514256954193115]


@pytest.mark.parametrize(("name", "factor"), [("matrix_exp", 1), ("cayley", 1), ("householder", 2)])
def test_orthogonal(name, factor):
    layer = parametrizations.orthogonal(nn.Linear(3, 3), "weight", name)
    close(layer.weight, WEIGHT)
    (layer.weight**3).sum().backward()
    grad = layer.parametrizations.weight.original.grad
    close(grad[[1, 2, 2], [0, 0, 1]], [factor * each for each in BELOW], rtol=1e-4)


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3)])
def test_the_matrix_stays_orthogonal(name, trivial, shape):
    layer = nn.Linear(*shape)
    parametrizations.orthogonal(layer, "weight", name, use_trivialization=trivial)
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        layer.weight.pow(3).sum().backward()
        optimizer.step()
    weight = layer.weight.detach().numpy()
    product = weight @ weight.T if len(weight) < weight.shape[1] else weight.T @ weight
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-5)


def test_an_orthogonal_matrix_can_be_assigned():
    wanted = nn.init.orthogonal_(taper.empty(3, 3))
    for name, trivial in (("matrix_exp", True), ("cayley", True), ("householder", False)):
        layer = parametrizations.orthogonal(
            nn.Linear(3, 3), "weight", name, use_trivialization=trivial
        )
        layer.weight = wanted
        close(layer.weight, wanted.tolist(), atol=1e-6)
    layer = parametrizations.orthogonal(nn.Linear(3, 3), use_trivialization=False)
    with pytest.raises(NotImplementedError, match="^It is not possible to assign to the matrix"):
        layer.weight = wanted
    parametrize.remove_parametrizations(layer, "weight")
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_orthogonal_refuses():
    with pytest.raises(ValueError, match="^orthogonal_map has to be one of .* Got: other$"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="other")
    with pytest.raises(ValueError, match="^Expected a matrix or batch of matrices. Got a tensor"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")


def test_nothing_else_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parametrizations.weight_norm(nn.Linear(2, 2))
        nn.utils.spectral_norm(nn.Linear(2, 2))
