"""opacus: training with differential privacy: per-sample gradients, noise, accounting."""

import warnings

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.validators import ModuleValidator
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.manual_seed(0)
x = torch.randn(64, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.GroupNorm(2, 4),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(144, 2),
)
sampled = GradSampleModule(model)
torch.nn.functional.cross_entropy(sampled(x[:5]), y[:5], reduction="sum").backward()
for name, parameter in sampled.named_parameters():
    print(
        name,
        *parameter.grad_sample.shape,
        parameter.grad_sample.sum().item(),
        parameter.grad.sum().item(),
    )
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(144, 2),
)
print(len(ModuleValidator.validate(model, strict=False)))
model = ModuleValidator.fix(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model, optimizer=optimizer, data_loader=DataLoader(TensorDataset(x, y), batch_size=16), noise_multiplier=1.1,
    max_grad_norm=1.0, noise_generator=torch.Generator().manual_seed(3), poisson_sampling=False,
)  # fmt: skip
for epoch in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), engine.get_epsilon(1e-5))
model = torch.nn.Sequential(
    torch.nn.Embedding(10, 4), torch.nn.LayerNorm(4), torch.nn.Flatten(), torch.nn.Linear(12, 2)
)
private, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
    module=model, optimizer=torch.optim.Adam(model.parameters()), data_loader=DataLoader(TensorDataset(torch.randint(0, 10, (32, 3)), y[:32]), batch_size=8),
    target_epsilon=5.0, target_delta=1e-3, epochs=2, max_grad_norm=1.0, poisson_sampling=False,
)  # fmt: skip
print(optimizer.noise_multiplier)
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(private(inputs), targets)
    loss.backward()
    optimizer.step()
    print(loss.item())
