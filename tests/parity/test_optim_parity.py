"""Optimizers, the same steps on taper and on PyTorch: every one with every option."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

import taper

SHAPES = [(3, 4), (5,), (), (0, 2), (200, 100), (2, 3), (7,)]
STEPS = 20


def tensors_of(library, dtype="float32", shapes=SHAPES):
    """The same parameters in either library."""
    random = np.random.default_rng(0)
    made = []
    for shape in shapes:
        values = random.normal(size=shape)
        if dtype.startswith("complex"):
            values = values + 1j * random.normal(size=shape)
        made.append(library.nn.Parameter(library.tensor(np.asarray(values, dtype))))
    return made


def set_grads(library, params, step):
    random = np.random.default_rng(100 + step)
    for param in params:
        values = np.asarray(random.normal(size=tuple(param.shape)))
        if param.is_complex():
            values = values + 1j * random.normal(size=tuple(param.shape))
        param.grad = library.tensor(values).to(param.dtype)


def values_of(tensors):
    return [np.asarray(each.detach().tolist()) for each in tensors]


def assert_same(ours, theirs, rtol=1e-6):
    """Assert equality to `rtol` of the largest element: small ones are differences of others."""
    for our, their in zip(values_of(ours), values_of(theirs), strict=True):
        scale = np.abs(their).max(initial=1.0)
        np.testing.assert_allclose(our, their, rtol=0, atol=rtol * scale)


def run(library, kind, options, dtype="float32", steps=STEPS, shapes=SHAPES):
    """Take some steps; in one of them a parameter has no gradient."""
    params = tensors_of(library, dtype, shapes)
    made = {name: value(library) if callable(value) else value for name, value in options.items()}
    optimizer = getattr(library.optim, kind)(params, **made)
    for step in range(steps):
        set_grads(library, params, step)
        if step == 3:
            params[1].grad = None
        optimizer.step()
    return params, optimizer


def assert_same_run(kind, options, dtype="float32", shapes=SHAPES, rtol=1e-6):
    """Compare parameters, versions, repr, groups, and the states with names, order and dtypes."""
    ours, our_optimizer = run(taper, kind, options, dtype, shapes=shapes)
    theirs, their_optimizer = run(torch, kind, options, dtype, shapes=shapes)
    assert_same(ours, theirs, rtol)
    assert repr(our_optimizer) == repr(their_optimizer)
    # PyTorch does not count its writes if fused, and writes ASGD's parameters once if foreach.
    if not options.get("fused") and not (kind == "ASGD" and options.get("foreach")):
        assert [each._version for each in ours] == [each._version for each in theirs]
    our_state, their_state = our_optimizer.state_dict(), their_optimizer.state_dict()
    for our_group, their_group in zip(
        our_state["param_groups"], their_state["param_groups"], strict=True
    ):
        assert list(our_group) == list(their_group)
    assert list(our_state["state"]) == list(their_state["state"])
    for number, entry in their_state["state"].items():
        found = our_state["state"][number]
        assert list(found) == list(entry)
        assert [str(each.dtype) for each in found.values()] == [
            str(each.dtype) for each in entry.values()
        ]
        assert_same(found.values(), entry.values(), rtol)


class Rate:
    """A number, or several, as tensors of either library."""

    def __init__(self, *values):
        self.values = values

    def __call__(self, library):
        made = tuple(library.tensor(value) for value in self.values)
        return made if len(made) > 1 else made[0]

    def __repr__(self):
        return f"tensor{self.values}"


OPTIONS = {
    "ASGD": [
        {},
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5.0},
        {"t0": 0, "weight_decay": 0.1},
        {"weight_decay": 0.1, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.1)},
        {"foreach": True},
        {"foreach": False},
    ],
    "Adadelta": [
        {},
        {"lr": 0.5, "rho": 0.5, "eps": 1e-3},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.5)},
        {"foreach": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.5, "lr_decay": 0.1},
        {"initial_accumulator_value": 0.5, "eps": 0.1},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.5)},
        {"foreach": True},
        {"fused": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "betas": (0.3, 0.8)},
        {"lr": 0.1, "betas": (0.0, 0.0), "eps": 1e-3},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.1, "maximize": True},
        {"lr": 0.0},
        {"lr": Rate(0.1), "weight_decay": 0.1},
        {"lr": 0.1, "betas": Rate(0.8, 0.9)},
        {"lr": 0.1, "foreach": True},
        {"lr": 0.1, "foreach": False},
        {"lr": 0.1, "fused": True},
        {"lr": 0.1, "fused": True, "amsgrad": True},
    ],
    "AdamW": [
        {},
        {"lr": 0.1, "betas": (0.3, 0.8), "weight_decay": 0.1},
        {"lr": 0.1, "amsgrad": True, "maximize": True},
        {"lr": 0.1, "weight_decay": 0},
        {"lr": Rate(0.1)},
        {"lr": 0.1, "foreach": True},
        {"lr": 0.1, "fused": True},
    ],
    "Adamax": [
        {},
        {"lr": 0.1, "betas": (0.3, 0.5)},
        {"eps": 0.1, "weight_decay": 0.1},
        {"weight_decay": 0.1, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.1)},
        {"foreach": True},
    ],
    "NAdam": [
        {},
        {"lr": 0.1, "momentum_decay": 0.1, "betas": (0.8, 0.9)},
        {"weight_decay": 0.1, "eps": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.1)},
        {"foreach": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.9)},
        {"weight_decay": 0.1, "eps": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.1)},
        {"foreach": True},
    ],
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True, "eps": 0.1},
        {"alpha": 0.3, "weight_decay": 0.1},
        {"momentum": 0.5, "centered": True, "weight_decay": 0.1, "maximize": True},
        {"maximize": True},
        {"lr": Rate(0.1)},
        {"foreach": True},
    ],
    "Rprop": [
        {},
        {"lr": 0.5, "etas": (0.3, 1.5), "step_sizes": (0.1, 1.0)},
        {"maximize": True},
        {"lr": Rate(0.1)},
        {"foreach": True},
    ],
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.1, "weight_decay": 0.05},
        {"lr": 0.1, "maximize": True},
        {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.05, "maximize": True},
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "maximize": True, "weight_decay": 0.01},
        {"lr": 0.0, "momentum": 0.9},
        {"lr": Rate(0.1), "weight_decay": Rate(0.1)},
        {"lr": 0.1, "momentum": 0.9, "foreach": True},
        {"lr": 0.1, "momentum": 0.9, "fused": True},
    ],
}
CASES = [(kind, options) for kind, rows in OPTIONS.items() for options in rows]


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_twenty_steps(kind, options):
    # PyTorch's own ways of running ASGD differ by that much.
    coarse = kind == "ASGD" and options.get("foreach")
    assert_same_run(kind, options, rtol=2e-6 if coarse else 1e-6)


# NAdam's product of momenta is float32 in PyTorch, even for float64 parameters.
DOUBLE = {"NAdam": 1e-8}


@pytest.mark.parametrize(
    ("kind", "options"),
    [case for case in CASES if not {"foreach", "fused"} & set(case[1])],
    ids=str,
)
def test_float64(kind, options):
    # PyTorch computes with a rate that is a float32 tensor in float32.
    rounded = any(isinstance(value, Rate) for value in options.values())
    rtol = 1e-6 if rounded else DOUBLE.get(kind, 1e-13)
    assert_same_run(kind, options, "float64", [(3, 4), (5,), ()], rtol=rtol)


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("number", [0, -3])
def test_complex(kind, number):
    options = OPTIONS[kind][number]
    if not any(map(callable, options.values())) and not options.get("fused"):
        assert_same_run(kind, options, "complex64", [(3, 2), (5,), ()], rtol=2e-6)
    assert_same_run(kind, {"maximize": True}, "complex64", [(3, 2), (5,)], rtol=2e-6)


ADAFACTOR = [
    {},
    {"lr": 1.0, "beta2_decay": -0.3},
    {"eps": (0.5, 0.1), "d": 2.0},
    {"weight_decay": 0.1, "maximize": True},
    {"lr": Rate(0.1)},
    {"foreach": True},
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", ADAFACTOR, ids=str)
def test_adafactor(options, dtype):
    assert_same_run("Adafactor", options, dtype, [(3, 4), (5,), (), (2, 3, 4)])


MUON = [
    {},
    {"lr": 0.1, "nesterov": False},
    {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0, "momentum": 0.5},
    {"ns_steps": 2, "ns_coefficients": (1.5, -0.5, 0.0), "eps": 0.1},
    {"lr": Rate(0.1), "adjust_lr_fn": "original"},
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", MUON, ids=str)
def test_muon(options, dtype):
    """Small matrices only: PyTorch's bfloat16 product needs a newer processor than some have."""
    assert_same_run("Muon", options, dtype, [(3, 4), (5, 2), (1, 3)])


