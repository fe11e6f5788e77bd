"""What becomes of attributes of a Module, and walking its tree."""

from __future__ import annotations

import copy
import pickle

import pytest

import taper
from taper import nn
from taper.nn.modules import module as module_file


def weight(*shape):
    return nn.Parameter(taper.ones(*shape or (1,)))


# ------------------------------------------------------------------------------- assignment


def test_assignment_sorts_into_the_tables():
    module = nn.Module()
    module.w = weight()
    module.child = nn.Identity()
    module.buffer = nn.Buffer(taper.ones(1))
    module.silent = nn.Buffer(taper.ones(1), persistent=False)
    module.plain = taper.ones(1)
    assert list(module._parameters) == ["w"]
    assert list(module._modules) == ["child"]
    assert list(module._buffers) == ["buffer", "silent"]
    assert module._non_persistent_buffers_set == {"silent"}
    assert "plain" in module.__dict__
    assert not {"w", "child", "buffer"} & set(module.__dict__)


@pytest.mark.parametrize(
    ("old", "new", "table"),
    [
        (lambda: 3, weight, "_parameters"),
        (lambda: nn.Buffer(taper.ones(1)), weight, "_parameters"),
        (nn.Identity, weight, "_parameters"),
        (lambda: 3, nn.Identity, "_modules"),
        (lambda: nn.Buffer(taper.ones(1)), nn.Identity, "_modules"),
        (lambda: 3, lambda: nn.Buffer(taper.ones(1)), "_buffers"),
    ],
)
def test_new_kind_takes_the_name(old, new, table):
    module = nn.Module()
    module.name = old()
    module.name = new()
    tables = {
        each: "name" in getattr(module, each) for each in ("_parameters", "_modules", "_buffers")
    }
    assert tables == {each: each == table for each in tables}
    assert "name" not in module.__dict__


@pytest.mark.parametrize(
    ("make", "value", "text"),
    [
        (
            weight,
            3,
            "cannot assign 'int' as parameter 'name' (torch.nn.Parameter or None expected)",
        ),
        (
            weight,
            taper.ones(1),
            "cannot assign 'torch.FloatTensor' as parameter 'name' (torch.nn.Parameter or None "
            "expected)",
        ),
        (
            weight,
            nn.Identity(),
            "cannot assign 'torch.nn.modules.linear.Identity' as parameter 'name' "
            "(torch.nn.Parameter or None expected)",
        ),
        (
            nn.Identity,
            3,
            "cannot assign 'int' as child module 'name' (torch.nn.Module or None expected)",
        ),
        (
            lambda: nn.Buffer(taper.ones(1)),
            3,
            "cannot assign 'int' as buffer 'name' (torch.nn.Buffer, torch.Tensor or None expected)",
        ),
    ],
)
def test_wrong_kind_is_refused_and_nothing_changes(make, value, text):
    module = nn.Module()
    module.name = make()
    before = module.name
    with pytest.raises(TypeError) as caught:
        module.name = value
    assert str(caught.value) == text
    assert module.name is before


def test_none_keeps_the_name():
    module = nn.Linear(1, 1)
    module.bias = None
    module.child = nn.Identity()
    module.child = None
    assert module._parameters == {"weight": module.weight, "bias": None}
    assert (
        repr(module) == "Linear(\n  in_features=1, out_features=1, bias=False\n  (child): None\n)"
    )
    assert list(module.children()) == []
    assert [name for name, _ in module.named_parameters()] == ["weight"]


def test_tensor_replaces_a_buffer_and_keeps_persistence():
    module = nn.Module()
    module.register_buffer("b", taper.ones(1), persistent=False)
    module.b = taper.zeros(2)
    assert module.b.shape == (2,)
    assert module._non_persistent_buffers_set == {"b"}
    del module.b
    assert module._non_persistent_buffers_set == set()
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'b'"):
        _ = module.b


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (weight, "cannot assign parameters before Module.__init__() call"),
        (nn.Identity, "cannot assign module before Module.__init__() call"),
        (lambda: nn.Buffer(taper.ones(1)), "cannot assign buffer before Module.__init__() call"),
    ],
)
def test_before_init(value, text):
    class Early(nn.Module):
        def __init__(self):
            self.plain = 3
            self.value = value()

    with pytest.raises(AttributeError) as caught:
        Early()
    assert str(caught.value) == text


def test_deleting():
    module = nn.Linear(1, 1)
    module.plain = 3
    del module.weight, module.plain
    assert not hasattr(module, "weight")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        del module.nothing


# ----------------------------------------------------------------------------- registration


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        (3, TypeError, "parameter name should be a string. Got int"),
        ("a.b", KeyError, 'parameter name can\'t contain "."'),
        ("", KeyError, 'parameter name can\'t be empty string ""'),
        ("forward", KeyError, "attribute 'forward' already exists"),
    ],
)
def test_names_of_parameters(name, error, text):
    with pytest.raises(error) as caught:
        nn.Module().register_parameter(name, None)
    assert caught.value.args == (text,)


