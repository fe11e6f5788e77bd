"""Process groups of one process: both packages answer the same."""

from __future__ import annotations

import warnings

import pytest
import torch

import taper

EXPRESSIONS = [
    "dist.is_available(), dist.is_initialized(), dist.is_gloo_available()",
    "dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.get_backend_config()",
    "dist.get_process_group_ranks(dist.group.WORLD)",
    "dist.get_rank(dist.new_group([0]))",
    "dist.new_group([1])",
    "dist.init_process_group('gloo')",
    "dist.barrier()",
    "dist.barrier(async_op=True).wait()",
    "dist.all_reduce(3)",
    "dist.all_reduce(p.ones(2), async_op=True).get_future().wait()",
    "dist.broadcast(p.ones(2), 1)",
    "dist.broadcast(p.ones(2))",
    "dist.reduce(p.ones(2), 0)",
    "dist.send(p.ones(1), 0)",
    "dist.all_gather([p.zeros(3)], p.ones(2))",
    "dist.all_gather([p.zeros(2, 3)], p.ones(2))",
    "dist.all_gather([p.zeros(2).long()], p.ones(2))",
    "dist.all_gather([], p.ones(2))",
    "dist.all_gather(p.ones(2), p.ones(2))",
    "dist.gather(p.ones(2))",
    "dist.gather(p.ones(2), [p.zeros(2)] * 2)",
    "dist.scatter(p.zeros(2))",
    "dist.scatter(p.zeros(2), [p.ones(2)] * 2)",
    "dist.scatter(p.zeros(2), [p.ones(3)])",
    "dist.reduce_scatter(p.zeros(2), [p.ones(2)] * 2)",
    "filled(lambda x: dist.all_gather([x], p.ones(2)))",
    "filled(lambda x: dist.gather(p.ones(2), [x], dst=0))",
    "filled(lambda x: dist.scatter(x, [p.ones(2)], src=0))",
    "filled(lambda x: dist.reduce_scatter(x, [p.ones(2)]))",
    "filled(lambda x: dist.all_to_all([x], [p.ones(2)]))",
    "filled(lambda x: dist.all_to_all_single(x, p.ones(2)))",
    "filled(lambda x: dist.all_gather_into_tensor(x, p.ones(2)))",
    "filled(lambda x: dist.reduce_scatter_tensor(x, p.ones(2)))",
    "dist.ReduceOp.SUM, str(dist.ReduceOp.MAX), int(dist.ReduceOp.BXOR)",
    "dist.Backend('GLOO'), dist.GroupMember.NON_GROUP_MEMBER",
    "dist.get_node_local_rank(3)",
    "ddp(p.nn.ReLU())",
    "ddp(p.nn.Linear(2, 1))",
    "ddp(p.nn.Linear(2, 1), device_ids=[0])",
    "list(ddp(p.nn.Linear(2, 1)).state_dict())",
    "list(p.utils.data.DistributedSampler(range(3), shuffle=False))",
]

WITHOUT_GROUP = [
    "dist.get_rank()",
    "dist.all_reduce(p.ones(1))",
    "dist.destroy_process_group()",
    "dist.init_process_group('nccl', store=dist.HashStore(), rank=0, world_size=1)",
    "dist.init_process_group('mpi', store=dist.HashStore(), rank=0, world_size=1)",
    "dist.init_process_group('foo', store=dist.HashStore(), rank=0, world_size=1)",
    "dist.init_process_group(3, store=dist.HashStore(), rank=0, world_size=1)",
    "dist.init_process_group('gloo', store=dist.HashStore())",
    "dist.init_process_group('gloo', store=dist.HashStore(), init_method='env://')",
    "dist.init_process_group('gloo', timeout=3, store=dist.HashStore(), rank=0, world_size=1)",
    "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:29500')",
    "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:29500', rank=0)",
    "dist.init_process_group('gloo', init_method='file:///tmp/x')",
    "dist.init_process_group('gloo', init_method='foo://x', rank=0, world_size=1)",
    "dist.init_process_group('gloo')",
    "ddp(p.nn.Linear(2, 1))",
    "p.utils.data.DistributedSampler(range(3))",
]


def outcome(package, expression):
    def filled(write):
        target = package.zeros(2)
        write(target)
        return target

    names = {
        "p": package,
        "dist": package.distributed,
        "ddp": package.nn.parallel.DistributedDataParallel,
        "filled": filled,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(expression, names))
        except Exception as error:
            text = str(error).replace("torch.", "").replace("taper.tensor.", "")
            return f"{type(error).__name__}: {text}"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def groups():
    for package in (torch, taper):
        dist = package.distributed
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    for package in (torch, taper):
        package.distributed.destroy_process_group()


@pytest.mark.parametrize("expression", WITHOUT_GROUP)
def test_both_answer_the_same_without_a_group(expression):
    assert outcome(taper, expression) == outcome(torch, expression)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_both_answer_the_same_in_a_group(groups, expression):
    assert outcome(taper, expression) == outcome(torch, expression)
