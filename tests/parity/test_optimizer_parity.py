"""What all optimizers share, on taper and on PyTorch: groups, dictionaries, hooks, refusals."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings

import pytest
import torch

import taper


def outcome(action):
    """Return what it gives or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(action())
        except Exception as error:
            found = (type(error).__name__, str(error).replace("torch.nn", "taper.nn"))
    return found, [(each.category, str(each.message)) for each in caught]


def weight(lib, *shape, grad=False, dtype=None):
    made = lib.nn.Parameter(lib.ones(*(shape or (2,)), dtype=dtype and getattr(lib, dtype)))
    if grad:
        made.grad = lib.ones_like(made)
    return made


def weights(lib, count=1):
    return [weight(lib) for _ in range(count)]


def stepped(lib, kind, **options):
    """Return what a step on a parameter with a gradient leads to."""
    param = weight(lib, 2, 2, grad=True)
    getattr(lib.optim, kind)([param], **options).step()
    return param.tolist()


def made(lib, kind, **options):
    return getattr(lib.optim, kind)(weights(lib), **options)


CAPTURABLE = ["ASGD", "Adadelta", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]
DIFFERENTIABLE = [*CAPTURABLE, "Adagrad", "SGD"]
KINDS = [*DIFFERENTIABLE, "Adafactor", "Muon", "LBFGS", "SparseAdam"]

BAD = {
    "ASGD": [{"weight_decay": -1}],
    "Adadelta": [{"rho": 1.5}, {"rho": -1, "eps": -1}, {"eps": -1}, {"weight_decay": -1}],
    "Adagrad": [
        {"lr_decay": -1, "weight_decay": -1},
        {"weight_decay": -1, "initial_accumulator_value": -1},
        {"initial_accumulator_value": -1, "eps": -1},
        {"eps": -1},
    ],
    "Adam": [
        {"eps": -1, "betas": (-1, 0)},
        {"betas": (1.0, 0.5)},
        {"betas": (0.5, 1.5)},
        {"betas": (0, 0)},
        {"betas": 0.5},
        {"weight_decay": -1},
    ],
    "AdamW": [{"betas": (0.5, 1.0)}, {"weight_decay": -1}],
    "Adamax": [{"eps": -1}, {"betas": (-1, 0.5), "weight_decay": -1}, {"weight_decay": -1}],
    "NAdam": [{"betas": (0.5, 1.0)}, {"weight_decay": -1}, {"momentum_decay": -1}],
    "RAdam": [{"eps": -1}, {"betas": (1.0, 0.5)}, {"weight_decay": -1}],
    "RMSprop": [{"eps": -1, "alpha": -1}, {"momentum": -1}, {"weight_decay": -1}, {"alpha": -1}],
    "Rprop": [{"etas": (0.5, 1.0)}, {"etas": (-1, 2)}, {"etas": (1.5, 2)}],
    "SGD": [{"momentum": -1}, {"weight_decay": -1}, {"nesterov": True}],
    "Adafactor": [
        {"beta2_decay": 1},
        {"eps": (-1, 0)},
        {"eps": (0, -1)},
        {"d": 0},
        {"weight_decay": -1},
    ],
    "Muon": [
        {"momentum": -1},
        {"weight_decay": -1, "adjust_lr_fn": "x"},
        {"adjust_lr_fn": "x"},
        {},
    ],
    "LBFGS": [],
    "SparseAdam": [{"lr": 0}, {"eps": 0}, {"betas": (1.0, 0.5)}],
}


@pytest.mark.parametrize("kind", KINDS)
def test_bad_options(kind):
    for options in [{"lr": -1}, {"lr": -1.0}, {"unknown": 1}, *BAD[kind]]:
        ours = outcome(lambda options=options: made(taper, kind, **options))
        assert ours == outcome(lambda options=options: made(torch, kind, **options)), options
    for lr in ([0.1, 0.2], [-0.1]):
        ours = outcome(lambda lr=lr: made(taper, kind, lr=taper.tensor(lr)))
        assert ours == outcome(lambda lr=lr: made(torch, kind, lr=torch.tensor(lr))), lr


