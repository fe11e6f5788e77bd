"""Save, or load, a sharded model with its optimizer: `python resharding.py save|load WAY FOLDER`.

With one process and the way `plain`, nothing is divided.  Loading goes on with one step and writes
a digest of the parameters into FOLDER/digest-COUNT-WAY.
"""

from __future__ import annotations

import sys
from pathlib import Path

import taper
from taper import distributed as dist
from taper import nn
from taper.distributed import checkpoint as dcp
from taper.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from taper.distributed.fsdp import FullyShardedDataParallel, fully_shard


def made(way):
    taper.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 7), nn.Linear(7, 3))
    if way == "fully_shard":
        fully_shard(net[0])
        fully_shard(net)
    elif way == "fsdp":
        net = FullyShardedDataParallel(net)
    return net, taper.optim.Adam(net.parameters(), lr=0.05)


def step(net, optimizer):
    optimizer.zero_grad()
    net(taper.arange(12.0).reshape(2, 6) / 12).square().sum().backward()
    optimizer.step()


def main():
    what, way, folder = sys.argv[1:4]
    if way != "plain":
        dist.init_process_group("gloo")
    net, optimizer = made(way)
    if what == "save":
        for _ in range(3):
            step(net, optimizer)
    model, optim = get_state_dict(net, optimizer)
    state = {"model": model, "optim": optim, "step": 3 if what == "save" else 0}
    if what == "save":
        dcp.save(state, checkpoint_id=folder)
    else:
        with taper.no_grad():
            for each in net.parameters():
                each.zero_()
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(
            net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"]
        )
        step(net, optimizer)
        whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
        text = repr({name: (each * 1e4).round().tolist() for name, each in whole.items()})
        count = dist.get_world_size() if way != "plain" else 1
        if way == "plain" or dist.get_rank() == 0:
            Path(folder, f"digest-{count}-{way}").write_text(f"{state['step']} {text}")
    if way != "plain":
        dist.destroy_process_group()


main()
