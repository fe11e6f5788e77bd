"""accelerate: mixed precision, accumulate, gather, trackers off, save and load state, big model utilities, dispatch."""

import tempfile

import torch
from accelerate import (
    Accelerator,
    init_empty_weights,
    load_checkpoint_and_dispatch,
)
from accelerate.utils import (
    compute_module_sizes,
    set_seed,
)
from torch.utils.data import DataLoader, TensorDataset

set_seed(5)
acc = Accelerator(cpu=True, gradient_accumulation_steps=3)
net = torch.nn.Sequential(
    torch.nn.Linear(7, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
)
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.02, total_steps=40)
x = torch.randn(60, 7)
dl = DataLoader(TensorDataset(x, x[:, :1] * x[:, 1:2]), 6, shuffle=True)
net, opt, dl, sched = acc.prepare(net, opt, dl, sched)
acc.register_for_checkpointing(sched)
for e in range(2):
    for a, b in dl:
        with acc.accumulate(net):
            loss = torch.nn.functional.huber_loss(net(a), b)
            acc.backward(loss)
            if acc.sync_gradients:
                acc.clip_grad_norm_(net.parameters(), 0.3)
            opt.step()
            sched.step()
            opt.zero_grad()
    print(loss.item(), sched.get_last_lr(), acc.gather(loss).sum().item())
with tempfile.TemporaryDirectory() as d:
    acc.save_state(d)
    before = [p.clone() for p in net.parameters()]
    with torch.no_grad():
        [p.zero_() for p in net.parameters()]
    acc.load_state(d)
    print(all(torch.equal(a, b) for a, b in zip(before, net.parameters())))
    acc.save_model(net, d + "/m")
    with init_empty_weights():
        empty = torch.nn.Sequential(
            torch.nn.Linear(7, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
        )
    print({k: str(p.device) for k, p in empty.named_parameters()}, compute_module_sizes(empty)[""])
    full = load_checkpoint_and_dispatch(empty, d + "/m", device_map={"": "cpu"})
    print(torch.allclose(full(x), acc.unwrap_model(net)(x)))
