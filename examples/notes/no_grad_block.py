"""Backward from a vector with a given gradient, then the same forward without recording."""

import taper as torch

torch.manual_seed(0)
x = torch.ones(5, requires_grad=True)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
z.backward(torch.randn_like(z))
print("x grad: ", x.grad)

with torch.no_grad():
    z = torch.matmul(x, w) + b
print("requires_grad: ", z.requires_grad)