@pytest.mark.parametrize("kind", [*OPTIONS, "Adafactor"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_near(kind, dtype):
    results = []
    for library in (taper, torch):
        params = tensors_of(library, shapes=[(4, 3), (6,)])
        wanted = getattr(library, dtype)
        params = [library.nn.Parameter(each.detach().to(wanted)) for each in params]
        optimizer = getattr(library.optim, kind)(params, lr=0.01)
        for step in range(5):
            set_grads(library, params, step)
            optimizer.step()
        states = [
            each.float()
            for entry in optimizer.state.values()
            for name, each in entry.items()
            if each.dtype == wanted
        ]
        results.append([each.detach().float() for each in params] + states)
    assert_same(*results, rtol=0.02)


@pytest.mark.parametrize("kind", [*OPTIONS, "Adafactor"])
def test_layouts(kind):
    """Parameters that are no row-major block, with gradients in another layout."""
    results = []
    for library in (taper, torch):
        random = np.random.default_rng(0)
        params = []
        for shape in ((150, 130), (4, 6)):
            values = library.tensor(random.normal(size=shape).astype(np.float32))
            params += [library.nn.Parameter(values.T), library.nn.Parameter(values[::2, 1:])]
        optimizer = getattr(library.optim, kind)(params, lr=0.1)
        for step in range(3):
            set_grads(library, params, step)
            optimizer.step()
        results.append(params)
    assert_same(*results)


@pytest.mark.parametrize("kind", OPTIONS)
def test_groups_and_changing_options(kind):
    """Groups with their own rates, one added later, a rate that is changed in between."""
    results = []
    for library in (taper, torch):
        first, second, third, fourth = tensors_of(library, shapes=[(3,), (2, 2), (4,), (1,)])
        groups = [{"params": [first, second]}, {"params": [third], "lr": 0.2}]
        optimizer = getattr(library.optim, kind)(groups, lr=0.05)
        for step in range(6):
            if step == 2:
                optimizer.add_param_group({"params": fourth, "lr": 0.3})
            if step == 4:
                optimizer.param_groups[0]["lr"] = 0.5
            set_grads(library, [first, second, third, fourth], step)
            optimizer.step()
        results.append([first, second, third, fourth])
    assert_same(*results)


# The last number: through how many steps PyTorch can differentiate.
DIFFERENTIABLE = [
    ("SGD", {"weight_decay": 0.1}, True, 8),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, False, 8),
    ("SGD", {"lr": 0.1, "nesterov": True, "momentum": 0.9, "maximize": True}, False, 8),
    ("Adam", {"weight_decay": 0.1}, True, 8),
    ("Adam", {"amsgrad": True, "maximize": True}, True, 1),
    ("AdamW", {}, True, 8),
    ("NAdam", {"weight_decay": 0.1}, True, 1),
    ("RAdam", {"weight_decay": 0.1}, True, 8),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, True, 8),
    ("ASGD", {"weight_decay": 0.1, "t0": 0}, True, 8),
    # PyTorch takes no rate that requires a gradient for these:
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1}, False, 8),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "maximize": True}, False, 8),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}, False, 1),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}, False, 1),
    ("RMSprop", {"lr": 0.1, "weight_decay": 0.1}, False, 8),
    ("Rprop", {"lr": 0.1}, False, 1),
]