@pytest.mark.parametrize("kind", DIFFERENTIABLE)
def test_refused_ways_of_running(kind):
    ways = [{"differentiable": True}, {"differentiable": True, "foreach": True}]
    if kind in CAPTURABLE:
        ways += [{"capturable": True}, {"capturable": True, "foreach": True}]
    if kind in ("Adam", "AdamW", "Adagrad", "SGD"):
        ways += [
            {"fused": True, "foreach": True},
            {"fused": True, "differentiable": True},
        ]
    for options in ways:
        ours = outcome(lambda options=options: stepped(taper, kind, **options))
        theirs = outcome(lambda options=options: stepped(torch, kind, **options))
        assert ours[0][0] == theirs[0][0], options
        # For a leaf written in place taper adds the line that did it.
        assert ours[0][1].split("\n")[0] == theirs[0][1].split("\n")[0], options


def lbfgs(lib, **options):
    param = weight(lib)
    return lib.optim.LBFGS([param], **options).step(lambda: (param * param).sum().detach())


def hooked(lib):
    seen = []
    module = importlib.import_module(f"{lib.__name__}.optim.optimizer")
    optimizer = lib.optim.SGD([weight(lib, grad=True)], lr=0.1)
    handles = [
        module.register_optimizer_step_pre_hook(lambda *a: seen.append(("all pre", len(a)))),
        module.register_optimizer_step_post_hook(lambda *a: seen.append(("all post", len(a)))),
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append(("pre", len(a), list(k)))),
        optimizer.register_step_post_hook(lambda o, a, k: seen.append(("post", len(a), list(k)))),
        optimizer.register_state_dict_pre_hook(lambda *a: seen.append(("saving", len(a)))),
        optimizer.register_state_dict_post_hook(lambda o, s: seen.append(sorted(s))),
        optimizer.register_load_state_dict_pre_hook(lambda o, s: seen.append(sorted(s))),
        optimizer.register_load_state_dict_post_hook(lambda *a: seen.append(("loaded", len(a)))),
    ]
    optimizer.step(closure=lambda: None)
    optimizer.load_state_dict(optimizer.state_dict())
    for handle in handles:
        handle.remove()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    return seen


def replaced_dictionaries(lib):
    optimizer = lib.optim.SGD([weight(lib)])
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(
        lambda o, state: {"state": {}, "param_groups": [{"params": [5], "lr": 9}]}
    )
    found = sorted(optimizer.state_dict())
    optimizer.load_state_dict({})
    return found, optimizer


def loaded(lib, change):
    """Return an Adam after a step, loaded with its own state after a change."""
    param = weight(lib, grad=True)
    optimizer = lib.optim.Adam([param])
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    change(lib, state)
    optimizer.load_state_dict(state)
    return list(optimizer.state[param].items()), sorted(
        key for key in optimizer.state if not hasattr(key, "grad")
    )


def add_to_state(lib, state):
    entry = state["state"][0]
    entry["list"] = [lib.ones(2, dtype=lib.float64), (1, 2)]
    entry["dict"] = {"a": lib.ones(1, dtype=lib.float64), "b": lib.ones(1, dtype=lib.int32)}
    entry["none"] = None
    state["state"][7] = {"other": lib.ones(1)}


def named(lib, *names):
    return lib.optim.SGD([(name, weight(lib)) for name in names])


def names_after_loading(lib):
    first, second, none = named(lib, "x", "y"), named(lib, "y", "x"), lib.optim.SGD(weights(lib, 2))
    found = []
    for ours, theirs in ((first, second), (none, first), (second, lib.optim.SGD(weights(lib, 2)))):
        ours.load_state_dict(theirs.state_dict())
        found.append(ours.param_groups[0].get("param_names"))
    return found, first


