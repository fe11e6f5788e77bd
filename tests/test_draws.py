"""Native random draws: bits and states of their NumPy twins, threads, forks, refusals (D7, D8)."""

from __future__ import annotations

import math
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.sampling import continuous, discrete, integers, normals
from taper.sampling.generator import Generator
from taper.sampling.twisters import NumPyTwister

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built, or off")

FLOATS = ("float16", ml_dtypes.bfloat16, "float32", "float64")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")


def twin_of(generator):
    """A generator in the same state that draws with NumPy."""
    twin = Generator()
    twin._engine = NumPyTwister()
    return twin.set_state(generator.get_state())


def targets(rng, dtypes):
    """Two arrays of one random size, dtype and layout."""
    dtype = np.dtype(dtypes[rng.integers(len(dtypes))])
    rows, columns = (int(rng.integers(1, 8)), int(rng.choice([1, 2, 3, 7, 40, 700])))
    layout = rng.integers(4)

    def array():
        if layout == 0:
            return np.empty((columns, rows), dtype).T
        if layout == 1:
            return np.empty((rows, columns, 2), dtype)[..., 0]
        return np.empty(rows * columns if layout == 2 else (rows, columns), dtype)

    return array(), array()


def uniform(rng):
    low, high = [(0.0, 1.0), (-3.0, 2.5), (1.0, 1.0001), (-1e4, 1e4)][rng.integers(4)]
    outs = targets(rng, (*FLOATS, "complex64", "complex128"))
    return lambda generator, nr: continuous.uniform_(outs[nr], low, high, generator)


def normal(rng):
    mean, std = [(0.0, 1.0), (3.0, 0.1), (0.0, 0.0), (-1e3, 1e2)][rng.integers(4)]
    outs = targets(rng, (*FLOATS, "complex64", "complex128"))
    return lambda generator, nr: continuous.normal_(outs[nr], mean, std, generator)


def bounded(rng):
    low = int(rng.choice([0, 0, -100, 5]))
    dtypes = DTYPES[:-1] if low == 0 else DTYPES[:8]
    outs = targets(rng, dtypes)
    most = 2 ** int(rng.integers(3, {"int64": 62, "float64": 53}.get(outs[0].dtype.name, 6)))
    high = low + int(rng.integers(1, most))
    return lambda generator, nr: integers.random_(outs[nr], low, high, generator)


def unbounded(rng):
    outs = targets(rng, DTYPES)
    return lambda generator, nr: integers.random_(outs[nr], generator=generator)


def all_bits(rng):
    outs = targets(rng, ("int64", "float32", "float64"))
    return lambda generator, nr: integers.random_(outs[nr], -(2**63), generator=generator)


def trials(rng):
    chance = [0.0, 0.3, 0.5, 1.0, 2.0**-53, 1 - 2.0**-53][rng.integers(6)]
    outs = targets(rng, DTYPES)
    return lambda generator, nr: discrete.bernoulli_(outs[nr], chance, generator)


def trials_of_each(rng):
    outs = targets(rng, DTYPES)
    chances = rng.random(outs[0].shape).astype(FLOATS[rng.integers(4)])
    return lambda generator, nr: discrete.bernoulli_(outs[nr], chances, generator)


def dropout(rng):
    chance = [0.1, 0.5, 0.9, 1 / 3][rng.integers(4)]
    outs = targets(rng, FLOATS)
    return lambda generator, nr: discrete.dropout_mask_(outs[nr], chance, generator)


def permutation(rng):
    size = int(rng.choice([0, 1, 2, 3, 50, 127]))
    dtype = np.dtype(DTYPES[rng.integers(9)])
    if dtype.itemsize > 2 and rng.integers(2):
        size = int(rng.integers(5000))
    return lambda generator, nr: integers.randperm(size, dtype, generator)


def others(rng):
    name = ("exponential_", "cauchy_", "log_normal_", "geometric_")[rng.integers(4)]
    outs = targets(rng, FLOATS)
    if name == "geometric_":
        return lambda generator, nr: discrete.geometric_(outs[nr], 0.2, generator)
    return lambda generator, nr: getattr(continuous, name)(outs[nr], generator=generator)


KINDS = (
    *(uniform, normal, normal, bounded, unbounded, all_bits),
    *(trials, trials_of_each, dropout, permutation, others),
)


