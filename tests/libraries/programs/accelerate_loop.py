"""accelerate: a loop with accumulation, clipping and schedule; state saved and loaded; empty weights."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
x = torch.randn(32, 5)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4, shuffle=True)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for epoch in range(3):
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    print(epoch, loss.item(), schedule.get_last_lr()[0])
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    kept = [p.detach().clone() for p in model.parameters()]
    drawn = torch.rand(2)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    accelerator.load_state(folder)
    print(
        all(torch.equal(a, b) for a, b in zip(kept, model.parameters())),
        torch.equal(drawn, torch.rand(2)),
    )
everything = accelerator.gather_for_metrics(model(x[:3]))
print(*everything.flatten().tolist())
print(accelerator.reduce(torch.tensor([2.0])).item(), accelerator.is_main_process)

with tempfile.TemporaryDirectory() as folder:
    small = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    accelerator.save_model(small, folder)
    with init_empty_weights():
        empty = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    print(empty[0].weight.device, empty[0].weight.shape)
    filled = load_checkpoint_and_dispatch(empty, folder, device_map={"": "cpu"})
    print(*filled(torch.ones(1, 3)).flatten().tolist(), *small(torch.ones(1, 3)).flatten().tolist())
