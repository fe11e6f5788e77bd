"""What a small wrong change of the optimizers' code would break, and other tests would not see.

`tools/mutate.py` found these.  The numbers are PyTorch's.
"""

from __future__ import annotations

import pytest

import taper


def numbers(tensor):
    return pytest.approx(tensor.detach().tolist(), abs=1e-6)


# --- a fused step with a GradScaler -----------------------------------------------------------

FUSED = {
    "SGD": ({}, [0.9, 1.8], [0.8, 1.6]),
    "Adam": ({"step": 1.0, "exp_avg": [0.1, 0.2]}, [0.9, 1.9], [0.8, 1.8]),
    "AdamW": ({"step": 1.0, "exp_avg": [0.1, 0.2]}, [0.899, 1.898], [0.798101, 1.796102]),
    "Adagrad": ({"step": 1.0, "sum": [1.0, 4.0]}, [0.9, 1.9], [0.829289, 1.829289]),
}


@pytest.fixture(params=FUSED)
def fused(request):
    param = taper.tensor([1.0, 2.0], requires_grad=True)
    param.grad = taper.tensor([4.0, 8.0])
    optimizer = getattr(taper.optim, request.param)([param], lr=0.1, fused=True)
    return optimizer, param, FUSED[request.param]


def test_a_fused_step_divides_gradients_by_the_scale(fused):
    optimizer, param, (state, after_one, after_two) = fused
    optimizer.grad_scale, optimizer.found_inf = taper.tensor(4.0), taper.tensor(0.0)
    optimizer.step()
    assert after_one == numbers(param)
    assert param.grad.tolist() == [1.0, 2.0] and param.grad._version == 0
    for name, expected in state.items():
        assert expected == numbers(optimizer.state[param][name])
    del optimizer.found_inf
    param.grad = taper.tensor([4.0, 8.0])
    optimizer.step()
    assert after_two == numbers(param)


def test_a_fused_step_does_nothing_if_an_infinity_was_found(fused):
    optimizer, param, (state, *_) = fused
    optimizer.grad_scale, optimizer.found_inf = taper.tensor(4.0), taper.tensor(1.0)
    for _ in range(2):
        optimizer.step()
        assert param.tolist() == [1.0, 2.0] and param.grad.tolist() == [4.0, 8.0]
        assert all(not each.any() for each in optimizer.state[param].values())
        assert set(state) <= set(optimizer.state[param])


def test_a_fused_step_may_have_no_scale(fused):
    optimizer, param, _ = fused
    optimizer.found_inf = taper.tensor(1.0)
    optimizer.step()
    assert param.tolist() == [1.0, 2.0]
    optimizer.found_inf = taper.tensor(0.0)
    optimizer.step()
    assert param.tolist() != [1.0, 2.0] and param.grad.tolist() == [4.0, 8.0]


def test_a_fused_step_divides_half_precision_in_float32():
    param = taper.tensor([1.0], dtype=taper.float16, requires_grad=True)
    param.grad = taper.tensor([3.0], dtype=taper.float16)
    optimizer = taper.optim.SGD([param], lr=1.0, fused=True)
    optimizer.grad_scale = taper.tensor(65536.0 * 2)  # infinite in float16
    optimizer.step()
    assert param.grad.tolist() == [2.288818359375e-05]


def test_only_fused_optimizers_support_scaling():
    param = taper.ones(1, requires_grad=True)
    for fused in (True, False):
        optimizer = taper.optim.Adam([param], fused=fused)
        assert getattr(optimizer, "_step_supports_amp_scaling", False) is fused


# --- options and states that change between steps -----------------------------------------------

