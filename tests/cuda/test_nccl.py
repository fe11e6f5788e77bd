"""The nccl backend on a real GPU, in a group of one: NCCL refuses two members on one device."""

from __future__ import annotations

import pytest

import taper
from taper import distributed as dist

if not taper.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)
if not dist.is_nccl_available():
    pytest.skip("CuPy has no NCCL here", allow_module_level=True)


@pytest.fixture
def group():
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("where", ["cuda", "cpu"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_collectives_of_one(group, where, dtype):
    own = taper.arange(1000).to(getattr(taper, dtype)).to(where)
    expected = own.tolist()
    total = own.clone()
    dist.all_reduce(total)
    mean = own.clone()
    if own.is_floating_point():
        dist.all_reduce(mean, dist.ReduceOp.AVG)
    work = dist.all_reduce(later := own.clone(), async_op=True)
    work.wait()
    dist.broadcast(given := own.clone(), 0)
    dist.all_gather(rows := [taper.zeros_like(own)], own)
    dist.reduce_scatter_tensor(part := taper.zeros_like(own), own)
    dist.all_to_all_single(swapped := taper.zeros_like(own), own)
    dist.barrier()
    for each in (total, mean, later, given, *rows, part, swapped):
        assert each.device == own.device and each.tolist() == expected


def _trained(wrap):
    taper.manual_seed(0)
    net = taper.nn.Sequential(
        taper.nn.Linear(16, 300), taper.nn.ReLU(), taper.nn.Linear(300, 4)
    ).cuda()
    net = wrap(net)
    optimizer = taper.optim.AdamW(net.parameters(), lr=1e-2)
    x = taper.randn(64, 16).cuda()
    for _ in range(5):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    return [each.tolist() for each in net.parameters()]


def test_data_parallel_training_of_one_is_plain_training(group):
    expected = _trained(lambda net: net)
    ddp = taper.nn.parallel.DistributedDataParallel
    assert _trained(ddp) == expected
    assert _trained(lambda net: ddp(net, gradient_as_bucket_view=True)) == expected
