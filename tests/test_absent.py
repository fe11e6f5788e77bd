"""What answers for absent devices and compilers: each module has answers of its own, by name."""

from __future__ import annotations

import importlib
import inspect
import pickle
import types

import pytest

import taper
from taper.absent import answers, compilers, devices

MODULES = """
accelerator backends.cuda backends.cudnn backends.cusparselt backends.kleidiai backends.mkl
backends.mkldnn backends.mps backends.nnpack backends.openmp backends.opt_einsum compiler _dynamo
cuda cuda.memory cuda.nccl cuda.nvtx cuda.profiler cuda.random jit mps mtia xpu
""".split()


def functions(module):
    return {name: f for name, f in vars(module).items() if isinstance(f, types.FunctionType)}


@pytest.mark.parametrize("name", MODULES)
def test_answers_are_the_modules_own(name):
    module = importlib.import_module(f"taper.{name}")
    found = functions(module)
    shared = (*functions(devices).values(), *functions(compilers).values())
    assert not {id(f) for f in found.values()} & {id(f) for f in shared}
    mine = {n: f for n, f in found.items() if f.__module__ == module.__name__}
    assert mine
    for bound_to, function in mine.items():
        assert (function.__name__, function.__qualname__) == (bound_to, bound_to)
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__ or bound_to.startswith("_")


def test_a_module_that_binds_an_answer_and_does_not_own_it_is_seen():
    space = {"__name__": "somewhere", "is_available": devices.is_available}
    space["asked"] = answers.refused(lambda device=None, *, how=1: answers.not_compiled("X"))
    answers.own(space)
    assert space["is_available"] is not devices.is_available
    assert [space[each].__module__ for each in ("is_available", "asked")] == ["somewhere"] * 2
    assert str(inspect.signature(space["asked"])) == "(device=None, *, how=1)"
    with pytest.raises(AssertionError, match="^Torch not compiled with X enabled$"):
        space["asked"](1, how=2)


# What PyTorch 2.13 without CUDA says.
REFUSED = [
    (lambda: taper.cuda.synchronize(), AssertionError, "Torch not compiled with CUDA enabled"),
    (lambda: taper.cuda.current_device(1), TypeError, "current_device() takes 0 positional"),
    (lambda: taper.cuda.can_device_access_peer(1), TypeError, "can_device_access_peer() missing 1"),
    (lambda: taper.cuda.nvtx.range_end(1), AttributeError, "has no attribute 'rangeEnd'"),
    (lambda: taper.cuda.CUDAGraph(), RuntimeError, "dummy base class CUDAGraph"),
    (lambda: taper.mps.Event(), RuntimeError, "Cannot execute acquireEvent() without MPS backend."),
    (lambda: taper.mtia.empty_cache(), RuntimeError, "Cannot execute emptyCache() without MTIA"),
    (lambda: taper.xpu.set_device(0), AssertionError, "Torch not compiled with XPU enabled"),
    (lambda: taper.xpu.set_rng_state_all(1), TypeError, "'int' object is not iterable"),
    (lambda: taper.accelerator.synchronize(), RuntimeError, "Cannot access accelerator device"),
]


@pytest.mark.parametrize(("asked", "kind", "text"), REFUSED)
def test_what_needs_a_device_is_refused_in_pytorchs_words(asked, kind, text):
    with pytest.raises(kind) as caught:
        asked()
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["cudnn", "mkldnn", "opt_einsum"])
def test_switches_are_set_for_a_block_and_put_back(name):
    module = importlib.import_module(f"taper.backends.{name}")
    before = module.enabled
    with module.flags(enabled=not before):
        assert module.enabled is not before
    assert module.enabled is before
