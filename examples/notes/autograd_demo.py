"""bmm, sigmoid, matmul, sum: forward, backward, and one update by hand."""

import taper as torch

torch.manual_seed(1)
data0 = torch.randn(2, 2, 4)
w_0 = torch.randn(2, 4, 3, requires_grad=True)
data2 = torch.bmm(data0, w_0)
data3 = torch.sigmoid(data2)
w_1 = torch.randn(2, 3, 5, requires_grad=True)
output = torch.matmul(data3, w_1)
loss = output.sum()
loss.backward()
print("loss", loss)
print("w_0.grad", w_0.grad)
w_0 = w_0 - 0.001 * w_0.grad
print("the new w_0 is a leaf:", w_0.is_leaf, "made by", w_0.grad_fn.name())
