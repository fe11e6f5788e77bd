"""`eval()` is no grad mode: it changes what modules compute. Claim E4."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])

for training in (True, False):
    model.train(training)  # model.eval() is model.train(False)
    out = model(x)
    mean = model[0].running_mean
    print("training:", model.training, " running mean afterwards:", mean)
    print("  zeros from dropout:", int((out == 0).sum()), " recorded:", out.requires_grad)
with torch.no_grad():
    print("eval() under no_grad records:", model(x).requires_grad)
