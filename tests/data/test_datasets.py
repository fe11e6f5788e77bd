"""Data sets and how they are put together; numbers and texts are PyTorch's."""

import pytest

import taper
from taper.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)

X = taper.arange(6.0).reshape(3, 2)
Y = taper.arange(3)


class Count(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class Counted(Count):
    def __len__(self):
        return self.count


class ManyAtOnce(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return ("one", index)

    def __getitems__(self, indices):
        return [("many", index) for index in indices]


class TooFew(ManyAtOnce):
    def __getitems__(self, indices):
        return [0]


def test_dataset_must_be_implemented():
    with pytest.raises(NotImplementedError, match="^Subclasses of Dataset should implement __ge"):
        Dataset()[0]
    with pytest.raises(TypeError, match="has no len"):
        len(Dataset())
    with pytest.raises(TypeError, match="abstract"):
        IterableDataset()


def test_tensor_dataset():
    data = TensorDataset(X, Y)
    assert len(data) == 3
    row, label = data[1]
    assert row.tolist() == [2, 3] and label.item() == 1
    assert [each.tolist() for each in data[[0, 2]]] == [[[0, 1], [4, 5]], [0, 2]]
    with pytest.raises(AssertionError, match="^Size mismatch between tensors$"):
        TensorDataset(X, taper.arange(4))
    with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 3"):
        data[5]


def test_stack_dataset():
    assert StackDataset("abc", [1, 2, 3])[1] == ("b", 2)
    assert StackDataset(letter="abc", number=[1, 2, 3])[1] == {"letter": "b", "number": 2}
    stacked = StackDataset("abc", ManyAtOnce())
    assert stacked.__getitems__([0, 2]) == [("a", ("many", 0)), ("c", ("many", 2))]
    named = StackDataset(letter="abc", number=ManyAtOnce())
    assert named.__getitems__([1]) == [{"letter": "b", "number": ("many", 1)}]
    assert len(named) == 3


def test_stack_dataset_refuses():
    with pytest.raises(ValueError, match="^Size mismatch between datasets$"):
        StackDataset("ab", [1])
    with pytest.raises(ValueError, match="but both types are given"):
        StackDataset("ab", number=[1, 2])
    with pytest.raises(ValueError, match="^At least one dataset should be passed$"):
        StackDataset()
    with pytest.raises(ValueError, match="size mismatch. Expected 2, got 1$"):
        StackDataset("abc", TooFew()).__getitems__([0, 1])


def test_concat_dataset():
    both = ConcatDataset(["abc", [1, 2]])
    assert [both[index] for index in range(5)] == ["a", "b", "c", 1, 2]
    assert (both[-1], both[-5], len(both), both.cumulative_sizes) == (2, "a", 5, [3, 5])
    with pytest.raises(ValueError, match="absolute value of index should not exceed"):
        both[-6]
    with pytest.raises(IndexError, match="list index out of range"):
        both[5]
    with pytest.warns(FutureWarning, match="is renamed to `cumulative_sizes`"):
        assert both.cummulative_sizes == [3, 5]


def test_concat_dataset_refuses():
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        ConcatDataset([Count(2)])


def test_plus_concatenates_and_chains():
    assert type(TensorDataset(X) + TensorDataset(X)) is ConcatDataset
    assert len(TensorDataset(X) + TensorDataset(X) + TensorDataset(X)) == 9
    chained = Count(2) + Count(1)
    assert type(chained) is ChainDataset
    assert list(chained) == [0, 1, 0]


def test_chain_dataset():
    assert len(ChainDataset([Counted(2), Counted(3)])) == 5
    with pytest.raises(TypeError, match="has no len"):
        len(ChainDataset([Count(2)]))
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([[1]]))


def test_subset():
    part = Subset("abcd", [3, 0])
    assert list(part) == ["d", "a"] and len(part) == 2
    assert Subset(ManyAtOnce(), [2, 0]).__getitems__([0, 1]) == [("many", 2), ("many", 0)]
    assert Subset("abcd", [3, 0]).__getitems__([1, 0]) == ["a", "d"]
    assert Subset(TensorDataset(Y), [2, 0])[[0, 1]][0].tolist() == [2, 0]


def generator(seed=1):
    return taper.Generator().manual_seed(seed)


def test_random_split_by_lengths_and_by_fractions():
    expected = [[5, 6, 1], [2, 0, 8, 9, 3, 7, 4]]
    for lengths in ([3, 7], [0.3, 0.7]):
        parts = random_split(range(10), lengths, generator())
        assert [part.indices for part in parts] == expected
    parts = random_split(range(10), [0.33, 0.33, 0.34], generator())
    assert [len(part) for part in parts] == [4, 3, 3]
    taper.manual_seed(0)
    first = random_split(range(10), [3, 7])[0].indices
    taper.manual_seed(0)
    assert random_split(range(10), [3, 7], None)[0].indices == first


def test_random_split_refuses_and_warns():
    for lengths in ([3, 6], [0.3, 0.6], []):
        with pytest.raises(ValueError, match="^Sum of input lengths does not equal the length"):
            random_split(range(10), lengths)
    with pytest.raises(ValueError, match="^Fraction at index 0 is not between 0 and 1$"):
        random_split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="^Length of split at index 1 is 0. This might result"):
        random_split(range(2), [0.25, 0.25, 0.5], generator())