@pytest.mark.parametrize(("kind", "options", "rated", "steps"), DIFFERENTIABLE, ids=str)
def test_differentiable_step(kind, options, rated, steps):
    """The gradient of a later loss with respect to rate, first weights and gradients."""
    results = []
    for library in (taper, torch):
        start = library.tensor([1.0, -2.0, 3.0], requires_grad=True)
        slope = library.tensor([0.5, 1.5, -1.0], requires_grad=True)
        lr = library.tensor(0.1, requires_grad=True)
        weight = start.clone()
        weight.retain_grad()
        optimizer = getattr(library.optim, kind)(
            [weight], differentiable=True, **{**({"lr": lr} if rated else {}), **options}
        )
        for step in range(steps):
            weight.grad = slope * (step + 1 if step < 5 else -step)
            optimizer.step()
        (weight * weight).sum().backward()
        grads = [each * 0 if each.grad is None else each.grad for each in (start, slope, lr)]
        results.append([weight, *grads])
    assert_same(*results, rtol=3e-5)


# --------------------------------------------------------------------------------------- LBFGS


def problems(library, params):
    def rosenbrock():
        return sum(
            (100 * (each[1:] - each[:-1] ** 2) ** 2 + (1 - each[:-1]) ** 2).sum() for each in params
        )

    def bowl():
        first, second = params
        return ((first - 1) ** 2).sum() * 3 + (second.exp() - second).sum()

    def wave():
        return sum((each.sin() + 0.1 * each * each).sum() for each in params)

    return {"rosenbrock": rosenbrock, "bowl": bowl, "wave": wave}


