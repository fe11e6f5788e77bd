"""The element-wise update rules; numbers from PyTorch 2.13."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import taper
from taper import nn, optim
from taper.optim import packs, update

START = [1.0, -2.0, 0.5]
GRADS = [[0.5, -1.0, 2.0], [1.5, 0.25, -1.0], [-0.5, 0.75, 1.0]]


def run(kind, **options):
    param = nn.Parameter(taper.tensor(START))
    optimizer = getattr(optim, kind)([param], **options)
    for grad in GRADS:
        param.grad = taper.tensor(grad)
        optimizer.step()
    return param, optimizer


CASES = [
    ("SGD", {"lr": 0.1}, [0.85000002, -2.0, 0.30000001]),
    ("SGD", {"lr": 0.1, "momentum": 0.9}, [0.62949997, -1.8514999, 0.048000019]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}, [0.74699998, -1.7902499, 0.0030000184]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, [0.51654994, -1.8663499, -0.10679999]),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}, [0.82279402, -1.942338, 0.28812951]),
    ("SGD", {"lr": 0.1, "maximize": True}, [1.15, -1.9999998, 0.69999999]),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1, "maximize": True},
        [1.217404, -1.9755579, 0.77396947],
    ),
    ("Adam", {"lr": 0.1}, [0.75985277, -1.8613271, 0.32847595]),
    ("Adam", {"lr": 0.1, "betas": (0.2, 0.5), "eps": 0.1}, [0.83293003, -1.9920963, 0.38299066]),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}, [0.75204092, -1.8198683, 0.32381701]),
    (
        "Adam",
        {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5)},
        [0.77868444, -1.8661551, 0.33223534],
    ),
    ("Adam", {"lr": 0.1, "maximize": True}, [1.2401474, -2.1386728, 0.67152399]),
    (
        "Adam",
        {"lr": 0.1, "maximize": True, "weight_decay": 0.1, "betas": (0.2, 0.9)},
        [1.1882168, -1.955282, 0.61205977],
    ),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1}, [0.73305959, -1.8043846, 0.31588179]),
    ("ASGD", {"lr": 0.1}, [0.84997284, -1.9999403, 0.29998875]),
    (
        "ASGD",
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 1, "weight_decay": 0.1},
        [0.79664958, -1.8855286, 0.27711871],
    ),
    ("Adadelta", {"eps": 0.01}, [0.52024674, -2.0709777, 0.18324144]),
    (
        "Adadelta",
        {"lr": 0.5, "rho": 0.5, "eps": 0.01, "weight_decay": 0.1, "maximize": True},
        [1.0953948, -1.9162316, 0.57426292],
    ),
    ("Adagrad", {"lr": 0.1}, [0.8352828, -1.9830884, 0.40389654]),
    (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.5, "initial_accumulator_value": 0.5, "weight_decay": 0.1},
        [0.88859046, -1.935238, 0.41230488],
    ),
    ("Adamax", {"lr": 0.1}, [0.80067468, -1.871856, 0.34712842]),
    (
        "Adamax",
        {"lr": 0.1, "betas": (0.3, 0.5), "eps": 0.1, "weight_decay": 0.1},
        [0.82395858, -1.9233922, 0.37016302],
    ),
    ("NAdam", {"lr": 0.1}, [0.81865847, -1.9763024, 0.3869653]),
    (
        "NAdam",
        {"lr": 0.1, "momentum_decay": 0.5, "weight_decay": 0.1},
        [0.81169492, -1.9328357, 0.38297412],
    ),
    (
        "NAdam",
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
        [1.1485268, -1.9623859, 0.59649295],
    ),
    ("RAdam", {"lr": 0.1}, [0.80105847, -1.871878, 0.19442612]),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.6)}, [0.81190473, -1.9190476, 0.24285716]),
    (
        "RAdam",
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        [0.77337879, -1.8148081, 0.18397669],
    ),
    ("RMSprop", {"lr": 0.1}, [-0.64612877, -1.8357847, -0.46231779]),
    (
        "RMSprop",
        {"lr": 0.1, "momentum": 0.5, "centered": True, "eps": 0.1},
        [-0.27142817, -1.6390284, -0.49758452],
    ),
    (
        "RMSprop",
        {"lr": 0.1, "alpha": 0.5, "weight_decay": 0.1, "maximize": True},
        [1.2047831, -1.9273673, 0.64107883],
    ),
    ("Rprop", {"lr": 0.1}, [0.77999997, -1.9499999, 0.34999999]),
    (
        "Rprop",
        {"lr": 0.1, "etas": (0.1, 3.0), "step_sizes": (0.05, 0.2), "maximize": True},
        [1.3000001, -2.05, 0.65000004],
    ),
]
KINDS = sorted({kind for kind, _, _ in CASES})


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=str)
def test_three_steps(kind, options, expected):
    param, _ = run(kind, **options)
    np.testing.assert_allclose(param.detach().numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=str)
def test_recorded_steps_give_the_same(kind, options, expected):
    """With `differentiable` the same rule runs on Tensors."""
    param = taper.tensor(START)
    optimizer = getattr(optim, kind)([param], differentiable=True, **options)
    for grad in GRADS:
        param.grad = taper.tensor(grad)
        optimizer.step()
    np.testing.assert_allclose(param.numpy(), expected, rtol=2e-6)


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=str)
def test_blocks_give_the_same_bits(kind, options, expected, monkeypatch):
    """A large parameter is updated piece by piece; here the pieces are tiny."""
    whole, _ = run(kind, **options)
    monkeypatch.setattr(update, "BLOCK", 2)
    monkeypatch.setattr(packs, "BLOCK", 2)
    pieces, optimizer = run(kind, **options)
    assert pieces.tolist() == whole.tolist()
    assert optimizer.param_groups[0]["params"][0] is pieces


@pytest.mark.parametrize("kind", KINDS)
def test_ways_of_running_give_the_same_bits(kind):
    ways = [{"foreach": True}, {"foreach": False}]
    if kind in ("SGD", "Adam", "AdamW", "Adagrad"):
        ways.append({"fused": True})
    for way in ways:
        assert run(kind, **way)[0].tolist() == run(kind)[0].tolist()


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 2)])
def test_shapes(kind, shape):
    param = nn.Parameter(taper.ones(shape))
    param.grad = taper.ones(shape)
    getattr(optim, kind)([param], lr=0.5).step()
    np.testing.assert_allclose(param.detach().numpy(), np.full(shape, 0.5), rtol=1e-6)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_layouts_that_cannot_be_flattened(kind, monkeypatch):
    monkeypatch.setattr(update, "BLOCK", 2)
    for view in (lambda t: t.T, lambda t: t[::2]):
        param = nn.Parameter(view(taper.ones(4, 3)))
        param.grad = taper.ones(*param.shape)
        getattr(optim, kind)([param], lr=0.5).step()
        np.testing.assert_allclose(param.detach().numpy(), np.full(param.shape, 0.5), rtol=1e-6)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("dtype", [taper.float16, taper.bfloat16, taper.float64, taper.complex64])
def test_dtypes_stay(kind, dtype):
    param = nn.Parameter(taper.ones(3, dtype=dtype))
    param.grad = taper.ones(3, dtype=dtype)
    optimizer = getattr(optim, kind)([param], lr=0.5)
    optimizer.step()
    assert param.dtype == dtype
    assert param[0].item().real == pytest.approx(0.5, rel=1e-2)
    for state in optimizer.state.values():
        assert state["exp_avg"].dtype == dtype


@pytest.mark.parametrize("kind", ["SGD", "Adam", "Rprop", "Adadelta"])
def test_in_place_unrecorded_and_counted(kind):
    param = nn.Parameter(taper.ones(3))
    view = param.detach()
    address = param.data_ptr()
    optimizer = getattr(optim, kind)([param, nn.Parameter(taper.ones(1))])
    for _ in range(3):
        param.grad = taper.ones(3)
        optimizer.step()
    assert param.data_ptr() == address
    assert param._version == 3
    assert param.is_leaf
    assert view.tolist() == param.tolist()
    assert list(optimizer.state) in ([], [param])


def test_overwritten_saved_weight_is_noticed_and_the_line_named():
    param = nn.Parameter(taper.ones(3))
    optimizer = optim.SGD([param], lr=0.1)
    loss = (param * param).sum()
    param.grad = taper.ones(3)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        loss.backward()
    assert "optimizer.step()" in str(caught.value)


def test_inference_tensors_are_refused_before_anything_changes():
    with taper.inference_mode():
        param = taper.ones(3)
    optimizer = optim.Adam([param])
    param.grad = taper.ones(3)
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside"):
        optimizer.step()
    assert param.tolist() == [1.0, 1.0, 1.0]
    assert not optimizer.state


def test_integers_are_refused():
    param = taper.ones(3, dtype=taper.int32)
    optimizer = optim.SGD([param])
    param.grad = taper.ones(3, dtype=taper.int32)
    with pytest.raises(RuntimeError, match="^result type Float can't be cast to the desired out"):
        optimizer.step()
    assert param.tolist() == [1, 1, 1]


def test_a_step_leaves_nothing_for_the_collector():
    for kind in KINDS:
        params = [nn.Parameter(taper.ones(2)) for _ in range(3)]
        optimizer = getattr(optim, kind)(params)
        for step in range(3):
            for param in params:
                param.grad = taper.ones(2)
            optimizer.step()
            if step == 0:
                gc.collect()
        assert gc.collect() == 0


def test_learning_rate_as_tensor_is_read_at_each_step():
    rate = taper.tensor(0.5)
    param = nn.Parameter(taper.tensor([4.0]))
    optimizer = optim.SGD([param], lr=rate)
    param.grad = taper.ones(1)
    optimizer.step()
    rate.fill_(1.0)
    optimizer.step()
    assert param.tolist() == [2.5]


def test_differentiable_step_has_a_gradient():
    rate = taper.tensor(0.1, requires_grad=True)
    start = taper.tensor([3.0], requires_grad=True)
    weight = start.clone()
    weight.retain_grad()
    optimizer = optim.SGD([weight], lr=rate, differentiable=True)
    weight.grad = taper.tensor([2.0])
    optimizer.step()
    weight.sum().backward()
    assert rate.grad.item() == -2.0
    assert start.grad.tolist() == [1.0]


def test_differentiable_step_on_a_leaf_is_refused():
    param = nn.Parameter(taper.ones(1))
    param.grad = taper.ones(1)
    optimizer = optim.SGD([param], differentiable=True)
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used"):
        optimizer.step()
    assert param.tolist() == [1.0]


def test_steps_of_numbers_become_tensors():
    """States from before the count was a tensor are accepted."""
    param = nn.Parameter(taper.ones(1))
    optimizer = optim.Adam([param])
    param.grad = taper.ones(1)
    optimizer.step()
    state = optimizer.state_dict()
    state["state"][0]["step"] = 1
    optimizer.load_state_dict(state)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 2.0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: optim.SGD(p, lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.SGD(p, momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda p: optim.SGD(p, weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
        (
            lambda p: optim.SGD(p, nesterov=True, momentum=0.9, dampening=0.1),
            ValueError,
            "Nesterov momentum requires a momentum and zero dampening",
        ),
        (lambda p: optim.SGD(p, lr=taper.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (
            lambda p: optim.SGD(p, fused=True, foreach=True),
            RuntimeError,
            "`fused` and `foreach` cannot be `True` together.",
        ),
        (
            lambda p: optim.Adam(p, fused=True, differentiable=True),
            RuntimeError,
            "`fused` does not support `differentiable`",
        ),
        (lambda p: optim.Adam(p, eps=-1), ValueError, "Invalid epsilon value: -1"),
        (
            lambda p: optim.Adam(p, betas=(1.0, 0.9)),
            ValueError,
            "Invalid beta parameter at index 0: 1.0",
        ),
        (
            lambda p: optim.Adam(p, betas=(taper.tensor(0.9), 0.9)),
            ValueError,
            "betas must be either both floats or both Tensors",
        ),
        (
            lambda p: optim.Adam(p, lr=taper.tensor(0.1), foreach=True),
            ValueError,
            "lr as a Tensor is not supported for capturable=False and foreach=True",
        ),
        (
            lambda p: optim.Adam(p, capturable=True).step(),
            AssertionError,
            "If capturable=True, params and state_steps must be on supported devices: ['cuda', "
            "'xpu', 'hpu', 'privateuseone', 'xla'].",
        ),
    ],
)
def test_refusals(make, error, text):
    param = nn.Parameter(taper.ones(1))
    param.grad = taper.ones(1)
    with pytest.raises(error) as caught:
        make([param])
    assert str(caught.value) == text


def test_a_large_parameter_is_updated_in_pieces_that_stay_in_the_cache():
    """Every element once, even where memory lies in columns and a state is not in use."""
    for order in "CF":
        param = np.zeros((3, update.BLOCK), order=order)
        sizes = []

        def rule(ops, numbers, spare, param, grad, state, sizes=sizes):
            sizes.append((param.shape, len(spare[0])))
            assert state is None
            param += grad

        update.run_rule(rule, None, param, np.ones_like(param), None)
        assert sizes == [((update.BLOCK,), update.BLOCK)] * 3
        assert (param == 1).all()


def test_a_small_parameter_is_updated_at_once():
    shapes = []
    for shape in ((), (2, 3), (update.BLOCK,)):
        param = np.zeros(shape)
        update.run_rule(
            lambda ops, numbers, spare, param, grad: shapes.append((param.shape, spare)),
            None, param, param,
        )  # fmt: skip
    assert shapes == [(s, update.NO_SPARE) for s in ((1,), (2, 3), (update.BLOCK,))]


WHOLE_RULES = {
    optim.Adam: {"weight_decay": 0.1, "amsgrad": True},
    optim.AdamW: {"weight_decay": 0.1},
    optim.NAdam: {"weight_decay": 0.1},
    optim.RAdam: {"weight_decay": 0.1},
    optim.Adagrad: {"weight_decay": 0.1},
    optim.Adadelta: {"weight_decay": 0.1},
    optim.Adamax: {"weight_decay": 0.1},
    optim.ASGD: {"weight_decay": 0.1},
    optim.RMSprop: {"weight_decay": 0.1, "centered": True, "momentum": 0.9},
    optim.Rprop: {},
    optim.SGD: {"weight_decay": 0.1, "momentum": 0.9, "nesterov": True},
}


@pytest.mark.parametrize("kind", WHOLE_RULES)
def test_pieces_of_a_large_parameter_are_updated_like_small_ones(kind):
    """What a rule keeps in the spare arrays must not be overwritten before it is used."""
    rng = np.random.default_rng(0)
    size = update.BLOCK + 7
    optimizer = kind([nn.Parameter(taper.ones(1))], maximize=True, **WHOLE_RULES[kind])
    group = optimizer.param_groups[0]
    names = tuple(optimizer._arrays(group))
    scalars = tuple(5.0 for _ in optimizer._scalars)
    arrays = [rng.random(size) + 0.1 for _ in range(2 + len(names))]
    pieces = [[each[part].copy() for each in arrays] for part in (slice(9), slice(9, size))]
    for each in (arrays, *pieces):
        numbers = optimizer._numbers(group, scalars, np.dtype(np.float64))
        update.run_rule(type(optimizer)._rule, numbers, *each)
    for whole, first, second in zip(arrays, *pieces, strict=True):
        np.testing.assert_array_equal(whole[:9], first)
        np.testing.assert_array_equal(whole[9:], second)


@pytest.mark.parametrize("kind", WHOLE_RULES)
def test_a_negative_rate_is_refused(kind):
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        kind([nn.Parameter(taper.ones(1))], lr=-1)


# What PyTorch's version of the parameter is after two steps.
VERSIONS = [
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}, 2),
    ("Adam", {"weight_decay": 0.1}, 2),
    ("AdamW", {"weight_decay": 0.1}, 4),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, 6),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, 4),
    ("ASGD", {"weight_decay": 0.1}, 4),
]


@pytest.mark.parametrize("size", [3, 40_000])
@pytest.mark.parametrize(("kind", "options", "version"), VERSIONS)
def test_writes_of_a_step_are_counted(kind, options, version, size):
    param = nn.Parameter(taper.ones(size))
    optimizer = getattr(optim, kind)([param], lr=0.1, **options)
    for _ in range(2):
        param.grad = taper.ones(size)
        optimizer.step()
    assert (param._version, param.grad._version) == (version, 0)
    states = [value for value in optimizer.state[param].values() if value.numel() == size]
    assert all(value._version == 2 for value in states)


@pytest.mark.parametrize(
    ("beta", "values", "mean"),
    [
        (
            0.9,
            [0.70458984375, 1.705078125, 3.294921875, 3.705078125, 4.703125],
            [0.06610107421875, 0.462890625, -0.1982421875, 1.255859375, 1.5205078125],
        ),
        (
            0.3,
            [0.6689453125, 1.6689453125, 3.33203125, 3.66796875, 4.66796875],
            [0.294189453125, 2.060546875, -0.8828125, 5.58984375, 6.76953125],
        ),
    ],
)
def test_half_precision_writes_the_states_and_leaves_the_gradient_alone(beta, values, mean):
    param = nn.Parameter(taper.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=taper.float16))
    optimizer = optim.Adam([param], lr=0.1, betas=(beta, 0.999))
    for step in range(3):
        grad = [each * (step + 1.37) for each in (0.1, 0.7, -0.3, 1.9, 2.3)]
        param.grad = taper.tensor(grad, dtype=taper.float16)
        given = param.grad.tolist()
        optimizer.step()
        assert param.grad.tolist() == given
    assert param.tolist() == values
    assert optimizer.state[param]["exp_avg"].tolist() == mean


def test_a_rule_on_whole_matrices_leaves_a_gradient_in_half_precision_alone():
    param = nn.Parameter(taper.eye(2, dtype=taper.bfloat16))
    optimizer = optim.Muon([param], lr=0.1, momentum=0.5)
    param.grad = taper.tensor([[2.0, 1.0], [0.5, 4.0]], dtype=taper.bfloat16)
    optimizer.step()
    assert param.grad.tolist() == [[2.0, 1.0], [0.5, 4.0]]
    assert optimizer.state[param]["momentum_buffer"].tolist() == [[1.0, 0.5], [0.25, 2.0]]
