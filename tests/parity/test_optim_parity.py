"""Optimizers and schedulers, the same steps on taper and on PyTorch."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import torch

import taper
from taper import nn, optim

SHAPES = [(3, 4), (5,), (), (0, 2), (200, 100)]
STEPS = 20


def tensors_of(library, dtype="float32", shapes=SHAPES):
    """The same parameters in either library."""
    random = np.random.default_rng(0)
    made = []
    for shape in shapes:
        values = np.asarray(random.normal(size=shape), dtype)
        made.append(library.nn.Parameter(library.tensor(values)))
    return made


def set_grads(library, params, step):
    random = np.random.default_rng(100 + step)
    for param in params:
        values = np.asarray(random.normal(size=tuple(param.shape)))
        param.grad = library.tensor(values).to(param.dtype)


def values_of(tensors):
    return [np.asarray(each.detach().tolist(), np.float64) for each in tensors]


class Taper:
    """taper with its parts, as `import taper as torch` will give it."""

    nn = nn
    optim = optim
    tensor = staticmethod(taper.tensor)


def assert_same(ours, theirs, rtol=1e-6):
    """Equal to `rtol` relative to the largest element: small ones are differences of large ones."""
    for our, their in zip(values_of(ours), values_of(theirs), strict=True):
        scale = np.abs(their).max(initial=1.0)
        np.testing.assert_allclose(our, their, rtol=0, atol=rtol * scale)


def run(library, kind, options, dtype="float32", steps=STEPS):
    params = tensors_of(library, dtype)
    optimizer = getattr(library.optim, kind)(params, **options(library))
    for step in range(steps):
        set_grads(library, params, step)
        if step == 3:
            params[1].grad = None
        optimizer.step()
    return params, optimizer


SGD_OPTIONS = [
    {"lr": 0.1},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    {"lr": 0.1, "weight_decay": 0.05},
    {"lr": 0.1, "maximize": True},
    {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.05, "maximize": True},
    {"lr": 0.01, "momentum": 0.9, "nesterov": True, "maximize": True, "weight_decay": 0.01},
    {"lr": 0.01, "momentum": 0.5, "nesterov": True, "maximize": True},
    {"lr": 0.01, "momentum": 0.5, "dampening": 0.5, "maximize": True},
    {"lr": 0.0, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "foreach": True},
    {"lr": 0.1, "momentum": 0.9, "foreach": False},
    {"lr": 0.1, "momentum": 0.9, "fused": True},
]
ADAM_OPTIONS = [
    {},
    {"lr": 0.1},
    {"lr": 0.1, "betas": (0.3, 0.8)},
    {"lr": 0.1, "betas": (0.0, 0.0), "eps": 1e-3},
    {"lr": 0.1, "weight_decay": 0.1},
    {"lr": 0.1, "weight_decay": 0.1, "maximize": True},
    {"lr": 0.1, "amsgrad": True},
    {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "maximize": True},
    {"lr": 0.1, "maximize": True},
    {"lr": 0.0},
    {"lr": 0.1, "foreach": True},
    {"lr": 0.1, "foreach": False},
    {"lr": 0.1, "fused": True},
    {"lr": 0.1, "fused": True, "amsgrad": True},
]
CASES = [
    *[("SGD", options) for options in SGD_OPTIONS],
    *[("Adam", options) for options in ADAM_OPTIONS],
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    *[("AdamW", options) for options in ADAM_OPTIONS],
]


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_twenty_steps(kind, options):
    ours, our_optimizer = run(Taper, kind, lambda _: options)
    theirs, their_optimizer = run(torch, kind, lambda _: options)
    assert_same(ours, theirs)
    assert repr(our_optimizer) == repr(their_optimizer)
    our_state, their_state = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert our_state["param_groups"] == their_state["param_groups"]
    assert our_state["state"].keys() == their_state["state"].keys()
    for number, entry in their_state["state"].items():
        ours = our_state["state"][number]
        assert ours.keys() == entry.keys()
        assert_same(ours.values(), entry.values())


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
        ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ],
    ids=str,
)
def test_float64(kind, options):
    ours, _ = run(Taper, kind, lambda _: options, "float64")
    theirs, _ = run(torch, kind, lambda _: options, "float64")
    assert_same(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_near(kind, dtype):
    results = []
    for library in (Taper, torch):
        params = tensors_of(library, shapes=[(4, 3), (6,)])
        dtypes = {
            "float16": (taper.float16, torch.float16),
            "bfloat16": (taper.bfloat16, torch.bfloat16),
        }
        wanted = dtypes[dtype][library is torch]
        params = [library.nn.Parameter(each.detach().to(wanted)) for each in params]
        optimizer = getattr(library.optim, kind)(params, lr=0.01)
        for step in range(5):
            set_grads(library, params, step)
            optimizer.step()
        results.append([each.detach().float() for each in params])
    assert_same(*results, rtol=0.01)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_complex(kind):
    results = []
    for library in (Taper, torch):
        random = np.random.default_rng(0)
        values = (random.normal(size=(3, 2)) + 1j * random.normal(size=(3, 2))).astype(np.complex64)
        param = library.nn.Parameter(library.tensor(values))
        optimizer = getattr(library.optim, kind)([param], lr=0.1, weight_decay=0.1)
        for _ in range(STEPS):
            grad = (random.normal(size=(3, 2)) + 1j * random.normal(size=(3, 2))).astype(
                np.complex64
            )
            param.grad = library.tensor(grad)
            optimizer.step()
        results.append(np.array(param.detach().tolist()))
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_learning_rate_as_tensor(kind):
    def options(library):
        return {"lr": library.tensor(0.1), "weight_decay": 0.1}

    ours, our_optimizer = run(Taper, kind, options)
    theirs, their_optimizer = run(torch, kind, options)
    assert_same(ours, theirs)
    assert repr(our_optimizer) == repr(their_optimizer)


def test_betas_as_tensors():
    def options(library):
        return {"lr": 0.1, "betas": (library.tensor(0.8), library.tensor(0.9))}

    assert_same(run(Taper, "Adam", options)[0], run(torch, "Adam", options)[0])


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_layouts(kind):
    """Parameters that are no row-major block, with gradients in another layout."""
    results = []
    for library in (Taper, torch):
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


OPTIONS_OF_DIFFERENTIABLE = [
    ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "maximize": True}),
    ("Adam", {"weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "maximize": True}),
    ("AdamW", {}),
]


@pytest.mark.parametrize(("kind", "options"), OPTIONS_OF_DIFFERENTIABLE, ids=str)
def test_differentiable_step(kind, options):
    """The gradient of a later loss with respect to the learning rate and the first weights."""
    results = []
    for library in (Taper, torch):
        start = library.tensor([1.0, -2.0, 3.0], requires_grad=True)
        rate = library.tensor(0.1, requires_grad=True)
        weight = start.clone()
        weight.retain_grad()
        optimizer = getattr(library.optim, kind)(
            [weight], differentiable=True, **{"lr": rate, **options}
        )
        for step in range(3):
            weight.grad = library.tensor([0.5, 1.5, -1.0]) * (step + 1)
            optimizer.step()
        (weight * weight).sum().backward()
        slope = library.tensor(0.0) if rate.grad is None else rate.grad
        results.append([weight, start.grad, slope])
    assert_same(*results, rtol=1e-5)


def test_state_of_torch_loads_here_and_back():
    options = {"lr": 0.1, "amsgrad": True}
    theirs, their_optimizer = run(torch, "Adam", lambda _: options, steps=3)
    ours, our_optimizer = run(Taper, "Adam", lambda _: options, steps=3)

    def moved(state, library):
        entries = {
            number: {name: library.tensor(value.tolist()) for name, value in entry.items()}
            for number, entry in state["state"].items()
        }
        # An empty list says nothing about the second dimension.
        for entry in entries.values():
            for name in entry:
                if name != "step" and not entry[name].numel():
                    entry[name] = entry[name].reshape(0, 2)
        return {"state": entries, "param_groups": state["param_groups"]}

    fresh_here = optim.Adam(ours)
    fresh_here.load_state_dict(moved(their_optimizer.state_dict(), Taper))
    fresh_there = torch.optim.Adam(theirs)
    fresh_there.load_state_dict(moved(our_optimizer.state_dict(), torch))
    for step in range(3, 6):
        set_grads(Taper, ours, step)
        set_grads(torch, theirs, step)
        fresh_here.step()
        fresh_there.step()
    assert_same(ours, theirs)


SCHEDULERS = [
    ("StepLR", {"step_size": 3, "gamma": 0.3}),
    ("MultiStepLR", {"milestones": [2, 2, 5], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.7}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]}),
]


@pytest.mark.parametrize(("kind", "options"), SCHEDULERS, ids=lambda value: str(value)[:14])
@pytest.mark.parametrize("closed", [False, True], ids=["chained", "closed form"])
def test_scheduler(kind, options, closed):
    results = []
    for library in (Taper, torch):
        first, second = tensors_of(library, shapes=[(1,), (2,)])
        groups = [{"params": [first]}, {"params": [second], "lr": 0.5}]
        optimizer = library.optim.SGD(groups, lr=0.1)
        scheduler = getattr(library.optim.lr_scheduler, kind)(optimizer, **options)
        rates = [scheduler.get_last_lr()]
        for epoch in range(12):
            optimizer.step()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scheduler.step(*([epoch + 2] if closed else []))
            rates.append(list(scheduler.get_last_lr()))
        state = scheduler.state_dict()
        results.append((rates, [group["lr"] for group in optimizer.param_groups], state))
    assert results[0] == results[1]


PLATEAU = [
    dict(zip(("mode", "threshold_mode", "cooldown", "patience"), values, strict=True))
    for values in itertools.product(("min", "max"), ("rel", "abs"), (0, 2), (0, 2))
]


@pytest.mark.parametrize("options", PLATEAU, ids=str)
def test_reduce_on_plateau(options):
    measures = np.random.default_rng(0).normal(size=30).tolist() + [5.0] * 10
    results = []
    for library in (Taper, torch):
        optimizer = library.optim.SGD(tensors_of(library, shapes=[(1,)]), lr=1.0)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, min_lr=0.01, **options
        )
        rates = []
        for measure in measures:
            scheduler.step(measure)
            rates.append(optimizer.param_groups[0]["lr"])
        results.append((rates, scheduler.state_dict()))
    assert results[0] == results[1]


def outcome(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(action())
        except Exception as error:
            found = (type(error), str(error))
    return found, [(each.category, str(each.message)) for each in caught]


def weights(library, count=1):
    return [library.nn.Parameter(library.tensor([1.0])) for _ in range(count)]


REFUSALS = {
    "empty": lambda lib: lib.optim.SGD([]),
    "tensor": lambda lib: lib.optim.SGD(weights(lib)[0]),
    "number": lambda lib: lib.optim.SGD([3]),
    "dict": lambda lib: lib.optim.SGD({"params": weights(lib)}),
    "non-leaf": lambda lib: lib.optim.SGD([weights(lib)[0] * 2]),
    "set": lambda lib: lib.optim.SGD([{"params": set(weights(lib))}]),
    "twice": lambda lib: lib.optim.SGD(weights(lib) * 2),
    "in two groups": lambda lib: lib.optim.SGD([{"params": w} for w in weights(lib) * 2]),
    "names for some": lambda lib: lib.optim.SGD([("a", weights(lib)[0]), *weights(lib)]),
    "group is a list": lambda lib: lib.optim.SGD(weights(lib)).add_param_group(weights(lib)),
    "lr": lambda lib: lib.optim.SGD(weights(lib), lr=-1),
    "lr of two": lambda lib: lib.optim.SGD(weights(lib), lr=lib.tensor([1.0, 2.0])),
    "momentum": lambda lib: lib.optim.SGD(weights(lib), momentum=-1),
    "weight_decay": lambda lib: lib.optim.SGD(weights(lib), weight_decay=-1),
    "nesterov": lambda lib: lib.optim.SGD(weights(lib), nesterov=True),
    "fused and foreach": lambda lib: lib.optim.SGD(weights(lib), fused=True, foreach=True),
    "fused and differentiable": lambda lib: lib.optim.Adam(
        weights(lib), fused=True, differentiable=True
    ),
    "adam lr": lambda lib: lib.optim.Adam(weights(lib), lr=-1),
    "adam eps": lambda lib: lib.optim.Adam(weights(lib), eps=-1),
    "beta1": lambda lib: lib.optim.Adam(weights(lib), betas=(1.0, 0.5)),
    "beta2": lambda lib: lib.optim.Adam(weights(lib), betas=(0.5, 1.5)),
    "mixed betas": lambda lib: lib.optim.Adam(weights(lib), betas=(lib.tensor(0.9), 0.9)),
    "adam lr tensor": lambda lib: lib.optim.Adam(weights(lib), lr=lib.tensor(0.1), foreach=True),
    "other groups": lambda lib: lib.optim.SGD(weights(lib)).load_state_dict(
        {"state": {}, "param_groups": []}
    ),
    "other sizes": lambda lib: lib.optim.SGD(weights(lib)).load_state_dict(
        {"state": {}, "param_groups": [{"params": [0, 1]}]}
    ),
    "base step": lambda lib: lib.optim.Optimizer(weights(lib), {}).step(),
    "not an optimizer": lambda lib: lib.optim.lr_scheduler.StepLR(3, 1),
    "no initial_lr": lambda lib: lib.optim.lr_scheduler.StepLR(
        lib.optim.SGD(weights(lib)), 1, last_epoch=3
    ),
    "lambdas": lambda lib: lib.optim.lr_scheduler.LambdaLR(lib.optim.SGD(weights(lib)), [1, 2]),
    "factor": lambda lib: lib.optim.lr_scheduler.ReduceLROnPlateau(
        lib.optim.SGD(weights(lib)), factor=1.0
    ),
    "scheduler first": lambda lib: lib.optim.lr_scheduler.StepLR(
        lib.optim.SGD(weights(lib)), 1
    ).step(),
    "epoch": lambda lib: lib.optim.lr_scheduler.ReduceLROnPlateau(lib.optim.SGD(weights(lib))).step(
        1.0, epoch=3
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_and_warnings(name):
    ours, our_warnings = outcome(lambda: REFUSALS[name](Taper))
    theirs, their_warnings = outcome(lambda: REFUSALS[name](torch))
    assert ours == theirs
    assert our_warnings == their_warnings
