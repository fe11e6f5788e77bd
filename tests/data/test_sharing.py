"""Tensors in shared memory: between processes, through pipes and queues, and all of a model."""

import copy
import gc
import multiprocessing
import os
import pickle
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import taper
from taper.arrays.shared_memory import AVAILABLE, Lease, Segment
from taper.multiprocessing.pickling import register

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="descriptors cannot be handed over")
METHODS = multiprocessing.get_all_start_methods()
register(taper.Tensor, taper.nn.Parameter, taper.UntypedStorage)


def through_pickle(value):
    """Send a value as a queue of multiprocessing does, within one process."""
    return pickle.loads(ForkingPickler.dumps(value))


def test_share_memory():
    tensor = taper.arange(4.0)
    assert not tensor.is_shared()
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared() and tensor.untyped_storage().is_shared()
    assert tensor[1:].is_shared() and tensor.tolist() == [0, 1, 2, 3]
    assert tensor.untyped_storage().nbytes() == 16
    for other in (tensor.clone(), copy.deepcopy(tensor), taper.ones_like(tensor)):
        assert not other.is_shared()
    assert not pickle.loads(pickle.dumps(tensor)).is_shared()
    assert taper.ones(0).share_memory_().is_shared() and not taper.ones(0).is_shared()
    view = taper.arange(6).reshape(2, 3).t()
    assert view.share_memory_().stride() == (1, 3) and view.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_storages():
    storage = taper.UntypedStorage(4)
    assert storage.share_memory_() is storage and storage.is_shared()
    shared = taper.ones(2).share_memory_().untyped_storage()
    assert shared.share_memory_() is shared
    with pytest.raises(NotImplementedError, match="use share_memory_.. of the tensor"):
        taper.ones(2).untyped_storage().share_memory_()
    found = through_pickle(storage)
    found.fill_(7)
    assert storage.tolist() == [7, 7, 7, 7]


def test_both_sides_see_the_same_memory():
    tensor = taper.zeros(3).share_memory_()
    found = through_pickle(tensor)
    found.fill_(2)
    assert tensor.tolist() == [2, 2, 2] and found.is_shared()
    again = through_pickle(found)
    again.zero_()
    assert tensor.tolist() == [0, 0, 0]


def test_sending_moves_into_shared_memory():
    tensor = taper.zeros(3)
    found = through_pickle(tensor)
    assert tensor.is_shared()
    found.fill_(2)
    assert tensor.tolist() == [2, 2, 2]


def test_views_and_classes():
    base = taper.arange(4.0).share_memory_()
    part, whole = through_pickle([base[1:3], base])
    part.zero_()
    assert base.tolist() == [0, 0, 0, 3] == whole.tolist()
    assert part.storage_offset() == 1
    parameter = through_pickle(taper.nn.Parameter(taper.ones(2)))
    assert type(parameter) is taper.nn.Parameter and parameter.requires_grad and parameter.is_leaf
    assert through_pickle(taper.ones(0, 3)).shape == (0, 3)
    conjugate = through_pickle(taper.tensor([1 + 2j]).conj())
    assert conjugate.tolist() == [1 - 2j]
    with pytest.raises(RuntimeError, match="^Cowardly refusing to serialize non-leaf tensor which"):
        through_pickle(taper.ones(2, requires_grad=True) * 2)


def test_hooks_are_told_to_be_lost():
    tensor = taper.ones(2, requires_grad=True)
    tensor.register_hook(abs)
    with pytest.warns(UserWarning, match="on tensor will not be serialized"):
        assert through_pickle(tensor).requires_grad


def test_memory_is_given_back():
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files cannot be counted")
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    tensors = [taper.ones(1000).share_memory_() for _ in range(20)]
    kept = tensors[0].numpy()[3:5]
    del tensors
    assert len(os.listdir("/proc/self/fd")) == before + 1
    np.testing.assert_array_equal(kept, [1, 1])
    del kept
    assert len(os.listdir("/proc/self/fd")) == before


def add_one(tensor, answers):
    tensor.add_(1)
    answers.put(tensor.sum().item())


def send_tensor(answers, done):
    answers.put(taper.full((1000,), 3.0))
    done.wait(60)


def train(model, rank):
    taper.manual_seed(rank)
    optimizer = taper.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        (model(taper.ones(4, 3)) - 1).pow(2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("method", METHODS)
def test_processes_train_one_model(method):
    context = multiprocessing.get_context(method)
    taper.manual_seed(0)
    model = taper.nn.Linear(3, 2).share_memory()
    assert all(each.is_shared() for each in model.parameters())
    shared = taper.zeros(3).share_memory_()
    answers = context.Queue()
    processes = [context.Process(target=train, args=(model, rank)) for rank in range(2)]
    processes.append(context.Process(target=add_one, args=(shared, answers)))
    for each in processes:
        each.start()
    assert answers.get(timeout=60) == 3
    for each in processes:
        each.join(60)
    assert [each.exitcode for each in processes] == [0, 0, 0]
    assert shared.tolist() == [1, 1, 1]
    assert (model(taper.ones(4, 3)) - 1).pow(2).mean().item() < 1e-3
    answers.close()
    answers.join_thread()


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
def test_queue_brings_tensors():
    context = multiprocessing.get_context("fork")
    answers, done = context.Queue(), context.Event()
    process = context.Process(target=send_tensor, args=(answers, done))
    process.start()
    found = answers.get(timeout=60)
    assert found.is_shared() and found.sum().item() == 3000
    done.set()
    process.join(60)
    assert found.sum().item() == 3000  # the memory outlives its maker
    answers.close()
    answers.join_thread()


@pytest.mark.parametrize("kind", [Segment, Lease])
def test_what_ctrl_c_has_left_half_made_is_freed_in_silence(kind, capsys):
    half = kind.__new__(kind)
    half.__del__()
    del half
    gc.collect()
    assert capsys.readouterr().err == ""
