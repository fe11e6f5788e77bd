"""Steps with DistributedDataParallel and collectives, eager and captured: both must be the same."""

from __future__ import annotations

import datetime
import os

import taper
from taper import distributed as dist
from taper import nn


def trained(is_captured: bool, options: dict) -> tuple:
    taper.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.SyncBatchNorm(8), nn.Tanh(), nn.Linear(8, 2))
    net = nn.parallel.DistributedDataParallel(net, **options)
    optimizer = taper.optim.Adam(net.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = taper.capture(step) if is_captured else step
    taper.manual_seed(1 + dist.get_rank())
    losses = [run(taper.randn(4, 3), taper.randn(4, 2)).item() for _ in range(6)]
    reason = run.explain() if is_captured else ""
    return [round(each, 5) for each in losses], reason


def doubled(is_captured: bool) -> tuple:
    def double(x):
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    run = taper.capture(double) if is_captured else double
    found = [run(taper.ones(2) * (dist.get_rank() + each)).tolist() for each in range(4)]
    return found, run.explain() if is_captured else ""


def main() -> None:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    every = [{}, {"find_unused_parameters": True}, {"static_graph": True}]
    for options in [*every, {"gradient_as_bucket_view": True}]:
        losses, _ = trained(False, options)
        replayed, reason = trained(True, options)
        assert losses == replayed, (options, losses, replayed)
        assert "DistributedDataParallel: processes work together" in reason, reason
    found, _ = doubled(False)
    replayed, reason = doubled(True)
    assert found == replayed == [[3 + 4 * each] * 2 for each in range(4)], (found, replayed)
    assert "all_reduce: processes work together" in reason, reason
    os.write(1, b"the same\n")


main()
