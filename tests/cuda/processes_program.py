"""Collectives and data parallel training with tensors on the fake device; a member of two.

Prints a line for each thing that this member found; `test_processes.py` compares.
"""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from fake import Runtime  # noqa: E402

import taper as torch  # noqa: E402
from taper import distributed as dist  # noqa: E402
from taper import nn  # noqa: E402
from taper.gpu import state  # noqa: E402


def collectives(rank: int, where: str) -> list:
    """What each operation gives on a device."""
    own = torch.arange(4.0, device=where) + 10 * rank
    total = own.clone()
    dist.all_reduce(total)
    strided = torch.stack([own, own], 1)[:, 1]
    dist.all_reduce(strided, dist.ReduceOp.MAX)
    given = own.clone()
    dist.broadcast(given, 1)
    rows = [torch.empty(4, device=where) for _ in range(2)]
    dist.all_gather(rows, own)
    part = torch.empty(2, device=where)
    dist.reduce_scatter_tensor(part, own)
    swapped = torch.empty(4, device=where)
    dist.all_to_all_single(swapped, own)
    work = dist.all_reduce(later := own.clone(), async_op=True)
    work.wait()
    message = torch.zeros(3, device=where)
    if rank:
        dist.recv(message, 0)
    else:
        dist.send(torch.ones(3, device=where), 1)
    found = [total, strided, given, *rows, part, swapped, later, message]
    assert all(str(each.device).startswith(where) for each in found)
    return torch.cat(found).tolist()


def training(rank: int, where: str, **options: object) -> list:
    """The parameters after some steps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 200), nn.BatchNorm1d(200), nn.ReLU(), nn.Linear(200, 2))
    model = nn.parallel.DistributedDataParallel(model.double().to(where), **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.linspace(-1, 1, 24).reshape(2, 4, 3)[rank].double().to(where)
    for _ in range(3):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
    return [each.double().sum().item() for each in model.state_dict().values()]


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # in one piece, whatever the other member writes


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    ways = [{}, {"gradient_as_bucket_view": True}, {"static_graph": True}]
    expected = [collectives(rank, "cpu"), *[training(rank, "cpu", **each) for each in ways]]
    state.start(Runtime())
    found = [collectives(rank, "cuda"), *[training(rank, "cuda", **each) for each in ways]]
    for name, one, other in zip(["collectives", *map(str, ways)], expected, found, strict=True):
        is_close = torch.allclose(torch.tensor(one), torch.tensor(other), rtol=1e-6)
        say(f"rank {rank} {name}: {'ok' if is_close else f'{one} {other}'}")
    try:
        dist.fsdp.fully_shard(nn.Linear(2, 2, device="cuda"))
    except NotImplementedError as error:
        say(f"rank {rank} fsdp: {error}")
    dist.destroy_process_group()


main()
