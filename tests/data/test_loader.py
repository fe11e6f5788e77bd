"""`DataLoader` in one process: options, orders, lengths, refusals; results are PyTorch's."""

import pickle

import numpy as np
import pytest

import taper
from taper.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    random_split,
)


class Count(IterableDataset):
    def __init__(self, count, length=None):
        self.count, self.length = count, length

    def __iter__(self):
        return iter(range(self.count))


class Counted(Count):
    def __len__(self):
        return self.length


class NoLength(Dataset):
    def __getitem__(self, index):
        return index


class ManyAtOnce(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return index

    def __getitems__(self, indices):
        return [100 + index for index in indices]


def generator(seed=1):
    return taper.Generator().manual_seed(seed)


def lists(loader):
    return [each.tolist() for each in loader]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [[0], [1], [2], [3], [4]]),
        ({"batch_size": 2}, [[0, 1], [2, 3], [4]]),
        ({"batch_size": 2, "drop_last": True}, [[0, 1], [2, 3]]),
        ({"batch_size": 2, "sampler": [4, 3, 2]}, [[4, 3], [2]]),
        ({"batch_sampler": [[4, 3], [2]]}, [[4, 3], [2]]),
        ({"batch_sampler": BatchSampler(SequentialSampler(range(5)), 2, True)}, [[0, 1], [2, 3]]),
    ],
)
def test_batches(options, expected):
    loader = DataLoader(range(5), **options)
    assert lists(loader) == expected == lists(loader)
    assert len(loader) == len(expected)


def test_shuffling_takes_the_generator():
    expected = [[4, 1], [3, 0], [2]]
    assert lists(DataLoader(range(5), 2, shuffle=True, generator=generator())) == expected
    assert list(DataLoader(range(5), None, shuffle=True, generator=generator())) == [4, 1, 3, 0, 2]


def test_a_pass_draws_one_seed():
    """Programs that shuffle with the default generator see the numbers that PyTorch gives."""
    taper.manual_seed(5)
    iter(DataLoader(range(5)))
    assert [round(each, 4) for each in taper.rand(2).tolist()] == [0.9075, 0.8199]


def test_no_batches():
    loader = DataLoader(range(3), batch_size=None)
    assert list(loader) == [0, 1, 2] and len(loader) == 3
    rows = TensorDataset(taper.arange(3))
    sampler = BatchSampler(SequentialSampler(rows), 2, False)
    found = list(DataLoader(rows, batch_size=None, sampler=sampler))
    assert [each[0].tolist() for each in found] == [[0, 1], [2]]
    assert list(DataLoader({"a": 1}, batch_size=None, sampler=["a"])) == [1]
    assert next(iter(DataLoader([np.ones(1)], batch_size=None))).tolist() == [1]


def test_collate_fn():
    assert list(DataLoader(range(3), 2, collate_fn=tuple)) == [(0, 1), (2,)]
    assert list(DataLoader(range(2), None, collate_fn=str)) == ["0", "1"]


def test_many_at_once():
    assert lists(DataLoader(ManyAtOnce(), 2)) == [[100, 101], [102, 103], [104]]
    assert list(DataLoader(ManyAtOnce(), None)) == [0, 1, 2, 3, 4]


def test_iterable_data_sets():
    assert lists(DataLoader(Count(5), 2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(Count(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(2), None)) == [0, 1]
    assert (
        len(DataLoader(Counted(5, 5), 2)),
        len(DataLoader(Counted(5, 5), 2, drop_last=True)),
    ) == (3, 2)
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Count(5)))


def test_wrong_length_is_told():
    loader = DataLoader(Counted(5, 3), 1)
    assert lists(loader) == [[0], [1], [2], [3], [4]]  # the length was not asked for
    assert len(loader) == 3
    text = r"^Length of IterableDataset .* was reported to be 3\(when accessing len\(dataloader\)\)"
    with pytest.warns(UserWarning, match=text) as caught:
        assert len(lists(loader)) == 5
    counts = [str(each.message).partition("but ")[2] for each in caught]
    assert counts == ["4 samples have been fetched. ", "5 samples have been fetched. "]


def test_length_needs_a_length():
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(NoLength()))
    with pytest.raises(TypeError, match="has no len"):
        DataLoader(NoLength(), shuffle=True)
    loader = DataLoader(NoLength(), 2, sampler=[1, 2, 3])
    assert len(loader) == 2 and lists(loader) == [[1, 2], [3]]


BATCH_SAMPLER = "^batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and"


@pytest.mark.parametrize(
    "options, text",
    [
        ({"num_workers": -1}, "^num_workers option should be non-negative; use num_workers=0"),
        ({"timeout": -1}, "^timeout option should be non-negative$"),
        ({"prefetch_factor": 2}, "^prefetch_factor option could only be specified in multiproce"),
        ({"num_workers": 1, "prefetch_factor": -1}, "^prefetch_factor option should be non-nega"),
        ({"persistent_workers": True}, "^persistent_workers option needs num_workers > 0$"),
        ({"sampler": [1], "shuffle": True}, "^sampler option is mutually exclusive with shuffle$"),
        ({"batch_sampler": [[0]], "batch_size": 2}, BATCH_SAMPLER),
        ({"batch_sampler": [[0]], "batch_size": None}, BATCH_SAMPLER),
        ({"batch_sampler": [[0]], "shuffle": True}, BATCH_SAMPLER),
        ({"batch_sampler": [[0]], "sampler": [0]}, BATCH_SAMPLER),
        ({"batch_sampler": [[0]], "drop_last": True}, BATCH_SAMPLER),
        ({"batch_size": None, "drop_last": True}, "^batch_size=None option disables auto-batching"),
        ({"batch_size": 0}, "^batch_size should be a positive integer value, but got batch_size=0"),
        ({"drop_last": 2}, "^drop_last should be a boolean value, but got drop_last=2$"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
        (
            {"multiprocessing_context": "nope", "num_workers": 1},
            "option should specify a valid start method in .*, but got .*='nope'$",
        ),
    ],
)
def test_options_that_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(range(5), **options)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"shuffle": True}, "unspecified shuffle option, but got shuffle=True$"),
        ({"sampler": [1]}, r"unspecified sampler option, but got sampler=\[1\]$"),
        ({"batch_sampler": [[1]]}, r"unspecified batch_sampler option, but got batch_sampler="),
    ],
)
def test_iterable_data_sets_refuse_samplers(options, text):
    with pytest.raises(ValueError, match=f"^DataLoader with IterableDataset: expected {text}"):
        DataLoader(Count(3), **options)
    DataLoader(Count(3), shuffle=False)


