"""Gradients of gradients. Claim C5."""

import torch

x = torch.tensor(2.0, requires_grad=True)
y = x**3
(first,) = torch.autograd.grad(y, x, create_graph=True)
print("y = x ** 3 =", y.item(), " dy/dx =", first.item(), " recorded:", first.grad_fn.name())
(second,) = torch.autograd.grad(first, x, create_graph=True)
(third,) = torch.autograd.grad(second, x)
print("second:", second.item(), " third:", third.item(), " recorded:", third.grad_fn)

value = x**5
for order in range(1, 6):
    (value,) = torch.autograd.grad(value, x, create_graph=True)
    print(f"derivative {order} of x ** 5:", value.item())

# A penalty on the gradient: the loss contains a derivative, and backward goes through it.
w = torch.tensor([1.0, 2.0], requires_grad=True)
(slope,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
penalty = slope.pow(2).sum()
penalty.backward()
print("penalty:", penalty.item(), " its gradient, 36 w ** 3:", w.grad)
