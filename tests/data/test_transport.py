"""The line between a loader and its workers: messages, segments that come back, the plain pipe."""

import multiprocessing

import numpy as np
import pytest

import taper
from taper.arrays.shared_memory import AVAILABLE
from taper.utils.data._utils import transport
from taper.utils.data._utils.transport import Channel, Pool

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="descriptors cannot be handed over")


@pytest.fixture
def line():
    here, there = multiprocessing.Pipe(duplex=True)
    pool = Pool(most_free=2)
    sender, receiver = Channel(there, pool), Channel(here)
    yield sender, receiver, pool
    sender.close()
    receiver.close()


def sent(line, value):
    sender, receiver, _ = line
    sender.send(value)
    return receiver.receive()


def test_small_values_stay_in_the_pickle(line):
    found = sent(line, (1, taper.arange(3), np.arange(3)))
    assert found[0] == 1 and found[1].tolist() == [0, 1, 2] == found[2].tolist()
    assert not found[1].is_shared()


def test_large_values_are_shared(line):
    found = sent(line, {"a": taper.arange(20_000), "b": taper.ones(2), "c": np.arange(20_000)})
    assert found["a"].is_shared() and not found["b"].is_shared()
    assert taper.equal(found["a"], taper.arange(20_000))
    np.testing.assert_array_equal(found["c"], np.arange(20_000))
    assert found["a"].untyped_storage().nbytes() == 160_000 and found["a"].storage_offset() == 0


def test_long_pickles_are_shared(line):
    texts = [str(number) for number in range(50_000)]
    assert sent(line, texts) == texts
    pieces = [taper.full((100,), number) for number in range(500)]
    assert [int(each[0]) for each in sent(line, pieces)] == list(range(500))


def test_a_segment_is_used_again_when_it_came_back(line):
    _, receiver, pool = line
    first = sent(line, taper.zeros(20_000))
    address = first.data_ptr()
    second = sent(line, taper.ones(20_000))
    assert second.data_ptr() != address
    view = first[5:7]
    del first
    assert receiver.returned() == []
    assert view.tolist() == [0, 0]
    del view
    back = receiver.returned()
    assert len(back) == 1
    pool.take_back(back)
    third = sent(line, taper.full((20_000,), 3.0))
    assert third.data_ptr() == address and second[0] == 1 and third[0] == 3


def test_few_segments_are_kept_for_later(line):
    _, receiver, pool = line
    many = [sent(line, taper.zeros(20_000)) for _ in range(6)]
    assert len(pool._segments) == 6
    del many
    pool.take_back(receiver.returned())
    assert len(pool._segments) == 2
    sent(line, taper.zeros(20_000))
    assert len(receiver._segments) == 2


def test_segments_fit(line):
    """A huge segment is not wasted on little data, and a small one is not used for much."""
    _, receiver, pool = line
    for count in (1_000_000, 20_000, 1_000_000, 2_000_000):
        assert sent(line, taper.zeros(count)).numel() == count
        pool.take_back(receiver.returned())
    sizes = sorted(each.nbytes for each in pool._segments.values())
    assert sizes[-1] >= 8_000_000


def test_collated_batches_are_not_copied(line):
    _, receiver, pool = line
    transport.enter_worker(pool)
    try:
        batch = taper.utils.data.default_collate([taper.full((5000,), 2.0)] * 4)
    finally:
        transport._pool, transport._in_worker = None, False
    found = sent(line, [batch, batch[1:]])
    batch[1].zero_()
    seen = found[0][:, 0].tolist(), found[1][:, 0].tolist()
    assert seen == ([2, 0, 2, 2], [0, 2, 2])
    assert list(pool._holders.values()) == [2]
    del found
    pool.take_back(receiver.returned())
    assert list(pool._holders.values()) == [1]  # the sender still has the batch
    del batch
    pool.take_back(())
    assert len(pool._free) == 1


def test_what_was_forked_meanwhile_is_not_used_again(line):
    _, receiver, pool = line
    found = sent(line, taper.zeros(20_000))
    transport._count_fork()
    del found
    back = receiver.returned()
    assert back == [-1]
    pool.take_back(back)
    assert pool._segments == {}


def test_hundreds_of_segments_in_one_message(line):
    _, _, pool = line
    transport.enter_worker(pool)
    try:
        batches = [
            taper.utils.data.default_collate([taper.full((5000,), number)]) for number in range(500)
        ]
    finally:
        transport._pool, transport._in_worker = None, False
    found = sent(line, batches)
    assert [int(each[0, 7]) for each in found] == list(range(500))


def test_a_value_that_cannot_be_pickled_changes_nothing(line):
    with pytest.raises(AttributeError, match="Can't (pickle|get) local object"):
        sent(line, [taper.zeros(20_000), lambda: 1])
    assert sent(line, 5) == 5


def test_the_plain_pipe():
    here, there = multiprocessing.Pipe(duplex=True)
    receiver = Channel(here)
    sender = Channel(there)  # no pool: everything stays in the pickle
    try:
        sender.send([taper.ones(1000), np.ones(1000), taper.ones(3, 2).t()])
        tensor, array, view = receiver.receive()
        assert tensor.sum() == array.sum() == 1000 and view.stride() == (1, 2)
        tensor.add_(1)
    finally:
        sender.close()
        receiver.close()


def test_the_other_end_hears_of_the_end(line):
    sender, receiver, _ = line
    receiver.close()
    with pytest.raises(EOFError):
        sender.receive()
    with pytest.raises(ConnectionError):
        sender.send(1)