@pytest.mark.parametrize("seed", range(12))
def test_any_draws_in_any_order_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    generator = Generator().manual_seed(int(rng.integers(2**40)))
    generator.random32(int(rng.integers(1500)))
    twin = twin_of(generator)
    for step in range(60):
        kind = KINDS[rng.integers(len(KINDS))]
        draw = kind(rng)
        natively, by_numpy = draw(generator, 0), draw(twin, 1)
        label = f"step {step}: {kind.__name__} of {natively.shape} {natively.dtype}"
        np.testing.assert_array_equal(natively, by_numpy, label)
        np.testing.assert_array_equal(generator.get_state(), twin.get_state(), label)
        if rng.integers(8) == 0:
            for each in (generator, twin):
                each.manual_seed(step)
        if rng.integers(8) == 0:
            generator, twin = generator.clone_state(), twin_of(twin)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [16, 17, 31, 4096, 4111, 262144 + 300])
def test_large_draws_are_those_of_the_twin(dtype, size):
    generator = Generator().manual_seed(size)
    twin = twin_of(generator)
    for draw in (continuous.normal_, continuous.uniform_, continuous.log_normal_):
        if size < 10**5 or dtype == "float32" or draw is continuous.uniform_:
            first = draw(np.empty(size, dtype), 0.5, 2.0, generator)
            np.testing.assert_array_equal(first, draw(np.empty(size, dtype), 0.5, 2.0, twin))
    np.testing.assert_array_equal(generator.get_state(), twin.get_state())


def test_a_permutation_inside_out_is_that_of_the_twin():
    generator = Generator().manual_seed(3)
    twin = twin_of(generator)
    order = np.empty(5000, np.int64)
    assert generator.fill("permutation", order, True)
    np.testing.assert_array_equal(order, integers._shuffle_inside_out(5000, twin))
    np.testing.assert_array_equal(generator.get_state(), twin.get_state())


def test_the_polynomials_are_accurate():
    """The bounds that native/draw_level.h states."""
    x = (np.arange(1, 2**24 + 1, 997) * 2.0**-24).astype(np.float32)
    exact = np.log(x.astype(np.float64))
    assert (
        np.max(np.abs(normals._log32(x) - exact) / np.spacing(np.abs(exact.astype(np.float32)))) < 1
    )
    angles = np.float32(2 * math.pi) * (np.arange(0, 2**24, 997) * 2.0**-24).astype(np.float32)
    for found, function in zip(normals._sincos32(angles), (np.sin, np.cos), strict=True):
        assert np.max(np.abs(found - function(angles.astype(np.float64)))) < 1e-7


def test_normals_are_near_those_of_double_precision():
    generator = Generator().manual_seed(9)
    words = generator.clone_state().random32(160_000)
    uniforms = (words % 2**24).astype(np.float64).reshape(-1, 2, 8) * 2.0**-24
    radius = np.sqrt(-2.0 * np.log(1.0 - uniforms[:, 0]))
    angle = 2.0 * math.pi * uniforms[:, 1]
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    found = continuous.normal((160_000,), np.dtype("float32"), generator=generator)
    assert np.max(np.abs(found - exact)) < 2e-6


def test_a_normal_of_radius_zero_is_a_positive_zero():
    """PyTorch's `randn` has it at this place of the stream of seed 34; so has the twin."""
    generator = Generator().manual_seed(34)
    generator.random32(298480)
    for each in (generator, twin_of(generator)):
        pair = continuous.normal((16,), np.dtype("float32"), generator=each)[[4, 12]]
        assert pair.tobytes() == bytes(8)


def test_the_number_of_threads_changes_nothing():
    before = taper.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            taper.set_num_threads(count)
            generator = Generator().manual_seed(1)
            single = continuous.normal((300_001,), np.dtype("float32"), generator=generator)
            double = continuous.normal((30_001,), np.dtype("float64"), generator=generator)
            pairs = continuous.log_normal_(np.empty(5001), generator=generator)
            found.append([each.tobytes() for each in (single, double, pairs)])
    finally:
        taper.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_threads_that_draw_at_once_share_the_stream():
    size, calls = 20_000, 8
    generator = Generator().manual_seed(4)
    expected = twin_of(generator).random32(2 * calls * size)
    found = []

    def draw():
        for _ in range(calls):
            found.append(generator.random32(size))

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chunks = {chunk.tobytes() for chunk in expected.reshape(-1, size)}
    assert {chunk.tobytes() for chunk in found} == chunks


