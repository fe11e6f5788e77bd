"""What a node saves, for how long, and through which hooks. Claims C4 D1 D2 D3 D4 D5."""

import threading

import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

x = torch.ones(1000, requires_grad=True)
y = torch.full((1000,), 2.0, requires_grad=True)
total = x + y
z = total**2
e = z.exp()
loss = e.sum()


def saved_by(node):
    return [name for name in dir(node) if name.startswith("_saved")]


for tensor in (total, z, e, loss):
    print(f"{tensor.grad_fn.name():12} saves", saved_by(tensor.grad_fn))
print("pow keeps the very tensor:", z.grad_fn._saved_self is total)
result = e.grad_fn._saved_result
print("exp keeps its result:", result is not e and result.data_ptr() == e.data_ptr())

loss.backward()
try:
    loss.backward()
except RuntimeError as error:
    print("again:", str(error).split(" (")[0])

packed = []


def pack(tensor):
    packed.append(tuple(tensor.shape))
    return tensor.tolist()


def square_in_a_thread():
    thread = threading.Thread(target=lambda: w * w)
    thread.start()
    thread.join()


w = torch.tensor([3.0, 4.0], requires_grad=True)
with saved_tensors_hooks(pack, torch.tensor):
    square = w * w
    square_in_a_thread()
print("packed:", packed, "and nothing of the other thread")
square.sum().backward()
print("gradient through lists:", w.grad)

w.grad = None
cube = w.pow(3)
cube.grad_fn._raw_saved_self.register_hooks(pack, torch.tensor)
cube.sum().backward()
print("hooks on one of them:", w.grad)

w.grad = None
with save_on_cpu():
    square = w * w
square.sum().backward()
print("kept in main memory:", w.grad)
