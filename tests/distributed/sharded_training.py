"""Train an MLP and a GPT by sharded processes, and by one process on the whole batch: what differs.

`python sharded_training.py FOLDER` writes losses, bytes and memory of each rank as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import taper
from taper import distributed as dist
from taper import nn
from taper.distributed.fsdp import FullyShardedDataParallel, fully_shard
from taper.distributed.fsdp.wrap import ModuleWrapPolicy
from taper.nn import functional as F

STEPS, ROWS = 6, 8


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            each.view(b, t, 4, c // 4).transpose(1, 2)
            for each in self.qkv(self.norm(x)).chunk(3, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.last(x))))


class Gpt(nn.Module):
    def __init__(self, width=32, words=20):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(8, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        x = self.words(x) + self.places.weight[: x.shape[1]]
        for each in self.blocks:
            x = each(x)
        return self.head(x)


def made(kind):
    taper.manual_seed(0)
    if kind == "gpt":
        return Gpt()
    return nn.Sequential(
        nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4)
    )


def sharded(net, way):
    layers = list(net.blocks) if isinstance(net, Gpt) else [net[0], net[2]]
    if way == "fsdp":
        return FullyShardedDataParallel(net, auto_wrap_policy=ModuleWrapPolicy({type(layers[0])}))
    for each in layers:
        fully_shard(each)
    return fully_shard(net)


def loss_of(net, kind, rank, count):
    generator = taper.Generator().manual_seed(0)
    part = slice(rank * ROWS // count, (rank + 1) * ROWS // count)
    if kind == "gpt":
        x = taper.randint(0, 20, (ROWS, 9), generator=generator)[part]
        return F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    x = taper.randn(ROWS, 16, generator=generator)
    y = taper.randn(ROWS, 4, generator=generator)
    return F.mse_loss(net(x[part]), y[part])


def curve(net, kind, rank, count):
    optimizer = taper.optim.AdamW(net.parameters(), lr=0.01)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(net, kind, rank, count)
        loss.backward()
        if isinstance(net, FullyShardedDataParallel):
            net.clip_grad_norm_(1.0)
        else:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        total = loss.detach().clone()
        if count > 1:
            dist.all_reduce(total, dist.ReduceOp.AVG)
        losses.append(total.item())
    return losses, optimizer


def held(net, optimizer):
    """Bytes of parameters, gradients and states that this process keeps between steps."""

    def local(value):
        part = value.to_local() if hasattr(value, "to_local") else value
        return part.numel() * part.element_size()

    total = 0
    for each in net.parameters():
        states = [v for v in optimizer.state[each].values() if v.dim()]
        total += sum(local(v) for v in [each.detach(), each.grad, *states])
    return total


def resident(rooms):
    """Bytes of the memory for whole parameters that the system still has for this process."""
    page, found = 4096, 0
    with Path("/proc/self/pagemap").open("rb") as table:
        for each in rooms:
            table.seek(each.bytes.ctypes.data // page * 8)
            entries = np.frombuffer(table.read(-(-each.bytes.nbytes // page) * 8), np.uint64)
            found += page * int((entries >> np.uint64(63)).sum())
    return found


def rooms_of(net):
    groups = [getattr(each, "_fsdp_state", None) for each in net.modules()]
    found = [each.group for each in groups if each is not None and each.group is not None]
    found += [each._group for each in net.modules() if isinstance(each, FullyShardedDataParallel)]
    return [each.room for each in found if each is not None]


def main():
    dist.init_process_group("gloo")
    rank, count = dist.get_rank(), dist.get_world_size()
    seen = {}
    for kind in ("mlp", "gpt"):
        plain = made(kind)
        whole, optimizer = curve(plain, kind, 0, 1)
        bytes_of_one = held(plain, optimizer)
        for way in ("fully_shard", "fsdp"):
            net = sharded(made(kind), way)
            losses, optimizer = curve(net, kind, rank, count)
            rooms = rooms_of(net)
            seen[f"{kind} {way}"] = {
                "difference": max(abs(a - b) for a, b in zip(whole, losses, strict=True)),
                "fell": whole[0] - whole[-1],
                "share": held(net, optimizer) / bytes_of_one,
                "away": not any(each.is_here for each in rooms),
                "rooms": sum(each.bytes.nbytes for each in rooms),
            }
    seen["resident"] = resident_share()
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(seen))
    dist.destroy_process_group()


def resident_share():
    """How much of a large layer's whole parameters is in memory: inside its call, and after."""
    net = fully_shard(nn.Sequential(fully_shard(nn.Linear(1000, 1000)), nn.ReLU()))
    rooms, inside = rooms_of(net), []
    net[0].register_forward_pre_hook(lambda *_: inside.append(resident(rooms)))
    net(taper.ones(1, 1000)).sum().backward()
    return inside[0] / 4e6, resident(rooms) / 4e6


main()
