"""Two ways to see the gradient of an intermediate tensor: `retain_grad` and a hook."""

import taper as torch

a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([4.0, 5.0, 6.0])

b = a.mul(c)
b.retain_grad()
b.sum().backward()
print("retained:", b.grad)

grad_list = []


def keep(grad):
    grad_list.append(grad)
    return 0.001 * grad


a.grad = None
b = a.mul(c)
handle = b.register_hook(keep)
b.sum().backward()
print("seen by the hook:", grad_list[0], "and what it made of a.grad:", a.grad)
handle.remove()
