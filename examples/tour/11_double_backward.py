"""Gradients of gradients, and a function with its own backward. Claims C5 H1."""

import torch
from torch.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


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

i = torch.tensor([0.0, 1.0], requires_grad=True)
output = Exp.apply(i)
print(output.grad_fn.name(), "saves", output.grad_fn.saved_tensors[0].detach())
(grad,) = torch.autograd.grad(output.sum(), i, create_graph=True)
(again,) = torch.autograd.grad(grad.sum(), i)
print("Exp, first and second:", grad.detach(), again)

output = Exp.apply(i)
output.add_(1)
try:
    output.sum().backward()
except RuntimeError as error:
    print("checked:", str(error).split(": [")[0])
