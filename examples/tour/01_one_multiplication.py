"""The forward pass computes and builds the graph. Claims A1 A2 A3 A5 A6 A8 A9."""

import torch

x1 = torch.tensor(2.0, requires_grad=True)
x2 = torch.tensor(3.0, requires_grad=True)
v = x1 * x2
print("computed:", v.item())
print("recorded:", v.grad_fn.name(), "output", v.output_nr)
for node, nr in v.grad_fn.next_functions:
    print("edge to: ", type(node).__name__, nr, "of a leaf with value", node.variable.item())

constant = torch.tensor(5.0)
print("an input without requires_grad has no edge:", (v * constant).grad_fn.next_functions[1])
print("two of them make no node:", (constant * constant).grad_fn)

v.grad_fn.metadata["seen"] = 1
print("metadata:", v.grad_fn.metadata)
print("a node can be called:", [g.item() for g in v.grad_fn(torch.tensor(1.0))])
v.backward()
print("gradients:", x1.grad.item(), x2.grad.item())


def power(times):
    """Another graph at every call: what runs is what is differentiated."""
    y = x1
    for _ in range(times):
        y = y * x1
    return y


for times in (1, 3):
    x1.grad = None
    power(times).backward()
    print(f"x1 ** {times + 1} has the slope", x1.grad.item())
