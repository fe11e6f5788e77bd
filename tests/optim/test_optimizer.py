"""What all optimizers share: groups, state, dictionaries, hooks."""

from __future__ import annotations

import copy
import pickle

import pytest

import taper
from taper import nn, optim
from taper.optim import optimizer
from taper.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)


def weight(*values):
    return nn.Parameter(taper.tensor(values or (1.0,)))


def with_grad(*values):
    param = weight(*values)
    param.grad = taper.ones_like(param)
    return param


# --------------------------------------------------------------------------------------- groups


def test_groups_get_the_defaults():
    first, second = weight(), weight()
    optimizer = optim.SGD([{"params": first}, {"params": [second], "lr": 5, "mine": 1}], lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 5]
    assert optimizer.param_groups[0]["params"] == [first]
    assert optimizer.param_groups[1]["mine"] == 1
    optimizer.add_param_group({"params": weight(), "momentum": 0.9})
    assert optimizer.param_groups[2]["lr"] == 0.1
    assert optimizer.param_groups[2]["momentum"] == 0.9


def test_repr():
    optimizer = optim.SGD([{"params": weight()}, {"params": weight(), "lr": 5}])
    group = (
        "    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: {}\n    maximize: False\n    momentum: 0\n    nesterov: False\n"
        "    weight_decay: 0\n"
    )
    assert repr(optimizer) == (
        "SGD (\nParameter Group 0\n"
        + group.format(0.001)
        + "\nParameter Group 1\n"
        + group.format(5)
        + ")"
    )


