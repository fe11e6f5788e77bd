"""Samplers: which indices in which order, and what they refuse; numbers are PyTorch's."""

import pytest

import taper
from taper.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def generator(seed=1):
    return taper.Generator().manual_seed(seed)


def test_sampler_must_be_implemented():
    with pytest.raises(NotImplementedError):
        iter(Sampler())
    with pytest.raises(TypeError, match="takes no arguments"):
        Sampler([1])


def test_sequential_sampler():
    sampler = SequentialSampler("abcd")
    assert list(sampler) == [0, 1, 2, 3] and len(sampler) == 4


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [5, 6, 1, 2, 0, 8, 9, 3, 7, 4]),
        ({"num_samples": 4}, [5, 6, 1, 2]),
        ({"replacement": True}, [5, 9, 4, 8, 3, 3, 1, 1, 9, 2]),
        ({"num_samples": 13}, [5, 6, 1, 2, 0, 8, 9, 3, 7, 4, 2, 3, 1]),
    ],
)
def test_random_sampler(options, expected):
    sampler = RandomSampler(range(10), generator=generator(), **options)
    assert list(sampler) == expected
    assert len(sampler) == len(expected)


def test_random_sampler_draws_a_seed_for_each_pass():
    sampler = RandomSampler(range(10))
    taper.manual_seed(0)
    first, second = list(sampler), list(sampler)
    taper.manual_seed(0)
    assert list(sampler) == first != second


@pytest.mark.parametrize("num_samples", [0, -1, 1.5])
def test_random_sampler_refuses_numbers(num_samples):
    with pytest.raises(ValueError, match=f"positive integer value, but got num_.*={num_samples}$"):
        RandomSampler(range(10), num_samples=num_samples)


def test_random_sampler_refuses():
    with pytest.raises(TypeError, match="^replacement should be a boolean value, but got replace"):
        RandomSampler(range(10), replacement=1)
    with pytest.raises(ValueError, match="num_samples=0$"):
        RandomSampler([])


def test_subset_random_sampler():
    sampler = SubsetRandomSampler([5, 6, 7], generator())
    assert list(sampler) == [6, 7, 5] and len(sampler) == 3


def test_weighted_random_sampler():
    sampler = WeightedRandomSampler([0.1, 0.9, 0.4], 5, generator=generator())
    assert list(sampler) == [0, 1, 1, 1, 1] and len(sampler) == 5
    assert sampler.weights.dtype is taper.float64
    without = WeightedRandomSampler([0.1, 0.9, 0.4], 3, replacement=False, generator=generator())
    assert list(without) == [1, 0, 2]


@pytest.mark.parametrize(
    "arguments, text",
    [
        (([1, 2], 0), "num_samples should be a positive integer value, but got num_samples=0"),
        (([1, 2], True), "num_samples should be a positive .* but got num_samples=True"),
        (([1, 2], 2, 1), "replacement should be a boolean value, but got replacement=1"),
        (([[1, 2]], 2), r"weights should be a 1d sequence but given weights have shape \(1, 2\)"),
    ],
)
def test_weighted_random_sampler_refuses(arguments, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        WeightedRandomSampler(*arguments)


def test_batch_sampler():
    assert list(BatchSampler(range(7), 3, False)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(BatchSampler(iter(range(7)), 3, True)) == [[0, 1, 2], [3, 4, 5]]
    assert (len(BatchSampler(range(7), 3, False)), len(BatchSampler(range(7), 3, True))) == (3, 2)
    for size in (0, True, 1.5):
        with pytest.raises(ValueError, match=f"^batch_size should be .* got batch_size={size}$"):
            BatchSampler(range(7), size, False)
    with pytest.raises(ValueError, match="^drop_last should be a boolean value, but got drop_last"):
        BatchSampler(range(7), 2, 1)


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [[4, 5, 0, 2], [1, 3, 8, 4], [7, 9, 6, 1]]),
        ({"shuffle": False}, [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]),
        ({"shuffle": False, "drop_last": True}, [[0, 3, 6], [1, 4, 7], [2, 5, 8]]),
    ],
)
def test_distributed_sampler(options, expected):
    samplers = [DistributedSampler(range(10), 3, rank, **options) for rank in range(3)]
    assert [list(each) for each in samplers] == expected
    assert [len(each) for each in samplers] == [len(each) for each in expected]


def test_distributed_sampler_repeats_few_samples():
    assert list(DistributedSampler(range(2), 7, 6, shuffle=False)) == [0]
    assert list(DistributedSampler(range(0), 2, 1, shuffle=False)) == []


def test_distributed_sampler_has_an_order_for_each_epoch():
    sampler = DistributedSampler(range(10), 3, 0)
    sampler.set_epoch(3)
    assert list(sampler) == [6, 7, 1, 4]


def test_distributed_sampler_refuses():
    for rank in (3, -1):
        with pytest.raises(ValueError, match=rf"^Invalid rank {rank}, rank should .* \[0, 2\]$"):
            DistributedSampler(range(10), 3, rank)
    with pytest.raises(ValueError, match="^Default process group has not been initialized"):
        DistributedSampler(range(10))
