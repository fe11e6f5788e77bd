"""accelerate: registered objects, skipped batches, offload to disk, device maps, executable batch sizes, hooks, local SGD, scheduler and gather."""

import tempfile

import torch
from accelerate import (
    Accelerator,
    cpu_offload,
    disk_offload,
    infer_auto_device_map,
    init_empty_weights,
    load_checkpoint_and_dispatch,
)
from accelerate.hooks import ModelHook, add_hook_to_module, remove_hook_from_module
from accelerate.local_sgd import LocalSGD
from accelerate.utils import (
    DistributedDataParallelKwargs,
    ProjectConfiguration,
    compute_module_sizes,
    find_executable_batch_size,
    set_seed,
)

set_seed(3)


def net():
    return torch.nn.Sequential(
        torch.nn.Linear(6, 12), torch.nn.BatchNorm1d(12), torch.nn.ReLU(), torch.nn.Linear(12, 3)
    )


x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))


class Count:
    n = 0

    def state_dict(self):
        return {"n": self.n}

    def load_state_dict(self, s):
        self.n = s["n"]


with tempfile.TemporaryDirectory() as d:
    acc = Accelerator(
        cpu=True,
        gradient_accumulation_steps=2,
        project_config=ProjectConfiguration(
            project_dir=d, automatic_checkpoint_naming=True, total_limit=2
        ),
        kwargs_handlers=[DistributedDataParallelKwargs()],
    )
    m = net()
    opt = torch.optim.RMSprop(m.parameters(), 1e-2)
    sch = torch.optim.lr_scheduler.OneCycleLR(opt, 0.02, total_steps=20)
    dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 5, shuffle=True)
    m, opt, dl, sch = acc.prepare(m, opt, dl, sch)
    c = Count()
    acc.register_for_checkpointing(c)
    with LocalSGD(acc, m, 2, enabled=False) as ls:
        for epoch in range(2):
            for i, (a, b) in enumerate(dl):
                with acc.accumulate(m):
                    loss = torch.nn.functional.cross_entropy(m(a), b)
                    acc.backward(loss)
                    if acc.sync_gradients:
                        print("norm", acc.clip_grad_norm_(m.parameters(), 0.7).item())
                    opt.step()
                    sch.step()
                    opt.zero_grad()
                    ls.step()
                    c.n += 1
                print(i, loss.item(), sch.get_last_lr()[0], acc.gather_for_metrics((b,))[0].shape)
            acc.save_state()
    w = m[0].weight.clone()
    c.n = 0
    with torch.no_grad():
        m[0].weight.zero_()
    acc.load_state(d + "/checkpoints/checkpoint_1")
    print(c.n, (m[0].weight - w).abs().max().item())
    for a, b in acc.skip_first_batches(dl, 5):
        print(a.sum().item())
    acc.save_model(m, d + "/w", max_shard_size="1KB")
    import os

    print(len(os.listdir(d + "/w")))
    with init_empty_weights():
        e = net()
    print(
        compute_module_sizes(e)[""],
        e[0].weight.device,
        infer_auto_device_map(e, {"cpu": 500, "disk": 10000}),
    )
    e = load_checkpoint_and_dispatch(
        e,
        d + "/w",
        device_map={"0": "cpu", "1": "cpu", "2": "cpu", "3": "disk"},
        offload_folder=d + "/off",
    )
    e.eval()
    m.eval()
    print((e(x) - m(x)).abs().max().item(), e[3].weight.device)
    f = net()
    cpu_offload(f, execution_device=torch.device("cpu"))
    print(f(x).shape, f[0].weight.device.type)
    g = net()
    s = g(x[:4]).shape
    disk_offload(g, d + "/g", execution_device=torch.device("cpu"))
    print(g(x).shape, s)


class Twice(ModelHook):
    def pre_forward(self, module, *a, **k):
        return (a[0] * 2,), k

    def post_forward(self, module, o):
        return o + 1


cost = torch.nn.Linear(2, 2)
torch.nn.init.ones_(cost.weight)
torch.nn.init.zeros_(cost.bias)
add_hook_to_module(cost, Twice())
print(cost(torch.ones(1, 2)).tolist())
remove_hook_from_module(cost)
print(cost(torch.ones(1, 2)).tolist())


@find_executable_batch_size(starting_batch_size=16)
def go(batch_size):
    if batch_size > 4:
        raise RuntimeError("CUDA out of memory.")
    return batch_size


print(
    go(),
    acc.is_main_process,
    acc.num_processes,
    acc.unwrap_model(m) is m,
    acc.state.mixed_precision,
    repr(acc.device),
)
