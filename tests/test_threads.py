"""Threads and kept memory under NumPy: the results of one thread, and safe with forks."""

from __future__ import annotations

import contextvars
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays import threads
from taper.arrays.native import native

needs_native = pytest.mark.skipif(native is None, reason="the native module is not built")
MANY = 300_003  # elements: enough for several chunks, and not a multiple of anything


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = taper.get_num_threads()
    taper.set_num_threads(2)
    yield
    taper.set_num_threads(before)


def on_both(compute: Callable[[], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The results of a function on one thread and on two."""
    results = []
    before = taper.get_num_threads()
    for count in (1, 2):
        taper.set_num_threads(count)
        results.append(compute())
    taper.set_num_threads(before)
    return results[0], results[1]


LOOPS = sorted((threads._CHEAP_LOOPS + threads._COSTLY_LOOPS).split())


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loop_gives_the_same_bits_on_two_threads(name: str, dtype: type) -> None:
    ufunc, draw = getattr(np, name), np.random.default_rng(3)
    operands = [draw.uniform(0.5, 2.0, MANY).astype(dtype) for _ in range(ufunc.nin)]
    with np.errstate(all="ignore"):
        one, two = on_both(lambda: ufunc(*operands))
        piece = ufunc(*[each[100_000:100_010] for each in operands])
    assert one.tobytes() == two.tobytes()
    np.testing.assert_allclose(two[100_000:100_010], piece, rtol=1e-6)


@needs_native
@pytest.mark.parametrize("name", LOOPS)
def test_every_loop_of_simple_types_runs_on_threads(name: str) -> None:
    ufunc = getattr(np, name)
    types = {each for each in ufunc.types if set(each) <= set("?bBhHiIlLqQfd->")}
    assert native.thread_loops(ufunc, 65536) == len(types) > 0


def test_strides_scalars_and_results_in_place(two_threads: None) -> None:
    base = np.arange(3 * MANY, dtype=np.float64)
    wanted = [3.0 * k * 2 + 1 for k in (0, 1, MANY - 1)]
    found = base[::3] * 2 + 1
    assert [found[0], found[1], found[-1]] == wanted
    turned = base[::-1] - base[::-1]
    assert not turned.any()
    base += base
    assert base[-1] == 2 * (3 * MANY - 1)


def test_running_sums_and_reductions_keep_their_order(two_threads: None) -> None:
    ones = np.ones(MANY, np.float32)
    assert np.add.accumulate(ones)[-1] == MANY
    assert np.add.reduce(ones) == MANY
    assert np.subtract.reduce(ones) == 2 - MANY
    shifted = np.ones(MANY)
    np.add(shifted[:-1], shifted[1:], out=shifted[1:])
    assert shifted.tolist() == [1.0] + [2.0] * (MANY - 1)


def test_floating_point_errors_of_every_thread_are_seen(two_threads: None) -> None:
    values = np.ones(MANY)
    values[-1] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.divide(1.0, values)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(300, 200, 150), (40, 900, 800), (900, 800, 40), (513, 65, 257)])
def test_products_in_pieces(sizes: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    rows, inner, columns = sizes
    draw = np.random.default_rng(0)
    left = draw.integers(-8, 8, (inner, rows) if turned[0] else (rows, inner)).astype(np.float32)
    right = draw.integers(-8, 8, (columns, inner) if turned[1] else (inner, columns))
    left, right = (left.T if turned[0] else left), right.astype(np.float32)
    right = right.T if turned[1] else right
    wanted = left.astype(np.int64) @ right.astype(np.int64)  # small integers: sums are exact
    one, two = on_both(lambda: left @ right)
    assert one.tobytes() == two.tobytes()
    assert (two == wanted).all()
    found = taper.mm(taper.from_numpy(left), taper.from_numpy(right))
    assert (found.numpy() == wanted).all()


def test_stacks_of_products(two_threads: None) -> None:
    draw = np.random.default_rng(0)
    left = draw.integers(-8, 8, (24, 70, 33)).astype(np.float32)
    right = draw.integers(-8, 8, (24, 50, 33)).astype(np.float32)
    wanted = np.einsum("bij,bkj->bik", left.astype(np.int64), right.astype(np.int64))
    assert (left @ right.swapaxes(1, 2) == wanted).all()
    assert (np.broadcast_to(left[0], left.shape) @ right.swapaxes(1, 2) == wanted[:1]).sum() >= 3500
    out = np.zeros((24, 70, 60), np.float32)
    np.matmul(left, right.swapaxes(1, 2), out=out[:, :, 5:55])
    assert (out[:, :, 5:55] == wanted).all()
    assert not out[:, :, :5].any()
    assert not out[:, :, 55:].any()


@pytest.mark.parametrize("shape", [(MANY,), (3, MANY // 3), (MANY // 3, 3), (70, 100, 43)])
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex128])
def test_large_copies(shape: tuple[int, ...], dtype: Any, two_threads: None) -> None:
    array = np.random.default_rng(0).integers(0, 200, shape).astype(dtype)
    x = taper.from_numpy(array)
    np.testing.assert_array_equal(x.clone().numpy(), array)
    np.testing.assert_array_equal(taper.zeros_like(x).copy_(x).numpy(), array)
    np.testing.assert_array_equal(x.roll(-70_001).numpy(), np.roll(array, -70_001))
    for dim in range(len(shape)):
        np.testing.assert_array_equal(x.flip(dim).numpy(), np.flip(array, dim))
        for shift in (1, -2, shape[dim] // 2):
            np.testing.assert_array_equal(x.roll(shift, dim).numpy(), np.roll(array, shift, dim))


def test_large_fills(two_threads: None) -> None:
    for _ in range(3):  # the memory of what was not zero is used again
        assert not np.zeros(MANY).any() and not taper.zeros(MANY, dtype=taper.int16).any()
        np.testing.assert_array_equal(taper.diag(taper.ones(555)).numpy(), np.eye(555))
        counted = taper.arange(7, 7 - 3 * MANY, -3).numpy()
        np.testing.assert_array_equal(counted, np.arange(7, 7 - 3 * MANY, -3))
        (np.zeros(MANY) + 1).sum()


def test_every_element_is_computed_once_by_any_number_of_threads(two_threads: None) -> None:
    values = np.arange(4.0 * MANY)
    for count in (3, 7, 70, 2):  # more than have a share; fewer than have been started
        taper.set_num_threads(count)
        for length in (4 * MANY, MANY, 70_000):
            counted = values[:length].copy()
            counted += 1
            np.testing.assert_array_equal(counted - values[:length], np.ones(length))


def test_several_python_threads_compute_at_once(two_threads: None) -> None:
    wrong = []

    def work(seed: int) -> None:
        values = np.full(MANY, float(seed))
        for _ in range(50):
            if (values * 2 + values).sum() != 3.0 * seed * MANY:
                wrong.append(seed)

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert not wrong


def _in_a_child(pipe: Any) -> None:
    values = np.ones(MANY)
    pipe.send(float(((values + values) @ values.reshape(-1, 1))[0]))


def test_a_forked_child_computes_while_the_parent_does(two_threads: None) -> None:
    context = multiprocessing.get_context("fork")
    stop = threading.Event()

    def keep_busy() -> None:
        values = np.ones(MANY)
        while not stop.is_set():
            values * 2.0

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for _ in range(5):
            mine, theirs = context.Pipe()
            child = context.Process(target=_in_a_child, args=(theirs,))
            child.start()
            assert mine.poll(30), "the child hangs"
            assert mine.recv() == 2.0 * MANY
            child.join(30)
            assert child.exitcode == 0
    finally:
        stop.set()
        busy.join()


# --- memory ----------------------------------------------------------------------------------


@needs_native
def test_a_freed_array_is_used_again() -> None:
    taper.empty_cache()
    first = np.ones(MANY)
    place = first.ctypes.data
    del first
    before = taper.memory_stats()
    assert before["kept"] >= 8 * MANY
    assert np.empty(MANY).ctypes.data == place
    assert taper.memory_stats()["reused"] == before["reused"] + 1


@needs_native
def test_zeros_are_zeros_in_used_memory() -> None:
    np.full(MANY, 7.0)
    assert not np.zeros(MANY).any()


@needs_native
def test_emptying_gives_memory_back() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    taper.empty_cache()
    before = resident()
    np.ones(20_000_000)
    held = resident()
    assert held - before > 100_000_000
    taper.empty_cache()
    assert resident() - before < 20_000_000


@needs_native
def test_sizes_that_change_in_place() -> None:
    values = np.arange(MANY, dtype=np.float64)
    values.resize(2 * MANY, refcheck=False)
    assert values[MANY - 1] == MANY - 1
    assert not values[MANY:].any()
    values.resize(10, refcheck=False)
    assert values.tolist() == list(range(10))
    values.resize(MANY, refcheck=False)
    assert values[:10].tolist() == list(range(10))
    empty = np.empty((0, 10_000_000))
    del empty
    np.empty((10_000_000, 0))


@needs_native
def test_memory_that_outlives_a_thread_or_context() -> None:
    made: list[np.ndarray] = []

    def work() -> None:
        taper.ones(2).add(1)  # makes the thread's state
        made.append(np.ones(MANY))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    contextvars.Context().run(lambda: made.append(np.ones(MANY)))
    assert sum(each.sum() for each in made) == 2 * MANY
    used = taper.memory_stats()["used"]
    made.clear()
    gc.collect()
    assert taper.memory_stats()["used"] < used


@needs_native
def test_what_is_kept_has_a_limit() -> None:
    program = (
        "import numpy as np, taper\n"
        "a = [np.ones(1 << 20) for _ in range(8)]\n"
        "del a\n"
        "print(taper.memory_stats()['kept'] >> 20)"
    )
    for said, kept in (("16", 16), ("0", 0), ("", 64)):
        environment = {**os.environ, "TAPER_CACHE_MB": said}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert int(done.stdout) in range(kept - 1 if kept else 0, kept + 9), (said, done.stderr)


# --- how many threads ------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "count"), [("3", 3), ("2,1", 2), ("x", None), ("", None)])
def test_the_environment_says_how_many_threads(
    monkeypatch: pytest.MonkeyPatch, said: str, count: int | None
) -> None:
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads.first_number() == (count or threads.allowed_cores())


def test_a_container_grants_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    for quota, cores in ((1.5, 2), (0.2, 1), (float("inf"), 64)):
        monkeypatch.setattr(threads, "_quota", lambda quota=quota: quota)
        assert threads.allowed_cores() == cores
