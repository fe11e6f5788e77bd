"""captum: integrated gradients and friends, layers and neurons, perturbation, concept-free explanations, metrics."""

import numpy
import torch
from captum.attr import (
    LRP,
    Deconvolution,
    DeepLift,
    FeatureAblation,
    FeaturePermutation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    InternalInfluence,
    KernelShap,
    LayerActivation,
    LayerConductance,
    LayerGradCam,
    LayerIntegratedGradients,
    Lime,
    NeuronIntegratedGradients,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from captum.metrics import infidelity, sensitivity_max

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.relu = torch.nn.ReLU()
        self.pool = torch.nn.AvgPool2d(2)
        self.fc = torch.nn.Linear(36, 3)

    def forward(self, x):
        return self.fc(self.pool(self.relu(self.conv(x))).flatten(1))


net = Net().eval()
x = torch.randn(2, 1, 8, 8, requires_grad=True)
base = torch.zeros_like(x)
for a in (
    IntegratedGradients(net),
    DeepLift(net),
    InputXGradient(net),
    Saliency(net),
    GuidedBackprop(net),
    Deconvolution(net),
    LRP(net),
):
    r = a.attribute(x, target=1)
    print(type(a).__name__, r.sum().item(), r.abs().max().item())
numpy.random.seed(0)
torch.manual_seed(1)
print(GradientShap(net).attribute(x, torch.randn(4, 1, 8, 8), target=0, n_samples=4).sum().item())
print(
    FeatureAblation(net).attribute(x, target=2).sum().item(),
    Occlusion(net).attribute(x, (1, 3, 3), target=0, strides=(1, 2, 2)).abs().sum().item(),
)
mask = torch.arange(64).reshape(1, 1, 8, 8) // 8
torch.manual_seed(2)
print(
    ShapleyValueSampling(net).attribute(x, target=1, feature_mask=mask, n_samples=3).sum().item(),
    KernelShap(net).attribute(x[:1], target=1, feature_mask=mask, n_samples=30).sum().item(),
    Lime(net).attribute(x[:1], target=1, feature_mask=mask, n_samples=20).abs().sum().item(),
)
print(
    LayerConductance(net, net.conv).attribute(x, target=1).sum().item(),
    LayerGradCam(net, net.conv).attribute(x, target=1).sum().item(),
    LayerActivation(net, net.pool).attribute(x).sum().item(),
    InternalInfluence(net, net.pool).attribute(x, target=0).sum().item(),
    NeuronIntegratedGradients(net, net.pool).attribute(x, (0, 1, 1)).sum().item(),
    LayerIntegratedGradients(net, net.conv).attribute(x, target=0).sum().item(),
)
torch.manual_seed(3)
print(
    NoiseTunnel(Saliency(net))
    .attribute(x, nt_type="smoothgrad", nt_samples=4, stdevs=0.1, target=0)
    .sum()
    .item(),
    FeaturePermutation(net).attribute(x, target=0).abs().sum().item(),
)
att = IntegratedGradients(net).attribute(x, target=1)
torch.manual_seed(4)
print(
    infidelity(
        net, lambda i: (lambda n: (n, i - n))(torch.randn(i.shape) * 0.03), x, att, target=1
    ).tolist(),
    sensitivity_max(Saliency(net).attribute, x, target=1, n_perturb_samples=3).tolist(),
)
a, d = IntegratedGradients(net).attribute(
    x, base, target=1, return_convergence_delta=True, method="riemann_trapezoid", n_steps=20
)
print(d.tolist())
