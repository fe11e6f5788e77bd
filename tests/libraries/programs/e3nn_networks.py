"""e3nn: irreps, spherical harmonics, tensor products compiled by fx, equivariance, a small network trained, gates."""

import torch
from e3nn import nn as enn
from e3nn import o3
from e3nn.math import soft_one_hot_linspace

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
a, b = o3.Irreps("2x0e+1x1o"), o3.Irreps("1x1o+1x2e")
tp = o3.FullyConnectedTensorProduct(a, b, "3x0e+2x1o")
x, y = a.randn(4, -1), b.randn(4, -1)
R = o3.rand_matrix()
out = tp(x, y)
print(
    out.shape,
    out.norm().item(),
    (
        tp(x @ a.D_from_matrix(R).T, y @ b.D_from_matrix(R).T)
        - out @ tp.irreps_out.D_from_matrix(R).T
    )
    .abs()
    .max()
    .item()
    < 1e-9,
)
sh = o3.spherical_harmonics([0, 1, 2, 3], torch.randn(5, 3), True, "component")
print(
    sh.norm().item(),
    o3.wigner_3j(1, 2, 2).norm().item(),
    a.dim,
    (a * 2).simplify(),
    o3.Irrep("2e") in o3.Irreps("1x2e"),
)
lin = o3.Linear("4x0e+2x1o", "3x0e+1x1o")
gate = enn.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
norm = enn.BatchNorm("4x0e+2x1o")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sh = o3.Irreps.spherical_harmonics(2)
        self.tp = o3.FullyConnectedTensorProduct("4x0e", self.sh, "4x0e+2x1o", shared_weights=False)
        self.fc = enn.FullyConnectedNet([6, 12, self.tp.weight_numel], torch.nn.functional.silu)
        self.o = o3.Linear("4x0e+2x1o", "1x0e")

    def forward(self, f, p):
        i, j = torch.triu_indices(len(p), len(p), 1)
        v = p[j] - p[i]
        e = soft_one_hot_linspace(v.norm(dim=1), 0, 4, 6, "gaussian", cutoff=True)
        m = self.tp(f[i], o3.spherical_harmonics(self.sh, v, True), self.fc(e))
        return self.o(torch.zeros(len(p), m.shape[1]).index_add(0, j, m)).mean()


n = Net()
f, p = torch.randn(6, 4), torch.randn(6, 3, requires_grad=True)
opt = torch.optim.Adam(n.parameters(), 0.02)
for i in range(5):
    loss = (n(f, p) - 1.0).square()
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item(), p.grad.norm().item())
    p.grad = None
print(
    n(f, p @ o3.rand_matrix().T).item() - n(f, p).item() < 1e-9,
    norm(torch.randn(5, 10)).std().item(),
    gate(torch.randn(3, 6)).norm().item(),
    lin(torch.randn(2, 10)).norm().item(),
)
ext = enn.Extract("1e+0e+0e", ["0e", "0e"], [(1,), (2,)])
print(
    [t.shape for t in ext(torch.randn(2, 5))],
    o3.TensorSquare("1x1o").irreps_out,
    o3.ElementwiseTensorProduct("2x0e", "2x1o")(torch.randn(2), torch.randn(6)).shape,
    o3.ReducedTensorProducts("ij=-ji", i="1o").irreps_out,
)