# Four steps; the learning rate of the first group is changed before the third, and is a tensor in
# the fourth, when the other group gets weight decay; the second parameter has no gradient at first.
STEPS = {
    "SGD": [
        [[0.9, 1.9], [3.0], [3.7], [3.0]],
        [[0.8, 1.8], [3.0], [3.4], [1.0]],
        [[0.6, 1.6], [2.6], [2.8], [-1.0]],
        [[0.3, 1.3], [2.0], [1.9], [-2.95]],
    ],
    "Adam": [
        [[0.9, 1.9], [3.0], [3.9], [4.5]],
        [[0.8, 1.8], [3.0], [3.8], [4.0]],
        [[0.6, 1.6], [2.8], [3.6], [3.5]],
        [[0.3, 1.3], [2.5], [3.3], [2.998615]],
    ],
    "RMSprop": [
        [[0.0, 1.0], [3.0], [3.0], [0.0]],
        [[-0.708881, 0.291119], [3.0], [2.291119], [-3.544406]],
        [[-1.869379, -0.869379], [1.0], [1.130621], [-6.445652]],
        [[-3.380681, -2.380681], [-1.126644], [-0.380681], [-8.642827]],
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_options_and_gradients_may_change_between_steps(name):
    params = [
        taper.tensor([1.0, 2.0], requires_grad=True),
        taper.tensor([3.0], requires_grad=True),
        taper.tensor([4.0], dtype=taper.float64, requires_grad=True),
        taper.tensor([5.0], requires_grad=True),
    ]
    groups = [{"params": params[:3]}, {"params": params[3:], "lr": 0.5}]
    optimizer = getattr(taper.optim, name)(groups, lr=0.1)
    first, second = optimizer.param_groups
    for step, expected in enumerate(STEPS[name]):
        for nr, param in enumerate(params):
            param.grad = None if nr == 1 and step < 2 else taper.full_like(param, 1.0 + nr)
        if step == 2:
            first["lr"] = 0.2
        if step == 3:
            first["lr"] = taper.tensor(0.3)
            second["weight_decay"] = 0.1
        optimizer.step()
        for param, wanted in zip(params, expected, strict=True):
            assert wanted == pytest.approx(param.tolist(), abs=2e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False}),
        ("Adam", {"amsgrad": False, "maximize": False, "capturable": False, "fused": None}),
    ],
)
def test_options_that_an_old_optimizer_lacks_have_their_defaults(name, options):
    param = taper.tensor([1.0, 2.0], requires_grad=True)
    kind = getattr(taper.optim, name)
    state = kind([param], lr=0.1).__getstate__()
    for option in options:
        del state["param_groups"][0][option]
    optimizer = kind([param], lr=0.1)
    optimizer.__setstate__(state)
    assert {option: optimizer.param_groups[0][option] for option in options} == options
    param.grad = taper.ones(2)
    optimizer.step()
    assert [0.9, 1.9] == numbers(param)


# --- what is refused --------------------------------------------------------------------------

DEVICES = "'cuda', 'xpu', 'hpu', 'privateuseone'"


@pytest.mark.parametrize(
    ("name", "subject", "xla"),
    [
        ("Adam", "params and state_steps", (True, False)),
        ("RMSprop", "params and state_steps", (True, True)),
        ("ASGD", "params, mus, etas, and state_steps", (True, False)),
        ("Adadelta", "params and state_steps", (False, False)),
    ],
)
def test_capturable_is_for_other_devices(name, subject, xla):
    for foreach in (False, True):
        param = taper.ones(1, requires_grad=True)
        optimizer = getattr(taper.optim, name)([param], capturable=True, foreach=foreach)
        optimizer.step()  # without a gradient nobody asks
        param.grad = taper.ones(1)
        with pytest.raises(AssertionError) as found:
            optimizer.step()
        devices = f"[{DEVICES}, 'xla']" if xla[foreach] else f"[{DEVICES}]"
        assert str(found.value) == (
            f"If capturable=True, {subject} must be on supported devices: {devices}."
        )
        assert param.tolist() == [1.0]


def test_foreach_is_not_differentiable_but_for_sgd():
    param = taper.ones(1, requires_grad=True)
    param.grad = taper.ones(1)
    for name in ("Adam", "Adagrad", "RMSprop"):
        optimizer = getattr(taper.optim, name)([param], foreach=True, differentiable=True)
        with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
            optimizer.step()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        taper.optim.SGD([param], foreach=True, differentiable=True).step()


def test_parameters_made_in_inference_mode_are_not_written_outside():
    with taper.inference_mode():
        param = taper.ones(2, requires_grad=True)
    param.grad = taper.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
        taper.optim.SGD([param], lr=0.1).step()
    assert param.tolist() == [1.0, 1.0]
