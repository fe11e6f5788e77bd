"""Parameters without a shape, and modules that give them one before their first call."""

from __future__ import annotations

import copy
import pickle

import pytest

import taper
from taper import nn
from taper.nn.modules.lazy import LazyModuleMixin
from taper.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

LAYERS = [
    ("nn.LazyLinear(3)", (2, 5), "Linear(in_features=5, out_features=3, bias=True)"),
    ("nn.LazyLinear(3, bias=False)", (5,), "Linear(in_features=5, out_features=3, bias=False)"),
    ("nn.LazyConv1d(6, 2, groups=2)", (2, 4, 6), "Conv1d(4, 6, kernel_size=(2,), stride=(1,), gr"),
    ("nn.LazyConv2d(3, 2)", (2, 5, 6, 6), "Conv2d(5, 3, kernel_size=(2, 2), stride=(1, 1))"),
    ("nn.LazyConv2d(3, 2)", (5, 6, 6), "Conv2d(5, 3, kernel_size=(2, 2), stride=(1, 1))"),
    ("nn.LazyConv3d(3, 2)", (1, 2, 3, 3, 3), "Conv3d(2, 3, kernel_size=(2, 2, 2), stride="),
    ("nn.LazyConvTranspose1d(6, 2, groups=2)", (2, 4, 6), "ConvTranspose1d(4, 6, kernel_size=(2,)"),
    ("nn.LazyConvTranspose2d(3, 2)", (1, 2, 3, 3), "ConvTranspose2d(2, 3, kernel_size=(2, 2)"),
    ("nn.LazyConvTranspose3d(3, 2)", (1, 2, 3, 3, 3), "ConvTranspose3d(2, 3, kernel_size=(2, 2, 2"),
    ("nn.LazyBatchNorm1d()", (2, 4), "BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias"),
    ("nn.LazyBatchNorm2d(affine=False)", (2, 4, 3, 3), "BatchNorm2d(4, eps=1e-05, momentum=0.1, a"),
    (
        "nn.LazyBatchNorm3d(bias=False)",
        (2, 4, 2, 2, 2),
        "BatchNorm3d(4, eps=1e-05, momentum=0.1, a",
    ),
    ("nn.LazyInstanceNorm1d()", (2, 4, 3), "InstanceNorm1d(4, eps=1e-05, momentum=0.1, affine=Tr"),
    ("nn.LazyInstanceNorm2d()", (2, 4, 3, 3), "InstanceNorm2d(4, eps=1e-05, momentum=0.1, affine"),
    ("nn.LazyInstanceNorm3d()", (2, 4, 2, 2, 2), "InstanceNorm3d(4, eps=1e-05, momentum=0.1, aff"),
]


@pytest.mark.parametrize(("text", "shape", "became"), LAYERS)
def test_the_first_call_decides(text, shape, became):
    module = eval(text)
    name = type(module).__name__
    assert repr(module).startswith(f"{name}(")
    assert module.has_uninitialized_params()
    values = taper.arange(float(taper.Size(shape).numel())).reshape(shape)
    taper.manual_seed(0)
    result = module(values)
    assert repr(module).startswith(became)
    assert type(module) is getattr(nn, name.removeprefix("Lazy"))
    assert module._forward_pre_hooks == module._load_state_dict_pre_hooks == {}
    assert not any(is_lazy(each) for each in (*module.parameters(), *module.buffers()))
    assert result.requires_grad == bool(list(module.parameters()))


def test_same_numbers_as_the_layer_it_becomes():
    x = taper.ones(1, 2)
    taper.manual_seed(0)
    lazy = nn.LazyLinear(3)
    result = lazy(x)
    taper.manual_seed(0)
    assert taper.equal(result, nn.Linear(2, 3)(x))


def test_parameters_stay_the_same_objects():
    module = nn.LazyLinear(3)
    parameters = list(module.parameters())
    optimizer = taper.optim.SGD(parameters, lr=0.1)
    module(taper.ones(1, 2)).sum().backward()
    before = module.bias.detach().clone()
    optimizer.step()
    assert parameters[0] is module.weight
    assert taper.allclose(module.bias, before - 0.1)


@pytest.mark.parametrize(
    ("text", "shape", "error", "message"),
    [
        (
            "nn.LazyConv2d(3, 2)",
            (2, 5),
            RuntimeError,
            "Expected 3D (unbatched) or 4D (batched) input to LazyConv2d, but got input of size: "
            "torch.Size([2, 5])",
        ),
        (
            "nn.LazyConv1d(6, 2, groups=2)",
            (2, 5, 6),
            ValueError,
            "in_channels must be divisible by groups",
        ),
        ("nn.LazyLinear(3)", (), IndexError, "tuple index out of range"),
        ("nn.LazyBatchNorm2d()", (4, 4), ValueError, "expected 4D input (got 2D input)"),
    ],
)
def test_inputs_that_do_not_fit(text, shape, error, message):
    with pytest.raises(error) as caught:
        eval(text)(taper.ones(shape))
    assert str(caught.value) == message


# --- states ----------------------------------------------------------------------------------


def test_a_state_brings_the_shapes():
    full, lazy = nn.Linear(4, 3), nn.LazyLinear(3)
    assert str(lazy.load_state_dict(full.state_dict())) == "<All keys matched successfully>"
    assert type(lazy) is nn.LazyLinear
    assert taper.equal(lazy.weight, full.weight)
    lazy(taper.ones(1, 4))
    assert lazy.in_features == 4
    assert taper.equal(lazy.weight, full.weight)