def test_names():
    layer = nn.Linear(1, 1)
    optimizer = optim.SGD(layer.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"] == [layer.weight, layer.bias]
    optimizer.add_param_group({"params": [("more", weight())]})
    state = optimizer.state_dict()
    assert [group["param_names"] for group in state["param_groups"]] == [
        ["weight", "bias"],
        ["more"],
    ]
    unnamed = optim.SGD([layer.weight, layer.bias])
    unnamed.load_state_dict(optim.SGD(layer.named_parameters()).state_dict())
    assert unnamed.param_groups[0]["param_names"] == ["weight", "bias"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda w: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (
            lambda w: optim.SGD(w),
            TypeError,
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but "
            "got torch.FloatTensor",
        ),
        (
            lambda w: optim.SGD([3]),
            TypeError,
            "optimizer can only optimize Tensors, but one of the params is int",
        ),
        (lambda w: optim.SGD([w * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (
            lambda w: optim.SGD([{"params": {w}}]),
            TypeError,
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead.",
        ),
        (
            lambda w: optim.SGD([{"params": w}, {"params": w}]),
            ValueError,
            "some parameters appear in more than one parameter group",
        ),
        (
            lambda w: optim.SGD([("a", w), weight()]),
            ValueError,
            "all optimizer params should be with/without names. Some param names are missing",
        ),
        (
            lambda w: optim.SGD([w]).add_param_group({"params": [("a", weight())]}),
            ValueError,
            "all optimizer param groups should be with/without names. cannot add param group with "
            "names to the optimizer",
        ),
        (
            lambda w: optim.SGD([w]).add_param_group([weight()]),
            TypeError,
            "param_group must be a dict, but got <class 'list'>",
        ),
    ],
)
def test_refused_parameters(make, error, text):
    with pytest.raises(error) as caught:
        make(weight())
    assert str(caught.value) == text


def test_refused_group_leaves_the_optimizer_as_it_was():
    param = weight()
    optimizer = optim.SGD([param])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": param})
    assert len(optimizer.param_groups) == 1


def test_duplicates_warn():
    param = weight()
    with pytest.warns(UserWarning, match="^optimizer contains a parameter group with duplicate"):
        optim.SGD([param, param])


def test_required_values():
    class Strict(Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": required})

    with pytest.raises(ValueError, match="required optimization parameter lr$"):
        Strict([weight()])
    assert Strict([{"params": weight(), "lr": 1}]).param_groups[0]["lr"] == 1
    assert repr(required) == "<required parameter>"


# ------------------------------------------------------------------------------------------ step


def test_zero_grad():
    param = with_grad(1.0, 2.0)
    optimizer = optim.SGD([param, weight()])
    grad = param.grad
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is grad
    assert grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert param.grad is None


def test_closure_runs_with_gradients_on_and_its_loss_is_returned():
    param = weight(3.0)
    optimizer = optim.SGD([param], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with taper.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert param.item() == pytest.approx(2.4)
    assert optimizer.step() is None


def test_base_class_has_no_step():
    with pytest.raises(NotImplementedError):
        Optimizer([weight()], {}).step()


def test_step_hooks():
    seen = []
    optimizer = optim.SGD([with_grad()])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", args, kwargs)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", args, kwargs)))
    handles = [
        register_optimizer_step_pre_hook(lambda *a: seen.append("global pre")),
        register_optimizer_step_post_hook(lambda *a: seen.append("global post")),
    ]
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [
        "global pre",
        ("pre", (optimizer,), {}),
        ("post", (optimizer,), {}),
        "global post",
    ]


def test_step_pre_hook_may_replace_the_arguments():
    optimizer = optim.SGD([weight()])
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
    assert optimizer.step() == 7
    handle.remove()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 5)
    with pytest.raises(RuntimeError, match=r"a tuple of \(new_args, new_kwargs\), but got 5.$"):
        optimizer.step()


# ---------------------------------------------------------------------------------- dictionaries


def stepped():
    params = [with_grad(1.0, 2.0), with_grad(3.0)]
    optimizer = optim.Adam(params, lr=0.1)
    optimizer.step()
    return params, optimizer


def test_state_dict_numbers_the_parameters():
    params, optimizer = stepped()
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [0, 1]
    assert list(state["param_groups"][0])[-1] == "params"
    assert list(state["state"]) == [0, 1]
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["state"][0]["step"].item() == 1.0
    assert state["state"][0]["exp_avg"] is optimizer.state[params[0]]["exp_avg"]


def test_load_converts_to_the_dtype_of_the_parameter():
    _, optimizer = stepped()
    double = [nn.Parameter(taper.zeros(n, dtype=taper.float64)) for n in (2, 1)]
    other = optim.Adam(double)
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["lr"] == 0.1
    assert other.param_groups[0]["params"] == double
    assert other.state[double[0]]["exp_avg"].dtype == taper.float64
    assert other.state[double[0]]["step"].dtype == taper.float32


def test_load_refuses_other_groups():
    optimizer = optim.SGD([weight()])
    with pytest.raises(
        ValueError, match="^loaded state dict has a different number of parameter g"
    ):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="a parameter group that doesn't match the size of"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_hooks_on_dictionaries():
    seen = []
    optimizer = optim.SGD([weight()])
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("save 1"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("save 0"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(state["more"]))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["save 0", "save 1", 1, "loaded"]


def test_copies_and_pickles_go_on():
    params, optimizer = stepped()
    twin = copy.deepcopy(optimizer)
    read = pickle.loads(pickle.dumps(optimizer))
    for other in (twin, read):
        assert repr(other) == repr(optimizer)
        theirs = other.param_groups[0]["params"]
        assert theirs[0] is not params[0]
        assert other.state[theirs[0]]["step"].item() == 1.0
        for param in theirs:
            param.grad = taper.ones_like(param)
        other.step()
        assert other.state[theirs[0]]["step"].item() == 2.0
    assert optimizer.state[params[0]]["step"].item() == 1.0


# --- optimizers of others ----------------------------------------------------------------------


class Around(taper.optim.Optimizer):
    """Wraps another optimizer without calling `super().__init__`, as many programs do."""

    def __init__(self, inner):
        self.inner, self.param_groups = inner, inner.param_groups

    def step(self, closure=None):
        return self.inner.step(closure)


def test_an_optimizer_around_another_need_not_be_initialized():
    parameter = taper.nn.Parameter(taper.ones(1))
    parameter.grad = taper.ones(1)
    Around(taper.optim.SGD([parameter], lr=0.5)).step()
    assert parameter.tolist() == [0.5]


def test_what_optimizers_of_others_import():
    class Own(taper.optim.Optimizer):
        @optimizer._use_grad_for_differentiable
        def step(self, closure=None):
            return taper.is_grad_enabled()

    parameter = taper.nn.Parameter(taper.ones(1, dtype=taper.complex64))
    own = Own([parameter], {"differentiable": False})
    assert own.step() is False and taper.is_grad_enabled()
    own.defaults["differentiable"] = True
    with taper.no_grad():
        assert own.step() is True
    assert optimizer._get_value(taper.tensor(2.0)) == optimizer._get_value(2.0) == 2
    assert optimizer._to_scalar(taper.ones(1)).dim() == 0
    assert optimizer._get_scalar_dtype() is taper.float32
    assert optimizer._default_to_fused_or_foreach([parameter], False, True) == (True, False)
    values, states = [parameter.detach()], [parameter.detach()]
    optimizer._view_as_real(values, states)
    assert values[0].tolist() == states[0].tolist() == [[1, 0]]
    assert optimizer._stack_if_compiling([1]) == [1]
