"""Backward in order: a node runs once, when all its gradients are there. Claims C1 C2 C3."""

import torch

x = torch.tensor(2.0, requires_grad=True)
a = x * 3
b = a * a
loss = a + b
print("forward:", a.item(), b.item(), loss.item())

for name, tensor in (("a", a), ("b", b), ("loss", loss)):
    node = tensor.grad_fn
    node.register_prehook(lambda grads, name=name: print("run", name, "with", grads[0].item()))
loss.backward()
print("x.grad = (1 + 6 + 6) * 3 =", x.grad.item())

vector = x * torch.ones(3)
try:
    vector.backward()
except RuntimeError as error:
    print("refused:", error)
x.grad = None
vector.backward(torch.tensor([1.0, 10.0, 100.0]))
print("with a gradient:", x.grad.item())
