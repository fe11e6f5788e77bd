"""Pruning and the small tools of `nn.utils`, the same programs on taper and on PyTorch."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import pickle

import numpy as np
import pytest
import torch as real_torch
import torch.nn.utils.prune

import taper
from program_log import compare


def assert_programs(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda each: each.__name__.strip("_"))


# ----------------------------------------------------------------------------------- pruning


def pruning(torch, log):
    nn, prune = torch.nn, torch.nn.utils.prune
    ways = [
        lambda layer: prune.identity(layer, "weight"),
        lambda layer: prune.random_unstructured(layer, "weight", 0.3),
        lambda layer: prune.random_unstructured(layer, "weight", 4),
        lambda layer: prune.l1_unstructured(layer, "weight", 0.2),
        lambda layer: prune.l1_unstructured(layer, "bias", 1),
        lambda layer: prune.random_structured(layer, "weight", 1, 0),
        lambda layer: prune.random_structured(layer, "weight", 0.4, -1),
        lambda layer: prune.ln_structured(layer, "weight", 1, 2, 0),
        lambda layer: prune.ln_structured(layer, "weight", 0.4, 1, -1),
        lambda layer: prune.custom_from_mask(layer, "weight", torch.eye(8, 9) == 0),
        lambda layer: prune.l1_unstructured(layer, "weight", 3, torch.rand(8, 9)),
        lambda layer: prune.ln_structured(layer, "weight", 1, math.inf, 1, torch.rand(8, 9)),
    ]
    chain = nn.Linear(9, 8)
    for way in ways:
        layer = way(nn.Linear(9, 8))
        log(layer.weight, layer.bias, prune.is_pruned(nn.Sequential(layer)))
        log.module(layer)
        log(layer(torch.ones(2, 9)), pickle.loads(pickle.dumps(layer)).weight)
        log.call(copy.deepcopy, layer)
        log(way(chain).weight)
        log.module(chain)
        log([[type(each).__name__ for each in hook] for hook in hooks_of(chain) if len(hook) > 1])
    for name in ("weight", "weight", "bias", "other"):
        original = chain._parameters.get(name + "_orig")
        log.call(prune.remove, chain, name)
        log(original is not None and getattr(chain, name) is original)
        log.module(chain)
    log(torch.rand(1), prune.is_pruned(chain))


def hooks_of(module):
    return [
        each if hasattr(each, "__len__") else [each] for each in module._forward_pre_hooks.values()
    ]


def pruning_convolutions(torch, log):
    nn, prune = torch.nn, torch.nn.utils.prune
    for dim in range(4):
        for order in (1, 2, math.inf, -math.inf):
            log(prune.ln_structured(nn.Conv2d(3, 4, 2), "weight", 1, order, dim).weight_mask)
        layer = prune.random_structured(nn.Conv2d(3, 4, 2), "weight", 0.5, dim)
        log(prune.random_structured(layer, "weight", 1, dim).weight_mask)


def pruning_many(torch, log):
    nn, prune = torch.nn, torch.nn.utils.prune
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    pairs = [(model[0], "weight"), (model[1], "bias"), (model[1], "weight")]
    scores = {(model[1], "weight"): torch.rand(3, 4)}
    for method in (prune.L1Unstructured, prune.RandomUnstructured):
        for amount in (4, 0.3):
            log.call(prune.global_unstructured, pairs, method, amount=amount)
            log.module(model)
    log.call(prune.global_unstructured, pairs, prune.L1Unstructured, scores, amount=2)
    log.module(model)
    many = prune.global_unstructured
    log.call(many, 3, prune.L1Unstructured, amount=5)
    log.call(many, [], prune.L1Unstructured, amount=5)
    log.call(many, pairs, prune.LnStructured, amount=1, n=2)
    log.call(many, pairs, prune.L1Unstructured, importance_scores=[1], amount=1)
    log.call(many, pairs, prune.L1Unstructured, amount=100)
    log.call(many, pairs, prune.L1Unstructured)


def pruning_refusals(torch, log):
    nn, prune = torch.nn, torch.nn.utils.prune
    for amount in (1.5, -1, -0.1, "a", None, 0, 0.0, 1.0, 12, 13, 1e9):
        for way in (
            lambda amount: prune.random_unstructured(nn.Linear(4, 3), "weight", amount),
            lambda amount: prune.l1_unstructured(nn.Linear(4, 3), "weight", amount),
            lambda amount: prune.random_structured(nn.Linear(4, 3), "weight", amount, 0),
            lambda amount: prune.ln_structured(nn.Linear(4, 3), "weight", amount, 2, 1),
        ):
            log.call(lambda way=way, amount=amount: way(amount).weight_mask.sum())
    for dim in (2, -3):
        log.call(prune.random_structured, nn.Linear(4, 3), "weight", 1, dim)
        log.call(prune.ln_structured, nn.Linear(4, 3), "weight", 1, 2, dim)
    log.call(prune.random_structured, nn.Linear(4, 3), "bias", 1, 0)
    for order in ("nuc", "other"):
        log.call(prune.ln_structured, nn.Linear(4, 3), "weight", 1, order, 0)
    log.call(prune.l1_unstructured, nn.Linear(4, 3), "other", 1)
    log.call(prune.l1_unstructured, nn.Linear(4, 3, bias=False), "bias", 1)
    log.call(prune.l1_unstructured, nn.Linear(4, 3), "weight", 3, torch.ones(3))
    log.call(prune.l1_unstructured, nn.Linear(4, 3), "weight", 3, [1])
    log.call(prune.custom_from_mask, nn.Linear(4, 3), "weight", torch.ones(2, 2))
    log.call(prune.BasePruningMethod)
    log.call(prune.Identity.apply, nn.Linear(4, 3), "weight", 3)


def own_pruning_methods(torch, log):
    nn, prune = torch.nn, torch.nn.utils.prune

    def method(kind, compute, **members):
        named = {"PRUNING_TYPE": kind} if kind else {}
        members["compute_mask"] = lambda self, t, default_mask: compute(default_mask)
        return type("Own", (prune.BasePruningMethod,), named | members)

    def first(mask):
        mask = mask.clone()
        mask[0] = 0
        return mask

    for made in (
        method("unstructured", first),
        method("structured", first, dim=0),
        method("structured", first, dim=-1),
        method("structured", first, dim=-3),
        method("structured", first),
        method("global", first),
        method("other", first),
        method(None, first),
    ):
        layer = nn.Linear(3, 4)
        log(type(made.apply(layer, "weight")).__name__, layer.weight_mask)
        log.call(lambda made=made, layer=layer: type(made.apply(layer, "weight")).__name__)
        log(layer.weight_mask)
    for made in (
        prune.RandomUnstructured(0.5),
        prune.L1Unstructured(2),
        prune.RandomStructured(1),
        prune.LnStructured(1, 2),
        prune.Identity(),
        prune.CustomFromMask(torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])),
    ):
        log([*vars(made)], made.PRUNING_TYPE)
        scores = torch.arange(6.0).view(2, 3) - 2
        mask = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
        log(made.compute_mask(scores, mask), made.prune(scores), made.prune(scores, mask))
        log(made.prune(scores, importance_scores=scores.flip(0)))
        log.call(made.prune, scores, importance_scores=torch.ones(3))
    named = prune.L1Unstructured(1)
    named._tensor_name = "weight"
    container = prune.PruningContainer(named)
    other = prune.L1Unstructured(1)
    other._tensor_name = "bias"
    for wrong in (3, None):
        log.call(container.add_pruning_method, wrong)
    with pytest.raises(ValueError, match="Can only add pruning methods acting on the parameter"):
        container.add_pruning_method(other)
    log(len(container), container[0] is named, [each is named for each in container])
    log.call(container.__getitem__, 5)


@assert_programs(
    [pruning, pruning_convolutions, pruning_many, pruning_refusals, own_pruning_methods]
)
def test_pruning(program):
    compare(real_torch, program)


# ------------------------------------------------------- fusion, clipping, vectors, the rest


def fusing(torch, log):
    nn, utils = torch.nn, torch.nn.utils

    def norm(kind, count, **options):
        made = kind(count, **options).eval()
        if made.running_mean is not None:
            made.running_mean.normal_()
            made.running_var.uniform_(0.5, 2)
        return made

    two, one = nn.BatchNorm2d, nn.BatchNorm1d
    for conv, batch, transpose in (
        (nn.Conv2d(2, 3, 2).eval(), norm(two, 3), False),
        (nn.Conv2d(2, 3, 2).eval(), norm(two, 3, affine=False), False),
        (nn.Conv2d(2, 3, 2, bias=False).eval(), norm(two, 3), False),
        (nn.ConvTranspose2d(2, 3, 2).eval(), norm(two, 3), True),
        (nn.ConvTranspose2d(2, 3, 2).eval(), norm(two, 3), False),
        (nn.Conv2d(2, 3, 2).eval(), norm(two, 4), False),
        (nn.Conv2d(2, 3, 2).eval(), norm(two, 3, track_running_stats=False), False),
        (nn.Conv2d(2, 3, 2).eval(), two(3), False),
        (nn.Conv2d(2, 3, 2), norm(two, 3), False),
    ):
        log.call(utils.fuse_conv_bn_eval, conv, batch, transpose)
        with contextlib.suppress(AssertionError, RuntimeError):
            log.module(utils.fuse_conv_bn_eval(conv, batch, transpose))
    for count, options in ((4, {}), (1, {}), (3, {}), (4, {"affine": False})):
        for bias in (True, False):
            linear = nn.Linear(3, 4, bias=bias).eval()
            linear.weight.requires_grad_(bias)
            batch = norm(one, count, **options)
            log.call(lambda a=linear, b=batch: utils.fuse_linear_bn_eval(a, b).bias)
            log.call(lambda a=linear, b=batch: utils.fuse_linear_bn_eval(a, b).weight)
    log.call(utils.fuse_linear_bn_eval, nn.Linear(3, 4), norm(one, 4))
    for bias in (torch.ones(2).half(), None):
        weight = torch.ones(2, 1, 1, 1).half()
        rest = (torch.rand(2), torch.rand(2), 0.1, None, None)
        log(*utils.fuse_conv_bn_weights(weight, bias, *rest))
        rest = (torch.rand(2), torch.rand(2), 0.1, torch.rand(2), torch.rand(2))
        log(*utils.fuse_linear_bn_weights(torch.ones(2, 3).half(), bias, *rest))


def skipping_and_formats(torch, log):
    nn, utils = torch.nn, torch.nn.utils
    for made, args, options in (
        (nn.Linear, (2, 3), {"bias": False}),
        (nn.Linear, (2, 3), {"dtype": torch.float64}),
        (nn.Linear, (2, 3), {"device": "cpu"}),
        (nn.BatchNorm1d, (2,), {}),
        (nn.ReLU, (), {}),
        (nn.LSTM, (2, 3), {}),
        (int, (), {}),
        (3, (), {}),
        (nn.Linear, (2, 3), {"other": 1}),
    ):
        log.call(utils.skip_init, made, *args, **options)
    log(torch.rand(1), utils.skip_init(nn.Linear, 2, 3, dtype=torch.float64).weight.dtype)
    layers = [nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.Conv3d(2, 3, 2)]
    model = nn.Sequential(*layers, nn.ConvTranspose3d(2, 3, 2), nn.Linear(2, 2), nn.Conv1d(2, 3, 2))
    two, three = (getattr(utils, f"convert_conv{nr}d_weight_memory_format") for nr in (2, 3))
    for convert, wanted in (
        (two, torch.channels_last),
        (three, torch.channels_last_3d),
        (three, torch.contiguous_format),
        (two, torch.preserve_format),
        (two, torch.channels_last_3d),
    ):
        before = [each.weight for each in model]
        log.call(convert, model, wanted)
        log([each.weight.stride() for each in model], [each.weight._version for each in model])
        log(all(each.weight is old for each, old in zip(model, before, strict=True)))
        log.module(model)


def clipping(torch, log):
    nn, utils = torch.nn, torch.nn.utils

    def params(*rows, dtype=torch.float32):
        made = [nn.Parameter(torch.zeros(len(row), dtype=dtype)) for row in rows]
        for param, row in zip(made, rows, strict=True):
            param.grad = torch.tensor(row, dtype=dtype)
        return made

    def grads(made):
        log(*[each.grad for each in made])

    for order in (2, 1, 3.5, 0, math.inf, -math.inf, "inf", 0.5, -1, "x", "2"):
        for foreach in (None, True, False):
            made = params([3.0, 4.0], [-12.0, 0.0])
            log.call(utils.clip_grad_norm_, made, 1.0, order, foreach=foreach)
            grads(made)
            log.call(utils.get_total_norm, [each.grad for each in made], order, foreach=foreach)
    for value in (math.inf, math.nan):
        for refuse in (False, True):
            made = params([value, 1.0])
            log.call(utils.clip_grad_norm_, made, 1.0, error_if_nonfinite=refuse)
            grads(made)
    for dtype in (torch.float16, torch.float64, torch.complex64):
        made = params([3.0, 4.0], dtype=dtype)
        log.call(utils.clip_grad_norm_, made[0], 1)
        grads(made)
        log.call(utils.clip_grad_value_, made, 0.5)
        grads(made)
    mixed = [*params([3.0]), *params([4.0], dtype=torch.float64)]
    log.call(utils.clip_grad_norm_, mixed, 1.0)
    grads(mixed)
    made = params([3.0, -4.0], [math.nan])
    for limit in (2, "a", -2):
        log.call(utils.clip_grad_value_, (each for each in made), limit)
        grads(made)
    for empty in ([], iter([]), (each for each in []), {}):
        log.call(utils.clip_grad_norm_, empty, 1.0)
    log.call(utils.get_total_norm, [torch.ones(0)], math.inf)
    log.call(utils.get_total_norm, [torch.ones(0), torch.ones(2)])
    log.call(utils.get_total_norm, [torch.ones(2, dtype=torch.int64)])
    log.call(utils.clip_grad_norm, params([3.0, 4.0]), 1)
    log.call(utils.clip_grads_with_norm_, made, -1, torch.tensor(5.0))
    grads(made)
    made[0].grad = torch.ones(2, requires_grad=True) * 2
    log.call(utils.clip_grad_norm_, made[0], 1.0)
    grads(made[:1])


def vectors(torch, log):
    nn, utils = torch.nn, torch.nn.utils
    made = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2, 2))]
    for tensors in (made, [], torch.ones(2, 2), [torch.ones(2, 3).T]):
        log.call(utils.parameters_to_vector, tensors)
    for vector in (
        torch.arange(6.0),
        torch.arange(9.0),
        torch.arange(3.0),
        torch.arange(6.0).double(),
        torch.arange(6.0, requires_grad=True),
        [1],
        None,
        np.ones(3),
    ):
        log.call(utils.vector_to_parameters, vector, made)
        log(*made)


@assert_programs([fusing, skipping_and_formats, clipping, vectors])
def test_tools(program):
    compare(real_torch, program)


def test_the_names_and_signatures_are_pytorchs():
    theirs, ours = real_torch.nn.utils, taper.nn.utils
    assert set(theirs.__all__) == set(ours.__all__)
    places = [(theirs, ours, theirs.__all__)]
    for name in ("parametrize", "parametrizations", "prune"):
        module = getattr(theirs, name)
        public = [
            each
            for each, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and each[0] != "_"
        ]
        places.append((module, getattr(ours, name), public))
    for module, mine, names in places:
        for name in names:
            if inspect.ismodule(getattr(module, name)):
                continue
            wanted = inspect.signature(getattr(module, name)).parameters.values()
            found = inspect.signature(getattr(mine, name)).parameters.values()
            assert [(each.name, each.kind, each.default) for each in found] == [
                (each.name, each.kind, each.default) for each in wanted
            ], name
