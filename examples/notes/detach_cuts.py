"""`detach()` cuts the graph: nothing behind it requires grad, so backward has nothing to do."""

import taper as torch

x = torch.tensor([2.0], requires_grad=True)
y = x.pow(2)
z = y.detach()
w = z * 3
try:
    w.backward()
except RuntimeError as error:
    print("refused:", str(error).splitlines()[0])
print("x.grad:", x.grad)
y.backward()
print("x.grad through y:", x.grad)
