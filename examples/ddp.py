"""Train a network by several processes: each works on a part of every batch.

Shows `DistributedDataParallel`, `DistributedSampler`, gradients accumulated without sending them
(`no_sync`) and a checkpoint that one process writes.  However many processes there are, the losses
are the same.

    taper run --nproc-per-node 2 examples/ddp.py
    mpiexec -n 2 taper run examples/ddp.py
    torchrun --nproc-per-node 2 examples/ddp.py
"""

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

STARTED_BY = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


def rings(count):
    """Points in the plane, and the ring to which each belongs."""
    ring = torch.randint(0, 4, (count,))
    radius = ring + 0.6 * torch.rand(count)
    angle = 6.2832 * torch.rand(count)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), ring


def network(width):
    layers = [nn.Linear(2, width), nn.Tanh()]
    for _ in range(2):
        layers += [nn.Linear(width, width), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(width, 4))


def accuracy(model, points, ring):
    with torch.no_grad():
        return (model(points).argmax(1) == ring).float().mean().item()


def train(model, optimizer, loader, options, say):
    """Do the steps; every process gets the average loss of all of them."""
    step, epoch = 0, 0
    while step < options.steps:
        loader.sampler.set_epoch(epoch)
        epoch += 1
        for points, ring in loader:
            total = torch.zeros(())
            parts = list(
                zip(points.chunk(options.accumulate), ring.chunk(options.accumulate), strict=True)
            )
            optimizer.zero_grad()
            for number, (part, target) in enumerate(parts):
                is_last = number == len(parts) - 1
                with contextlib.nullcontext() if is_last else model.no_sync():
                    loss = F.cross_entropy(model(part), target) / len(parts)
                    loss.backward()
                total += loss.detach()
            optimizer.step()
            dist.all_reduce(total)
            step += 1
            if step % options.log_every == 0:
                say(f"step {step} loss {total.item() / dist.get_world_size():.6f}")
            if step == options.steps:
                return


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--batch-size", type=int, default=128, help="of all processes together")
    parser.add_argument("--accumulate", type=int, default=2, help="parts of a batch")
    parser.add_argument("--points", type=int, default=4096)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--out", default=None, help="folder for the checkpoint")
    return parser.parse_args()


def main():
    options = parse()
    if any(name in os.environ for name in STARTED_BY):
        dist.init_process_group("gloo")
    else:  # started as one process: a group of its own
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    rank, size = dist.get_rank(), dist.get_world_size()

    def say(text):
        if rank == 0:
            print(text, flush=True)

    torch.manual_seed(options.seed)
    data = TensorDataset(*rings(options.points))
    test = rings(1000)
    model = DistributedDataParallel(network(options.width))
    optimizer = optim.Adam(model.parameters(), lr=options.lr)
    sampler = DistributedSampler(data, seed=options.seed, drop_last=True)
    loader = DataLoader(data, options.batch_size // size, sampler=sampler, drop_last=True)
    say(f"processes {size}")
    train(model, optimizer, loader, options, say)
    say(f"accuracy {accuracy(model.module, *test):.3f}")
    if rank == 0:
        path = Path(options.out or tempfile.mkdtemp()) / "rings.pt"
        torch.save(model.module.state_dict(), path)
        say(f"saved {path}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
