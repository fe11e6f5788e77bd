"""Normalisations: running statistics, numbers of PyTorch 2.13, layouts, second derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from taper.autograd import gradcheck, gradgradcheck
from taper.nn import functional as F


def close(tensor, expected, tolerance=1e-6):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, tolerance, tolerance)


def inputs():
    x = taper.tensor([[1.0, 2.0, 4.0], [3.0, 0.0, 8.0]], requires_grad=True)
    weight = taper.tensor([1.0, 2.0, 3.0], requires_grad=True)
    bias = taper.tensor([0.0, 1.0, 0.0], requires_grad=True)
    mean, var = taper.tensor([1.0, 1.0, 1.0]), taper.tensor([1.0, 2.0, 3.0])
    return x, mean, var, weight, bias


def test_batch_norm_in_training_gives_the_numbers_of_pytorch():
    x, mean, var, weight, bias = inputs()
    result = F.batch_norm(x, mean, var, weight, bias, True, 0.5, 0.1)
    close(result, [[-0.9534626, 2.9069252, -2.9631886], [0.9534626, -0.9069252, 2.9631891]])
    close(mean, [1.5, 1.0, 3.5])
    close(var, [1.5, 2.0, 5.5])
    result.backward(taper.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]))
    close(x.grad[0], [0.0433392, 0.0866784, 0.0542046], 1e-5)
    close(weight.grad, [-0.9534626, 0.9534626, -2.9631889])
    close(bias.grad, [1.0, 3.0, 3.0])


def test_running_statistics_are_no_write_in_place():
    """PyTorch leaves their version unchanged, so an old graph can still run backward."""
    x, mean, var, weight, bias = inputs()
    first = F.batch_norm(x, mean, var, weight, bias, training=True)
    F.batch_norm(x, mean, var, weight, bias, training=True)
    assert mean._version == var._version == 0
    first.sum().backward()
    assert x.grad is not None


def test_running_statistics_must_not_require_a_gradient():
    x, mean, var, _, _ = inputs()
    mean.requires_grad_()
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'runn"):
        F.batch_norm(x, mean, var)


def test_running_statistics_keep_double_precision():
    x = taper.tensor([[1.0], [2.0]], dtype=taper.float64)
    mean, var = taper.zeros(1, dtype=taper.float64), taper.ones(1, dtype=taper.float64)
    F.batch_norm(x, mean, var, training=True, momentum=0.1)
    close(mean, [0.15], 1e-15)
    close(var, [0.95], 1e-15)


def test_evaluation_reads_the_running_statistics():
    x, mean, var, _, _ = inputs()
    result = F.batch_norm(x, mean, var, eps=1.0)
    close(result[0], [0.0, 1.0 / np.sqrt(3.0), 1.5])
    assert result.grad_fn._saved_result1.shape == (0,)


def test_channels_last_stay_last():
    x = taper.rand(2, 4, 4, 3).permute(0, 3, 1, 2)
    result = F.batch_norm(x, None, None, training=True)
    assert result.stride() == x.stride()
    close(result, F.batch_norm(x.contiguous(), None, None, training=True).numpy())


def test_half_precision_beside_single_parameters():
    x = taper.tensor([[1.0], [3.0]], dtype=taper.bfloat16)
    mean, var = taper.zeros(1), taper.ones(1)
    result = F.batch_norm(x, mean, var, taper.ones(1), taper.zeros(1), True)
    assert result.dtype is taper.bfloat16
    close(mean, [0.2])
    with pytest.raises(RuntimeError, match="all inputs must share same datatype"):
        F.layer_norm(taper.ones(2, 3, dtype=taper.float64), (3,), taper.ones(3))


def test_instance_norm_averages_statistics_over_samples():
    mean, var = taper.zeros(1), taper.ones(1)
    F.instance_norm(taper.tensor([[[1.0, 3.0]], [[5.0, 9.0]]]), mean, var)
    close(mean, [0.45])
    close(var, [1.4])
    assert mean._version == 1


def test_local_response_norm_gives_the_numbers_of_pytorch():
    x = taper.tensor([[[1.0, 2.0, 4.0], [3.0, 0.0, 8.0]]])
    result = F.local_response_norm(x, 2, alpha=1.0, beta=0.5, k=1.0)
    close(result, [[[0.8164966, 1.1547005, 1.3333334], [1.2247448, 0.0, 1.2493901]]])


def test_local_response_norm_has_its_gradient():
    x = taper.rand(2, 4, 3, dtype=taper.float64, requires_grad=True)

    def function(x):
        return F.local_response_norm(x, 3, alpha=0.5)

    assert gradcheck(function, [x])
    assert gradgradcheck(function, [x])


@pytest.mark.parametrize("training", [True, False])
def test_second_derivatives_of_batch_norm(training):
    x = taper.rand(4, 2, 3, dtype=taper.float64, requires_grad=True)
    weight = taper.rand(2, dtype=taper.float64, requires_grad=True)
    mean, var = taper.zeros(2, dtype=taper.float64), taper.ones(2, dtype=taper.float64)

    def function(x, weight):
        statistics = (None, None) if training else (mean, var)
        return F.batch_norm(x, *statistics, weight, training=training)

    assert gradgradcheck(function, [x, weight])


def test_an_empty_batch_passes_through():
    weight = taper.ones(3, requires_grad=True)
    result = F.batch_norm(taper.zeros(0, 3), None, None, weight, training=True)
    assert result.shape == (0, 3)
    result.sum().backward()
    assert weight.grad.tolist() == [0.0, 0.0, 0.0]
