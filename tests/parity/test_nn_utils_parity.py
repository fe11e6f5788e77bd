"""Parametrizations and norms of `nn.utils`, the same programs on taper and on PyTorch.

The tests compare values, gradients, graphs, keys of states, hooks, `repr`, errors and warnings;
pruning and the small tools are in `test_nn_utils_tools_parity`.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch as real_torch
import torch.nn.utils.prune

from program_log import compare


def assert_programs(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda each: each.__name__.strip("_"))


# ------------------------------------------------------------------------------- parametrize


def kinds(torch):
    """Return parametrizations of all sorts, wrong ones included."""
    nn = torch.nn

    def kind(name, forward, right_inverse=None):
        members = {"forward": lambda self, *args: forward(*args)}
        if right_inverse is not None:
            members["right_inverse"] = lambda self, value: right_inverse(value)
        return type(name, (nn.Module,), members)

    def refuse(value):
        raise NotImplementedError

    def fail(value):
        raise ValueError("no")

    made = [
        kind("Symmetric", lambda x: x.triu() + x.triu(1).T),
        kind("Doubled", lambda x: x * 2, lambda x: x / 2),
        kind("Two", lambda a, b: a + b, lambda x: (x / 2, x / 2)),
        kind("Row", lambda x: x[:1]),
        kind("Double", lambda x: x.double()),
        kind("RowInDouble", lambda x: x[:1].double()),
        kind("Number", lambda x: 3),
        kind("InverseInDouble", lambda x: x.float(), lambda x: x.double()),
        kind("InverseTwice", lambda x: x[:2, :2], lambda x: torch.cat([x, x])),
        kind("InverseNumber", lambda x: x, lambda x: 3),
        kind("InverseList", lambda a, b: a, lambda x: [x, 3]),
        kind("InverseDict", lambda x: x, lambda x: {"a": x}),
        kind("InverseRefused", lambda x: x * 1, refuse),
        kind("InverseFails", lambda x: x, fail),
        kind("InverseNothing", lambda *args: torch.zeros(2, 2), lambda x: ()),
    ]
    return {each.__name__: each for each in made}


def note_errors(torch, log, module):
    """Note a module after a call that may have failed, without random numbers."""
    log([*module._parameters], [*module._buffers], [*module._modules], [*module.state_dict()])
    log(type(module).__name__)


def registering(torch, log):
    for kind in kinds(torch).values():
        for unsafe in (False, True):
            layer = torch.nn.Linear(2, 2)
            weight = layer.weight
            log(kind.__name__)
            register = torch.nn.utils.parametrize.register_parametrization
            log.call(register, layer, "weight", kind(), unsafe=unsafe)
            note_errors(torch, log, layer)
            if "original" in [*layer.state_dict()][-1]:
                log.module(layer)
                log(layer.parametrizations.weight.unsafe)
            elif "weight" in layer._parameters:
                log(layer.weight is weight)


def registering_a_second(torch, log):
    made = kinds(torch)
    register = torch.nn.utils.parametrize.register_parametrization
    layer = register(torch.nn.Linear(2, 2), "weight", made["Doubled"]())
    names = "Row Double RowInDouble Number InverseInDouble InverseTwice InverseNumber InverseFails"
    for name in names.split():
        log.call(register, layer, "weight", made[name]())
    log.call(register, layer, "weight", made["InverseRefused"]())
    log.call(register, layer, "weight", made["Symmetric"]())
    log.call(register, layer, "weight", made["Row"](), unsafe=True)
    log.call(register, layer, "bias", made["Doubled"]())
    log(layer.weight, layer.bias, layer.parametrizations.weight.unsafe)
    log.module(layer)


def refusals(torch, log):
    nn, P = torch.nn, torch.nn.utils.parametrize
    doubled = kinds(torch)["Doubled"]
    log.call(P.register_parametrization, 3, "weight", doubled())
    log.call(P.register_parametrization, nn.Linear(2, 2), "weight", lambda x: x)
    log.call(P.register_parametrization, nn.Linear(2, 2), "other", doubled())
    log.call(P.register_parametrization, nn.Linear(2, 2), "training", doubled())
    log.call(P.register_parametrization, nn.Linear(2, 2, bias=False), "bias", doubled())
    log.call(P.ParametrizationList, [], nn.Parameter(torch.ones(2)))
    log.call(P.remove_parametrizations, nn.Linear(2, 2), "weight")
    layer = P.register_parametrization(nn.Linear(2, 2), "weight", doubled())
    log.call(P.remove_parametrizations, layer, "bias")
    for action in (pickle.dumps, copy.copy, lambda each: each.__getstate__()):
        log.call(action, layer)
    log.call(setattr, layer, "weight", nn.Parameter(torch.ones(2, 2)))
    log.call(nn.Linear(2, 2).load_state_dict, layer.state_dict())


def assigning(torch, log):
    nn, P = torch.nn, torch.nn.utils.parametrize
    made = kinds(torch)
    for name in ("Doubled", "Two", "Symmetric"):
        layer = P.register_parametrization(nn.Linear(2, 2), "weight", made[name]())
        for value in (torch.ones(2, 2), torch.ones(3, 2), torch.ones(2, 2).double(), None):
            log.call(setattr, layer, "weight", value)
            log(layer.weight)
        log.module(layer)


def wrong_inverses(torch, log):
    answers = {
        "one": lambda x: x,
        "number": lambda x: 3,
        "double": lambda x: x.double(),
        "two": lambda x: (x, x),
        "three": lambda x: (x, x, x),
        "double and one": lambda x: (x.double(), x),
        "number and one": lambda x: (3, x),
        "row and one": lambda x: (x[:1], x),
    }
    chosen = {}

    class Chosen(torch.nn.Module):
        def forward(self, *args):
            return args[0] * 1

        def right_inverse(self, value):
            return chosen["now"](value)

    for first in ("one", "two"):
        for answer in answers.values():
            chosen["now"] = answers[first]
            start = torch.nn.Parameter(torch.ones(2, 2))
            made = torch.nn.utils.parametrize.ParametrizationList([Chosen()], start)
            chosen["now"] = answer
            log.call(made.right_inverse, torch.full((2, 2), 4.0))
            log(made.is_tensor, made.ntensors, *made.state_dict().values(), made())


def removing(torch, log):
    nn, P = torch.nn, torch.nn.utils.parametrize
    made = kinds(torch)
    for name in ("Symmetric", "Doubled", "Two", "Row", "Double"):
        for leave in (True, False):
            for needs in (True, False):
                layer = nn.Linear(2, 2)
                layer.weight.requires_grad_(needs)
                P.register_parametrization(layer, "weight", made[name](), unsafe=True)
                original = getattr(layer.parametrizations.weight, "original", None)
                log.call(P.remove_parametrizations, layer, "weight", leave_parametrized=leave)
                note_errors(torch, log, layer)
                log(layer.weight, layer.weight is original)
    layer = nn.Linear(2, 2)
    layer.register_buffer("table", torch.ones(2, 2))
    for name in ("Doubled", "Two"):
        P.register_parametrization(layer, "table", made[name]())
        log.module(layer)
        log.call(P.remove_parametrizations, layer, "table")
        log.module(layer)


def caching(torch, log):
    nn, P = torch.nn, torch.nn.utils.parametrize
    layer = P.register_parametrization(nn.Linear(2, 2), "weight", kinds(torch)["Doubled"]())
    with P.cached():
        first = layer.weight
        with P.cached():
            log(layer.weight is first)
        log(layer.weight is first)
        layer.weight = torch.ones(2, 2)
        log(layer.weight is first)
    log(layer.weight is first, layer.weight is layer.weight, layer.weight)
    try:
        with P.cached():
            log(layer.weight)
            raise KeyError
    except KeyError:
        log(len(P._cache), P._cache_enabled)


def copying_and_types(torch, log):
    nn, P = torch.nn, torch.nn.utils.parametrize
    made = kinds(torch)
    layer = P.register_parametrization(nn.Linear(2, 2), "weight", made["Two"]())
    twin = copy.deepcopy([layer, layer])
    log(twin[0] is twin[1], type(twin[0]) is type(layer), twin[0].weight, twin[0])
    log(P.is_parametrized(layer), P.is_parametrized(layer, "weight"), P.is_parametrized(layer, "b"))
    log(P.type_before_parametrizations(layer).__name__, P.is_parametrized(nn.Linear(2, 2)))
    log(P.type_before_parametrizations(nn.Linear(2, 2)).__name__, isinstance(layer, nn.Linear))
    layer.double().eval()
    log(layer.weight, layer.parametrizations.weight[0].training, "weight" in dir(layer))


def transferring(torch, log):
    nn, P = torch.nn, torch.nn.utils.parametrize
    made = kinds(torch)
    move = P.transfer_parametrizations_and_params
    for name in ("Doubled", "Two"):
        source = P.register_parametrization(nn.Linear(2, 2), "weight", made[name]())
        for target in (nn.Linear(2, 2), nn.Linear(3, 3), nn.Identity()):
            log.call(move, source, target)
            log.module(target)
            log(target.parametrizations.weight[0] is source.parametrizations.weight[0])
        log.call(move, source, nn.Linear(2, 2), "bias")
        log.call(move, source, nn.Linear(2, 2), "other")
    log.call(move, nn.Linear(2, 2), nn.Linear(2, 2))


PARAMETRIZE = [
    registering,
    registering_a_second,
    refusals,
    assigning,
    wrong_inverses,
    removing,
    caching,
    copying_and_types,
    transferring,
]


@assert_programs(PARAMETRIZE)
def test_parametrize(program):
    compare(real_torch, program)


# --------------------------------------------------------- norms and orthogonal parametrizations


def new_weight_norm(torch, log):
    nn, made = torch.nn, torch.nn.utils.parametrizations
    for layer in (nn.Linear(3, 2), nn.Conv2d(2, 3, 2), nn.ConvTranspose1d(2, 3, 2)):
        for dim in (0, 1, None, -1):
            each = made.weight_norm(copy.deepcopy(layer), dim=dim)
            log(each.weight)
            log.module(each)
    layer = made.weight_norm(nn.Linear(3, 2))
    log.call(made.weight_norm, layer)
    log.call(getattr, layer, "weight")
    log.call(made.weight_norm, nn.Linear(3, 2), "other")
    log.call(made.weight_norm, nn.Linear(3, 2), dim=5)
    log(repr(made._WeightNorm(None)), made._WeightNorm(None).dim)


def states_of_the_old_weight_norm(torch, log):
    nn, utils = torch.nn, torch.nn.utils
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nn.Sequential(utils.weight_norm(nn.Linear(3, 2)))
    new = nn.Sequential(utils.parametrizations.weight_norm(nn.Linear(3, 2)))
    log.call(new.load_state_dict, old.state_dict())
    log(new[0].weight)
    partly = old.state_dict()
    del partly["0.weight_g"]
    log.call(new.load_state_dict, partly)
    new[0].weight = torch.ones(2, 3)
    log.module(new)
    utils.parametrize.remove_parametrizations(new[0], "weight")
    log.call(new.load_state_dict, nn.Sequential(nn.Linear(3, 2)).state_dict())


def old_weight_norm(torch, log):
    nn, utils = torch.nn, torch.nn.utils
    for dim in (0, 1, None, -1):
        layer = nn.Linear(3, 2)
        log.call(utils.weight_norm, layer, dim=dim)
        log(layer.weight)
        log.module(layer)
        log(layer(torch.ones(1, 3)))
        log.call(utils.weight_norm, layer)
        log.call(copy.deepcopy, layer)
        log([*pickle.loads(pickle.dumps(layer)).state_dict()])
        log.call(utils.remove_weight_norm, layer)
        log.module(layer)
        log.call(utils.remove_weight_norm, layer)
    log.call(utils.weight_norm, nn.Linear(3, 2), "other")
    log.call(utils.weight_norm, nn.Linear(3, 2, bias=False), "bias")
    log.call(utils.weight_norm, nn.Linear(3, 2), dim=2)
    log.call(utils.weight_norm, nn.LazyLinear(3))


def old_spectral_norm(torch, log):
    nn, utils = torch.nn, torch.nn.utils
    layers = [nn.Linear(3, 2), nn.Conv2d(2, 3, 2)]
    layers += [nn.ConvTranspose1d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2)]
    for layer in layers:
        log.call(utils.spectral_norm, layer, n_power_iterations=2)
        log(layer.weight)
        log.module(layer)
        x = torch.ones(1, 3 if isinstance(layer, nn.Linear) else 2, *[3] * (layer.weight.dim() - 2))
        for training in (True, True, False, False):
            layer.train(training)
            log(layer(x), layer.weight, layer.weight_u, layer.weight_v)
        log.call(utils.spectral_norm, layer)
        log.call(copy.deepcopy, layer)
        log.call(utils.remove_spectral_norm, layer)
        log.module(layer)
        log.call(utils.remove_spectral_norm, layer)
    log.call(utils.spectral_norm, nn.Linear(3, 2), "other")
    log.call(utils.spectral_norm, nn.Linear(3, 2, bias=False), "bias")
    log.call(utils.spectral_norm, nn.Linear(3, 2), n_power_iterations=0)
    log.call(utils.spectral_norm, nn.Linear(3, 2), dim=-1)
    log.call(utils.spectral_norm, nn.LazyLinear(3))
    log.module(utils.spectral_norm(utils.spectral_norm(nn.Linear(2, 2), dim=1), "bias"))


def states_of_spectral_norm(torch, log):
    nn, utils = torch.nn, torch.nn.utils
    layer, other = (utils.spectral_norm(nn.Linear(2, 3)) for _ in range(2))
    log.call(other.load_state_dict, layer.state_dict())
    log.module(other)
    without = layer.state_dict()
    del without["weight_v"]
    log.call(other.load_state_dict, without)
    log.call(other.load_state_dict, nn.Linear(2, 3).state_dict())
    for metadata in ({"version": 1}, {"version": 1, "spectral_norm": {}}):
        ancient = layer.state_dict()
        ancient._metadata[""] = metadata
        del ancient["weight_v"]
        log.call(other.load_state_dict, ancient)
        ancient["weight"] = ancient["weight_orig"] / 3.0
        log.call(other.load_state_dict, ancient)
        log([*ancient])
        log.module(other)


def new_spectral_norm(torch, log):
    nn, made = torch.nn, torch.nn.utils.parametrizations
    layers = [nn.Linear(3, 2), nn.Conv2d(2, 3, 2)]
    layers += [nn.ConvTranspose1d(2, 3, 2), nn.ConvTranspose3d(2, 3, 2), nn.Linear(3, 2).eval()]
    for layer in layers:
        log.call(made.spectral_norm, layer, n_power_iterations=2)
        log.module(layer)
        for training in (True, True, False, False):
            layer.train(training)
            log(layer.weight, layer.parametrizations.weight[0]._u)
        layer.weight = torch.ones_like(layer.weight)
        log.module(layer)
    log(made.spectral_norm(nn.Linear(3, 2), "bias").bias)
    log(made.spectral_norm(nn.Linear(3, 2), dim=-1).parametrizations.weight[0].dim)
    log.call(made.spectral_norm, nn.Linear(3, 2), n_power_iterations=0)
    for dim in (5, -3):
        log.call(made.spectral_norm, nn.Linear(3, 2), dim=dim)
    log.call(made.spectral_norm, nn.Linear(3, 2), "other")
    log.call(made.spectral_norm, nn.Linear(3, 2, bias=False), "bias")
    log.call(made._SpectralNorm, torch.tensor(1.0))


NORMS = [
    new_weight_norm,
    states_of_the_old_weight_norm,
    old_weight_norm,
    old_spectral_norm,
    states_of_spectral_norm,
    new_spectral_norm,
]


@assert_programs(NORMS)
def test_norms(program):
    compare(real_torch, program)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 4, 3)])
@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder", None])
def test_orthogonal(name, trivial, shape):
    def program(torch, log):
        made = torch.nn.utils.parametrizations
        module = torch.nn.Module()
        module.weight = torch.nn.Parameter(torch.randn(shape, dtype=torch.float64))
        made.orthogonal(module, "weight", name, use_trivialization=trivial)
        log.module(module)
        log(module.weight, str(module.parametrizations.weight[0].orthogonal_map))
        weight = module.weight
        weight.pow(3).sum().backward()
        original = module.parametrizations.weight.original
        log(original.grad)
        with torch.no_grad():
            original += 0.1 * torch.randn(shape, dtype=torch.float64)
        log(module.weight)
        tall = (*shape[:-2], max(shape[-2:]), min(shape[-2:]))
        value = made._make_orthogonal(torch.randn(tall, dtype=torch.float64))
        log.call(setattr, module, "weight", value.mT if shape[-2] < shape[-1] else value)
        log.module(module)
        log(module.weight)
        log.call(setattr, module, "weight", torch.ones(5, 1))

    compare(real_torch, program)


def test_orthogonal_refusals_and_complex():
    def program(torch, log):
        nn, made = torch.nn, torch.nn.utils.parametrizations
        log.call(made.orthogonal, nn.Linear(2, 2), orthogonal_map="other")
        log.call(made.orthogonal, nn.Linear(2, 2), "other")
        log.call(made.orthogonal, nn.Linear(2, 2, bias=False), "bias")
        log.call(made.orthogonal, nn.Linear(2, 2), "bias")
        for name in ("matrix_exp", "cayley", "householder", None):
            module = nn.Module()
            module.weight = nn.Parameter(torch.randn(3, 3, dtype=torch.complex128))
            log.call(made.orthogonal, module, "weight", name)
            if name != "householder":
                log(module.weight)
        log(made._is_orthogonal(torch.eye(3)), made._is_orthogonal(torch.ones(2, 2)))
        layer = made.orthogonal(nn.Linear(3, 3))
        other = made.orthogonal(nn.Linear(3, 3))
        log.call(other.load_state_dict, layer.state_dict())
        log(other.weight, layer.parametrizations.weight.unsafe)

    compare(real_torch, program)


# ---------------------------------------------------------------------------------- training

TRAINED = {
    "new weight norm": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)),
    "weight norm, one length": lambda nn: nn.utils.parametrizations.weight_norm(
        nn.Linear(4, 3), dim=None
    ),
    "old weight norm": lambda nn: nn.utils.weight_norm(nn.Linear(4, 3)),
    "new spectral norm": lambda nn: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)),
    "old spectral norm": lambda nn: nn.utils.spectral_norm(nn.Linear(4, 3)),
    "pruned": lambda nn: nn.utils.prune.random_unstructured(nn.Linear(4, 3), "weight", 0.5),
    "pruned rows": lambda nn: nn.utils.prune.ln_structured(nn.Linear(4, 3), "weight", 1, 2, 0),
} | {
    f"{name} {shape} {trivial}": lambda nn, name=name, shape=shape, trivial=trivial: (
        nn.utils.parametrizations.orthogonal(
            nn.Linear(*shape), "weight", name, use_trivialization=trivial
        )
    )
    for name in ("matrix_exp", "cayley", "householder")
    for shape in ((4, 4), (4, 3))
    for trivial in (True, False)
}


@pytest.mark.parametrize("name", TRAINED)
def test_twenty_steps(name):
    def program(torch, log):
        nn = torch.nn
        torch.set_default_dtype(torch.float64)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                layer = TRAINED[name](nn)
            model = nn.Sequential(layer, nn.Tanh(), nn.Linear(layer.out_features, 1))
        finally:
            torch.set_default_dtype(torch.float32)
        rng = np.random.default_rng(3)
        x, y = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((8, 4), (8, 1)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(20):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            log(loss.detach())
        log(layer.weight.detach(), *model.state_dict().values())

    compare(real_torch, program)


# ------------------------------------------------------------------------- on other modules

LAYERS = {
    "LSTM": (lambda nn: nn.LSTM(3, 4), "weight_hh_l0", (2, 1, 3)),
    "GRU": (lambda nn: nn.GRU(3, 4), "weight_ih_l0", (2, 1, 3)),
    "Conv1d": (lambda nn: nn.Conv1d(3, 4, 2), "weight", (2, 3, 4)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(3, 4, 2), "weight", (2, 3, 4, 4)),
    "Bilinear": (lambda nn: nn.Bilinear(3, 3, 2), "weight", (2, 3)),
    "RNNCell": (lambda nn: nn.RNNCell(3, 4), "weight_hh", (2, 3)),
    "Linear bias": (lambda nn: nn.Linear(3, 4), "bias", (2, 3)),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), "weight", (4, 3)),
    "LayerNorm": (lambda nn: nn.LayerNorm(3), "weight", (4, 3)),
}
WAYS = {
    "doubled": lambda torch, each, name: torch.nn.utils.parametrize.register_parametrization(
        each, name, kinds(torch)["Doubled"]()
    ),
    "two": lambda torch, each, name: torch.nn.utils.parametrize.register_parametrization(
        each, name, kinds(torch)["Two"]()
    ),
    "weight norm": lambda torch, each, name: torch.nn.utils.weight_norm(each, name),
    "new weight norm": lambda torch, each, name: torch.nn.utils.parametrizations.weight_norm(
        each, name
    ),
    "spectral norm": lambda torch, each, name: torch.nn.utils.parametrizations.spectral_norm(
        each, name
    ),
    "pruned": lambda torch, each, name: torch.nn.utils.prune.l1_unstructured(each, name, 0.4),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layer", LAYERS)
def test_other_modules(layer, way):
    def program(torch, log):
        make, name, shape = LAYERS[layer]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = WAYS[way](torch, make(torch.nn), name)
        if layer in ("LSTM", "GRU"):
            # PyTorch's read each weight four times a call, and spectral norm counts in training.
            module.eval()
        rng = np.random.default_rng(2)
        x = torch.from_numpy(rng.standard_normal(shape)).float()
        inputs = (x, x) if layer == "Bilinear" else (x,)
        for _ in range(2):
            result = module(*inputs)
            result = result[0] if isinstance(result, tuple) else result
            result.pow(2).sum().backward()
            log(result.detach())
            for key, param in module.named_parameters():
                log(key, param.grad)
        log.module(module)
        if way in ("doubled", "two", "new weight norm", "spectral norm"):
            new = {key: torch.ones_like(each) for key, each in module.named_parameters()}
            result = torch.func.functional_call(module, new, inputs)
            log(result[0].detach() if isinstance(result, tuple) else result.detach())

    compare(real_torch, program)
