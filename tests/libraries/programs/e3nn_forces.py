"""e3nn: reduced tensor products, spherical grids, Wigner matrices, batch norm, radial bases, message passing on points trained on energies with forces, activations on spheres."""

import torch
from e3nn import io, nn, o3
from e3nn import math as em
from e3nn.util.test import equivariance_error

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
r = o3.Irreps("4x0e + 2x1o + 1x2e")
print(
    r.dim,
    r.lmax,
    r.sort().irreps,
    (r * 2).simplify(),
    r.slices()[1],
    o3.Irreps.spherical_harmonics(3),
    o3.Irrep("1o") in r,
)
a, b, g = o3.rand_angles(2)
print(
    o3.wigner_D(2, a, b, g).sum((1, 2)).tolist(),
    o3.wigner_3j(1, 1, 2).abs().sum().item(),
    r.D_from_matrix(o3.rand_matrix()).shape,
)
rt = o3.ReducedTensorProducts("ij=ji", i="1o")
x = torch.randn(3)
print(rt.irreps_out, rt(x, x).tolist())
tp = o3.FullyConnectedTensorProduct(r, "1x0e+1x1o+1x2e", "3x0e+2x1o")
print(
    tp.weight_numel,
    tp(r.randn(5, -1), o3.Irreps("1x0e+1x1o+1x2e").randn(5, -1)).sum().item(),
    equivariance_error(
        tp,
        args_in=[r.randn(1, -1), o3.Irreps("1x0e+1x1o+1x2e").randn(1, -1)],
        irreps_in=[r, "1x0e+1x1o+1x2e"],
        irreps_out="3x0e+2x1o",
    ).keys(),
)
el = o3.ElementwiseTensorProduct("2x1o", "2x1o")
print(el.irreps_out, el(torch.randn(2, 6), torch.randn(2, 6)).sum().item())
nm = o3.Norm("2x1o+1x0e")
print(nm(torch.randn(2, 7)).tolist())
li = o3.Linear(r, "2x0e+2x1o", biases=True)
print(li(r.randn(2, -1)).sum().item())
ex = nn.Extract(r, ["2x1o"], [(1,)])
print(ex(r.randn(2, -1))[0].shape)
bn = nn.BatchNorm(r)
bn.train()
y = bn(r.randn(6, -1))
print(y.sum().item(), bn.running_mean.tolist())
bn.eval()
print(bn(r.randn(2, -1)).sum().item())
act = nn.Activation("3x0e+2x0o", [torch.relu, torch.tanh])
print(act(torch.randn(2, 5)).sum().item())
nact = nn.NormActivation("2x1o", torch.sigmoid)
print(nact(torch.randn(2, 6)).sum().item())
dr = nn.Dropout("4x0e+2x1o", 0.5)
torch.manual_seed(1)
print(dr(torch.ones(2, 10)).sum().item())
to = o3.ToS2Grid(3, (8, 9))
fr = o3.FromS2Grid((8, 9), 3)
s = torch.randn(2, 16)
print(to(s).sum().item(), (fr(to(s)) - s).abs().max().item() < 1e-8)
sa = nn.S2Activation(o3.Irreps.spherical_harmonics(2), torch.tanh, 10)
print(sa(torch.randn(3, 9)).sum().item())
so = (
    nn.SO3Activation(1, 1, torch.tanh, 4, aspect_ratio=1.0)
    if hasattr(nn, "SO3Activation")
    else None
)
st = io.SphericalTensor(2, 1, -1)
sg = st.with_peaks_at(torch.eye(3))
print(sg.tolist(), st.norms(sg).tolist() if hasattr(st, "norms") else "")
print(
    em.soft_one_hot_linspace(torch.linspace(0, 2, 5), 0.0, 2.0, 4, "bessel", True).tolist(),
    em.soft_unit_step(torch.tensor([0.5, 1.0])).tolist(),
    em.normalize2mom(torch.tanh)(torch.tensor(0.5)).item() if True else 0,
    em.perm.compose((1, 2, 0), (2, 0, 1)),
)


class Conv(torch.nn.Module):
    def __init__(self, i, sh, o):
        super().__init__()
        self.tp = o3.FullyConnectedTensorProduct(i, sh, o, shared_weights=False)
        self.fc = nn.FullyConnectedNet([4, 8, self.tp.weight_numel], torch.relu)

    def forward(self, f, s, d, sh, emb, n):
        m = self.tp(f[s], sh, self.fc(emb))
        return torch.zeros(n, m.shape[1]).index_add(0, d, m) / 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sh = o3.Irreps.spherical_harmonics(2)
        self.gate = nn.Gate("4x0e", [torch.nn.functional.silu], "2x0e", [torch.sigmoid], "2x1o")
        self.a = Conv("3x0e", self.sh, self.gate.irreps_in)
        self.b = Conv(self.gate.irreps_out, self.sh, "1x0e")

    def forward(self, p, f):
        dm = torch.cdist(p, p) + torch.eye(len(p)) * 9
        s, d = (dm < 2.0).nonzero().T
        v = p[s] - p[d]
        sh = o3.spherical_harmonics(self.sh, v, True, "component")
        emb = em.soft_one_hot_linspace(v.norm(dim=1), 0.0, 2.0, 4, "smooth_finite", True).mul(2.0)
        return self.b(self.gate(self.a(f, s, d, sh, emb, len(p))), s, d, sh, emb, len(p)).sum()


n = Net()
p, f, F = torch.randn(6, 3), torch.randn(6, 3), torch.randn(6, 3) * 0.1
opt = torch.optim.Adam(n.parameters(), 1e-2)
for _ in range(4):
    q = p.clone().requires_grad_()
    e = n(q, f)
    fo = -torch.autograd.grad(e, q, create_graph=True)[0]
    cost = (e - 1) ** 2 + (fo - F).square().mean()
    cost.backward()
    opt.step()
    opt.zero_grad()
    print(e.item(), cost.item())
R = o3.rand_matrix()
print(
    (n(p @ R.T, f) - n(p, f)).abs().item() < 1e-10,
    o3.spherical_harmonics_alpha_beta([1, 2], torch.tensor(0.3), torch.tensor(0.4)).tolist(),
    [
        t.item()
        for t in o3.matrix_to_angles(o3.angles_to_matrix(*map(torch.tensor, (0.1, 0.2, 0.3))))
    ],
    o3.quaternion_to_axis_angle(
        o3.axis_angle_to_quaternion(torch.tensor([0.0, 0, 1]), torch.tensor(0.5))
    )[1].item(),
)
so = o3.SphericalHarmonicsAlphaBeta([0, 1, 2])
fl = o3.SO3Grid(2, 4) if hasattr(o3, "SO3Grid") else None
print(
    so(torch.rand(3), torch.rand(3)).sum().item(),
    o3.FullTensorProduct("1o", "1o+2e").irreps_out,
    o3.TensorSquare("2x1o").irreps_out if hasattr(o3, "TensorSquare") else "",
)
