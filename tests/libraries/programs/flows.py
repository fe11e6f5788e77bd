"""nflows, normflows and zuko: normalizing flows: fit, sample, densities."""

import normflows as nf
import torch
import zuko
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms import (
    CompositeTransform,
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
    ReversePermutation,
)

torch.manual_seed(0)
data = torch.randn(64, 2) * torch.tensor([1.0, 0.3]) + torch.tensor([0.5, -1.0])
steps = []
for _ in range(2):
    steps += [
        ReversePermutation(2),
        MaskedAffineAutoregressiveTransform(2, 8),
        MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            2, 8, num_bins=4, tails="linear", tail_bound=3.0
        ),
    ]
flow = Flow(CompositeTransform(steps), StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
for i in range(6):
    loss = -flow.log_prob(data).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("nflows", i, loss.item())
torch.manual_seed(1)
print(*flow.sample(4).flatten().tolist())
torch.manual_seed(2)
layers = []
for i in range(3):
    net = nf.nets.MLP([1, 16, 2], init_zeros=True)
    layers += [nf.flows.AffineCouplingBlock(net), nf.flows.Permute(2, mode="swap")]
layers.append(nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), layers)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for i in range(5):
    loss = model.forward_kld(data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("normflows", i, loss.item())
sample, log_prob = model.sample(3)
print(*sample.flatten().tolist(), *log_prob.tolist())
torch.manual_seed(3)
for make in (
    lambda: zuko.flows.NSF(2, 1, transforms=2, hidden_features=(8, 8)),
    lambda: zuko.flows.MAF(2, 1, transforms=2),
    lambda: zuko.flows.NICE(2, 1, transforms=2),
):
    conditional = make()
    optimizer = torch.optim.Adam(conditional.parameters(), 1e-2)
    context = data[:, :1]
    for i in range(3):
        loss = -conditional(context).log_prob(data).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(
        "zuko",
        type(conditional).__name__,
        loss.item(),
        *conditional(context[0]).sample((2,)).flatten().tolist(),
    )
