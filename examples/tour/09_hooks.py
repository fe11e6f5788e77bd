"""Hooks and the moment at which each runs. Claims A6 B4 C7."""

import torch

calls = []


def note(what, result=None):
    return lambda *arguments: (calls.append(what), result)[1]


a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([4.0, 5.0, 6.0])
b = a.mul(c)
loss = b.sum()

b.register_hook(note("hook of the tensor b"))
b.grad_fn.register_prehook(note("pre-hook of b's node"))
b.grad_fn.register_hook(note("hook of b's node, after it ran"))
a.register_hook(note("hook of the leaf a"))
a.register_post_accumulate_grad_hook(note("hook of the leaf a, when a.grad is written"))
loss.backward()
for number, call in enumerate(calls, 1):
    print(number, call)

# See and replace: what a hook returns goes on in place of the gradient.
grad_list = []
a.grad = None
b = a.mul(c)
b.retain_grad()
handle = b.register_hook(lambda grad: grad_list.append(grad) or 0.001 * grad)
b.sum().backward(retain_graph=True)
print("seen:", grad_list[0].tolist(), "retained:", b.grad)
print("a.grad:", a.grad)
handle.remove()
a.grad = None
b.sum().backward()
print("after remove():", a.grad)
