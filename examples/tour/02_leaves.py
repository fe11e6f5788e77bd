"""Leaves, flags, and what a tensor keeps for autograd. Claims A4 A7 B1 B2 B3 B4 B5."""

import warnings

import torch
from torch import nn

data = torch.ones(2, 3)
frozen = nn.Linear(3, 3)
frozen.requires_grad_(False)
weight = nn.Parameter(torch.tensor([[0.5], [1.0], [2.0]]))

hidden = frozen(data)
output = hidden @ weight
loss = output.sum()
output.retain_grad()
loss.backward()


def show(name, tensor):
    maker = tensor.grad_fn.name() if tensor.grad_fn else "-"
    has_grad = (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None
    flags = f"{tensor.requires_grad!s:6} {tensor.is_leaf!s:6} {maker:13} {has_grad!s}"
    print(f"{name:13} {flags}")


print("tensor        needs  leaf   grad_fn       has .grad")
show("data", data)
show("frozen.weight", frozen.weight)
show("hidden", hidden)
show("weight", weight)
show("output", output)
show("loss", loss)

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    print("loss.grad:", loss.grad, "and a warning:", str(seen[0].message).split(" is being")[0])

for what, change in {
    "integers": lambda: torch.ones(2, dtype=torch.int64).requires_grad_(),
    "a non-leaf": lambda: output.requires_grad_(False),
}.items():
    try:
        change()
    except RuntimeError as error:
        print("refused for", what + ":", str(error).split(".")[0].splitlines()[0])

again = weight * 2
accumulator = again.grad_fn.next_functions[0][0]
print("one accumulator:", (weight + 1).grad_fn.next_functions[0][0] is accumulator)
print("it knows its leaf:", accumulator.variable is weight)

row = again[0]
print("view:", row._is_view(), "base:", row._base is again, "version:", row._version)
a, b = again[:2].unbind()
print("output_nr:", a.output_nr, b.output_nr)
