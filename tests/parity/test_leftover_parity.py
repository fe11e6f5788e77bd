"""Windows, grouped products, optimizers as functions, and small names, against PyTorch."""

from __future__ import annotations

import copy

import pytest
import torch as pytorch
from torch.optim import _functional as their_functions

import taper
from both_packages import assert_same, assert_same_tensor
from taper.optim import _functional as our_functions

WINDOWS = """
    bartlett blackman cosine exponential gaussian general_hamming hamming hann kaiser nuttall
""".split()
POINTS = [0, 1, 2, 5, 8, -1]


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, points):
    for options in ({}, {"sym": False}, {"requires_grad": True}, {"layout": None}):
        for dtype in ("float32", "float64", "int64"):

            def program(torch, make, options=options, dtype=dtype):
                window = getattr(torch.signal.windows, name)
                made = window(points, dtype=getattr(torch, dtype), **options)
                return made.detach(), type(made.grad_fn).__name__

            assert_same(pytorch, program, factor=3)


WINDOW_CALLS = [
    "exponential(5, center=1.0, sym=False)",
    "exponential(5, center=2.0)",
    "exponential(5, tau=0.0)",
    "gaussian(5, std=2.0)",
    "gaussian(5, std=-1.0)",
    "general_cosine(5, a=[0.46, 0.23, 0.31], requires_grad=True)",
    "general_cosine(5, a=())",
    "general_cosine(5, a=3)",
    "general_hamming(5, alpha=0.7)",
    "kaiser(5, beta=3.0)",
    "kaiser(5, beta=-3.0)",
    "hann(5, True)",
]


@pytest.mark.parametrize("call", WINDOW_CALLS)
def test_windows_with_their_own_arguments(call):
    def program(torch, make):
        return eval(f"windows.{call}", {"windows": torch.signal.windows}).detach()

    assert_same(pytorch, program, factor=3)


PRODUCTS = {
    "rows": ((6, 8), (3, 8, 16), [2, 4, 6]),
    "matrices": ((3, 5, 8), (3, 8, 16), None),
    "columns": ((3, 5, 8), (8, 16), [4, 8, 16]),
    "inner": ((5, 12), (12, 8), [4, 8, 12]),
    # errors
    "no offsets": ((6, 8), (3, 8, 16), None),
    "needless offsets": ((3, 5, 8), (3, 8, 16), [1, 2, 3]),
    "other offsets": ((6, 8), (3, 8, 16), [2, 4]),
    "inner sizes": ((6, 4), (3, 8, 16), [2, 4, 6]),
    "strides": ((6, 7), (3, 7, 16), [2, 4, 6]),
    "dimensions": ((8,), (3, 8, 16), [2, 4, 6]),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_grouped_mm(name, dtype):
    first, second, ends = PRODUCTS[name]

    def program(torch, make):
        offs = None if ends is None else make.data(ends, "int32")
        return torch.nn.functional.grouped_mm(make(*first), make(*second), offs=offs) * 2

    assert_same(pytorch, program, dtype, factor=10)


NORMALS = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "eps": 1e-8}
OPTIMIZERS = {
    # what is zero, what is a number for each parameter (with its first value), options
    "adam": (3, [("step", 0.0)], {**NORMALS, "amsgrad": True}),
    "adamw": (3, [("step", 0.0)], {**NORMALS, "amsgrad": True}),
    "adadelta": (2, [("step", 0.0)], {"lr": 0.1, "rho": 0.9, "eps": 1e-6}),
    "adagrad": (1, [("step", 0.0)], {"lr": 0.1, "lr_decay": 0.1, "eps": 1e-8}),
    "adamax": (2, [("step", 0.0)], NORMALS),
    "asgd": (
        1,
        [("mu", 1.0), ("eta", 0.1), ("step", 0.0)],
        {"lambd": 1e-2, "lr": 0.1, "t0": 1.0, "alpha": 0.75},
    ),
    "nadam": (2, [("product", 1.0), ("step", 0.0)], {**NORMALS, "momentum_decay": 0.004}),
    "radam": (2, [("step", 0.0)], NORMALS),
    "rmsprop": (
        3,
        [("step", 0.0)],
        {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "momentum": 0.5, "centered": True},
    ),
}


