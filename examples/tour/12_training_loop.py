"""The loop: nn names the weights, the optimizer writes them in place. Claims B5 F4 I1 I2 I3 J1."""

import io

import torch
from torch import nn


def make_model():
    return nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 2), nn.Sigmoid())


torch.manual_seed(0)
model = make_model()
nn.init.ones_(model[0].bias)
nn.init.ones_(model[2].bias)
start = {
    "0.weight": torch.tensor([[0.1, 0.15], [0.2, 0.25], [0.3, 0.35]]),
    "2.weight": torch.tensor([[0.4, 0.45, 0.5], [0.55, 0.6, 0.65]]),
}
model.load_state_dict(start, strict=False)
for layer in (model[0], model[2]):
    layer.bias.requires_grad_(False)
for name, parameter in model.named_parameters():
    print(f"{name:9} {tuple(parameter.shape)!s:7} requires grad: {parameter.requires_grad}")

optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
held = optimizer.param_groups[0]["params"]
weight = model[0].weight
print("the same object:", held[0] is weight)
pointer, version = weight.data_ptr(), weight._version

x = torch.tensor([[5.0, 10.0]])
label = torch.tensor([[0.01, 0.99]])
losses = []
for _ in range(100):
    loss = (model(x) - label).var()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(*(f"step {step}: loss {losses[step]:.4f}" for step in (0, 9, 29, 99)), sep="  ")
print("same memory:", weight.data_ptr() == pointer, " writes:", weight._version - version)
print("state is kept for:", *(n for n, p in model.named_parameters() if p in optimizer.state))

# An update by hand is recorded, refused, or right.
p = torch.tensor([1.0], requires_grad=True)
(p * 2).backward()
print("p - 0.1 * p.grad is made by", (p - 0.1 * p.grad).grad_fn.name())
try:
    p -= 0.1 * p.grad
except RuntimeError as error:
    print("refused:", error)
with torch.no_grad():
    p -= 0.1 * p.grad
print("under no_grad:", p)

file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
other = make_model()
print(other.load_state_dict(torch.load(file)))
print("saved:", *model.state_dict(), " equal:", torch.equal(other(x), model(x)))
