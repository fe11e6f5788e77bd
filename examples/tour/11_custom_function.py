"""A function with its own backward, and what its context offers. Claim H1."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


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


i = torch.tensor([0.0, 1.0], requires_grad=True)
output = Exp.apply(i)
print(output.grad_fn.name(), "saves", output.grad_fn.saved_tensors[0].detach())
(grad,) = torch.autograd.grad(output.sum(), i, create_graph=True)
(again,) = torch.autograd.grad(grad.sum(), i)
print("first and second derivative:", grad.detach(), again)


def refused(action):
    try:
        action()
    except RuntimeError as error:
        print("refused:", str(error).split(": [")[0])


output = Exp.apply(i)
output.add_(1)  # overwrites what was saved
refused(lambda: output.sum().backward())


class Sorted(Function):
    """Two outputs, one of them without a gradient; forward and context apart."""

    @staticmethod
    def forward(x, scale):
        values, order = x.sort()
        return values * scale, order

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[1]
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx, grad, grad_of_order):
        print("needs_input_grad:", ctx.needs_input_grad, " no gradient is", grad_of_order)
        (order,) = ctx.saved_tensors
        return ctx.scale * torch.zeros_like(grad).index_add(0, order, grad), None


x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
values, order = Sorted.apply(x, 10.0)
print("differentiable:", values.requires_grad, order.requires_grad)
weights = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(grad,) = torch.autograd.grad((values * weights).sum(), x, create_graph=True)
print("gradient:", grad.detach())
refused(lambda: grad.sum().backward())


class Doubled(Function):
    """Writes in place, and says so."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


y = x.clone()
print("the same object:", Doubled.apply(y) is y, " made by", y.grad_fn.name())
