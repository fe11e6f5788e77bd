"""The training pipeline on one multiplication: graph, nodes, saved tensors, gradients, SGD step."""

import taper as torch

x1 = torch.tensor(2.0, requires_grad=True)
x2 = torch.tensor(3.0, requires_grad=True)

v = x1 * x2
print("forward:     ", v)
print("node:        ", v.grad_fn.name())
for node, nr in v.grad_fn.next_functions:
    print("next:        ", type(node).__name__, nr, "of", node.variable)
print("saved:       ", v.grad_fn._saved_self, v.grad_fn._saved_other)

v.backward()
print("gradients:   ", x1.grad, x2.grad)

optimizer = torch.optim.SGD([x1, x2], lr=0.1)
optimizer.step()
print("after step:  ", x1, x2)
