"""In-place writes: versions, refusals, and the history of views. Claims F1 F2 F3 F4 B6."""

import torch


def refused(what, action):
    try:
        action()
    except RuntimeError as error:
        print(f"{what}:", str(error).splitlines()[0].split(". Hint")[0])


leaf = torch.ones(4, requires_grad=True)
refused("a leaf", lambda: leaf.mul_(2))
refused("its view", lambda: leaf[:2].mul_(2))
pointer = leaf.data_ptr()
with torch.no_grad():
    leaf.mul_(2)
print("under no_grad:", leaf.tolist(), "same memory:", leaf.data_ptr() == pointer)

# Saved at version 0, written to version 1.
t = leaf * 1
y = t * t
t.add_(1)
print("versions:", t._version, t.detach()._version, t[0]._version)
refused("backward", lambda: y.sum().backward())

# Harmless: nobody needs what the write destroys.
u = leaf + 1
u.mul_(3)
u.sum().backward()
print("harmless:", leaf.grad.tolist())

# A write through a view rewrites the history of its base and of the other views.
leaf.grad = None
base = leaf * 2
first, second = base[:2], base[1:]
before = [each.grad_fn.name() for each in (base, first, second)]
first.mul_(10)
after = [each.grad_fn.name() for each in (base, first, second)]
print("before:", *before)
print("after: ", *after)
history = base.sum() + second.sum()
history.backward()
print("gradient:", leaf.grad.tolist())

# `.data` shares the memory, but nobody counts the write: the gradient is silently wrong.
leaf.grad = None
z = (leaf * leaf).sum()
leaf.data.mul_(10)
z.backward()
print("after a write to .data:", leaf.grad.tolist(), "version", leaf._version)
