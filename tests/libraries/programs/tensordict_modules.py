"""tensordict: nested data, modules in sequence, probabilistic modules, stacking, memmap, functional calls over parameters, tensorclass."""

import tempfile

import torch
from tensordict import LazyStackedTensorDict, TensorDict, tensorclass
from tensordict.nn import (
    NormalParamExtractor,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)

torch.manual_seed(0)
td = TensorDict(
    {
        "obs": torch.randn(4, 3),
        "next": {"r": torch.arange(4.0), "d": torch.zeros(4, dtype=torch.bool)},
    },
    batch_size=[4],
)
print(
    td["next", "r"].tolist(),
    td[1:3].batch_size,
    td.flatten_keys(".").keys(),
    td.select("obs").numel(),
    td.apply(lambda x: x.float() * 2)["next", "r"].sum().item(),
)
net = TensorDictModule(
    torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4), NormalParamExtractor()
    ),
    in_keys=["obs"],
    out_keys=["loc", "scale"],
)
pol = ProbabilisticTensorDictSequential(
    net,
    ProbabilisticTensorDictModule(
        in_keys=["loc", "scale"],
        out_keys=["action"],
        distribution_class=torch.distributions.Normal,
        return_log_prob=True,
    ),
)
out = pol(td.clone())
print(
    sorted(out.keys()),
    out["action"].sum().item(),
    out["action_log_prob"].sum().item()
    if "action_log_prob" in out.keys()
    else out["sample_log_prob"].sum().item(),
)
val = TensorDictModule(torch.nn.Linear(3, 1), in_keys=["obs"], out_keys=["v"])
seq = TensorDictSequential(net, val)
opt = torch.optim.Adam(seq.parameters(), 1e-2)
for i in range(4):
    o = seq(td.clone())
    loss = (o["v"].squeeze(-1) - td["next", "r"]).square().mean() + o["scale"].log().mean() * 0.1
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
params = TensorDict.from_module(seq)
with params.data.apply(lambda p: p * 0.5).to_module(seq):
    print(seq(td.clone())["v"].sum().item())
print(seq(td.clone())["v"].sum().item())
st = torch.stack([td, td.clone().zero_()], 0)
print(st.batch_size, st["obs"].sum().item())
lz = LazyStackedTensorDict.lazy_stack([td[:2], td[2:]], 0)
print(lz.batch_size, lz["obs"].shape)
with tempfile.TemporaryDirectory() as d:
    td.memmap(d)
    print(TensorDict.load_memmap(d)["obs"].sum().item())
    td.save(d + "/x") if hasattr(td, "save") else None


@tensorclass
class Item:
    a: torch.Tensor
    b: str

    def double(self):
        return self.a * 2


it = Item(torch.ones(3, 2), "x", batch_size=[3])
print(
    it.double().sum().item(),
    it[0].a.tolist(),
    it.b,
    torch.cat([it, it], 0).batch_size,
    td.to_dict()["next"]["r"].tolist(),
    td.split(2)[1]["obs"].sum().item(),
    td.view(2, 2)["obs"].shape,
    td.gather(0, torch.tensor([1, 0]))["next", "r"].tolist(),
    (td["obs"] if False else td.exclude("next")).keys(),
)
