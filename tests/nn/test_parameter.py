"""Parameter and Buffer."""

from __future__ import annotations

import copy
import pickle

import pytest

import taper
from taper import nn


def test_shares_memory_and_version_with_its_data():
    data = taper.ones(2)
    weight = nn.Parameter(data)
    data.add_(1)
    assert weight.tolist() == [2.0, 2.0]
    assert weight._version == data._version == 1
    assert weight.data_ptr() == data.data_ptr()


def test_is_a_leaf_that_requires_grad():
    source = taper.ones(2, requires_grad=True) * 2
    weight = nn.Parameter(source)
    assert weight.is_leaf
    assert weight.requires_grad
    assert weight.grad_fn is None
    assert not nn.Parameter(source, requires_grad=False).requires_grad


def test_results_of_operators_are_tensors():
    weight = nn.Parameter(taper.ones(2, 2))
    for result in (weight + 1, weight[0], weight.detach(), weight.data, weight.clone(), weight.T):
        assert type(result) is taper.Tensor
    assert isinstance(weight, taper.Tensor)
    assert weight.requires_grad_() is weight


def test_repr():
    assert repr(nn.Parameter(taper.tensor(1.5))) == (
        "Parameter containing:\ntensor(1.5000, requires_grad=True)"
    )
    assert repr(nn.Parameter()) == "Parameter containing:\ntensor([], requires_grad=True)"


def test_refuses_integers_and_non_tensors():
    with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can"):
        nn.Parameter(taper.tensor([1, 2]))
    with pytest.raises(AttributeError, match="'int' object has no attribute 'detach'"):
        nn.Parameter(3)


def test_deepcopy_copies_values_only():
    weight = nn.Parameter(taper.ones(2), requires_grad=False)
    weight.mark = "here"
    weight.grad = taper.ones(2)
    first, second = copy.deepcopy([weight, weight])
    assert first is second
    assert type(first) is nn.Parameter
    assert first.data_ptr() != weight.data_ptr()
    assert first.grad is None
    assert not hasattr(first, "mark")
    assert not first.requires_grad


def test_copy_shares_memory_and_attributes():
    weight = nn.Parameter(taper.ones(2))
    weight.mark = "here"
    twin = copy.copy(weight)
    assert twin is not weight
    assert twin.data_ptr() == weight.data_ptr()
    assert twin.mark == "here"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_class_flag_and_attributes(protocol):
    weight = nn.Parameter(taper.tensor([1.0, 2.0]), requires_grad=False)
    assert not pickle.loads(pickle.dumps(weight, protocol)).requires_grad
    weight.requires_grad_()
    weight.mark = "here"
    twin = pickle.loads(pickle.dumps(weight, protocol))
    assert type(twin) is nn.Parameter
    assert twin.tolist() == [1.0, 2.0]
    assert twin.requires_grad
    assert twin.mark == "here"


def test_subclass_of_parameter_stays_one():
    class Scale(nn.Parameter):
        pass

    scale = Scale(taper.ones(1))
    assert type(scale) is Scale
    assert type(copy.deepcopy(scale)) is Scale
    assert isinstance(scale, nn.Parameter)


def test_tensor_of_another_class_is_marked():
    class Own(taper.Tensor):
        def detach(self):
            return super().detach().as_subclass(Own)

    marked = nn.Parameter(taper.ones(2).as_subclass(Own))
    assert type(marked) is Own
    assert isinstance(marked, nn.Parameter)
    assert not isinstance(taper.ones(2), nn.Parameter)


def test_tensor_whose_detach_loses_the_class_is_refused():
    class Kept(taper.Tensor):
        pass

    class Own(taper.Tensor):
        __torch_function__ = taper._C._disabled_torch_function_impl

    assert type(nn.Parameter(taper.ones(2).as_subclass(Kept))) is Kept
    with pytest.raises(RuntimeError, match="requires that detach\\(\\) returns an instance"):
        nn.Parameter(taper.ones(2).as_subclass(Own))


def test_buffer_is_a_marked_tensor():
    data = taper.ones(2)
    buffer = nn.Buffer(data, persistent=False)
    assert type(buffer) is taper.Tensor
    assert isinstance(buffer, nn.Buffer)
    assert not isinstance(data, nn.Buffer)
    assert not isinstance(buffer, nn.Parameter)
    assert buffer.data_ptr() == data.data_ptr()
    assert not buffer.persistent
    assert nn.Buffer().shape == (0,)
