"""Claims B1 to B6 of the notes: requires_grad and leaves."""

from __future__ import annotations

import pytest

import taper
from taper import nn, optim


def test_b1_default_false_parameter_true_floating_and_complex_only():
    assert not taper.ones(2).requires_grad
    assert nn.Parameter(taper.ones(2)).requires_grad
    assert taper.ones(2, dtype=taper.complex64, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        taper.ones(2, dtype=taper.int64, requires_grad=True)
    integers = taper.ones(2, dtype=taper.int64)
    with pytest.raises(RuntimeError, match="floating point"):
        integers.requires_grad = True
    assert not integers.requires_grad


def test_b2_one_input_is_enough():
    x, y = taper.rand(5, 5), taper.rand(5, 5)
    z = taper.rand((5, 5), requires_grad=True)
    assert not (x + y).requires_grad
    assert (x + z).requires_grad


def test_b3_the_flag_of_a_non_leaf_cannot_be_cleared():
    y = taper.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        y.requires_grad = False
    assert y.requires_grad


def test_b4_leaves_get_grad_intermediates_only_if_retained():
    x = taper.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    z.retain_grad()
    z.sum().backward()
    assert x.is_leaf and not y.is_leaf
    assert x.grad.tolist() == [6.0, 6.0]
    assert z.retains_grad and z.grad.tolist() == [1.0, 1.0]
    assert not y.retains_grad
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None


def test_b5_a_frozen_part_is_not_in_the_graph_and_gets_no_grad():
    body, head = nn.Linear(3, 4), nn.Linear(4, 2)
    body.requires_grad_(False)
    before = body.weight.detach().clone()
    optimizer = optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    out = head(body(taper.randn(5, 3)))
    out.sum().backward()
    optimizer.step()
    assert body.weight.grad is None and head.weight.grad is not None
    assert taper.equal(body.weight, before)
    leaves = [node for node, _ in out.grad_fn.next_functions if node is not None]
    assert all(getattr(node, "variable", None) is not body.weight for node in leaves)


def test_b6_detach_cuts_and_data_shares_without_version_check():
    x = taper.tensor([2.0], requires_grad=True)
    y = x.pow(2)
    cut = y.detach()
    assert not cut.requires_grad and cut.data_ptr() == y.data_ptr()
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        (cut * 3).backward()
    z = x * x
    x.data.mul_(10)
    assert x._version == 0
    z.backward()
    assert x.grad.item() == 40.0
