"""Blocks of a device's memory, with addresses that nobody reads."""

from __future__ import annotations

import itertools

from taper.gpu.memory import Pool


def test_small_blocks_get_room_that_large_ones_gave_back():
    addresses, released = itertools.count(1 << 30, 1 << 24), []
    pool = Pool(lambda size: next(addresses), released.append, lambda: 0, lambda: (0, 0))
    pool.limit = 5 << 20
    large = pool.take(4 << 20)
    address = large.address
    del large
    small = pool.take(512)  # a piece of 2 MiB, for which there is no room before
    assert released == [address]
    assert (pool.in_use, pool.kept, pool.shortages) == (512, 2 << 20, 1)
    assert small.nbytes == 512
