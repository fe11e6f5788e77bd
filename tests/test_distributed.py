"""Process groups of one process, and what programs for many do with them."""

from __future__ import annotations

import datetime
import socket

import pytest

import taper
from taper import distributed as dist
from taper import nn
from taper.nn.parallel import DistributedDataParallel
from taper.utils.data import DistributedSampler


@pytest.fixture
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def test_rank_and_size_come_from_the_environment(monkeypatch):
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MASTER_PORT", raising=False)
    with pytest.raises(ValueError, match="environment variable MASTER_PORT expected, but not set"):
        dist.init_process_group("gloo")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(probe.getsockname()[1]))
    dist.init_process_group("gloo")
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        (("nccl",), {"rank": 0, "world_size": 1}, RuntimeError, "doesn't have NCCL built in"),
        (("gloo",), {}, AssertionError, "world_size must be positive if using store"),
        (("foo",), {"rank": 0, "world_size": 1}, AssertionError, "Unknown backend type foo"),
    ],
)
def test_groups_that_cannot_be_made(arguments, options, kind, words):
    with pytest.raises(kind, match=words):
        dist.init_process_group(*arguments, store=dist.HashStore(), **options)
    assert not dist.is_initialized()


def test_two_default_groups_are_refused(group):
    with pytest.raises(ValueError, match="trying to initialize the default process group twice!"):
        dist.init_process_group("gloo")


def test_without_a_group_collectives_are_refused():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.all_reduce(taper.ones(1))


def test_collectives_of_one_process(group):
    value, found = taper.arange(2.0), [taper.zeros(2)]
    work = dist.all_reduce(value, dist.ReduceOp.SUM, async_op=True)
    assert work.wait() and work.get_future().wait()[0] is value
    dist.broadcast(value, 0)
    dist.all_gather(found, value)
    assert found[0].tolist() == value.tolist() == [0, 1]
    part = taper.zeros(2)
    dist.scatter(part, [value])
    assert part.tolist() == [0, 1]
    dist.barrier()
    objects = [None]
    dist.all_gather_object(objects, {"rank": dist.get_rank()})
    assert objects == [{"rank": 0}]
    assert dist.get_rank(dist.new_group([0])) == 0


def test_collectives_are_not_recorded(group):
    y = taper.ones(2, requires_grad=True) * 2
    dist.all_reduce(y)
    assert y._version == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dist.all_gather([taper.zeros(3)], taper.ones(2)), "invalid tensor size"),
        (lambda: dist.broadcast(taper.ones(2), 1), "invalid root rank: 1"),
        (lambda: dist.all_gather([], taper.ones(2)), "expected length 1, got 0"),
    ],
)
def test_wrong_arguments_are_refused(group, call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_there_is_nobody_to_send_to(group):
    with pytest.raises(ValueError, match="should not be the same as the rank"):
        dist.send(taper.ones(1), 0)


def test_a_distributed_module_is_its_module(group):
    module = nn.Linear(2, 1)
    parallel = DistributedDataParallel(module, find_unused_parameters=True)
    with parallel.no_sync():
        parallel(taper.ones(1, 2)).sum().backward()
    assert module.weight.grad.tolist() == [[1, 1]]
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]


def test_a_module_without_parameters_needs_no_group(group):
    with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
        DistributedDataParallel(nn.ReLU())


def test_the_sampler_asks_the_group(group):
    sampler = DistributedSampler(range(3), shuffle=False)
    assert (sampler.num_replicas, sampler.rank, list(sampler)) == (1, 0, [0, 1, 2])


def test_stores():
    store = dist.HashStore()
    store.set("a", "b")
    assert (store.get("a"), store.add("n", 3), store.add("n", 2)) == (b"b", 3, 5)
    assert store.compare_set("a", "b", "c") == b"c" and store.check(["a", "n"])
    dist.PrefixStore("p", store).set("x", "1")
    assert store.get("p/x") == b"1" and store.delete_key("a")
    store.set_timeout(datetime.timedelta(seconds=0.01))
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        store.get("a")


def test_functions_for_devices_refuse_the_cpu():
    module = nn.Linear(2, 1)
    assert nn.parallel.replicate(module, []) == []
    with pytest.raises(AssertionError, match="Gather function not implemented for CPU tensors"):
        nn.parallel.gather([taper.ones(1)], "cpu")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        nn.parallel.parallel_apply([module], [taper.ones(1, 2)])
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        nn.parallel.scatter(taper.ones(2), ["cpu"])
