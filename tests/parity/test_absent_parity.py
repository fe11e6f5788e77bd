"""Modules of devices that are not there: every function answers as PyTorch without them."""

from __future__ import annotations

import importlib
import types
import warnings

import pytest
import torch

MODULES = """
accelerator cuda cuda.memory cuda.nccl cuda.nvtx cuda.profiler cuda.random mps mtia xpu
backends.cusparselt backends.kleidiai backends.mps
""".split()

# What differs: PyTorch's own slips, and checks of arguments that nothing reads.
OTHER = {
    ("accelerator", "set_stream"),
    ("accelerator", "current_device_idx"),
    ("accelerator", "set_device_idx"),
    ("cuda", "fallbacks"),  # taper alone has it
    ("cuda", "set_stream"),
    ("cuda", "stream"),
    ("cuda.random", "set_rng_state"),
    ("mps", "set_rng_state"),
}


def outcome(function, arguments):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            said = repr(function(*arguments)).partition(" at 0x")[0]
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    return said, [(each.category, str(each.message)) for each in seen]


@pytest.mark.parametrize("name", MODULES)
def test_functions_answer_as_pytorchs(name):
    if torch.cuda.is_available():
        pytest.skip("PyTorch has a device here")
    ours, theirs = (importlib.import_module(f"{package}.{name}") for package in ("taper", "torch"))
    functions = {
        each: function
        for each, function in vars(ours).items()
        if isinstance(function, types.FunctionType) and function.__module__ == ours.__name__
        if each[0] != "_" and (name, each) not in OTHER
    }
    assert functions
    for each, function in functions.items():
        wanted = getattr(theirs, each)
        for arguments in ((), (1,)):
            assert outcome(function, arguments) == outcome(wanted, arguments), (each, arguments)