def test_only_leaves_are_registered():
    class Computed(nn.Parameter):
        pass

    module = nn.Module()
    with pytest.raises(
        TypeError, match="object to parameter 'w' .torch.nn.Parameter or None required"
    ):
        module.register_parameter("w", weight() * 2)
    marked = taper.ones(1, requires_grad=True) * 2
    marked._is_param = True
    with pytest.raises(ValueError, match="^Cannot assign non-leaf Tensor to parameter 'w'"):
        module.register_parameter("w", marked)


def test_register_buffer_override_without_persistent():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    module = Old()
    module.b = nn.Buffer(taper.ones(1))
    assert list(module._buffers) == ["b"]
    with pytest.raises(RuntimeError, match="without the persistent argument is not allowed"):
        module.c = nn.Buffer(taper.ones(1), persistent=False)


def test_call_super_init():
    class Other:
        def __init__(self, value):
            self.value = value

    class Both(nn.Module, Other):
        call_super_init = True

        def __init__(self):
            super().__init__("passed on")

    assert Both().value == "passed on"


def test_global_registration_hooks():
    seen = []

    def note(module, name, value):
        seen.append((name, value))

    replacement = weight(5)
    handles = [
        module_file.register_module_parameter_registration_hook(note),
        module_file.register_module_parameter_registration_hook(lambda m, n, v: replacement),
        module_file.register_module_buffer_registration_hook(note),
        module_file.register_module_module_registration_hook(note),
    ]
    try:
        module = nn.Module()
        module.w = original = weight()
        module.register_buffer("b", None)
        module.child = child = nn.Identity()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [("w", original), ("b", None), ("child", child)]
    assert module.w is replacement


# ------------------------------------------------------------------------------------- paths


def nested():
    return nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU()))


def test_paths():
    model = nested()
    assert model.get_submodule("1.0") is model[1][0]
    assert model.get_submodule("") is model
    assert model.get_parameter("0.weight") is model[0].weight
    model.set_submodule("1.0", nn.Tanh())
    model.set_submodule("1.extra", nn.Tanh())
    assert repr(model[1]) == "Sequential(\n  (0): Tanh()\n  (extra): Tanh()\n)"


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda m: m.get_submodule("1.5"), AttributeError, "Sequential has no attribute `5`"),
        (lambda m: m.get_submodule("0.weight"), AttributeError, "`weight` is not an nn.Module"),
        (lambda m: m.get_parameter("0.q"), AttributeError, "Linear has no attribute `q`"),
        (lambda m: m.get_parameter("1.0"), AttributeError, "`0` is not an nn.Parameter"),
        (lambda m: m.get_buffer("0.weight"), AttributeError, "`weight` is not a buffer"),
        (
            lambda m: m.set_submodule("", nn.ReLU()),
            ValueError,
            "Cannot set the submodule without a target name!",
        ),
        (
            lambda m: m.set_submodule("0", 3),
            ValueError,
            "`module` is not an nn.Module, found <class 'int'>",
        ),
        (
            lambda m: m.set_submodule("1.new", nn.ReLU(), strict=True),
            AttributeError,
            "Sequential has no attribute `new`",
        ),
        (
            lambda m: m.set_submodule("training", nn.ReLU()),
            AttributeError,
            "`training` is not an nn.Module",
        ),
    ],
)
def test_wrong_paths(action, error, text):
    with pytest.raises(error) as caught:
        action(nested())
    assert str(caught.value) == text


# ---------------------------------------------------------------------------------- the tree


