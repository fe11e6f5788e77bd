"""Fine-tuning: everything is frozen but a new last layer, and only that one is optimised."""

import taper as torch
from taper import nn, optim

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(self.body(x))


model = Model()
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(8, 3)
optimizer = optim.SGD(model.fc.parameters(), lr=1e-2, momentum=0.9)

x, label = torch.randn(16, 4), torch.randint(0, 3, (16,))
for step in range(3):
    loss = nn.functional.cross_entropy(model(x), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}  loss {loss.item():.6f}")
print("frozen without gradient:", all(p.grad is None for p in model.body.parameters()))
print("fc with gradient:", all(p.grad is not None for p in model.fc.parameters()))