def minimise(library, problem, options):
    params = tensors_of(library, "float64", [(4,), (3,)])
    made = {name: value(library) if callable(value) else value for name, value in options.items()}
    optimizer = library.optim.LBFGS(params, **made)
    function = problems(library, params)[problem]

    def closure():
        optimizer.zero_grad()
        loss = function()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).detach() for _ in range(3)]
    return params, optimizer, losses


LBFGS = [
    {},
    {"lr": 0.01},
    {"lr": 0.1, "max_iter": 7, "history_size": 3},
    {"lr": Rate(0.05)},
    {"lr": 0.05, "tolerance_grad": 1.0, "tolerance_change": 1e-2},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "max_eval": 9},
    {"line_search_fn": "strong_wolfe", "lr": 5.0},
]


@pytest.mark.parametrize("problem", ["rosenbrock", "bowl", "wave"])
@pytest.mark.parametrize("options", LBFGS, ids=str)
def test_lbfgs(problem, options):
    ours, our_optimizer, our_losses = minimise(taper, problem, options)
    theirs, their_optimizer, their_losses = minimise(torch, problem, options)
    assert_same(ours, theirs)
    assert_same(our_losses, their_losses)
    our_state = our_optimizer.state_dict()["state"][0]
    their_state = their_optimizer.state_dict()["state"][0]
    assert list(our_state) == list(their_state)
    for name, value in their_state.items():
        assert type(our_state[name]).__name__ == type(value).__name__, name
        if isinstance(value, int):
            assert our_state[name] == value, name


def test_lbfgs_of_complex_and_unused_parameters():
    results = []
    for library in (taper, torch):
        params = [*tensors_of(library, "complex64", [(3,)]), *tensors_of(library, shapes=[(2,)])]
        optimizer = library.optim.LBFGS(params, lr=0.1)

        def closure(params=params, optimizer=optimizer):
            optimizer.zero_grad()
            distance = params[0] - (1 + 2j)
            loss = (distance * distance.conj()).real.sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        results.append(params)
    assert_same(*results)


# -------------------------------------------------------------------------------------- states


def moved(state, library):
    """Return a state of one library in the tensors of the other."""
    entries = {
        number: {
            name: library.tensor(np.asarray(value.tolist(), np.float32).reshape(value.shape))
            for name, value in entry.items()
        }
        for number, entry in state["state"].items()
    }
    return {"state": entries, "param_groups": state["param_groups"]}


@pytest.mark.parametrize("kind", [*OPTIONS, "Adafactor"])
def test_state_of_torch_loads_here_and_back(kind):
    options = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.9}}.get(kind, {})
    shapes = [(3, 4), (5,), (2, 2)]
    theirs, their_optimizer = run(torch, kind, options, steps=3, shapes=shapes)
    ours, our_optimizer = run(taper, kind, options, steps=3, shapes=shapes)
    fresh_here = getattr(taper.optim, kind)(ours)
    fresh_here.load_state_dict(moved(their_optimizer.state_dict(), taper))
    fresh_there = getattr(torch.optim, kind)(theirs)
    fresh_there.load_state_dict(moved(our_optimizer.state_dict(), torch))
    for step in range(3, 6):
        set_grads(taper, ours, step)
        set_grads(torch, theirs, step)
        fresh_here.step()
        fresh_there.step()
    assert_same(ours, theirs)
    assert repr(fresh_here) == repr(fresh_there)


def test_names_and_signatures():
    """Everything that PyTorch's package lists is there, with its signature."""
    assert sorted(taper.optim.__all__) == sorted(torch.optim.__all__)
    for name in torch.optim.__all__:
        theirs = getattr(torch.optim, name)
        if inspect.isclass(theirs):
            ours = inspect.signature(getattr(taper.optim, name)).parameters
            for parameter, wanted in inspect.signature(theirs).parameters.items():
                assert ours[parameter].default == wanted.default, (name, parameter)
                assert ours[parameter].kind == wanted.kind, (name, parameter)
            assert list(ours) == list(inspect.signature(theirs).parameters), name
