"""Complex gradients: the conjugate Wirtinger convention. Claim C6."""

import torch


def gradient(function, at):
    z = torch.tensor(at, requires_grad=True)
    function(z).backward()
    return z.grad.item()


point = 3.0 + 4.0j
print("|z|^2:", gradient(lambda z: (z * z.conj()).real, point))
print("Re z: ", gradient(lambda z: z.real, point))
print("Im z: ", gradient(lambda z: z.imag, point))
print("Re z^2 (the conjugate of 2z):", gradient(lambda z: (z * z).real, point))

# A step against the gradient goes down, as for real numbers.
z = torch.tensor(point, requires_grad=True)
path = [z.item()]
for _ in range(4):
    z.grad = None
    (z * z.conj()).real.backward()
    with torch.no_grad():
        z -= 0.2 * z.grad
    path.append(z.item())
print("descent:", *(f"{each:.3f}" for each in path))

z = torch.tensor(point, requires_grad=True)
try:
    (z * z).backward()
except RuntimeError as error:
    print("refused:", error)