def test_a_state_and_an_input_that_disagree():
    lazy = nn.LazyLinear(3)
    lazy.load_state_dict(nn.Linear(4, 3).state_dict())
    with pytest.raises(AssertionError, match="inferred from input: 5 is not equal to in_features"):
        lazy(taper.ones(1, 5))


def test_states_without_shapes():
    norm = nn.LazyBatchNorm1d()
    state = norm.state_dict()
    assert repr(list(state.values())) == (
        "[<UninitializedParameter>, <UninitializedParameter>, <UninitializedBuffer>, "
        "<UninitializedBuffer>, tensor(0)]"
    )
    assert str(nn.LazyBatchNorm1d().load_state_dict(state)) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.BatchNorm1d(3).load_state_dict(state)


def test_copies_of_modules():
    module = nn.LazyLinear(3)
    for each in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert each(taper.ones(1, 4)).shape == (1, 3)
        assert repr(each) == "Linear(in_features=4, out_features=3, bias=True)"
    assert is_lazy(module.weight)


def test_conversions_of_modules():
    assert nn.LazyLinear(3).half().weight.dtype is taper.float16
    norm = nn.LazyBatchNorm1d().to(taper.float64)
    assert is_lazy(norm.running_mean)
    norm(taper.ones(2, 3, dtype=taper.float64))
    assert norm.running_mean.dtype is norm.weight.dtype is taper.float64
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        nn.LazyLinear(3).share_memory()
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        nn.LazyLinear(3).to_empty(device="cpu")


# --- the mixin -------------------------------------------------------------------------------


class Scale(LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = UninitializedParameter()
        self.register_buffer("seen", UninitializedBuffer(dtype=taper.int64))

    def forward(self, x, times=1):
        return self.factor * x * times


class Filled(Scale):
    def initialize_parameters(self, x, times=1):
        if self.has_uninitialized_params():
            self.factor.materialize((x.shape[-1],))
            self.seen.materialize((times,))
            nn.init.ones_(self.factor)


class Forgetful(Scale):
    def initialize_parameters(self, x):
        pass


def test_own_lazy_modules():
    module = Filled()
    assert module(taper.ones(2), times=3).tolist() == [3.0, 3.0]
    assert (module.seen.shape, module.seen.dtype) == ((3,), taper.int64)
    assert type(module) is Filled
    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(taper.ones(2))
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for S"):
        Scale()(taper.ones(2))


def test_later_hooks_see_what_it_became():
    module, seen = nn.LazyLinear(3), []
    module.register_forward_pre_hook(lambda module, args: seen.append(type(module)))
    module(taper.ones(1, 2))
    assert seen == [nn.Linear]


# --- parameters without a shape --------------------------------------------------------------


def test_what_is_known_of_a_parameter():
    parameter = UninitializedParameter(dtype=taper.float64)
    assert repr(parameter) == str(parameter) == "<UninitializedParameter>"
    assert isinstance(parameter, nn.Parameter)
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert (parameter.dtype, parameter.size(), parameter.ndim) == (taper.float64, (0,), 1)
    assert parameter.double() is parameter
    assert is_lazy(copy.deepcopy(parameter))
    assert is_lazy(copy.copy(parameter))
    assert not is_lazy(taper.ones(1))
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can"):
        UninitializedParameter(dtype=taper.int64)


def test_what_is_known_of_a_buffer():
    buffer = UninitializedBuffer(dtype=taper.int64, persistent=False)
    assert isinstance(buffer, nn.Buffer)
    assert not buffer.persistent
    assert not buffer.requires_grad
    assert is_lazy(buffer.float())
    assert buffer.float().dtype is taper.float32
    buffer.materialize(3)
    assert type(buffer) is taper.Tensor
    assert (buffer.shape, buffer.dtype) == ((3,), taper.int64)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("add", lambda p: p + 1),
        ("mul", lambda p: taper.mul(2, p)),
        ("numel", lambda p: p.numel()),
        ("dim", lambda p: p.dim()),
        ("clone", lambda p: p.clone()),
        ("detach", lambda p: p.detach()),
        ("requires_grad_", lambda p: p.requires_grad_(False)),
        ("item", lambda p: p.item()),
    ],
)
def test_uses_are_refused(name, use):
    for lazy in (UninitializedParameter(), UninitializedBuffer()):
        with pytest.raises(ValueError) as caught:
            use(lazy)
        assert str(caught.value).startswith("Attempted to use an uninitialized parameter in <")
        assert f"`torch.nn.parameter.{type(lazy).__name__}` objects" in str(caught.value)


def test_shape_and_shared_memory_are_refused():
    parameter = UninitializedParameter()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        parameter.shape
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        parameter.share_memory_()


def test_materialize():
    parameter = UninitializedParameter(requires_grad=False)
    parameter.mark = "kept"
    parameter.materialize((2, 3), dtype=taper.float16)
    assert type(parameter) is nn.Parameter
    assert (parameter.shape, parameter.dtype) == ((2, 3), taper.float16)
    assert not parameter.requires_grad
    assert parameter.mark == "kept"
    with pytest.raises(AttributeError, match="materialize"):
        parameter.materialize((2,))
