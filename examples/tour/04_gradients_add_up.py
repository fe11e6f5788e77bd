"""Gradients add up over calls until somebody clears them. Claims C2 C3 C8."""

import torch

inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()

out.backward(torch.ones_like(out), retain_graph=True)
first = inp.grad.clone()
print(f"First call\n{first}")

out.backward(torch.ones_like(out), retain_graph=True)
second = inp.grad.clone()
print(f"Second call\n{second}")

inp.grad.zero_()
out.backward(torch.ones_like(out), retain_graph=True)
third = inp.grad.clone()
print(f"Call after zeroing gradients\n{third}")

optimizer = torch.optim.SGD([inp], lr=0.1)
optimizer.zero_grad()
print("after optimizer.zero_grad():", inp.grad)