def run_lists(torch, function, zeros, numbers, options):
    torch.manual_seed(3)
    params, grads = [torch.randn(3), torch.randn(2, 2)], [torch.randn(3), torch.randn(2, 2)]
    states = [[torch.zeros(3), torch.zeros(2, 2)] for _ in range(zeros)]
    scalars = [[torch.tensor(value), torch.tensor(value)] for _, value in numbers]
    for _ in range(7):
        function(params, grads, *states, *scalars, **copy.copy(options))
    return [each for part in (params, *states, *scalars) for each in part]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_as_functions(name, weight_decay, maximize):
    zeros, numbers, options = OPTIMIZERS[name]
    options = {**options, "weight_decay": weight_decay, "maximize": maximize}
    ours = run_lists(taper, getattr(our_functions, name), zeros, numbers, options)
    theirs = run_lists(pytorch, getattr(their_functions, name), zeros, numbers, options)
    for one, other in zip(ours, theirs, strict=True):
        assert_same_tensor(one, other, name, 10)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("dampening", [0.0, 0.2])
def test_sgd_as_a_function_makes_its_momentum(momentum, dampening):
    found = []
    for torch, function in ((taper, our_functions.sgd), (pytorch, their_functions.sgd)):
        torch.manual_seed(3)
        params, grads, buffers = [torch.randn(3)], [torch.randn(3)], [None]
        for _ in range(3):
            function(
                *(params, grads, buffers),
                weight_decay=0.1,
                momentum=momentum,
                lr=0.1,
                dampening=dampening,
                nesterov=False,
                maximize=False,
            )
        found.append((params, buffers))
    (ours, our_buffers), (theirs, their_buffers) = found
    assert_same_tensor(ours[0], theirs[0])
    assert (our_buffers[0] is None) == (their_buffers[0] is None) == (not momentum)
    if momentum:
        assert_same_tensor(our_buffers[0], their_buffers[0])


SMALL = [
    "torch.get_device_module(3)",
    "torch.get_device_module('meta')",
    "torch.StorageBase()",
    "torch.autograd.variable(1)",
    "torch.autograd.graph.region_activation_memory_budget(0.5)",
    "make(2, 3).t().dim_order()",
    "make(2, 3, 4, 5).to(memory_format=torch.channels_last).dim_order()",
    "make(2, 1, 3).dim_order(ambiguity_check=True)",
    "make(3).expand(2, 3).dim_order()",
    "make(2, 3).dim_order(ambiguity_check=3)",
    "make(2, 3).is_set_to(3)",
    "[(x := make(2, 3)).is_set_to(x.view(2, 3)), x.is_set_to(x.view(3, 2))]",
    "make(2, 3).resize(3, 2)",
    "make(2, 3).resize(2, 2)",
    "make(2, 3).resize_as(make(6, grad=False))",
    "make(2, 3).detach().module_load(make(2, 3).detach())",
    "make(2, 3).index(1, 2)",
    "torch.native_dropout(make(3, 4), 0.5, True)",
    "torch.histogram(make(6), 3)[1].shape",
    "torch.segment_reduce(make(6, 2), 'prod', offsets=make.data([0, 2, 2, 6]), initial=2)",
    "torch.segment_reduce(make(2, 6), 'mean', lengths=make.data([[1, 5], [6, 0]]), axis=1)",
    "torch.slice_inverse((x := make(10) * 1)[2:5], x, 0, 2, 5)",
    "torch.native_norm(make(3), 'fro')",
    "torch.view_copy(make(4), dtype=torch.int32)",
    "torch.view_copy(make(4), torch.float64)",
    "torch.view_copy(make(4).detach(), dtype=torch.complex64, out=torch.empty(0))",
    "torch.view_copy(make(4)[::2], torch.float64)",
    "torch.view_copy(make(4), 2, 2)",
    "torch.view_copy(make(4), size=3)",
]


@pytest.mark.parametrize("text", SMALL)
def test_small_names(text):
    def program(torch, make):
        return eval(text, {"torch": torch, "make": make})

    assert_same(pytorch, program)
