"""`utils.data` against PyTorch: same seeds, same order, batches, worker seeds, errors, warnings.

A case is an expression, evaluated once with each package; results, errors and warnings must be the
same.  Traces of workers name other files, so only the first and the last line of their errors are
compared.
"""

from __future__ import annotations

import collections
import gc
import itertools
import os
import random
import re
import sys  # noqa: F401  named by expressions, as the next
import types  # noqa: F401
import warnings

import numpy as np
import pytest
import torch
import torch.utils.data

import taper
import taper.utils.data

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
Point = collections.namedtuple("Point", "x y")


class TwoArgumentsError(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


class NamedMessageError(Exception):
    message = "something"

    def __init__(self, message=None, code=0):
        super().__init__(message)


class Failing:
    """A sample that raises, among others that do not."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 1:
            raise self.error
        return index


class Told:
    """What a worker knows and draws."""

    def __init__(self, package):
        self.package = package

    def __len__(self):
        return 5

    def __getitem__(self, index):
        info = self.package.utils.data.get_worker_info()
        seeds = (info.id, info.num_workers, info.seed, self.package.initial_seed())
        draws = (random.random(), self.package.rand(2).tolist(), np.random.rand())
        return repr((index, *seeds, *draws, self.package.get_num_threads()))


class Ending:
    def __init__(self, action):
        self.action = action

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 1:
            self.action()
        return index


def names_of(package):
    """Return what the expressions may name."""
    data = package.utils.data

    class Count(data.IterableDataset):
        def __init__(self, count, length=None):
            self.count, self.length = count, length

        def __iter__(self):
            info = data.get_worker_info()
            number = info.id if info else 0
            return iter([10 * number + each for each in range(self.count + number)])

        def __repr__(self):
            return "Count"

    class Counted(Count):
        def __len__(self):
            return self.length

    class NoLength(data.Dataset):
        def __getitem__(self, index):
            return index

    class Many(data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return ("one", index)

        def __getitems__(self, indices):
            return [("many", index) for index in indices]

    def generator(seed=1):
        return package.Generator().manual_seed(seed)

    def loader(*arguments, **options):
        return data.DataLoader(*arguments, **{"num_workers": 2, **options})

    def seeded(function, seed=7):
        package.manual_seed(seed)
        return function(), package.rand(2)

    def state(function, seed=3):
        """Return the result of a function of a generator, and what the generator gives next."""
        given = generator(seed)
        return function(given), package.rand(3, generator=given)

    def tried(*calls):
        found = []
        for call in calls:
            try:
                found.append(call())
            except Exception as error:
                found.append(first_and_last(error))
        return found

    def set_attribute(object, name, value):
        setattr(object, name, value)
        return getattr(object, name)

    x = package.arange(14.0).reshape(7, 2)
    y = package.arange(7)
    rows = data.TensorDataset(x, y)
    return {
        **globals(),
        **{key: value for key, value in locals().items() if key not in ("package", "data")},
        **{name: getattr(data, name) for name in taper.utils.data.__all__},
        "torch": package,
        "data": data,
        "R": range(11),
    }


def first_and_last(error):
    lines = str(error).strip().splitlines() or [""]
    cause = error.__cause__
    text = f"{type(error).__name__}: {lines[0]} ... {lines[-1]}"
    return re.sub(
        r"\d{3,}", "N", text + (f" from {type(cause).__name__}: {cause}" if cause else "")
    )


def plain(value, package):
    """Return a value as something that compares equal for both packages."""
    if isinstance(value, package.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), value.tolist(), value.requires_grad
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(each, package) for key, each in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [plain(each, package) for each in value]
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.tolist()
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value)).replace("taper", "torch")


@pytest.fixture(scope="module", autouse=True)
def quick_collections():
    """Freeze the objects that exist from the start, which need not be collected each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def outcome(package, expression):
    if "loader" in expression or "num_workers" in expression:
        # A pass of PyTorch's that is collected in a later forked process would close what is not
        # its own.
        gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package.manual_seed(11)
        try:
            found = plain(eval(expression, names_of(package)), package)
        except Exception as error:
            found = first_and_last(error)
    told = [(each.category.__name__, str(each.message)) for each in caught]
    return found, [each for each in told if "multi-threaded" not in each[1]]


DATA_SETS = """
rows[1]
rows[2:4]
rows[[0, 6]]
rows[-1]
rows[7]
TensorDataset(x, y[:2])
StackDataset(x, "abcdefg")[3]
StackDataset(a=x, b=rows).__getitems__([0, 2])
StackDataset("abcde", Many()).__getitems__([0, 2])
StackDataset(x, "ab")
StackDataset(x, a=x)
StackDataset()
[ConcatDataset([rows, "ab"])[each] for each in (0, 7, 8, -1, -9)]
ConcatDataset([rows, "ab"])[9]
ConcatDataset([rows, "ab"])[-10]
ConcatDataset([rows, "ab"]).cummulative_sizes
ConcatDataset([])
ConcatDataset([Count(1)])
len(rows + rows + rows)
list(Count(2) + Count(3))
list(ChainDataset([[1]]))
len(ChainDataset([Counted(2, 2), Counted(1, 5)]))
Subset(rows, [3, 1])[[0, 1]]
Subset(Many(), [3, 1]).__getitems__([1, 0])
[each.indices for each in random_split(R, [4, 7], generator())]
[each.indices for each in random_split(R, [0.5, 0.3, 0.2], generator(5))]
[each.indices for each in random_split(R, [0.1] * 10, generator())]
[each.indices for each in random_split(R, [4, 7])]
[each.indices for each in random_split(R, [4, 7], None)]
random_split(R, [4, 6])
random_split(R, [-0.5, 1.5])
state(lambda g: [each.indices for each in random_split(R, [4, 7], g)])
"""

SAMPLERS = """
list(SequentialSampler(R))
list(RandomSampler(R))
state(lambda g: list(RandomSampler(R, generator=g)))
state(lambda g: list(RandomSampler(R, num_samples=4, generator=g)))
state(lambda g: list(RandomSampler(R, num_samples=22, generator=g)))
state(lambda g: list(RandomSampler(R, num_samples=25, generator=g)))
state(lambda g: list(RandomSampler(R, replacement=True, generator=g)))
state(lambda g: list(RandomSampler(R, replacement=True, num_samples=64, generator=g)))
state(lambda g: list(RandomSampler(R, replacement=True, num_samples=71, generator=g)))
seeded(lambda: [list(RandomSampler(R)), list(RandomSampler(R)), list(RandomSampler(R, True))])
seeded(lambda: list(RandomSampler(range(3000)))[:50])
tried(*[lambda n=n: RandomSampler(R, num_samples=n) for n in (0, -1, 1.5)])
RandomSampler(R, replacement=1)
RandomSampler([])
list(RandomSampler([], num_samples=2))
state(lambda g: list(SubsetRandomSampler([5, 6, 7, 8], g)))
seeded(lambda: list(SubsetRandomSampler([5, 6, 7, 8])))
list(SubsetRandomSampler(torch.tensor([5, 6, 7]), generator()))
state(lambda g: list(WeightedRandomSampler([.1, .9, .4], 9, generator=g)))
state(lambda g: list(WeightedRandomSampler([.1, .9, .4], 3, False, generator=g)))
seeded(lambda: list(WeightedRandomSampler(torch.rand(50), 20)))
list(WeightedRandomSampler([.1, .9], 3, False))
tried(*[lambda n=n: WeightedRandomSampler([1, 2], n) for n in (0, True, 1.0)])
WeightedRandomSampler([[1, 2]], 2)
WeightedRandomSampler([1, 2], 2, 1)
WeightedRandomSampler([1, 2], 2).weights
[list(BatchSampler(R, size, drop)) for size in (1, 3, 11, 20) for drop in (False, True)]
[len(BatchSampler(R, size, drop)) for size in (1, 3, 11, 20) for drop in (False, True)]
tried(*[lambda n=n: BatchSampler(R, n, False) for n in (0, -1, True, 1.5, None)])
BatchSampler(R, 2, 1)
[list(DistributedSampler(R, 3, r, s, 4, d)) for r in (0, 1, 2) for s in (0, 1) for d in (0, 1)]
[len(DistributedSampler(range(n), 4, 1, drop_last=d)) for n in range(9) for d in (False, True)]
[list(DistributedSampler(range(n), 4, 3, shuffle=False)) for n in range(9)]
tried(*[lambda r=r: DistributedSampler(R, 3, r) for r in (3, -1)])
DistributedSampler(R)
"""

COLLATING = """
[default_collate(each) for each in ([1, 2], [1.0, 2.0], [1, 2.5], [True], ["a", "b"], [b"a"])]
[default_collate([np.array([1, 2], kind)] * 2) for kind in ("f4", "f8", "i2", "u1", "?", "c8")]
[default_collate([np.dtype(kind).type(1)] * 2) for kind in ("f2", "f4", "f8", "i2", "u1", "?")]
default_collate([x, x.t().contiguous().t()])
default_collate([x, x.double()])
default_collate([x, x[:1]])
default_collate([x, y])
default_collate([y[0], y[1]])
default_collate([x.clone().requires_grad_(), x])
default_collate([{"a": 1, "b": x}, {"a": 2, "b": x}])
default_collate([{"a": 1}, {"b": 2}])
default_collate([Point(1, "x"), Point(2, "y")])
default_collate([(1, "x", [2.0, {"a": y}]), (2, "y", [3.0, {"a": y}])])
default_collate([(1,), (2, 3)])
default_collate([collections.OrderedDict(a=1)] * 2)
default_collate([collections.defaultdict(list, a=1)] * 2)
default_collate([collections.deque([1, 2])] * 2)
default_collate([collections.Counter(a=1)] * 2)
default_collate([types.MappingProxyType({"a": 1})] * 2)
default_collate([range(2)] * 2)
default_collate([bytearray(b"ab")] * 2)
default_collate([np.str_("a")])
tried(*[lambda e=e: default_collate([e]) for e in (None, {1}, 1j, object, np.array(["a"]))])
tried(*[lambda e=e: default_collate(e) for e in ([], [[]], [{}], ["a", 1], iter([1]), {"a": 1})])
default_collate([np.array(["2020-01-01"], dtype="M8[D]")])
[default_convert(e) for e in (np.ones(2), np.float32(2), 3, "a", (np.ones(1), 2), None, range(2))]
default_convert({"a": [np.int8(1)], "b": Point(np.ones(1), b"x"), "c": np.array(["a"])})
data._utils.collate.collate([[1], [2]], collate_fn_map={int: lambda b, *, collate_fn_map: b})
data._utils.collate.collate([1, 2])
"""

OPTIONS = """
list(DataLoader(R))
list(DataLoader(rows, 3))
list(DataLoader(rows, 3, drop_last=True))
list(DataLoader(rows, None))
list(DataLoader(Subset(rows, [5, 5, 0]), 2))
list(DataLoader(random_split(rows, [5, 2], generator())[0], 2, True, generator=generator()))
list(DataLoader(R, 4, sampler=[4, 3, 2, 1, 0]))
list(DataLoader(R, batch_sampler=[[4, 3], [2]]))
list(DataLoader(rows, None, sampler=BatchSampler(SequentialSampler(rows), 3, False)))
list(DataLoader(R, 4, collate_fn=tuple))
list(DataLoader(Many(), 2))
list(DataLoader(Count(5), 2))
list(DataLoader(Count(5), 2, drop_last=True))
list(DataLoader(Count(5), None))
seeded(lambda: list(DataLoader(R, 4, shuffle=True)))
seeded(lambda: [list(DataLoader(R, 4, shuffle=True)) for _ in range(3)])
seeded(lambda: list(DataLoader(R, 4)))
seeded(lambda: iter(DataLoader(R)))
seeded(lambda: list(DataLoader(Count(4))))
seeded(lambda: next(iter(DataLoader(R, shuffle=True))))
seeded(lambda: iter(DataLoader(R))._base_seed)
state(lambda g: list(DataLoader(R, 4, shuffle=True, generator=g)))
state(lambda g: list(DataLoader(R, 4, generator=g)))
state(lambda g: list(DataLoader(R, 4, sampler=RandomSampler(R, True, 9, g))))
(lambda l: (len(l), list(l)))(DataLoader(Counted(5, 3), 1))
(lambda l: (len(l), list(l)))(DataLoader(Counted(5, 3), 2))
[len(DataLoader(R, n, drop_last=d)) for n in (1, 3, 20) for d in (False, True)]
[len(DataLoader(Counted(5, 11), n, drop_last=d)) for n in (1, 3, 20) for d in (False, True)]
[len(DataLoader(R, None)), len(DataLoader(Counted(5, 11), None)), len(iter(DataLoader(R, 3)))]
len(DataLoader(Count(3)))
len(DataLoader(NoLength()))
DataLoader(NoLength(), shuffle=True)
list(DataLoader(NoLength(), sampler=[1, 2]))
list(DataLoader(R, 4, pin_memory=True))
list(DataLoader(R, 4, pin_memory=True, pin_memory_device="cuda"))
tried(*[lambda n=n: set_attribute(DataLoader(R), n, 1) for n in ("batch_size", "dataset")])
tried(*[lambda n=n: set_attribute(DataLoader(R), n, 1) for n in ("drop_last", "timeout", "x")])
tried(*[lambda n=n: set_attribute(DataLoader(R), n, 1) for n in ("batch_sampler", "sampler")])
set_attribute(DataLoader(R), "num_workers", 1)
set_attribute(DataLoader(R), "multiprocessing_context", "fork")
set_attribute(DataLoader(R), "persistent_workers", True)
DataLoader(R, num_workers=-1)
DataLoader(R, timeout=-1)
DataLoader(R, prefetch_factor=2)
DataLoader(R, num_workers=1, prefetch_factor=-1)
DataLoader(R, persistent_workers=True)
DataLoader(Count(3), shuffle=True)
DataLoader(Count(3), shuffle="x")
DataLoader(Count(3), sampler=[1])
DataLoader(Count(3), batch_sampler=[[1]])
DataLoader(R, sampler=[1], shuffle=True)
DataLoader(R, 2, batch_sampler=[[0]])
DataLoader(R, batch_sampler=[[0]], shuffle=True)
DataLoader(R, batch_sampler=[[0]], sampler=[1])
DataLoader(R, batch_sampler=[[0]], drop_last=True)
DataLoader(R, None, drop_last=True)
tried(*[lambda n=n: DataLoader(R, n) for n in (0, -1, 2.5, "x")])
DataLoader(R, drop_last=2)
DataLoader(R, multiprocessing_context="fork")
DataLoader(R, multiprocessing_context="nope", num_workers=1)
DataLoader(R, multiprocessing_context=3, num_workers=1)
DataLoader(R, num_workers=1000)
next(iter(DataLoader(R, timeout=3)))
DataLoader(R, 1, None, None, None, 0, None, False, False, 0, None, None, None, 2)
DataLoader(R, nonsense=1)
(lambda i: tried(*[lambda: next(i)] * 5))(iter(DataLoader(Failing(ValueError("boo")))))
list(DataLoader(Failing(StopIteration())))
list(DataLoader([torch.ones(2), torch.ones(3)], 2))
list(DataLoader([None]))
{k: v for k, v in vars(DataLoader(R, 2, num_workers=2)).items() if isinstance(v, int | None)}
"""

WORKERS = """
list(loader(R))
list(loader(rows, 3))
list(loader(R, 4, drop_last=True))
list(loader(R, None))
list(loader(R, 2, num_workers=1, prefetch_factor=1))
list(loader(Count(3), 2))
list(loader(Count(3), 2, drop_last=True))
list(loader(Count(4), None))
list(loader(Count(0), None))
list(loader(Count(1), None, prefetch_factor=5))
seeded(lambda: list(loader(R, 4, shuffle=True)))
seeded(lambda: [list(loader(R, 4, shuffle=True)) for _ in range(2)])
seeded(lambda: list(loader(R)))
state(lambda g: list(loader(R, 4, shuffle=True, generator=g)))
seeded(lambda: list(loader(Told(torch), None)))
seeded(lambda: list(loader(Told(torch), None, generator=generator())))
seeded(lambda: (lambda l: [list(l), list(l)])(loader(Told(torch), None, persistent_workers=True)))
seeded(lambda: (lambda l: [list(l), list(l)])(loader(R, shuffle=True, persistent_workers=True)))
(lambda l: [list(l), list(l)])(loader(Count(2), None, persistent_workers=True))
(lambda l: (next(iter(l)), list(l)))(loader(R, persistent_workers=True))
(lambda l: (len(l), list(l)))(loader(Counted(3, 3), 1))
(lambda l: (len(l), list(l)))(loader(Counted(5, 5), 2))
list(loader(R, 4, pin_memory=True))
list(loader(Failing(ValueError("boo"))))
list(loader(Failing(KeyError("boo"))))
list(loader(Failing(TwoArgumentsError(1, 2))))
list(loader(Failing(NamedMessageError("x"))))
list(loader(Failing(StopIteration())))
(lambda i: tried(*[lambda: next(i)] * 5))(iter(loader(Failing(ValueError("boo")))))
list(loader([1, 2], worker_init_fn=lambda number: 1 / 0))
list(loader([torch.ones(2), torch.ones(3)], 2))
list(loader([None, None], 2))
list(loader([torch.ones(2, requires_grad=True)] * 2, 2))
list(loader([torch.ones(2, requires_grad=True)] * 2, None))
list(loader([torch.ones(3, 2).t(), np.ones(2), "x", {"a": (y, 1.5)}], None))
list(loader([np.ones(2)] * 4, None, collate_fn=lambda e: e))
list(loader(Ending(lambda: os.kill(os.getpid(), 9)), None, num_workers=1))
list(loader(Ending(lambda: os._exit(3)), None, num_workers=1))
list(loader(Ending(lambda: sys.exit(4)), None, num_workers=1))
list(loader(Ending(lambda: os.kill(os.getpid(), 10)), None, num_workers=1))
iter(loader(R, num_workers=1.5))
(lambda i: (list(i), next(i)))(iter(loader([1, 2])))
[each.name.partition("-")[0] for each in iter(loader(R))._workers]
[type(each).__name__ for each in (iter(loader(R)), iter(DataLoader(R)))]
"""


def cases(text):
    return text.strip().splitlines()


@pytest.mark.parametrize("expression", cases(DATA_SETS))
def test_data_sets(expression):
    assert outcome(taper, expression) == outcome(torch, expression)


@pytest.mark.parametrize("expression", cases(SAMPLERS))
def test_samplers(expression):
    assert outcome(taper, expression) == outcome(torch, expression)


@pytest.mark.parametrize("expression", cases(COLLATING))
def test_collating(expression):
    assert outcome(taper, expression) == outcome(torch, expression)


@pytest.mark.parametrize("expression", cases(OPTIONS))
def test_in_one_process(expression):
    assert outcome(taper, expression) == outcome(torch, expression)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the cases use fork")
@pytest.mark.parametrize("expression", cases(WORKERS))
def test_with_workers(expression):
    ours = outcome(taper, expression)
    for _ in range(3):
        # On a busy machine PyTorch does not always say the same: its handler of dead children may
        # run anywhere, and a worker that has just ended cannot hand over its memory.
        theirs = outcome(torch, expression)
        if ours == theirs:
            break
    assert ours == theirs


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_all_sizes(shuffle, workers):
    """Lengths, batch sizes and prefetching in all combinations."""
    for count, size in itertools.product((1, 7), (1, 3, None)):
        for drop in (False, True) if size else (False,):
            options = f"{size}, shuffle={shuffle}, drop_last={drop}, num_workers={workers}"
            expression = f"seeded(lambda: list(DataLoader(range({count}), {options})))"
            assert outcome(taper, expression) == outcome(torch, expression), expression


def test_names():
    ours, theirs = taper.utils.data, torch.utils.data
    pipes = {"DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation"}
    pipes |= {"functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic"}
    pipes |= {"runtime_validation", "runtime_validation_disabled"}
    assert set(ours.__all__) == set(theirs.__all__) - pipes
    for name in ("dataset", "sampler", "distributed", "dataloader"):
        assert set(getattr(theirs, name).__all__) <= set(dir(getattr(ours, name)))
    public = {each for each in dir(theirs._utils.collate) if "collate" in each or "conv" in each}
    assert public <= set(dir(ours._utils.collate))


@pytest.mark.parametrize("strategy", ["share", "send"])
def test_sharing(strategy):
    """What is shared after `share_memory_`, and after sending."""
    pickler = pytest.importorskip("multiprocessing.reduction").ForkingPickler
    taper.multiprocessing.pickling.register(taper.Tensor, taper.nn.Parameter)
    found = []
    for package in (taper, torch):
        tensor = package.nn.Parameter(package.zeros(3))
        if strategy == "share":
            told = [tensor.share_memory_() is tensor]
            received = tensor[1:]
        else:
            received = pickler.loads(pickler.dumps(tensor))
            told = [type(received).__name__, received.requires_grad, received.is_leaf]
        with package.no_grad():
            received.fill_(2)
        copies = (tensor.clone(), package.ones_like(tensor), package.ones(0))
        told += [tensor.is_shared(), received.is_shared(), tensor.tolist()]
        told += [each.is_shared() for each in copies]
        found.append(told)
    assert found[0] == found[1]
