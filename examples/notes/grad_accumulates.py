"""Gradients add up over several backward calls; zero them between steps."""

import taper as torch

torch.manual_seed(0)
x = torch.ones(5)
label = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
output = torch.matmul(x, w) + b

loss = torch.nn.functional.binary_cross_entropy_with_logits(output, label)
loss.backward(retain_graph=True)
print(f"Grad for w first time = {w.grad}")
print(f"Gradient function for z = {output.grad_fn.name()}")
print(f"Gradient function for loss = {loss.grad_fn.name()}")
w.grad.zero_()
loss.backward(retain_graph=True)
print(f"Grad for w second time = {w.grad}")
