"""What a node saves, and how hooks pack and unpack it: here to a file that deletes itself."""

import os
import tempfile

import taper as torch

x = torch.randn(5, requires_grad=True)
y = x.pow(2)
print("the saved input is x itself:", x is y.grad_fn._saved_self)

y = x.exp()
print("the saved result equals y:", y.equal(y.grad_fn._saved_result))
print("but is another object:", y is not y.grad_fn._saved_result)


class SelfDeletingTempFile:
    """A file that lives as long as the graph needs it."""

    def __init__(self):
        descriptor, self.name = tempfile.mkstemp()
        os.close(descriptor)

    def __del__(self):
        os.remove(self.name)


files = []


def pack_hook(tensor):
    packed = SelfDeletingTempFile()
    files.append(packed.name)
    with open(packed.name, "wb") as file:
        file.write(tensor.detach().numpy().tobytes())
    return packed


def unpack_hook(packed):
    with open(packed.name, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float32)


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
    y = x * x
print("files while the graph lives:", sum(map(os.path.exists, files)))
y.sum().backward()
print("gradient through the files:", x.grad)
del y
print("files afterwards:", sum(map(os.path.exists, files)))

w = torch.tensor(3.0, requires_grad=True)
z = w.pow(2)
z.grad_fn._raw_saved_self.register_hooks(lambda t: t.item(), torch.tensor)
z.backward()
print("gradient through a Python float:", w.grad)
