"""opacus: private training of a CNN, an LSTM and attention; ghost clipping, adaptive noise, accountants, validation and repair of modules."""

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import GaussianAccountant, RDPAccountant
from opacus.layers import DPGRU, DPLSTM
from opacus.validators import ModuleValidator
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(48, 1, 10, 10), torch.randint(0, 3, (48,))
cnn = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(16, 3),
)
print(len(ModuleValidator.validate(cnn, strict=False)))
cnn = ModuleValidator.fix(cnn)
print(type(cnn[1]).__name__)
opt = torch.optim.SGD(cnn.parameters(), 0.1)
pe = PrivacyEngine()
m, opt, dl = pe.make_private(
    module=cnn,
    optimizer=opt,
    data_loader=DataLoader(TensorDataset(x, y), 12),
    noise_multiplier=1.1,
    max_grad_norm=1.0,
    noise_generator=torch.Generator().manual_seed(1),
    poisson_sampling=False,
)
for a, b in dl:
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(m(a), b)
    loss.backward()
    opt.step()
    print(loss.item())
print(
    pe.get_epsilon(1e-5),
    m._module[5].weight.grad_sample.shape
    if hasattr(m._module[5].weight, "grad_sample") and m._module[5].weight.grad_sample is not None
    else None,
)
for make in (
    lambda: DPLSTM(5, 6, batch_first=True),
    lambda: DPGRU(5, 6, batch_first=True),
    lambda: torch.nn.Linear(5, 6),
    lambda: torch.nn.Conv1d(7, 4, 3, groups=1),
    lambda: torch.nn.LayerNorm(5),
    lambda: torch.nn.GroupNorm(7, 7) if False else torch.nn.InstanceNorm1d(7, affine=True),
):
    torch.manual_seed(1)
    g = GradSampleModule(make())
    o = g(torch.randn(3, 7, 5))
    o = o[0] if isinstance(o, tuple) else o
    o.square().sum().backward()
    print(
        type(g._module).__name__,
        [round(p.grad_sample.square().sum().item(), 4) for p in g.parameters()],
    )
acc = RDPAccountant()
[acc.step(noise_multiplier=1.0, sample_rate=0.02) for _ in range(50)]
print(acc.get_epsilon(1e-5))
a2 = GaussianAccountant()
a2.step(noise_multiplier=1.0, sample_rate=0.1)
print(a2.get_epsilon(1e-5))
m3 = torch.nn.Linear(5, 2)
o3 = torch.optim.Adam(m3.parameters(), 0.01)
pe3 = PrivacyEngine()
m3, o3, c3, d3 = pe3.make_private(
    module=m3,
    optimizer=o3,
    criterion=torch.nn.CrossEntropyLoss(),
    data_loader=DataLoader(TensorDataset(torch.randn(24, 5), torch.randint(0, 2, (24,))), 8),
    noise_multiplier=0.5,
    max_grad_norm=0.5,
    grad_sample_mode="ghost",
    poisson_sampling=False,
    noise_generator=torch.Generator().manual_seed(2),
)
for a, b in d3:
    o3.zero_grad()
    loss = c3(m3(a), b)
    loss.backward()
    o3.step()
    print(loss.item())