def test_other_refusals():
    with pytest.raises(TypeError, match="should be a valid context object or a string"):
        DataLoader(range(5), num_workers=1, multiprocessing_context=3)
    with pytest.raises(AssertionError, match="requires timeout == 0$"):
        iter(DataLoader(range(5), timeout=3))
    with pytest.raises(TypeError, match="unexpected keyword"):
        DataLoader(range(5), nonsense=1)
    with pytest.raises(TypeError, match="positional arguments"):
        DataLoader(range(5), 1, None, None, None, 0, None, False, False, 0, None, None, None, 2)


@pytest.mark.parametrize(
    "name",
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"],
)
def test_attributes_that_must_not_change(name):
    with pytest.raises(ValueError, match=f"^{name} attribute should not be set after DataLoader i"):
        setattr(DataLoader(range(5)), name, 3)


def test_attributes_that_may_change():
    loader = DataLoader(range(2))
    loader.collate_fn = tuple
    assert list(loader) == [(0,), (1,)]


def test_pinning_warns():
    text = "^'pin_memory' argument is set as true but no accelerator is found, then device pinned"
    with pytest.warns(UserWarning, match=text):
        assert lists(DataLoader(range(2), pin_memory=True)) == [[0], [1]]


def test_errors_come_through_and_the_pass_goes_on():
    class Failing(NoLength):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            if index == 1:
                raise ValueError("boo")
            return index

    found = iter(DataLoader(Failing()))
    assert next(found).tolist() == [0]
    with pytest.raises(ValueError, match="^boo$"):
        next(found)
    assert next(found).tolist() == [2]
    with pytest.raises(StopIteration):
        next(found)


def test_passes_are_independent():
    loader = DataLoader(range(3))
    first, second = iter(loader), iter(loader)
    assert first is not second and iter(first) is first
    assert [next(first).item(), next(second).item(), next(first).item()] == [0, 0, 1]
    assert len(first) == 3


def test_pickling():
    assert lists(pickle.loads(pickle.dumps(DataLoader(list(range(3)), 2)))) == [[0, 1], [2]]
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iter(DataLoader(range(3))))


def test_profiles_show_the_waiting():
    with taper.autograd.profiler.profile() as profile:
        list(DataLoader(rows(), 4))
    names = [each.name for each in profile.function_events]
    assert names.count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3
    assert "aten::stack" in names


# TensorDatasets are read by whole batches, which must not be noticeable.


def rows(count=7):
    return TensorDataset(taper.arange(2.0 * count).reshape(count, 2), taper.arange(count))


@pytest.mark.parametrize(
    "part", [rows(), Subset(rows(), [6, 2, 2, 0]), random_split(rows(), [3, 4])[1]]
)
def test_whole_batches_are_what_single_rows_make(part):
    quick = [[each.tolist() for each in batch] for batch in DataLoader(part, 3)]
    slow = [part[index] for index in range(len(part))]
    expected = [slow[start : start + 3] for start in range(0, len(slow), 3)]
    assert quick == [
        [[row[column].tolist() for row in batch] for column in range(2)] for batch in expected
    ]


def test_whole_batches_own_their_memory():
    data = rows()
    first, _ = next(iter(DataLoader(data, 3)))
    first.zero_()
    assert data.tensors[0].tolist()[1] == [2, 3]
    assert first.is_contiguous() and first.storage_offset() == 0


def test_whole_batches_of_views_and_of_history():
    turned = TensorDataset(taper.arange(6.0).reshape(2, 3).t())
    assert [each[0].tolist() for each in DataLoader(turned, 2)] == [[[0, 3], [1, 4]], [[2, 5]]]
    leaf = taper.ones(3, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(leaf), 2)))
    assert type(batch.grad_fn).__name__ == "StackBackward0"


def test_whole_batches_refuse_what_single_rows_refuse():
    for sampler in ([0, 9], [0, -9]):
        with pytest.raises(IndexError, match="is out of bounds for dimension 0 with size 7$"):
            list(DataLoader(rows(), 2, sampler=sampler))
    (batch, _) = next(iter(DataLoader(rows(), 2, sampler=[-1, 0])))
    assert batch.tolist() == [[12, 13], [0, 1]]
    with pytest.raises(IndexError):
        list(DataLoader(Subset(rows(), [0]), 2, sampler=[0, 5]))


def test_a_class_of_its_own_is_asked_row_by_row():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple([2 * each for each in super().__getitem__(index)])

    (batch,) = next(iter(DataLoader(Doubled(taper.arange(3)), 3)))
    assert batch.tolist() == [0, 2, 4]