def test_a_seed_waits_for_a_draw():
    generator = Generator()
    expected = Generator().manual_seed(6).random32(5)
    for _ in range(5):
        thread = threading.Thread(target=generator.random32, args=(3_000_000,))
        thread.start()
        generator.manual_seed(6)
        first = generator.random32(5)
        thread.join()
        # The other thread's numbers may come between the two calls, but never undo the seed.
        rest = Generator().manual_seed(6).random32(3_000_010)
        assert first.tolist() in (expected.tolist(), rest[3_000_000:3_000_005].tolist())


def test_a_child_does_not_wait_for_a_thread_it_has_not():
    program = """
import os, threading, warnings
warnings.simplefilter("ignore")
from taper.sampling.generator import Generator
generator = Generator().manual_seed(0)
stop = False
def draw():
    while not stop:
        generator.random32(1_000_000)
thread = threading.Thread(target=draw)
thread.start()
for _ in range(5):
    child = os.fork()
    if not child:
        generator.random32(10)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop = True
thread.join()
print("done")
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=60, text=True
    )
    assert ran.stdout == "done\n", ran.stderr


@pytest.mark.parametrize(
    "draw",
    [
        lambda words, out: native.draw_words(words, out, 32),
        lambda words, out: native.draw_uniform(words, out, 0.0, 1.0),
        lambda words, out: native.draw_trials(words, out, 0.5, np.ones((), np.uint16)),
        lambda words, out: native.draw_integers(words, out, 0, 5, 32),
        lambda words, out: native.draw_permutation(words, out, False),
        lambda words, out: native.draw_normal(words, out, 0.0, 1.0, False),
        lambda words, out: native.draw_pairs(words, out, 0.0, 1.0, None),
    ],
)
def test_what_is_not_plain_is_refused_with_nothing_drawn(draw):
    words = np.zeros(626, np.uint32)
    native.seed_twister(words, 1)
    before = words.copy()
    read_only = np.zeros(20)
    read_only.flags.writeable = False
    swapped, gaps = np.zeros(20, ">f8"), np.zeros(40)[::2]
    unaligned = np.zeros(161, np.uint8)[1:].view(np.float64)
    for out in (read_only, swapped, gaps, unaligned, np.zeros(20, object), [0.0] * 20, None):
        assert draw(words, out) is False
    np.testing.assert_array_equal(words, before)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (np.zeros(625, np.uint32), TypeError),
        (np.zeros(626, np.int64), TypeError),
        (np.zeros(1252, np.uint32)[::2], TypeError),
        (None, TypeError),
        (np.full(626, 625, np.uint32), ValueError),
    ],
)
def test_only_generators_are_drawn_from(words, error):
    for call in (
        lambda: native.draw_words(words, np.zeros(3, np.uint64), 32),
        lambda: native.draw_uniform(words, np.zeros(3), 0.0, 1.0),
        lambda: native.draw_pairs(words, np.zeros(3), 0.0, 1.0, None),
        lambda: native.set_twister(words, np.zeros(624, np.uint32), 0),
        lambda: native.seed_twister(words, 0),
    ):
        with pytest.raises(error, match="generator"):
            call()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("draw_words", (np.zeros(3, np.uint64), 16)),
        ("draw_integers", (np.zeros(3, np.int64), 0, 0, 32)),
        ("draw_integers", (np.zeros(3, np.int64), 0, 2**32, 32)),
        ("draw_integers", (np.zeros(3, np.int64), 0, 5, 8)),
        ("draw_trials", (np.zeros(3), math.nan, np.ones(()))),
        ("draw_trials", (np.zeros(3), 1.5, np.ones(()))),
        ("set_twister", (np.zeros(624, np.uint32), 625)),
        ("set_twister", (np.zeros(600, np.uint32), 0)),
    ],
)
def test_parameters_out_of_range_are_refused(name, arguments):
    words = np.zeros(626, np.uint32)
    native.seed_twister(words, 1)
    before = words.copy()
    with pytest.raises(ValueError, match=name):
        getattr(native, name)(words, *arguments)
    np.testing.assert_array_equal(words, before)


def test_a_few_of_many_quotients_are_found_as_by_a_stable_sort():
    rng = np.random.default_rng(0)
    for nr in range(60):
        row = rng.integers(0, 20 if nr % 2 else 10**6, 3000).astype(np.float32)
        if nr % 5 == 0:
            row[rng.random(row.size) < 0.99] = np.nan
        count = int(rng.integers(1, 700))
        expected = np.argsort(row, kind="stable")[:count]
        np.testing.assert_array_equal(discrete._places_of_smallest(row, count), expected)