def copies(lib):
    param = weight(lib, grad=True)
    optimizer = lib.optim.Adam([param])
    optimizer.step()
    optimizer.mine = 3
    read = pickle.loads(pickle.dumps(optimizer))
    twin = copy.deepcopy(optimizer)
    for other in (read, twin):
        for each in other.param_groups[0]["params"]:
            each.grad = lib.ones_like(each)
        other.step()
    return read, hasattr(read, "mine"), read.state_dict(), twin.state_dict(), type(twin.state)


def old_states(lib):
    """Return states and groups of earlier versions: numbers for steps, options missing."""
    found = []
    for kind in DIFFERENTIABLE:
        param = weight(lib, grad=True)
        optimizer = getattr(lib.optim, kind)([param])
        optimizer.step()
        state = optimizer.state_dict()
        for entry in state["state"].values():
            for name in ("step", "mu_product", "eta", "mu"):
                if name in entry:
                    entry[name] = entry[name].item()
        optimizer.load_state_dict(state)
        optimizer.step()
        values = optimizer.state[param].items()
        found.append([(name, each.dtype, tuple(each.shape)) for name, each in values])
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})
        found.append(list(optimizer.param_groups[0].items())[1:])
    return found


def zeroed(lib):
    param = weight(lib, grad=True)
    grad = param.grad
    optimizer = lib.optim.SGD([param, weight(lib)])
    optimizer.zero_grad(set_to_none=False)
    found = [param.grad is grad, param.grad]
    optimizer.zero_grad()
    return [*found, param.grad]


