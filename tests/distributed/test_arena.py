"""Meetings in shared memory: the native reduction gives NumPy's bits, and says what went wrong."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import taper
from taper import distributed as dist
from taper.arrays.native import native
from taper.arrays.shared_memory import Segment
from taper.distributed.backends import arena as arenas
from taper.distributed.reduce_ops import FUNCTIONS, RedOpType

MEMBERS = 3
SMALL = 8192
NEEDS_NATIVE = pytest.mark.skipif(native is None, reason="there is no native module")


def members() -> list[arenas.Arena]:
    segment = Segment(arenas.nbytes_of(MEMBERS))
    return [arenas.Arena(rank, MEMBERS, segment) for rank in range(MEMBERS)]


def reduce_in(arena: arenas.Arena, arrays, op: RedOpType, seconds: float = 20.0):
    state = np.array([0, 0, arena.side, arena.phase], np.int64)
    several = arrays if isinstance(arrays, tuple) else (arrays,)
    return native.reduce_in(arena.memory, arena.layout, several, op.value, SMALL, state, seconds)


def together(arrays, op):
    """Reduce as three threads, which are members like processes."""
    results: list = [None] * MEMBERS

    def run(rank, arena):
        results[rank] = reduce_in(arena, arrays[rank], op)

    threads = [
        threading.Thread(target=run, args=(rank, arena)) for rank, arena in enumerate(members())
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@NEEDS_NATIVE
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("op", [each for each in FUNCTIONS if each is not RedOpType.AVG])
@pytest.mark.parametrize("length", [1, 1000, 700_003])
def test_the_native_reduction_has_the_bits_of_numpy(dtype, op, length):
    is_real = dtype.startswith("float")
    if is_real and op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR):
        assert reduce_in(members()[0], np.ones(3, dtype), op) is None
        return
    rng = np.random.default_rng(0)
    arrays = [(rng.random(length) * 250 - 100 * (dtype != "uint8")).astype(dtype) for _ in range(3)]
    if is_real:
        arrays[1][length // 2] = np.nan
    with np.errstate(over="ignore"):
        combine = FUNCTIONS[op]
        expected = combine(combine(arrays[0], arrays[1]), arrays[2])
    assert together(arrays, op) == [0, 0, 0]
    for array in arrays:
        assert array.tobytes() == expected.tobytes() or np.array_equal(
            array, expected, equal_nan=is_real
        )


@NEEDS_NATIVE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_several_arrays_are_averaged_as_if_they_lay_side_by_side(dtype):
    rng = np.random.default_rng(0)
    lengths = (1000, 700_003, 3, 2, 40_000, 40_001)  # inside of a chunk, across chunks and parts
    rows = [tuple([rng.random(each).astype(dtype) for each in lengths]) for _ in range(MEMBERS)]
    expected = [(a + b + c) / np.dtype(dtype).type(MEMBERS) for a, b, c in zip(*rows, strict=True)]
    assert together(rows, RedOpType.AVG) == [0, 0, 0]
    for row in rows:
        for found, wanted in zip(row, expected, strict=True):
            assert found.tobytes() == wanted.tobytes()


@NEEDS_NATIVE
def test_several_small_arrays_are_combined_in_one_phase():
    rows = [tuple(np.full(each, rank, np.int32) for each in (3, 1, 700)) for rank in (1, 2, 3)]
    assert together(rows, RedOpType.SUM) == [0, 0, 0]
    assert all((each == 6).all() for row in rows for each in row)


@pytest.mark.parametrize("length", [3, 10_000, 700_003])
def test_a_group_of_one_has_its_own_sum(length):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        tensor = taper.arange(length)
        dist.all_reduce(tensor)
    finally:
        dist.destroy_process_group()
    assert tensor.equal(taper.arange(length))


@NEEDS_NATIVE
def test_arrays_that_do_not_go_together_are_refused():
    arena, one = members()[0], np.ones(4, np.float32)
    for other in (np.ones(4), np.ones(8, np.float32)[::2], np.ones(0, np.float32), [1.0]):
        assert reduce_in(arena, (one, other), RedOpType.SUM) is None
    assert reduce_in(arena, (), RedOpType.SUM) is None
    with pytest.raises(ValueError, match="no state"):
        state = np.array([4, 0, 0, 0], np.int64)
        native.reduce_in(arena.memory, arena.layout, (one,), 0, SMALL, state, 0.0)


@NEEDS_NATIVE
def test_a_member_that_does_not_come_leaves_the_reduction_to_be_tried_again():
    arena = members()[0]
    assert reduce_in(arena, np.ones(4, np.float32), RedOpType.SUM, 0.01) == 1
    assert arena.words[0] == 1  # it has written, and waits


@NEEDS_NATIVE
@pytest.mark.parametrize("changed", range(7))
def test_a_layout_that_does_not_fit_is_refused(changed):
    arena = members()[0]
    layout = arena.layout.copy()
    layout[changed] = -1 if changed < 2 else 1 << 40
    arrays, state = (np.ones(4, np.float32),), np.zeros(4, np.int64)
    with pytest.raises(ValueError, match="does not fit"):
        native.reduce_in(arena.memory, layout, arrays, 0, SMALL, state, 0.0)
    with pytest.raises(ValueError, match="does not fit"):
        native.meet_in(arena.memory, layout, 1, False, 0.0)


def test_numbers_of_phases_wrap_around():
    three = members()
    for each in three:
        each.words[each.rank] = each.phase = 0xFFFFFFFF
    threads = [
        threading.Thread(target=each.meet, args=(5.0, lambda: None), daemon=True) for each in three
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert three[0].words.tolist() == [0, 0, 0] and three[0].behind() == []


def test_who_is_late_is_named():
    first = members()[0]
    assert first.meet(0.05, lambda: None) == [1, 2]
