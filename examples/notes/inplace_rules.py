"""A leaf that requires grad may be written in place only without recording."""

import taper as torch

torch.manual_seed(0)
data1 = torch.randn(3, 4)
data1.requires_grad = True
try:
    data1.mul_(2)
except RuntimeError as error:
    print("refused:", str(error).splitlines()[0])

loss = data1.var()
loss.backward()
pointer = data1.data_ptr()
with torch.no_grad():
    view = data1.view(12)
    view.sub_(data1.grad.view(12) * 0.1)
    data1.sub_(0.1 * data1.grad)
print("same memory:", data1.data_ptr() == pointer, "leaf:", data1.is_leaf)
print("version:", data1._version)