class Shared(nn.Module):
    """One layer under two names, and its weight under a third."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.b = self.a
        self.w = self.a.weight
        self.register_buffer("count", taper.zeros(1))
        self.same = nn.Buffer(self.count)


def names(pairs):
    return [name for name, _ in pairs]


def test_shared_entries_come_once_or_twice():
    model = Shared()
    assert names(model.named_parameters()) == ["w", "a.bias"]
    assert names(model.named_parameters(remove_duplicate=False)) == [
        "w",
        "a.weight",
        "a.bias",
        "b.weight",
        "b.bias",
    ]
    assert names(model.named_parameters(prefix="P", recurse=False)) == ["P.w"]
    assert names(model.named_modules()) == ["", "a"]
    assert names(model.named_modules(remove_duplicate=False)) == ["", "a", "b"]
    assert len(list(model.modules(remove_duplicate=False))) == 3
    assert names(model.named_children()) == ["a"]
    assert names(model.named_buffers()) == ["count", "same"]
    assert len(list(model.parameters())) == 2
    assert len(list(model.buffers(recurse=False))) == 2


def test_copies_keep_what_is_shared():
    for twin in (copy.deepcopy(Shared()), pickle.loads(pickle.dumps(Shared()))):
        assert twin.a is twin.b
    assert copy.deepcopy(Shared()).w is not None
    twin = copy.deepcopy(Shared())
    assert twin.w is twin.a.weight


def test_old_pickles_get_the_tables_they_lack():
    module = nn.Linear(1, 1)
    state = dict(module.__dict__)
    del state["_forward_hooks_always_called"], state["_non_persistent_buffers_set"]
    twin = nn.Linear.__new__(nn.Linear)
    twin.__setstate__(state)
    assert twin(taper.ones(1)).shape == (1,)


def test_dir_lists_entries_but_no_numbers():
    model = nested()
    listed = dir(model)
    assert {"training", "forward", "_modules"} <= set(listed)
    assert not any(name[0].isdigit() for name in listed)
    assert {"weight", "bias", "in_features"} <= set(dir(model[0]))


# ---------------------------------------------------------------------------- whole-tree work


def test_apply_goes_children_first():
    seen = []
    model = nested()
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_train_and_eval():
    model = nested()
    assert model.eval() is model
    assert not any(module.training for module in model.modules())
    model.train()
    assert all(module.training for module in model.modules())
    with pytest.raises(ValueError, match="^training mode is expected to be boolean$"):
        model.train(1)


def test_conversion_keeps_parameters_and_converts_gradients():
    model = nn.Linear(2, 2)
    kept = model.weight
    model.weight.grad = taper.ones(2, 2)
    model.register_buffer("count", taper.tensor(3))
    model.register_buffer("mean", taper.zeros(2))
    assert model.double() is model
    assert model.weight is kept
    assert model.weight.dtype == model.weight.grad.dtype == model.mean.dtype == taper.float64
    assert model.count.dtype == taper.int64
    assert model.half().weight.dtype == taper.float16
    assert model.bfloat16().weight.dtype == taper.bfloat16
    assert model.float().weight.dtype == taper.float32
    assert model.to(taper.float64).weight.dtype == taper.float64
    assert model.to("cpu", taper.float32).weight.dtype == taper.float32
    assert model.to(taper.ones(1, dtype=taper.float64)).weight.dtype == taper.float64
    assert model.to("cpu").weight.dtype == taper.float64
    assert model.type(taper.float16).weight.dtype == taper.float16
    assert model.cpu() is model
    assert model.to_empty(device="cpu") is model


def test_conversion_refuses_integers():
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes, but got"):
        nn.Linear(1, 1).to(taper.int32)
    with pytest.warns(UserWarning, match="^Complex modules are a new feature"):
        nn.Linear(1, 1).to(taper.complex64)


def test_zero_grad_and_requires_grad():
    model = nn.Linear(1, 1)
    for param in model.parameters():
        param.grad = taper.ones_like(param)
    grad = model.weight.grad
    model.zero_grad(set_to_none=False)
    assert model.weight.grad is grad
    assert grad.tolist() == [[0.0]]
    model.zero_grad()
    assert model.weight.grad is None
    model.requires_grad_(False)
    assert not any(param.requires_grad for param in model.parameters())


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
def test_zero_grad_cuts_the_graph_of_the_gradient():
    model = nn.Linear(1, 1, bias=False)
    (model(taper.ones(2, 1)) ** 2).sum().backward(create_graph=True)
    assert model.weight.grad.grad_fn is not None
    model.zero_grad(set_to_none=False)
    assert model.weight.grad.grad_fn is None
    model.weight.grad = None


def test_compile_changes_nothing():
    module = nn.Linear(1, 1)
    assert module.compile() is None
    assert list(module.state_dict()) == ["weight", "bias"]


def test_operators_in_the_body_of_a_class_do_not_become_methods():
    class Layer(nn.Module):
        convolution = taper.conv2d
        activation = taper.tanh
        gate = nn.functional.gelu

        def own(self):
            return self

    layer = Layer()
    x = taper.ones(1, 1, 2, 2)
    assert layer.convolution(x, weight=taper.ones(1, 1, 2, 2)).item() == 4
    assert layer.activation(x).equal(x.tanh())
    assert Layer.gate(x).equal(layer.gate(x))
    assert layer.own() is layer

    class Copied(nn.Module):
        extra_repr = nn.ReLU.extra_repr
        inplace = True

    assert repr(Copied()) == "Copied(inplace=True)"


def test_a_class_may_go_past_the_rules_of_assignment():
    class Past(nn.Module):
        def __setattr__(self, name, value):
            if name == "plain":
                return super(nn.Module, self).__setattr__(name, value)
            return super().__setattr__(name, value)

    module = Past()
    module.plain, module.layer = nn.ReLU(), nn.ReLU()
    assert list(module._modules) == ["layer"] and "plain" in vars(module)


def test_another_base_takes_part_in_assignment():
    class Other:
        def __setattr__(self, name, value):
            super().__setattr__(name, (value,) if name == "x" else value)

    class Both(nn.Module, Other):
        pass

    module = Both()
    module.x, module.layer = 3, nn.ReLU()
    assert module.x == (3,) and list(module._modules) == ["layer"]
