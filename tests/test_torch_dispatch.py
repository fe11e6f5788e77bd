"""`__torch_dispatch__`: modes and classes that see operators below autograd."""

from __future__ import annotations

import pytest

import taper
from taper.autograd.state import local
from taper.nn import functional as F
from taper.utils._mode_utils import all_same_mode, no_dispatch
from taper.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
    _pop_mode_temporarily,
)


class Log(TorchDispatchMode):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_training_step_is_seen_as_in_pytorch():
    seen = []
    weight = taper.ones(4, 3, requires_grad=True)
    bias = taper.zeros(4, requires_grad=True)
    x, target = taper.ones(2, 3), taper.zeros(2, dtype=taper.int64)
    optimizer = taper.optim.SGD([weight, bias], lr=0.1)
    with Log(seen):
        F.cross_entropy(F.linear(x, weight, bias), target).backward()
        optimizer.step()
    assert seen == [
        "aten.t.default",
        "aten.addmm.default",
        "aten._log_softmax.default",
        "aten.detach.default",
        "aten.nll_loss_forward.default",
        "aten.ones_like.default",
        "aten.nll_loss_backward.default",
        "aten.detach.default",
        "aten._log_softmax_backward_data.default",
        "aten.t.default",
        "aten.mm.default",
        "aten.t.default",
        "aten.sum.dim_IntList",
        "aten.view.default",
        "aten.detach.default",
        "aten.t.default",
        "aten.detach.default",
        "aten.add_.Tensor",
        "aten.add_.Tensor",
    ]
    assert weight.grad[:, 0].tolist() == pytest.approx([-0.75, 0.25, 0.25, 0.25])
    assert bias.tolist() == pytest.approx([0.075, -0.025, -0.025, -0.025])


def test_modes_are_stacked_and_taken_off():
    inner, outer = [], []
    x = taper.ones(1)
    with Log(outer) as first, Log(inner) as second:
        assert _get_current_dispatch_mode_stack() == [first, second]
        x.exp()
        with _pop_mode_temporarily() as mode:
            assert mode is second
            x.sin()
        with _disable_current_modes():
            x.cos()
    assert inner == ["aten.exp.default"]
    assert outer == ["aten.exp.default", "aten.sin.default"]
    assert _get_current_dispatch_mode_stack() == []
    assert all_same_mode([first, first])
    assert not all_same_mode([first, second])


def test_overloads_are_objects_that_can_be_called():
    add = taper.ops.aten.add.Tensor
    assert add is taper.ops.aten.add.Tensor
    assert add.overloadpacket is taper.ops.aten.add
    assert (add.namespace, add._overloadname, add.name()) == ("aten", "Tensor", "aten::add.Tensor")
    x = taper.tensor([1.0, 2.0])
    assert add(x, x, alpha=2).tolist() == [3, 6]
    assert taper.ops.aten.sum.dim_IntList(x, [0], True).tolist() == [3]
    assert taper.ops.aten.add_.Tensor(x, 1) is x
    assert x.tolist() == [2, 3]
    assert taper.ops.aten.view.default.is_view
    assert not add.is_view
    assert (
        str(add._schema)
        == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    )
    assert [each.alias_info is None for each in taper.ops.aten.add_.Tensor._schema.arguments] == [
        False,
        True,
        True,
    ]
    assert add.decompose(x, x) is NotImplemented
    assert taper.ops.aten.hstack.default.decompose([x]).tolist() == [2, 3]


def test_an_answer_is_recorded():
    class Zero(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is taper.ops.aten.exp.default:
                return taper.full((2,), 7.0)
            return func(*args, **(kwargs or {}))

    x = taper.zeros(2, requires_grad=True)
    with Zero():
        y = x.exp()
    assert y.tolist() == [7, 7]
    assert y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [7, 7]


class Scaled(taper.Tensor):
    """A tensor of small integers and a scale, as quantized tensors are."""

    @staticmethod
    def __new__(cls, whole, scale):
        made = taper.Tensor._make_wrapper_subclass(cls, whole.size(), dtype=taper.float32)
        made.whole, made.scale = whole, scale
        return made

    __torch_function__ = taper._C._disabled_torch_function_impl

    def real_values(self):
        return self.whole.to(taper.float32) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is taper.ops.aten.detach.default:
            return Scaled(args[0].whole, args[0].scale)
        plain = [each.real_values() if isinstance(each, Scaled) else each for each in args]
        return func(*plain, **(kwargs or {}))


def test_a_quantized_weight_takes_part_in_a_product():
    weight = Scaled(taper.tensor([[1, 2], [3, 4]], dtype=taper.int8), 0.5)
    x = taper.ones(1, 2, requires_grad=True)
    y = x @ weight
    assert y.tolist() == [[2, 3]]
    y.sum().backward()
    assert x.grad.tolist() == [[1.5, 3.5]]
    assert isinstance(weight.detach(), Scaled)


def test_classes_are_left_out_in_a_block():
    x = Scaled(taper.tensor([2], dtype=taper.int8), 0.5)
    with no_dispatch():
        assert type(x + 1) is taper.Tensor
    assert (x + 1).tolist() == [2]


def test_a_wrapper_needs_a_handler():
    class Without(taper.Tensor):
        pass

    with pytest.raises(TypeError, match="Without must define __torch_dispatch__"):
        taper.Tensor._make_wrapper_subclass(Without, (2,))


def test_operators_of_users_are_seen():
    @taper.library.custom_op("dispatch_test::double", mutates_args=())
    def double(x: taper.Tensor) -> taper.Tensor:
        return x * 2

    seen = []
    with Log(seen):
        assert double(taper.ones(1)).tolist() == [2]
    assert "dispatch_test.double.default" in seen


def test_nothing_is_left_when_the_last_wrapper_is_gone():
    x = Scaled(taper.tensor([2], dtype=taper.int8), 0.5)
    assert local.state.interceptors
    del x
    assert not local.state.interceptors


def test_a_bias_is_added_to_a_strided_input_out_of_place():
    seen = []
    with Log(seen):
        F.linear(taper.ones(2, 3, 4).transpose(0, 1), taper.ones(5, 4), taper.ones(5))
    assert seen[-1] == "aten.add.Tensor"
