"""Loops written out as C: their values, the files that are kept, and doing without a compiler."""

import os
import shutil
import stat
import threading

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.optim import programs
from taper.optim.adam import AdamNumbers, adam_rule
from taper.program import compiling, lowering
from taper.program.text import group_text, rule_text

pytestmark = pytest.mark.skipif(
    native is None or shutil.which("cc") is None, reason="there is no native module or no compiler"
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Let compiled files go into a directory of this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TAPER_COMPILE", raising=False)
    for each in (compiling._directory, compiling.compiler):
        each.cache_clear()
    monkeypatch.setattr(compiling, "_functions", {})
    yield tmp_path / "taper" / "programs"
    for each in (compiling._directory, compiling.compiler):
        each.cache_clear()


def captured_runner(function, *tensors):
    captured = taper.capture(function)
    for _ in range(3):
        captured(*tensors)
    return captured._entries[-1].runner


def many(x, y):
    z = taper.tanh(x) * taper.sigmoid(y) + taper.exp(-x * x)
    z = taper.where(z > 0.25, taper.log(z * z + 1.0), taper.sqrt(z.abs())) - taper.maximum(x, y)
    return z, taper.minimum(z, x) / (y * y + 1.0), z.sum(1)


def test_compiled_groups_have_the_values_of_the_others(cache):
    taper.manual_seed(0)
    x, y = taper.randn(50, 70), taper.randn(70)
    x[0, :4] = taper.tensor([float("nan"), float("inf"), -float("inf"), 0.0])
    runner = captured_runner(many, x, y)
    inputs = [x.numpy(), y.numpy()]
    before = [each.copy() for each in runner.run(inputs)]
    compiled = 0
    for nr, (kind, step) in enumerate(runner.plan.steps):
        if kind == lowering.GROUP:
            text = group_text(step)
            assert text is not None
            lowering._use(runner.handle, nr, compiling.load(text))
            compiled += 1
    assert compiled
    after = runner.run(inputs)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6, equal_nan=True)
    files = list(cache.iterdir())
    assert len(files) == compiled
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert all(not stat.S_IMODE(each.stat().st_mode) & 0o022 for each in files)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_rules_have_the_bits_of_the_program(cache, dtype):
    options = {
        "lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.1, "maximize": False,
        "decoupled_weight_decay": True,
    }  # fmt: skip
    numbers = AdamNumbers(options, (3.0,), np.dtype(dtype))
    program = programs.program_of(adam_rule, numbers, 4)
    constants = program.constants(numbers)
    text = rule_text(program.instructions, programs._OPERATIONS, 4, len(constants), np.dtype(dtype))
    address = compiling.address_of(compiling.load(text))
    chance = np.random.default_rng(0)
    found = []
    for more in ((), (address,)):
        chance = np.random.default_rng(0)
        columns = tuple([[np.abs(chance.standard_normal(3001)).astype(dtype)] for _ in range(4)])
        assert native.run_rule(program.instructions, columns, constants, program.temporaries, *more)
        found.append([each[0] for each in columns])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_program_that_runs_often_is_compiled_in_the_background(cache, monkeypatch):
    ready = threading.Event()
    use = lowering._use

    def noticed(*args):
        use(*args)
        ready.set()

    monkeypatch.setattr(lowering, "_use", noticed)
    x = taper.randn(40_000)
    captured = taper.capture(lambda x: taper.tanh(x * 2.0) + taper.exp(-x * x))
    expected = captured(x).numpy().copy()
    for _ in range(compiling.COMPILE_AFTER + 3):
        captured(x)
    assert ready.wait(60)
    np.testing.assert_allclose(captured(x).numpy(), expected, rtol=2e-6, atol=1e-6)


def test_a_file_that_others_may_write_is_not_loaded(cache):
    text = "void run(char **r, long count) {}\n"
    compiling.load(text)
    (library,) = cache.iterdir()
    library.unlink()  # it is loaded: its file must not change
    library.write_bytes(b"not a library")
    os.chmod(library, 0o777)
    compiling._functions.clear()
    compiling.load(text)  # compiled anew
    assert stat.S_IMODE(library.stat().st_mode) == 0o700


def test_a_directory_that_others_may_write_is_not_used(cache):
    cache.mkdir(parents=True)
    os.chmod(cache, 0o777)
    assert compiling._directory() != cache


def test_without_a_compiler_nothing_is_compiled(cache, monkeypatch):
    monkeypatch.setenv("TAPER_COMPILE", "0")
    compiling.compiler.cache_clear()
    asked = []
    compiling.request("void run(char **r, long count) {}\n", asked.append)
    assert compiling.compiler() is None
    assert asked == [] and not cache.exists()


def test_options_of_an_optimizer_may_change_after_many_steps():
    def trained(wrap):
        taper.manual_seed(0)
        weight = taper.randn(40, 30, requires_grad=True)
        optimizer = taper.optim.SGD([weight], lr=0.1)

        @wrap
        def step():
            optimizer.zero_grad()
            (weight * weight).sum().backward()
            optimizer.step()

        for nr in range(40):
            if nr == 26:
                optimizer.param_groups[0]["lr"] = 0.03
            if nr == 30:
                optimizer.param_groups[0]["weight_decay"] = 0.5
            if nr == 34:
                with taper.no_grad():
                    weight.copy_(taper.ones(40, 30))
            if nr == 37:
                optimizer.param_groups[0]["maximize"] = True
            step()
        return weight.detach().numpy().copy(), weight._version

    found, version = trained(taper.capture(exact=True, strict=True))
    expected, counted = trained(lambda function: function)
    assert found.tobytes() == expected.tobytes()
    assert version == counted
