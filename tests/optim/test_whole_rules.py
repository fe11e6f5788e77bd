"""Optimizers whose rule is not element-wise: Adafactor, Muon, LBFGS; and SparseAdam, which refuses.

Numbers from PyTorch 2.13.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import taper
from taper import nn, optim
from taper.optim.line_search import Point, StrongWolfe, cubic_minimum

VECTOR = [1.0, -2.0, 0.5]
MATRIX = [[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]
GRADS = [[0.5, -1.0, 2.0], [1.5, 0.25, -1.0], [-0.5, 0.75, 1.0]]

CASES = [
    ("Adafactor", {"lr": 0.1}, VECTOR, [0.77736014, -2.0396924, 0.3564623]),
    (
        "Adafactor",
        {"lr": 1.0, "beta2_decay": -0.3, "d": 2.0, "weight_decay": 0.1, "eps": (None, 0.1)},
        VECTOR,
        [-0.54607528, -1.0148458, -0.75102067],
    ),
    (
        "Adafactor",
        {"lr": 0.1},
        MATRIX,
        [[0.88040024, -2.0492313, 0.32001472], [0.0700147, 1.4507686, -1.1195997]],
    ),
    (
        "Muon",
        {"lr": 0.1},
        MATRIX,
        [[0.90183622, -1.9184687, 0.31641659], [0.073841803, 1.4775779, -1.038762]],
    ),
    (
        "Muon",
        {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0},
        MATRIX,
        [[0.97856921, -1.9863923, 0.45074481], [0.20074482, 1.5136077, -1.0214306]],
    ),
]


@pytest.mark.parametrize(("kind", "options", "start", "expected"), CASES, ids=str)
def test_three_steps(kind, options, start, expected):
    param = nn.Parameter(taper.tensor(start))
    optimizer = getattr(optim, kind)([param], **options)
    for grad in GRADS:
        param.grad = taper.tensor(grad if param.ndim == 1 else [grad, grad[::-1]])
        optimizer.step()
    np.testing.assert_allclose(param.detach().numpy(), expected, rtol=1e-6)
    assert param.is_leaf
    assert param._version >= 3


def test_adafactor_keeps_rows_and_columns():
    params = [nn.Parameter(taper.ones(*shape)) for shape in ((4,), (2, 3), (5, 2, 3))]
    optimizer = optim.Adafactor(params)
    for param in params:
        param.grad = taper.ones_like(param)
    optimizer.step()
    shapes = [
        {name: tuple(each.shape) for name, each in optimizer.state[param].items()}
        for param in params
    ]
    assert shapes == [
        {"step": (), "variance": (4,)},
        {"step": (), "row_var": (2, 1), "col_var": (1, 3)},
        {"step": (), "row_var": (5, 2, 1), "col_var": (5, 1, 3)},
    ]


@pytest.mark.parametrize("kind", ["Adafactor", "Muon"])
@pytest.mark.parametrize("dtype", [taper.float16, taper.bfloat16, taper.float64])
def test_dtypes_stay(kind, dtype):
    param = nn.Parameter(taper.ones(2, 3, dtype=dtype))
    param.grad = taper.eye(2, 3, dtype=dtype)
    optimizer = getattr(optim, kind)([param], lr=0.1)
    optimizer.step()
    assert param.dtype == dtype
    assert param[0, 0].item() < 1
    states = {name: each.dtype for name, each in optimizer.state[param].items() if name != "step"}
    assert set(states.values()) == {dtype}


def test_muon_makes_orthogonal_steps():
    param = nn.Parameter(taper.zeros(3, 3))
    random = np.random.default_rng(0)
    param.grad = taper.tensor(random.normal(size=(3, 3)).astype(np.float32))
    optim.Muon(
        [param], lr=1.0, weight_decay=0.0, ns_steps=12, ns_coefficients=(2, -1.5, 0.5)
    ).step()
    step = param.detach().numpy()
    np.testing.assert_allclose(step @ step.T, np.eye(3), atol=0.05)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: optim.Muon(p), ValueError, "Muon only supports 2D parameters whereas we found"),
        (
            lambda p: optim.Muon([nn.Parameter(taper.ones(1, 1))], adjust_lr_fn="x"),
            ValueError,
            "Adjust learning rate function x is not supported",
        ),
        (lambda p: optim.Muon(p, momentum=-1), ValueError, "momentum should be >= 0 but is: -1"),
        (
            lambda p: optim.Adafactor(p, lr=-1),
            ValueError,
            "Learning rate should be >= 0 but is: -1",
        ),
        (lambda p: optim.Adafactor(p, d=0), ValueError, "Clipping threshold d should be >= 1 but"),
        (
            lambda p: optim.LBFGS([{"params": p}, {"params": nn.Parameter(taper.ones(1))}]),
            ValueError,
            "LBFGS doesn't support per-parameter options (parameter groups)",
        ),
        (
            lambda p: optim.LBFGS(p, line_search_fn="x").step(lambda: (p[0] * p[0]).sum()),
            RuntimeError,
            "only 'strong_wolfe' is supported",
        ),
        (
            lambda p: optim.SparseAdam(p).step(),
            RuntimeError,
            "SparseAdam does not support dense gradients, please consider Adam instead",
        ),
        (lambda p: optim.SparseAdam(p, lr=0), ValueError, "Invalid learning rate: 0"),
        (
            lambda p: optim.SparseAdam([taper.ones(1, dtype=taper.complex64)]),
            ValueError,
            "Complex params at indices [[0, 0]]: SparseAdam does not support complex parameters",
        ),
    ],
)
def test_refusals(make, error, text):
    param = nn.Parameter(taper.ones(2))
    param.grad = taper.ones(2)
    with pytest.raises(error) as caught:
        make([param])
    assert str(caught.value).startswith(text)
    assert param.tolist() == [1.0, 1.0]


# --------------------------------------------------------------------------------------- LBFGS


def rosenbrock(options, steps=1):
    param = nn.Parameter(taper.tensor([-1.2, 1.0], dtype=taper.float64))
    optimizer = optim.LBFGS([param], **options)

    def closure():
        optimizer.zero_grad()
        loss = 100 * (param[1] - param[0] ** 2) ** 2 + (1 - param[0]) ** 2
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    return param, optimizer, losses


def test_lbfgs_finds_the_minimum():
    param, _, losses = rosenbrock({"line_search_fn": "strong_wolfe", "max_iter": 100})
    np.testing.assert_allclose(param.detach().numpy(), [1.0, 1.0], atol=1e-4)
    assert losses == [pytest.approx(24.2)]


def test_lbfgs_state():
    _, optimizer, _ = rosenbrock({"lr": 0.001, "max_iter": 6, "history_size": 3}, steps=2)
    (state,) = optimizer.state.values()
    assert list(state) == [
        "func_evals",
        "n_iter",
        "al",
        "d",
        "t",
        "old_dirs",
        "old_stps",
        "ro",
        "H_diag",
        "prev_flat_grad",
        "prev_loss",
    ]
    assert state["func_evals"] == 12
    assert state["n_iter"] == 12
    assert len(state["old_dirs"]) == len(state["old_stps"]) == len(state["ro"]) == 3
    assert optimizer.defaults["max_eval"] == 7


def test_lbfgs_goes_on_from_its_state():
    options = {"line_search_fn": "strong_wolfe", "max_iter": 4}
    whole, _, _ = rosenbrock(options, steps=3)
    param, optimizer, _ = rosenbrock(options, steps=2)
    other = optim.LBFGS([param], **options)
    other.load_state_dict(optimizer.state_dict())

    def closure():
        other.zero_grad()
        loss = 100 * (param[1] - param[0] ** 2) ** 2 + (1 - param[0]) ** 2
        loss.backward()
        return loss

    other.step(closure)
    assert param.tolist() == whole.tolist()


def test_lbfgs_stops_at_a_flat_place_and_needs_a_closure():
    param = nn.Parameter(taper.zeros(2))
    optimizer = optim.LBFGS([param])

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0.0
    assert optimizer.state[param] == {"func_evals": 1, "n_iter": 0}
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'closure'"):
        optimizer.step()


def test_lbfgs_leaves_nothing_for_the_collector():
    rosenbrock({"line_search_fn": "strong_wolfe"})
    gc.collect()
    param, optimizer, _ = rosenbrock({"line_search_fn": "strong_wolfe"})
    gc.collect()  # the closure of the test refers to its optimizer
    optimizer.step(lambda: (param * param).sum())
    assert gc.collect() == 0


# --------------------------------------------------------------------------------- line search


def function_at(step):
    """Return a function of a step with its minimum at 3."""
    return Point(step, float((step - 3) ** 2), None, taper.tensor(2.0 * float(step - 3)))


def test_cubic_minimum():
    assert float(cubic_minimum(function_at(0.0), function_at(1.0), (1.01, 10.0))) == 3.0
    assert float(cubic_minimum(function_at(0.0), function_at(1.0))) == 1.0
    assert float(cubic_minimum(function_at(5.0), function_at(0.0))) == 3.0
    start = Point(0.0, 0.0, None, taper.tensor(1.0))
    rising = Point(1.0, 0.9, None, taper.tensor(1.0))  # the cubic rises everywhere
    assert cubic_minimum(start, rising, (2.0, 4.0)) == 3.0


@pytest.mark.parametrize("first", [0.001, 1.0, 3.0, 50.0, 1e4])
def test_search_finds_a_good_step(first):
    search = StrongWolfe(function_at, function_at(0.0), taper.tensor(1.0), most_rounds=25)
    point, evaluations = search.run(first)
    assert abs(float(point.slope)) <= 0.9 * 6
    assert point.value <= 9 - 1e-4 * 6 * float(point.step)
    assert evaluations == search.rounds + 1 <= 26


def test_search_gives_up():
    """For a function that only falls the last point is as good as any."""
    search = StrongWolfe(
        lambda step: Point(step, -float(step), None, taper.tensor(-1.0)),
        Point(0.0, 0.0, None, taper.tensor(-1.0)),
        taper.tensor(1.0),
        most_rounds=3,
    )
    point, evaluations = search.run(1.0)
    assert float(point.step) > 1
    assert evaluations == 4


@pytest.mark.parametrize(
    ("beta2", "expected"),
    [
        (0.5, [0.9675402959451643, 0.9789500560721464, 0.8914903142783607, 0.7202819742674439]),
        (0.9, [0.8500851983244715, 0.8516422150126045, 0.8392250850099631, 0.8147136079912783]),
        (0.99, [0.8392552734004385, 0.8397801821430023, 0.8355679235176885, 0.8271549972606049]),
    ],
)
def test_radam_from_the_step_on_at_which_the_variance_is_bounded(beta2, expected):
    """The first five steps do without the mean square; with 0.5 all do.  PyTorch's numbers."""
    param = nn.Parameter(taper.tensor([1.0], dtype=taper.float64))
    optimizer = optim.RAdam([param], lr=0.1, betas=(0.8, beta2))
    found = []
    for step in range(9):
        param.grad = taper.full((1,), 0.5 * (step + 1) * (-1) ** (step // 3), dtype=taper.float64)
        optimizer.step()
        found.append(param.item())
    assert found[4] == pytest.approx(0.8336778620827304, abs=1e-12)
    assert found[5:] == pytest.approx(expected, abs=1e-12)
