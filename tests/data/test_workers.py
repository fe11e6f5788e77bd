"""`DataLoader` with workers: data, their order, what travels, random numbers; as PyTorch's."""

import multiprocessing
import os
import random
import time

import numpy as np
import pytest

import taper
from data.loading import Computed, computed, lists, loader
from taper.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

METHODS = multiprocessing.get_all_start_methods()
forked = pytest.mark.skipif("fork" not in METHODS, reason="functions of a test need fork")
pytestmark = forked


class Counting(IterableDataset):
    """A worker's elements begin with ten times its number; each has one more than the last."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        number = get_worker_info().id
        return iter([10 * number + each for each in range(self.count + number)])


class Counted(Counting):
    def __len__(self):
        return self.count


# --- data and their order --------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("prefetch", [1, 2, 5])
def test_same_batches_as_without_workers(workers, prefetch):
    for options in ({}, {"drop_last": True}, {"batch_size": 7}, {"batch_size": 40}):
        options = {"batch_size": 4, **options}
        expected = lists(DataLoader(range(17), **options))
        found = loader(range(17), num_workers=workers, prefetch_factor=prefetch, **options)
        assert lists(found) == expected


def test_shuffled_as_without_workers():
    for seed in range(3):
        taper.manual_seed(seed)
        expected = lists(DataLoader(range(9), 2, shuffle=True)), taper.rand(1).item()
        taper.manual_seed(seed)
        assert (lists(loader(range(9), 2, shuffle=True)), taper.rand(1).item()) == expected


def test_no_data():
    assert list(loader([])) == []
    assert list(loader(Counting(0), num_workers=1)) == []


def test_iterable_data_sets():
    assert lists(loader(Counting(3), 2)) == [[0, 1], [10, 11], [2], [12, 13]]
    assert lists(loader(Counting(3), 2, drop_last=True)) == [[0, 1], [10, 11], [12, 13]]
    assert list(loader(Counting(3), None)) == [0, 10, 1, 11, 2, 12, 13]
    three = list(loader(Counting(1), None, num_workers=3))
    assert three == [0, 10, 20, 11, 21, 22]
    text = "For multiprocessing data-loading, this could be caused by not properly configuring"
    told = loader(Counted(5), 2)
    assert len(told) == 3
    with pytest.warns(UserWarning, match=text):
        assert len(list(told)) == 6


def test_out_of_order():
    def slow(index):
        time.sleep(0.5 if index == 0 else 0)
        return index

    found = list(computed(slow, 6, in_order=False))
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    assert found[0] != 0 and found.index(1) < found.index(3) < found.index(5)
    assert list(computed(slow, 6)) == [0, 1, 2, 3, 4, 5]
    assert sorted(loader(Counting(3), None, in_order=False)) == [0, 1, 2, 10, 11, 12, 13]


def test_two_passes_at_once():
    both = loader(range(4))
    first, second = iter(both), iter(both)
    assert [next(first).item(), next(second).item(), next(first).item()] == [0, 0, 1]
    assert lists(first) == [[2], [3]] and lists(second) == [[1], [2], [3]]
    assert next(first, None) is None


def test_persistent_workers():
    pids = loader(Computed(lambda index: os.getpid()), 1, persistent_workers=True)
    first = lists(pids)
    assert lists(pids) == first
    assert iter(pids) is pids._iterator
    kept = loader(range(8), persistent_workers=True)
    started = iter(kept)
    assert next(started).item() == 0
    assert iter(kept) is started
    assert lists(started) == [[each] for each in range(8)]
    endless = loader(Counting(2), None, persistent_workers=True)
    assert list(endless) == list(endless) == [0, 10, 1, 11, 12]


def test_fresh_workers_for_each_pass():
    pids = loader(Computed(lambda index: os.getpid()), 1)
    assert not {each[0] for each in lists(pids)} & {each[0] for each in lists(pids)}


def test_pass_after_its_end():
    found = iter(loader([1, 2, 3]))
    assert lists(found) == [[1], [2], [3]]
    with pytest.raises(StopIteration):
        next(found)
    stopped = iter(loader([1, 2, 3]))
    next(stopped)
    stopped._shutdown_workers()
    with pytest.raises(StopIteration):
        next(stopped)
    assert len(stopped) == 3


def test_large_batches_of_indices():
    """More indices than a pipe holds, sent while the worker may be sending as much."""
    count = 300_000
    data = TensorDataset(taper.arange(count))
    found = loader(data, count // 6, prefetch_factor=6, num_workers=1)
    assert sum(batch.sum().item() for (batch,) in found) == count * (count - 1) // 2


def test_large_and_small_tasks_in_turn():
    """A task that fills the pipe, while the answers to the ones before it fill the other."""
    batches = [[0], [1], [0, 1] * 60_000] * 6

    def told(samples):
        return len(samples), "x" * 60_000

    found = loader("ab", batch_sampler=batches, collate_fn=told, num_workers=1, prefetch_factor=9)
    assert [count for count, _ in found] == [1, 1, 120_000] * 6


def test_many_small_answers_ahead():
    found = list(computed(lambda index: "x" * 5000, 200, prefetch_factor=90, num_workers=1))
    assert found == ["x" * 5000] * 200


# --- what travels ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 100, 5_000, 300_000])
@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "complex128"])
def test_tensors_of_all_sizes(count, dtype):
    values = np.random.default_rng(0).integers(0, 2, count)
    expected = taper.from_numpy(values).to(getattr(taper, dtype))
    for found in computed(lambda index: expected, 3):
        assert found.dtype is expected.dtype and taper.equal(found, expected)
        found.add_(1) if dtype != "bool" else found.fill_(True)
        assert found.untyped_storage().nbytes() == expected.untyped_storage().nbytes()


def test_layouts():
    base = taper.arange(40_000.0).reshape(200, 200)
    views = [
        base.t(),
        base[:, :150],
        base[7],
        base[::3, ::50],
        base[50:60],
        taper.ones(1).expand(9),
    ]
    for view in views:
        (found,) = computed(lambda index, view=view: view, 1, num_workers=1)
        assert taper.equal(found, view)
    (found,) = computed(lambda index: base.t(), 1)
    assert found.stride() == (1, 200)
    (row,) = computed(lambda index: base[7], 1)
    assert row.untyped_storage().nbytes() == 800


def test_views_of_one_memory_stay_views_of_one_memory():
    for count in (3, 30_000):

        def pair(index, count=count):
            base = taper.zeros(count)
            return [base, base[1:]]

        whole, part = next(iter(computed(pair, 1)))
        whole.add_(1)
        assert part.sum().item() == count - 1


def test_other_values():
    sample = {
        "text": "x" * 100_000,
        "bytes": b"y" * 100_000,
        "array": np.arange(100_000),
        "part": np.arange(100_000)[::7],
        "none": None,
        "nested": [(taper.ones(20_000), {"deep": taper.ones(2)})],
    }
    for found in computed(lambda index: sample, 3):
        assert found["text"] == sample["text"] and found["bytes"] == sample["bytes"]
        np.testing.assert_array_equal(found["array"], sample["array"])
        np.testing.assert_array_equal(found["part"], sample["part"])
        found["array"][0] = 7
        assert found["nested"][0][0].sum().item() == 20_000
        assert found["nested"][0][1]["deep"].tolist() == [1, 1]


def test_read_only_memory_arrives_writable():
    def of_bytes(index):
        return taper.from_numpy(np.frombuffer(b"ab" * 20_000, np.uint8).copy())[::1]

    for found in computed(of_bytes, 2):
        found.zero_()
        assert found.sum().item() == 0


def test_leaves_and_classes():
    leaf, parameter = next(
        iter(
            computed(
                lambda index: [
                    taper.ones(2, requires_grad=True),
                    taper.nn.Parameter(taper.ones(9000)),
                ]
            )
        )
    )
    assert leaf.requires_grad and leaf.is_leaf and leaf.grad_fn is None
    assert type(parameter) is taper.nn.Parameter and parameter.requires_grad
    (conjugate,) = computed(lambda index: taper.tensor([1 + 2j]).conj(), 1)
    assert conjugate.tolist() == [1 - 2j]


def test_batches_are_kept_as_long_as_somebody_looks():
    """Memory is used again only when nothing shows it any more."""
    count = 60
    data = TensorDataset(taper.arange(count).repeat_interleave(10_000).reshape(count, 10_000))
    kept, views = [], []
    for number, (batch,) in enumerate(loader(data, 2)):
        if number % 3 == 0:
            kept.append((number, batch))
        elif number % 3 == 1:
            views.append((number, batch[1].numpy()[5:7]))
        del batch
    for number, batch in kept:
        assert batch[:, ::5000].tolist() == [[2 * number] * 2, [2 * number + 1] * 2]
    for number, view in views:
        assert view.tolist() == [2 * number + 1] * 2


def test_what_the_worker_keeps_is_not_overwritten():
    cache = {}

    def cached(samples):
        key = samples[0] % 2
        if key not in cache:
            cache[key] = taper.utils.data.default_collate([taper.full((9000,), key)] * 3)
        return samples[0], cache[key]

    found = loader(list(range(40)), 1, collate_fn=cached, num_workers=1)
    assert all(batch.min() == batch.max() == number % 2 for number, batch in found)


def test_a_process_that_was_forked_keeps_its_batch():
    data = TensorDataset(taper.arange(40).repeat_interleave(10_000).reshape(40, 10_000))
    batches = iter(loader(data, 1, num_workers=1))
    (batch,) = next(batches)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child(given):
        theirs.recv()
        theirs.send(given.unique().tolist())

    process = context.Process(target=child, args=(batch,))
    process.start()
    del batch
    for _ in batches:
        pass
    ours.send("go")
    assert ours.recv() == [0]
    process.join()


def test_thousands_of_batches_can_be_kept():
    """More batches than a process may have open files."""
    batches = list(computed(lambda index: taper.full((5000,), index), 1500, num_workers=1))
    assert [int(each[0]) for each in batches] == list(range(1500))


def test_memory_goes_back():
    def big(index):
        return taper.ones(300_000)

    segments = []
    for batch in computed(big, 60, num_workers=1):
        segments.append(batch.data_ptr())
    assert len(set(segments)) <= 12


# --- random numbers --------------------------------------------------------------------------


def drawn(index):
    info = get_worker_info()
    numbers = random.random(), taper.rand(1).item(), np.random.rand(), np.random.randint(100)
    return info.id, info.num_workers, info.seed, taper.initial_seed(), *numbers


def test_random_numbers_of_workers():
    taper.manual_seed(7)
    found = list(computed(drawn))
    assert [each[:4] for each in found[:2]] == [
        (0, 2, 1407639518939636932, 1407639518939636932),
        (1, 2, 1407639518939636933, 1407639518939636933),
    ]
    assert found[0][4:] == (0.9290632898373887, 0.11662513017654419, 0.03541536592796235, 28)
    assert found[3][4:] == (0.46183154346070987, 0.28084486722946167, 0.7595333230759997, 37)
    taper.manual_seed(7)
    assert list(computed(drawn)) == found


def test_random_numbers_come_from_the_generator():
    given = taper.Generator().manual_seed(1)
    assert next(iter(computed(drawn, generator=given)))[2] == 7692698082559361259


def test_random_numbers_go_on_in_persistent_workers():
    taper.manual_seed(7)
    kept = computed(drawn, persistent_workers=True)
    first, second = list(kept), list(kept)
    assert second[0][4:] == (0.9564378639795085, 0.8065624833106995, 0.7609564217580039, 84)
    assert first[0][:4] == second[0][:4]


# --- the worker ------------------------------------------------------------------------------


def test_worker_info():
    def told(index):
        info = get_worker_info()
        try:
            info.id = 3
        except AttributeError as error:
            return repr(info), str(error), taper.get_num_threads()

    text, error, threads = next(iter(computed(told)))
    assert text.startswith("WorkerInfo(id=0, num_workers=2, seed=")
    assert (error, threads) == ("cannot assign to field 'id'", 1)
    assert get_worker_info() is None


def test_worker_init_fn():
    def prepare(number):
        get_worker_info().dataset.function = lambda index: (number, index)

    assert list(computed(None, 3, worker_init_fn=prepare)) == [(0, 0), (1, 1), (0, 2)]


@pytest.mark.parametrize("method", METHODS)
def test_start_methods(method):
    found = DataLoader(
        TensorDataset(taper.arange(10_000).reshape(5, 2000)),
        2,
        num_workers=2,
        multiprocessing_context=method,
        worker_init_fn=abs,
    )
    assert [each[0][:, 0].tolist() for each in found] == [[0, 2000], [4000, 6000], [8000]]


def test_what_cannot_be_sent_to_a_worker():
    data = Computed(lambda index: index)
    before = set(multiprocessing.active_children())
    text = "^Got pickle error when attempting to start a worker Process"
    with pytest.warns(UserWarning, match=text), pytest.raises(AttributeError):
        list(DataLoader(data, num_workers=1, multiprocessing_context="spawn"))
    assert set(multiprocessing.active_children()) <= before


def test_workers_have_no_workers():
    def nested(index):
        return list(loader([1], num_workers=1))

    with pytest.raises(AssertionError, match="daemonic processes are not allowed to have childr"):
        list(computed(nested))