def own_optimizer(lib):
    class Mine(lib.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        def step(self, closure=None):
            loss = None if closure is None else closure()
            with lib.no_grad():
                for param in self.param_groups[0]["params"]:
                    param.add_(param.grad, alpha=-self.param_groups[0]["lr"])
            return loss

    param = weight(lib, grad=True)
    optimizer = Mine([param])
    seen = []
    optimizer.register_step_pre_hook(lambda *a: seen.append("pre"))
    return optimizer.step(lambda: 3), optimizer, param, seen


PROGRAMS = {
    "empty": lambda lib: lib.optim.SGD([]),
    "tensor": lambda lib: lib.optim.SGD(weight(lib)),
    "number": lambda lib: lib.optim.SGD([3]),
    "None": lambda lib: lib.optim.SGD(None),
    "text": lambda lib: lib.optim.SGD("ab"),
    "group": lambda lib: lib.optim.SGD({"params": weights(lib)}),
    "group without params": lambda lib: lib.optim.SGD([{}]),
    "group of nothing": lambda lib: lib.optim.SGD([{"params": []}]).param_groups,
    "group after tensor": lambda lib: lib.optim.SGD([*weights(lib), {"params": weights(lib)}]),
    "tensor after group": lambda lib: lib.optim.SGD([{"params": weights(lib)}, *weights(lib)]),
    "generator": lambda lib: lib.optim.SGD(each for each in weights(lib, 3)),
    "non-leaf": lambda lib: lib.optim.SGD([weight(lib) * 2]),
    "non-leaf, differentiable": lambda lib: lib.optim.SGD([weight(lib) * 2], differentiable=True),
    "set": lambda lib: lib.optim.SGD([{"params": set(weights(lib))}]),
    "twice": lambda lib: lib.optim.SGD(weights(lib) * 2),
    "in two groups": lambda lib: lib.optim.SGD([{"params": w} for w in weights(lib) * 2]),
    "names": lambda lib: named(lib, "a", "b"),
    "equal names": lambda lib: named(lib, "a", "a"),
    "names for some": lambda lib: lib.optim.SGD([("a", weight(lib)), weight(lib)]),
    "three in a tuple": lambda lib: lib.optim.SGD([("a", weight(lib), 3)]),
    "names for a later group": lambda lib: made(lib, "SGD").add_param_group(
        {"params": [("a", weight(lib))]}
    ),
    "later group is a list": lambda lib: made(lib, "SGD").add_param_group(weights(lib)),
    "later group without params": lambda lib: made(lib, "SGD").add_param_group({}),
    "required": lambda lib: lib.optim.Optimizer(
        weights(lib),
        {"lr": importlib.import_module(f"{lib.__name__}.optim.optimizer").required},
    ),
    "base": lambda lib: lib.optim.Optimizer(weights(lib), {"a": 1}).state_dict(),
    "base step": lambda lib: lib.optim.Optimizer(weights(lib), {}).step(),
    "mixed betas": lambda lib: made(lib, "Adam", betas=(lib.tensor(0.9), 0.9)),
    "tensor rate, foreach": lambda lib: made(lib, "Adam", lr=lib.tensor(0.1), foreach=True),
    "tensor betas, foreach": lambda lib: made(
        lib, "Adam", betas=(lib.tensor(0.9), lib.tensor(0.9)), foreach=True
    ),
    "capturable without gradient": lambda lib: made(lib, "Adam", capturable=True).step(),
    "capturable and fused": lambda lib: stepped(lib, "Adam", capturable=True, fused=True),
    "groups of LBFGS": lambda lib: lib.optim.LBFGS([{"params": w} for w in weights(lib, 2)]),
    "line search": lambda lib: lbfgs(lib, line_search_fn="x"),
    "dense SparseAdam": lambda lib: stepped(lib, "SparseAdam"),
    "complex SparseAdam": lambda lib: lib.optim.SparseAdam(
        [weight(lib), weight(lib, dtype="complex64")]
    ),
    "complex Adafactor": lambda lib: lib.optim.Adafactor(
        [weight(lib, grad=True, dtype="complex64")]
    ).step(),
    "complex Muon": lambda lib: lib.optim.Muon(
        [weight(lib, 2, 2, grad=True, dtype="complex64")]
    ).step(),
    "empty Adafactor": lambda lib: lib.optim.Adafactor([weight(lib, 0, grad=True)]).step(),
    "Muon coefficients": lambda lib: stepped(lib, "Muon", ns_coefficients=(1, 2)),
    "Muon steps": lambda lib: stepped(lib, "Muon", ns_steps=100),
    "Adagrad state": lambda lib: made(lib, "Adagrad", initial_accumulator_value=0.5).state_dict(),
    "complex Adagrad state": lambda lib: lib.optim.Adagrad(
        [weight(lib, dtype="complex64")], initial_accumulator_value=0.5
    ).state_dict(),
    "other groups": lambda lib: made(lib, "SGD").load_state_dict({"state": {}, "param_groups": []}),
    "other sizes": lambda lib: made(lib, "SGD").load_state_dict(
        {"state": {}, "param_groups": [{"params": [0, 1]}]}
    ),
    "state without groups": lambda lib: made(lib, "SGD").load_state_dict({"state": {}}),
    "loaded state": lambda lib: loaded(lib, add_to_state),
    "hooks": hooked,
    "replaced dictionaries": replaced_dictionaries,
    "names after loading": names_after_loading,
    "copies": copies,
    "old states": old_states,
    "zero_grad": zeroed,
    "own optimizer": own_optimizer,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_outcome(name):
    assert outcome(lambda: PROGRAMS[name](taper)) == outcome(lambda: PROGRAMS[name](torch))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [*DIFFERENTIABLE, "Adafactor"])
def test_scalars_follow_the_default_dtype(kind, dtype):
    results = []
    for lib in (taper, torch):
        lib.set_default_dtype(getattr(lib, dtype))
        try:
            param = weight(lib, grad=True)
            optimizer = getattr(lib.optim, kind)([param])
            optimizer.step()
            values = optimizer.state[param].items()
            results.append([(name, str(each.dtype)) for name, each in values])
        finally:
            lib.set_default_dtype(lib.float32)
    assert results[0] == results[1]
