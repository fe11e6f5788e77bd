"""Claims F1 to F4 and G1, G2 of the notes: in-place operations, functions without a derivative."""

from __future__ import annotations

import math

import pytest

import taper


def test_f1_leaves_and_their_views_may_not_be_written_while_recording():
    x = taper.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in"):
        x.mul_(2)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being"):
        x[0].mul_(2)
    assert x.tolist() == [1.0, 1.0, 1.0] and x._version == 0
    with taper.no_grad():
        x.mul_(2)
        x.view(3).sub_(1)
    assert x.tolist() == [1.0, 1.0, 1.0] and x._version == 2 and x.is_leaf and x.requires_grad


def test_f2_versions_are_shared_counted_and_checked():
    base = taper.ones(3)
    view, cut = base[1:], base.detach()
    view.add_(1)
    assert base._version == view._version == cut._version == 1
    x = taper.ones(3, requires_grad=True)
    saved = x * 1
    y = saved * saved
    saved.add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "modified by an inplace operation: [torch.FloatTensor [3]]" in text
    assert "which is output 0 of Add, is at version 1; expected version 0 instead" in text
    assert "saved.add_(1)" in text and "y = saved * saved" in text


def test_f3_writing_a_view_rewrites_the_history_of_base_and_siblings():
    x = taper.ones(4, requires_grad=True)
    base = x * 2
    first, second = base[:2], base[1:]
    first.mul_(10)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert first.grad_fn.name() == "AsStridedBackward0"
    assert second.grad_fn.name() == "AsStridedBackward0"
    (base.sum() + second.sum()).backward()
    assert x.grad.tolist() == [20.0, 40.0, 4.0, 4.0]


def test_f3_in_place_is_right_where_it_destroys_nothing_needed():
    x = taper.ones(3, requires_grad=True)
    y = x + 1
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_f4_the_optimizer_updates_in_place():
    x = taper.ones(3, requires_grad=True)
    optimizer = taper.optim.SGD([x], lr=0.5)
    pointer = x.data_ptr()
    (x * 2).sum().backward()
    optimizer.step()
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert x.data_ptr() == pointer and x.is_leaf and x._version == 1
    assert optimizer.param_groups[0]["params"][0] is x


def slope(function, at):
    x = taper.tensor(at, dtype=taper.float64, requires_grad=True)
    function(x).backward()
    return x.grad.item()


def test_g1_the_six_rules():
    assert slope(lambda x: x * x, 3.0) == 6.0  # differentiable
    assert slope(taper.relu, 0.0) == 0.0  # convex: the subgradient of least norm
    assert slope(taper.abs, 0.0) == 0.0
    assert slope(lambda x: -taper.abs(x), 0.0) == 0.0  # concave: the supergradient
    tied = taper.tensor([1.0, 1.0, 0.0], requires_grad=True)
    tied.amax().backward()
    assert tied.grad.tolist() == [0.5, 0.5, 0.0]
    assert slope(taper.sqrt, 0.0) == math.inf  # defined: by continuity
    assert math.isnan(slope(taper.sqrt, -1.0))  # undefined: arbitrary
    assert slope(taper.log, -1.0) == -1.0


def test_g2_what_is_not_differentiable_requires_no_grad():
    x = taper.rand(4, requires_grad=True)
    taper.manual_seed(0)
    for result in (x.argmax(), x > 0.5, x.argsort(), x.to(taper.int64), taper.multinomial(x, 2)):
        assert not result.requires_grad and result.grad_fn is None
    values, indices = x.max(0)
    assert values.requires_grad and not indices.requires_grad
